//! At once (I2): whoever lost has changed nothing, and tells nothing; every version that stood is told once.

use landonce::{Batch, Pipeline, Receipt};

use super::{notifying, outbox, telling};
use crate::given::{Given, on_every_store, patient};

on_every_store!(
    twins_tell_one_set_of_messages,
    rivals_tell_every_version_that_stood_and_no_other,
    rows_that_rivals_delete_are_told_once
);

async fn at_once(given: &Given, pipeline: &Pipeline, batches: Vec<Batch>) -> Vec<Receipt> {
    let mut tasks = tokio::task::JoinSet::new();
    for batch in batches {
        let (pipeline, store) = (pipeline.clone(), given.store.clone());
        tasks.spawn(async move { pipeline.ingest_with(&store, &batch, &patient()).await.unwrap() });
    }
    tasks.join_all().await
}

async fn twins_tell_one_set_of_messages(given: Given) {
    let pipeline = telling("");
    let lines: Vec<String> = (0..200).map(|id| format!(r#"{{"id":{id},"v":"a"}}"#)).collect();
    let batch = Batch::from_bytes("e.ndjson", lines.join("\n"));
    let receipts = at_once(&given, &pipeline, vec![batch.clone(); 6]).await;
    assert_eq!(receipts.iter().map(|receipt| receipt.notes.enqueued).sum::<u64>(), 200);
    // Equal content under other ids: six batches, one of which changes each row.
    let lines: Vec<String> = (0..200).map(|id| format!(r#"{{"id":{id},"v":"b"}}"#)).collect();
    let batches =
        (0..6).map(|n| Batch::from_bytes("e.ndjson", lines.join("\n")).with_id(format!("{n}"))).collect();
    let receipts = at_once(&given, &pipeline, batches).await;
    assert_eq!(receipts.iter().map(|receipt| receipt.notes.enqueued).sum::<u64>(), 200);
    assert_eq!(outbox(&given, "kind").await.len(), 400);
}

async fn rivals_tell_every_version_that_stood_and_no_other(given: Given) {
    let pipeline = notifying(
        "write: {version: n}",
        "{topic: t, payload: ['{entity.id}', '{revision}', '{old.n}', '{new.n}']}",
    );
    let batch = |writer: u64, round: u64| {
        let lines: Vec<String> = (0..40_u64)
            .filter(|id| !(id + writer).is_multiple_of(3))
            .map(|id| format!(r#"{{"id":{id},"v":"{writer}","n":{}}}"#, round * 6 + writer + 1))
            .collect();
        Batch::from_bytes(format!("{writer}-{round}.ndjson"), lines.join("\n"))
    };
    for round in 0..8 {
        at_once(&given, &pipeline, (0..6).map(|writer| batch(writer, round)).collect()).await;
    }
    // Each row's messages are a chain: the first is new, each begins where the one before ended, the last is what stands.
    let mut chains = std::collections::BTreeMap::<u64, Vec<(u64, Option<u64>, u64)>>::new();
    for payload in outbox(&given, "payload").await {
        let (id, revision, old, new): (u64, u64, Option<u64>, u64) = serde_json::from_str(&payload).unwrap();
        chains.entry(id).or_default().push((revision, old, new));
    }
    let standing = given.column("SELECT CAST(id AS text) || ' ' || CAST(n AS text) || ' ' || CAST(landonce_revision AS text) FROM t ORDER BY id").await;
    assert_eq!(chains.len(), standing.len());
    for (row, (id, mut chain)) in standing.iter().zip(chains) {
        chain.sort_unstable();
        let mut before = (0, None);
        for (revision, old, new) in &chain {
            assert_eq!((*revision, *old), (before.0 + 1, before.1), "{id}: {chain:?}");
            before = (*revision, Some(*new));
        }
        assert_eq!(*row, format!("{id} {} {}", before.1.unwrap(), before.0));
    }
}

async fn rows_that_rivals_delete_are_told_once(given: Given) {
    let pipeline = telling("write: {delete_when: {field: op, equals: [D]}}");
    for round in 0..10 {
        let put: Vec<String> = (0..20).map(|id| format!(r#"{{"id":{id},"v":"{round}"}}"#)).collect();
        let gone: Vec<String> = (0..20).map(|id| format!(r#"{{"id":{id},"op":"D"}}"#)).collect();
        let batch = |name: &str, lines: &[String]| {
            Batch::from_bytes("e.ndjson", lines.join("\n")).with_id(format!("{name}{round}"))
        };
        at_once(&given, &pipeline, vec![batch("p", &put), batch("d", &gone), batch("e", &gone)]).await;
        let (table, stand) = (given.system("outbox"), given.count("t").await);
        let count = async |kind: &str| {
            given.column(&format!("SELECT count(*) FROM {table} WHERE kind = '{kind}'")).await[0]
                .parse::<u64>()
                .unwrap()
        };
        assert_eq!(count("inserted").await - count("deleted").await, stand, "{round}");
    }
}
