//! The kinds of statements, one line each.

use super::*;

fn kind(text: &str) -> Kind {
    facts(text.as_bytes()).kind
}

const TABLE: &[(Kind, &[&str])] = &[
    (
        Kind::Begin,
        &["BEGIN", "begin work;", "START TRANSACTION ISOLATION LEVEL SERIALIZABLE", "/* x */ BEGIN"],
    ),
    (
        Kind::Commit,
        &[
            "COMMIT",
            " commit ; ",
            "END",
            "COMMIT AND CHAIN",
            "COMMIT PREPARED 'x'",
            "PREPARE TRANSACTION 'x'",
            "BEGIN; INSERT INTO t VALUES (1); COMMIT",
            "SELECT 1; END",
            "COMMIT; BEGIN",
        ],
    ),
    (
        Kind::Rollback,
        &["ROLLBACK", "ABORT", "ROLLBACK TO SAVEPOINT a", "ROLLBACK PREPARED 'x'", "ROLLBACK; SELECT 1"],
    ),
    (
        Kind::Read,
        &[
            "SELECT 1",
            "(SELECT 1) UNION (SELECT 2)",
            "SELECT * FROM t FOR UPDATE",
            "SELECT 'INSERT INTO t', \"into\" FROM t",
            "SELECT (SELECT x FROM y) /* INTO */ -- INTO\n FROM t",
            "WITH a AS (SELECT 1) SELECT * FROM a FOR NO KEY UPDATE",
            "WITH a AS (SELECT * FROM t FOR UPDATE) SELECT * FROM a",
            "WITH a(update, delete) AS (SELECT 1, 2) SELECT (update), (delete) FROM a",
            "TABLE t",
            "VALUES (1)",
            "SHOW ALL",
            "FETCH 10 FROM c",
            "DECLARE c CURSOR FOR SELECT 1",
            "EXPLAIN INSERT INTO t VALUES (1)",
            "EXPLAIN (COSTS off) DELETE FROM t",
            "EXPLAIN (ANALYZE false) DELETE FROM t",
            "EXPLAIN ANALYZE SELECT 1",
            "COPY t TO STDOUT",
            "COPY (SELECT a FROM t) TO STDOUT",
            "COPY t (a, b) TO STDOUT (FORMAT csv)",
        ],
    ),
    (
        Kind::Write,
        &[
            "INSERT INTO t VALUES (1)",
            "-- x\n/* a /* nested */ b */ update t set a = 1",
            "DELETE FROM t",
            "MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE",
            "SELECT 1 AS a INTO t",
            "SELECT (1), (2) INTO TEMP t FROM x",
            "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
            "WITH a AS (SELECT 1) SELECT * INTO t FROM a",
            "WITH a AS MATERIALIZED (DELETE FROM t RETURNING *) SELECT * FROM a",
            "WITH a AS (UPDATE t SET x = 1 RETURNING *), b AS (SELECT 1) SELECT * FROM a",
            "WITH RECURSIVE a(n) AS (SELECT 1) UPDATE \"t\" SET a = 1",
            "with a as (with b as (select 1) insert into t select * from b returning 1) select 1",
            "WITH a AS (SELECT 1) MERGE INTO t USING a ON true WHEN MATCHED THEN DELETE",
            "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
            "EXPLAIN (ANALYZE, BUFFERS) INSERT INTO t VALUES (1)",
            "EXPLAIN (BUFFERS, ANALYZE true) (DELETE FROM t)",
            "COPY t FROM STDIN",
            "COPY \"to\" (a, b) FROM STDIN WITH (FORMAT csv)",
            "COPY (INSERT INTO t VALUES (1) RETURNING a) TO STDOUT",
            "COPY (WITH a AS (DELETE FROM t RETURNING 1) SELECT * FROM a) TO STDOUT",
            "CREATE TABLE t (a int)",
            "DROP TABLE t",
            "ALTER TABLE t ADD b int",
            "TRUNCATE t",
            "CALL p()",
            "DO $$BEGIN COMMIT; END$$",
            "EXECUTE s(1)",
            "REFRESH MATERIALIZED VIEW v",
            "IMPORT FOREIGN SCHEMA s FROM SERVER x INTO y",
            "VACUUM",
            "SELECT 1; DELETE FROM t; SELECT 2",
            "BEGIN; INSERT INTO t VALUES (E'it\\'s; COMMIT')",
            "INSERT INTO t VALUES ('a''; COMMIT;'), ($x$; COMMIT; $x$), ($1)",
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
            "CREATE RULE r AS ON INSERT TO t DO ALSO (DELETE FROM a; DELETE FROM b)",
        ],
    ),
    (
        Kind::Other,
        &[
            "",
            ";",
            "SET a = 1",
            "SAVEPOINT a",
            "RELEASE a",
            "LISTEN x",
            "LOCK TABLE t",
            "DISCARD ALL",
            "PREPARE s AS INSERT INTO t VALUES ($1)",
            "nonsense",
            "/* open",
            "'open",
            "$x$ open",
        ],
    ),
];

#[test]
fn a_kind_is_known_by_the_text() {
    for (expected, texts) in TABLE {
        for text in *texts {
            assert_eq!(kind(text), *expected, "{text}");
        }
    }
}

#[test]
fn a_functions_body_ends_where_its_end_stands() {
    let text = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; END; COMMIT";
    assert_eq!(kind(text), Kind::Commit);
    assert_eq!(kind("CREATE TABLE t (a int); COMMIT"), Kind::Commit);
}

#[test]
fn several_statements_add_up() {
    let of = |text: &str| {
        let facts = facts(text.as_bytes());
        (facts.writes, facts.commits_earlier, facts.leaves_written, facts.opens)
    };
    assert_eq!(of("BEGIN; SELECT 1; COMMIT"), (false, true, Some(false), Some(false)));
    assert_eq!(of("BEGIN; INSERT INTO t VALUES (1)"), (true, false, Some(true), Some(true)));
    assert_eq!(of("ROLLBACK; COMMIT"), (false, false, Some(false), Some(false)));
    assert_eq!(of("COMMIT AND CHAIN"), (false, true, Some(false), Some(true)));
    assert_eq!(of("COMMIT AND NO CHAIN"), (false, true, Some(false), Some(false)));
    assert_eq!(of("COMMIT PREPARED 'x'"), (true, false, None, None));
    assert_eq!(of("ROLLBACK TO a"), (false, false, None, None));
    assert_eq!(of("SELECT 1"), (false, false, None, None));
}
