-- The subject of a batch of one record: the first 16 bytes of a SHA-256 of the pipeline and the record's key, and the key of its
-- inbox row. By it every event of a record is found, however long ago. A table of its own, since SQLite can't add a column twice.
CREATE TABLE IF NOT EXISTS landonce_subject (
  subject BLOB NOT NULL,
  inbox BLOB NOT NULL,
  PRIMARY KEY (subject, inbox)
) WITHOUT ROWID, STRICT;
