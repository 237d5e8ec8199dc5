//! JSON: one array whose elements are the records, or a single object.
//!
//! Elements are framed, not parsed; one that is no object is a bad record. What leaves open where elements begin and end (a
//! stray comma, a bracket that doesn't match, text behind the end) is an error.

mod elements;
mod members;
mod scan;
#[cfg(test)]
mod tests;

pub(super) use elements::Elements;
pub(super) use members::{Members, unescape};
pub(super) use scan::{Framed, frame};

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::json::MOST_DEPTH;

use super::DecodeError;
use super::bad::{syntax, too_large};
use super::records::Frame;
use super::window::Window;

const JSON: &str = "JSON";

/// Frames the elements of an array.
pub(super) struct Json {
    state: State,
    limit: u32,
}

enum State {
    Start,
    Within(Elements),
    /// Behind the end; what it was.
    End(&'static str),
}

impl Json {
    /// At the beginning of a text.
    pub(super) fn new(limit: u32) -> Self {
        Self { state: State::Start, limit }
    }

    /// The next element.
    pub(super) fn next(&mut self, window: &mut Window) -> Result<Option<Frame>, DecodeError> {
        loop {
            match &mut self.state {
                State::Start => match window.skip_white()? {
                    Some(b'[') => self.state = State::Within(Elements::open(window, JSON, "element")),
                    Some(b'{') => {
                        self.state = State::End("the object");
                        let framed = frame(window, self.limit, JSON, || "the object".to_owned())?;
                        return Ok(Some(element(1, framed, self.limit)));
                    }
                    Some(_) => {
                        let detail = "an array of objects is expected";
                        return Err(DecodeError::malformed(JSON, window.offset(), detail));
                    }
                    None => return Err(DecodeError::incomplete("the payload is empty, which is no JSON")),
                },
                State::Within(elements) => match elements.next(window, self.limit)? {
                    Some((number, framed)) => return Ok(Some(element(number, framed, self.limit))),
                    None => self.state = State::End("the array"),
                },
                State::End(what) => {
                    return expect_end(window, JSON, what).map(|()| None);
                }
            }
        }
    }
}

/// Checks that only white space is left.
pub(super) fn expect_end(window: &mut Window, format: &'static str, what: &str) -> Result<(), DecodeError> {
    let Some(byte) = window.skip_white()? else { return Ok(()) };
    let hint = if byte == b'{' { " (one object a line is NDJSON: choose `format: ndjson`)" } else { "" };
    Err(DecodeError::malformed(format, window.offset(), format!("text follows the end of {what}{hint}")))
}

/// The record that a framed value is.
fn element(number: u64, framed: Framed, limit: u32) -> Frame {
    let bad = fault(&framed, limit)
        .or_else(|| (framed.first != b'{').then(|| syntax("", "a record must be a JSON object")));
    Frame { number, offset: framed.offset, raw: framed.raw, bad, is_rendered: false }
}

/// What framing found wrong with a value: too large or too deep.
pub(super) fn fault(framed: &Framed, limit: u32) -> Option<BadRecord> {
    if framed.len > u64::from(limit) {
        return Some(too_large(framed.len, limit));
    }
    (framed.depth as usize > MOST_DEPTH)
        .then(|| BadRecord::new(BadKind::TooDeep, "", format!("nested deeper than {MOST_DEPTH} levels")))
}
