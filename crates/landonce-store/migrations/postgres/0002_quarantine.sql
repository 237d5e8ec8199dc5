-- The quarantine: bad records kept whole, once however often they are delivered. The id is the SHA-256 of the pipeline and
-- the record's bytes. A record that lands later, after a fix, is marked with the run that landed it; when it is bad again
-- after that, it is opened again.
CREATE TABLE IF NOT EXISTS landonce.quarantine (
  id bytea PRIMARY KEY,
  pipeline text NOT NULL,
  batch_id text NOT NULL,
  run_id uuid NOT NULL,
  source text NOT NULL,
  number bigint NOT NULL,
  kind text NOT NULL,
  field text NOT NULL,
  detail text NOT NULL,
  raw bytea NOT NULL,
  kept_at timestamptz NOT NULL DEFAULT now(),
  resolved_by uuid,
  resolved_at timestamptz
);
CREATE INDEX IF NOT EXISTS quarantine_open ON landonce.quarantine (pipeline, kept_at) WHERE resolved_by IS NULL;
COMMENT ON TABLE landonce.quarantine IS 'Bad records kept whole, once however often delivered.';
