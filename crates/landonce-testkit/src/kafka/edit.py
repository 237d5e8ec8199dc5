"""Changes what a stopped Tansu keeps in a bucket: its arguments are the bucket, what to do, the topic, and what that needs.

Its layout: `meta.json` has the topics; each partition has `watermark.json` and a file for each batch, by the number of its first message.
"""

import boto3
import json
import os
import sys
import uuid

s3 = boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name=os.environ["AWS_REGION"])
bucket, what, topic = sys.argv[1:4]
more = sys.argv[4:]
ROOT = "clusters/tansu_cluster/"


def load(key):
    return json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())


def save(key, value):
    s3.put_object(Bucket=bucket, Key=key, Body=json.dumps(value).encode())


def files(prefix):
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [found["Key"] for page in pages for found in page.get("Contents", [])]


def partition(number):
    return f"{ROOT}topics/{topic}/partitions/{number:010}/"


def first_of(key):
    return int(key.rsplit("/", 1)[1].removesuffix(".batch"))


meta = load(ROOT + "meta.json")
entry = meta["topics"][topic]
if what == "partitions":
    count, before = int(more[0]), entry["topic"]["num_partitions"]
    assert count > before, (count, before)
    entry["topic"]["num_partitions"] = count
    for number in range(before, count):
        save(partition(number) + "watermark.json", {"low": None, "high": None, "timestamps": None})
    save(ROOT + "meta.json", meta)
elif what == "drop":
    number, first, after = map(int, more)
    gone = [key for key in files(partition(number) + "records/") if first <= first_of(key) < after]
    assert gone, more
    for key in gone:
        s3.delete_object(Bucket=bucket, Key=key)
    if first == 0:
        mark = load(partition(number) + "watermark.json")
        save(partition(number) + "watermark.json", {**mark, "low": after})
elif what == "anew":
    (other,) = more
    for key in files(f"{ROOT}topics/{topic}/"):
        s3.delete_object(Bucket=bucket, Key=key)
    for key in files(f"{ROOT}topics/{other}/"):
        to = key.replace(f"/topics/{other}/", f"/topics/{topic}/")
        s3.copy_object(Bucket=bucket, Key=to, CopySource={"Bucket": bucket, "Key": key})
    entry["id"] = str(uuid.uuid4())
    entry["topic"]["num_partitions"] = meta["topics"][other]["topic"]["num_partitions"]
    save(ROOT + "meta.json", meta)
else:
    sys.exit(f"no such change: {what}")
