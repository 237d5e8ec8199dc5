-- The periods that derived tables are due for: a batch marks those that its real changes touch, in its own transaction, one
-- row per run that touched one. A mark says which period it is by its recorded start and end (microseconds since 1970 in UTC),
-- so that no clock is asked again. Whoever computes a period deletes its marks in the transaction of the rows: a crash in
-- between leaves both as they were, and the next run finishes.
CREATE TABLE IF NOT EXISTS landonce.due (
  pipeline text COLLATE "C" NOT NULL,
  derived text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  start_us bigint NOT NULL,
  end_us bigint NOT NULL,
  run_id uuid NOT NULL,
  marked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (pipeline, derived, label, start_us, run_id)
);
COMMENT ON TABLE landonce.due IS 'The periods that derived tables are due for, one row per run that touched one.';
