//! `/periods/{pipeline}`: which periods are loaded, partial, failed or missing, as a calendar.

mod calendar;
mod state;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use jiff::Timestamp;
use landonce_core::period::{Calendar, Every, Period};
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::{Page, Place, command, empty};
use super::reads::failed;
use super::show::{Tone, count, counted, id, long, state, text, time};
use super::visitor::{Visitor, not_found};
use super::{batches, link};
use crate::app::App;
use crate::problem::Problem;
use state::{Counts, Known, Standing};

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    /// The last period that is shown.
    to: Option<String>,
}

/// `GET /periods`
pub(super) async fn list(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let mut rows = Vec::new();
    for pipeline in app.pipelines().filter(|one| visitor.may_read(one.name())) {
        let Some(calendar) = pipeline.declared().calendar() else { continue };
        let entries = app.store().periods(pipeline.name(), i64::MIN, i64::MAX).await.map_err(failed)?;
        let known = Known::since_the_first(calendar, entries, Timestamp::now());
        rows.push((pipeline, calendar, Counts::of(&known)));
    }
    let body = html! {
        @if rows.is_empty() {
            (empty("No pipeline here is loaded by periods", html! {
                p { "A pipeline that replaces a day, an hour, a week or a month at a time declares it:" }
                (command("write: {mode: overwrite_period, period: {field: day, every: day, tz: Europe/Berlin}}"))
            }))
        } @else {
            div class="sheet" {
                table class="cards" {
                    caption class="unseen" { "Pipelines that are loaded by periods" }
                    thead { tr { th scope="col" { "Pipeline" } th scope="col" { "Periods" } @for standing in Standing::TOLD { th scope="col" class="num" { (standing.title()) } } } }
                    tbody { @for (pipeline, calendar, counts) in &rows {
                        tr {
                            th scope="row" { a href=(link::of("periods", pipeline.name())) { (text(pipeline.name())) } }
                            td data-label="Periods" { (calendar.every().as_str()) "s of " (calendar.zone()) }
                            @for standing in Standing::TOLD { td class={ "num" @if counts.of_standing(standing) == 0 { " zero" } } data-label=(standing.title()) { (count(counts.of_standing(standing))) } }
                        }
                    } }
                }
            }
        }
    };
    Ok(Page::new(Place::Periods, "Periods", body)
        .about(html! { "Which days, hours, weeks or months are loaded, and which are missing." })
        .shown(&app, &visitor))
}

/// `GET /periods/{pipeline}`
pub(super) async fn one(
    State(app): State<App>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    visitor.check_read(&name)?;
    let pipeline = app.pipeline(&name).ok_or_else(|| not_found("No pipeline of this name is served."))?;
    let Some(calendar) = pipeline.declared().calendar() else {
        return Err(not_found("This pipeline isn't loaded by periods."));
    };
    let now = Timestamp::now();
    let entries = app.store().periods(&name, i64::MIN, i64::MAX).await.map_err(failed)?;
    let strays = entries.len();
    let known = Known::since_the_first(calendar, entries, now);
    let strays = strays - known.iter().filter(|one| one.entry.is_some()).count();
    let (shown, older, newer) = window(calendar, &known, asked.to.as_deref());
    let counts = Counts::of(&known);
    let body = html! {
        @if known.is_empty() {
            (empty("No period has been loaded yet", html! {
                p { "Deliver one, by its name:" }
                (command(&batches::curl(&visitor, pipeline)))
            }))
        } @else {
            (counts.figures(calendar.every()))
            section aria-labelledby="calendar" {
                div class="lead" { h2 id="calendar" { (span(shown)) } (legend()) }
                (calendar::drawn(calendar.every(), &name, shown))
                div class="acts" {
                    @if let Some(older) = &older { a class="button" rel="prev" href=(link::query(&link::of("periods", &name), &[("to", Some(older))])) { "← Earlier" } }
                    @if let Some(newer) = &newer { a class="button" rel="next" href=(link::query(&link::of("periods", &name), &[("to", Some(newer))])) { "Later →" } }
                }
            }
            (attention(&name, shown))
            @if strays > 0 { p class="soft small" { (counted(strays as u64, "entry", "entries")) " of the ledger are of other periods than " (calendar.every().as_str()) "s of " (calendar.zone()) ": what the pipeline was loaded by before." } }
        }
    };
    let about = html! { "One load for each " (calendar.every().as_str()) " of " (calendar.zone()) ", each replacing what the " (calendar.every().as_str()) " had. A darker cell holds more rows." };
    Ok(Page::new(Place::Periods, &name, body).above("/periods", "Periods").about(about).shown(&app, &visitor))
}

fn span(shown: &[Known]) -> String {
    match shown {
        [first, .., last] => format!("{} to {}", first.period.label(), last.period.label()),
        [one] => one.period.label().to_owned(),
        [] => String::new(),
    }
}

/// How many periods are shown at once.
fn most(every: Every) -> usize {
    match every {
        Every::Hour => 24 * 14,
        Every::Day => 366,
        Every::Week => 53 * 3,
        Every::Month => 12 * 10,
    }
}

/// The part of what is known that ends with a label (or with the last one), and the labels at which the parts beside it end.
fn window<'k>(
    calendar: &Calendar,
    known: &'k [Known],
    to: Option<&str>,
) -> (&'k [Known], Option<String>, Option<String>) {
    let most = most(calendar.every());
    let end = to
        .and_then(|label| known.iter().position(|one| one.period.label() == label))
        .map_or(known.len(), |at| at + 1);
    let start = end.saturating_sub(most);
    let label = |at: usize| known.get(at).map(|one: &Known| one.period.label().to_owned());
    let older = start.checked_sub(1).and_then(label);
    let newer = (end < known.len()).then(|| label((end + most).min(known.len()) - 1)).flatten();
    (&known[start..end], older, newer)
}

fn legend() -> Markup {
    html! {
        div class="key" {
            @for standing in Standing::TOLD { span { (standing.shown()) } }
        }
    }
}

/// What isn't as it should be, with the reason.
fn attention(pipeline: &str, shown: &[Known]) -> Markup {
    let told: Vec<&Known> = shown
        .iter()
        .rev()
        .filter(|one| one.has_failed() || one.standing() == Standing::Partial)
        .take(30)
        .collect();
    html! {
        @if !told.is_empty() {
            section aria-labelledby="attention" {
                h2 id="attention" { "Failed and partial" }
                div class="sheet" {
                    table class="cards" {
                        caption class="unseen" { "Failed and partial periods" }
                        thead { tr { th scope="col" { "Period" } th scope="col" { "State" } th scope="col" class="num" { "Rows" } th scope="col" { "Loaded (UTC)" } th scope="col" { "Why" } } }
                        tbody { @for one in told { (attention_row(pipeline, one)) } }
                    }
                }
            }
        }
    }
}

fn attention_row(pipeline: &str, one: &Known) -> Markup {
    let loaded = one.entry.as_ref().and_then(|entry| entry.loaded.as_ref());
    let failure = one.entry.as_ref().and_then(|entry| entry.failed.as_ref());
    html! {
        tr {
            th scope="row" class="label" { @match loaded { Some(loaded) => { a href=(link::batch(pipeline, &loaded.batch_id)) { (one.period.label()) } } None => (one.period.label()) } }
            td data-label="State" { (one.standing().shown()) @if one.has_failed() && one.standing() != Standing::Failed { br; (state(Tone::Bad, "last attempt failed")) } }
            td class={ "num" @if loaded.is_none() { " idle" } } data-label="Rows" { @if let Some(loaded) = loaded { (count(loaded.rows)) } }
            td class=[loaded.is_none().then_some("idle")] data-label="Loaded (UTC)" { @if let Some(loaded) = loaded { (time(&loaded.loaded_at)) } }
            td data-label="Why" {
                @match failure {
                    Some(failure) => { div { p { (id(&failure.code)) " at " (time(&failure.failed_at)) } (long(&failure.message, 160)) } }
                    None => "loaded before it was over",
                }
            }
        }
    }
}

/// A period's place in a drawn calendar.
fn date(period: &Period) -> jiff::civil::Date {
    period.date()
}
