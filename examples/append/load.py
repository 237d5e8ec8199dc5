"""A pipeline as many begin: reads events and appends them. What is wrong with it: landonce prove (see the README)."""

import json
import sqlite3
import sys

database, path = sys.argv[1:]
connection = sqlite3.connect(database)
with connection:
    connection.execute("CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, flight TEXT, kind TEXT, at TEXT)")
    with open(path) as lines:
        for line in lines:
            event = json.loads(line)
            connection.execute(
                "INSERT INTO event (flight, kind, at) VALUES (?, ?, ?)",
                (event["flight_id"], event["event_kind"], event["instant_utc"]),
            )
