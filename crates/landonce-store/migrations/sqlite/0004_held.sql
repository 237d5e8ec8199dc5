-- The held runs: payloads of snapshots that were incomplete or implausible, kept whole until a person has looked. The target has
-- nothing of them. The key is that of the pipeline and the payload's digest, so that a payload is held once however often it
-- is delivered. State: held, released (landed by a person's word), landed (by itself, on a later delivery), rejected.
CREATE TABLE IF NOT EXISTS landonce_held (
  key BLOB NOT NULL PRIMARY KEY,
  pipeline TEXT NOT NULL,
  batch_digest BLOB NOT NULL,
  batch_id TEXT,
  run_id TEXT NOT NULL,
  source TEXT NOT NULL,
  reasons TEXT NOT NULL,
  outcome TEXT NOT NULL,
  is_complete INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'held',
  held_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  decided_by TEXT,
  decided_at TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS landonce_held_open ON landonce_held (pipeline, held_at) WHERE state = 'held';
-- Their payloads' bytes, in pieces of a mebibyte; gone once it is decided.
CREATE TABLE IF NOT EXISTS landonce_held_piece (
  key BLOB NOT NULL,
  nth INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (key, nth)
) STRICT;
