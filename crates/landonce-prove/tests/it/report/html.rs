//! The report as a page.

use std::collections::BTreeSet;

use landonce_prove::report::html::render;
use landonce_prove::report::{Moment, TableCounts};

use super::sample;

/// What stands between these two, each time.
fn between<'a>(page: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    page.split(from).skip(1).map(|rest| rest.split_once(to).unwrap().0).collect()
}

#[test]
fn the_page_needs_nothing_from_outside() {
    for report in [sample::violations(), sample::safe(), sample::unjudged(), sample::hostile()] {
        let page = render(&report);
        for reference in ["<script", "<link", "<img", "<iframe", " src=", "url(", "@import"] {
            assert!(!page.contains(reference), "{reference}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn every_link_leads_to_one_place_on_the_page() {
    let mut report = sample::violations();
    let again = report.scenarios[0].findings[0].clone();
    report.scenarios[0].findings.push(again);
    let page = render(&report);
    let ids = between(&page, " id=\"", "\"");
    let distinct: BTreeSet<_> = ids.iter().collect();
    assert_eq!(ids.len(), distinct.len(), "{ids:?}");
    let links = between(&page, "href=\"", "\"");
    assert_eq!(links.len(), 3);
    for link in links {
        assert!(ids.contains(&link.strip_prefix('#').unwrap()), "{link}");
    }
}

#[test]
fn a_strangers_text_stays_text() {
    let page = render(&sample::hostile());
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!page.contains("alert(1)</script>"));
    assert!(page.chars().all(|character| matches!(character, '\n' | '\t') || !character.is_control()));
}

#[test]
fn a_table_that_doubled_is_drawn_twice_as_long_and_told_in_figures() {
    let page = render(&sample::violations());
    let figures = between(&page, "<figure>", "</figure>");
    assert_eq!(figures.len(), 3);
    let widths = between(figures[0], "width=\"", "\"");
    assert!(figures[0].contains("public.orders"));
    assert!(figures[0].contains(">1,000</span>") && figures[0].contains(">2,000 (+1,000)</span>"));
    assert!(widths.contains(&"50.0%") && widths.contains(&"100.0%"), "{widths:?}");
}

#[test]
fn tables_that_a_repeat_has_touched_come_first_when_there_are_too_many() {
    let mut report = sample::safe();
    report.tables = (0..40)
        .map(|at| TableCounts {
            table: format!("t{at}"),
            before: 0,
            after_one: 5,
            after_two: 5,
            rewritten: u64::from(at == 39),
        })
        .collect();
    let page = render(&report);
    let figures = between(&page, "<figure>", "</figure>");
    assert_eq!(figures.len(), 30);
    assert!(figures[0].contains("t39"), "{}", figures[0]);
    assert!(page.contains("10 more tables"));
}

#[test]
fn every_fault_is_marked_where_it_came_and_told_in_words() {
    let mut report = sample::violations();
    report.scenarios.truncate(2);
    report.scenarios.remove(0);
    report.scenarios[0].trials.truncate(1);
    let trial = &mut report.scenarios[0].trials[0];
    trial.timeline.push(Moment { at: 395, what: "cut before write 2".to_owned(), is_fault: true });
    let page = render(&report);
    let marks = between(&page, "<svg class=\"fault\" x=\"", "\"");
    // The trial ends at 790 ms: where its clean re-run ends, which begins at 150 ms and takes 640 ms.
    assert_eq!(marks, ["11.3%", "50.0%"]);
    assert!(page.contains("◆ fault: </b>cut before write 2"));
    let lanes = between(&page, "<rect class=\"lane\" x=\"", "\"");
    assert_eq!(lanes, ["0.0%", "18.9%"]);
}

#[test]
fn what_could_not_be_judged_is_never_called_safe() {
    let page = render(&sample::unjudged());
    assert!(page.contains("<h1>could not judge: the command wrote nothing"));
    assert!(!page.contains("safe to retry") && !page.contains("✓"));
}

#[test]
fn the_ends_of_a_commands_output_are_kept() {
    let page = render(&sample::violations());
    assert!(page.contains("<pre>loaded 1000 orders</pre>"));
    assert!(page.contains("<pre>opening day.ndjson</pre>"));
}
