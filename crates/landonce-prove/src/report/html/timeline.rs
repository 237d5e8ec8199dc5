//! The timeline of a trial: a lane for every run, a mark for every fault, and the same in words below.

use maud::{Markup, html};

use super::percent;
use crate::report::words::{line, name, took};
use crate::report::{Moment, Trial};

/// A run's place on the timeline, milliseconds since the trial began.
struct Lane<'a> {
    role: &'a str,
    from: u64,
    to: u64,
}

const LANE: usize = 34;
/// Above the first lane, where the marks of faults have their heads.
const TOP: usize = 20;
/// Text in a picture isn't wrapped: a longer role would widen the page.
const ROLE: usize = 30;

/// The picture, and the list of moments.
pub(super) fn timeline(trial: &Trial) -> Markup {
    let lanes = lanes(trial);
    let moments = trial.timeline.iter().map(|moment| moment.at);
    let end = lanes.iter().map(|lane| lane.to).chain(moments).max().unwrap_or(0).max(1);
    let height = TOP + lanes.len() * LANE;
    html! {
        @if !lanes.is_empty() {
            svg.timeline width="100%" height=(height) role="img" aria-label="timeline of the trial; in words below" {
                @for (at, lane) in lanes.iter().enumerate() {
                    @let y = TOP + at * LANE;
                    text x="0" y=(y + 11) { (name(lane.role, ROLE)) }
                    rect class="track" x="0" y=(y + 16) width="100%" height="12" rx="2" {}
                    rect class="lane" x=(percent(lane.from, end)) y=(y + 16) width=(percent(lane.to - lane.from, end))
                        height="12" rx="2" {}
                }
                @for moment in trial.timeline.iter().filter(|moment| moment.is_fault) {
                    // A percentage can't stand in a path: a nested picture carries the mark to its place.
                    svg.fault x=(percent(moment.at, end)) y="0" overflow="visible" {
                        line x1="0" y1="8" x2="0" y2=(height) {}
                        path d="M0 1 L7 8 L0 15 L-7 8 Z" { title { (line(&moment.what)) } }
                    }
                }
            }
        }
        ol.moments {
            @for moment in &trial.timeline {
                li.fault[moment.is_fault] {
                    span.at { (took(std::time::Duration::from_millis(moment.at))) }
                    span { @if moment.is_fault { b { "◆ fault: " } } (line(&moment.what)) }
                }
            }
        }
    }
}

/// A run begins at the first moment that names it (`repeat begins`); without one, where the run before has ended.
fn lanes(trial: &Trial) -> Vec<Lane<'_>> {
    let mut lanes: Vec<Lane<'_>> = Vec::new();
    for run in &trial.runs {
        let before = lanes.last().map_or(0, |lane| lane.to);
        let from =
            trial.timeline.iter().find(|moment| is_about(moment, &run.role)).map_or(before, |found| found.at);
        let took = u64::try_from(run.ended.took.as_millis()).unwrap_or(u64::MAX);
        lanes.push(Lane { role: &run.role, from, to: from.saturating_add(took.max(1)) });
    }
    lanes
}

fn is_about(moment: &Moment, role: &str) -> bool {
    moment.what.strip_prefix(role).is_some_and(|rest| rest.starts_with([' ', ':', ',']))
}
