//! A strict JSON reader that keeps the text: one pass, no tree, no lost digits.
//!
//! `serde_json` turns integers beyond 64 bits into doubles and lets the last of two equal names win, so keys and digests
//! can't stand on its values. A [`Tape`] is a flat list of spans over the record's own text: numbers stay lexemes, strings
//! stay escaped until somebody asks. Scanning refuses what RFC 8259 forbids and what no store can hold exactly: repeated
//! names (also when equal only after unescaping), lone surrogates, U+0000, nesting beyond [`MOST_DEPTH`].

mod scan;

use std::borrow::Cow;

/// The deepest nesting that is read.
pub const MOST_DEPTH: usize = 128;

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number, kept as its lexeme.
    Number,
    /// A string without escapes: its text is its span.
    Plain,
    /// A string with escapes.
    Escaped,
    /// An array; its items follow.
    Array,
    /// An object; its names (strings) and values follow in turn.
    Object,
}

impl Kind {
    /// What the kind is called in a message.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::True | Self::False => "a boolean",
            Self::Number => "a number",
            Self::Plain | Self::Escaped => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// One value's place. Strings' spans exclude the quotes.
#[derive(Debug, Clone, Copy)]
struct Node {
    kind: Kind,
    start: u32,
    end: u32,
    /// The index of the node behind this one and all it holds.
    next: u32,
}

/// The spans of one JSON text. Reused from record to record; filled by [`Tape::scan`].
#[derive(Debug, Default)]
pub struct Tape {
    nodes: Vec<Node>,
    open: Vec<u32>,
}

/// A value in a scanned text.
#[derive(Debug, Clone, Copy)]
pub struct Json<'t> {
    text: &'t str,
    nodes: &'t [Node],
    at: usize,
}

impl<'t> Json<'t> {
    /// Its kind.
    pub fn kind(self) -> Kind {
        self.nodes[self.at].kind
    }

    /// Its text as written; a string's without the quotes and still escaped.
    pub fn span(self) -> &'t str {
        let node = self.nodes[self.at];
        &self.text[node.start as usize..node.end as usize]
    }

    /// Its text as written, a string's with the quotes: JSON by itself.
    pub fn raw(self) -> &'t str {
        let node = self.nodes[self.at];
        let quote = u32::from(matches!(node.kind, Kind::Plain | Kind::Escaped));
        &self.text[(node.start - quote) as usize..(node.end + quote) as usize]
    }

    /// A string's value; `None` for other kinds.
    pub fn string(self) -> Option<Cow<'t, str>> {
        match self.kind() {
            Kind::Plain => Some(Cow::Borrowed(self.span())),
            Kind::Escaped => Some(Cow::Owned(unescape(self.span()))),
            _ => None,
        }
    }

    /// An object's members, in the order written; none for other kinds.
    pub fn members(self) -> impl Iterator<Item = (Json<'t>, Json<'t>)> {
        let mut values = self.children(Kind::Object);
        std::iter::from_fn(move || Some((values.next()?, values.next()?)))
    }

    /// An array's items; none for other kinds.
    pub fn items(self) -> impl Iterator<Item = Json<'t>> {
        self.children(Kind::Array)
    }

    /// The member of that name; `None` when there is none, or for other kinds.
    pub fn member(self, name: &str) -> Option<Json<'t>> {
        self.members().find(|(has, _)| has.string().as_deref() == Some(name)).map(|(_, value)| value)
    }

    fn children(self, kind: Kind) -> impl Iterator<Item = Json<'t>> {
        let node = self.nodes[self.at];
        let (mut at, end) =
            if node.kind == kind { (self.at + 1, node.next as usize) } else { (self.at, self.at) };
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let child = Json { at, ..self };
            at = self.nodes[at].next as usize;
            Some(child)
        })
    }
}

/// The text of a string whose escapes have been checked by the scanner.
fn unescape(span: &str) -> String {
    let mut out = String::with_capacity(span.len());
    let mut rest = span;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = rest.as_bytes()[at + 1];
        let mut used = 2;
        out.push(match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let (found, long) = unicode_escape(&rest[at..]);
                used = long;
                found
            }
            other => char::from(other), // `"`, `\` and `/`: the scanner lets no other through
        });
        rest = &rest[at + used..];
    }
    out.push_str(rest);
    out
}

/// The character of a `\uXXXX` (or a pair of them) at the start of `text`, and the length of the escape.
fn unicode_escape(text: &str) -> (char, usize) {
    let unit =
        |from: usize| text.get(from..from + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or(0);
    let first = unit(2);
    if (0xD800..0xDC00).contains(&first) {
        let pair = 0x1_0000 + ((first - 0xD800) << 10) + (unit(8) & 0x3FF);
        (char::from_u32(pair).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
    } else {
        (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
    }
}

#[cfg(test)]
mod tests;
