-- The positions: how far each part of a source (a Kafka partition, a paged API's feed) has been landed: one row a part, moved in the transaction
-- of the rows. Whoever takes a part raises its epoch, so that a worker which had it before can't commit any more. The source
-- names what orders the parts and who reads them (a consumer group); `next` is where to go on, null before the first batch.
CREATE TABLE IF NOT EXISTS landonce_position (
  pipeline TEXT NOT NULL,
  source TEXT NOT NULL,
  part TEXT NOT NULL,
  next TEXT,
  mark BLOB,
  epoch INTEGER NOT NULL,
  owner TEXT NOT NULL,
  run_id TEXT,
  taken_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  moved_at TEXT,
  PRIMARY KEY (pipeline, source, part)
) STRICT, WITHOUT ROWID;
