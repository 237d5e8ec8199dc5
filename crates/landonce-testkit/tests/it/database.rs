//! Each test has a database of its own; a passing test's is gone afterwards, a failing one's is kept.

use landonce_testkit::postgres::{self, TestDatabase};

async fn exists(other: &TestDatabase, name: &str) -> bool {
    let client = other.client().await;
    client
        .query_one("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", &[&name])
        .await
        .unwrap()
        .get(0)
}

#[tokio::test]
async fn a_database_is_a_tests_own_and_gone_after_it() {
    let (one, other) = (postgres::database().await, postgres::database().await);
    one.client().await.batch_execute("CREATE TABLE t (a int)").await.unwrap();
    let there: bool =
        other.client().await.query_one("SELECT to_regclass('t') IS NOT NULL", &[]).await.unwrap().get(0);
    assert!(!there);
    let name = one.name().to_owned();
    assert!(name.contains("a_database_is_a_tests_own"), "{name}");
    assert!(exists(&other, &name).await);
    let _still_connected = one.client().await;
    drop(one);
    assert!(!exists(&other, &name).await);
}

#[tokio::test]
async fn a_failed_tests_database_is_kept() {
    let other = postgres::database().await;
    let (sender, name) = std::sync::mpsc::channel();
    let failed = tokio::spawn(async move {
        let database = postgres::database().await;
        sender.send(database.name().to_owned()).unwrap();
        panic!("as a failing test does");
    })
    .await;
    assert!(failed.unwrap_err().is_panic());
    let name = name.recv().unwrap();
    assert!(exists(&other, &name).await);
    let drop_it = format!("DROP DATABASE \"{name}\" WITH (FORCE)");
    other.client().await.batch_execute(&drop_it).await.unwrap();
}

#[tokio::test]
async fn a_database_can_be_made_with_options() {
    let options = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C'";
    let database = postgres::database_with(options).await;
    let as_people_do: bool = database.client().await.query_one("SELECT 'a' < 'B'", &[]).await.unwrap().get(0);
    assert!(as_people_do);
}
