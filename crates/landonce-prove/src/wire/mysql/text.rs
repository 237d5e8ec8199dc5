//! A statement of MySQL's made into one that `sql.rs` reads: its strings, quoted names and comments follow other rules.

use super::super::sql::{self, Facts};

/// What a statement is.
pub(super) fn facts(text: &[u8]) -> Facts {
    sql::facts(&plain(text))
}

/// Whether a statement commits what came before it even if it fails itself: whatever defines things, but temporary tables.
pub(super) fn commits_first(text: &[u8]) -> bool {
    let plain = plain(text).to_ascii_lowercase();
    let mut words = plain.split(|byte| !byte.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    match words.next() {
        Some(b"create" | b"drop") => !words.take(3).any(|word| word == b"temporary"),
        Some(b"alter" | b"truncate" | b"grant" | b"revoke") => true,
        _ => false,
    }
}

/// Strings and quoted names become `''`, comments a blank, but for those that MySQL executes. A verb that only MySQL has
/// becomes one that does the same to the transaction.
fn plain(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut is_verb = true;
    while let Some((&first, behind)) = rest.split_first() {
        rest = match first {
            b'\'' | b'"' | b'`' => {
                plain.extend(b"''");
                past_string(rest, first)
            }
            b'#' => past(rest, b"\n"),
            b'-' if rest.starts_with(b"--") && rest.get(2).is_none_or(u8::is_ascii_whitespace) => {
                past(rest, b"\n")
            }
            b'/' if rest.starts_with(b"/*!") || rest.starts_with(b"/*M!") => {
                plain.push(b' ');
                let start = if rest[2] == b'M' { 4 } else { 3 };
                let digits = rest[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                &rest[start + digits..]
            }
            b'/' if rest.starts_with(b"/*") => {
                plain.push(b' ');
                past(&rest[2..], b"*/")
            }
            b'*' if rest.starts_with(b"*/") => &rest[2..],
            _ if is_verb && first.is_ascii_alphabetic() => {
                let end = rest.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(rest.len());
                is_verb = false;
                plain.extend(verb(&rest[..end]));
                &rest[end..]
            }
            _ => {
                is_verb |= first == b';';
                plain.push(first);
                behind
            }
        };
    }
    plain
}

fn verb(word: &[u8]) -> &[u8] {
    match word.to_ascii_lowercase().as_slice() {
        b"replace" | b"load" => b"insert",
        b"rename" | b"optimize" => b"alter",
        _ => word,
    }
}

fn past<'a>(text: &'a [u8], end: &[u8]) -> &'a [u8] {
    let at = text.windows(end.len()).position(|window| window == end);
    at.map_or(&[], |at| &text[at + end.len()..])
}

/// A doubled quote opens the next string at once, which comes to the same.
fn past_string(text: &[u8], quote: u8) -> &[u8] {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if byte == quote {
            break;
        }
        at += usize::from(byte == b'\\' && quote != b'`');
    }
    text.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::super::Kind;
    use super::*;

    #[test]
    fn definitions_commit_what_came_before_them() {
        for (text, commits) in [
            ("CREATE TABLE t (a int)", true),
            ("/* now */ rename table t to u", true),
            ("TRUNCATE t", true),
            ("create or replace temporary table t (a int)", false),
            ("DROP TEMPORARY TABLE t", false),
            ("INSERT INTO t VALUES ('create')", false),
        ] {
            assert_eq!(commits_first(text.as_bytes()), commits, "{text}");
        }
    }

    #[test]
    fn statements_are_known_by_the_rules_of_mysql() {
        for (text, kind) in [
            ("REPLACE INTO t VALUES (1)", Kind::Write),
            ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", Kind::Write),
            ("# commit\nSELECT 'it\\'s; COMMIT;'", Kind::Read),
            ("/* COMMIT */ select `commit; commit` from t -- x", Kind::Read),
            ("/*!40000 ALTER TABLE t DISABLE KEYS */", Kind::Write),
            ("START TRANSACTION", Kind::Begin),
            ("SET autocommit = 0", Kind::Other),
            ("commit", Kind::Commit),
        ] {
            assert_eq!(facts(text.as_bytes()).kind, kind, "{text}");
        }
    }
}
