//! landonce's own tables and the target it makes: by many at once, by a DBA, by a landonce that is too old.

use landonce_core::plan::TablePlan;
use landonce_store::postgres::{Database, setup_sql};
use landonce_store::reads::Reads as _;
use landonce_store::seam::{Access, Connection, Work};
use landonce_testkit::wait;

use super::fresh;
use crate::conformance::{Bench, claim, int, land, put, text, things};

const TABLES: &str = "\
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'landonce'::regnamespace ORDER BY c.relname, a.attnum";

#[tokio::test]
async fn eight_at_once_on_an_empty_database_all_succeed() {
    let mut bench = fresh().await;
    let mut sessions = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let database = bench.database();
        sessions.spawn(async move {
            let mut connection = database.connect().await.unwrap();
            connection.migrate().await.unwrap();
            connection.create_target(&TablePlan { sender_id: true, ..things() }).await.unwrap();
        });
    }
    wait::within(60, "eight set-ups", async {
        while let Some(done) = sessions.join_next().await {
            done.unwrap();
        }
    })
    .await;
    assert_eq!(
        bench.rows("SELECT version, name FROM landonce.migration ORDER BY 1").await,
        [
            ["1", "0001_inbox"],
            ["2", "0002_quarantine"],
            ["3", "0003_ledger"],
            ["4", "0004_held"],
            ["5", "0005_due"],
            ["6", "0006_outbox"],
            ["7", "0007_events"],
            ["8", "0008_action"],
            ["9", "0009_position"],
        ]
    );
    let indexes = "SELECT count(*) FROM pg_index WHERE indrelid = 'things'::regclass";
    assert_eq!(bench.rows(indexes).await, [["2"]], "the key, and the digest for equal content");
}

#[tokio::test]
async fn a_type_of_the_tables_name_is_not_taken_for_the_table() {
    let mut bench = fresh().await;
    bench.run("CREATE TYPE things AS ENUM ('x')").await;
    let error = bench.connect().await.create_target(&things()).await.unwrap_err();
    assert!(error.to_string().contains("(42710)"), "{error}");
}

#[tokio::test]
async fn what_a_dba_ran_needs_no_rights_of_the_one_who_ingests() {
    let mut bench = fresh().await;
    bench.run(&setup_sql()).await;
    bench.run(&setup_sql()).await;
    let by_script = bench.rows(TABLES).await;
    let role = format!("ingest_{}", &bench.name()[2..10]);
    bench.run("CREATE TABLE t (id int PRIMARY KEY, v text)").await;
    let grants: String = setup_sql()
        .lines()
        .filter_map(|line| line.strip_prefix("-- GRANT "))
        .map(|grant| format!("GRANT {};", grant.replace("ingest;", &role)))
        .collect();
    assert!(!grants.is_empty());
    bench
        .run(&format!(
            "CREATE ROLE {role} LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
             GRANT SELECT, INSERT, UPDATE ON t TO {role}; {grants}"
        ))
        .await;
    let database = Database::from_url(&bench.url().replacen("postgres@", &format!("{role}@"), 1)).unwrap();
    let mut connection = database.connect().await.unwrap();
    let plan = crate::conformance::plan_on(&mut connection, "t", &["id"]).await;
    assert_eq!(land(&mut connection, &plan, "b1", &[put([int(1), text("a")])]).await.counts().0, 1);
    assert_eq!(land(&mut connection, &plan, "b2", &[put([int(1), text("b")])]).await.counts().1, 1);
    assert_eq!(connection.batches(10).await.unwrap().len(), 2);
    // Where nobody has run it, the message says who has to do what.
    bench.run("DROP SCHEMA landonce CASCADE").await;
    let error = connection.migrate().await.unwrap_err();
    assert!(error.to_string().contains("landonce setup --print"), "{error}");
    drop(connection);
    bench.connect().await.migrate().await.unwrap();
    assert_eq!(bench.rows(TABLES).await, by_script, "the script makes what a migration makes");
    bench.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn a_database_of_a_newer_landonce_is_refused() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    bench.run("INSERT INTO landonce.migration (version, name) VALUES (99, 'x')").await;
    let error = connection.migrate().await.unwrap_err();
    assert!(error.to_string().contains("version 99 of them and this landonce knows 9"), "{error}");
}

#[tokio::test]
async fn without_tables_a_claim_says_how_to_make_them() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    connection.begin(Access::Write).await.unwrap();
    let error = connection.work().claim(&claim("b1")).await.unwrap_err();
    connection.rollback().await;
    assert!(error.to_string().contains("landonce setup"), "{error}");
}

#[tokio::test]
async fn names_with_a_nul_are_refused_clearly() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let bad = landonce_store::inbox::Claim { batch_id: "a\0b".to_owned(), ..claim("b1") };
    let error = connection.work().claim(&bad).await.unwrap_err();
    assert!(error.to_string().contains("the batch id holds U+0000"), "{error}");
    // Nothing was sent: the transaction goes on.
    connection.work().claim(&claim("b1")).await.unwrap();
    connection.rollback().await;
}
