"""Materializes the example's asset for the given partitions. Each status is a line on stdout, behind `RUN`."""

import sys

import dagster
from sales import sales

for partition in sys.argv[1:]:
    done = dagster.materialize([sales], partition_key=partition, raise_on_error=False)
    materialized = done.asset_materializations_for_node("sales")
    status = materialized[0].metadata["status"].value if materialized else "failed"
    print("RUN", partition, status, flush=True)
