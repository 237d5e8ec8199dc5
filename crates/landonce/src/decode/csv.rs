//! CSV: a header, and rows that become objects of strings.
//!
//! Quoted fields may hold line ends; `""` is a quote; `\n`, `\r\n` and `\r` end a row; empty lines are skipped; a quote inside
//! an unquoted field is text. Nothing is trimmed, and an empty field is `""` whether quoted or not: what it means is left to
//! the typed layer.

mod header;
mod render;
mod rows;
mod split;
#[cfg(test)]
mod tests;

use header::Header;
use rows::{Row, Rows};
use split::Splitter;

use landonce_core::bad_record::BadRecord;

use super::DecodeError;
use super::bad::{syntax, too_large};
use super::ending::{Seen, Tail};
use super::records::{Frame, Limits};
use super::window::Window;

/// How a CSV is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// What stands between fields: one ASCII character, a comma by default.
    pub delimiter: u8,
    /// The columns' names, for a text without a header; `None` takes them from the first row.
    pub header: Option<Vec<String>>,
    /// Texts of fields that mean null.
    pub nulls: Vec<String>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: b',', header: None, nulls: Vec::new() }
    }
}

/// Frames and renders rows.
pub(super) struct Csv {
    rows: Rows,
    splitter: Splitter,
    /// `None` if the text had no row at all.
    header: Option<Header>,
    nulls: Vec<Vec<u8>>,
    limit: u32,
    tail: Tail,
    /// Columns that the header must have if no row follows.
    expected: Vec<String>,
}

impl Csv {
    /// At the beginning of a text; reads the header.
    pub(super) fn new(
        options: &CsvOptions,
        window: &mut Window,
        limits: &Limits,
    ) -> Result<Self, DecodeError> {
        let limit = limits.record;
        if !options.delimiter.is_ascii() || matches!(options.delimiter, b'"' | b'\r' | b'\n' | 0) {
            let detail = "the CSV delimiter must be one ASCII character, no quote and no line end".to_owned();
            return Err(DecodeError::Option { detail });
        }
        let mut rows = Rows::new(options.delimiter);
        let mut splitter = Splitter::new(options.delimiter);
        let mut tail = Tail::new(&limits.ending, "CSV");
        let header = match &options.header {
            Some(names) => Some(Header::given(names)?),
            None => match next(&mut rows, &mut tail, window, limit)? {
                Some(row) => Some(Header::read(&row, &mut splitter, window, limit)?),
                None => None,
            },
        };
        let nulls = options.nulls.iter().map(|text| text.clone().into_bytes()).collect();
        Ok(Self { rows, splitter, header, nulls, limit, tail, expected: limits.columns.clone() })
    }

    /// What was seen beside the records.
    pub(super) fn seen(&self) -> Seen {
        self.tail.seen()
    }

    /// The next row, its object in `out`.
    pub(super) fn next(
        &mut self,
        window: &mut Window,
        out: &mut Vec<u8>,
    ) -> Result<Option<Frame>, DecodeError> {
        let Some(header) = &self.header else { return Ok(None) };
        let Some(row) = next(&mut self.rows, &mut self.tail, window, self.limit)? else {
            // Any text has a first row. One that isn't this pipeline's would otherwise be a payload without records.
            let is_missing = |name: &&String| !header.names().contains(name);
            return match self.expected.iter().find(is_missing) {
                Some(name) => Err(DecodeError::Header {
                    detail: format!(
                        "it has no column `{name}`, a field of the identity, and no row follows: is this CSV, and this pipeline's?"
                    ),
                }),
                None => Ok(None),
            };
        };
        self.expected.clear();
        let bad = if row.len > u64::from(self.limit) {
            Some(too_large(row.len, self.limit))
        } else if let Some(line) = row.stray {
            Some(stray(line))
        } else if self.splitter.split(window.raw(&row.raw)) {
            render::row(header, &self.splitter, &self.nulls, self.limit, out).err()
        } else {
            // Two readings of one row: the safe one is neither.
            Some(syntax("", "the row's quotes can't be read in one way only"))
        };
        Ok(Some(Frame { number: row.line, offset: row.offset, raw: row.raw, bad, is_rendered: true }))
    }
}

/// The next row that isn't part of the payload's ending.
fn next(
    rows: &mut Rows,
    tail: &mut Tail,
    window: &mut Window,
    limit: u32,
) -> Result<Option<Row>, DecodeError> {
    while let Some(row) = rows.next(window, limit)? {
        if !tail.takes(window.raw(&row.raw), row.line, row.offset)? {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn stray(line: u64) -> BadRecord {
    let detail =
        format!("text follows a closing quote on line {line}; a quote inside quotes is written twice");
    syntax("", detail)
}
