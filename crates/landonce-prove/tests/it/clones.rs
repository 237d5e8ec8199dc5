//! Clones of PostgreSQL: as the source is, apart from each other, and gone afterwards.

use std::time::Duration;

use landonce_prove::database::{Kind, Source};
use landonce_testkit::postgres::{TestDatabase, database, database_with};
use landonce_testkit::wait;
use tokio_postgres::{Client, NoTls};

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A database with a table of two rows.
pub(crate) async fn shop() -> TestDatabase {
    let database = database().await;
    fill(&database.client().await).await;
    gone(&database, 1).await;
    database
}

async fn fill(client: &Client) {
    client
        .batch_execute(
            "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text NOT NULL);
             INSERT INTO orders (what) VALUES ('tea'), ('jam');
             CREATE VIEW teas AS SELECT * FROM orders WHERE what = 'tea';
             CREATE FUNCTION two() RETURNS int LANGUAGE sql AS 'SELECT 2';
             CREATE TYPE mood AS ENUM ('good', 'bad');
             CREATE SCHEMA side; CREATE TABLE side.notes (note text)",
        )
        .await
        .unwrap();
}

/// Waits until at most so many (the asking one) are connected to a database.
async fn gone(database: &TestDatabase, most: i64) {
    let client = database.client().await;
    wait::until(10, "sessions to go", async || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usesysid IS NOT NULL";
        (client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) <= most).then_some(())
    })
    .await;
}

pub(crate) async fn count(client: &Client, table: &str) -> i64 {
    client.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0)
}

async fn databases_like(client: &Client, url: &str) -> i64 {
    let prefix = url.rsplit('/').next().unwrap().rsplit_once('_').unwrap().0.to_owned();
    let sql = "SELECT count(*) FROM pg_database WHERE starts_with(datname, $1)";
    client.query_one(sql, &[&prefix]).await.unwrap().get(0)
}

#[tokio::test]
async fn clones_are_as_the_base_is_and_apart_from_each_other() {
    let database = shop().await;
    let source = Source::open(&database.url(), None).await.unwrap();
    assert_eq!(source.kind(), Kind::Postgres);
    assert!(source.place().contains(database.name()), "{}", source.place());
    connect(source.base_url())
        .await
        .batch_execute("INSERT INTO orders (what) VALUES ('from setup')")
        .await
        .unwrap();

    let (one, other) = (source.fresh().await.unwrap(), source.fresh().await.unwrap());
    let (in_one, in_other) = (connect(one.url()).await, connect(other.url()).await);
    in_one.batch_execute("DELETE FROM orders; INSERT INTO side.notes VALUES ('x')").await.unwrap();
    assert_eq!((count(&in_one, "orders").await, count(&in_one, "side.notes").await), (0, 1));
    assert_eq!((count(&in_other, "orders").await, count(&in_other, "side.notes").await), (3, 0));
    assert_eq!(count(&in_other, "teas").await, 1);
    // The sequence goes on where the base's is.
    let id = in_other.query_one("INSERT INTO orders (what) VALUES ('more') RETURNING id", &[]).await.unwrap();
    assert_eq!(id.get::<_, i64>(0), 4);
    assert_eq!(count(&database.client().await, "orders").await, 2);

    let client = database.client().await;
    assert_eq!(databases_like(&client, one.url()).await, 3);
    let url = other.url().to_owned();
    one.discard().await.unwrap();
    assert_eq!(databases_like(&client, &url).await, 2);
    // The other is never discarded: the proof is interrupted.
    source.close().await.unwrap();
    assert_eq!(databases_like(&client, &url).await, 0);
}

#[tokio::test]
async fn a_database_in_use_is_copied_all_the_same() {
    let database = database_with("TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'sv'").await;
    fill(&database.client().await).await;
    let user = database.client().await;
    let source = Source::open(&database.url(), None).await.unwrap();
    let clone = source.fresh().await.unwrap();
    let client = connect(clone.url()).await;
    assert_eq!((count(&client, "orders").await, count(&client, "teas").await), (2, 1));
    let id = client.query_one("INSERT INTO orders (what) VALUES ('more') RETURNING id", &[]).await.unwrap();
    assert_eq!(id.get::<_, i64>(0), 3);
    assert_eq!(count(&user, "orders").await, 2);
    // As Swedes order it, whichever way the copy was made.
    let order = "SELECT string_agg(l, '' ORDER BY l) FROM unnest(ARRAY['ö', 'z', 'a', 'Ä']) l";
    let ordered: String = client.query_one(order, &[]).await.unwrap().get(0);
    assert_eq!(ordered, "azÄö");
    source.close().await.unwrap();
}

#[tokio::test]
async fn settings_of_the_database_are_carried_over() {
    let database = shop().await;
    let name = database.name();
    database
        .client()
        .await
        .batch_execute(&format!(
            r#"ALTER DATABASE "{name}" SET search_path = side, "Odd ""one", public;
               ALTER DATABASE "{name}" SET timezone = 'Asia/Tokyo';
               ALTER DATABASE "{name}" SET shop.tenant = 'a, ''b''';
               ALTER ROLE postgres IN DATABASE "{name}" SET work_mem = '5MB'"#
        ))
        .await
        .unwrap();
    let source = Source::open(&database.url(), None).await.unwrap();
    assert_eq!(source.notes(), [""; 0]);
    let clone = source.fresh().await.unwrap();
    let (before, after) = (database.client().await, connect(clone.url()).await);
    for setting in ["search_path", "timezone", "shop.tenant", "work_mem"] {
        let show = |client: Client| async move {
            let value: String =
                client.query_one("SELECT current_setting($1)", &[&setting]).await.unwrap().get(0);
            (client, value)
        };
        let ((_, expected), (_, found)) =
            (show(connect(&database.url()).await).await, show(connect(clone.url()).await).await);
        assert_eq!(found, expected, "{setting}");
        assert!(!found.is_empty());
    }
    drop((before, after));
    source.close().await.unwrap();
}

#[tokio::test]
async fn a_session_that_waits_for_another_is_seen() {
    let database = shop().await;
    let source = Source::open(&database.url(), None).await.unwrap();
    let clone = source.fresh().await.unwrap();
    let (holder, waiter) = (connect(clone.url()).await, connect(clone.url()).await);
    holder.batch_execute("BEGIN; LOCK TABLE orders").await.unwrap();
    assert!(!clone.is_blocked().await.unwrap());
    let waiting = tokio::spawn(async move { waiter.batch_execute("DELETE FROM orders").await.unwrap() });
    wait::until(10, "the lock to be waited for", async || clone.is_blocked().await.unwrap().then_some(()))
        .await;
    holder.batch_execute("COMMIT").await.unwrap();
    waiting.await.unwrap();
    assert!(!clone.is_blocked().await.unwrap());
    source.close().await.unwrap();
}

#[tokio::test]
async fn settling_waits_for_sessions_and_ends_those_that_stay() {
    let database = shop().await;
    let source = Source::open(&database.url(), None).await.unwrap();
    let clone = source.fresh().await.unwrap();
    let stays = connect(clone.url()).await;
    let goes = connect(clone.url()).await;
    drop(goes);
    assert!(tokio::time::timeout(Duration::from_millis(300), clone.settle()).await.is_err());
    wait::within(30, "the session to be ended", clone.settle()).await.unwrap();
    assert!(stays.simple_query("SELECT 1").await.is_err());
    source.close().await.unwrap();
}

#[tokio::test]
async fn a_clone_with_a_prepared_transaction_can_be_dropped() {
    let database = shop().await;
    let source = Source::open(&database.url(), None).await.unwrap();
    let clone = source.fresh().await.unwrap();
    let client = connect(clone.url()).await;
    client
        .batch_execute(&format!("BEGIN; DELETE FROM orders; PREPARE TRANSACTION 'it''s {}'", database.name()))
        .await
        .unwrap();
    let url = clone.url().to_owned();
    clone.discard().await.unwrap();
    assert_eq!(databases_like(&database.client().await, &url).await, 1);
    source.close().await.unwrap();
}

#[tokio::test]
async fn what_a_killed_proof_has_left_is_dropped_when_it_is_old() {
    let database = shop().await;
    let client = database.client().await;
    let names = ["old", "new", "other"].map(|end| format!("landonce_prove_{}_{end}", &database.name()[..10]));
    for (name, comment) in names.iter().zip([
        "made by landonce prove at 2024-01-01T00:00:00Z",
        "made by landonce prove at 2999-01-01T00:00:00Z",
        "mine",
    ]) {
        client.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        client.batch_execute(&format!("COMMENT ON DATABASE {name} IS '{comment}'")).await.unwrap();
    }
    drop(client);
    let source = Source::open(&database.url(), None).await.unwrap();
    let client = database.client().await;
    let rows = client
        .query("SELECT datname::text FROM pg_database WHERE datname = ANY ($1)", &[&names.to_vec()])
        .await;
    let mut left: Vec<String> = rows.unwrap().iter().map(|row| row.get(0)).collect();
    left.sort();
    assert_eq!(left, [names[1].clone(), names[2].clone()]);
    source.close().await.unwrap();
    for name in &left {
        client.batch_execute(&format!("DROP DATABASE {name}")).await.unwrap();
    }
}

#[tokio::test]
async fn an_unreachable_server_is_told_without_the_password() {
    let error = Source::open("postgres://ann:hunter2@127.0.0.1:1/shop", None).await.unwrap_err();
    let message = error.to_string();
    assert!(message.contains("127.0.0.1:1") && message.contains("shop"), "{message}");
    assert!(!format!("{error:?}").contains("hunter2"));
}
