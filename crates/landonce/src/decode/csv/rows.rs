//! Where a CSV row begins and ends, which lines it stands on, and whether its quotes are closed.
//!
//! csv-core splits rows into fields, but it takes an unclosed quote for a closed one at the end of the text, and text behind
//! a closing quote for part of the field; both are decided here, before it sees the row.

use memchr::memchr3;

use crate::decode::DecodeError;
use crate::decode::window::{Raw, Window};

/// A row, framed.
pub(super) struct Row {
    /// The line on which it begins, from 1.
    pub(super) line: u64,
    pub(super) offset: u64,
    /// How long it is, also if it wasn't kept whole.
    pub(super) len: u64,
    pub(super) raw: Raw,
    /// The line on which text follows a closing quote.
    pub(super) stray: Option<u64>,
}

/// Frames rows.
pub(super) struct Rows {
    delimiter: u8,
    /// The current line, from 1.
    line: u64,
    /// Where the last `\r` was: a `\n` right behind it ends the same line.
    return_at: Option<u64>,
}

#[derive(Clone, Copy)]
enum At {
    /// Outside quotes.
    Plain,
    /// Inside quotes.
    Quoted,
    /// Behind a quote inside quotes: it closes them, or it is the first of two.
    Quote,
}

impl Rows {
    /// At the beginning of a text.
    pub(super) fn new(delimiter: u8) -> Self {
        Self { delimiter, line: 1, return_at: None }
    }

    /// The next row that isn't an empty line.
    pub(super) fn next(&mut self, window: &mut Window, limit: u32) -> Result<Option<Row>, DecodeError> {
        if !self.skip_empty(window)? {
            return Ok(None);
        }
        let (line, offset) = (self.line, window.offset());
        let (mut seen, mut dropped) = (0, 0);
        let (mut opened, mut stray) = (line, None);
        let mut at = At::Plain;
        let (len, end) = loop {
            let rest = window.rest();
            let found = match at {
                At::Plain | At::Quoted => memchr3(b'"', b'\n', b'\r', &rest[seen..]),
                At::Quote => (seen < rest.len()).then_some(0),
            };
            let Some(more) = found else {
                seen = rest.len();
                // The last byte stays, since a quote's meaning depends on what is before it.
                let less = window.drop_beyond(seen - 1, dropped, limit);
                dropped += less;
                seen -= less as usize;
                if window.more()? {
                    continue;
                }
                if matches!(at, At::Quoted) {
                    return Err(unclosed(opened, line));
                }
                break (seen, 0);
            };
            let here = seen + more;
            let position = window.offset() + here as u64;
            match (at, rest[here]) {
                (At::Plain, b'"') => {
                    let is_first = here == 0 || rest[here - 1] == self.delimiter;
                    if is_first {
                        (at, opened) = (At::Quoted, self.line);
                    }
                    seen = here + 1;
                }
                (At::Plain, end) => {
                    self.line_ended(end, position);
                    break (here, 1);
                }
                (At::Quoted, b'"') => (at, seen) = (At::Quote, here + 1),
                (At::Quoted, end) => {
                    self.line_ended(end, position);
                    seen = here + 1;
                }
                (At::Quote, b'"') => (at, seen) = (At::Quoted, here + 1),
                (At::Quote, byte) => {
                    at = At::Plain;
                    if byte != self.delimiter && byte != b'\n' && byte != b'\r' {
                        stray = stray.or(Some(self.line));
                    }
                }
            }
        };
        let raw = window.close(len, dropped, limit);
        window.consume(end);
        Ok(Some(Row { line, offset, len: dropped + len as u64, raw, stray }))
    }

    /// Skips empty lines; `false` at the end of the text.
    fn skip_empty(&mut self, window: &mut Window) -> Result<bool, DecodeError> {
        loop {
            match window.rest().first().copied() {
                Some(end @ (b'\n' | b'\r')) => {
                    self.line_ended(end, window.offset());
                    window.consume(1);
                }
                Some(_) => return Ok(true),
                None => {
                    if !window.more()? {
                        return Ok(false);
                    }
                }
            }
        }
    }

    fn line_ended(&mut self, end: u8, position: u64) {
        if end == b'\r' {
            self.return_at = Some(position);
        } else if position.checked_sub(1).is_some_and(|before| self.return_at == Some(before)) {
            return;
        }
        self.line += 1;
    }
}

fn unclosed(opened: u64, began: u64) -> DecodeError {
    let row = if opened == began { String::new() } else { format!(" (in the row of line {began})") };
    DecodeError::incomplete(format!("the quote that opens on line {opened}{row} is never closed"))
}
