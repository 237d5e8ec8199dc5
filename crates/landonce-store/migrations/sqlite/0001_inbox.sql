-- The inbox: one row per batch that has landed, written in the transaction of the batch's own rows. A delivery whose row
-- is here already is a redelivery, and changes nothing. The key is the SHA-256 of the pipeline's name and the batch id, so
-- that no collation and no length can make two batches one. The outcome is null only while its transaction runs.
-- Times are UTC text (RFC 3339), so that text order is time order.
CREATE TABLE IF NOT EXISTS landonce_inbox (
  key BLOB NOT NULL PRIMARY KEY,
  pipeline TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  batch_digest BLOB NOT NULL,
  run_id TEXT NOT NULL,
  source TEXT NOT NULL,
  outcome TEXT,
  claimed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  settled_at TEXT
) STRICT;
-- A claim enters it when it is settled, so that a batch costs it one entry.
CREATE INDEX IF NOT EXISTS landonce_inbox_settled ON landonce_inbox (pipeline, settled_at) WHERE settled_at IS NOT NULL;
