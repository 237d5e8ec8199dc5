//! Messages: records that come one by one from a stream, each with its number there, written one behind the other.
//!
//! The form is landonce's own: what a consumer or a fetch writes ([`crate::payload::Messages`]) and the archive may keep. A message
//! that is no record stands in it with the reason, so that it meets the quarantine under its number like any other.

use landonce_core::bad_record::{BadKind, BadRecord};

use super::DecodeError;
use super::bad::{KEPT, too_large};
use super::records::Frame;
use super::window::Window;

/// What such a payload begins with.
pub(crate) const MAGIC: &[u8] = b"landonce messages 1\n";
/// The number, what it is, how long the reason is, how long the bytes are.
const HEAD: usize = 8 + 1 + 4 + 4;
/// A record.
const RECORD: u8 = 0;
/// A message that is no record, with the reason.
const BAD: u8 = 1;

/// Appends a record.
pub(crate) fn record(to: &mut Vec<u8>, number: u64, text: &[u8], limit: u32) {
    if text.len() > limit as usize {
        return bad(to, number, &too_large(text.len() as u64, limit), text);
    }
    head(to, number, RECORD, 0, text.len());
    to.extend_from_slice(text);
}

/// Appends a message that is no record: the reason, and of its bytes as many as are kept of a record that is too large.
pub(crate) fn bad(to: &mut Vec<u8>, number: u64, why: &BadRecord, raw: &[u8]) {
    let raw = if why.kind == BadKind::TooLarge { &raw[..raw.len().min(KEPT)] } else { raw };
    let reason = format!("{}\n{}\n{}", why.kind.as_str(), why.field.replace('\n', " "), why.detail);
    head(to, number, BAD, reason.len(), raw.len());
    to.extend_from_slice(reason.as_bytes());
    to.extend_from_slice(raw);
}

fn head(to: &mut Vec<u8>, number: u64, what: u8, reason: usize, bytes: usize) {
    to.extend_from_slice(&number.to_be_bytes());
    to.push(what);
    to.extend_from_slice(&(reason as u32).to_be_bytes());
    to.extend_from_slice(&(bytes as u32).to_be_bytes());
}

/// Frames messages.
pub(super) struct Framer {
    limit: u32,
    count: u64,
}

impl Framer {
    /// At the beginning.
    pub(super) fn new(window: &mut Window, limit: u32) -> Result<Self, DecodeError> {
        if !window.at_least(MAGIC.len())?.starts_with(MAGIC) {
            return Err(malformed(0, "it doesn't begin as landonce writes them", 0));
        }
        window.consume(MAGIC.len());
        Ok(Self { limit, count: 0 })
    }

    /// The next message.
    pub(super) fn next(&mut self, window: &mut Window) -> Result<Option<Frame>, DecodeError> {
        let offset = window.offset();
        let head = window.at_least(HEAD)?;
        if head.is_empty() {
            return Ok(None);
        }
        let Some((number, what, reason, len)) = read_head(head) else {
            return Err(self.cut("in the head of a message"));
        };
        // What was written under a higher limit is judged by this one; nothing else is longer than landonce writes it.
        let longest = (self.limit as usize).max(256 << 20);
        if what > BAD || reason > 1 << 20 || len > longest {
            return Err(malformed(offset, "a message's head says what landonce doesn't write", self.count));
        }
        let whole = HEAD + reason + len;
        if window.at_least(whole)?.len() < whole {
            return Err(self.cut("in a message"));
        }
        self.count += 1;
        let told = (what == BAD).then(|| bad_of(&window.rest()[HEAD..HEAD + reason]));
        window.consume(HEAD + reason);
        let is_large = what == RECORD && len > self.limit as usize;
        let raw = window.close(len, 0, if is_large { self.limit } else { u32::MAX });
        let bad = told.or_else(|| is_large.then(|| too_large(len as u64, self.limit)));
        Ok(Some(Frame { number, offset: offset + (HEAD + reason) as u64, raw, bad, is_rendered: false }))
    }

    fn cut(&self, place: &str) -> DecodeError {
        DecodeError::Incomplete { detail: format!("the messages end {place}"), records: self.count }
    }
}

fn read_head(head: &[u8]) -> Option<(u64, u8, usize, usize)> {
    let head = head.get(..HEAD)?;
    let number = u64::from_be_bytes(head[..8].try_into().ok()?);
    let reason = u32::from_be_bytes(head[9..13].try_into().ok()?);
    let bytes = u32::from_be_bytes(head[13..17].try_into().ok()?);
    Some((number, head[8], reason as usize, bytes as usize))
}

fn bad_of(reason: &[u8]) -> BadRecord {
    let text = String::from_utf8_lossy(reason);
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (kind, field, detail) = (next(), next(), next());
    BadRecord::new(BadKind::named(kind).unwrap_or(BadKind::Syntax), field, detail)
}

fn malformed(offset: u64, detail: &str, records: u64) -> DecodeError {
    DecodeError::Malformed { format: "messages", offset, detail: detail.to_owned(), records }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Format, Limits};
    use crate::payload::{Messages, Payload};

    fn framed(payload: &Payload, limits: &Limits) -> Vec<(u64, Result<String, BadRecord>, usize)> {
        let mut records = payload.records(&Format::Messages, limits).unwrap();
        let mut found = Vec::new();
        while let Some(item) = records.next().unwrap() {
            let text = item.text.map(|text| String::from_utf8(text.to_vec()).unwrap());
            found.push((item.number, text, item.raw.len()));
        }
        found
    }

    #[test]
    fn messages_come_back_as_they_were_written_under_their_numbers() {
        let mut messages = Messages::with_limit(64);
        messages.record(7, br#"{"a":1}"#);
        let why = BadRecord::new(BadKind::Encoding, "value.x", "no UTF-8\nat all");
        messages.bad(9, &why, b"\xff\n\x00");
        messages.record(1_000_000_007, &[b'x'; 65]);
        messages.record(u64::MAX, b"");
        let payload = messages.into_payload("t/0");
        let found = framed(&payload, &Limits { record: 64, ..Limits::default() });
        assert_eq!(found[0], (7, Ok(r#"{"a":1}"#.into()), 7));
        assert_eq!(found[1], (9, Err(why), 3));
        assert_eq!(found[2].0, 1_000_000_007);
        assert_eq!(found[2].1.as_ref().unwrap_err().kind, BadKind::TooLarge);
        assert_eq!(found[3], (u64::MAX, Ok(String::new()), 0));
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn a_lower_limit_judges_what_a_higher_one_let_in() {
        let mut messages = Messages::with_limit(100);
        messages.record(1, &[b'x'; 80]);
        let found = framed(&messages.into_payload("t"), &Limits { record: 40, ..Limits::default() });
        assert_eq!(found[0].1.as_ref().unwrap_err().kind, BadKind::TooLarge);
    }

    #[test]
    fn cut_messages_are_never_an_end() {
        let mut messages = Messages::with_limit(64);
        messages.record(7, br#"{"a":1}"#);
        let whole = messages.into_bytes();
        for cut in MAGIC.len() + 1..whole.len() {
            let payload = Payload::from_bytes("t", whole[..cut].to_vec());
            let mut records = payload.records(&Format::Messages, &Limits::default()).unwrap();
            assert!(matches!(records.next(), Err(DecodeError::Incomplete { .. })), "{cut}");
        }
        assert!(
            Payload::from_bytes("t", b"{}".to_vec()).records(&Format::Messages, &Limits::default()).is_err()
        );
    }
}
