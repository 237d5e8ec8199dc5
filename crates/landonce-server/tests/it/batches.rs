//! What a request says, and what is answered where it says it wrongly.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::served::{ORDERS, Server, orders};

const PATH: &str = "/v1/pipelines/orders/batches";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn every_format_lands_under_its_content_type() {
    let server = Server::sqlite("", &[ORDERS]).await;
    for (kind, body) in [
        ("application/x-ndjson", "{\"id\":1,\"version\":1}\n{\"id\":2,\"version\":1}\n"),
        ("application/json", "[{\"id\":3,\"version\":1},\n {\"id\":4,\"version\":1}]"),
        ("text/csv; charset=utf-8", "id,version\n5,1\n6,1\n"),
        ("text/tab-separated-values", "id\tversion\n7\t1\n8\t1\n"),
        (
            "application/geo+json",
            r#"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null,"properties":{"id":9,"version":1}},{"type":"Feature","geometry":null,"properties":{"id":10,"version":1}}]}"#,
        ),
        ("application/x-www-form-urlencoded", "{\"id\":11,\"version\":1}\n{\"id\":12,\"version\":1}\n"),
    ] {
        let answer = server.post(PATH, &[("content-type", kind)], body).await;
        assert_eq!((answer.status, answer.field("inserted").as_str()), (200, "2"), "{kind}: {answer:?}");
    }
    assert_eq!(server.rows("orders").await, 12);
}

#[tokio::test]
async fn a_compressed_body_lands_and_a_cut_one_does_not() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let headers = [("content-type", "application/x-ndjson"), ("content-encoding", "gzip")];
    let whole = gzip(orders(1000).as_bytes());
    let cut = server.post(PATH, &headers, whole[..whole.len() - 9].to_vec()).await;
    assert_eq!(cut.problem(), "422 L0302 stop");
    assert_eq!(server.rows("orders").await, 0);
    let answer = server.post(PATH, &headers, whole).await;
    assert_eq!((answer.status, answer.field("inserted").as_str()), (200, "1000"), "{answer:?}");
    let plain = server.post(PATH, &headers, orders(2)).await;
    assert_eq!(plain.problem(), "422 L0302 stop", "it isn't what its header says");
}

#[tokio::test]
async fn an_empty_body_is_refused_and_leaves_its_key_to_the_batch() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let kinds = ["", "application/x-ndjson", "application/json", "application/geo+json", "text/csv"];
    for kind in kinds {
        let nothing = server.post(PATH, &[("idempotency-key", "k"), ("content-type", kind)], "").await;
        assert_eq!(nothing.problem(), "422 L0302 stop", "{kind}");
        assert!(nothing.field("detail").starts_with("the body is empty"), "{nothing:?}");
    }
    assert_eq!(server.rows("landonce_inbox").await, 0);
    let landed = server.deliver("k", orders(2)).await;
    assert_eq!((landed.field("status").as_str(), landed.field("inserted").as_str()), ("processed", "2"));
    // What the refusal advises is taken.
    for (kind, body) in
        [("application/json", "[]"), ("application/x-ndjson", "\n"), ("text/csv", "id,version\n")]
    {
        let none = server.post(PATH, &[("content-type", kind)], body).await;
        assert_eq!((none.status, none.field("read").as_str()), (200, "0"), "{kind}: {none:?}");
    }
}

#[tokio::test]
async fn a_body_longer_than_memory_takes_lands_from_its_file() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let body = orders(20_000);
    assert!(body.len() > 600_000);
    let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(body.as_bytes()));
    let answer = server.post(PATH, &[], body).await;
    assert_eq!((answer.status, answer.field("inserted").as_str()), (200, "20000"), "{answer:?}");
    assert_eq!(answer.field("batch_id"), digest, "what `sha256sum` prints");
}

#[tokio::test]
async fn bad_records_are_listed_and_nothing_is_written() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let body = "{\"id\":1,\"version\":1}\n{\"version\":1}\n{\"id\":2,\"version\":\n";
    let answer = server.deliver("bad", body).await;
    assert_eq!(answer.problem(), "422 L0401 stop");
    let records = answer.json()["records"].clone();
    assert_eq!(records.as_array().map(Vec::len), Some(2), "{answer:?}");
    assert_eq!((&records[0]["number"], &records[0]["kind"]), (&2.into(), &"absent key".into()));
    assert!(!answer.field("detail").contains('\n'));
    assert_eq!(server.rows("orders").await, 0);
    let mended = server.deliver("bad", "{\"id\":1,\"version\":1}\n").await;
    assert_eq!(mended.field("status"), "processed", "a key that failed isn't taken");
}

#[tokio::test]
async fn requests_that_make_no_sense_are_told_why() {
    let days = "
pipeline: days
source: {format: ndjson}
identity: [id]
target: {table: days, columns: {at: timestamptz}}
write: {mode: overwrite_period, period: {every: day, field: at, tz: UTC}}
";
    let server = Server::sqlite("", &[ORDERS, days]).await;
    let long = format!("\"{}\"", "a".repeat(256));
    for (path, headers, problem) in [
        (PATH, vec![("idempotency-key", "")], "400 L1026 stop"),
        (PATH, vec![("idempotency-key", "\"a")], "400 L1026 stop"),
        (PATH, vec![("idempotency-key", long.as_str())], "400 L1026 stop"),
        (PATH, vec![("idempotency-key", "a"), ("idempotency-key", "a")], "400 L1026 stop"),
        ("/v1/pipelines/orders/batches?batch_id=a", vec![("idempotency-key", "b")], "400 L1026 stop"),
        ("/v1/pipelines/orders/batches?bach_id=a", vec![], "400 L1027 stop"),
        ("/v1/pipelines/orders/batches?period=2026-03-01", vec![], "400 L1027 stop"),
        ("/v1/pipelines/days/batches", vec![], "400 L1027 stop"),
        ("/v1/pipelines/days/batches?period=yesterday", vec![], "400 L1027 stop"),
        ("/v1/pipelines/days/batches?period=2026-03-01", vec![("idempotency-key", "a")], "400 L1027 stop"),
        (PATH, vec![("content-type", "application/xml")], "415 L1028 stop"),
        (PATH, vec![("content-encoding", "br")], "415 L1028 stop"),
        ("/v1/pipelines/none/batches", vec![], "404 L1035 stop"),
        ("/v1/pipelines/..%2Forders/batches", vec![], "404 L1035 stop"),
        ("/v1/nothing", vec![], "404 L1025 stop"),
    ] {
        let answer = server.post(path, &headers, orders(1)).await;
        assert_eq!(answer.problem(), problem, "{path} {headers:?} {answer:?}");
    }
    let words = server.post(PATH, &[], "id,version\n1,1\n").await;
    assert_eq!(words.problem(), "415 L1028 stop", "nobody said that it is CSV");
    let method = server.get(PATH).await;
    assert_eq!((method.problem().as_str(), method.header("allow")), ("405 L1025 stop", "POST"));
    assert_eq!(server.rows("orders").await, 0);
}

#[tokio::test]
async fn a_period_is_named_in_the_query_and_lands_once() {
    let days = "
pipeline: days
source: {format: ndjson}
identity: [id]
target: {table: days, columns: {at: timestamptz}}
write: {mode: overwrite_period, period: {every: day, field: at, tz: UTC}}
";
    let server = Server::sqlite("", &[days]).await;
    let body = "{\"id\":1,\"at\":\"2026-03-01T10:00:00Z\"}\n";
    let path = "/v1/pipelines/days/batches?period=2026-03-01";
    let first = server.post(path, &[], body).await;
    assert_eq!(first.json()["period"]["label"], "2026-03-01", "{first:?}");
    assert_eq!(first.json()["period"]["state"], "complete");
    let again = server.post(path, &[], body).await;
    assert_eq!(again.header("idempotent-replayed"), "true", "{again:?}");
}

#[tokio::test]
async fn a_dry_run_tells_what_would_happen_and_writes_nothing() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let path = "/v1/pipelines/orders/batches?dry_run=true";
    let planned = server.post(path, &[], orders(5)).await;
    assert_eq!(
        (planned.field("status").as_str(), planned.field("inserted").as_str()),
        ("would_process", "5")
    );
    assert_eq!(server.rows("orders").await, 0);
    server.post(PATH, &[], orders(5)).await;
    let planned = server.post(path, &[], orders(5)).await;
    assert_eq!(planned.field("status"), "would_skip");
}

#[tokio::test]
async fn the_batch_id_is_taken_from_where_the_file_says() {
    let config = "batch_id: {header: X-Batch, query: id}";
    let server = Server::sqlite(config, &[ORDERS]).await;
    let path = "/v1/pipelines/orders/batches?id=one%20day";
    let answer = server.post(path, &[("x-batch", "one day")], orders(1)).await;
    assert_eq!(answer.field("batch_id"), "one day", "{answer:?}");
}
