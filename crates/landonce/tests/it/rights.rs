//! A DBA runs the printed DDL; landonce then needs no right to create anything.

use landonce::{Kind, Store};

use crate::given::{Given, counts, patient, pipeline};

const PIPELINE: &str = "identity: [id]\ntarget: {table: duty}\non_bad_record: {quarantine: {max: 9}}";

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_ddl_is_all_that_a_user_without_create_needs() {
    let given = Given::postgres().await;
    let role = format!("r_{}", given.database().name());
    let role = &role[..role.len().min(60)];
    given.execute(&format!("REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE \"{role}\" LOGIN")).await;
    let store = Store::open(&given.url.replace("postgres@", &format!("{role}@"))).unwrap();
    let batch = landonce::Batch::from_bytes("e.ndjson", "{\"id\":1}\n{}\n");

    let refused = pipeline(PIPELINE).ingest_with(&store, &batch, &patient()).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Database);
    assert!(refused.to_string().contains("setup --print"), "{refused}");

    given.execute(&store.setup_sql(Some(&pipeline(PIPELINE))).unwrap()).await;
    given
        .execute(&format!(
            "GRANT USAGE ON SCHEMA landonce TO \"{role}\"; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA landonce TO \"{role}\";
             GRANT SELECT, INSERT, UPDATE ON duty TO \"{role}\""
        ))
        .await;
    let receipt = pipeline(PIPELINE).ingest_with(&store, &batch, &patient()).await.unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 1, quarantined 1");
    given.execute(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\"")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_ddl_makes_what_a_run_would_make_on_sqlite() {
    let (by_hand, by_run) = (Given::sqlite(), Given::sqlite());
    by_hand.execute(&by_hand.store.setup_sql(Some(&pipeline(PIPELINE))).unwrap()).await;
    for given in [&by_hand, &by_run] {
        given.deliver(&pipeline(PIPELINE), &[r#"{"id":1}"#]).await.unwrap();
    }
    let schema = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    assert_eq!(by_hand.column(schema).await, by_run.column(schema).await);
    by_hand.state().await.assert_same(&by_run.state().await);
}
