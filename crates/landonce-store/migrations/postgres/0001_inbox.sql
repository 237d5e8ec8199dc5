-- The inbox: one row per batch that has landed, written in the transaction of the batch's own rows. A delivery whose row
-- is here already is a redelivery, and changes nothing. The key is the SHA-256 of the pipeline's name and the batch id, so
-- that no collation and no length can make two batches one. The outcome is null only while its transaction runs.
CREATE TABLE IF NOT EXISTS landonce.inbox (
  key bytea PRIMARY KEY,
  pipeline text NOT NULL,
  batch_id text NOT NULL,
  batch_digest bytea NOT NULL,
  run_id uuid NOT NULL,
  source text NOT NULL,
  outcome jsonb,
  claimed_at timestamptz NOT NULL DEFAULT now(),
  settled_at timestamptz NOT NULL DEFAULT now()
);
-- A claim enters it when it is settled, so that a batch costs it one entry.
CREATE INDEX IF NOT EXISTS inbox_settled_at ON landonce.inbox (settled_at) WHERE outcome IS NOT NULL;
COMMENT ON TABLE landonce.inbox IS 'One row per batch that has landed; a redelivery finds itself here.';
