-- The periods that derived tables are due for: a batch marks those that its real changes touch, in its own transaction, one
-- row per run that touched one. A mark says which period it is by its recorded start and end (microseconds since 1970 in UTC),
-- so that no clock is asked again. Whoever computes a period deletes its marks in the transaction of the rows: a crash in
-- between leaves both as they were, and the next run finishes.
CREATE TABLE IF NOT EXISTS landonce_due (
  pipeline TEXT NOT NULL,
  derived TEXT NOT NULL,
  label TEXT NOT NULL,
  start_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  marked_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  PRIMARY KEY (pipeline, derived, label, start_us, run_id)
) STRICT;
