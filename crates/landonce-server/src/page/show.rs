//! How values are shown: states by shape and word, times, counts, and other people's text with what can't be seen made visible.

use jiff::{SignedDuration, Timestamp};
use landonce::Outcome;
use maud::{Markup, PreEscaped, html};

/// The most characters of a value that a page carries at all; payloads may be huge.
pub(super) const MOST: usize = 20_000;

/// How good a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// As it should be.
    Good,
    /// Somebody should look.
    Warn,
    /// Something is wrong.
    Bad,
    /// Neither.
    None,
}

impl Tone {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
            Self::None => "none",
        }
    }
}

/// A tone's shape: told apart without its colour.
pub(super) fn shape(tone: Tone) -> Markup {
    let path = match tone {
        Tone::Good => r#"<circle cx="6" cy="6" r="5.5"/>"#,
        Tone::Warn => r#"<path d="M6 0.6 12 11.4H0z"/>"#,
        Tone::Bad => r#"<path d="M2 0h8l2 2v8l-2 2H2l-2-2V2z"/>"#,
        Tone::None => r#"<circle cx="6" cy="6" r="4.4" fill="none" stroke="currentColor" stroke-width="2"/>"#,
    };
    html! {
        svg class={ "shape " (tone.class()) } viewBox="0 0 12 12" fill="currentColor" aria-hidden="true" { (PreEscaped(path)) }
    }
}

/// A state: a shape and a word.
pub(super) fn state(tone: Tone, word: &str) -> Markup {
    html! { span class={ "state " (tone.class()) } { (shape(tone)) span { (word) } } }
}

/// A count, in groups of three.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and what is counted.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// An instant that a store has told, in UTC, to the second.
pub(super) fn time(rfc3339: &str) -> Markup {
    html! {
        @if let Ok(at) = rfc3339.parse::<Timestamp>() {
            time class="nowrap" datetime=(rfc3339) { (at.strftime("%Y-%m-%d %H:%M:%S")) }
        } @else {
            (text(rfc3339))
        }
    }
}

/// The same, with how long ago that was.
pub(super) fn time_and_ago(rfc3339: &str) -> Markup {
    let ago = rfc3339.parse::<Timestamp>().ok().map(|at| Timestamp::now().duration_since(at));
    html! {
        (time(rfc3339)) @if let Some(ago) = ago { " " span class="soft nowrap" { "UTC, " (since(ago)) } }
    }
}

/// How long ago, in one unit.
pub(super) fn since(ago: SignedDuration) -> String {
    if ago.as_secs() < 1 { "just now".to_owned() } else { format!("{} ago", lasting(ago.unsigned_abs())) }
}

/// How long, in one unit.
pub(super) fn lasting(duration: std::time::Duration) -> String {
    let seconds = duration.as_secs();
    let (number, unit) = match seconds {
        0..60 => (seconds, "s"),
        60..3600 => (seconds / 60, "min"),
        3600..172_800 => (seconds / 3600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{number} {unit}")
}

/// Other people's text: characters that can't be seen, or turn what follows them, are shown as what they are.
pub(super) fn text(given: &str) -> Markup {
    if !given.contains(is_unseen) {
        return html! { (given) };
    }
    let mut out = String::with_capacity(given.len() + 32);
    let mut plain = String::new();
    for character in given.chars() {
        if is_unseen(character) {
            maud::Render::render_to(&plain, &mut out);
            plain.clear();
            out.push_str(&format!(r#"<span class="ctl">{}</span>"#, name_of(character)));
        } else {
            plain.push(character);
        }
    }
    maud::Render::render_to(&plain, &mut out);
    PreEscaped(out)
}

fn is_unseen(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t'))
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A control's picture, or its number.
fn name_of(character: char) -> String {
    match u32::from(character) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).map(String::from).unwrap_or_default(),
        0x7f => "\u{2421}".to_owned(),
        code => format!("U+{code:04X}"),
    }
}

/// A text of one line or so: what is longer than `most` characters is folded up, with the whole inside.
pub(super) fn long(given: &str, most: usize) -> Markup {
    let total = given.chars().count();
    if total <= most && !given.contains('\n') {
        return text(given);
    }
    let first: String = given.chars().take_while(|character| *character != '\n').take(most).collect();
    html! {
        details {
            summary { (text(&first)) "… " span class="soft nowrap" { "(" (counted(total as u64, "character", "characters")) ")" } }
            pre tabindex="0" { (text(&cut(given))) }
        }
    }
}

/// A text that may be huge, up to [`MOST`] characters of it, and how much more there is.
pub(super) fn cut(given: &str) -> String {
    let mut rest = given.chars();
    let mut out: String = rest.by_ref().take(MOST).collect();
    let left = rest.count();
    if left > 0 {
        out.push_str(&format!("\n… {} more characters", count(left as u64)));
    }
    out
}

/// The end of a long name, which tells more than its beginning; the whole stands on the page that it leads to.
pub(super) fn tail(name: &str, most: usize) -> Markup {
    let total = name.chars().count();
    if total <= most {
        return text(name);
    }
    let end: String = name.chars().skip(total + 1 - most).collect();
    html! { "…" (text(&end)) }
}

/// What a message is about: the names and values of a flat object, as words; anything else as it is.
pub(super) fn entity(json: &str) -> Markup {
    let Ok(serde_json::Value::Object(members)) = serde_json::from_str(json) else { return long(json, 60) };
    let is_flat = members.len() <= 4 && members.values().all(|value| !value.is_object() && !value.is_array());
    if !is_flat || members.is_empty() {
        return long(json, 60);
    }
    html! {
        @for (name, value) in &members {
            span class="pair" { span class="soft" { (tail(name, 40)) } " " @match value.as_str() { Some(plain) => (tail(plain, 60)), None => (tail(&value.to_string(), 60)) } " " }
        }
    }
}

/// A value of a row, which is told as JSON: a text without its quotes, NULL as what it is.
pub(super) fn cell(json: &str, most: usize) -> Markup {
    match serde_json::from_str::<&str>(json) {
        _ if json == "null" => html! { span class="soft" { "NULL" } },
        Ok(plain) => long(plain, most),
        Err(_) => match serde_json::from_str::<String>(json) {
            Ok(escaped) => long(&escaped, most),
            Err(_) => long(json, most),
        },
    }
}

/// An id: its beginning, with the whole for those who need it.
pub(super) fn id(whole: &str) -> Markup {
    html! { span class="id" { (text(whole)) } }
}

/// A batch's counts as the sum that they are. What is zero is left out.
pub(super) fn sum(outcome: &Outcome) -> Markup {
    let parts: Vec<(u64, &str)> = parts(outcome).into_iter().filter(|(number, _)| *number > 0).collect();
    let beside = beside(outcome);
    html! {
        span class="sum" {
            span { b { (count(outcome.read)) } " read" }
            @for (at, (number, word)) in parts.iter().enumerate() {
                span { @if at == 0 { "= " } @else { "+ " } b { (count(*number)) } " " (word) }
            }
            @for (number, word) in &beside {
                span class="soft" { "· " (count(*number)) " " (word) }
            }
        }
    }
}

/// The counts that add up to what was read.
pub(super) fn parts(outcome: &Outcome) -> [(u64, &'static str); 8] {
    [
        (outcome.inserted, "inserted"),
        (outcome.updated, "updated"),
        (outcome.unchanged, "unchanged"),
        (outcome.stale, "stale"),
        (outcome.conflicts, "in conflict"),
        (outcome.duplicates, "duplicates in the batch"),
        (outcome.quarantined, "quarantined"),
        (outcome.deleted, "deleted"),
    ]
}

/// What a table with a column each for the commonest counts has left: with it, a row of the table tells all that a batch did.
pub(super) fn other(outcome: &Outcome) -> Vec<(u64, &'static str)> {
    [(outcome.stale, "stale"), (outcome.duplicates, "duplicates in the batch"), (outcome.deleted, "deleted")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .chain(beside(outcome))
        .collect()
}

/// The counts beside the sum, where there are any.
pub(super) fn beside(outcome: &Outcome) -> Vec<(u64, &'static str)> {
    [(outcome.removed, "removed"), (outcome.retired, "retired"), (outcome.restored, "restored")]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown_and_what_is_markup_stays_text() {
        assert_eq!(
            text("a\u{1b}[2J\u{202e}<b>").into_string(),
            r#"a<span class="ctl">␛</span>[2J<span class="ctl">U+202E</span>&lt;b&gt;"#
        );
        assert_eq!(text("Zürich\n東京 &").into_string(), "Zürich\n東京 &amp;");
    }

    #[test]
    fn a_huge_text_is_cut_and_the_rest_counted() {
        let shown = cut(&"x".repeat(MOST + 1234));
        assert!(shown.ends_with("… 1,234 more characters") && shown.len() < MOST + 100, "{}", shown.len());
        assert!(long(&"y".repeat(300), 40).into_string().contains("(300 characters)"));
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn what_has_no_column_is_told_with_the_others() {
        // Each count once, as a power of two: the sum tells which are in it.
        let mut outcome = Outcome { read: 255, inserted: 1, updated: 2, unchanged: 4, ..Outcome::default() };
        outcome =
            Outcome { stale: 8, conflicts: 16, duplicates: 32, quarantined: 64, deleted: 128, ..outcome };
        let shown: u64 = other(&outcome).iter().map(|(number, _)| number).sum();
        let columns =
            outcome.inserted + outcome.updated + outcome.unchanged + outcome.quarantined + outcome.conflicts;
        assert_eq!(columns + shown, outcome.read);
        assert_eq!(columns + shown, parts(&outcome).iter().map(|(number, _)| number).sum::<u64>());
        let retired = Outcome { removed: 1, retired: 2, restored: 3, ..Outcome::default() };
        assert_eq!(other(&retired), [(1, "removed"), (2, "retired"), (3, "restored")]);
    }

    #[test]
    fn a_shown_sum_adds_up() {
        let outcome = Outcome { read: 3, inserted: 1, unchanged: 2, retired: 4, ..Outcome::default() };
        let shown = sum(&outcome).into_string().replace("<b>", "").replace("</b>", "");
        assert!(shown.contains("= 1 inserted") && shown.contains("+ 2 unchanged"), "{shown}");
        assert!(shown.contains("· 4 retired") && !shown.contains("updated"), "{shown}");
    }
}
