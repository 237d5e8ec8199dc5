-- The quarantine: bad records kept whole, once however often they are delivered. The id is the SHA-256 of the pipeline, the
-- kind of fault and the record's bytes. A record that lands later, after a fix, is marked with the run that landed it.
CREATE TABLE IF NOT EXISTS landonce_quarantine (
  id BLOB NOT NULL PRIMARY KEY,
  pipeline TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  source TEXT NOT NULL,
  number INTEGER NOT NULL,
  kind TEXT NOT NULL,
  field TEXT NOT NULL,
  detail TEXT NOT NULL,
  raw BLOB NOT NULL,
  kept_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  resolved_by TEXT,
  resolved_at TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS landonce_quarantine_open ON landonce_quarantine (pipeline, kept_at) WHERE resolved_by IS NULL;
