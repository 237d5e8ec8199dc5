//! The report for CI systems.

use landonce_prove::report::junit::render;

use super::sample;

#[test]
fn a_violation_fails_the_trials_that_show_it() {
    insta::assert_snapshot!(render(&sample::violations()));
}

#[test]
fn what_could_not_be_judged_is_an_error_and_no_green_suite() {
    let xml = render(&sample::unjudged());
    assert!(xml.contains("errors=\"1\""), "{xml}");
    assert!(xml.contains("<skipped message=\"no write was seen\""), "{xml}");
}

#[test]
fn a_violation_whose_trial_is_not_listed_is_still_a_failure() {
    let mut report = sample::violations();
    for scenario in &mut report.scenarios {
        scenario.trials.clear();
    }
    let xml = render(&report);
    assert!(xml.contains("failures=\"2\""), "{xml}");
}

#[test]
fn no_output_of_a_command_makes_the_xml_invalid() {
    let xml = render(&sample::hostile());
    let is_allowed = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(is_allowed), "{xml:?}");
    assert!(!xml.contains("<script>") && !xml.contains("]]>"), "{xml}");
}
