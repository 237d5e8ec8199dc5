"""A Singer tap for tests, of nothing but Python's library: rows 1 to `rows`, a STATE behind every `state_every` of them."""

import argparse
import json
import os
import sys

arguments = argparse.ArgumentParser()
arguments.add_argument("--config", required=True)
arguments.add_argument("--catalog")
arguments.add_argument("--state")
given = arguments.parse_args()
config = json.load(open(given.config))
state = {}
if given.state:
    state = json.load(open(given.state))
    mode = oct(os.stat(given.state).st_mode & 0o777)
with open("states", "a") as told:
    told.write(json.dumps([state, mode if given.state else None]) + "\n")


def say(message):
    print(json.dumps(message), flush=True)


say({"type": "SCHEMA", "stream": "users", "schema": {"type": "object"}, "key_properties": config.get("keys", ["id"])})
for stream in config.get("others", []):
    say({"type": "SCHEMA", "stream": stream, "schema": {}, "key_properties": []})
    say({"type": "RECORD", "stream": stream, "record": {"id": 1}})
for id in range(state.get("last", 0) + 1, config["rows"] + 1):
    if id == config.get("die_at"):
        print("the tap dies", file=sys.stderr)
        sys.exit(7)
    if id == config.get("babble_at"):
        print("INFO halfway there", flush=True)
    say({"type": "RECORD", "stream": "users", "record": {"id": id, "name": f"user {id}"}})
    if id % config["state_every"] == 0:
        say({"type": "STATE", "value": {"last": id}})
