//! Messages are leased once and in their lanes' order, and whoever holds the last fence says what becomes of them.

mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use landonce_core::message;
use landonce_store::outbox::{
    Act, Fate, Lease, Leased, Message, Outbox, Parcel, State, Verdict, Want, Which,
};
use landonce_store::seam::{Access, Connection, Work};
use uuid::Uuid;

use super::bench::{Bench, Dialect, run_id};

pub(crate) use workers::{assert_in_order, spread, two_at_once_lease_each_message_once_and_in_order, work};

const HOUR: Duration = Duration::from_hours(1);

pub(crate) fn message(topic: &str, lane: &str, change: u32) -> Message {
    let entity = format!(r#"{{"id":"{lane}"}}"#);
    Message {
        id: message::id("p", topic, &entity, &change.to_be_bytes()),
        producer: "p".to_owned(),
        topic: topic.to_owned(),
        lane: message::lane(topic, lane),
        ordering: None,
        entity,
        kind: "updated".to_owned(),
        payload: format!(r#"{{"n":{change}}}"#),
        run_id: Some(run_id(1)),
    }
}

pub(crate) async fn enqueue<C: Connection>(connection: &mut C, messages: &[Message]) -> u64 {
    connection.migrate().await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let enqueued = connection.work().enqueue(messages).await.unwrap();
    connection.commit().await.unwrap();
    enqueued
}

pub(crate) fn want(topics: &[String]) -> Want<'_> {
    Want { topics, worker: "w", lease: HOUR, most: 100, most_of_a_lane: 10, behind: Uuid::nil() }
}

async fn lease<C: Outbox>(connection: &mut C) -> Vec<Parcel> {
    connection.lease(&want(&["t".to_owned()])).await.unwrap().messages
}

fn verdict(parcel: &Parcel, fate: Fate) -> Verdict {
    Verdict { lease: held(parcel), fate }
}

fn held(parcel: &Parcel) -> Lease {
    Lease { id: parcel.id, fence: parcel.fence }
}

fn sent() -> Fate {
    Fate::Sent { answer: "200".to_owned() }
}

fn again(after: Duration) -> Fate {
    Fate::Again { after, answer: "503".to_owned() }
}

fn dead() -> Fate {
    Fate::Dead { answer: "410".to_owned() }
}

/// Settles all, and none is lost.
pub(crate) async fn settle<C: Outbox>(connection: &mut C, parcels: &[Parcel], fate: &Fate) {
    let verdicts: Vec<Verdict> = parcels.iter().map(|parcel| verdict(parcel, fate.clone())).collect();
    assert_eq!(connection.settle(&verdicts).await.unwrap(), []);
}

fn payloads(parcels: &[Parcel]) -> Vec<&str> {
    parcels.iter().map(|parcel| parcel.payload.as_str()).collect()
}

fn table<B: Bench>() -> &'static str {
    match B::DIALECT {
        Dialect::Sqlite => "landonce_outbox",
        Dialect::Postgres => "landonce.outbox",
    }
}

/// As if an hour had gone by: what is due, held and sent is so an hour earlier.
async fn an_hour_goes_by<B: Bench>(bench: &mut B) {
    let earlier = |column: &str| match B::DIALECT {
        Dialect::Sqlite => format!("{column} = strftime('%Y-%m-%dT%H:%M:%fZ', {column}, '-3601 seconds')"),
        Dialect::Postgres => format!("{column} = {column} - interval '3601 seconds'"),
    };
    let all = ["enqueued_at", "due_at", "leased_until", "sent_at"].map(earlier).join(", ");
    bench.run(&format!("UPDATE {} SET {all}", table::<B>())).await;
    bench.run(&format!("UPDATE {}_pause SET {}", table::<B>(), earlier("until"))).await;
}

async fn rows<B: Bench>(bench: &mut B, columns: &str) -> Vec<Vec<String>> {
    bench.rows(&format!("SELECT {columns} FROM {} ORDER BY seq", table::<B>())).await
}

pub(crate) async fn a_lane_is_leased_in_order_and_others_go_on(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let all: Vec<Message> =
        (1..=4).map(|n| message("t", "a", n)).chain([message("t", "b", 5), message("u", "a", 6)]).collect();
    assert_eq!(enqueue(&mut connection, &all).await, 6);
    assert_eq!(enqueue(&mut connection, &all).await, 0, "a message is enqueued once");
    let topics = ["t".to_owned()];
    let few = Want { most_of_a_lane: 2, ..want(&topics) };
    let first = connection.lease(&few).await.unwrap().messages;
    let of_a: Vec<Parcel> = first.iter().filter(|one| one.lane == all[0].lane).cloned().collect();
    assert_eq!(payloads(&of_a), [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert_eq!(first.len(), 3, "the other lane, and not the other topic: {first:?}");
    let one = &of_a[0];
    assert_eq!((one.fence, one.attempts, &*one.topic, &*one.kind), (1, 0, "t", "updated"));
    assert_eq!((one.id, &one.entity), (all[0].id, &all[0].entity));
    assert!(one.age < HOUR, "{:?}", one.age);
    assert_eq!(lease(&mut connection).await, [], "a lane of which something is under way waits");
    settle(&mut connection, &of_a[..1], &sent()).await;
    assert_eq!(lease(&mut connection).await, []);
    settle(&mut connection, &of_a[1..], &sent()).await;
    assert_eq!(payloads(&lease(&mut connection).await), [r#"{"n":3}"#, r#"{"n":4}"#]);
    let both = ["t".to_owned(), "u".to_owned(), "u".to_owned()];
    assert_eq!(payloads(&connection.lease(&want(&both)).await.unwrap().messages), [r#"{"n":6}"#]);
}

pub(crate) async fn a_walk_over_lanes_goes_on_where_it_ended(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let all: Vec<Message> = (0..9).map(|n| message(["t", "u"][n as usize % 2], &n.to_string(), n)).collect();
    enqueue(&mut connection, &all).await;
    let mut lanes: Vec<Uuid> = all.iter().map(|message| message.lane).collect();
    lanes.sort_unstable();
    let topics = ["t".to_owned(), "u".to_owned()];
    let mut walked = Vec::new();
    let mut behind = lanes[4];
    for _ in 0..5 {
        let Leased { messages, next } =
            connection.lease(&Want { most: 2, behind, ..want(&topics) }).await.unwrap();
        walked.extend(messages.iter().map(|parcel| parcel.lane));
        behind = next;
    }
    lanes.rotate_left(5);
    assert_eq!(walked, lanes);
    let nothing = connection.lease(&Want { behind, ..want(&topics) }).await.unwrap();
    assert_eq!((nothing.messages.len(), nothing.next), (0, behind));
}

pub(crate) async fn a_retry_blocks_its_lane_only(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let all = [message("t", "a", 1), message("t", "a", 2), message("t", "b", 3), message("t", "b", 4)];
    enqueue(&mut connection, &all).await;
    let first = lease(&mut connection).await;
    assert_eq!(first.len(), 4);
    let fates = |parcel: &Parcel| match &*parcel.payload {
        r#"{"n":1}"# => again(HOUR),
        r#"{"n":3}"# => sent(),
        _ => Fate::Untried,
    };
    let verdicts: Vec<Verdict> = first.iter().map(|one| verdict(one, fates(one))).collect();
    assert_eq!(connection.settle(&verdicts).await.unwrap(), []);
    let second = lease(&mut connection).await;
    assert_eq!(payloads(&second), [r#"{"n":4}"#]);
    assert_eq!((second[0].attempts, second[0].fence), (0, 2), "what wasn't tried is no attempt");
    settle(&mut connection, &second, &sent()).await;
    let due = connection.next_due(&["t".to_owned()]).await.unwrap().unwrap();
    assert!(due <= HOUR && due > HOUR / 2, "{due:?}");
    assert_eq!(connection.next_due(&["u".to_owned()]).await.unwrap(), None);
    an_hour_goes_by(bench).await;
    assert_eq!(connection.next_due(&["t".to_owned()]).await.unwrap(), Some(Duration::ZERO));
    let third = lease(&mut connection).await;
    assert_eq!(payloads(&third), [r#"{"n":1}"#, r#"{"n":2}"#]);
    assert_eq!((third[0].attempts, third[1].attempts), (1, 0));
    // The first of a lane is taken, and its follower has to wait: it isn't taken with the first.
    settle(&mut connection, &third[1..], &again(HOUR)).await;
    settle(&mut connection, &third[..1], &again(Duration::ZERO)).await;
    assert_eq!(payloads(&lease(&mut connection).await), [r#"{"n":1}"#]);
}

pub(crate) async fn who_was_taken_over_is_told_and_changes_nothing(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    enqueue(&mut connection, &[message("t", "a", 1), message("t", "b", 2)]).await;
    let old = lease(&mut connection).await;
    assert_eq!(connection.renew(&old.iter().map(held).collect::<Vec<_>>(), HOUR * 3).await.unwrap(), []);
    an_hour_goes_by(bench).await;
    assert_eq!(lease(&mut connection).await, [], "a lease that was renewed holds longer");
    for _ in 0..2 {
        an_hour_goes_by(bench).await;
    }
    let new = lease(&mut connection).await;
    assert_eq!(
        new.iter().map(|one| (one.id, one.fence)).collect::<Vec<_>>(),
        [(old[0].id, 2), (old[1].id, 2)]
    );
    let before = rows(bench, "state, attempts, fence, due_at, leased_until, answer, sent_at").await;
    let leases: Vec<Lease> = old.iter().map(held).collect();
    assert_eq!(connection.renew(&leases, HOUR * 9).await.unwrap(), leases);
    for fate in [sent(), again(HOUR), dead(), Fate::Untried] {
        let verdicts: Vec<Verdict> = old.iter().map(|one| verdict(one, fate.clone())).collect();
        assert_eq!(connection.settle(&verdicts).await.unwrap(), leases, "{fate:?}");
    }
    assert_eq!(rows(bench, "state, attempts, fence, due_at, leased_until, answer, sent_at").await, before);
    // What the new holder says counts, in the same call in which the old one's doesn't.
    let both = [verdict(&old[0], dead()), verdict(&new[0], sent())];
    assert_eq!(connection.settle(&both[..1]).await.unwrap(), leases[..1]);
    assert_eq!(connection.settle(&both[1..]).await.unwrap(), []);
    // One that ran out and was taken over by nobody counts.
    an_hour_goes_by(bench).await;
    settle(&mut connection, &new[1..], &sent()).await;
    assert!(rows(bench, "state").await.iter().all(|row| row[0] == "sent"));
    let unknown = Lease { id: Uuid::from_u128(7), fence: 1 };
    let verdicts = [Verdict { lease: unknown, fate: sent() }];
    assert_eq!(connection.settle(&verdicts).await.unwrap(), [unknown]);
}

pub(crate) async fn what_is_said_twice_counts_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let all: Vec<Message> = (0..4).map(|n| message("t", &n.to_string(), n)).collect();
    enqueue(&mut connection, &all).await;
    let leased = lease(&mut connection).await;
    let long = "é\0".repeat(400);
    let fates = [Fate::Sent { answer: long.clone() }, again(HOUR), dead(), Fate::Untried];
    let verdicts: Vec<Verdict> = leased.iter().zip(fates).map(|(one, fate)| verdict(one, fate)).collect();
    assert_eq!(connection.settle(&verdicts).await.unwrap(), []);
    let columns = "state, attempts, due_at, sent_at, answer, leased_by, leased_until, id";
    let before = rows(bench, columns).await;
    assert_eq!(connection.settle(&verdicts).await.unwrap(), [], "the COMMIT's answer was lost, say");
    assert_eq!(rows(bench, columns).await, before);
    let row = |at: usize| before.iter().find(|row| row[7] == leased[at].id.to_string()).unwrap();
    assert_eq!(row(0)[4], "é\u{fffd}".repeat(250), "an answer is kept in short");
    assert_eq!((&*row(0)[0], &*row(0)[1]), ("sent", "1"));
    assert_ne!(row(0)[3], "∅");
    assert_eq!((&*row(1)[0], &*row(1)[1], &*row(1)[4]), ("pending", "1", "503"));
    assert_eq!((&*row(2)[0], &*row(2)[1], &*row(2)[4]), ("dead", "1", "410"));
    assert_eq!((&*row(3)[0], &*row(3)[1], &*row(3)[4]), ("pending", "0", "∅"));
    assert!(before.iter().all(|row| row[5] == "∅" && row[6] == "∅"));
    // Another verdict by somebody who has given it back already isn't in effect.
    let other: Vec<Verdict> = [sent(), sent(), again(HOUR), dead()]
        .into_iter()
        .zip(&leased)
        .map(|(fate, one)| verdict(one, fate))
        .collect();
    let lost: Vec<Lease> = leased[1..].iter().map(held).collect();
    assert_eq!(connection.settle(&other).await.unwrap(), lost);
    assert_eq!(rows(bench, columns).await, before);
}

pub(crate) async fn a_pause_stops_a_topic_and_the_longer_one_stays(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    enqueue(&mut connection, &[message("t", "a", 1), message("u", "a", 2)]).await;
    connection.pause("t", HOUR * 2, "429").await.unwrap();
    connection.pause("t", HOUR, "shorter").await.unwrap();
    let both = ["t".to_owned(), "u".to_owned()];
    assert_eq!(payloads(&connection.lease(&want(&both)).await.unwrap().messages), [r#"{"n":2}"#]);
    let due = connection.next_due(&both[..1]).await.unwrap().unwrap();
    assert!(due > HOUR && due <= HOUR * 2, "{due:?}");
    let depth = connection.depth().await.unwrap();
    let (paused, reason) = depth[0].paused.clone().unwrap();
    assert!(paused > HOUR && reason == "429" && depth[1].paused.is_none(), "{depth:?}");
    an_hour_goes_by(bench).await;
    assert_eq!(lease(&mut connection).await, []);
    connection.pause("t", HOUR * 3, "longer").await.unwrap();
    assert_eq!(connection.depth().await.unwrap()[0].paused.as_ref().unwrap().1, "longer");
    connection.resume("t").await.unwrap();
    assert_eq!(lease(&mut connection).await.len(), 1);
    connection.pause("v", HOUR, "nothing there").await.unwrap();
    assert_eq!(connection.depth().await.unwrap().len(), 3);
    an_hour_goes_by(bench).await;
    assert_eq!(connection.depth().await.unwrap().len(), 2, "a pause that is over isn't told");
}

pub(crate) async fn a_dead_letter_lets_its_lane_go_on(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    enqueue(&mut connection, &[message("t", "a", 1), message("t", "a", 2)]).await;
    let topics = ["t".to_owned()];
    let one = Want { most_of_a_lane: 1, ..want(&topics) };
    let first = connection.lease(&one).await.unwrap().messages;
    settle(&mut connection, &first, &dead()).await;
    let second = connection.lease(&one).await.unwrap().messages;
    assert_eq!(payloads(&second), [r#"{"n":2}"#]);
    // What is revived comes before it in the lane, and waits for it all the same.
    assert_eq!(connection.act(&Which::default(), Act::Redrive).await.unwrap(), 1);
    assert_eq!(connection.lease(&one).await.unwrap().messages, []);
    assert!(connection.next_due(&topics).await.unwrap().unwrap() > HOUR / 2);
    settle(&mut connection, &second, &sent()).await;
    assert_eq!(connection.next_due(&topics).await.unwrap(), Some(Duration::ZERO));
    assert_eq!(payloads(&connection.lease(&one).await.unwrap().messages), [r#"{"n":1}"#]);
}

/// Messages by the state that they are in: 1 pending and waiting, 2 pending and leased, 3 sent, 4 dead, 5 discarded; 6 is one
/// of another topic.
async fn of_every_state<C: Connection + Outbox>(connection: &mut C) -> BTreeMap<u32, Message> {
    let all: BTreeMap<u32, Message> =
        (1..=6).map(|n| (n, message(if n == 6 { "u" } else { "t" }, &n.to_string(), n))).collect();
    enqueue(connection, &all.values().cloned().collect::<Vec<_>>()).await;
    for (n, fate) in [(1, again(HOUR)), (3, sent()), (4, dead())] {
        let leased = lease(connection).await;
        let (one, rest): (Vec<Parcel>, Vec<Parcel>) =
            leased.into_iter().partition(|parcel| parcel.id == all[&n].id);
        settle(connection, &one, &fate).await;
        settle(connection, &rest, &Fate::Untried).await;
    }
    let fifth = Which { ids: vec![all[&5].id], ..Which::default() };
    assert_eq!(connection.act(&fifth, Act::Discard).await.unwrap(), 1);
    assert_eq!(lease(connection).await.iter().map(|parcel| parcel.id).collect::<Vec<_>>(), [all[&2].id]);
    all
}

async fn states<C: Outbox>(connection: &mut C) -> Vec<&'static str> {
    let entries = connection.messages(&Which::default(), 100).await.unwrap();
    entries.iter().rev().map(|entry| entry.state.as_str()).collect()
}

pub(crate) async fn people_retry_redrive_resend_and_discard(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let all = of_every_state(&mut connection).await;
    assert_eq!(states(&mut connection).await, ["pending", "pending", "sent", "dead", "discarded", "pending"]);
    let t = Which { topic: Some("t".to_owned()), ..Which::default() };
    let fences = rows(bench, "fence").await;
    assert_eq!(connection.act(&t, Act::Retry).await.unwrap(), 1, "the one that waits");
    assert_eq!(lease(&mut connection).await[0].id, all[&1].id);
    let only_dead = Which { state: Some(State::Dead), ..t.clone() };
    assert_eq!(connection.act(&only_dead, Act::Redrive).await.unwrap(), 1);
    assert_eq!(connection.act(&t, Act::Redrive).await.unwrap(), 1, "the discarded one");
    assert_eq!(connection.act(&t, Act::Resend).await.unwrap(), 1, "the sent one");
    assert!(states(&mut connection).await.iter().all(|state| *state == "pending"));
    let after = rows(bench, "fence, attempts, sent_at").await;
    for at in [2, 3, 4] {
        assert!(after[at][0].parse::<i64>().unwrap() > fences[at][0].parse().unwrap(), "{after:?}");
        assert_eq!(after[at][1..], ["0", "∅"]);
    }
    let revived = lease(&mut connection).await;
    assert_eq!(
        revived.iter().map(|parcel| parcel.id).collect::<BTreeSet<_>>(),
        [3, 4, 5].map(|n| all[&n].id).into(),
        "the ids stay"
    );
    settle(&mut connection, &revived, &Fate::Untried).await;
    assert_eq!(
        connection.act(&t, Act::Discard).await.unwrap(),
        3,
        "what is leased isn't taken from its worker"
    );
    an_hour_goes_by(bench).await;
    assert_eq!(connection.act(&t, Act::Discard).await.unwrap(), 2, "a lease that ran out protects nothing");
    assert_eq!(
        states(&mut connection).await,
        ["discarded", "discarded", "discarded", "discarded", "discarded", "pending"]
    );
}

pub(crate) async fn messages_are_found_by_what_is_asked(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let all = of_every_state(&mut connection).await;
    let mut found = async |which: Which, most: usize| {
        let entries = connection.messages(&which, most).await.unwrap();
        entries.into_iter().map(|entry| entry.message.payload).collect::<Vec<_>>()
    };
    let payload = |n: u32| format!(r#"{{"n":{n}}}"#);
    assert_eq!(found(Which::default(), 2).await, [payload(6), payload(5)], "newest first");
    let t = Which { topic: Some("t".to_owned()), ..Which::default() };
    assert_eq!(found(t.clone(), 2).await, [payload(5), payload(4)]);
    assert_eq!(found(Which { state: Some(State::Pending), ..t }, 9).await, [payload(2), payload(1)]);
    let of = Which { entity: Some(r#"{"id":"3"}"#.to_owned()), ..Which::default() };
    assert_eq!(found(of, 9).await, [payload(3)]);
    let ids = Which { ids: vec![all[&6].id, all[&1].id, Uuid::from_u128(9)], ..Which::default() };
    assert_eq!(found(ids, 9).await, [payload(6), payload(1)]);
    let id = all[&4].id.to_string();
    for prefix in [&id[..8], &id[..13], &id, &id.replace('-', "").to_uppercase()] {
        let by = Which { id_prefix: Some(prefix.to_owned()), ..Which::default() };
        assert_eq!(found(by, 9).await, [payload(4)], "{prefix}");
    }
    for prefix in ["xyz", &format!("{id}0"), "1 OR 1"] {
        let by = Which { id_prefix: Some(prefix.to_owned()), ..Which::default() };
        assert!(connection.messages(&by, 9).await.unwrap_err().to_string().contains("32 hex digits"));
    }
    let entries = connection.messages(&Which::default(), 9).await.unwrap();
    let (waits, leased, sent, dead) = (&entries[5], &entries[4], &entries[3], &entries[2]);
    assert_eq!(leased.message, all[&2]);
    assert_eq!(leased.leased.as_ref().unwrap().0, "w");
    assert!(leased.leased.as_ref().unwrap().1 > leased.enqueued_at, "{leased:?}");
    assert!(waits.due_at.as_ref().unwrap() > &waits.enqueued_at && waits.attempts == 1, "{waits:?}");
    assert!(sent.sent_at.as_ref().unwrap() >= &sent.enqueued_at && sent.due_at.is_none(), "{sent:?}");
    assert_eq!((dead.answer.as_deref(), dead.leased.as_ref()), (Some("410"), None));
}

pub(crate) async fn the_depth_counts_what_is_pending_and_dead(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    of_every_state(&mut connection).await;
    an_hour_goes_by(bench).await;
    enqueue(&mut connection, &[message("v", "a", 7)]).await;
    let leased = connection.lease(&want(&["v".to_owned()])).await.unwrap().messages;
    settle(&mut connection, &leased, &sent()).await;
    enqueue(&mut connection, &[message("t", "7", 8)]).await;
    let depth = connection.depth().await.unwrap();
    let told: Vec<_> = depth
        .iter()
        .map(|one| (&*one.topic, one.pending, one.leased, one.retrying, one.attempts, one.dead))
        .collect();
    assert_eq!(told, [("t", 3, 0, 1, 1, 1), ("u", 1, 0, 0, 0, 0)], "what is sent isn't told");
    assert!(depth[0].oldest.unwrap() >= HOUR && depth[0].oldest.unwrap() < HOUR * 2, "{depth:?}");
    lease(&mut connection).await;
    assert_eq!(connection.depth().await.unwrap()[0].leased, 3);
}

pub(crate) async fn pruning_takes_what_was_done_with_long_ago(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    of_every_state(&mut connection).await;
    for n in 10..15 {
        enqueue(&mut connection, &[message("t", "sent", n)]).await;
    }
    let leased: Vec<Parcel> = lease(&mut connection).await;
    settle(&mut connection, &leased, &sent()).await;
    assert_eq!(connection.prune(HOUR, 100).await.unwrap(), 0);
    an_hour_goes_by(bench).await;
    let young = message("t", "young", 20);
    enqueue(&mut connection, std::slice::from_ref(&young)).await;
    let leased: Vec<Parcel> =
        lease(&mut connection).await.into_iter().filter(|parcel| parcel.id == young.id).collect();
    settle(&mut connection, &leased, &sent()).await;
    assert_eq!(connection.prune(HOUR, 3).await.unwrap(), 3, "no more than it may");
    let left = rows(bench, "payload").await;
    assert_eq!(left[left.len() - 3][0], r#"{"n":13}"#, "the oldest first: {left:?}");
    assert_eq!(connection.prune(HOUR, 100).await.unwrap(), 4);
    let left = states(&mut connection).await;
    assert_eq!(
        left,
        ["pending", "pending", "dead", "pending", "sent"],
        "the young one, pending and dead ones stay"
    );
    assert_eq!(connection.prune(Duration::MAX, 100).await.unwrap(), 0);
}

pub(crate) async fn a_look_at_the_outbox_needs_no_tables(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let topics = ["t".to_owned()];
    let behind = Uuid::from_u128(5);
    let leased = connection.lease(&Want { behind, ..want(&topics) }).await.unwrap();
    assert_eq!((leased.messages.len(), leased.next), (0, behind));
    assert_eq!(connection.next_due(&topics).await.unwrap(), None);
    assert_eq!(connection.messages(&Which::default(), 9).await.unwrap(), []);
    assert_eq!(connection.depth().await.unwrap(), []);
    let one = Lease { id: behind, fence: 1 };
    let failed = [
        connection.settle(&[Verdict { lease: one, fate: sent() }]).await.map(drop),
        connection.renew(&[one], HOUR).await.map(drop),
        connection.pause("t", HOUR, "why").await,
        connection.resume("t").await,
        connection.act(&Which::default(), Act::Redrive).await.map(drop),
        connection.prune(HOUR, 9).await.map(drop),
    ];
    for failed in failed {
        let told = failed.unwrap_err().to_string();
        assert!(told.contains("landonce's own tables are missing"), "{told}");
    }
    // The connection goes on.
    enqueue(&mut connection, &[message("t", "a", 1)]).await;
    assert_eq!(lease(&mut connection).await.len(), 1);
    let mut looking = bench.connect_to_look().await;
    assert_eq!(looking.messages(&Which::default(), 9).await.unwrap().len(), 1);
    assert_eq!(looking.depth().await.unwrap().len(), 1);
    assert!(looking.next_due(&topics).await.unwrap().unwrap() > HOUR / 2);
}
