//! Words and comments of a YAML file: quoted where YAML needs it, and never able to break out of their line.

use landonce_core::bad_record::shorten;

/// The width of comments.
const WIDTH: usize = 110;

/// A string as a YAML scalar: as it is where that is unmistakable, else in double quotes.
pub(super) fn scalar(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'));
    // The words that YAML 1.1 or 1.2 takes for something else than text.
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    if is_word && !reserved.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if is_hidden(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What a YAML reader may refuse or take for a line end. All of these have four hex digits.
fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Several as a flow sequence.
pub(super) fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let all: Vec<String> = texts.into_iter().map(scalar).collect();
    format!("[{}]", all.join(", "))
}

/// A name in a sentence.
pub(super) fn shown(name: &str) -> String {
    let is_plain =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if is_plain && name.chars().count() <= 60 { name.to_owned() } else { format!("`{}`", shorten(name)) }
}

/// A comment, in as many lines as it takes.
pub(super) fn comment(text: &str, out: &mut String) {
    let mut line = String::from("#");
    for word in text.split(' ') {
        let is_full = line.chars().count() + 1 + word.chars().count() > WIDTH;
        if is_full && line.len() > 1 {
            out.push_str(&line);
            out.push('\n');
            line.truncate(1);
        }
        line.push(' ');
        line.extend(word.chars().map(|c| if is_hidden(c) { ' ' } else { c }));
    }
    out.push_str(&line);
    out.push('\n');
}

/// A number with its thousands apart.
pub(super) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        let yaml = format!("pipeline: {}\nidentity: {}\ntarget: {{table: t}}\n", scalar(text), list([text]));
        let spec = landonce_core::spec::Spec::parse(&yaml).unwrap();
        let landonce_core::spec::IdentitySpec::List(fields) = &spec.identity else { panic!("a list") };
        assert_eq!(fields[0], spec.pipeline);
        spec.pipeline
    }

    #[test]
    fn words_that_mean_something_else_are_quoted() {
        for (text, want) in [
            ("flight_id", "flight_id"),
            ("schedule/2013-03-03.ndjson.gz", "schedule/2013-03-03.ndjson.gz"),
            ("no", "\"no\""),
            ("Null", "\"Null\""),
            ("2013", "\"2013\""),
            ("a b", "\"a b\""),
            ("a: #b", "\"a: #b\""),
            ("é", "\"é\""),
            ("", "\"\""),
            ("say \"hi\"\\\n", "\"say \\\"hi\\\"\\\\\\n\""),
        ] {
            assert_eq!(scalar(text), want);
            assert_eq!(read(text), text);
        }
    }

    #[test]
    fn a_comment_is_cut_between_words_and_stays_a_comment() {
        let mut out = String::new();
        comment(&format!("{} end\nidentity: [evil]", "word ".repeat(40)), &mut out);
        assert!(out.lines().count() > 1 && out.lines().all(|line| line.starts_with('#')), "{out}");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    proptest! {
        #[test]
        fn any_text_reads_back(text in "\\PC{0,20}|[\\x01-\\x7f\u{85}\u{2028}\u{feff}:#\"'\\\\-]{0,20}") {
            prop_assert_eq!(read(&text), text);
        }
    }
}
