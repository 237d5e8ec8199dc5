-- The ledger: what has been loaded of which period, one row per pipeline and period label. A load enters it in the
-- transaction of its own rows, and only while `loads` is still what it was when the run looked. A load is complete when the
-- period was over before the run began; one that isn't is due again. A failed attempt is noted in the failed_ columns,
-- beside what is loaded; the next load clears them. The period's start and end are microseconds since 1970 in UTC.
CREATE TABLE IF NOT EXISTS landonce.ledger (
  pipeline text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  start_us bigint NOT NULL,
  end_us bigint NOT NULL,
  loads bigint NOT NULL DEFAULT 0,
  batch_digest bytea,
  is_complete boolean,
  batch_id text,
  run_id uuid,
  row_count bigint,
  loaded_at timestamptz,
  failed_run_id uuid,
  failed_code text,
  failed_message text,
  failed_at timestamptz,
  PRIMARY KEY (pipeline, label)
);
CREATE INDEX IF NOT EXISTS ledger_start ON landonce.ledger (pipeline, start_us);
COMMENT ON TABLE landonce.ledger IS 'What has been loaded of which period, one row per pipeline and period label.';
