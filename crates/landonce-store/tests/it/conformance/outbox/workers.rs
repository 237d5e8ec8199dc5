//! Workers that deliver at once until nothing is left.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use landonce_core::message;
use landonce_store::outbox::{Leased, Message, Outbox, Want};
use uuid::Uuid;

use super::{enqueue, message as made, sent, settle, want};
use crate::conformance::bench::Bench;

/// What workers have done, and what they hold.
#[derive(Default)]
pub(crate) struct Log {
    held: BTreeSet<Uuid>,
    pub(crate) done: BTreeMap<Uuid, Vec<u32>>,
}

/// Delivers until nothing is left, and sees that no other worker holds the same lane.
pub(crate) async fn work<C: Outbox>(mut connection: C, start: u128, log: &RefCell<Log>) {
    let topics = ["t".to_owned()];
    let mut behind = Uuid::from_u128(start);
    while connection.next_due(&topics).await.unwrap().is_some() {
        let asked = Want { most: 20, most_of_a_lane: 3, behind, ..want(&topics) };
        let Leased { messages, next } = connection.lease(&asked).await.unwrap();
        behind = next;
        let lanes: BTreeSet<Uuid> = messages.iter().map(|parcel| parcel.lane).collect();
        for lane in &lanes {
            assert!(log.borrow_mut().held.insert(*lane), "two hold one lane");
        }
        tokio::task::yield_now().await;
        for parcel in &messages {
            assert_eq!((parcel.fence, parcel.attempts), (1, 0), "leased once");
            let n = parcel.payload[5..parcel.payload.len() - 1].parse().unwrap();
            log.borrow_mut().done.entry(parcel.lane).or_default().push(n);
        }
        // Others may have the lanes as soon as the COMMIT is through, before its answer is here.
        for lane in &lanes {
            log.borrow_mut().held.remove(lane);
        }
        settle(&mut connection, &messages, &sent()).await;
    }
}

/// So many messages in so many lanes, in the order of their numbers.
pub(crate) fn spread(messages: u32, lanes: u32) -> Vec<Message> {
    (0..messages).map(|n| made("t", &(n % lanes).to_string(), n)).collect()
}

/// Each lane has had all of its messages once, in order.
pub(crate) fn assert_in_order(log: &Log, messages: u32, lanes: u32) {
    assert_eq!(log.done.len(), lanes as usize);
    for lane in 0..lanes {
        let expected: Vec<u32> = (lane..messages).step_by(lanes as usize).collect();
        assert_eq!(log.done[&message::lane("t", &lane.to_string())], expected);
    }
}

pub(crate) async fn two_at_once_lease_each_message_once_and_in_order(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    assert_eq!(enqueue(&mut connection, &spread(2_000, 50)).await, 2_000);
    let log = RefCell::default();
    let (one, other) = (bench.connect().await, bench.connect().await);
    tokio::join!(work(one, 0, &log), work(other, u128::MAX / 2, &log));
    assert_in_order(&log.borrow(), 2_000, 50);
    assert!(super::rows(bench, "state").await.iter().all(|row| row[0] == "sent"));
}
