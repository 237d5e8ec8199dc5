//! Workers at once: messages that become visible late, a person who revives some, and many sessions.

use std::cell::RefCell;
use std::time::Duration;

use landonce_store::outbox::{Act, Fate, Outbox, Parcel, Want, Which};
use landonce_store::postgres::{Database, Session};
use landonce_store::seam::{Access, Connection, Work};
use landonce_testkit::proxy::{Fault, Proxy};

use super::{Fresh, fresh};
use crate::conformance::Bench;
use crate::conformance::outbox::{assert_in_order, enqueue, message, settle, spread, want, work};

fn sent() -> Fate {
    Fate::Sent { answer: "200".to_owned() }
}

async fn lease(session: &mut Session) -> Vec<Parcel> {
    session.lease(&want(&["t".to_owned()])).await.unwrap().messages
}

async fn set_up(bench: &mut Fresh) -> (Session, Session) {
    let (mut one, other) = (bench.connect().await, bench.connect().await);
    one.migrate().await.unwrap();
    (one, other)
}

/// A session whose transaction has enqueued messages and stays open.
async fn open_with(bench: &mut Fresh, messages: &[landonce_store::outbox::Message]) -> Session {
    let mut late = bench.connect().await;
    late.begin(Access::Write).await.unwrap();
    late.work().enqueue(messages).await.unwrap();
    late
}

#[tokio::test]
async fn a_late_commit_loses_nothing() {
    let mut bench = fresh().await;
    let (mut one, mut other) = set_up(&mut bench).await;
    let mut late = open_with(&mut bench, &[message("t", "a", 1), message("t", "c", 2)]).await;
    enqueue(&mut one, &[message("t", "a", 3), message("t", "b", 4)]).await;
    let first = lease(&mut one).await;
    assert_eq!(first.len(), 2);
    settle(&mut one, &first, &sent()).await;
    assert_eq!(lease(&mut other).await, []);
    late.commit().await.unwrap();
    let later = lease(&mut other).await;
    assert_eq!(later.len(), 2);
    assert!(later.iter().all(|parcel| parcel.seq < first[0].seq), "{later:?}");
}

#[tokio::test]
async fn a_message_that_comes_late_before_a_leased_one_waits_for_it() {
    let mut bench = fresh().await;
    let (mut one, mut other) = set_up(&mut bench).await;
    // More of them than anybody looks at in a lane.
    let before: Vec<_> = (0..50).map(|n| message("t", "a", n)).collect();
    let mut late = open_with(&mut bench, &before).await;
    enqueue(&mut one, &[message("t", "a", 100)]).await;
    let first = lease(&mut one).await;
    assert_eq!(first.len(), 1);
    late.commit().await.unwrap();
    assert_eq!(lease(&mut other).await, [], "one of the lane is under way");
    let due = other.next_due(&["t".to_owned()]).await.unwrap().unwrap();
    assert!(due > Duration::from_mins(30), "nobody is told to come now: {due:?}");
    settle(&mut one, &first, &sent()).await;
    assert_eq!(lease(&mut other).await.len(), 10);
}

#[tokio::test]
async fn a_message_between_two_leased_ones_ends_what_is_taken() {
    let mut bench = fresh().await;
    let (mut one, mut other) = set_up(&mut bench).await;
    enqueue(&mut one, &[message("t", "a", 1)]).await;
    let mut late = open_with(&mut bench, &[message("t", "a", 2)]).await;
    enqueue(&mut one, &[message("t", "a", 3)]).await;
    let first = lease(&mut one).await;
    assert_eq!(first.len(), 2);
    late.commit().await.unwrap();
    settle(&mut one, &first[..1], &sent()).await;
    assert_eq!(lease(&mut other).await, []);
    settle(&mut one, &first[1..], &Fate::Again { after: Duration::ZERO, answer: String::new() }).await;
    let second = lease(&mut other).await;
    assert_eq!(
        second.iter().map(|parcel| parcel.payload.as_str()).collect::<Vec<_>>(),
        [r#"{"n":2}"#, r#"{"n":3}"#]
    );
}

#[tokio::test]
async fn what_somebody_else_has_locked_is_left_alone_with_its_lane() {
    let mut bench = fresh().await;
    let (mut one, mut other) = set_up(&mut bench).await;
    enqueue(&mut one, &[message("t", "a", 1), message("t", "a", 2), message("t", "b", 3)]).await;
    // As another worker's lease holds it, between its two statements: the second of the lane, the first has come late.
    let client = bench.client().await;
    client
        .batch_execute("BEGIN; SELECT FROM landonce.outbox WHERE payload = '{\"n\":2}' FOR UPDATE")
        .await
        .unwrap();
    for most_of_a_lane in [1, 10] {
        let topics = ["t".to_owned()];
        let leased = other.lease(&Want { most_of_a_lane, ..want(&topics) }).await.unwrap().messages;
        let payloads: Vec<&str> = leased.iter().map(|parcel| parcel.payload.as_str()).collect();
        assert_eq!(payloads, [r#"{"n":3}"#]);
        settle(&mut other, &leased, &Fate::Untried).await;
    }
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(lease(&mut other).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_lease_each_message_once_and_in_order() {
    let mut bench = fresh().await;
    let (mut one, other) = set_up(&mut bench).await;
    assert_eq!(enqueue(&mut one, &spread(3_000, 40)).await, 3_000);
    let mut sessions = vec![one, other];
    for _ in 0..6 {
        sessions.push(bench.connect().await);
    }
    let log = RefCell::default();
    let starts = (0..).map(|n| u128::MAX / 8 * n);
    let workers = sessions.into_iter().zip(starts).map(|(session, start)| work(session, start, &log));
    futures_util::future::join_all(workers).await;
    assert_in_order(&log.borrow(), 3_000, 40);
}

#[tokio::test]
async fn reviving_a_leased_message_takes_it_from_its_worker() {
    let mut bench = fresh().await;
    let (mut one, mut other) = set_up(&mut bench).await;
    enqueue(&mut one, &[message("t", "a", 1)]).await;
    let old = lease(&mut one).await;
    // The worker gives it up, and a person revives it while the worker's word is still on the way a second time.
    settle(&mut one, &old, &Fate::Dead { answer: "410".to_owned() }).await;
    assert_eq!(other.act(&Which::default(), Act::Redrive).await.unwrap(), 1);
    let lost = [landonce_store::outbox::Lease { id: old[0].id, fence: old[0].fence }];
    let again = [landonce_store::outbox::Verdict { lease: lost[0], fate: sent() }];
    assert_eq!(one.settle(&again).await.unwrap(), lost);
    assert_eq!(lease(&mut other).await[0].fence, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_come_before_while_a_lane_was_locked_is_seen() {
    let mut bench = fresh().await;
    let (mut one, mut other) = set_up(&mut bench).await;
    let mut late = open_with(&mut bench, &[message("t", "a", 1)]).await;
    enqueue(&mut one, &[message("t", "a", 2)]).await;
    let proxy = Proxy::start(&bench.url()).await;
    let mut slow = Database::from_url(proxy.url()).unwrap().connect().await.unwrap();
    let mut between = proxy.arm(Fault::StallRequest("WITH free".to_owned()));
    let (leased, ()) = tokio::join!(lease(&mut slow), async {
        // It has the second message's lock, and hasn't looked again yet.
        between.wait(30).await;
        late.commit().await.unwrap();
        assert_eq!(lease(&mut other).await, [], "the one behind is somebody's");
        proxy.resume();
    });
    assert_eq!(leased, [], "it isn't the lane's first any more");
    let both = lease(&mut other).await;
    assert_eq!(
        both.iter().map(|parcel| parcel.payload.as_str()).collect::<Vec<_>>(),
        [r#"{"n":1}"#, r#"{"n":2}"#]
    );
}
