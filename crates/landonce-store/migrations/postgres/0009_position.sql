-- The positions: how far each part of a source (a Kafka partition, a paged API's feed) has been landed: one row a part, moved in the transaction
-- of the rows. Whoever takes a part raises its epoch, so that a worker which had it before can't commit any more. The source
-- names what orders the parts and who reads them (a consumer group); `next` is where to go on, null before the first batch.
CREATE TABLE IF NOT EXISTS landonce.position (
  pipeline text NOT NULL,
  source text NOT NULL,
  part text NOT NULL,
  next text,
  mark bytea,
  epoch bigint NOT NULL,
  owner text NOT NULL,
  run_id uuid,
  taken_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  moved_at timestamptz,
  PRIMARY KEY (pipeline, source, part)
);
COMMENT ON TABLE landonce.position IS 'How far each part of a source has been landed, and by whom.';
