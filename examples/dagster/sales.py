"""A shop's sales as an asset of daily partitions. To materialize a partition again changes nothing, or what has been restated.

The period is the partition's time window, never the clock. landonce takes it only if it is exactly one day of the pipeline's
time zone, so partitions of another zone are an error and not the wrong day.
"""

import json
import os
import subprocess

import dagster as dg

ZONE = "Europe/London"  # the pipeline's `write.period.tz`


@dg.asset(
    partitions_def=dg.DailyPartitionsDefinition(start_date="2010-12-01", timezone=ZONE),
    # Safe: what has landed is skipped. What retries can't mend (bad records, a cut file) fails each time, and writes nothing.
    retry_policy=dg.RetryPolicy(max_retries=3, delay=60, backoff=dg.Backoff.EXPONENTIAL),
)
def sales(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    window = context.partition_time_window
    pipeline = os.environ.get("SALES_PIPELINE", "examples/retail/sales.yaml")
    period = f"{window.start.isoformat()}/{window.end.isoformat()}"
    ran = subprocess.run(
        ["landonce", "run", pipeline, "--period", period, "--no-progress", "--output", "json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    report = json.loads(ran.stdout) if ran.stdout.strip() else {}
    if ran.returncode != 0:
        raise dg.Failure(description=(report.get("error") or {}).get("message", "see stderr"))
    counts = ("read", "inserted", "updated", "unchanged", "removed")
    return dg.MaterializeResult(
        metadata={"status": report["status"], "batch": report["batch_id"], **{name: report[name] for name in counts}}
    )


defs = dg.Definitions(assets=[sales])
