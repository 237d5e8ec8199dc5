-- The actions that people have taken by hand: who, what, to which thing, and how it ended. One row an action, never changed.
CREATE TABLE IF NOT EXISTS landonce.action (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  who text NOT NULL,
  what text NOT NULL,
  subject text NOT NULL,
  detail text NOT NULL
);
CREATE INDEX IF NOT EXISTS action_at ON landonce.action (at);
COMMENT ON TABLE landonce.action IS 'What people have done by hand.';
