//! The drawn calendar: days as months of weeks, each a table; hours, weeks and months as lists under a heading.

use jiff::civil::Weekday;
use landonce_core::period::Every;
use maud::{Markup, html};

use super::date;
use super::state::{Counts, Known, Standing};
use crate::page::link;
use crate::page::show::{count, shape};

const WEEK: [(&str, &str); 7] = [
    ("Mo", "Monday"),
    ("Tu", "Tuesday"),
    ("We", "Wednesday"),
    ("Th", "Thursday"),
    ("Fr", "Friday"),
    ("Sa", "Saturday"),
    ("Su", "Sunday"),
];

/// Periods, drawn.
pub(super) fn drawn(every: Every, pipeline: &str, shown: &[Known]) -> Markup {
    let most = shown.iter().filter_map(Known::rows).max().unwrap_or_default();
    let cell = |one: &Known, word: String| cell(pipeline, one, &word, most);
    match every {
        Every::Day => html! {
            div class="months" {
                @for month in shown.chunk_by(|a, b| (date(&a.period).year(), date(&a.period).month()) == (date(&b.period).year(), date(&b.period).month())) { (days(month, &cell)) }
            }
        },
        Every::Hour => groups(
            "hour",
            shown,
            |one| date(&one.period).strftime("%A, %Y-%m-%d").to_string(),
            // The label is `2026-03-01T14+01:00`.
            |one| one.period.label().get(11..13).unwrap_or_default().to_owned(),
            &cell,
        ),
        Every::Week => groups(
            "week",
            shown,
            |one| one.period.label().get(..4).unwrap_or_default().to_owned(),
            |one| one.period.label().get(5..).unwrap_or_default().to_owned(),
            &cell,
        ),
        Every::Month => groups(
            "month-of-year",
            shown,
            |one| date(&one.period).year().to_string(),
            |one| date(&one.period).strftime("%b").to_string(),
            &cell,
        ),
    }
}

/// A month of days.
fn days(month: &[Known], cell: &dyn Fn(&Known, String) -> Markup) -> Markup {
    let Some(first) = month.first() else { return html! {} };
    let counts = Counts::of(month);
    let weeks = month.chunk_by(|_, next| date(&next.period).weekday() != Weekday::Monday);
    html! {
        div class="sheet month" {
            table {
                caption { span { span { (date(&first.period).strftime("%B %Y").to_string()) } span class="soft small" { (told(counts)) } } }
                thead { tr { @for (short, long) in WEEK { th scope="col" { span aria-hidden="true" { (short) } span class="unseen" { (long) } } } } }
                tbody {
                    @for week in weeks {
                        @let before = week.first().map_or(0, |one| date(&one.period).weekday().to_monday_zero_offset() as usize);
                        tr {
                            @for _ in 0..before { td {} }
                            @for one in week { td { (cell(one, date(&one.period).day().to_string())) } }
                            @for _ in (before + week.len())..7 { td {} }
                        }
                    }
                }
            }
        }
    }
}

/// Periods that aren't days, in groups with a heading.
fn groups(
    class: &str,
    shown: &[Known],
    heading: impl Fn(&Known) -> String,
    word: impl Fn(&Known) -> String,
    cell: &dyn Fn(&Known, String) -> Markup,
) -> Markup {
    let groups: Vec<&[Known]> = shown.chunk_by(|a, b| heading(a) == heading(b)).collect();
    html! {
        div class="sheet pad stack" {
            @for group in groups.iter().rev() {
                @if let Some(first) = group.first() {
                    div class="stack-tight" {
                        h3 { (heading(first)) " " span class="soft small" { (told(Counts::of(group))) } }
                        ol class={ "heat " (class) } { @for one in *group { li { (cell(one, word(one))) } } }
                    }
                }
            }
        }
    }
}

/// What of these isn't complete.
fn told(counts: Counts) -> String {
    let parts: Vec<String> = [Standing::Partial, Standing::Failed, Standing::Missing]
        .into_iter()
        .filter(|standing| counts.of_standing(*standing) > 0)
        .map(|standing| format!("{} {}", count(counts.of_standing(standing)), standing.word()))
        .collect();
    parts.join(", ")
}

/// One period: a link to the batch that loaded it, if any has.
fn cell(pipeline: &str, one: &Known, word: &str, most: u64) -> Markup {
    let standing = one.standing();
    // Beside what is loaded, not in its place.
    let has_failed_since = one.has_failed() && standing != Standing::Failed;
    let class = match standing {
        Standing::Complete => format!("cell h{}", level(one.rows().unwrap_or_default(), most)),
        Standing::Later => "cell later".to_owned(),
        other => format!("cell {}", other.word()),
    };
    let rows = one.rows().map(|rows| format!(", {} rows", count(rows))).unwrap_or_default();
    let failed = if has_failed_since { ", the last attempt failed" } else { "" };
    let said = format!("{}: {}{rows}{failed}", one.period.label(), standing.word());
    let inside = html! {
        span aria-hidden="true" { (word) }
        span class="unseen" { (said) }
        @if has_failed_since { (shape(Standing::Failed.tone())) } @else if matches!(standing, Standing::Partial | Standing::Failed) { (shape(standing.tone())) }
    };
    let loaded = one.entry.as_ref().and_then(|entry| entry.loaded.as_ref());
    html! {
        @if let Some(loaded) = loaded {
            a class=(class) href=(link::batch(pipeline, &loaded.batch_id)) title=(said) { (inside) }
        } @else {
            span class=(class) title=(said) { (inside) }
        }
    }
}

/// A quarter of the most, from 1 to 4.
fn level(rows: u64, most: u64) -> u64 {
    (rows * 4).div_ceil(most.max(1)).clamp(1, 4)
}
