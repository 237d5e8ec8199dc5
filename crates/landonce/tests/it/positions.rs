//! A part's place moves with its batch (F4, H2, C37): the traces that the model of the protocol finds interesting
//! (`landonce-stream/tests/it/model.rs`), driven through the real stores.
//!
//! Every row that comes new adds to a balance, which no second delivery would leave alone.

use landonce::payload::Messages;
use landonce::position::{Advance, Part, Taken};
use landonce::{Batch, Commit, Error, Kind, Options, Pipeline, Receipt, RetryPolicy, Status, Store};
use landonce_testkit::dump::Dump;
use landonce_testkit::proxy::{Fault, Proxy};
use landonce_testkit::wait;

use crate::given::{Given, counts, on_every_store, patient, pipeline};

on_every_store!(
    a_batch_moves_its_part,
    a_skipped_duplicate_moves_its_part_too,
    a_batch_of_the_wrong_place_writes_nothing,
    of_two_owners_the_last_one_lands,
    a_duplicate_of_who_was_taken_over_is_fenced_and_writes_nothing,
    what_a_person_wants_landed_again_lands_again,
    a_bad_record_holds_the_part_where_it_is,
);

/// What is read: the third message repeats the first, the fourth updates it.
const LOG: [&str; 4] = [
    r#"{"id":"a","amount":1}"#,
    r#"{"id":"b","amount":10}"#,
    r#"{"id":"a","amount":1}"#,
    r#"{"id":"a","amount":100}"#,
];

/// The rows and the balance when all of it has landed once.
const LANDED: [&str; 3] = ["a 100", "b 10", "balance 11"];

fn part() -> Part {
    Part { pipeline: "p".into(), source: "kafka g topic".into(), part: "3".into() }
}

async fn prepared(given: &Given) -> Pipeline {
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {id: text, amount: integer}}\napply: [{sql: UPDATE account SET balance = balance + :amount, rows: 1}]",
    );
    given.execute("CREATE TABLE account (balance bigint NOT NULL); INSERT INTO account VALUES (0)").await;
    given.store.set_up(&pipeline).await.unwrap();
    pipeline
}

/// The messages of a range as a worker hands them over: the id names the part, the epoch and the range.
fn batch(taken: &Taken, to: usize) -> Batch {
    let from = place(taken);
    let mut messages = Messages::default();
    for (number, text) in LOG.iter().enumerate().take(to).skip(from) {
        messages.record(number as u64, text.as_bytes());
    }
    Batch::from_payload(messages.into_payload("kafka topic/3"))
        .with_id(format!("kafka g topic 3 {} {from}-{to}", taken.epoch))
        .advancing(advance(taken, to))
}

fn advance(taken: &Taken, to: usize) -> Advance {
    let mark = Some(LOG[to - 1].as_bytes().to_vec());
    Advance { part: part(), epoch: taken.epoch, from: taken.next.clone(), to: to.to_string(), mark }
}

fn place(taken: &Taken) -> usize {
    taken.next.as_ref().map_or(0, |next| next.parse().unwrap())
}

/// The owner, behind what it has landed.
fn behind(taken: &Taken, to: usize) -> Taken {
    Taken { next: Some(to.to_string()), ..taken.clone() }
}

async fn take(store: &Store, owner: &str) -> Taken {
    store.take_part(&part(), owner).await.unwrap()
}

async fn land(store: &Store, pipeline: &Pipeline, batch: &Batch) -> Result<Receipt, Error> {
    pipeline.ingest_with(store, batch, &patient()).await
}

async fn rows(given: &Given) -> Vec<String> {
    given
        .column("SELECT * FROM (SELECT id || ' ' || CAST(amount AS TEXT) AS x FROM t UNION ALL SELECT 'balance ' || CAST(balance AS TEXT) FROM account) AS rows ORDER BY x")
        .await
}

/// Everything but times and runs.
async fn state(given: &Given) -> Dump {
    let table = given.system("position");
    let columns = ["taken_at", "moved_at", "run_id"].map(|column| (table.as_str(), column));
    given.state().await.without(&columns)
}

#[track_caller]
fn assert_fenced(landed: Result<Receipt, Error>) {
    let error = landed.unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Fenced, "L0504"), "{error}");
}

/// Who has it, in which epoch, and where it is.
async fn position(given: &Given) -> (String, u64, Option<String>) {
    let mut positions = given.store.positions(Some("p")).await.unwrap();
    assert_eq!(positions.len(), 1);
    let position = positions.remove(0);
    (position.owner, position.epoch, position.next)
}

async fn a_batch_moves_its_part(given: Given) {
    let pipeline = prepared(&given).await;
    let one = take(&given.store, "one").await;
    assert_eq!((one.epoch, one.next.clone()), (1, None));
    let receipt = land(&given.store, &pipeline, &batch(&one, 2)).await.unwrap();
    assert_eq!((receipt.status, counts(&receipt).as_str()), (Status::Processed, "read 2, inserted 2"));
    assert_eq!(position(&given).await, ("one".into(), 1, Some("2".into())));
    // Delivered again, it changes nothing at all, the position's times included.
    let before = given.dump().await;
    let receipt = land(&given.store, &pipeline, &batch(&one, 2)).await.unwrap();
    assert_eq!(receipt.status, Status::SkippedDuplicate);
    before.assert_same(&given.dump().await);
    land(&given.store, &pipeline, &batch(&behind(&one, 2), 4)).await.unwrap();
    assert_eq!(rows(&given).await, LANDED);
    let two = take(&given.store, "two").await;
    assert_eq!((two.epoch, place(&two), two.mark), (2, 4, Some(LOG[3].as_bytes().to_vec())));
}

/// Such as a batch that its sender has named, and that came another way before.
async fn a_skipped_duplicate_moves_its_part_too(given: Given) {
    let pipeline = prepared(&given).await;
    let one = take(&given.store, "one").await;
    let mut messages = Messages::default();
    messages.record(0, LOG[0].as_bytes());
    messages.record(1, LOG[1].as_bytes());
    let batch = Batch::from_payload(messages.into_payload("kafka topic/3")).with_id("named");
    land(&given.store, &pipeline, &batch).await.unwrap();
    assert_eq!(position(&given).await.2, None);
    let before = state(&given).await;
    let receipt = land(&given.store, &pipeline, &batch.advancing(advance(&one, 2))).await.unwrap();
    assert_eq!(receipt.status, Status::SkippedDuplicate);
    assert_eq!(position(&given).await, ("one".into(), 1, Some("2".into())));
    let position = given.system("position");
    before.without_tables(&[&position]).assert_same(&state(&given).await.without_tables(&[&position]));
}

async fn a_batch_of_the_wrong_place_writes_nothing(given: Given) {
    let pipeline = prepared(&given).await;
    let one = take(&given.store, "one").await;
    land(&given.store, &pipeline, &batch(&one, 2)).await.unwrap();
    let before = given.dump().await;
    // The same owner, as if what it has landed hadn't landed; and as if more had.
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 1)).await);
    assert_fenced(land(&given.store, &pipeline, &batch(&behind(&one, 3), 4)).await);
    // A part that nobody has taken.
    let nowhere = Advance { part: Part { part: "4".into(), ..part() }, ..advance(&one, 2) };
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 3).advancing(nowhere)).await);
    before.assert_same(&given.dump().await);
}

async fn of_two_owners_the_last_one_lands(given: Given) {
    let pipeline = prepared(&given).await;
    let (one, two) = (take(&given.store, "one").await, take(&given.store, "two").await);
    let before = given.dump().await;
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 3)).await);
    before.assert_same(&given.dump().await);
    land(&given.store, &pipeline, &batch(&two, 2)).await.unwrap();
    let before = given.dump().await;
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 3)).await);
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 2)).await);
    before.assert_same(&given.dump().await);
    land(&given.store, &pipeline, &batch(&behind(&two, 2), 4)).await.unwrap();
    assert_eq!(rows(&given).await, LANDED);
}

async fn a_duplicate_of_who_was_taken_over_is_fenced_and_writes_nothing(given: Given) {
    let pipeline = prepared(&given).await;
    let one = take(&given.store, "one").await;
    land(&given.store, &pipeline, &batch(&one, 2)).await.unwrap();
    let two = take(&given.store, "two").await;
    assert_eq!(place(&two), 2);
    let before = given.dump().await;
    // It has landed, and whoever asks is told so by the inbox; but the part isn't theirs to go on with.
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 2)).await);
    before.assert_same(&given.dump().await);
}

async fn what_a_person_wants_landed_again_lands_again(given: Given) {
    let pipeline = prepared(&given).await;
    let one = take(&given.store, "one").await;
    land(&given.store, &pipeline, &batch(&one, 4)).await.unwrap();
    given.execute("DELETE FROM t; UPDATE account SET balance = 0").await;
    given.store.put_position(&part(), None, "a person").await.unwrap();
    let before = given.dump().await;
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 4)).await);
    before.assert_same(&given.dump().await);
    let again = take(&given.store, "one").await;
    assert_eq!((again.epoch, again.next.clone()), (3, None));
    // The same messages in the same cut, and another batch.
    let receipt = land(&given.store, &pipeline, &batch(&again, 4)).await.unwrap();
    assert_eq!(receipt.status, Status::Processed);
    assert_eq!(rows(&given).await[..2], LANDED[..2]);
}

async fn a_bad_record_holds_the_part_where_it_is(given: Given) {
    let pipeline = prepared(&given).await;
    let one = take(&given.store, "one").await;
    let mut messages = Messages::default();
    messages.record(0, LOG[0].as_bytes());
    messages.record(1, br#"{"id":null,"amount":1}"#);
    let bad = Batch::from_payload(messages.into_payload("kafka topic/3")).with_id("bad");
    let before = given.dump().await;
    let error = land(&given.store, &pipeline, &bad.advancing(advance(&one, 2))).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecords);
    before.assert_same(&given.dump().await);
}

/// A worker's way to PostgreSQL, to be held up or cut.
async fn zombie() -> (Given, Pipeline, Proxy, Store) {
    let given = Given::postgres().await;
    let pipeline = prepared(&given).await;
    let proxy = Proxy::start(&given.url).await;
    let store = Store::open(proxy.url()).unwrap();
    (given, pipeline, proxy, store)
}

/// Waits until a session waits for a lock.
async fn somebody_waits_for_a_lock(given: &Given) {
    let sql =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    wait::until(60, "a session to wait", async || (!given.column(sql).await.is_empty()).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_taken_over_before_its_move_leaves_nothing_and_holds_nobody_up() {
    let (given, pipeline, proxy, store) = zombie().await;
    let one = take(&given.store, "one").await;
    let mut stalled = proxy.arm(Fault::StallRequest("UPDATE landonce.position".into()));
    let zombie = tokio::spawn({
        let (pipeline, batch) = (pipeline.clone(), batch(&one, 3));
        async move { land(&store, &pipeline, &batch).await }
    });
    stalled.wait(60).await;
    // Its rows are written and not committed. Taking the part doesn't wait for them; landing the same rows does.
    let two = take(&given.store, "two").await;
    assert_eq!((two.epoch, two.next.clone()), (2, None));
    let next = tokio::spawn({
        let (store, pipeline, batch) = (given.store.clone(), pipeline.clone(), batch(&two, 2));
        async move { land(&store, &pipeline, &batch).await }
    });
    somebody_waits_for_a_lock(&given).await;
    proxy.resume();
    assert_fenced(zombie.await.unwrap());
    let receipt = next.await.unwrap().unwrap();
    assert_eq!(counts(&receipt), "read 2, inserted 2");
    land(&given.store, &pipeline, &batch(&behind(&two, 2), 4)).await.unwrap();
    assert_eq!(rows(&given).await, LANDED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taking_waits_for_a_commit_and_goes_on_behind_it() {
    let (given, pipeline, proxy, store) = zombie().await;
    let one = take(&given.store, "one").await;
    // Its position is moved; its outcome and its COMMIT are to come.
    let mut stalled = proxy.arm(Fault::StallRequest("UPDATE landonce.inbox".into()));
    let zombie = tokio::spawn({
        let (store, pipeline, batch) = (store.clone(), pipeline.clone(), batch(&one, 2));
        async move { land(&store, &pipeline, &batch).await }
    });
    stalled.wait(60).await;
    let taking = tokio::spawn({
        let store = given.store.clone();
        async move { take(&store, "two").await }
    });
    somebody_waits_for_a_lock(&given).await;
    proxy.resume();
    assert_eq!(zombie.await.unwrap().unwrap().status, Status::Processed);
    let two = taking.await.unwrap();
    assert_eq!((two.epoch, place(&two)), (2, 2));
    let before = given.dump().await;
    assert_fenced(land(&store, &pipeline, &batch(&behind(&one, 2), 4)).await);
    before.assert_same(&given.dump().await);
    land(&given.store, &pipeline, &batch(&two, 4)).await.unwrap();
    assert_eq!(rows(&given).await, LANDED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lost_between_move_and_commit_leaves_both_undone() {
    let (given, pipeline, proxy, store) = zombie().await;
    let one = take(&given.store, "one").await;
    let before = given.dump().await;
    let cut = proxy.arm(Fault::CutBeforeCommit);
    let briefly = Options { retry: RetryPolicy { attempts: 1, ..patient().retry }, ..Options::default() };
    pipeline.ingest_with(&store, &batch(&one, 2), &briefly).await.unwrap_err();
    assert_eq!(cut.fired(), 1);
    before.assert_same(&given.dump().await);
    let two = take(&given.store, "two").await;
    assert_eq!(two.next, None);
    land(&given.store, &pipeline, &batch(&two, 4)).await.unwrap();
    assert_eq!(rows(&given).await, ["a 100", "b 10", "balance 110"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_and_its_worker_goes_on() {
    let (given, pipeline, proxy, store) = zombie().await;
    let one = take(&given.store, "one").await;
    let cut = proxy.arm(Fault::CutAfterCommit);
    let receipt = land(&store, &pipeline, &batch(&one, 2)).await.unwrap();
    assert_eq!(cut.fired(), 1);
    assert_eq!((receipt.status, receipt.commit), (Status::Processed, Commit::Recovered));
    assert_eq!(position(&given).await, ("one".into(), 1, Some("2".into())));
    land(&store, &pipeline, &batch(&behind(&one, 2), 4)).await.unwrap();
    assert_eq!(rows(&given).await, LANDED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_and_a_taking_over_land_once() {
    let (given, pipeline, proxy, store) = zombie().await;
    let one = take(&given.store, "one").await;
    let cut = proxy.arm(Fault::CutAfterCommit);
    proxy.arm(Fault::CutAtConnect.times(1_000).after(&cut));
    let briefly = Options { retry: RetryPolicy { attempts: 3, ..patient().retry }, ..Options::default() };
    let error = pipeline.ingest_with(&store, &batch(&one, 2), &briefly).await.unwrap_err();
    assert_eq!((cut.fired(), error.kind()), (1, Kind::Unresolved));
    let two = take(&given.store, "two").await;
    assert_eq!((two.epoch, place(&two)), (2, 2));
    // The first one comes back and asks once more; then it cuts another batch from where it believes to be.
    let before = given.dump().await;
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 2)).await);
    assert_fenced(land(&given.store, &pipeline, &batch(&one, 1)).await);
    before.assert_same(&given.dump().await);
    land(&given.store, &pipeline, &batch(&two, 4)).await.unwrap();
    assert_eq!(rows(&given).await, LANDED);
}

/// A worker that dies at any statement of its batch, and another one that takes the part: one delivery's state, whatever was cut.
#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_any_statement_and_a_taking_over_land_once() {
    let briefly = Options { retry: RetryPolicy { attempts: 1, ..patient().retry }, ..Options::default() };
    let (mut landed, mut lost) = (0, 0);
    for statement in 1.. {
        let (given, pipeline, proxy, store) = zombie().await;
        let one = take(&given.store, "one").await;
        let cut = proxy.arm(Fault::CutAtStatement(statement));
        let first = pipeline.ingest_with(&store, &batch(&one, 2), &briefly).await;
        let two = take(&given.store, "two").await;
        // What the position says is what is there.
        let want: &[&str] = if place(&two) == 2 { &["a 1", "b 10", "balance 11"] } else { &["balance 0"] };
        assert_eq!(rows(&given).await, want, "statement {statement}: {first:?}");
        if place(&two) == 2 {
            landed += 1;
        } else {
            lost += 1;
        }
        if place(&two) == 0 {
            land(&given.store, &pipeline, &batch(&two, 2)).await.unwrap();
        }
        land(&given.store, &pipeline, &batch(&behind(&two, 2), 4)).await.unwrap();
        assert_eq!(rows(&given).await, LANDED, "statement {statement}");
        if cut.fired() == 0 {
            break;
        }
    }
    assert!(landed > 0 && lost > 10, "{landed} landed, {lost} lost: not all statements were cut");
}

/// SQLite has one writer: a taking comes before a transaction or behind it, never between its move and its COMMIT.
#[tokio::test(flavor = "multi_thread")]
async fn a_taking_waits_for_the_file_and_goes_on_behind_the_move() {
    let given = Given::sqlite();
    prepared(&given).await;
    take(&given.store, "one").await;
    let held = rusqlite::Connection::open(given.sqlite_path()).unwrap();
    held.execute_batch("BEGIN IMMEDIATE; UPDATE landonce_position SET next = '2' WHERE epoch = 1").unwrap();
    let taking = tokio::spawn({
        let store = given.store.clone();
        async move { take(&store, "two").await }
    });
    // What is committed, any reader may see; and it is what was before.
    assert_eq!(position(&given).await, ("one".into(), 1, None));
    held.execute_batch("COMMIT").unwrap();
    let two = taking.await.unwrap();
    assert_eq!((two.epoch, place(&two)), (2, 2));
}
