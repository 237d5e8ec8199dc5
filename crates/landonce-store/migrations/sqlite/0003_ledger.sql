-- The ledger: what has been loaded of which period, one row per pipeline and period label. A load enters it in the
-- transaction of its own rows, and only while `loads` is still what it was when the run looked. A load is complete when the
-- period was over before the run began; one that isn't is due again. A failed attempt is noted in the failed_ columns,
-- beside what is loaded; the next load clears them. The period's start and end are microseconds since 1970 in UTC.
CREATE TABLE IF NOT EXISTS landonce_ledger (
  pipeline TEXT NOT NULL,
  label TEXT NOT NULL,
  start_us INTEGER NOT NULL,
  end_us INTEGER NOT NULL,
  loads INTEGER NOT NULL DEFAULT 0,
  batch_digest BLOB,
  is_complete INTEGER,
  batch_id TEXT,
  run_id TEXT,
  row_count INTEGER,
  loaded_at TEXT,
  failed_run_id TEXT,
  failed_code TEXT,
  failed_message TEXT,
  failed_at TEXT,
  PRIMARY KEY (pipeline, label)
) STRICT;
CREATE INDEX IF NOT EXISTS landonce_ledger_start ON landonce_ledger (pipeline, start_us);
