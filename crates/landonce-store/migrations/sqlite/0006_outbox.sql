-- The outbox: what changes have become for others to hear of, one row per message, written in the transaction of the rows that
-- changed. The id is made of what the message says (producer, topic, entity, change), so that a change is told once however
-- often it is delivered, and a message that is sent again has the same id. A lane holds the messages that must go in order (of
-- one ordering key in one topic), seq is their order in it. State: pending, sent, dead (nobody took it), discarded (by a person).
-- A worker leases messages: each lease raises the fence, and only the holder of the last fence may say what became of one.
CREATE TABLE IF NOT EXISTS landonce_outbox (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  producer TEXT NOT NULL,
  topic TEXT NOT NULL,
  lane TEXT NOT NULL,
  ordering TEXT,
  entity TEXT NOT NULL,
  kind TEXT NOT NULL,
  payload TEXT NOT NULL,
  run_id TEXT,
  enqueued_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  state TEXT NOT NULL DEFAULT 'pending',
  due_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  attempts INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0,
  leased_by TEXT,
  leased_until TEXT,
  answer TEXT,
  sent_at TEXT,
  corrected_by TEXT
) STRICT;
-- The heads of lanes are found by leaping from lane to lane; rows that are done with are in neither index.
CREATE INDEX IF NOT EXISTS landonce_outbox_pending ON landonce_outbox (topic, lane, seq) WHERE state = 'pending';
-- Whether anything of a lane is under way, wherever in the lane it stands: a redrive can put messages before it.
CREATE INDEX IF NOT EXISTS landonce_outbox_leased ON landonce_outbox (lane) WHERE leased_until IS NOT NULL;
CREATE INDEX IF NOT EXISTS landonce_outbox_dead ON landonce_outbox (topic, seq) WHERE state = 'dead';
-- Topics whose destination has asked for a pause, or has failed too often: no worker leases their messages until then.
CREATE TABLE IF NOT EXISTS landonce_outbox_pause (
  topic TEXT PRIMARY KEY,
  until TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
