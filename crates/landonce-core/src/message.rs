//! What a message in the outbox is known by (J7): its id is made of what it says, never of when, by which run, or how often.
//!
//! The id goes to the receiver with every attempt (`webhook-id`, `Idempotency-Key`), so that whoever hears of a change twice
//! can tell.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Before what is hashed, so that no other hash of this project gives the same bytes.
const ID_LABEL: &[u8] = b"landonce message 1\0";
const LANE_LABEL: &[u8] = b"landonce lane 1\0";

/// The id of a message: of its producer (a pipeline, or a program's own name), its topic, the entity it is about and the change
/// that it tells. RFC 9562 version 8 over the SHA-256 of these, each behind its length (eight bytes, most significant first).
pub fn id(producer: &str, topic: &str, entity: &str, change: &[u8]) -> Uuid {
    hashed(ID_LABEL, &[producer.as_bytes(), topic.as_bytes(), entity.as_bytes(), change])
}

/// The lane of an ordering key: messages of one lane are sent one after the other, in the order in which they were enqueued.
pub fn lane(topic: &str, ordering: &str) -> Uuid {
    hashed(LANE_LABEL, &[topic.as_bytes(), ordering.as_bytes()])
}

fn hashed(label: &[u8], parts: &[&[u8]]) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(label);
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut first = [0; 16];
    first.copy_from_slice(&hash.finalize()[..16]);
    Uuid::new_v8(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_counts_and_none_runs_into_the_next() {
        let all = [
            id("p", "t", "e", b"c"),
            id("pt", "", "e", b"c"),
            id("p", "te", "", b"c"),
            id("p", "t", "ec", b""),
            id("p", "t", "e", b"d"),
        ];
        for (at, one) in all.iter().enumerate() {
            assert_eq!(one.get_version_num(), 8);
            assert!(all[at + 1..].iter().all(|other| one != other), "{all:?}");
        }
        assert_eq!(id("p", "t", "e", b"c"), all[0]);
        assert_ne!(lane("t", "k"), lane("tk", ""));
    }
}
