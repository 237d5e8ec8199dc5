//! Single lexemes for the splitter: comments, quotes, blocks, keywords, COPY from a client's file.

use super::super::template::{self, Tag};
use super::super::text::HOLE;

/// The name of a hole as it can stand inside of quotes.
pub(super) fn inner(written: &str, quote: char) -> String {
    written.chars().filter(|c| *c != quote && *c != '\n' && *c != HOLE).collect()
}

/// Where something stands, if that isn't far: what never closes must not be looked for again and again.
pub(super) fn near(rest: &str, what: &str) -> Option<usize> {
    let mut end = rest.len().min(16_384);
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    rest[..end].find(what)
}

/// How long a comment is; they nest in PostgreSQL.
pub(super) fn comment(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                at += 2;
            }
            Some(b"*/") => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

/// How far a template's block reaches that is left out, its end tag included.
pub(super) fn skip_block(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(open) = rest[at..].find("{%") {
        let start = at + open + 2;
        let Some(close) = rest[start..].find("%}") else { return rest.len() };
        let end = start + close + 2;
        match template::tag(&rest[start..start + close]) {
            Tag::Open | Tag::Hidden => depth += 1,
            Tag::Close if depth == 0 => return end,
            Tag::Close => depth -= 1,
            Tag::Otherwise | Tag::Plain => {}
        }
        at = end;
    }
    rest.len()
}

/// END IF, END LOOP and so on close what was never counted.
pub(super) fn is_end_of_other(rest: &str) -> bool {
    let next = rest.trim_start();
    ["IF", "LOOP", "WHILE", "REPEAT", "FOR"].iter().any(|word| {
        next.len() >= word.len()
            && next.is_char_boundary(word.len())
            && next[..word.len()].eq_ignore_ascii_case(word)
    })
}

pub(super) fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "VALUES"
            | "WHERE"
            | "AND"
            | "OR"
            | "NOT"
            | "IN"
            | "SELECT"
            | "SET"
            | "LIMIT"
            | "OFFSET"
            | "BETWEEN"
            | "LIKE"
            | "ILIKE"
            | "THEN"
            | "ELSE"
            | "WHEN"
            | "CASE"
            | "BY"
            | "ON"
            | "RETURNING"
            | "FROM"
            | "INTO"
            | "IS"
            | "AS"
            | "DEFAULT"
    )
}

/// `\copy t from 'file' csv` as the server would take it.
pub(super) fn server_copy(rest: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut is_file = false;
    for word in rest.trim_end_matches(';').split_whitespace() {
        if is_file && !word.starts_with('\'') {
            is_file = false;
            let upper = word.to_ascii_uppercase();
            if matches!(upper.as_str(), "STDIN" | "STDOUT" | "PROGRAM" | "PSTDIN" | "PSTDOUT") {
                words.push(upper.trim_start_matches('P').replace("ROGRAM", "PROGRAM"));
            } else {
                words.push(format!("'{}'", word.replace('\'', "")));
            }
            continue;
        }
        is_file = matches!(word.to_ascii_uppercase().as_str(), "FROM" | "TO");
        words.push(word.to_owned());
    }
    format!("COPY {}", words.join(" "))
}
