//! SQL as it reaches the database, with the place in the file of every byte of it.
//!
//! A program writes SQL in pieces: with escapes, over several literals, with parts that are filled in at run time. A frontend
//! puts the pieces together here; what is found in the text can then be underlined in the file.

use crate::code::{Span, Value};

/// The character that stands for a part that is filled in at run time (private use: it can't be in SQL).
pub(crate) const HOLE: char = '\u{E000}';

/// A text and where it comes from.
#[derive(Debug, Clone, Default)]
pub struct Text {
    content: String,
    pieces: Vec<Piece>,
    holes: Vec<Hole>,
}

/// A part of a text that is filled in at run time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// As written: `table`, `params.table`, `self._name`.
    pub written: String,
    /// What is known of it.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

/// A stretch of the text.
#[derive(Debug, Clone)]
struct Piece {
    /// Its first byte in the text.
    at: usize,
    /// Its place in the file.
    span: Span,
    /// Byte for byte the same in the file; else all of it stands for all of the span.
    is_verbatim: bool,
}

impl Text {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A text that stands in the file as it is, from this byte on.
    pub fn verbatim(text: &str, at: usize) -> Self {
        let mut it = Self::new();
        it.push(text, at);
        it
    }

    /// Adds a stretch that stands in the file as it is, from this byte on.
    pub fn push(&mut self, text: &str, at: usize) {
        self.add(text, Span { start: at, end: at + text.len() }, true);
    }

    /// Adds a stretch that is written otherwise in the file: an escape, a constant that is named.
    pub fn push_for(&mut self, text: &str, span: Span) {
        self.add(text, span, false);
    }

    /// Adds a part that is only known at run time.
    pub fn push_hole(&mut self, written: impl Into<String>, value: Value, span: Span) {
        self.holes.push(Hole { written: written.into(), value, span });
        let mut buffer = [0; 4];
        self.add(HOLE.encode_utf8(&mut buffer), span, false);
    }

    /// Adds another text.
    pub fn push_text(&mut self, other: &Text) {
        self.push_part(other, 0, other.content.len());
        self.holes.extend(other.holes.iter().cloned());
    }

    /// The text; each hole is one private-use character.
    pub fn as_str(&self) -> &str {
        &self.content
    }

    /// Whether there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.content.trim().is_empty()
    }

    /// What is filled in at run time, in order.
    pub fn holes(&self) -> &[Hole] {
        &self.holes
    }

    /// Where a stretch of the text stands in the file.
    pub fn span(&self, start: usize, end: usize) -> Span {
        let first = self.piece(start);
        let last = self.piece(end.saturating_sub(1).max(start));
        let start = match first {
            Some(piece) if piece.is_verbatim => (piece.span.start + (start - piece.at)).min(piece.span.end),
            Some(piece) => piece.span.start,
            None => 0,
        };
        let end = match last {
            Some(piece) if piece.is_verbatim => {
                (piece.span.start + end.saturating_sub(piece.at)).min(piece.span.end)
            }
            Some(piece) => piece.span.end,
            None => start,
        };
        match first {
            // Its pieces stand in another order in the file: the first says most.
            Some(piece) if end < start => Span { start, end: piece.span.end.max(start) },
            _ => Span { start, end: end.max(start) },
        }
    }

    /// All of it in the file.
    pub fn whole(&self) -> Span {
        self.span(0, self.content.len())
    }

    /// Adds a stretch of another text, with the holes in it.
    pub(crate) fn push_stretch(&mut self, other: &Text, start: usize, end: usize) {
        let before = other.content[..start].matches(HOLE).count();
        let inside = other.content[start..end].matches(HOLE).count();
        self.push_part(other, start, end);
        self.holes.extend(other.holes.iter().skip(before).take(inside).cloned());
    }

    /// Adds a stretch of another text, without its holes' records.
    pub(super) fn push_part(&mut self, other: &Text, start: usize, end: usize) {
        let mut at = start;
        let mut index = other.pieces.partition_point(|piece| piece.at <= start).saturating_sub(1);
        while at < end {
            let Some(piece) = other.pieces.get(index) else { break };
            let piece_end = other.pieces.get(index + 1).map_or(other.content.len(), |next| next.at);
            let until = piece_end.min(end);
            if until > at {
                let span = if piece.is_verbatim {
                    let from = piece.span.start + (at - piece.at);
                    Span { start: from, end: from + (until - at) }
                } else {
                    piece.span
                };
                self.add(&other.content[at..until], span, piece.is_verbatim);
                at = until;
            }
            index += 1;
        }
    }

    fn add(&mut self, text: &str, span: Span, is_verbatim: bool) {
        if text.is_empty() {
            return;
        }
        self.pieces.push(Piece { at: self.content.len(), span, is_verbatim });
        self.content.push_str(text);
    }

    fn piece(&self, at: usize) -> Option<&Piece> {
        let index = self.pieces.partition_point(|piece| piece.at <= at);
        self.pieces.get(index.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_text_of_pieces_is_a_place_in_the_file() {
        let mut text = Text::new();
        text.push("SELECT ", 10);
        text.push_for("\n", Span { start: 17, end: 19 });
        text.push("a FROM t", 19);
        assert_eq!(text.as_str(), "SELECT \na FROM t");
        assert_eq!(text.span(8, 9), Span { start: 19, end: 20 });
        assert_eq!(text.span(7, 8), Span { start: 17, end: 19 });
        assert_eq!(text.whole(), Span { start: 10, end: 27 });
    }

    #[test]
    fn a_part_keeps_its_places() {
        let mut text = Text::verbatim("abc", 100);
        text.push("def", 200);
        let mut part = Text::new();
        part.push_part(&text, 2, 5);
        assert_eq!(part.as_str(), "cde");
        assert_eq!(part.span(0, 1), Span { start: 102, end: 103 });
        assert_eq!(part.span(1, 3), Span { start: 200, end: 202 });
    }

    #[test]
    fn a_place_beyond_the_end_is_the_end() {
        let text = Text::verbatim("abc", 5);
        assert_eq!(text.span(2, 90).end, 8);
        assert_eq!(Text::new().span(0, 4), Span { start: 0, end: 0 });
    }
}
