//! A dump sees every byte of every row, and nothing that isn't a row.

use landonce_testkit::dump::{self, Tables, leftovers, physical};
use landonce_testkit::postgres::{self, TestDatabase};
use rusqlite::Connection;
use tokio_postgres::{Client, NoTls};

const TABLES: &str = "
    CREATE SCHEMA landonce;
    CREATE TABLE landonce.inbox (id bytea, claimed_at timestamptz);
    INSERT INTO landonce.inbox VALUES ('\\x00ff', '2026-03-01 09:54:00.123456-06'), (NULL, NULL);
    CREATE TABLE \"Odd \"\"Name\" (a numeric, b double precision, c text, d jsonb, e text[], f interval, t int);
    INSERT INTO \"Odd \"\"Name\" VALUES
        (123456789012345678901234567890.10, 0.1, E'a\\tb', '{\"b\":1,\"a\":2}', '{x,NULL,\"y z\"}', '1 day', 7),
        (NULL, 'NaN', '', NULL, NULL, NULL, NULL);";

async fn filled() -> (TestDatabase, Client) {
    let database = postgres::database().await;
    let client = database.client().await;
    client.batch_execute(TABLES).await.unwrap();
    (database, client)
}

#[tokio::test]
async fn a_changed_byte_is_seen() {
    let (_database, client) = filled().await;
    let before = dump::postgres(&client, Tables::All).await;
    before.assert_same(&dump::postgres(&client, Tables::All).await);
    client.batch_execute("UPDATE landonce.inbox SET id = '\\x00fe' WHERE id IS NOT NULL").await.unwrap();
    let after = dump::postgres(&client, Tables::All).await;
    assert_eq!(
        before.diff(&after).to_string(),
        "landonce.inbox: 1 rows less, 1 rows more\n\
         - id=\"\\\\x00ff\" claimed_at=\"2026-03-01 15:54:00.123456+00\"\n\
         + id=\"\\\\x00fe\" claimed_at=\"2026-03-01 15:54:00.123456+00\"\n"
    );
    assert_eq!(before.without(&[("landonce.inbox", "id")]), after.without(&[("landonce.inbox", "id")]));
}

#[tokio::test]
#[should_panic(expected = "public.t: gone, with 1 rows")]
async fn a_changed_database_fails_the_assertion() {
    let database = postgres::database().await;
    let client = database.client().await;
    client.batch_execute("CREATE TABLE t AS SELECT 1 AS a").await.unwrap();
    let before = dump::postgres(&client, Tables::All).await;
    client.batch_execute("DROP TABLE t").await.unwrap();
    let after = dump::postgres(&client, Tables::All).await;
    // The failure here is meant; the database need not be kept for it.
    drop(database);
    before.assert_same(&after);
}

#[tokio::test]
async fn a_sessions_settings_do_not_show() {
    let (database, client) = filled().await;
    let other = database.client().await;
    other
        .batch_execute(
            "SET timezone = 'America/Chicago'; SET bytea_output = 'escape'; SET extra_float_digits = -5;
             SET datestyle = 'German'; SET intervalstyle = 'iso_8601'; SET search_path = landonce",
        )
        .await
        .unwrap();
    dump::postgres(&client, Tables::All).await.assert_same(&dump::postgres(&other, Tables::All).await);
    let kept: String = other.query_one("SHOW timezone", &[]).await.unwrap().get(0);
    assert_eq!(kept, "America/Chicago");
}

#[tokio::test]
async fn a_dump_holds_the_users_tables_and_no_others() {
    let (_database, client) = filled().await;
    client
        .batch_execute(
            "CREATE TEMP TABLE stage (a int);
             CREATE TABLE p (day date, a int) PARTITION BY RANGE (day);
             CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
             INSERT INTO p VALUES ('2026-01-05', 1);
             CREATE VIEW v AS SELECT * FROM p;",
        )
        .await
        .unwrap();
    let all = dump::postgres(&client, Tables::All).await;
    assert_eq!(all.tables().collect::<Vec<_>>(), ["landonce.inbox", "public.Odd \"Name", "public.p1"]);
    assert_eq!((all.rows("public.p1"), all.rows("public.p")), (Some(1), None));
    let named = dump::postgres(&client, Tables::Named(&["public.p1"])).await;
    assert_eq!(named, all.without_tables(&["landonce.inbox", "public.Odd \"Name"]));
}

#[tokio::test]
async fn a_rewritten_or_locked_row_is_another_physical_row() {
    let (_database, client) = filled().await;
    let table = "\"Odd \"\"Name\"";
    let before = physical(&client, table).await;
    assert_eq!(before.len(), 2);
    assert_eq!(before, physical(&client, table).await);
    client.batch_execute(&format!("SELECT FROM {table} WHERE t = 7 FOR UPDATE")).await.unwrap();
    let locked = physical(&client, table).await;
    assert_ne!(before, locked);
    client.batch_execute(&format!("UPDATE {table} SET t = 7 WHERE t = 7")).await.unwrap();
    let rewritten = physical(&client, table).await;
    let changed = rewritten.iter().filter(|row| !locked.contains(row)).collect::<Vec<_>>();
    assert_eq!(changed.len(), 1, "{rewritten:?}");
    assert!(changed[0].row.starts_with("(123456789012345678901234567890.10,0.1,"), "{changed:?}");
}

#[tokio::test]
async fn what_a_run_leaves_open_is_seen_until_it_is_gone() {
    let (database, client) = filled().await;
    assert_eq!(leftovers(&client).await, [] as [&str; 0]);
    let url = format!("{}?application_name=landonce", database.url());
    let (run, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    run.batch_execute("CREATE TABLE landonce.stage_7 (a int)").await.unwrap();
    run.batch_execute("BEGIN; LOCK TABLE landonce.inbox").await.unwrap();
    let left = leftovers(&client).await.join("\n");
    for part in [
        "stage table landonce.stage_7",
        "lock AccessExclusiveLock landonce.inbox held by",
        "(landonce) is idle in transaction: BEGIN; LOCK TABLE landonce.inbox",
    ] {
        assert!(left.contains(part), "{part} is not in\n{left}");
    }
    run.batch_execute("ROLLBACK; DROP TABLE landonce.stage_7; CREATE TEMP TABLE mine (a int)").await.unwrap();
    let left = leftovers(&client).await;
    assert!(matches!(&left[..], [one] if one.starts_with("temporary table pg_temp_")), "{left:?}");
    drop(run);
    dump::assert_no_leftovers(&client).await;
}

#[tokio::test]
async fn a_prepared_transaction_is_left_over() {
    let (_database, client) = filled().await;
    client.batch_execute("BEGIN; PREPARE TRANSACTION 'x'").await.unwrap();
    assert_eq!(leftovers(&client).await, ["prepared transaction x"]);
    client.batch_execute("ROLLBACK PREPARED 'x'").await.unwrap();
    dump::assert_no_leftovers(&client).await;
}

#[test]
fn sqlite_values_keep_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x')")
        .unwrap();
    let before = dump::sqlite(&path);
    let mut seen = vec![before.clone()];
    for value in
        ["'1'", "1.0", "x'31'", "NULL", "''", "cast(x'310032' AS text)", "cast(x'ff' AS text)", "1e308"]
    {
        connection.execute_batch(&format!("UPDATE t SET a = {value}")).unwrap();
        let after = dump::sqlite(&path);
        assert!(!seen.contains(&after), "{value}: {after:?}");
        seen.push(after);
    }
    connection.execute_batch("UPDATE t SET a = 1").unwrap();
    before.assert_same(&dump::sqlite(&path));
    assert_eq!(
        seen[1].diff(&before).to_string(),
        "t: 1 rows less, 1 rows more\n- a=\"'1'\" b=\"'x'\"\n+ a=\"1\" b=\"'x'\"\n"
    );
}

#[test]
fn a_crashed_sqlite_database_is_dumped_as_its_next_user_finds_it() {
    for mode in ["delete", "wal"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = {mode}; PRAGMA cache_size = 2; CREATE TABLE t (a);
                 WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 5000)
                 INSERT INTO t SELECT a FROM n"
            ))
            .unwrap();
        let before = dump::sqlite(&path);
        assert_eq!(before.rows("t"), Some(5000));
        // Too much for the cache: half of it is in the files already.
        connection.execute_batch("BEGIN; UPDATE t SET a = -a").unwrap();
        let crashed = tempfile::tempdir().unwrap();
        let mut files = 0;
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), crashed.path().join(file.file_name())).unwrap();
            files += 1;
        }
        assert!(files > 1, "no journal to recover from");
        before.assert_same(&dump::sqlite(crashed.path().join("test.db")));
    }
}
