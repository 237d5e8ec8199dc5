//! `/`: what needs a person first; then how much lands, pipeline by pipeline.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use landonce::ledger;
use landonce::outbox::Depth;
use landonce::reads::{Backlog, BatchFilter, Figure, Span};
use landonce::{Outcome, Pipeline, Settled};
use maud::{Markup, html};

use super::chart::{self, Bar};
use super::lately::Failure;
use super::layout::{Page, Place, command, empty};
use super::reads::{HOUR, failed};
use super::show::{Tone, count, counted, lasting, shape, state, text, time};
use super::visitor::Visitor;
use super::{batches, link, show};
use crate::app::App;
use crate::problem::Problem;

/// How many hours are drawn.
const HOURS: i64 = 48;
/// How many batches are listed.
const LATEST: usize = 8;
/// How many failed deliveries are listed.
const FAILURES: usize = 5;
/// How far back failed periods are looked for, in hours.
const FAILED_WITHIN: i64 = 62 * 24;
/// A message that has waited longer than this is worth a look.
const LONG: std::time::Duration = std::time::Duration::from_mins(10);

/// Everything that the page tells.
struct Seen {
    figures: Vec<Figure>,
    latest: Vec<Settled>,
    backlogs: Vec<Backlog>,
    depths: Vec<Depth>,
    failed: Vec<ledger::Entry>,
    /// Deliveries since the server began that had landed before.
    skipped: u64,
    /// The last deliveries that failed since then.
    failures: Vec<Failure>,
    /// When the server began.
    since: Timestamp,
    /// The hour in which it is looked.
    hour: i64,
}

/// `GET /`
pub(super) async fn page(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let seen = Seen::look(&app, &visitor).await?;
    let waits = seen.waits();
    let said = match waits.len() {
        0 => "Nothing needs you.".to_owned(),
        number => counted(number as u64, "thing needs you", "things need you"),
    };
    let body = html! {
        (needs(&waits, &said))
        // Each part is current by itself: what somebody has opened in one doesn't hold up the others.
        div id="rest" class="stack-wide" data-live[seen.latest.is_empty()] {
            @if seen.latest.is_empty() {
                (first(&app, &visitor))
            } @else {
                (seen.landed()) (seen.failed_deliveries()) (seen.pipelines(&app, &visitor)) (seen.list())
            }
        }
    };
    Ok(Page::new(Place::Overview, "Overview", body).live().shown(&app, &visitor))
}

/// One thing that needs a person.
struct Wait {
    tone: Tone,
    what: String,
    why: String,
    at: String,
    go: &'static str,
}

impl Seen {
    async fn look(app: &App, visitor: &Visitor) -> Result<Self, Problem> {
        let store = app.store();
        let now = Timestamp::now().as_microsecond();
        let hour = now - now.rem_euclid(HOUR);
        let span = Span { from: hour - (HOURS - 1) * HOUR, to: hour + HOUR };
        let filter = BatchFilter::default();
        let most = if visitor.may_read_all() { LATEST } else { LATEST * 8 };
        let mut outbox = store.outbox();
        let (figures, latest, backlogs, depths) = tokio::try_join!(
            store.figures(span),
            store.batches_page(&filter, most),
            store.backlog(),
            outbox.depth()
        )
        .map_err(failed)?;
        let lately = app.figures().lately();
        let mut failures = Vec::new();
        for pipeline in app.pipelines().filter(|one| one.declared().calendar().is_some()) {
            if visitor.may_read(pipeline.name()) {
                let periods = store.periods(pipeline.name(), now - FAILED_WITHIN * HOUR, now + HOUR).await;
                failures.extend(periods.map_err(failed)?.into_iter().filter(|entry| entry.failed.is_some()));
            }
        }
        Ok(Self {
            figures: figures.into_iter().filter(|one| visitor.may_read(&one.pipeline)).collect(),
            latest: latest.into_iter().filter(|one| visitor.may_read(&one.pipeline)).take(LATEST).collect(),
            backlogs: backlogs.into_iter().filter(|one| visitor.may_read(&one.pipeline)).collect(),
            // A topic is no pipeline's own.
            depths: if visitor.may_read_all() { depths } else { Vec::new() },
            failed: failures,
            skipped: lately.skipped(|name| visitor.may_read(name)),
            failures: lately.failures(|name| visitor.may_read(name), FAILURES),
            since: lately.since(),
            hour,
        })
    }

    fn waits(&self) -> Vec<Wait> {
        let mut waits = Vec::new();
        for one in self.backlogs.iter().filter(|one| one.held.count > 0) {
            waits.push(Wait {
                tone: Tone::Warn,
                what: format!(
                    "{} of {}",
                    counted(one.held.count, "held snapshot", "held snapshots"),
                    one.pipeline
                ),
                why: format!(
                    "Incomplete or implausible; the table is as it was{}.",
                    since(one.held.since.as_deref())
                ),
                at: link::query("/held", &[("pipeline", Some(&one.pipeline))]),
                go: "Decide",
            });
        }
        for of_one in self.failed.chunk_by(|a, b| a.pipeline == b.pipeline) {
            let Some(entry) = of_one.last() else { continue };
            let message =
                entry.failed.as_ref().and_then(|failure| failure.message.lines().next()).unwrap_or_default();
            waits.push(Wait {
                tone: Tone::Bad,
                what: format!(
                    "{} of {}",
                    counted(of_one.len() as u64, "failed load", "failed loads"),
                    entry.pipeline
                ),
                why: format!("{}: {message}", entry.label),
                at: link::of("periods", &entry.pipeline),
                go: "See periods",
            });
        }
        for depth in self.depths.iter().filter(|depth| depth.dead > 0) {
            waits.push(Wait {
                tone: Tone::Bad,
                what: format!("{} in {}", counted(depth.dead, "dead letter", "dead letters"), depth.topic),
                why: "Their receiver has never taken them, and nobody tries any more.".to_owned(),
                at: link::query("/outbox", &[("state", Some("dead")), ("topic", Some(&depth.topic))]),
                go: "See messages",
            });
        }
        for depth in &self.depths {
            if let Some((left, why)) = &depth.paused {
                waits.push(Wait {
                    tone: Tone::Warn,
                    what: format!("{} pauses for {} more", depth.topic, lasting(*left)),
                    why: why.clone(),
                    at: "/outbox".to_owned(),
                    go: "See outbox",
                });
            } else if let Some(oldest) = depth.oldest.filter(|oldest| *oldest > LONG) {
                waits.push(Wait {
                    tone: Tone::Warn,
                    what: format!(
                        "{} of {} wait",
                        counted(depth.pending, "message", "messages"),
                        depth.topic
                    ),
                    why: format!("The oldest was enqueued {} ago. Is a worker running?", lasting(oldest)),
                    at: link::query("/outbox", &[("state", Some("pending")), ("topic", Some(&depth.topic))]),
                    go: "See messages",
                });
            }
        }
        for one in self.backlogs.iter().filter(|one| one.quarantined.count > 0) {
            waits.push(Wait {
                tone: Tone::Warn,
                what: format!(
                    "{} of {}",
                    counted(one.quarantined.count, "bad record", "bad records"),
                    one.pipeline
                ),
                why: format!("Kept aside, in no table yet{}.", since(one.quarantined.since.as_deref())),
                at: link::query("/quarantine", &[("pipeline", Some(&one.pipeline))]),
                go: "Mend",
            });
        }
        // Stable: what is wrong comes before what waits.
        waits.sort_by_key(|wait| wait.tone != Tone::Bad);
        waits
    }

    fn bars(&self, of: Option<&str>, hours: i64) -> Vec<Bar> {
        let mut bars: BTreeMap<i64, Bar> = (0..hours)
            .map(|back| self.hour - back * HOUR)
            .map(|hour| (hour, Bar { hour, ..Bar::default() }))
            .collect();
        for figure in self.figures.iter().filter(|one| of.is_none_or(|name| one.pipeline == name)) {
            if let Some(bar) = bars.get_mut(&figure.hour) {
                bar.read += figure.outcome.read;
                bar.changed += changed(&figure.outcome).min(figure.outcome.read);
                bar.batches += figure.batches;
            }
        }
        bars.into_values().collect()
    }

    /// The last day's sums: batches and counts, of a pipeline or of all.
    fn day(&self, of: Option<&str>) -> (u64, Outcome) {
        let (mut batches, mut sum) = (0, Outcome::default());
        for one in self.figures.iter().filter(|one| of.is_none_or(|name| one.pipeline == name)) {
            if one.hour > self.hour - 24 * HOUR {
                batches += one.batches;
                sum += one.outcome;
            }
        }
        (batches, sum)
    }

    fn landed(&self) -> Markup {
        let bars = self.bars(None, HOURS);
        let (batches, sum) = self.day(None);
        let pending: u64 = self.depths.iter().map(|depth| depth.pending).sum();
        let oldest = self.depths.iter().filter_map(|depth| depth.oldest).max();
        let due: u64 = self.backlogs.iter().map(|one| one.due.count).sum();
        html! {
            section id="of-landed" data-live aria-labelledby="landed" {
                div class="lead" {
                    h2 id="landed" { "What landed" }
                    div class="key" {
                        span { svg viewBox="0 0 8 8" aria-hidden="true" { rect class="part" width="8" height="8" {} } "changed a row" }
                        span { svg viewBox="0 0 8 8" aria-hidden="true" { rect class="whole" width="8" height="8" {} } "was there already, stale, or kept aside" }
                    }
                }
                dl class="figures" {
                    div { dt { "Batches, 24 h" } dd { (count(batches)) } }
                    div { dt { "Records, 24 h" } dd { (count(sum.read)) } }
                    div { dt { "Rows changed, 24 h" } dd { (count(changed(&sum))) } }
                    div { dt { "Undelivered" } dd { (count(pending)) } dd class="note" { @match oldest { Some(oldest) => { "the oldest for " (lasting(oldest)) } None => "nothing waits" } } }
                    div { dt { "Redeliveries skipped" } dd { (count(self.skipped)) } dd class="note" { "since " (self.since.strftime("%b %-d, %H:%M")) ", when the server began" } }
                    @if due > 0 { div { dt { "Derived periods due" } dd { (count(due)) } dd class="note" { "computed by the server" } } }
                }
                div class="sheet" {
                    (chart::bars(&bars))
                    details class="under" {
                        summary { "Records in each of the last " (HOURS) " hours, as a table" }
                        (chart::table(&bars))
                    }
                }
            }
        }
    }

    /// A delivery that failed wrote nothing, so only the server's memory has it.
    fn failed_deliveries(&self) -> Markup {
        html! {
            section id="of-failures" data-live aria-labelledby="failures" {
                @if !self.failures.is_empty() {
                    h2 id="failures" { "Deliveries that failed since the server began" }
                    div class="sheet" { table class="cards" {
                        caption class="unseen" { "Failed deliveries, newest first" }
                        thead { tr { th scope="col" { "When (UTC)" } th scope="col" { "Pipeline" } th scope="col" { "Why" } } }
                        tbody { @for one in &self.failures {
                            tr {
                                td data-label="When (UTC)" { (time(&one.at.to_string())) }
                                td data-label="Pipeline" { (text(&one.pipeline)) }
                                td data-label="Why" { (state(Tone::Bad, &one.code)) " " a href={ "/problems/" (one.code) } { "what that means" span class="unseen" { ": " (one.code) } } }
                            }
                        } }
                    } }
                    p class="small soft" { "They wrote nothing; their senders were told why." }
                }
            }
        }
    }

    fn pipelines(&self, app: &App, visitor: &Visitor) -> Markup {
        let shown: Vec<&Pipeline> = app.pipelines().filter(|one| visitor.may_read(one.name())).collect();
        html! {
            section id="of-pipelines" data-live aria-labelledby="pipelines" {
                h2 id="pipelines" { "Pipelines" }
                div class="sheet" {
                    table class="cards" {
                        caption class="unseen" { "Each pipeline, and what it landed in the last 24 hours" }
                        thead { tr {
                            th scope="col" { "Pipeline" } th scope="col" { "Writes" } th scope="col" class="num" { "Batches" } th scope="col" class="num" { "Records" }
                            th scope="col" class="num" { "Inserted" } th scope="col" class="num" { "Updated" } th scope="col" class="num" { "Unchanged" } th scope="col" class="num" { "Kept aside" } th scope="col" { "Other" }
                            th scope="col" { "Last 24 h" }
                        } }
                        tbody { @for pipeline in shown { (self.row(pipeline)) } }
                    }
                }
            }
        }
    }

    fn row(&self, pipeline: &Pipeline) -> Markup {
        let name = pipeline.name();
        let (batches, sum) = self.day(Some(name));
        let declared = pipeline.declared();
        let number = |label: &'static str, number: u64| {
            html! { td class={ "num" @if number == 0 { " zero" } } data-label=(label) { (count(number)) } }
        };
        html! {
            tr {
                th scope="row" { a href=(link::batches(name)) { (text(name)) } }
                td data-label="Writes" { span { (text(&declared.target().table.to_string())) " " span class="soft small nowrap" { (declared.write().mode_name().replace('_', " ")) } } }
                (number("Batches", batches)) (number("Records", sum.read)) (number("Inserted", sum.inserted)) (number("Updated", sum.updated))
                (number("Unchanged", sum.unchanged)) (number("Kept aside", sum.quarantined + sum.conflicts))
                @let other = show::other(&sum);
                td class=[other.is_empty().then_some("idle")] data-label="Other" { span { @for (at, (number, word)) in other.iter().enumerate() { @if at > 0 { ", " } span class="nowrap" { (count(*number)) " " (word) } } } }
                td data-label="Last 24 h" { (chart::spark(&self.bars(Some(name), 24))) }
            }
        }
    }

    fn list(&self) -> Markup {
        html! {
            section id="of-latest" data-live aria-labelledby="latest" {
                div class="lead" { h2 id="latest" { "Latest batches" } a href="/batches" { "All batches" } }
                div class="sheet" { (batches::table("Latest batches", true, &self.latest)) }
            }
        }
    }
}

fn needs(waits: &[Wait], said: &str) -> Markup {
    html! {
        section id="of-needs" data-live aria-labelledby="needs" data-said=(said) {
            h2 id="needs" { "Needs you" }
            ul class="waits" {
                @if waits.is_empty() {
                    li class="good" { (shape(Tone::Good)) div class="what" { b { "Nothing needs you." } span class="soft" { "Nothing is held, kept aside, failed or undelivered." } } }
                }
                @for wait in waits {
                    li class=(wait.tone.class()) {
                        (shape(wait.tone))
                        div class="what" { b { (text(&wait.what)) } span class="soft" { (text(&wait.why)) } }
                        a class="button go" href=(wait.at) { (wait.go) span class="unseen" { ": " (text(&wait.what)) } }
                    }
                }
            }
        }
    }
}

/// Where nothing has landed yet: how to land the first batch.
fn first(app: &App, visitor: &Visitor) -> Markup {
    let Some(pipeline) = app.pipelines().find(|one| visitor.may_read(one.name())) else {
        return empty(
            "No pipeline is served",
            html! { p { "Start the server with a pipeline file: " code { "landonce serve pipelines/" } } },
        );
    };
    empty(
        "Nothing has landed yet",
        html! {
            p { "Deliver a batch. Deliver it twice: the second time changes nothing, and says so." }
            (command(&batches::curl(visitor, pipeline)))
        },
    )
}

fn since(at: Option<&str>) -> String {
    let ago = at.and_then(|at| at.parse::<Timestamp>().ok()).map(|at| Timestamp::now().duration_since(at));
    ago.map(|ago| format!(", the oldest for {}", lasting(ago.unsigned_abs()))).unwrap_or_default()
}

/// Rows that a batch changed.
fn changed(outcome: &Outcome) -> u64 {
    outcome.changed()
}
