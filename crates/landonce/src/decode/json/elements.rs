//! The elements of one JSON array, from its `[` to its `]`.

use super::scan::{Framed, frame};
use crate::decode::DecodeError;
use crate::decode::window::Window;

/// An array that was opened.
pub(in crate::decode) struct Elements {
    format: &'static str,
    /// What an element is called in messages.
    noun: &'static str,
    /// Where the array opened.
    opened_at: u64,
    /// How many elements have begun.
    number: u64,
    state: State,
}

enum State {
    /// Behind `[`.
    Opened,
    /// Behind an element.
    Behind,
}

impl Elements {
    /// Goes past the `[`, which is the window's first byte.
    pub(in crate::decode) fn open(window: &mut Window, format: &'static str, noun: &'static str) -> Self {
        let opened_at = window.offset();
        window.consume(1);
        Self { format, noun, opened_at, number: 0, state: State::Opened }
    }

    /// The next element with its index from 1; `None` behind the `]`.
    pub(in crate::decode) fn next(
        &mut self,
        window: &mut Window,
        limit: u32,
    ) -> Result<Option<(u64, Framed)>, DecodeError> {
        let mut next = self.peek(window)?;
        match (&self.state, next) {
            (_, b']') => {
                window.consume(1);
                return Ok(None);
            }
            (State::Behind, b',') => {
                window.consume(1);
                next = self.peek(window)?;
                if next == b']' {
                    return Err(self.stray(window, "a comma stands before the closing bracket"));
                }
            }
            (State::Behind, _) => {
                return Err(self.stray(window, "a comma or a closing bracket is expected"));
            }
            (State::Opened, _) => {}
        }
        if next == b',' {
            return Err(self.stray(window, "a comma stands where a value is expected"));
        }
        self.state = State::Behind;
        self.number += 1;
        let framed = frame(window, limit, self.format, || format!("{} {}", self.noun, self.number))?;
        Ok(Some((self.number, framed)))
    }

    fn peek(&self, window: &mut Window) -> Result<u8, DecodeError> {
        window.skip_white()?.ok_or_else(|| {
            let detail = format!("the array that opens at byte {} is never closed", self.opened_at);
            DecodeError::incomplete(detail)
        })
    }

    fn stray(&self, window: &Window, what: &str) -> DecodeError {
        let detail = match self.number {
            0 => what.to_owned(),
            number => format!("{what}, behind {} {number}", self.noun),
        };
        DecodeError::malformed(self.format, window.offset(), detail)
    }
}
