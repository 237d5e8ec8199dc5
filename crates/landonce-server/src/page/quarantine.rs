//! `/quarantine`: bad records, kept whole; each with its reason, to be mended and delivered again.

use axum::extract::{Extension, Form, Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use landonce::{Entry, Options, Status};
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::{Page, Place, button, command, empty};
use super::reads::failed;
use super::show::{MOST, Tone, count, counted, id, long, state, tail, text, time, time_and_ago};
use super::told::Flashes;
use super::visitor::{Visitor, check_form, not_found};
use super::{batches, link, record};
use crate::app::App;
use crate::problem::Problem;

/// Entries that are shown.
const SHOWN: usize = 200;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    pipeline: Option<String>,
}

/// `GET /quarantine`
pub(super) async fn list(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let pipeline = asked.pipeline.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = pipeline {
        visitor.check_read(name)?;
    }
    let mut found = app.store().quarantine(pipeline, SHOWN).await.map_err(failed)?;
    found.retain(|one| visitor.may_read(&one.pipeline));
    let open = found.iter().filter(|one| one.resolved_by.is_none()).count();
    let can_retry =
        pipeline.filter(|name| open > 0 && visitor.may_operate(name) && app.pipeline(name).is_some());
    let body = html! {
        (batches::filters(&app, &visitor, "/quarantine", pipeline))
        div id="quarantine" data-live {
            @if found.is_empty() {
                (empty("Nothing is kept aside", html! {
                    p { "A pipeline that keeps bad records aside, instead of failing the batch, says so:" }
                    (command("on_bad_record: {quarantine: {max: 1%}}"))
                }))
            } @else { div class="sheet" {
                (table(&found, pipeline.is_none()))
                @if found.len() >= SHOWN { p class="pager soft" { "The newest " (count(SHOWN as u64)) "." } }
            } }
        }
        @if let Some(name) = can_retry {
            div class="sheet pad stack" {
                h2 { "After the pipeline was corrected" }
                p class="soft" { "Every open record of " (text(name)) " is delivered again, through the one path that all records take. What lands is closed in that transaction; what is still bad stays." }
                div class="acts" { (button(&visitor, "/quarantine/retry", &[("pipeline", name)], "main", "Deliver all again")) }
            }
        }
    };
    Ok(Page::new(Place::Quarantine, "Quarantine", body)
        .about(html! { "Records that couldn't be taken, kept whole and once, however often they come." })
        .live()
        .shown(&app, &visitor))
}

fn table(found: &[Entry], is_of_several: bool) -> Markup {
    html! {
        table class="cards" {
            caption class="unseen" { "Bad records, newest first" }
            thead { tr { th scope="col" { "Record" } th scope="col" { "State" } @if is_of_several { th scope="col" { "Pipeline" } } th scope="col" { "Field" } th scope="col" { "Why" } th scope="col" { "From" } th scope="col" { "Kept (UTC)" } } }
            tbody { @for one in found {
                tr {
                    th scope="row" { a href={ "/quarantine/" (hex::encode(one.id)) } { span class="id nowrap" { (hex::encode(&one.id[..6])) } } }
                    td data-label="State" { (standing(one)) }
                    @if is_of_several { td data-label="Pipeline" { (text(&one.pipeline)) } }
                    td class=[one.field.is_empty().then_some("idle")] data-label="Field" { code { (long(&one.field, 60)) } }
                    td data-label="Why" { div { (text(&one.kind)) ": " (long(&one.detail, 120)) } }
                    td data-label="From" { (tail(&one.source, 36)) " " span class="soft nowrap" { "№ " (count(one.number)) } }
                    td data-label="Kept (UTC)" { (time(&one.kept_at)) }
                }
            } }
        }
    }
}

fn standing(one: &Entry) -> Markup {
    if one.resolved_by.is_some() { state(Tone::Good, "landed") } else { state(Tone::Warn, "open") }
}

/// `GET /quarantine/{id}`
pub(super) async fn one(
    State(app): State<App>,
    visitor: Visitor,
    Path(asked): Path<String>,
) -> Result<Response, Problem> {
    let entry = find(&app, &asked).await?;
    visitor.check_read(&entry.pipeline)?;
    let body = html! {
        div class="told warn" {
            (super::show::shape(if entry.resolved_by.is_some() { Tone::Good } else { Tone::Warn }))
            div {
                p { b { (text(&entry.kind)) } @if !entry.field.is_empty() { " in " code { (text(&entry.field)) } } }
                p { (long(&entry.detail, 400)) }
            }
        }
        section aria-labelledby="record" {
            h2 id="record" { "The record as it came" }
            (record::laid_out(&entry.raw, &entry.field))
        }
        (mend(&app, &visitor, &entry))
        section aria-labelledby="facts" {
            h2 id="facts" { "Where it came from" }
            div class="sheet pad" { dl class="facts" {
                dt { "State" } dd { (standing(&entry)) }
                @if let Some(by) = entry.resolved_by { dt { "Landed by run" } dd { (id(&by.to_string())) } }
                dt { "Kept" } dd { (time_and_ago(&entry.kept_at)) }
                dt { "Batch" } dd { a href=(link::batch(&entry.pipeline, &entry.batch_id)) { (batches::name(&entry.batch_id)) } }
                dt { "Source" } dd { (long(&entry.source, 200)) ", № " (count(entry.number)) }
                dt { "Run" } dd { (id(&entry.run_id.to_string())) }
                dt { "Id" } dd { (id(&hex::encode(entry.id))) }
            } }
        }
    };
    let title = format!("Record {}", hex::encode(&entry.id[..6]));
    Ok(Page::new(Place::Quarantine, &title, body)
        .above("/quarantine", "Quarantine")
        .about(html! { "Of " (text(&entry.pipeline)) "." })
        .shown(&app, &visitor))
}

async fn find(app: &App, asked: &str) -> Result<Entry, Problem> {
    // A whole id: a prefix would be for people who type.
    if asked.len() != 64 || !asked.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(not_found("A kept record's id is 64 hex digits."));
    }
    app.store().quarantine_entry(asked).await.map_err(failed)
}

/// An entry's page.
fn at(entry: &Entry) -> String {
    format!("/quarantine/{}", hex::encode(entry.id))
}

/// The form that mends it.
fn mend(app: &App, visitor: &Visitor, entry: &Entry) -> Markup {
    if entry.resolved_by.is_some() || !visitor.may_operate(&entry.pipeline) {
        return html! {};
    }
    if app.pipeline(&entry.pipeline).is_none() {
        return html! { p class="soft" { "This server doesn't serve the pipeline, so it can't deliver the record again." } };
    }
    if entry.raw.len() > MOST {
        return html! { p class="soft" { "The record is too long to be edited here: " code { "landonce quarantine show --raw" } " writes its bytes." } };
    }
    let at = at(entry);
    let given = visitor.told.as_ref().and_then(|told| told.given(&at));
    let text = given.map_or_else(|| record::editable(&entry.raw), str::to_owned);
    html! {
        section aria-labelledby="mend" {
            h2 id="mend" { "Mend it" }
            form class="sheet pad stack" method="post" action={ (at) "/edit" } {
                input type="hidden" name="csrf" value=(visitor.csrf);
                div class="field" {
                    label for="text" { "The record as it should have come" }
                    textarea id="text" name="text" rows="14" spellcheck="false" autocomplete="off" aria-describedby="mend-how" { "\n" (text) }
                }
                p class="soft small" id="mend-how" { "It is delivered as a batch of its own. If it lands, this entry is closed in the same transaction; if it is still bad, nothing is written and you are told why." }
                div class="acts" { button class="main" { "Deliver it" } }
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Edited {
    csrf: String,
    text: String,
}

/// `POST /quarantine/{id}/edit`
pub(super) async fn edit(
    State(app): State<App>,
    Extension(flashes): Extension<Flashes>,
    headers: HeaderMap,
    Path(asked): Path<String>,
    Form(form): Form<Edited>,
) -> Result<Response, Problem> {
    app.check_form(&headers, &form.csrf)?;
    let entry = find(&app, &asked).await?;
    let who = check_form(&app, &headers, &form.csrf, Some(&entry.pipeline))?;
    let of = app.pipeline(&entry.pipeline).ok_or_else(|| not_found("No pipeline of this name is served."))?;
    let at = at(&entry);
    // A textarea sends every line's end as two characters; in JSON both are white space.
    let (tone, words) = match of.retry_edited(app.store(), &asked, &form.text, &Options::default()).await {
        Ok(retried) if retried.receipt.status == Status::SkippedDuplicate => {
            (Tone::Good, "This correction had landed already; nothing was written again.".to_owned())
        }
        Ok(retried) => (Tone::Good, format!("It has landed: {}", batches::words(&retried.receipt.outcome))),
        Err(error) => (Tone::Bad, format!("It has not landed, and nothing was written.\n{error}")),
    };
    let subject = format!("{} {}", entry.pipeline, hex::encode(&entry.id[..6]));
    app.store().record_action(&who, "deliver an edited record", &subject, &words).await.map_err(failed)?;
    if tone == Tone::Bad {
        return Ok(flashes.back(&at, &who, words, form.text));
    }
    Ok(flashes.redirect(&at, &who, tone, words))
}

#[derive(Debug, Deserialize)]
pub(super) struct Retry {
    csrf: String,
    pipeline: String,
}

/// `POST /quarantine/retry`
pub(super) async fn retry(
    State(app): State<App>,
    Extension(flashes): Extension<Flashes>,
    headers: HeaderMap,
    Form(form): Form<Retry>,
) -> Result<Response, Problem> {
    let who = check_form(&app, &headers, &form.csrf, Some(&form.pipeline))?;
    let of = app.pipeline(&form.pipeline).ok_or_else(|| not_found("No pipeline of this name is served."))?;
    let (tone, words) = match of.retry_quarantine(app.store(), &Options::default()).await {
        Ok(None) => (Tone::Warn, "Nothing was open.".to_owned()),
        Ok(Some(retried)) => (
            if retried.landed == retried.entries { Tone::Good } else { Tone::Warn },
            format!(
                "{} of {} landed.",
                count(retried.landed),
                counted(retried.entries, "open record", "open records")
            ),
        ),
        Err(error) => (Tone::Bad, format!("Nothing was written.\n{error}")),
    };
    app.store()
        .record_action(&who, "deliver quarantined records again", &form.pipeline, &words)
        .await
        .map_err(failed)?;
    Ok(flashes.redirect(
        &link::query("/quarantine", &[("pipeline", Some(&form.pipeline))]),
        &who,
        tone,
        words,
    ))
}
