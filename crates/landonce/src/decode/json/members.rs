//! The members of one JSON object that lies in memory: names and values as they are spelled.

use std::borrow::Cow;

use super::scan::{Scan, Step};
use crate::decode::window::is_white;

/// The members of an object, in order. Ask for a name, then for its value.
pub(in crate::decode) struct Members<'a> {
    text: &'a [u8],
    at: usize,
    is_first: bool,
}

/// An object that isn't one: what is wrong, for a message.
pub(in crate::decode) type Fault = &'static str;

impl<'a> Members<'a> {
    /// The members of the object at the beginning of `text`; `None` if there is none. What follows the object isn't looked at.
    pub(in crate::decode) fn of(text: &'a [u8]) -> Option<Self> {
        text.starts_with(b"{").then_some(Self { text, at: 1, is_first: true })
    }

    /// The next member's name, with its quotes; `None` behind the last.
    pub(in crate::decode) fn name(&mut self) -> Result<Option<&'a [u8]>, Fault> {
        self.skip_white();
        match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !self.is_first => {
                self.at += 1;
                self.skip_white();
            }
            _ if self.is_first => {}
            _ => return Err("a comma or a closing brace is missing"),
        }
        self.is_first = false;
        if self.peek() != Some(b'"') {
            return Err("a name in double quotes is missing");
        }
        let name = self.value()?;
        self.skip_white();
        if self.peek() != Some(b':') {
            return Err("a colon is missing");
        }
        self.at += 1;
        self.skip_white();
        Ok(Some(name))
    }

    /// The value of the name just given.
    pub(in crate::decode) fn value(&mut self) -> Result<&'a [u8], Fault> {
        match Scan::default().feed(&self.text[self.at..]) {
            Step::End(len) => {
                let value = &self.text[self.at..self.at + len];
                self.at += len;
                Ok(value)
            }
            Step::Stray(_) => Err("a bracket or comma is out of place"),
            Step::More => Err("the text ends within a value"),
        }
    }

    /// The next byte, if there is one.
    pub(in crate::decode) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// How far the text has been read.
    pub(in crate::decode) fn position(&self) -> usize {
        self.at
    }

    fn skip_white(&mut self) {
        while self.peek().is_some_and(is_white) {
            self.at += 1;
        }
    }
}

/// What a quoted string says: two spellings of one name are one name. A string that isn't well-formed says its own spelling;
/// the scanner will find it.
pub(in crate::decode) fn unescape(quoted: &[u8]) -> Cow<'_, [u8]> {
    let plain = quoted.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(quoted);
    if !plain.contains(&b'\\') {
        return Cow::Borrowed(plain);
    }
    match serde_json::from_slice::<String>(quoted) {
        Ok(text) => Cow::Owned(text.into_bytes()),
        Err(_) => Cow::Borrowed(plain),
    }
}
