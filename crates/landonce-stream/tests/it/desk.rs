//! The desk, driven by hand: order, fences, poison records, a store that is away (C37, C47, C62).

use std::time::Duration;

use landonce::{Pipeline, Store};
use landonce_core::pipeline::Message;
use landonce_stream::desk::Settings;
use landonce_stream::{Desk, Error, Given, PartName, Room, Start};
use landonce_testkit::dump;
use landonce_testkit::wait::until;

const YAML: &str = "
pipeline: flights
identity: [id]
target: {table: flight, columns: {id: integer, v: integer}}
source:
  kafka: {brokers: [none:1], group: g, topics: [t]}
  batch: {records: 100, wait_ms: 20}
  max_record: 1000
";

struct Bench {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    store: Store,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("landonce.db");
        let store = Store::open(&format!("sqlite:{}", path.display())).unwrap();
        Self { _folder: folder, path, store }
    }

    fn desk(&self, yaml: &str) -> Desk {
        let pipeline = Pipeline::from_yaml(yaml).unwrap();
        let settings = Settings { patience: Duration::from_secs(5), ..Settings::default() };
        Desk::new(&pipeline, &self.store, settings)
    }

    async fn next(&self, part: &str) -> Option<String> {
        let all = self.store.positions(Some("flights")).await.unwrap();
        all.into_iter().find(|position| position.part.part == part).and_then(|position| position.next)
    }
}

fn part(number: u32) -> PartName {
    PartName { source: "kafka g t".into(), part: number.to_string(), shown: format!("t/{number}") }
}

async fn given(desk: &Desk, part: &PartName) -> Given {
    desk.assign(part);
    until(10, "the part", async || desk.starts().pop()).await
}

fn message(offset: u64, value: &[u8]) -> Message<'_> {
    Message {
        topic: "t",
        part: "0",
        offset,
        key: None,
        value: Some(value),
        headers: &[],
        timestamp_ms: Some(1),
    }
}

fn put(given: &Given, offset: u64, value: &str) -> Room {
    given.intake.take(&message(offset, value.as_bytes()))
}

/// Waits until the store says so.
async fn landed_to(bench: &Bench, part: &str, next: &str) {
    until(10, "the position", async || (bench.next(part).await.as_deref() == Some(next)).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_and_the_next_number_land_together_and_the_next_owner_goes_on_behind_them() {
    let bench = Bench::new();
    let first = bench.desk(YAML);
    let one = given(&first, &part(0)).await;
    assert_eq!(one.start, Start { next: None, mark: None });
    for offset in 0..250 {
        assert_ne!(put(&one, offset, &format!("{{\"id\":{offset},\"v\":1}}")), Room::Gone);
        while !one.intake.has_room() {
            tokio::task::yield_now().await;
        }
    }
    landed_to(&bench, "0", "250").await;
    // It is told behind the commit.
    until(10, "what may be committed", async || {
        (first.landed().into_iter().collect::<Vec<_>>() == [(part(0), 250)]).then_some(())
    })
    .await;
    let second = bench.desk(YAML);
    let two = given(&second, &part(0)).await;
    assert_eq!(two.start.next, Some(250));
    let last = "{\"id\":249,\"v\":1}";
    assert_eq!(two.start.mark, Some(landonce_stream::mark(&message(249, last.as_bytes()))));
    assert_eq!(dump::sqlite(&bench.path).rows("flight"), Some(250));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zombie_that_was_taken_over_lands_nothing_and_hears_of_it() {
    let bench = Bench::new();
    let zombie = bench.desk(YAML);
    let old = given(&zombie, &part(0)).await;
    put(&old, 0, "{\"id\":1,\"v\":1}");
    landed_to(&bench, "0", "1").await;
    let owner = bench.desk(YAML);
    let new = given(&owner, &part(0)).await;
    put(&new, 1, "{\"id\":2,\"v\":1}");
    landed_to(&bench, "0", "2").await;
    let before = dump::sqlite(&bench.path);
    assert_eq!(put(&old, 1, "{\"id\":2,\"v\":666}"), Room::More, "it doesn't know yet");
    let gone = until(10, "the fence", async || zombie.gone().pop()).await;
    assert_eq!((gone, zombie.tally().fenced), (part(0), 1));
    assert_eq!(put(&old, 2, "{\"id\":3,\"v\":666}"), Room::Gone);
    before.assert_same(&dump::sqlite(&bench.path));
    // It may have the part again, and goes on where the store is.
    assert_eq!(given(&zombie, &part(0)).await.start.next, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn poison_is_kept_once_under_its_topic_partition_and_offset_and_the_part_goes_on() {
    let bench = Bench::new();
    let yaml = format!("{YAML}on_bad_record: {{quarantine: {{max: 1%}}}}\n");
    for round in 0..2 {
        let desk = bench.desk(&yaml);
        let part = given(&desk, &part(0)).await;
        let large = format!("{{\"id\":3,\"x\":\"{}\"}}", "x".repeat(5_000));
        for (offset, value) in
            ["{\"id\":0,\"v\":1}", "{\"id\":1,\"v\":", "{\"id\":2,\"v\":\"x\"}", &large, "{\"id\":4,\"v\":1}"]
                .into_iter()
                .enumerate()
        {
            assert_eq!(put(&part, offset as u64, value), Room::More);
        }
        landed_to(&bench, "0", "5").await;
        let kept = bench.store.quarantine(Some("flights"), 10).await.unwrap();
        let mut told: Vec<_> = kept.iter().map(|entry| (entry.source.clone(), entry.number)).collect();
        told.sort();
        let due: Vec<_> = [1, 2, 3].map(|offset| ("kafka t/0".to_owned(), offset)).into();
        assert_eq!(told, due, "round {round}");
        assert_eq!(dump::sqlite(&bench.path).rows("flight"), Some(2));
        // Delivered again from the beginning.
        bench
            .store
            .put_position(
                &landonce::position::Part {
                    pipeline: "flights".into(),
                    source: "kafka g t".into(),
                    part: "0".into(),
                },
                None,
                "a person",
            )
            .await
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_record_that_fails_its_batch_stops_the_worker_before_it() {
    let bench = Bench::new();
    let desk = bench.desk(YAML);
    let one = given(&desk, &part(0)).await;
    put(&one, 0, "{\"id\":0,\"v\":1}");
    landed_to(&bench, "0", "1").await;
    put(&one, 1, "{\"id\":1,\"v\":1}");
    put(&one, 2, "{\"id\":2");
    desk.stopped().await;
    assert_eq!(bench.next("0").await.as_deref(), Some("1"));
    assert_eq!(dump::sqlite(&bench.path).rows("flight"), Some(1));
    assert_eq!(put(&one, 3, "{\"id\":3,\"v\":1}"), Room::Gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_is_given_back_drops_what_has_not_landed_and_a_stop_lands_it() {
    let bench = Bench::new();
    let slow = YAML.replace("wait_ms: 20", "wait_ms: 60000");
    let desk = bench.desk(&slow);
    let (one, two) = (given(&desk, &part(0)).await, given(&desk, &part(1)).await);
    put(&one, 0, "{\"id\":0,\"v\":1}");
    put(&two, 0, "{\"id\":1,\"v\":1}");
    let (done, told) = (desk.clone(), part(0));
    tokio::task::spawn_blocking(move || done.revoke(&[told])).await.unwrap();
    assert_eq!(put(&one, 1, "{\"id\":2,\"v\":1}"), Room::Gone);
    let done = desk.clone();
    tokio::task::spawn_blocking(move || done.drain()).await.unwrap();
    assert_eq!((bench.next("0").await, bench.next("1").await.as_deref()), (None, Some("1")));
    assert_eq!(dump::sqlite(&bench.path).rows("flight"), Some(1));
    assert_eq!(desk.held(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_to_begin_at_is_stored_before_any_message_comes() {
    let bench = Bench::new();
    let desk = bench.desk(YAML);
    let one = given(&desk, &part(0)).await;
    one.intake.begins_at(40);
    landed_to(&bench, "0", "40").await;
    put(&one, 44, "{\"id\":0,\"v\":1}");
    landed_to(&bench, "0", "45").await;
}

/// A source that asks for a part, and ends.
struct Asks;
impl landonce_stream::Source for Asks {
    fn run(self: Box<Self>, desk: &Desk) -> Result<(), Error> {
        desk.assigned(&[part(0)], Duration::from_secs(10));
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_position_that_is_no_number_stops_the_worker_with_a_code() {
    let bench = Bench::new();
    let place =
        landonce::position::Part { pipeline: "flights".into(), source: "kafka g t".into(), part: "0".into() };
    bench.store.put_position(&place, Some("here"), "a person").await.unwrap();
    let pipeline = Pipeline::from_yaml(YAML).unwrap();
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    let options = landonce_stream::Options::default();
    let ended = landonce_stream::consume(&pipeline, &bench.store, Box::new(Asks), options, stopped).await;
    let told = ended.unwrap_err();
    assert_eq!(told.code(), landonce::Code::L1105, "{told}");
}
