-- The held runs: payloads of snapshots that were incomplete or implausible, kept whole until a person has looked. The target has
-- nothing of them. The key is that of the pipeline and the payload's digest, so that a payload is held once however often it
-- is delivered. State: held, released (landed by a person's word), landed (by itself, on a later delivery), rejected.
CREATE TABLE IF NOT EXISTS landonce.held (
  key bytea PRIMARY KEY,
  pipeline text COLLATE "C" NOT NULL,
  batch_digest bytea NOT NULL,
  batch_id text,
  run_id uuid NOT NULL,
  source text NOT NULL,
  reasons jsonb NOT NULL,
  outcome jsonb NOT NULL,
  is_complete boolean NOT NULL,
  state text NOT NULL DEFAULT 'held',
  held_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  decided_by uuid,
  decided_at timestamptz
);
CREATE INDEX IF NOT EXISTS held_open ON landonce.held (pipeline, held_at) WHERE state = 'held';
COMMENT ON TABLE landonce.held IS 'Snapshots that were held for a person to look.';
-- Their payloads' bytes, in pieces of a mebibyte; gone once it is decided.
CREATE TABLE IF NOT EXISTS landonce.held_piece (
  key bytea NOT NULL,
  nth integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (key, nth)
);
COMMENT ON TABLE landonce.held_piece IS 'The payloads of held snapshots, in pieces.';
