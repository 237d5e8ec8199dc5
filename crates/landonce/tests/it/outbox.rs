//! The outbox of a store: verbs that go on when a connection is lost, and notices that stand or fall with the caller's own
//! transaction.

use std::time::Duration;

use landonce::outbox::{Act, Fate, Lease, Notice, Parcel, State, Verdict, Want, Which, enqueue_in};
use landonce::{Kind, Store};
use landonce_testkit::proxy::{Fault, Proxy};
use uuid::Uuid;

use crate::given::Given;

fn notice(change: &str) -> Notice {
    Notice::new("shop", "orders", r#"{"id":7}"#, change, format!(r#"{{"id":7,"change":"{change}"}}"#))
}

/// Enqueues in a transaction of the caller's own that also writes a row, and ends it.
async fn enqueue(given: &Given, notices: &[Notice], commits: bool) -> Result<u64, landonce::Error> {
    const ROW: &str = "INSERT INTO orders VALUES (7)";
    if given.is_postgres() {
        let mut client = given.database().client().await;
        let mut transaction = client.transaction().await.unwrap();
        transaction.execute(ROW, &[]).await.unwrap();
        let enqueued = enqueue_in(&mut transaction, notices).await?;
        if commits {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
        Ok(enqueued)
    } else {
        let mut connection = rusqlite::Connection::open(given.sqlite_path()).unwrap();
        let mut transaction = connection.transaction().unwrap();
        transaction.execute(ROW, []).unwrap();
        let enqueued = enqueue_in(&mut transaction, notices).await?;
        if commits {
            transaction.commit().unwrap();
        } else {
            transaction.rollback().unwrap();
        }
        Ok(enqueued)
    }
}

async fn set_up(given: &Given) {
    given.store.migrate().await.unwrap();
    given.execute("CREATE TABLE orders (id int)").await;
}

async fn both() -> [Given; 2] {
    let both = [Given::sqlite(), Given::postgres().await];
    for given in &both {
        set_up(given).await;
    }
    both
}

async fn payloads(store: &Store) -> Vec<String> {
    let messages = store.outbox().messages(&Which::default(), 100).await.unwrap();
    messages.into_iter().rev().map(|entry| entry.message.payload).collect()
}

fn want(topics: &[String]) -> Want<'_> {
    let lease = Duration::from_mins(1);
    Want { topics, worker: "w", lease, most: 10, most_of_a_lane: 10, behind: Uuid::nil() }
}

fn held(parcel: &Parcel) -> Lease {
    Lease { id: parcel.id, fence: parcel.fence }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_stands_or_falls_with_the_callers_transaction() {
    for given in both().await {
        assert_eq!(enqueue(&given, &[notice("paid")], false).await.unwrap(), 1);
        assert_eq!(payloads(&given.store).await, [""; 0]);
        assert_eq!(given.count("orders").await, 0);
        assert_eq!(enqueue(&given, &[notice("paid"), notice("sent")], true).await.unwrap(), 2);
        assert_eq!(given.count("orders").await, 1);
        assert_eq!(
            payloads(&given.store).await,
            [r#"{"id":7,"change":"paid"}"#, r#"{"id":7,"change":"sent"}"#]
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_change_is_told_once() {
    for given in both().await {
        let first = Notice::new("shop", "orders", r#"{"id":7}"#, "paid", "1").kind("inserted").ordering("k");
        assert_eq!(enqueue(&given, std::slice::from_ref(&first), true).await.unwrap(), 1);
        // Other words about the same change.
        let again = Notice::new("shop", "orders", r#"{"id":7}"#, "paid", "2").run_id(Uuid::from_u128(3));
        assert_eq!(enqueue(&given, &[again.clone(), again], true).await.unwrap(), 0);
        let entries = given.store.outbox().messages(&Which::default(), 9).await.unwrap();
        let [entry] = &entries[..] else { panic!("{entries:?}") };
        assert_eq!((entry.message.id, &*entry.message.payload), (first.id(), "1"));
        assert_eq!((&*entry.message.kind, entry.message.ordering.as_deref()), ("inserted", Some("k")));
        assert_eq!((entry.state, entry.attempts, entry.seq), (State::Pending, 0, 1));
        // What makes another one.
        for (nth, other) in [
            Notice::new("store", "orders", r#"{"id":7}"#, "paid", "1"),
            Notice::new("shop", "order", r#"{"id":7}"#, "paid", "1"),
            Notice::new("shop", "orders", r#"{"id":8}"#, "paid", "1"),
            Notice::new("shop", "orders", r#"{"id":7}"#, [0, 159, 146, 150], "1"),
        ]
        .iter()
        .enumerate()
        {
            assert_eq!(enqueue(&given, std::slice::from_ref(other), true).await.unwrap(), 1, "{nth}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_is_kept_by_entity_or_by_a_key() {
    for given in both().await {
        let of = |entity: &str, change: &str| {
            Notice::new("shop", "orders", entity, change, format!(r#""{entity}{change}""#))
        };
        let by_entity = [of("1", "a"), of("1", "b"), of("2", "c")];
        let by_key = [of("3", "d").ordering("k"), of("4", "e").ordering("k")];
        enqueue(&given, &[&by_entity[..], &by_key[..]].concat(), true).await.unwrap();
        let topics = ["orders".to_owned()];
        let one = Want { most_of_a_lane: 1, ..want(&topics) };
        let leased = given.store.outbox().lease(&one).await.unwrap().messages;
        let mut payloads: Vec<&str> = leased.iter().map(|parcel| parcel.payload.as_str()).collect();
        payloads.sort_unstable();
        assert_eq!(payloads, [r#""1a""#, r#""2c""#, r#""3d""#]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_that_nobody_could_read_is_refused_before_anything_is_written() {
    for given in both().await {
        for (bad, says) in [
            (Notice::new("", "t", "1", "c", "1"), "producer is empty"),
            (Notice::new("p", "", "1", "c", "1"), "topic is empty"),
            (Notice::new("p", "t", "1", "c", "1").kind(""), "kind is empty"),
            (Notice::new("p", "t", "1", "c", "{\"a\":1"), "payload is no JSON"),
            (Notice::new("p", "t", "1", "c", "{\"a\":1,\"a\":2}"), "payload is no JSON"),
            (Notice::new("p", "t", "seven", "c", "1"), "entity is no JSON"),
            (Notice::new("p", "t", "1", "c", "1").ordering("a\0b"), "U+0000"),
            (Notice::new("p", "t\0", "1", "c", "1"), "U+0000"),
        ] {
            let error = enqueue(&given, &[notice("good"), bad], true).await.unwrap_err();
            assert_eq!(error.kind(), Kind::Pipeline);
            assert!(error.to_string().contains(says), "{error}");
        }
        assert_eq!(payloads(&given.store).await, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tables_enqueuing_says_what_to_do() {
    for given in [Given::sqlite(), Given::postgres().await] {
        given.execute("CREATE TABLE orders (id int)").await;
        let error = enqueue(&given, &[notice("paid")], true).await.unwrap_err();
        assert!(error.to_string().contains("landonce's own tables are missing"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_verbs_are_those_of_either_store() {
    for given in both().await {
        let mut outbox = given.store.outbox();
        let topics = ["orders".to_owned()];
        assert_eq!(outbox.next_due(&topics).await.unwrap(), None);
        enqueue(&given, &[notice("paid"), notice("sent")], true).await.unwrap();
        assert_eq!(outbox.next_due(&topics).await.unwrap(), Some(Duration::ZERO));
        outbox.pause("orders", Duration::from_hours(1), "429").await.unwrap();
        assert_eq!(outbox.lease(&want(&topics)).await.unwrap().messages, []);
        outbox.resume("orders").await.unwrap();
        let leased = outbox.lease(&want(&topics)).await.unwrap().messages;
        assert_eq!(leased.len(), 2);
        assert_eq!(outbox.renew(&[held(&leased[0])], Duration::from_hours(1)).await.unwrap(), []);
        let fates = [Fate::Sent { answer: "200".to_owned() }, Fate::Dead { answer: "410".to_owned() }];
        let verdicts: Vec<Verdict> =
            leased.iter().zip(fates).map(|(parcel, fate)| Verdict { lease: held(parcel), fate }).collect();
        assert_eq!(outbox.settle(&verdicts).await.unwrap(), []);
        assert_eq!(outbox.depth().await.unwrap()[0].dead, 1);
        assert_eq!(outbox.act(&Which::default(), Act::Redrive).await.unwrap(), 1);
        assert_eq!(outbox.prune(Duration::ZERO, 10).await.unwrap(), 1);
        assert_eq!(outbox.messages(&Which::default(), 9).await.unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_makes_no_file_and_sees_one_that_comes_later() {
    let given = Given::sqlite();
    let mut outbox = given.store.outbox();
    assert!(outbox.messages(&Which::default(), 9).await.unwrap().is_empty());
    assert!(outbox.depth().await.unwrap().is_empty());
    assert!(!given.sqlite_path().exists());
    set_up(&given).await;
    enqueue(&given, &[notice("paid")], true).await.unwrap();
    assert_eq!(outbox.messages(&Which::default(), 9).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verb_whose_connection_is_lost_is_run_again_and_counts_once() {
    let given = Given::postgres().await;
    set_up(&given).await;
    let proxy = Proxy::start(&given.url).await;
    let mut outbox = Store::open(proxy.url()).unwrap().outbox();
    let topics = ["orders".to_owned()];
    enqueue(&given, &[notice("paid")], true).await.unwrap();
    for code in ["40001", "40P01", "57P01", "08006"] {
        let fault = proxy.arm(Fault::refuse("WITH heads", code).times(2));
        let leased = outbox.lease(&want(&topics)).await.unwrap().messages;
        assert_eq!((fault.fired(), leased.len()), (2, 1), "{code}");
        // The COMMIT goes through, and its answer is lost.
        let fault = proxy.arm(Fault::CutAfterCommit);
        let again = Fate::Again { after: Duration::ZERO, answer: code.to_owned() };
        let verdicts = [Verdict { lease: held(&leased[0]), fate: again }];
        assert_eq!(outbox.settle(&verdicts).await.unwrap(), [], "{code}");
        assert_eq!(fault.fired(), 1);
    }
    let entries = outbox.messages(&Which::default(), 9).await.unwrap();
    assert_eq!(entries[0].attempts, 4, "each said twice, and counted once");
    let fault = proxy.arm(Fault::refuse("WITH heads", "42501").times(9));
    assert_eq!(outbox.lease(&want(&topics)).await.unwrap_err().kind(), Kind::Database);
    assert_eq!(fault.fired(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verb_that_fails_for_longer_gives_up() {
    let given = Given::postgres().await;
    set_up(&given).await;
    let proxy = Proxy::start(&given.url).await;
    let mut outbox = Store::open(proxy.url()).unwrap().outbox();
    let fault = proxy.arm(Fault::refuse("UPDATE landonce.outbox", "40001").times(99));
    let error = outbox.act(&Which::default(), Act::Retry).await.unwrap_err();
    assert_eq!((error.kind(), fault.fired()), (Kind::Exhausted, 5), "{error}");
}
