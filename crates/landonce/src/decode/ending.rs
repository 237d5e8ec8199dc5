//! A payload's ending: lines behind the last record that aren't records, and what a payload says of itself.
//!
//! An end marker stands at the end: what follows it can only be two payloads one behind the other, or a marker that is a
//! record's text too. Both are errors, since nobody can tell where the payload ends.

use std::borrow::Cow;

use landonce_core::bad_record::shorten;
use memchr::{memchr, memmem};

use super::DecodeError;
use super::json::{Members, unescape};
use super::window::is_white;

/// What to look for beside the records. Nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ending {
    /// NDJSON, CSV: a line of exactly this text ends the payload.
    pub line: Option<String>,
    /// NDJSON: an object ends the payload in which the field at this path has this text.
    pub record: Option<(Vec<String>, String)>,
    /// NDJSON, CSV: a line with a number between these two texts ends the payload.
    pub count_line: Option<(String, String)>,
    /// A member that is to be kept, by its path: of a FeatureCollection, or of the object that ends NDJSON.
    pub member: Option<Vec<String>>,
}

/// What was seen of the payload beside its records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The payload was read to its proved end: streams with their checksums, brackets and quotes closed.
    pub is_whole: bool,
    /// The format's name.
    pub format: &'static str,
    /// The line on which [`Ending::line`] stood.
    pub line: Option<u64>,
    /// The line on which [`Ending::record`] stood.
    pub record: Option<u64>,
    /// The digits in [`Ending::count_line`].
    pub count_line: Option<String>,
    /// The value of [`Ending::member`]: a string's text, anything else as it is spelled, long ones shortened.
    pub member: Option<String>,
}

/// Looks at each line of a text for what ends it.
pub(super) struct Tail {
    wanted: Ending,
    seen: Seen,
    is_wanted: bool,
    format: &'static str,
    /// The first line of the ending.
    began: Option<u64>,
}

impl Tail {
    /// At the beginning of a text.
    pub(super) fn new(wanted: &Ending, format: &'static str) -> Self {
        let is_wanted = wanted.line.is_some() || wanted.record.is_some() || wanted.count_line.is_some();
        Self { wanted: wanted.clone(), seen: Seen::default(), is_wanted, format, began: None }
    }

    /// Takes a line that isn't blank; `true` if it belongs to the ending and so is no record.
    pub(super) fn takes(&mut self, line: &[u8], number: u64, offset: u64) -> Result<bool, DecodeError> {
        if !self.is_wanted {
            return Ok(false);
        }
        let is_new = self.notes(line.strip_suffix(b"\r").unwrap_or(line), number);
        match self.began {
            // Several things may end a payload, each once, in any order.
            Some(_) if is_new => {}
            Some(began) => {
                let detail = format!(
                    "line {number} follows the end marker on line {began}: are these two payloads, one behind the other?"
                );
                return Err(DecodeError::malformed(self.format, offset, detail));
            }
            None if is_new => self.began = Some(number),
            None => {}
        }
        Ok(is_new)
    }

    /// Notes a line of the ending; `false` if it is none, or was seen before.
    fn notes(&mut self, line: &[u8], number: u64) -> bool {
        let wanted = &self.wanted;
        if wanted.line.as_ref().is_some_and(|text| text.as_bytes() == line) {
            return self.seen.line.replace(number).is_none();
        }
        if let Some(digits) =
            wanted.count_line.as_ref().and_then(|(before, behind)| between(line, before, behind))
        {
            return self.seen.count_line.replace(digits).is_none();
        }
        if let Some((field, equals)) = &wanted.record
            && may_say(line, equals)
            && member(line, field).is_some_and(|value| *unescape(value) == *equals.as_bytes())
        {
            if let Some(path) = &wanted.member {
                self.seen.member = member(line, path).map(text);
            }
            return self.seen.record.replace(number).is_none();
        }
        false
    }

    /// What was seen.
    pub(super) fn seen(&self) -> Seen {
        self.seen.clone()
    }
}

/// The digits between two texts, and nothing else.
fn between(line: &[u8], before: &str, behind: &str) -> Option<String> {
    let digits = line.strip_prefix(before.as_bytes())?.strip_suffix(behind.as_bytes())?;
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| String::from_utf8_lossy(digits).into_owned())
}

/// Whether a line can say a text at all: a look that spares most lines the walk through their members.
fn may_say(line: &[u8], text: &str) -> bool {
    memmem::find(line, text.as_bytes()).is_some() || memchr(b'\\', line).is_some()
}

/// A member's value by its path; `None` for text that is no object, lacks it, or has it twice.
pub(super) fn member<'t>(text: &'t [u8], path: &[String]) -> Option<&'t [u8]> {
    let [name, inner @ ..] = path else { return Some(text) };
    let white = text.iter().take_while(|&&byte| is_white(byte)).count();
    let mut members = Members::of(&text[white..])?;
    let mut found = None;
    while let Some(quoted) = members.name().ok()? {
        let value = members.value().ok()?;
        if *unescape(quoted) == *name.as_bytes() && found.replace(value).is_some() {
            return None;
        }
    }
    member(found?, inner)
}

/// A value's text, for messages and comparison.
pub(super) fn text(value: &[u8]) -> String {
    let text: Cow<'_, [u8]> = unescape(value);
    shorten(&String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests;
