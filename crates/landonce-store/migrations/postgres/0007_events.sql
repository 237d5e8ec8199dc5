-- The subject of a batch of one record: the first 16 bytes of a SHA-256 of the pipeline and the record's key, null for batches of
-- many. By it every event of a record is found, however long ago.
ALTER TABLE landonce.inbox ADD COLUMN IF NOT EXISTS subject uuid;
CREATE INDEX IF NOT EXISTS inbox_subject ON landonce.inbox (subject) WHERE subject IS NOT NULL;
