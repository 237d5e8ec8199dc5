-- The actions that people have taken by hand: who, what, to which thing, and how it ended. One row an action, never changed.
CREATE TABLE IF NOT EXISTS landonce_action (
  id TEXT NOT NULL PRIMARY KEY,
  at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS landonce_action_at ON landonce_action (at);
