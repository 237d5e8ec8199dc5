//! Other people's text, made fit for a terminal: a file name or a record may hold escape sequences.

use std::borrow::Cow;

/// One line: every control character is escaped.
pub(crate) fn line(given: &str) -> Cow<'_, str> {
    escaped(given, |_| false)
}

/// Several lines: control characters are escaped, line ends and tabs stay.
pub(crate) fn text(given: &str) -> Cow<'_, str> {
    escaped(given, |character| matches!(character, '\n' | '\t'))
}

/// The end of a long name, which tells more than its beginning: at most `most` characters.
pub(crate) fn tail(name: &str, most: usize) -> Cow<'_, str> {
    let long = name.chars().count();
    if long <= most {
        return name.into();
    }
    let end: String = name.chars().skip(long + 1 - most).collect();
    format!("…{end}").into()
}

fn escaped(given: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_unfit = |character: char| (character.is_control() || is_turning(character)) && !stays(character);
    if !given.contains(is_unfit) {
        return given.into();
    }
    let mut out = String::with_capacity(given.len() + 8);
    for character in given.chars() {
        if is_unfit(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out.into()
}

/// Characters that turn the direction of what follows them.
fn is_turning(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(line("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(text("a\u{1b}b\nc"), "a\\u{1b}b\nc");
        assert_eq!(line("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(tail("days/2013-03-01.ndjson", 12), "…3-01.ndjson");
        assert_eq!(tail("short", 12), "short");
        assert!(matches!(line("Zürich 東京"), Cow::Borrowed(_)));
    }
}
