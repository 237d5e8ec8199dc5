//! A record's JSON text laid out for reading, a member a line, with the line of a bad field marked. The text is the record's own: only
//! white space outside of its strings differs.

use maud::{Markup, html};

use super::show::{MOST, cut, text};

/// A line of a laid-out text, and the path of what stands there.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    text: String,
    path: String,
}

/// A record, with a field marked. What isn't JSON is shown as it is.
pub(super) fn laid_out(raw: &[u8], marked: &str) -> Markup {
    let given = String::from_utf8_lossy(raw);
    let shown = cut(&given);
    let lines = lines(&given).filter(|_| given.len() <= MOST);
    html! {
        pre tabindex="0" {
            @match lines {
                None => (text(&shown)),
                Some(lines) => @for (at, line) in lines.iter().enumerate() {
                    @if at > 0 { "\n" }
                    @if !marked.is_empty() && line.path == marked { mark { (text(&line.text)) } } @else { (text(&line.text)) }
                }
            }
        }
    }
}

/// The same without marks or markup: what a person edits.
pub(super) fn editable(raw: &[u8]) -> String {
    let given = String::from_utf8_lossy(raw);
    match lines(&given) {
        Some(lines) => lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n"),
        None => given.into_owned(),
    }
}

/// One step of a path: a member's name, or an item's index.
#[derive(Debug, Clone)]
enum Step {
    Member(String),
    Item(usize),
}

fn path(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            Step::Member(name) if out.is_empty() => out.push_str(name),
            Step::Member(name) => {
                out.push('.');
                out.push_str(name);
            }
            Step::Item(at) => out.push_str(&format!("[{at}]")),
        }
    }
    out
}

/// The lines of a JSON object or array; `None` for anything else.
fn lines(given: &str) -> Option<Vec<Line>> {
    serde_json::from_str::<serde::de::IgnoredAny>(given).ok()?;
    let given = given.trim();
    if !given.starts_with(['{', '[']) {
        return None;
    }
    let mut layout = Layout::default();
    let mut rest = given.char_indices();
    while let Some((at, character)) = rest.next() {
        match character {
            '"' => {
                let string = &given[at..at + string_length(&given[at..])];
                while rest.as_str().len() > given.len() - at - string.len() {
                    rest.next();
                }
                layout.string(string);
            }
            '{' | '[' => layout.open(character, rest.as_str()),
            '}' | ']' => layout.close(character),
            ',' => layout.comma(),
            ':' => layout.line.push_str(": "),
            _ if character.is_ascii_whitespace() => {}
            _ => layout.line.push(character),
        }
    }
    layout.end_line();
    Some(layout.lines)
}

/// How long the string is that a text begins with, in bytes, with its quotes.
fn string_length(given: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in given.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    given.len()
}

#[derive(Default)]
struct Layout {
    lines: Vec<Line>,
    line: String,
    line_path: String,
    steps: Vec<Step>,
    /// Of each open object or array: whether it was empty, and so never broke its line.
    empty: Vec<bool>,
    is_name_due: bool,
}

impl Layout {
    fn end_line(&mut self) {
        if !self.line.is_empty() {
            let text = std::mem::take(&mut self.line);
            self.lines.push(Line { text, path: std::mem::take(&mut self.line_path) });
        }
    }

    fn break_line(&mut self) {
        self.end_line();
        self.line = "  ".repeat(self.empty.iter().filter(|is_empty| !**is_empty).count().min(40));
        self.line_path = path(&self.steps);
    }

    fn string(&mut self, string: &str) {
        if self.is_name_due {
            self.is_name_due = false;
            let name = serde_json::from_str(string).unwrap_or_default();
            if let Some(step) = self.steps.last_mut() {
                *step = Step::Member(name);
            }
            self.line_path = path(&self.steps);
        }
        self.line.push_str(string);
    }

    fn open(&mut self, character: char, rest: &str) {
        let is_empty = rest.trim_start().starts_with(['}', ']']);
        self.line.push(character);
        self.empty.push(is_empty);
        let is_object = character == '{';
        self.steps.push(if is_object { Step::Member(String::new()) } else { Step::Item(0) });
        self.is_name_due = is_object;
        if !is_empty {
            self.break_line();
        }
    }

    fn close(&mut self, character: char) {
        self.steps.pop();
        self.is_name_due = false;
        if self.empty.pop() == Some(false) {
            self.break_line();
            // A closing bracket is nobody's line.
            self.line_path = String::new();
        }
        self.line.push(character);
    }

    fn comma(&mut self) {
        self.line.push(',');
        match self.steps.last_mut() {
            Some(Step::Item(at)) => *at += 1,
            Some(Step::Member(_)) => self.is_name_due = true,
            None => {}
        }
        self.break_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(given: &str) -> Vec<(String, String)> {
        lines(given).unwrap().into_iter().map(|line| (line.text, line.path)).collect()
    }

    #[test]
    fn each_member_has_a_line_and_a_path() {
        let told = shown(r#"{"id":1,"tags":["a,{","b\"]"],"of":{"x":null},"none":{},"few":[]}"#);
        let lines: Vec<&str> = told.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(
            lines,
            [
                "{",
                r#"  "id": 1,"#,
                r#"  "tags": ["#,
                r#"    "a,{","#,
                r#"    "b\"]""#,
                "  ],",
                r#"  "of": {"#,
                r#"    "x": null"#,
                "  },",
                r#"  "none": {},"#,
                r#"  "few": []"#,
                "}"
            ]
        );
        let paths: Vec<&str> = told.iter().map(|(_, path)| path.as_str()).collect();
        assert_eq!(paths[1..6], ["id", "tags", "tags[0]", "tags[1]", ""]);
        assert_eq!(paths[6..8], ["of", "of.x"]);
    }

    #[test]
    fn a_number_keeps_its_digits_and_the_text_its_bytes() {
        let given = r#"{"n":9007199254740993.10,"t":"ü\u00e4 \\"}"#;
        assert_eq!(editable(given.as_bytes()).replace(['\n', ' '], ""), given.replace(' ', ""));
        assert_eq!(editable(b"not json <"), "not json <");
    }

    #[test]
    fn the_bad_field_is_marked_and_no_other() {
        let shown = laid_out(br#"{"a":1,"b":{"a":"<x>"}}"#, "b.a").into_string();
        assert_eq!(shown.matches("<mark>").count(), 1);
        assert!(shown.contains("<mark>    &quot;a&quot;: &quot;&lt;x&gt;&quot;</mark>"), "{shown}");
        assert!(laid_out(b"\xff<", "a").into_string().contains("\u{fffd}&lt;"));
    }
}
