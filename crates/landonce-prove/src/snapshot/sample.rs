//! Rows as people read them: unescaped, on one line, short.

use super::roles::{Role, Shared};
use super::row::{self, Row};
use super::{Change, Sample, Table};

/// The longest that a sample is, in characters.
const LONGEST: usize = 300;
/// The longest that a value in it is.
const LONGEST_VALUE: usize = 80;
/// How many samples of a table are kept.
const MOST: usize = 10;

/// A whole row: `column=value, …`.
pub(super) fn whole(change: Change, table: &Table, row: &Row) -> Sample {
    let text: Vec<String> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| format!("{}={}", column.name, shown(row.field(at + 1))))
        .collect();
    let text = if text.is_empty() { "a row without columns".to_owned() } else { text.join(", ") };
    Sample { change, row: shortened(&text, LONGEST) }
}

/// Two rows that are one to the reader: `key=…: column: before → after, …`.
pub(super) fn pair(change: Change, columns: &[Shared], name: &[Shared], before: &Row, after: &Row) -> Sample {
    let name: Vec<String> =
        name.iter().map(|it| format!("{}={}", it.name, shown(after.field(it.other)))).collect();
    let changes: Vec<String> = columns
        .iter()
        .filter(|it| it.role != Role::Ignored && before.field(it.one) != after.field(it.other))
        .map(|it| format!("{}: {} → {}", it.name, shown(before.field(it.one)), shown(after.field(it.other))))
        .collect();
    let text = format!("{}: {}", name.join(", "), changes.join(", "));
    Sample { change, row: shortened(&text, LONGEST) }
}

/// Some of every kind, as many as are kept: first one of each, then another of each, and so on.
pub(super) fn varied(kinds: Vec<Vec<Sample>>) -> Vec<Sample> {
    let mut kinds: Vec<_> = kinds.into_iter().map(IntoIterator::into_iter).collect();
    let mut samples = Vec::new();
    while samples.len() < MOST {
        let round: Vec<Sample> = kinds.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            break;
        }
        samples.extend(round);
    }
    samples.truncate(MOST);
    samples.sort_by_key(|sample| sample.change as u8);
    samples
}

/// A field for people: escapes taken away, what can't be seen or would turn the line round made visible.
fn shown(field: &[u8]) -> String {
    if field == row::NULL {
        return "NULL".to_owned();
    }
    if field.is_empty() {
        return "''".to_owned();
    }
    // Four bytes a character at most: what is longer is cut anyway.
    let part = &field[..field.len().min(LONGEST_VALUE * 8)];
    let mut text = String::new();
    let mut rest = String::from_utf8_lossy(part).into_owned();
    if part.len() < field.len() {
        rest.push('…');
    }
    let mut characters = rest.chars();
    while let Some(character) = characters.next() {
        match character {
            // A backslash of the value was doubled; \n and the like are shown as they are.
            '\\' => match characters.next() {
                Some('\\') | None => text.push('\\'),
                Some(letter) => text.extend(['\\', letter]),
            },
            _ if is_invisible(character) => text.extend(character.escape_default()),
            _ => text.push(character),
        }
    }
    shortened(&text, LONGEST_VALUE)
}

fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some(_) => text.chars().take(longest - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_shown_on_one_line() {
        assert_eq!(shown(b"\\N"), "NULL");
        assert_eq!(shown(b"\\\\N"), "\\N");
        assert_eq!(shown(b""), "''");
        assert_eq!(shown(b"a\\tb\\nc\\\\d"), "a\\tb\\nc\\d");
        assert_eq!(shown(b"\x1b[31m"), "\\u{1b}[31m");
        assert_eq!(shown("a\u{202e}b".as_bytes()), "a\\u{202e}b");
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let cut = shown("é".repeat(2000).as_bytes());
        assert_eq!(cut.chars().count(), LONGEST_VALUE);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn every_kind_has_a_sample() {
        let many = |change| vec![Sample { change, row: String::new() }; 20];
        let samples =
            varied(vec![many(Change::Added), many(Change::Changed), vec![], many(Change::Restamped)]);
        assert_eq!(samples.len(), MOST);
        for change in [Change::Added, Change::Changed, Change::Restamped] {
            assert!(samples.iter().filter(|it| it.change == change).count() >= 3);
        }
    }
}
