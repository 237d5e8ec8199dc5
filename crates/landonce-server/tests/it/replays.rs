//! G1, F3: a batch that is delivered twice lands once, and its second answer is the first one's.

use landonce::{Batch, Options, Pipeline};

use crate::served::{ORDERS, Server, orders};

async fn a_redelivery_is_told_what_the_first_one_was(server: Server) {
    let first = server.deliver("\"2026-06-01\"", orders(100)).await;
    assert_eq!((first.status, first.field("status").as_str()), (200, "processed"), "{first:?}");
    assert_eq!((first.field("inserted").as_str(), first.field("commit").as_str()), ("100", "clean"));
    assert_eq!(first.header("idempotent-replayed"), "");

    let again = server.deliver("2026-06-01", orders(100)).await;
    assert_eq!((again.status, again.field("status").as_str()), (200, "skipped_duplicate"), "{again:?}");
    assert_eq!(again.header("idempotent-replayed"), "true");
    for field in ["batch_id", "run_id", "read", "inserted", "unchanged"] {
        assert_eq!(first.field(field), again.field(field), "{field}");
    }
    assert_eq!(server.rows("orders").await, 100);
}

/// C45
async fn other_content_under_the_same_key_is_refused_with_both_digests(server: Server) {
    server.deliver("2026-06-01", orders(100)).await;
    let inbox = server.rows("landonce_inbox").await;
    let other = server.deliver("2026-06-01", orders(120)).await;
    assert_eq!(other.problem(), "422 L0501 stop");
    let detail = other.field("detail");
    let digests = detail.split([' ', ',', ';']).filter(|word| word.len() == 64).count();
    assert_eq!(digests, 2, "{detail}");
    assert_eq!(other.field("type"), "/problems/L0501");
    assert_eq!(server.rows("orders").await, 100);
    assert_eq!(server.rows("landonce_inbox").await, inbox);
}

mod sqlite {
    use super::*;

    #[tokio::test]
    async fn a_redelivery_is_told_what_the_first_one_was() {
        super::a_redelivery_is_told_what_the_first_one_was(Server::sqlite("", &[ORDERS]).await).await;
    }

    #[tokio::test]
    async fn other_content_under_the_same_key_is_refused_with_both_digests() {
        let server = Server::sqlite("", &[ORDERS]).await;
        super::other_content_under_the_same_key_is_refused_with_both_digests(server).await;
    }
}

mod postgres {
    use super::*;

    #[tokio::test]
    async fn a_redelivery_is_told_what_the_first_one_was() {
        super::a_redelivery_is_told_what_the_first_one_was(Server::postgres("", &[ORDERS]).await).await;
    }

    #[tokio::test]
    async fn other_content_under_the_same_key_is_refused_with_both_digests() {
        let server = Server::postgres("", &[ORDERS]).await;
        super::other_content_under_the_same_key_is_refused_with_both_digests(server).await;
    }
}

#[tokio::test]
async fn without_a_key_the_bytes_are_the_batch() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let first = server.post("/v1/pipelines/orders/batches", &[], orders(3)).await;
    let again = server.post("/v1/pipelines/orders/batches", &[], orders(3)).await;
    assert_eq!(first.field("batch_id").len(), 64);
    assert_eq!(again.field("status"), "skipped_duplicate");
    let other = server.post("/v1/pipelines/orders/batches", &[], orders(4)).await;
    assert_eq!((other.field("inserted").as_str(), other.field("unchanged").as_str()), ("1", "3"));
}

#[tokio::test]
async fn a_client_whose_answer_was_lost_can_ask_what_became_of_its_batch() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let unknown = server.get("/v1/pipelines/orders/batches/a%2Fb").await;
    assert_eq!(unknown.problem(), "404 L1035 stop");
    let landed = server.deliver("a/b", orders(2)).await;
    let asked = server.get("/v1/pipelines/orders/batches/a%2Fb").await;
    assert_eq!((asked.status, asked.field("inserted").as_str()), (200, "2"), "{asked:?}");
    assert_eq!(asked.field("run_id"), landed.field("run_id"));
    let other = server.get("/v1/pipelines/none/batches/a").await;
    assert_eq!(other.problem(), "404 L1035 stop");
}

#[tokio::test]
async fn a_snapshot_that_is_held_is_told_with_its_reasons() {
    let crew = "
pipeline: crew
source: {format: ndjson, complete: {end_marker: '#EOF'}}
identity: [id]
target: {table: crew}
write: {mode: snapshot, absent: retire}
";
    let server = Server::sqlite("", &[crew]).await;
    let post = async |count: usize| {
        let path = "/v1/pipelines/crew/batches";
        server.post(path, &[("idempotency-key", &format!("n{count}"))], orders(count) + "#EOF\n").await
    };
    assert_eq!(post(100).await.field("status"), "processed");
    let held = post(3).await;
    assert_eq!((held.status, held.field("status").as_str()), (200, "held"), "{held:?}");
    assert!(held.json()["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty()));
    assert_eq!(held.field("commit"), "null");
}

#[tokio::test]
async fn a_batch_that_another_process_has_under_way_is_for_later() {
    let server = Server::postgres("", &[ORDERS]).await;
    server.deliver("first", orders(1)).await;
    let mut client = server.client().await;
    let mut transaction = client.transaction().await.unwrap();
    let batch = Batch::from_bytes("orders.ndjson", orders(3)).with_id("second");
    let pipeline = Pipeline::from_yaml(ORDERS).unwrap();
    pipeline.ingest_in(&mut transaction, &batch, &Options::default()).await.unwrap();

    let told = server.deliver("second", orders(3)).await;
    assert_eq!(told.problem(), "409 L0503 same_key");
    assert_eq!(told.header("retry-after"), "1");

    transaction.rollback().await.unwrap();
    let told = server.deliver("second", orders(3)).await;
    assert_eq!((told.status, told.field("status").as_str()), (200, "processed"), "{told:?}");
}
