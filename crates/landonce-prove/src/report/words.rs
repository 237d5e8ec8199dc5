//! The phrases that every form of the report uses, and other people's text made fit to be shown.

use std::borrow::Cow;
use std::time::Duration;

use super::{Evidence, Finding, Report, Run, ScenarioReport, TableCounts, Verdict};
use crate::class::Weight;
use crate::scenario::Scenario;
use crate::snapshot::Change;

/// The first line: what it comes to.
pub(super) fn headline(report: &Report) -> String {
    match report.verdict {
        Verdict::Safe => {
            let (unjudged, judged): (Vec<_>, Vec<_>) =
                report.scenarios.iter().partition(|one| one.verdict == Verdict::Unjudged);
            let trials = judged.iter().map(|one| one.trials.len() as u64).sum();
            let mut told = format!(
                "safe to retry: no violation in {} of {}{}",
                plural(trials, "trial"),
                plural(judged.len() as u64, "scenario"),
                remarks(report)
            );
            if !unjudged.is_empty() {
                let names: Vec<&str> = unjudged.iter().map(|one| one.scenario.name()).collect();
                told.push_str(&format!("; not judged: {}", names.join(", ")));
            }
            told
        }
        Verdict::Violations => {
            let violations = plural(of_weight(report, Weight::Violation).count() as u64, "violation");
            let names: Vec<&str> = report
                .scenarios
                .iter()
                .filter(|one| one.verdict == Verdict::Violations)
                .map(|one| one.scenario.name())
                .collect();
            format!("not safe to retry: {violations}{}  ({})", remarks(report), names.join(", "))
        }
        Verdict::Unjudged => {
            let because = line(&report.because);
            format!("could not judge: {}", because.strip_prefix("could not judge ").unwrap_or(&because))
        }
    }
}

fn remarks(report: &Report) -> String {
    match of_weight(report, Weight::Remark).count() as u64 {
        0 => String::new(),
        remarks => format!(", {}", plural(remarks, "remark")),
    }
}

/// Those tables first that a repeat has touched: they are what one looks for, and mustn't fall behind a cap.
pub(super) fn touched_first(tables: &[TableCounts]) -> Vec<&TableCounts> {
    let mut tables: Vec<&TableCounts> = tables.iter().collect();
    tables.sort_by_key(|table| table.after_one == table.after_two && table.rewritten == 0);
    tables
}

/// Every finding of this weight, with its scenario, in order.
pub(super) fn of_weight(
    report: &Report,
    weight: Weight,
) -> impl Iterator<Item = (&ScenarioReport, &Finding)> {
    report
        .scenarios
        .iter()
        .flat_map(|scenario| scenario.findings.iter().map(move |finding| (scenario, finding)))
        .filter(move |(_, finding)| finding.weight == weight)
}

/// The names of what a scenario has found, each once.
pub(super) fn classes(scenario: &ScenarioReport) -> Vec<&'static str> {
    let mut names = Vec::new();
    for finding in &scenario.findings {
        if !names.contains(&finding.class.name()) {
            names.push(finding.class.name());
        }
    }
    names
}

/// A verdict as it stands in a table.
pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Safe => "safe",
        Verdict::Violations => "violations",
        Verdict::Unjudged => "not judged",
    }
}

/// What a scenario does.
pub(super) fn does(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Twice => "run again on the same input",
        Scenario::AckLost => "the answer to COMMIT was lost",
        Scenario::Killed => "ended by SIGKILL at a write, then run again",
        Scenario::Together => "two runs at once",
        Scenario::Refused => "the server refused a statement once",
        Scenario::Truncated => "the input was cut short",
        Scenario::Late => "run again at another time, in another zone",
        Scenario::Notified => "calls to the outside",
    }
}

/// What the exit code says.
pub(super) fn exit_meaning(report: &Report) -> String {
    let meaning = match report.verdict {
        Verdict::Safe => "safe: no violation was seen",
        Verdict::Violations => "violations were found",
        Verdict::Unjudged => "could not judge, which is not \"safe\"",
    };
    format!("exit code {}: {meaning}", report.exit_code())
}

/// What an evidence's figures say: `1,000 rows expected, 2,000 found; 1,000 added`.
pub(super) fn figures(evidence: &Evidence) -> String {
    let mut out = if evidence.expected == evidence.found {
        format!("{}, as many as expected", plural(evidence.found, "row"))
    } else {
        format!("{} expected, {} found", plural(evidence.expected, "row"), count(evidence.found))
    };
    let parts: Vec<String> = [
        ("added", evidence.added),
        ("missing", evidence.removed),
        ("changed", evidence.changed),
        ("rewritten", evidence.rewritten),
    ]
    .into_iter()
    .filter(|(_, rows)| *rows > 0)
    .map(|(name, rows)| format!("{} {name}", count(rows)))
    .collect();
    if !parts.is_empty() {
        out.push_str(&format!("; {}", parts.join(", ")));
    }
    if !evidence.columns.is_empty() {
        out.push_str(&format!("; they differ in {}", line(&evidence.columns.join(", "))));
    }
    out
}

/// The sign for what became of a row, and a word where the sign doesn't say it all.
pub(super) fn change(change: Change) -> (char, &'static str) {
    match change {
        Change::Added => ('+', ""),
        Change::Doubled => ('+', "a copy"),
        Change::Removed => ('-', ""),
        Change::Changed => ('~', ""),
        Change::Restamped => ('~', "only the stamp"),
    }
}

/// How a run ended: `first: exit 0 after 1.20 s, 7 writes`.
pub(super) fn run(run: &Run) -> String {
    let ended = &run.ended;
    let how = match (ended.is_timed_out, ended.signal, ended.code) {
        (true, _, _) => "stopped, its time was up".to_owned(),
        (false, Some(signal), _) => format!("ended by signal {signal}"),
        (false, None, Some(code)) => format!("exit {code}"),
        (false, None, None) => "ended".to_owned(),
    };
    let writes = run.writes.map_or_else(String::new, |writes| format!(", {}", plural(writes, "write")));
    format!("{}: {how} after {}{writes}", line(&run.role), took(ended.took))
}

/// A number with its noun: `1 row`, `2,000 rows`.
pub(super) fn plural(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A number with a comma at every thousand.
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

/// A duration as people read it.
pub(super) fn took(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds, duration.as_millis()) {
        (0, ms) => format!("{ms} ms"),
        (1..60, _) => format!("{:.2} s", duration.as_secs_f64()),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

/// How long a report's proof took; a figure that isn't one is none.
pub(super) fn seconds(figure: f64) -> Duration {
    Duration::try_from_secs_f64(figure).unwrap_or_default()
}

/// One line: every control character is escaped.
pub(super) fn line(given: &str) -> Cow<'_, str> {
    escaped(given, |_| false)
}

/// Several lines: control characters are escaped, line ends and tabs stay.
pub(super) fn text(given: &str) -> Cow<'_, str> {
    escaped(given, |character| matches!(character, '\n' | '\t'))
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

/// A name of the database's, or a run's, shortened in its middle: both ends tell it from others.
pub(super) fn name(given: &str, most: usize) -> String {
    let given = line(given);
    let characters: Vec<char> = given.chars().collect();
    if characters.len() <= most {
        return given.into_owned();
    }
    let start: String = characters[..most / 2].iter().collect();
    let end: String = characters[characters.len() + 1 - most.div_ceil(2)..].iter().collect();
    format!("{start}…{end}")
}

/// The text in lines of at most so many characters, broken at spaces, and inside a word only where it is longer than a
/// line. Lines that are there stay, and so does their indentation.
pub(super) fn wrapped(given: &str, width: usize) -> Vec<String> {
    let mut out = Vec::new();
    for given in given.lines() {
        let indent: String =
            given.chars().take_while(|character| *character == ' ').take(width / 2).collect();
        let mut now = indent.clone();
        let mut is_empty = true;
        for word in given.split(' ').filter(|word| !word.is_empty()) {
            let gap = usize::from(!is_empty);
            if !is_empty && now.chars().count() + gap + word.chars().count() > width {
                out.push(std::mem::replace(&mut now, indent.clone()));
                is_empty = true;
            }
            if !is_empty {
                now.push(' ');
            }
            for character in word.chars() {
                if now.chars().count() >= width {
                    out.push(std::mem::replace(&mut now, indent.clone()));
                }
                now.push(character);
            }
            is_empty = false;
        }
        out.push(if is_empty { String::new() } else { now });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_comma_at_every_thousand() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(10_000_000), "10,000,000");
        assert_eq!(plural(1, "row"), "1 row");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_reader() {
        assert_eq!(line("a\u{1b}[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
        assert_eq!(text("a\u{1b}b\nc"), "a\\u{1b}b\nc");
        assert_eq!(line("x\u{202e}y"), "x\\u{202e}y");
    }

    #[test]
    fn text_is_wrapped_at_spaces_and_keeps_its_indentation() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("  SELECT a\n\nb", 80), ["  SELECT a", "", "b"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert!(wrapped(&"ü ".repeat(200), 20).iter().all(|line| line.chars().count() <= 20));
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(name("public.orders", 13), "public.orders");
        assert_eq!(name("public.orders_2026_03", 13), "public…026_03");
        assert_eq!(name("public.orders_2026_03", 13).chars().count(), 13);
    }

    #[test]
    fn durations_are_told_in_the_unit_that_fits() {
        assert_eq!(took(Duration::from_millis(12)), "12 ms");
        assert_eq!(took(Duration::from_millis(1200)), "1.20 s");
        assert_eq!(took(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!(seconds(f64::NAN), Duration::ZERO);
    }
}
