//! A live database's tables are read as they are, and nothing is written.

use landonce_audit::{Options, audit};

#[tokio::test]
async fn the_tables_of_a_live_postgres_are_judged() {
    let database = landonce_testkit::postgres::database().await;
    let (client, connection) = tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
    let served = tokio::spawn(connection);
    client
        .batch_execute(
            "CREATE SCHEMA shop;
             CREATE TABLE shop.orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text);
             CREATE TABLE fine (k text PRIMARY KEY, v numeric);
             CREATE UNIQUE INDEX ON fine (lower(k)) WHERE v > 0;",
        )
        .await
        .unwrap();
    let options = Options { database: Some(database.url()), ..Options::default() };
    let report = audit(&options).await.unwrap();
    assert_eq!(report.tables, 2);
    let found: Vec<_> = report.findings.iter().map(|it| (it.rule, it.message.contains("orders"))).collect();
    assert_eq!(found, [("generated-identity", true)], "{:?}", report.findings);
    assert!(report.findings[0].file.display().to_string().contains(database.name()));
    let url = database.url();
    let shown = serde_json::to_string(&report).unwrap();
    let password = url.split('@').next().and_then(|it| it.rsplit(':').next()).unwrap_or_default().to_owned();
    assert!(password.is_empty() || password.contains("//") || !shown.contains(&password));
    drop(client);
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_file_of_sqlite_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT)")
        .unwrap();
    let options = Options { database: Some(path.display().to_string()), ..Options::default() };
    let report = audit(&options).await.unwrap();
    assert_eq!(report.tables, 1);
    assert_eq!(report.findings.iter().map(|it| it.rule).collect::<Vec<_>>(), ["generated-identity"]);
}
