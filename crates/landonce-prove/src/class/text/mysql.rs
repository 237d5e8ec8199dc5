//! The remedies in MySQL's and MariaDB's dialect, for the classes whose remedy is another there.
//!
//! Both have neither `INSERT … ON CONFLICT` nor a WHERE in its place; what both take is written here. A test runs it on MariaDB.

use super::{Class, Remedy};

/// What is told otherwise than elsewhere.
struct Otherwise {
    fix: Option<&'static str>,
    sql: Option<&'static str>,
}

/// The remedy of a class, given the one for other databases.
pub(super) fn remedy(class: Class, elsewhere: Remedy) -> Remedy {
    let otherwise = match class {
        Class::Appended => APPENDED,
        Class::Accumulated => ACCUMULATED,
        Class::Removed => REMOVED,
        Class::Restamped => RESTAMPED,
        Class::Rewritten => REWRITTEN,
        Class::Renumbered => RENUMBERED,
        Class::BlindReplay => BLIND_REPLAY,
        Class::PartialLoad => PARTIAL_LOAD,
        Class::HalfVisible => HALF_VISIBLE,
        Class::BookkeepingApart => BOOKKEEPING_APART,
        Class::StagingLeft => STAGING_LEFT,
        Class::PreparedLeft => PREPARED_LEFT,
        Class::Stuck => STUCK,
        Class::Hangs => HANGS,
        Class::CheckThenInsert => CHECK_THEN_INSERT,
        Class::SharedStaging => SHARED_STAGING,
        Class::NotRetried => NOT_RETRIED,
        Class::FutileRetry => FUTILE_RETRY,
        Class::DeleteByAbsence => DELETE_BY_ABSENCE,
        Class::PeriodFromClock => PERIOD_FROM_CLOCK,
        Class::EffectRepeated => EFFECT_REPEATED,
        Class::EffectLost => EFFECT_LOST,
        Class::FalseSuccess | Class::StatementRetry | Class::TornRecord => return elsewhere,
    };
    Remedy { fix: otherwise.fix.unwrap_or(elsewhere.fix), sql: otherwise.sql.or(elsewhere.sql) }
}

const APPENDED: Otherwise = Otherwise {
    fix: Some(
        "Give each record an identity that comes from its content or its sender, and let a unique key on it \
                 refuse the second copy. Insert with ON DUPLICATE KEY UPDATE (there is no ON CONFLICT, and INSERT IGNORE \
                 swallows other errors too); an AUTO_INCREMENT id is no identity, for every delivery is new to it.",
    ),
    sql: Some(
        "\
ALTER TABLE orders ADD UNIQUE KEY (source, order_no);

INSERT INTO orders (source, order_no, total)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE order_no = VALUES(order_no);",
    ),
};

const ACCUMULATED: Otherwise = Otherwise {
    fix: None,
    sql: Some(
        "\
START TRANSACTION;
INSERT INTO inbox (delivery_id) VALUES (?);
-- error 1062: it has been counted already; ROLLBACK and report success
UPDATE account SET balance = balance + ? WHERE id = ?;
COMMIT;",
    ),
};

const REMOVED: Otherwise = Otherwise {
    fix: None,
    sql: Some(
        "\
START TRANSACTION;
DELETE r FROM reading r
LEFT JOIN staged s ON s.sensor = r.sensor AND s.day = r.day
WHERE r.day = ? AND s.sensor IS NULL;
INSERT INTO reading (sensor, day, value)
SELECT sensor, day, value FROM staged
ON DUPLICATE KEY UPDATE value = VALUES(value);
COMMIT;",
    ),
};

const RESTAMPED: Otherwise = Otherwise {
    fix: Some(
        "Change the stamp only when the content differs, and leave the stamp out of the comparison. ON DUPLICATE \
                 KEY UPDATE has no WHERE: compare with IF and `<=>`, and before the content is assigned, for assignments \
                 are made from left to right.",
    ),
    sql: Some(
        "\
INSERT INTO orders (order_no, total, loaded_by)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE
    loaded_by = IF(total <=> VALUES(total), loaded_by, VALUES(loaded_by)),
    total = VALUES(total);",
    ),
};

const REWRITTEN: Otherwise = Otherwise {
    fix: Some(
        "Use ON DUPLICATE KEY UPDATE, which leaves a row alone whose values are equal already, and not REPLACE, \
                 which deletes it and inserts another. Where rows are deleted and inserted, compare first and touch only \
                 the difference.",
    ),
    sql: Some(
        "\
INSERT INTO orders (order_no, total, state)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE total = VALUES(total), state = VALUES(state);",
    ),
};

const RENUMBERED: Otherwise = Otherwise {
    fix: Some(
        "Keep the row and update it in place, found by its natural key; REPLACE deletes it and inserts another. \
                 Or let the id be computed from that key, so that every run computes the same.",
    ),
    sql: Some(
        "\
INSERT INTO customer (email, name)
VALUES (?, ?)
ON DUPLICATE KEY UPDATE name = VALUES(name);",
    ),
};

const BLIND_REPLAY: Otherwise = Otherwise {
    fix: Some(
        "Make the write such that doing it again changes nothing: a unique key with ON DUPLICATE KEY UPDATE, or a \
                 delivery id recorded in the same transaction. After a lost answer look first whether the transaction \
                 has landed, then decide.",
    ),
    sql: Some(
        "\
START TRANSACTION;
INSERT INTO inbox (delivery_id) VALUES (?);
-- error 1062: it has landed already; ROLLBACK and report success
INSERT INTO orders (order_no, total) SELECT order_no, total FROM staged;
COMMIT;",
    ),
};

const PARTIAL_LOAD: Otherwise = Otherwise {
    fix: None,
    sql: Some(
        "\
START TRANSACTION;
INSERT INTO orders (order_no, total)
SELECT order_no, total FROM staged
ON DUPLICATE KEY UPDATE order_no = VALUES(order_no);
INSERT INTO loaded_file (name) VALUES (?);
COMMIT;",
    ),
};

const HALF_VISIBLE: Otherwise = Otherwise {
    fix: Some(
        "Write the whole load in one transaction, so that readers see all of it or nothing; TRUNCATE and other \
                 definitions commit by themselves and break it in two. Where it is too big for that, load into a table \
                 that nobody reads and swap it in with RENAME TABLE.",
    ),
    sql: Some(
        "\
START TRANSACTION;
DELETE FROM report_day WHERE day = ?;
INSERT INTO report_day SELECT * FROM staged WHERE day = ?;
COMMIT;",
    ),
};

const BOOKKEEPING_APART: Otherwise = Otherwise {
    fix: None,
    sql: Some(
        "\
START TRANSACTION;
INSERT INTO event (id, body) SELECT id, body FROM staged
ON DUPLICATE KEY UPDATE id = VALUES(id);
UPDATE position SET next_offset = ? WHERE source = ?;
COMMIT;",
    ),
};

const STAGING_LEFT: Otherwise = Otherwise {
    fix: Some(
        "Stage in a temporary table, which goes with the session however it ends. Where it must be a real table \
                 (CREATE and DROP commit by themselves), give it one fixed name and clear it at the start of each run.",
    ),
    sql: Some(
        "\
CREATE TEMPORARY TABLE staged LIKE orders;",
    ),
};

const PREPARED_LEFT: Otherwise = Otherwise {
    fix: Some(
        "Let the next run look at XA RECOVER and finish what it finds there. If only one database takes part, a \
                 plain COMMIT does it.",
    ),
    sql: Some(
        "\
XA RECOVER;
-- then, for each that is yours:
XA ROLLBACK 'load-42';",
    ),
};

const STUCK: Otherwise = Otherwise {
    fix: Some(
        "Start each run by clearing what an earlier one may have left, or leave nothing: one transaction, \
                 temporary tables, GET_LOCK, which ends with the session. A table that exists already, or a lock row that \
                 nobody holds, is no reason to fail.",
    ),
    sql: Some(
        "\
CREATE TABLE IF NOT EXISTS staged LIKE orders;
TRUNCATE TABLE staged;
-- instead of a lock row:
SELECT GET_LOCK('load orders', 0);",
    ),
};

const HANGS: Otherwise = Otherwise {
    fix: Some(
        "Set a limit on every wait: the driver's connect and read timeouts, innodb_lock_wait_timeout and \
                 lock_wait_timeout (a day or a year by default) in the session, and a limit on the task. A timed-out run \
                 may then be retried like any other.",
    ),
    sql: Some(
        "\
SET SESSION innodb_lock_wait_timeout = 30, lock_wait_timeout = 30;
-- MariaDB; MySQL has max_execution_time, for SELECT alone
SET SESSION max_statement_time = 600;",
    ),
};

const CHECK_THEN_INSERT: Otherwise = Otherwise {
    fix: Some(
        "Leave the check to a unique key, the only one who sees both, and insert with ON DUPLICATE KEY UPDATE. \
                 Without a key that fits, take a lock with GET_LOCK and hold it until the COMMIT is done.",
    ),
    sql: Some(
        "\
ALTER TABLE customer ADD UNIQUE KEY (email);

INSERT INTO customer (email, name) VALUES (?, ?)
ON DUPLICATE KEY UPDATE email = VALUES(email);",
    ),
};

const SHARED_STAGING: Otherwise = Otherwise {
    fix: Some(
        "Give each run its own staging: a temporary table, which only its session sees. Where two runs replace \
                 the same period, let the second wait for the first with GET_LOCK.",
    ),
    sql: Some(
        "\
SELECT GET_LOCK('load orders', 600);
CREATE TEMPORARY TABLE staged LIKE orders;
-- the load, and its COMMIT
SELECT RELEASE_LOCK('load orders');",
    ),
};

const NOT_RETRIED: Otherwise = Otherwise {
    fix: Some(
        "Roll back and retry the whole transaction on 1213, 1205 and a lost connection, a few times with \
                       growing pauses. Leave the retry to the orchestrator if it does retry.",
    ),
    sql: None,
};

const FUTILE_RETRY: Otherwise = Otherwise {
    fix: Some(
        "Decide by the error's number and not by its message, its class or a bare except: retry 1213, 1205 \
                       and a lost connection (2006, 2013), and fail at once on the rest, as on 1048, 1062, 1064, 1146 and \
                       1452. Treat 1317 as an order to stop.",
    ),
    sql: None,
};

const DELETE_BY_ABSENCE: Otherwise = Otherwise {
    fix: None,
    sql: Some(
        "\
-- stop when more than a tenth would go
SELECT AVG(s.email IS NULL) FROM customer c LEFT JOIN staged s ON s.email = c.email;
UPDATE customer c LEFT JOIN staged s ON s.email = c.email
SET c.retired_at = NOW()
WHERE c.retired_at IS NULL AND s.email IS NULL;",
    ),
};

const PERIOD_FROM_CLOCK: Otherwise = Otherwise {
    fix: None,
    sql: Some(
        "\
-- for times in UTC; the server needs its tables of time zones
INSERT INTO daily (day, total)
SELECT ?, SUM(total) FROM orders
WHERE ordered_at >= CONVERT_TZ(?, 'Europe/Zurich', 'UTC')
  AND ordered_at < CONVERT_TZ(? + INTERVAL 1 DAY, 'Europe/Zurich', 'UTC')
ON DUPLICATE KEY UPDATE total = VALUES(total);",
    ),
};

const EFFECT_REPEATED: Otherwise = Otherwise {
    fix: None,
    sql: Some(
        "\
START TRANSACTION;
INSERT INTO orders (order_no, total) VALUES (?, ?);
-- error 1062: it is there already, and so is what follows; ROLLBACK
INSERT INTO outbox (id, topic, body) VALUES (CONCAT('order-placed/', ?), 'mail', ?);
COMMIT;",
    ),
};

const EFFECT_LOST: Otherwise = Otherwise {
    fix: None,
    sql: Some(
        "\
START TRANSACTION;
INSERT INTO orders (order_no, total) VALUES (?, ?);
INSERT INTO outbox (id, topic, body) VALUES (CONCAT('order-placed/', ?), 'mail', ?);
COMMIT;",
    ),
};
