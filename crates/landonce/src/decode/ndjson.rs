//! NDJSON: one record a line.
//!
//! Only `\n` ends a line (U+2028 and its like are text), a `\r` before it is dropped, lines of white space are skipped, and
//! the last line may lack its end. What is in a line is left to the scanner.

#[cfg(test)]
mod tests;

use memchr::memchr;

use super::DecodeError;
use super::bad::too_large;
use super::ending::{Ending, Seen, Tail};
use super::records::Frame;
use super::window::{Window, is_white};

/// Frames lines.
pub(super) struct Ndjson {
    /// How many lines have begun.
    line: u64,
    limit: u32,
    tail: Tail,
}

impl Ndjson {
    /// At the beginning of a text.
    pub(super) fn new(limit: u32, ending: &Ending) -> Self {
        Self { line: 0, limit, tail: Tail::new(ending, "NDJSON") }
    }

    /// What was seen beside the records.
    pub(super) fn seen(&self) -> Seen {
        self.tail.seen()
    }

    /// The next line that isn't blank, nor part of the payload's ending.
    pub(super) fn next(&mut self, window: &mut Window) -> Result<Option<Frame>, DecodeError> {
        loop {
            let Some(frame) = self.next_line(window)? else { return Ok(None) };
            let is_blank = frame.bad.is_none() && window.raw(&frame.raw).iter().all(|&byte| is_white(byte));
            if !is_blank && !self.tail.takes(window.raw(&frame.raw), frame.number, frame.offset)? {
                return Ok(Some(frame));
            }
        }
    }

    fn next_line(&mut self, window: &mut Window) -> Result<Option<Frame>, DecodeError> {
        let offset = window.offset();
        let (mut seen, mut dropped) = (0, 0);
        // How long the line is in the window, and how many bytes end it.
        let (len, end) = loop {
            let rest = window.rest();
            if let Some(at) = memchr(b'\n', &rest[seen..]) {
                let len = seen + at;
                // The last byte of a long line is never dropped, so a `\r` is seen here.
                break if rest[..len].ends_with(b"\r") { (len - 1, 2) } else { (len, 1) };
            }
            seen = rest.len();
            if seen > 1 {
                let less = window.drop_beyond(seen - 1, dropped, self.limit);
                dropped += less;
                seen -= less as usize;
            }
            if !window.more()? {
                if seen == 0 && dropped == 0 {
                    return Ok(None);
                }
                break (seen, 0);
            }
        };
        self.line += 1;
        let raw = window.close(len, dropped, self.limit);
        window.consume(end);
        let total = dropped + len as u64;
        let bad = (total > u64::from(self.limit)).then(|| too_large(total, self.limit));
        Ok(Some(Frame { number: self.line, offset, raw, bad, is_rendered: false }))
    }
}
