"""Runs the example's DAG for the given logical dates, as `airflow dags test` does: the real task runner, the real templates.

Each run's state is a line on stdout, behind `RUN`.
"""

import sys

import pendulum
from sales import ZONE, dag

if __name__ == "__main__":
    for date in sys.argv[1:]:
        run = dag.test(logical_date=pendulum.parse(date, tz=ZONE))
        state = str(run.state).rsplit(".")[-1].lower()
        print(f"RUN {date} {run.data_interval_start}/{run.data_interval_end} {state}", flush=True)
