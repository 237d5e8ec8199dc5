//! Bad records and deletes, by way of a broker (C30, C62).

use landonce::{Pipeline, Store};
use landonce_testkit::kafka::Broker;
use landonce_testkit::{dump, postgres};

use crate::kafka::nexts;
use crate::topic::{produce, until_end};

fn pipeline(broker: &str, group: &str, cut: u64, more: &str) -> Pipeline {
    Pipeline::from_yaml(&format!(
        "pipeline: flights\nidentity: [id]\ntarget: {{table: flight, columns: {{id: integer, v: integer}}}}\n{more}\nsource:\n  \
         batch: {{records: {cut}, wait_ms: 50}}\n  kafka:\n    brokers: ['{broker}']\n    group: {group}\n    topics: [t]\n    \
         properties: {{session.timeout.ms: '6000', fetch.message.max.bytes: '60000000'}}\n"
    ))
    .unwrap()
}

fn messages(values: impl IntoIterator<Item = String>) -> Vec<(String, Option<String>)> {
    values.into_iter().map(|value| ("k".to_owned(), Some(value))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn three_bad_records_of_a_thousand_are_kept_once_and_the_position_is_past_all() {
    let broker = Broker::start(&["t:1"]);
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let large = format!("{{\"id\":700,\"x\":\"{}\"}}", "x".repeat(50 << 20));
    let values = (0..1_000).map(|id| match id {
        300 => "{\"id\":300,".to_owned(),
        500 => "{\"id\":500,\"v\":\"five hundred\"}".to_owned(),
        700 => large.clone(),
        id => format!("{{\"id\":{id},\"v\":1}}"),
    });
    produce(broker.address(), "t", 0, &messages(values));
    let pipeline = pipeline(broker.address(), "g", 250, "on_bad_record: {quarantine: {max: 1%}}");
    let part =
        landonce::position::Part { pipeline: "flights".into(), source: "kafka g t".into(), part: "0".into() };
    for round in 0..2 {
        let tally = until_end(&pipeline, &store).await.unwrap();
        assert_eq!((tally.messages, tally.outcome.quarantined), (1_000, 3), "round {round}");
        assert_eq!(nexts(&store).await, [Some("1000".to_owned())]);
        let kept = store.quarantine(Some("flights"), 100).await.unwrap();
        let mut told: Vec<_> = kept
            .iter()
            .map(|entry| (entry.number, entry.source.as_str(), entry.raw.len() < 70_000))
            .collect();
        told.sort_unstable();
        assert_eq!(told, [300, 500, 700].map(|offset| (offset, "kafka t/0", true)), "round {round}");
        let all = dump::postgres(&database.client().await, dump::Tables::All).await;
        assert_eq!(all.rows("public.flight"), Some(997));
        // All of it is delivered again.
        store.put_position(&part, None, "a person").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn puts_and_deletes_keep_their_order_however_they_are_cut_into_batches() {
    let broker = Broker::start(&["t:1"]);
    let put = |id: u32, v: u32| format!("{{\"id\":{id},\"v\":{v}}}");
    let del = |id: u32| format!("{{\"id\":{id},\"op\":\"d\"}}");
    produce(broker.address(), "t", 0, &messages([put(7, 1), del(7), put(7, 2), put(8, 1), del(8)]));
    let mut states = Vec::new();
    for (group, cut) in [("one", 5), ("each", 1), ("two", 2)] {
        let database = postgres::database().await;
        let store = Store::open(&database.url()).unwrap();
        let more = "write: {delete_when: {field: op, equals: [d]}}";
        let pipeline = pipeline(broker.address(), group, cut, more);
        until_end(&pipeline, &store).await.unwrap();
        let client = database.client().await;
        let rows = client.query("SELECT id::int8, v::int8 FROM flight ORDER BY id", &[]).await.unwrap();
        states.push(rows.iter().map(|row| (row.get(0), row.get(1))).collect::<Vec<(i64, i64)>>());
    }
    assert_eq!(states, vec![vec![(7, 2)]; 3]);
}
