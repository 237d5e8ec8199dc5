//! A batch that is being filled: what has come of a part and isn't on its way yet.

use std::time::{Duration, Instant};

use landonce::payload::Messages;
use landonce_core::bad_record::BadRecord;
use landonce_core::pipeline::{Cut, Message};

use crate::source::mark;

/// Messages that are no records move the position with the next batch; alone, after so long.
const SKIPPED_WAIT: Duration = Duration::from_secs(5);

/// A batch that is being filled.
#[derive(Debug)]
pub(super) struct Filling {
    limit: u32,
    messages: Messages,
    /// Messages that came, records or not.
    pub(super) count: u64,
    /// The first one's number.
    first: u64,
    /// Behind the last one.
    next: u64,
    /// The last one, for its mark.
    last: Last,
    /// When the first came.
    since: Option<Instant>,
    /// The position is to be moved though nothing has come, and what it may be recognised by.
    jump: Option<Jump>,
}

/// A place that nothing has been read up to.
#[derive(Debug)]
struct Jump {
    /// What it may be recognised by.
    mark: Option<Vec<u8>>,
}

/// What a mark is made of, of the last message: it is hashed once a batch.
#[derive(Debug, Default)]
struct Last {
    timestamp_ms: Option<i64>,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
}

/// A batch that is cut.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) messages: Messages,
    pub(super) count: u64,
    pub(super) first: u64,
    pub(super) next: u64,
    /// The mark of the last message, if there is one.
    pub(super) mark: Option<Vec<u8>>,
}

impl Filling {
    /// Empty.
    pub(super) fn new(limit: u32) -> Self {
        Self {
            limit,
            messages: Messages::with_limit(limit),
            count: 0,
            first: 0,
            next: 0,
            last: Last::default(),
            since: None,
            jump: None,
        }
    }

    /// A message that is a record, by its text.
    pub(super) fn record(&mut self, message: &Message<'_>, text: &[u8]) {
        self.messages.record(message.offset, text);
        self.count_in(message);
    }

    /// A message that is a bad one.
    pub(super) fn bad(&mut self, message: &Message<'_>, why: &BadRecord) {
        self.messages.bad(message.offset, why, message.value.or(message.key).unwrap_or_default());
        self.count_in(message);
    }

    /// A message that is nothing.
    pub(super) fn nothing(&mut self, message: &Message<'_>) {
        self.count_in(message);
    }

    /// Moves the position though nothing has come, so that another worker begins there, too.
    pub(super) fn jump(&mut self, next: u64, mark: Option<Vec<u8>>) {
        (self.first, self.next) = (next, next);
        self.jump = Some(Jump { mark });
        self.since = Some(Instant::now());
    }

    fn count_in(&mut self, message: &Message<'_>) {
        if self.is_empty() {
            self.first = message.offset;
            self.since = Some(Instant::now());
        }
        self.count += 1;
        self.next = message.offset + 1;
        self.last.timestamp_ms = message.timestamp_ms;
        keep(&mut self.last.key, message.key);
        keep(&mut self.last.value, message.value);
    }

    /// Whether nothing has come.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.jump.is_none()
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> u64 {
        self.messages.size() as u64
    }

    /// Whether it has as much as a batch may have.
    pub(super) fn is_full(&self, cut: &Cut) -> bool {
        self.count >= cut.records || self.size() >= cut.bytes
    }

    /// When it is to be cut, full or not; `None` while it is empty.
    pub(super) fn due_at(&self, cut: &Cut) -> Option<Instant> {
        let wait = if self.messages.is_empty() && self.jump.is_none() {
            cut.wait.max(SKIPPED_WAIT)
        } else {
            cut.wait
        };
        self.since.map(|since| since + wait)
    }

    /// Cuts it, and goes on with an empty one.
    pub(super) fn seal(&mut self, topic: &str, part: &str) -> Sealed {
        let done = std::mem::replace(self, Self::new(self.limit));
        let last = Message {
            topic,
            part,
            offset: done.next.saturating_sub(1),
            key: done.last.key.as_deref(),
            value: done.last.value.as_deref(),
            headers: &[],
            timestamp_ms: done.last.timestamp_ms,
        };
        let mark = if done.count > 0 { Some(mark(&last)) } else { done.jump.and_then(|jump| jump.mark) };
        Sealed { mark, messages: done.messages, count: done.count, first: done.first, next: done.next }
    }
}

/// Keeps a copy in the memory of the one before.
fn keep(to: &mut Option<Vec<u8>>, from: Option<&[u8]>) {
    match (to.as_mut(), from) {
        (Some(to), Some(from)) => {
            to.clear();
            to.extend_from_slice(from);
        }
        (_, from) => *to = from.map(<[u8]>::to_vec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(offset: u64, value: Option<&[u8]>) -> Message<'_> {
        Message { topic: "t", part: "0", offset, key: None, value, headers: &[], timestamp_ms: Some(1) }
    }

    fn cut(records: u64, bytes: u64) -> Cut {
        Cut { records, bytes, wait: Duration::from_millis(200) }
    }

    #[test]
    fn a_batch_ends_at_its_count_or_its_bytes_whichever_comes_first() {
        let mut filling = Filling::new(1 << 20);
        assert!(!filling.is_full(&cut(2, 1000)));
        filling.record(&message(5, Some(b"{}")), b"{}");
        assert!(!filling.is_full(&cut(2, 1000)) && filling.is_full(&cut(2, 10)));
        filling.nothing(&message(9, None));
        assert!(filling.is_full(&cut(2, 1000)));
        let sealed = filling.seal("t", "0");
        assert_eq!((sealed.first, sealed.next, sealed.count, sealed.messages.count()), (5, 10, 2, 1));
        assert_eq!(sealed.mark.unwrap(), mark(&message(9, None)));
        assert!(filling.is_empty() && filling.due_at(&cut(2, 10)).is_none());
    }

    #[test]
    fn a_place_to_begin_at_is_a_batch_without_messages() {
        let mut filling = Filling::new(1 << 20);
        filling.jump(40, Some(vec![7]));
        assert!(!filling.is_empty() && filling.due_at(&cut(9, 1000)).is_some());
        let sealed = filling.seal("t", "0");
        assert_eq!((sealed.first, sealed.next, sealed.count, sealed.mark), (40, 40, 0, Some(vec![7])));
    }

    #[test]
    fn messages_that_are_nothing_are_no_reason_for_a_batch_of_their_own_so_soon() {
        let mut filling = Filling::new(1 << 20);
        filling.nothing(&message(5, None));
        let alone = filling.due_at(&cut(9, 1000)).unwrap();
        filling.record(&message(6, Some(b"{}")), b"{}");
        let with_a_record = filling.due_at(&cut(9, 1000)).unwrap();
        assert!(alone >= with_a_record + Duration::from_secs(4));
    }
}
