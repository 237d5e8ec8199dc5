//! What each class tells people: one block a class, in the order of [`Class::ALL`].
//!
//! The pages in `docs/reference/prove/` open with the same words; a test holds them together. SQL is PostgreSQL's, and
//! SQLite takes most of it; `mysql.rs` has what is to be done otherwise on MySQL and MariaDB.

mod mysql;

use super::Class;
use crate::database::Kind;

/// The words of a class.
#[derive(Debug)]
pub(super) struct Text {
    /// What is seen, short.
    pub(super) title: &'static str,
    /// What it means for the data: two sentences.
    pub(super) why: &'static str,
    /// What to do: two sentences.
    pub(super) fix: &'static str,
    /// The fix as SQL, on tables that stand for the user's.
    pub(super) sql: Option<&'static str>,
}

/// What to do, in a database's own dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Remedy {
    /// Two sentences.
    pub(super) fix: &'static str,
    /// The same as SQL.
    pub(super) sql: Option<&'static str>,
}

/// What to do about this class on such a database.
pub(super) fn remedy(class: Class, kind: Kind) -> Remedy {
    let text = of(class);
    let remedy = Remedy { fix: text.fix, sql: text.sql };
    match kind {
        Kind::Mysql => mysql::remedy(class, remedy),
        Kind::Postgres | Kind::Sqlite => remedy,
    }
}

/// The words of this class.
pub(super) fn of(class: Class) -> &'static Text {
    match class {
        Class::Appended => &APPENDED,
        Class::Accumulated => &ACCUMULATED,
        Class::Removed => &REMOVED,
        Class::Restamped => &RESTAMPED,
        Class::Rewritten => &REWRITTEN,
        Class::Renumbered => &RENUMBERED,
        Class::BlindReplay => &BLIND_REPLAY,
        Class::FalseSuccess => &FALSE_SUCCESS,
        Class::PartialLoad => &PARTIAL_LOAD,
        Class::HalfVisible => &HALF_VISIBLE,
        Class::BookkeepingApart => &BOOKKEEPING_APART,
        Class::StagingLeft => &STAGING_LEFT,
        Class::PreparedLeft => &PREPARED_LEFT,
        Class::Stuck => &STUCK,
        Class::Hangs => &HANGS,
        Class::CheckThenInsert => &CHECK_THEN_INSERT,
        Class::SharedStaging => &SHARED_STAGING,
        Class::NotRetried => &NOT_RETRIED,
        Class::StatementRetry => &STATEMENT_RETRY,
        Class::FutileRetry => &FUTILE_RETRY,
        Class::DeleteByAbsence => &DELETE_BY_ABSENCE,
        Class::TornRecord => &TORN_RECORD,
        Class::PeriodFromClock => &PERIOD_FROM_CLOCK,
        Class::EffectRepeated => &EFFECT_REPEATED,
        Class::EffectLost => &EFFECT_LOST,
    }
}

static APPENDED: Text = Text {
    title: "rows are added again",
    why: "The same input, delivered twice, stands in the table twice. Every sum, count and join over the table \
          is wrong from the first retry on, and nothing in the rows tells the copies apart.",
    fix: "Give each record an identity that comes from its content or its sender, and let a unique constraint \
          on it refuse the second copy. Insert with ON CONFLICT on those columns; an id that the database \
          makes up is no identity, for every delivery is new to it.",
    sql: Some(
        "\
CREATE UNIQUE INDEX ON orders (source, order_no);

INSERT INTO orders (source, order_no, total)
VALUES ($1, $2, $3)
ON CONFLICT (source, order_no) DO NOTHING;",
    ),
};

static ACCUMULATED: Text = Text {
    title: "values grow with every run",
    why: "The run adds to what is there (a counter, a balance, a sum), so a repeat adds a second time. The \
          number of rows stays right, which is why counting rows never finds it.",
    fix: "Remember in the same transaction which deliveries have been counted, and add only what is new. Or \
          don't add at all: recompute the value from the rows it sums up.",
    sql: Some(
        "\
WITH fresh AS (
    INSERT INTO inbox (delivery_id) VALUES ($1)
    ON CONFLICT DO NOTHING RETURNING delivery_id
)
UPDATE account SET balance = balance + $2
WHERE id = $3 AND EXISTS (SELECT FROM fresh);",
    ),
};

static REMOVED: Text = Text {
    title: "rows are deleted by a repeat",
    why: "The second run on the same input takes rows away that the first had left. A retry, which should \
          change nothing, loses data.",
    fix: "Delete only what this input itself replaces, by its key or its period, in the transaction that \
          writes the replacement. A run that has nothing to write has nothing to delete.",
    sql: Some(
        "\
BEGIN;
DELETE FROM reading r
WHERE r.day = $1
  AND NOT EXISTS (SELECT FROM staged s WHERE s.sensor = r.sensor AND s.day = r.day);
INSERT INTO reading (sensor, day, value)
SELECT sensor, day, value FROM staged
ON CONFLICT (sensor, day) DO UPDATE SET value = excluded.value
WHERE reading.value IS DISTINCT FROM excluded.value;
COMMIT;",
    ),
};

static RESTAMPED: Text = Text {
    title: "equal rows get a new stamp",
    why: "The second run writes a new run id, load time or updated_at into rows whose content has not changed. \
          Whoever asks which run produced a row, or reads only what is new since yesterday, gets a wrong \
          answer.",
    fix: "Write a row only when its content differs, and leave the stamp out of the comparison. The stamp then \
          names the run that really changed the row.",
    sql: Some(
        "\
INSERT INTO orders AS t (order_no, total, loaded_by)
VALUES ($1, $2, $3)
ON CONFLICT (order_no) DO UPDATE
SET total = excluded.total, loaded_by = excluded.loaded_by
WHERE t.total IS DISTINCT FROM excluded.total;",
    ),
};

static REWRITTEN: Text = Text {
    title: "equal rows are written anew",
    why: "The data is right, but the second run has written rows again that were equal already. Each costs a \
          dead row version, WAL, index work and a row lock; triggers fire, and replicas and change streams see \
          changes that are none.",
    fix: "Add a guard to the upsert, so that a row is written only when its content differs. Where rows are \
          deleted and inserted, compare first and touch only the difference.",
    sql: Some(
        "\
INSERT INTO orders AS t (order_no, total, state)
VALUES ($1, $2, $3)
ON CONFLICT (order_no) DO UPDATE
SET total = excluded.total, state = excluded.state
WHERE (t.total, t.state) IS DISTINCT FROM (excluded.total, excluded.state);",
    ),
};

static RENUMBERED: Text = Text {
    title: "equal rows get new generated ids",
    why: "The second run has replaced rows by equal ones that carry other generated ids. Whatever had kept an \
          old id (a cache, a link, a table without a foreign key) points nowhere now.",
    fix: "Keep the row and update it in place, found by its natural key. Or let the id be computed from that \
          key, so that every run computes the same.",
    sql: Some(
        "\
INSERT INTO customer AS t (email, name)
VALUES ($1, $2)
ON CONFLICT (email) DO UPDATE SET name = excluded.name
WHERE t.name IS DISTINCT FROM excluded.name;",
    ),
};

static BLIND_REPLAY: Text = Text {
    title: "a write whose answer was lost is done again",
    why: "COMMIT was done, its answer was lost on the way, and the command took silence for failure and wrote \
          once more. Networks lose answers, and each time the data doubles.",
    fix: "Make the write such that doing it again changes nothing: a unique key with ON CONFLICT, or a \
          delivery id recorded in the same transaction. After a lost answer look first whether the transaction \
          has landed, then decide.",
    sql: Some(
        "\
BEGIN;
INSERT INTO inbox (delivery_id) VALUES ($1) ON CONFLICT DO NOTHING;
-- 0 rows: it has landed already; ROLLBACK and report success
INSERT INTO orders (order_no, total) SELECT order_no, total FROM staged;
COMMIT;",
    ),
};

static FALSE_SUCCESS: Text = Text {
    title: "it says it succeeded, and rows are missing or wrong",
    why: "The command ended with exit code 0, and the tables don't hold what a clean run leaves. Nobody runs \
          it again, for nobody knows.",
    fix: "Let every error reach the exit code: catch only what you can mend, and raise the rest. Check at the \
          end that what was read has been written, in the transaction that writes it.",
    sql: None,
};

static PARTIAL_LOAD: Text = Text {
    title: "what a broken run left is not healed by the next",
    why: "A run that was killed or failed has left a part of its rows, and the clean run after it doesn't \
          bring the tables to what one clean run leaves. Part of the data stays missing or doubled for good.",
    fix: "Write a run's rows, and whatever marks them as done, in one transaction. Where that is too big, make \
          every part safe to repeat by a unique key, and let the next run start over.",
    sql: Some(
        "\
BEGIN;
INSERT INTO orders (order_no, total)
SELECT order_no, total FROM staged
ON CONFLICT (order_no) DO NOTHING;
INSERT INTO loaded_file (name) VALUES ($1);
COMMIT;",
    ),
};

static HALF_VISIBLE: Text = Text {
    title: "half of a load could be seen until the next run",
    why: "After the broken run, and until the next one healed it, readers saw a part of the load as if it were \
          all. The end is right; what was computed in between is not.",
    fix: "Write the whole load in one transaction, so that readers see all of it or nothing. Where it is too \
          big for that, load into a table that nobody reads and swap it in.",
    sql: Some(
        "\
BEGIN;
DELETE FROM report_day WHERE day = $1;
INSERT INTO report_day SELECT * FROM staged WHERE day = $1;
COMMIT;",
    ),
};

static BOOKKEEPING_APART: Text = Text {
    title: "what is done is recorded apart from the data",
    why: "The mark that says how far the run has come (a local file, another database, another transaction) is \
          not committed together with the rows. Between the two a fault loses rows or loads them twice.",
    fix: "Keep the mark in the target database and write it in the transaction that writes the rows. Then \
          there is no moment at which one is there without the other.",
    sql: Some(
        "\
BEGIN;
INSERT INTO event (id, body) SELECT id, body FROM staged ON CONFLICT (id) DO NOTHING;
UPDATE position SET next_offset = $1 WHERE source = $2;
COMMIT;",
    ),
};

static STAGING_LEFT: Text = Text {
    title: "staging is left behind",
    why: "A table that the command makes for its own use is still there after the broken run and the clean run \
          after it. It takes space, and a later run may take its rows for its own.",
    fix: "Stage in a temporary table, which goes with the session however it ends. Where it must be a real \
          table, make and drop it in the load's transaction, or clear it at the start of each run.",
    sql: Some(
        "\
CREATE TEMPORARY TABLE staged (LIKE orders) ON COMMIT DROP;",
    ),
};

static PREPARED_LEFT: Text = Text {
    title: "a prepared transaction is left behind",
    why: "A transaction was prepared (PREPARE TRANSACTION) and neither committed nor rolled back. It keeps its \
          locks, through restarts of the server too, and VACUUM can't clean up behind it.",
    fix: "Let the next run look into pg_prepared_xacts and finish what it finds there. If only one database \
          takes part, a plain COMMIT does it.",
    sql: Some(
        "\
SELECT gid, prepared FROM pg_prepared_xacts WHERE database = current_database();
-- then, for each that is yours:
ROLLBACK PREPARED 'load-42';",
    ),
};

static STUCK: Text = Text {
    title: "after a fault, every later run fails",
    why: "What the broken run has left makes every later run fail. No retry heals it: a person must go in by \
          hand.",
    fix: "Start each run by clearing what an earlier one may have left, or leave nothing: one transaction, \
          temporary tables, advisory locks that end with the session. A table that exists already, or a lock \
          row that nobody holds, is no reason to fail.",
    sql: Some(
        "\
CREATE TABLE IF NOT EXISTS staged (LIKE orders);
TRUNCATE staged;
-- instead of a lock row:
SELECT pg_try_advisory_xact_lock(hashtext('load orders'));",
    ),
};

static HANGS: Text = Text {
    title: "after a fault, the command never ends",
    why: "The command waits for something that won't come, and an orchestrator that sees a running task \
          doesn't retry it. Nothing is loaded, and nothing is red.",
    fix: "Set a limit on every wait: connect_timeout and TCP keepalives (or tcp_user_timeout) on the \
          connection, statement_timeout and lock_timeout in the session, and a limit on the task. A timed-out \
          run may then be retried like any other.",
    sql: Some(
        "\
SET statement_timeout = '10min';
SET lock_timeout = '30s';
SET idle_in_transaction_session_timeout = '5min';",
    ),
};

static CHECK_THEN_INSERT: Text = Text {
    title: "two at once both find nothing, and both insert",
    why: "The command looks whether a row is there and then inserts it; two runs at the same moment both look \
          before either has written. Checks in code can't see what another transaction hasn't committed.",
    fix: "Leave the check to a unique constraint, the only one who sees both, and insert with ON CONFLICT. \
          Without a constraint that fits, take an advisory lock for the length of the transaction.",
    sql: Some(
        "\
CREATE UNIQUE INDEX ON customer (email);

INSERT INTO customer (email, name) VALUES ($1, $2)
ON CONFLICT (email) DO NOTHING;",
    ),
};

static SHARED_STAGING: Text = Text {
    title: "two at once get into each other's way",
    why: "Two runs use the same staging table, file or period at the same time, and one clears or takes what \
          the other has put there. Rows are lost or doubled, or land under the wrong run.",
    fix: "Give each run its own staging: a temporary table, which only its session sees. Where two runs \
          replace the same period, let the second wait for the first with an advisory lock.",
    sql: Some(
        "\
BEGIN;
SELECT pg_advisory_xact_lock(hashtext('load orders'));
CREATE TEMPORARY TABLE staged (LIKE orders) ON COMMIT DROP;
COMMIT;",
    ),
};

static NOT_RETRIED: Text = Text {
    title: "a passing failure ends the run",
    why: "The server asked to try again (a serialization failure, a deadlock, a connection lost), and the \
          command gave up; its next run did the work. Nothing is lost as long as somebody runs it again.",
    fix: "Retry the whole transaction on 40001, 40P01 and a lost connection, a few times with growing pauses. \
          Leave the retry to the orchestrator if it does retry.",
    sql: None,
};

static STATEMENT_RETRY: Text = Text {
    title: "one statement is tried again instead of the transaction",
    why: "After a serialization failure or a deadlock the server has given up the whole transaction, and the \
          command repeats only the statement that failed. What came before it in the transaction is lost, or \
          the repeat fails over and over.",
    fix: "Put the retry around the transaction: roll back, begin again, and do all of it from its first read. \
          What was read before the failure may be out of date and must be read anew.",
    sql: None,
};

static FUTILE_RETRY: Text = Text {
    title: "what can't pass is tried again and again",
    why: "The command repeats a statement whose failure has nothing to do with chance (a constraint, a wrong \
          type, a missing right, a cancelled query). The run takes longer to fail, and its real error is \
          buried.",
    fix: "Decide by SQLSTATE and not by the message or by a bare except: retry class 40 and class 08, and fail \
          at once on classes 22, 23 and 42. Treat 57014 as an order to stop.",
    sql: None,
};

static DELETE_BY_ABSENCE: Text = Text {
    title: "what a cut input doesn't hold is deleted",
    why: "The command takes a row that is absent from its input for one that is gone, and a transfer that \
          broke off looks the same. One short file empties the table.",
    fix: "Before deleting make sure that the input is whole (a trailer, a count, a checksum, a closed archive) \
          and plausible against what is there, and stop if it isn't. Mark rows as retired instead of deleting \
          them, so that a mistake can be taken back.",
    sql: Some(
        "\
-- refuse when more than a tenth would go
DO $$ BEGIN
  IF (SELECT count(*) FROM customer c
      WHERE NOT EXISTS (SELECT FROM staged s WHERE s.email = c.email))
     > (SELECT count(*) FROM customer) / 10
  THEN RAISE EXCEPTION 'the input is implausibly short';
  END IF;
END $$;
UPDATE customer c SET retired_at = now()
WHERE retired_at IS NULL
  AND NOT EXISTS (SELECT FROM staged s WHERE s.email = c.email);",
    ),
};

static TORN_RECORD: Text = Text {
    title: "a record that was cut in two is loaded",
    why: "The input broke off inside a record, and the command loaded the part that had come as if it were a \
          record. The row looks real, and its number, name or date is a piece of one.",
    fix: "Refuse an input whose last record isn't whole: no line end, an open quote or bracket, a compressed \
          stream without its end. Fail before anything is written, or write all in one transaction that is \
          rolled back then.",
    sql: None,
};

static PERIOD_FROM_CLOCK: Text = Text {
    title: "the same run at another time loads something else",
    why: "What the run loads depends on when it runs: yesterday, the current month, the server's time zone. A \
          retry after midnight, or a backfill, loads another period and leaves the right one empty.",
    fix: "Pass the period in as an argument, from the scheduler's logical date, and use it throughout. Take \
          neither current_date nor now() to choose data, and name the time zone.",
    sql: Some(
        "\
INSERT INTO daily (day, total)
SELECT $1::date, sum(total) FROM orders
WHERE ordered_at >= $1::date::timestamp AT TIME ZONE 'Europe/Zurich'
  AND ordered_at < ($1::date + 1)::timestamp AT TIME ZONE 'Europe/Zurich'
ON CONFLICT (day) DO UPDATE SET total = excluded.total
WHERE daily.total IS DISTINCT FROM excluded.total;",
    ),
};

static EFFECT_REPEATED: Text = Text {
    title: "an effect outside the database is repeated",
    why: "The second run on the same input calls the outside again: the mail is sent, the card charged, the \
          webhook fired a second time. A database can be mended; a mail can't be called back.",
    fix: "Write the intention into an outbox table in the transaction that makes the change, and let a \
          deliverer send what stands there, once it is committed. Send an idempotency key made from the \
          event's identity, so that the receiver knows a repeat.",
    sql: Some(
        "\
BEGIN;
WITH fresh AS (
    INSERT INTO orders (order_no, total) VALUES ($1, $2)
    ON CONFLICT (order_no) DO NOTHING RETURNING order_no
)
INSERT INTO outbox (id, topic, body)
SELECT 'order-placed/' || order_no, 'mail', $3 FROM fresh;
COMMIT;",
    ),
};

static EFFECT_LOST: Text = Text {
    title: "an effect outside the database is lost",
    why: "The row is committed, the call that should have followed never went out, and the next run takes the \
          row for done and doesn't make it. The data says that it happened; the world doesn't know.",
    fix: "Write the intention into an outbox table in the same transaction as the row. A deliverer then sends \
          it until the receiver has said yes, with an idempotency key so that once too often is harmless.",
    sql: Some(
        "\
BEGIN;
INSERT INTO orders (order_no, total) VALUES ($1, $2);
INSERT INTO outbox (id, topic, body) VALUES ('order-placed/' || $1, 'mail', $3);
COMMIT;",
    ),
};
