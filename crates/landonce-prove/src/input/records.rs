//! Where records end: lines, CSV records whose quotes may hold line breaks, elements of a JSON array.
//!
//! Reads each byte once and keeps a few numbers. It doesn't check the format: a file that breaks its own rules is cut
//! somewhere, which is what a transport does too.

use std::io::{self, BufRead};

/// What the file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// A record a line.
    Lines,
    /// Records in which quoted fields may hold line breaks; the first is the header.
    Csv,
    /// One array, an object that holds one (a FeatureCollection), or one value a line under a name that says JSON.
    Json,
}

/// The end of a record that isn't the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    /// How many bytes stay.
    pub(super) at: u64,
    /// What closes the brackets that are open there.
    pub(super) closed_with: &'static [u8],
}

/// The last end up to here, or the first after it; `None` when there is only one record.
pub(super) fn end_near(middle: u64, format: Format, input: impl BufRead) -> io::Result<Option<End>> {
    match format {
        Format::Lines => lines(middle, input),
        Format::Csv => csv(middle, input),
        Format::Json => json(middle, input),
    }
}

/// Chooses among the ends as they are found.
struct Choice {
    middle: u64,
    before: Option<End>,
    after: Option<End>,
    /// Found, but maybe the last: it counts once something follows that isn't white space.
    pending: Option<End>,
}

impl Choice {
    fn new(middle: u64) -> Self {
        Self { middle, before: None, after: None, pending: None }
    }

    fn end(&mut self, at: u64, closed_with: &'static [u8]) {
        self.pending.get_or_insert(End { at, closed_with });
    }

    fn content(&mut self) {
        if let Some(end) = self.pending.take() {
            if end.at <= self.middle {
                self.before = Some(end);
            } else {
                self.after.get_or_insert(end);
            }
        }
    }

    /// Whether nothing that follows could change it.
    fn is_made(&self) -> bool {
        self.after.is_some()
    }

    fn made(self) -> Option<End> {
        self.before.or(self.after)
    }
}

/// Calls `each` with every byte and its offset, until it says that it knows enough.
fn bytes(mut input: impl BufRead, mut each: impl FnMut(u64, u8) -> bool) -> io::Result<()> {
    let mut offset = 0;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let length = buffer.len();
        for &byte in buffer {
            if each(offset, byte) {
                return Ok(());
            }
            offset += 1;
        }
        input.consume(length);
    }
}

fn lines(middle: u64, input: impl BufRead) -> io::Result<Option<End>> {
    let mut choice = Choice::new(middle);
    bytes(input, |offset, byte| {
        if byte == b'\n' {
            choice.end(offset + 1, b"");
        } else if !byte.is_ascii_whitespace() {
            choice.content();
        }
        choice.is_made()
    })?;
    Ok(choice.made())
}

/// Where in a CSV record we are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    /// At its first byte: only here does a quote open.
    Start,
    Bare,
    Quoted,
    /// After a quote inside quotes: the field's end, or one half of a doubled quote.
    QuoteInQuotes,
}

fn csv(middle: u64, input: impl BufRead) -> io::Result<Option<End>> {
    let mut choice = Choice::new(middle);
    let mut field = Field::Start;
    let mut is_header = true;
    bytes(input, |offset, byte| {
        if !byte.is_ascii_whitespace() {
            choice.content();
        }
        field = match (field, byte) {
            (Field::Start | Field::QuoteInQuotes, b'"') => Field::Quoted,
            (Field::Quoted, b'"') => Field::QuoteInQuotes,
            (Field::Quoted, _) => Field::Quoted,
            (_, b'\n') => {
                // The header alone would be a file without records: that is another cut.
                if !is_header {
                    choice.end(offset + 1, b"");
                }
                is_header = false;
                Field::Start
            }
            (_, b',' | b';' | b'\t' | b'|') => Field::Start,
            _ => Field::Bare,
        };
        choice.is_made()
    })?;
    Ok(choice.made())
}

fn json(middle: u64, input: impl BufRead) -> io::Result<Option<End>> {
    // Values on lines of their own, against elements of one array: only the whole file tells which it is.
    let mut values = Choice::new(middle);
    let mut elements = Choice::new(middle);
    // The outer two brackets; deeper ones are only counted.
    let mut outer = [0_u8; 2];
    let mut depth = 0_usize;
    let (mut is_string, mut is_escaped, mut has_value) = (false, false, false);
    bytes(input, |offset, byte| {
        if !byte.is_ascii_whitespace() {
            values.content();
            elements.content();
            has_value = true;
        }
        if is_string {
            (is_string, is_escaped) = (is_escaped || byte != b'"', !is_escaped && byte == b'\\');
            return false;
        }
        match byte {
            b'"' => is_string = true,
            b'[' | b'{' => {
                if let Some(place) = outer.get_mut(depth) {
                    *place = byte;
                }
                depth += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => match (depth, outer) {
                (1, [b'[', _]) => elements.end(offset, b"]"),
                (2, [b'{', b'[']) => elements.end(offset, b"]}"),
                _ => {}
            },
            b'\n' if depth == 0 && has_value => values.end(offset + 1, b""),
            _ => {}
        }
        false
    })?;
    Ok(values.made().or(elements.made()))
}

#[cfg(test)]
mod tests {
    use super::{Format, end_near};

    /// What stays of a text that is cut near its middle.
    fn cut(format: Format, text: &str) -> Option<String> {
        let end = end_near(text.len() as u64 / 2, format, text.as_bytes()).unwrap()?;
        Some(format!("{}{}", &text[..end.at as usize], std::str::from_utf8(end.closed_with).unwrap()))
    }

    #[test]
    fn lines_end_at_line_feeds_up_to_the_middle() {
        assert_eq!(cut(Format::Lines, "a\nb\nc\nd\n").as_deref(), Some("a\nb\n"));
        assert_eq!(cut(Format::Lines, "a\nbbbbbbbbbb\nc\n").as_deref(), Some("a\n"));
        // None before the middle: the first after it.
        assert_eq!(cut(Format::Lines, "aaaaaaaaaa\nb\nc\n").as_deref(), Some("aaaaaaaaaa\n"));
    }

    #[test]
    fn one_record_can_not_be_cut_whatever_white_space_follows() {
        assert_eq!(cut(Format::Lines, "a\n"), None);
        assert_eq!(cut(Format::Lines, "a\n\n  \n"), None);
        assert_eq!(cut(Format::Lines, ""), None);
        assert_eq!(cut(Format::Csv, "id\n1\n"), None);
        assert_eq!(cut(Format::Json, "[1]\n"), None);
        assert_eq!(cut(Format::Json, "{\"a\": 1, \"b\": 2}\n"), None);
    }

    #[test]
    fn a_csv_keeps_its_header_and_never_ends_inside_quotes() {
        assert_eq!(cut(Format::Csv, "id,name\n1,a\n2,b\n").as_deref(), Some("id,name\n1,a\n"));
        assert_eq!(
            cut(Format::Csv, "id,n\r\n1,\"a\r\nb \"\"c\"\"\r\n,d\"\r\n2,b\r\n").as_deref(),
            Some("id,n\r\n1,\"a\r\nb \"\"c\"\"\r\n,d\"\r\n")
        );
        // A quote inside a bare field opens nothing.
        assert_eq!(cut(Format::Csv, "id,n\n1,5\" pipe\n2,b\n3,c\n").as_deref(), Some("id,n\n1,5\" pipe\n"));
    }

    #[test]
    fn a_json_array_is_closed_again() {
        let text = r#"[{"a": "x],\"[", "b": [1, 2]}, {"a": 2}, {"a": 3}]"#;
        assert_eq!(cut(Format::Json, text).as_deref(), Some(r#"[{"a": "x],\"[", "b": [1, 2]}]"#));
        let text = r#"{"type": "FeatureCollection", "features": [{"c": [1, 2]}, {"c": [3, 4]}], "n": 2}"#;
        assert_eq!(
            cut(Format::Json, text).as_deref(),
            Some(r#"{"type": "FeatureCollection", "features": [{"c": [1, 2]}]}"#)
        );
    }

    #[test]
    fn values_on_lines_under_a_json_name_are_lines() {
        assert_eq!(cut(Format::Json, "[1, 2]\n[3, 4]\n[5, 6]\n").as_deref(), Some("[1, 2]\n"));
        assert_eq!(
            cut(Format::Json, "{\"a\": [1, 2]}\n{\"a\": [3]}\n").as_deref(),
            Some("{\"a\": [1, 2]}\n")
        );
    }
}
