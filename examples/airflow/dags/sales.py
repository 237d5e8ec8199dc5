"""A shop's sales, a day a run. A run that comes late, twice, or in the middle of another leaves its day's lines and no others.

The period is the run's data interval: `2010-12-01 00:00:00+00:00/2010-12-02 00:00:00+00:00`, as Airflow renders it. Not `ds`,
which is the day of the logical date, and not the clock. landonce takes the interval only if it is exactly one day of the
pipeline's time zone, so a schedule in another zone is an error and not the wrong day.
"""

import os
from datetime import timedelta

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from airflow.timetables.interval import CronDataIntervalTimetable

ZONE = "Europe/London"  # the pipeline's `write.period.tz`

with DAG(
    "sales",
    # With intervals: the plain `schedule="@daily"` of Airflow 3 has none (its start is its end).
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone=ZONE),
    start_date=pendulum.datetime(2010, 12, 1, tz=ZONE),
    catchup=False,  # past days: `airflow backfill create`, or `landonce backfill`
    max_active_runs=4,  # days don't touch each other
) as dag:
    BashOperator(
        task_id="load",
        bash_command=(
            "landonce run \"$PIPELINE\" --period '{{ data_interval_start }}/{{ data_interval_end }}' --no-progress --output json"
        ),
        # LANDONCE_STORE, with its password, is the worker's own.
        env={"PIPELINE": os.environ.get("SALES_PIPELINE", "examples/retail/sales.yaml")},
        append_env=True,
        # Safe: what has landed is skipped. What retries can't mend (bad records, a cut file) fails each time, and writes nothing.
        retries=3,
        retry_delay=timedelta(minutes=5),
        retry_exponential_backoff=True,
    )
