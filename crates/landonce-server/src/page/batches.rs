//! `/batches`: what has landed, newest first; and one batch: its counts as a sum, and the rows that it changed.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use landonce::reads::{BatchFilter, Cursor, Rows};
use landonce::{Pipeline, Settled};
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::{Page, Place, command, empty};
use super::reads::{cursor, cursor_text, failed};
use super::show::{self, Tone, count, counted, id, long, text, time, time_and_ago};
use super::visitor::{Visitor, not_found};
use super::{link, records};
use crate::app::App;
use crate::problem::Problem;

/// Batches of a page.
const PAGE: usize = 50;
/// Rows of a run that are shown.
const ROWS: usize = 20;
/// Columns of them that stand side by side.
const COLUMNS: usize = 6;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    pipeline: Option<String>,
    before: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct One {
    pipeline: String,
    id: String,
}

/// `GET /batches`
pub(super) async fn list(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let pipeline = asked.pipeline.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = pipeline {
        visitor.check_read(name)?;
    }
    let before = asked.before.as_deref().map(cursor).transpose()?;
    let is_first = before.is_none();
    let filter = BatchFilter { pipeline: pipeline.map(str::to_owned), before };
    let mut found = app.store().batches_page(&filter, PAGE + 1).await.map_err(failed)?;
    let is_more = found.len() > PAGE;
    found.truncate(PAGE);
    let next = found.last().filter(|_| is_more).map(|last| cursor_text(&Cursor::behind(last)));
    found.retain(|one| visitor.may_read(&one.pipeline));
    let body = html! {
        (filters(&app, &visitor, "/batches", pipeline))
        div id="batches" data-live[is_first] {
            @if found.is_empty() { (none(&app, &visitor, pipeline, is_first)) } @else {
                div class="sheet" {
                    (table("Batches", pipeline.is_none(), &found))
                    div class="pager" {
                        span { @if !is_first { a href=(link::query("/batches", &[("pipeline", pipeline)])) { "Newest" } } }
                        @if let Some(next) = next { a rel="next" href=(link::query("/batches", &[("pipeline", pipeline), ("before", Some(&next))])) { "Older" } }
                    }
                }
            }
        }
    };
    let page = Page::new(Place::Batches, "Batches", body)
        .about(html! { "Every batch that landed, once. A redelivery finds itself here and writes nothing." });
    Ok(if is_first { page.live() } else { page }.shown(&app, &visitor))
}

/// Which pipeline: links, the one that is chosen marked.
pub(super) fn filters(app: &App, visitor: &Visitor, path: &str, chosen: Option<&str>) -> Markup {
    let names: Vec<&str> =
        app.pipelines().map(Pipeline::name).filter(|name| visitor.may_read(name)).collect();
    html! {
        @if names.len() > 1 {
            nav class="tabs" aria-label="Pipeline" {
                a href=(path) aria-current=[chosen.is_none().then_some("true")] { "All" }
                @for name in names { a href=(link::query(path, &[("pipeline", Some(name))])) aria-current=[(chosen == Some(name)).then_some("true")] { (text(name)) } }
            }
        }
    }
}

fn none(app: &App, visitor: &Visitor, pipeline: Option<&str>, is_first: bool) -> Markup {
    if !is_first {
        return empty("No older ones", html! { p { a href="/batches" { "Back to the newest" } } });
    }
    let one = pipeline.map_or_else(|| app.pipelines().next(), |name| app.pipeline(name));
    empty(
        "No batch has landed yet",
        html! {
            p { "Deliver one; deliver it again, and it stays one." }
            @if let Some(one) = one { (command(&curl(visitor, one))) }
        },
    )
}

/// How a first batch of a pipeline is delivered.
pub(super) fn curl(visitor: &Visitor, pipeline: &Pipeline) -> String {
    let period = pipeline
        .declared()
        .calendar()
        .map_or_else(String::new, |calendar| format!("?period={}", calendar.every().example()));
    let token =
        if visitor.name == "local" { "" } else { " \\\n  -H \"Authorization: Bearer $LANDONCE_TOKEN\"" };
    format!(
        "curl -fsS '{}/v1/pipelines/{}/batches{period}' \\\n  -H 'Idempotency-Key: \"my-first-batch\"'{token} \\\n  -H 'Content-Type: application/x-ndjson' --data-binary @records.ndjson",
        visitor.origin,
        link::part(pipeline.name()),
    )
}

/// Batches, one a row.
pub(super) fn table(caption: &str, is_of_several: bool, batches: &[Settled]) -> Markup {
    html! {
        table class="cards" {
            caption class="unseen" { (caption) }
            thead { tr {
                th scope="col" { "Batch" } @if is_of_several { th scope="col" { "Pipeline" } } th scope="col" { "Landed (UTC)" } th scope="col" { "What it did" } th scope="col" class="num" { "Read" }
            } }
            tbody {
                @for one in batches {
                    tr {
                        th scope="row" { a href=(link::batch(&one.pipeline, &one.batch_id)) { (name(&one.batch_id)) } }
                        @if is_of_several { td data-label="Pipeline" { a href=(link::batches(&one.pipeline)) { (text(&one.pipeline)) } } }
                        td data-label="Landed (UTC)" { (time(&one.settled_at)) }
                        td data-label="What it did" { (did(one)) }
                        td class="num" data-label="Read" { (count(one.outcome.read)) }
                    }
                }
            }
        }
    }
}

/// A batch's id, short where it is a digest, or made of digests.
pub(super) fn name(batch_id: &str) -> Markup {
    let is_digest = |part: &str| part.len() == 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<String> = batch_id
        .split('/')
        .map(|part| if is_digest(part) { format!("{}…", &part[..12]) } else { part.to_owned() })
        .collect();
    let shown = parts.join("/");
    let cut: String = shown.chars().take(60).collect();
    html! { span class=[is_digest(batch_id).then_some("id")] { (text(&cut)) @if shown.chars().nth(60).is_some() { "…" } } }
}

/// What a batch did, in its counts.
fn did(one: &Settled) -> Markup {
    let outcome = &one.outcome;
    let tone = if outcome.quarantined + outcome.conflicts > 0 {
        Tone::Warn
    } else if outcome.is_change() {
        Tone::Good
    } else {
        Tone::None
    };
    let counts: Vec<(u64, &str)> = show::parts(outcome)
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .chain(show::beside(outcome))
        .collect();
    html! {
        span class="did num" {
            span { (show::shape(tone)) }
            @for (at, (number, word)) in counts.iter().enumerate() { span class="nowrap" { (count(*number)) " " (word) @if at + 1 < counts.len() { "," } } }
            @if counts.is_empty() { span class="soft" { "no records" } }
        }
    }
}

/// `GET /batches/{pipeline}/{id}`
pub(super) async fn one(
    State(app): State<App>,
    visitor: Visitor,
    Path((pipeline, id)): Path<(String, String)>,
) -> Result<Response, Problem> {
    shown(&app, &visitor, &pipeline, &id).await
}

/// `GET /batch?pipeline=…&id=…`, for ids that can't be a segment of a path.
pub(super) async fn by_query(
    State(app): State<App>,
    visitor: Visitor,
    Query(One { pipeline, id }): Query<One>,
) -> Result<Response, Problem> {
    shown(&app, &visitor, &pipeline, &id).await
}

async fn shown(app: &App, visitor: &Visitor, pipeline: &str, batch_id: &str) -> Result<Response, Problem> {
    visitor.check_read(pipeline)?;
    let Some(one) = app.store().batch(pipeline, batch_id).await.map_err(failed)? else {
        return Err(not_found(
            "No batch of this id has landed in this pipeline: it was never delivered, or it failed and left nothing.",
        ));
    };
    let rows = match app.pipeline(pipeline) {
        None => {
            Err("This server doesn't serve the pipeline any more, so it doesn't know its table.".to_owned())
        }
        // Without an index on the run's column this reads the whole table, and the database ends it where that takes too long.
        Some(of) => match app.store().rows_of_run(of, one.run_id, ROWS).await {
            Ok(Some(rows)) => Ok(rows),
            Ok(None) => Err("The table isn't there (any more).".to_owned()),
            Err(error) => Err(error.to_string()),
        },
    };
    let body = html! {
        section aria-labelledby="sum" {
            h2 id="sum" { "What it did" }
            (sum(&one))
        }
        section aria-labelledby="facts" {
            h2 id="facts" { "Where it came from" }
            div class="sheet pad" {
                dl class="facts" {
                    dt { "Landed" } dd { (time_and_ago(&one.settled_at)) }
                    dt { "Source" } dd { (long(&one.source, 200)) }
                    dt { "Run" } dd { (id(&one.run_id.to_string())) }
                    dt { "SHA-256 of its bytes" } dd { (id(&hex::encode(one.digest))) }
                    dt { "Pipeline" } dd { a href=(link::batches(pipeline)) { (text(pipeline)) } }
                }
            }
        }
        section aria-labelledby="rows" {
            h2 id="rows" { "Rows that still carry its run" }
            @match &rows {
                Ok(rows) => (sample(app.pipeline(pipeline), rows)),
                Err(why) => (empty("Not known", html! { p { (text(why)) } })),
            }
        }
    };
    let title = if batch_id.chars().count() > 80 {
        batch_id.chars().take(80).chain(['…']).collect()
    } else {
        batch_id.to_owned()
    };
    let above = link::batches(pipeline);
    Ok(Page::new(Place::Batches, &title, body).above(&above, pipeline).about(html! { "Delivered again, it is skipped: the outcome below is told once more, and nothing is written." }).shown(app, visitor))
}

/// The counts of a batch, as figures that add up.
fn sum(one: &Settled) -> Markup {
    let parts = show::parts(&one.outcome);
    html! {
        dl class="figures" {
            div { dt { "Read" } dd { (count(one.outcome.read)) } dd class="note" { "records in all" } }
            @for (number, word) in parts.iter().filter(|(number, _)| *number > 0) { div { dt { (first_upper(word)) } dd { (count(*number)) } } }
            @for (number, word) in show::beside(&one.outcome) { div { dt { (first_upper(word)) } dd { (count(number)) } dd class="note" { "beside the sum" } } }
        }
        p class="small soft" { (show::sum(&one.outcome)) }
    }
}

fn first_upper(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Rows of the target, as they are now.
fn sample(pipeline: Option<&Pipeline>, rows: &Rows) -> Markup {
    if rows.rows.is_empty() {
        return empty(
            "No row carries this run",
            html! { p { "It changed none, or later batches have changed them since: a row names the run that changed it last." } },
        );
    }
    html! {
        div class="sheet" { (rows_table(pipeline, rows, "Rows whose run is this one")) }
        @if rows.is_more { p class="small soft" { "The first " (counted(rows.rows.len() as u64, "row", "rows")) "; there are more." } }
    }
}

/// Rows as cards of a few columns: tables of users can be wide. Landonce's own columns stand behind.
fn rows_table(pipeline: Option<&Pipeline>, rows: &Rows, caption: &str) -> Markup {
    let mut order: Vec<usize> = (0..rows.columns.len()).collect();
    order.sort_by_key(|at| rows.columns[*at].starts_with("landonce_"));
    let own = rows.columns.iter().filter(|column| column.starts_with("landonce_")).count();
    let (shown, folded) = order.split_at(COLUMNS.min(rows.columns.len() - own));
    html! {
        table class="cards" {
            caption class="unseen" { (caption) }
            thead { tr {
                @for at in shown { th scope="col" { (text(&rows.columns[*at])) } }
                @if !folded.is_empty() { th scope="col" { "More columns" } }
                th scope="col" { "History" }
            } }
            tbody {
                @for row in &rows.rows {
                    @let cells = |at: usize| row.get(at).map_or("null", String::as_str);
                    tr {
                        @for at in shown { td data-label=(rows.columns[*at]) { (show::cell(cells(*at), 60)) } }
                        @if !folded.is_empty() {
                            td data-label="More columns" { details {
                                summary { (folded.len()) " more" }
                                dl class="facts" { @for at in folded { dt { (text(&rows.columns[*at])) } dd { (show::cell(cells(*at), 200)) } } }
                            } }
                        }
                        td data-label="History" { @match pipeline.and_then(|of| why(of, rows, row)) {
                            Some(at) => a href=(at) { "Why is it so?" },
                            None => span class="soft" { "not by its columns" },
                        } }
                    }
                }
            }
        }
    }
}

/// The address of a row's history, where its columns tell its identity.
fn why(pipeline: &Pipeline, rows: &Rows, row: &[String]) -> Option<String> {
    let declared = pipeline.declared();
    let fields = records::fields(pipeline)?;
    let values: Vec<(&str, String)> = fields
        .iter()
        .map(|field| {
            let column = declared.target().columns.iter().find(|column| &column.field == field)?;
            let at = rows.columns.iter().position(|name| *name == column.name)?;
            let json = row.get(at).filter(|json| *json != "null")?;
            Some((field.as_str(), serde_json::from_str::<String>(json).unwrap_or_else(|_| json.clone())))
        })
        .collect::<Option<_>>()?;
    let given: Vec<(&str, Option<&str>)> =
        values.iter().map(|(field, value)| (*field, Some(value.as_str()))).collect();
    Some(link::query(&link::of("records", pipeline.name()), &given))
}

/// Counts in words.
pub(super) fn words(outcome: &landonce::Outcome) -> String {
    let told: Vec<String> = show::parts(outcome)
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .chain(show::beside(outcome))
        .map(|(number, word)| format!("{} {word}", count(number)))
        .collect();
    format!("{} read{}{}", count(outcome.read), if told.is_empty() { "" } else { ": " }, told.join(", "))
}
