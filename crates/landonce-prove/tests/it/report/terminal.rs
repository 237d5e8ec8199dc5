//! The report for a terminal.

use landonce_prove::Verdict;
use landonce_prove::report::terminal::{Paint, render};

use super::sample;

#[test]
fn a_pipeline_with_violations_is_told_in_full() {
    insta::assert_snapshot!(render(&sample::violations(), Paint::Plain));
}

#[test]
fn a_safe_pipeline_is_told_in_few_lines() {
    insta::assert_snapshot!(render(&sample::safe(), Paint::Plain));
}

#[test]
fn what_could_not_be_judged_is_never_called_safe() {
    let report = sample::unjudged();
    let text = render(&report, Paint::Plain);
    assert_eq!(report.verdict, Verdict::Unjudged);
    assert!(text.starts_with("could not judge: "), "{text}");
    assert!(!text.contains("safe to retry"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_scenario_that_could_not_be_judged_is_named_beside_safe() {
    let mut report = sample::safe();
    report.scenarios[1].verdict = Verdict::Unjudged;
    let text = render(&report, Paint::Plain);
    let first = text.lines().next().unwrap();
    assert_eq!(first, "safe to retry: no violation in 1 trial of 1 scenario; not judged: killed");
}

#[test]
fn colours_add_nothing_to_the_words() {
    let report = sample::violations();
    let painted = render(&report, Paint::Ansi);
    assert!(painted.contains("\u{1b}[31m"));
    let mut words = String::new();
    let mut parts = painted.split('\u{1b}');
    words.push_str(parts.next().unwrap());
    for part in parts {
        words.push_str(part.split_once('m').unwrap().1);
    }
    assert_eq!(words, render(&report, Paint::Plain));
}

#[test]
fn no_line_is_longer_than_a_hundred_but_the_commands_to_be_copied() {
    for report in [sample::violations(), sample::safe(), sample::unjudged(), sample::hostile()] {
        for line in render(&report, Paint::Plain).lines() {
            let is_command = line.starts_with("    replay    ");
            assert!(is_command || line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn a_strangers_text_can_not_steer_the_terminal() {
    let text = render(&sample::hostile(), Paint::Plain);
    assert!(text.contains("\\u{1b}"), "{text}");
    assert!(text.chars().all(|character| character == '\n' || !character.is_control()), "{text:?}");
}
