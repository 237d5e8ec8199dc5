//! `/held`: snapshots that were incomplete or implausible; why, what each would change now, and the word of a person on it.

use axum::extract::{Extension, Form, Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use landonce::held::{Although, Held, State as Standing};
use landonce::{Class, Options, Preview};
use maud::{Markup, html};
use serde::Deserialize;
use uuid::Uuid;

use super::layout::{Page, Place, empty};
use super::reads::failed;
use super::show::{self, Tone, count, id, long, state, text, time, time_and_ago};
use super::told::Flashes;
use super::visitor::{Visitor, check_form, not_found};
use super::{batches, link};
use crate::app::App;
use crate::problem::Problem;

/// Changes that are shown.
const SAMPLES: usize = 12;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    pipeline: Option<String>,
    all: Option<String>,
}

/// `GET /held`
pub(super) async fn list(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let pipeline = asked.pipeline.as_deref().filter(|name| !name.is_empty());
    if let Some(name) = pipeline {
        visitor.check_read(name)?;
    }
    let is_all = asked.all.is_some();
    let mut found = app.store().held(pipeline, is_all).await.map_err(failed)?;
    found.retain(|one| visitor.may_read(&one.hold.pipeline));
    let all = is_all.then_some("yes");
    let body = html! {
        nav class="tabs" aria-label="Which" {
            a href=(link::query("/held", &[("pipeline", pipeline)])) aria-current=[(!is_all).then_some("true")] { "Waiting" }
            a href=(link::query("/held", &[("pipeline", pipeline), ("all", Some("yes"))])) aria-current=[all.map(|_| "true")] { "All, with those decided" }
        }
        div id="held" data-live {
            @if found.is_empty() {
                (empty("Nothing is held", html! { p { "A snapshot that is incomplete, or far from what is there, is kept here instead of being applied. Then its table is as it was, and you decide." } }))
            } @else { div class="sheet" { (table(&found)) } }
        }
    };
    Ok(Page::new(Place::Held, "Held snapshots", body)
        .about(html! { "Payloads that would have changed too much, or weren't shown to be complete. Nothing of them is in the table." })
        .live()
        .shown(&app, &visitor))
}

fn table(found: &[Held]) -> Markup {
    html! {
        table class="cards" {
            caption class="unseen" { "Held snapshots" }
            thead { tr { th scope="col" { "Snapshot" } th scope="col" { "Pipeline" } th scope="col" { "State" } th scope="col" { "Held (UTC)" } th scope="col" { "Why" } } }
            tbody { @for one in found {
                tr {
                    th scope="row" { a href=(link::held(&one.hold.pipeline, &one.hold.digest)) { span class="id" { (hex::encode(&one.hold.digest[..6])) } } }
                    td data-label="Pipeline" { (text(&one.hold.pipeline)) }
                    td data-label="State" { (standing(one.state)) }
                    td data-label="Held (UTC)" { (time(&one.held_at)) }
                    td data-label="Why" { div { @for reason in one.hold.reasons.iter().take(3) { p { (long(reason, 160)) } } @if one.hold.reasons.len() > 3 { p class="soft" { "and " (one.hold.reasons.len() - 3) " more" } } } }
                }
            } }
        }
    }
}

fn standing(of: Standing) -> Markup {
    match of {
        Standing::Held => state(Tone::Warn, "waits for you"),
        Standing::Released | Standing::Landed => state(Tone::Good, of.as_str()),
        Standing::Rejected => state(Tone::None, of.as_str()),
    }
}

/// `GET /held/{pipeline}/{digest}`
pub(super) async fn one(
    State(app): State<App>,
    visitor: Visitor,
    Path((pipeline, digest)): Path<(String, String)>,
) -> Result<Response, Problem> {
    visitor.check_read(&pipeline)?;
    let held = find(&app, &pipeline, &digest).await?;
    let preview = match app.pipeline(&pipeline) {
        Some(of) if held.state == Standing::Held => {
            Some(of.preview_held(app.store(), &held, SAMPLES).await.map_err(|error| error.to_string()))
        }
        _ => None,
    };
    let body = html! {
        section aria-labelledby="why" {
            h2 id="why" { "Why it is held" }
            ul class="waits plain" {
                @for reason in &held.hold.reasons { li { (show::shape(Tone::Warn)) p { (text(reason)) } } }
            }
        }
        (would(&held, preview.as_ref()))
        @if held.state == Standing::Held { (decide(&app, &visitor, &held)) }
        section aria-labelledby="facts" {
            h2 id="facts" { "Where it came from" }
            div class="sheet pad" { dl class="facts" {
                dt { "State" } dd { (standing(held.state)) }
                dt { "Held" } dd { (time_and_ago(&held.held_at)) }
                dt { "Source" } dd { (long(&held.hold.source, 200)) }
                dt { "Batch" } dd { @match &held.hold.batch_id { Some(batch) => (long(batch, 120)), None => span class="soft" { "named by its digest" } } }
                dt { "Shown to be complete" } dd { (if held.hold.is_complete { "yes" } else { "no" }) }
                dt { "Run" } dd { (id(&held.hold.run_id.to_string())) }
                dt { "SHA-256" } dd { (id(&hex::encode(held.hold.digest))) }
                @if let Some(by) = held.decided_by { dt { "Decided by run" } dd { (id(&by.to_string())) } }
            } }
        }
    };
    let title = format!("Snapshot {}", hex::encode(&held.hold.digest[..6]));
    Ok(Page::new(Place::Held, &title, body)
        .above("/held", "Held snapshots")
        .about(html! { "Of " (text(&pipeline)) ", held " (time(&held.held_at)) " UTC." })
        .shown(&app, &visitor))
}

async fn find(app: &App, pipeline: &str, digest: &str) -> Result<Held, Problem> {
    let found = app.store().held(Some(pipeline), true).await.map_err(failed)?;
    found
        .into_iter()
        .find(|one| hex::encode(one.hold.digest) == digest)
        .ok_or_else(|| not_found("No snapshot of this digest was ever held in this pipeline."))
}

/// What a release would do now, or would have done then.
fn would(held: &Held, preview: Option<&Result<Preview, String>>) -> Markup {
    let outcome = match preview {
        Some(Ok(preview)) => &preview.outcome,
        _ => &held.hold.outcome,
    };
    html! {
        section aria-labelledby="would" {
            h2 id="would" { @if preview.is_some() { "What a release would do now" } @else { "What it would have done" } }
            dl class="figures" {
                div { dt { "Records" } dd { (count(outcome.read)) } }
                div { dt { "Inserted" } dd { (count(outcome.inserted)) } }
                div { dt { "Updated" } dd { (count(outcome.updated)) } }
                div { dt { "Unchanged" } dd { (count(outcome.unchanged)) } }
                @if outcome.retired > 0 { div { dt { "Retired" } dd { (count(outcome.retired)) } dd class="note" { "rows it doesn't have" } } }
                @if outcome.removed > 0 { div { dt { "Removed" } dd { (count(outcome.removed)) } dd class="note" { "rows it doesn't have" } } }
            }
            @match preview {
                Some(Ok(preview)) => (samples(preview)),
                Some(Err(why)) => (empty("It can't be compared now", html! { p { (text(why)) } })),
                None => {}
            }
        }
    }
}

fn samples(preview: &Preview) -> Markup {
    html! {
        @if !preview.samples.is_empty() {
            div class="sheet" { table class="cards" {
                caption { "The first changes " span class="soft" { "as their records are written" } }
                thead { tr { th scope="col" { "Record" } th scope="col" { "Would be" } th scope="col" { "Text" } } }
                tbody { @for (todo, record) in &preview.samples {
                    tr {
                        th scope="row" { "№ " (count(todo.place.number)) }
                        td data-label="Would be" { @match todo.class { Class::New => (state(Tone::Good, "inserted")), _ => (state(Tone::Warn, "updated")) } }
                        td data-label="Text" { code { (long(record, 140)) } }
                    }
                } }
            } }
        }
    }
}

/// The two words that a person can say.
fn decide(app: &App, visitor: &Visitor, held: &Held) -> Markup {
    let at = link::held(&held.hold.pipeline, &held.hold.digest);
    if !visitor.may_operate(&held.hold.pipeline) {
        return html! { p class="soft" { "Releasing and rejecting needs a token that may operate." } };
    }
    if app.pipeline(&held.hold.pipeline).is_none() {
        return html! { p class="soft" { "This server doesn't serve the pipeline, so it can't release its snapshots." } };
    }
    html! {
        section aria-labelledby="decide" {
            h2 id="decide" { "Your word" }
            div class="two" {
                form class="sheet pad stack" method="post" action={ (at) "/release" } {
                    input type="hidden" name="csrf" value=(visitor.csrf);
                    h3 { "It is right: land it" }
                    p class="soft" { "It is compared anew with what is there, and lands in one transaction." }
                    label class="tick" { input type="checkbox" name="incomplete" value="yes"; span { "Although it isn't shown to be complete: rows it doesn't have may go" } }
                    label class="tick" { input type="checkbox" name="newer" value="yes"; span { "Although a newer snapshot may have landed since: this sets the source back" } }
                    div class="acts" { button class="main" { "Release" } }
                }
                form class="sheet pad stack" method="post" action={ (at) "/reject" } {
                    input type="hidden" name="csrf" value=(visitor.csrf);
                    h3 { "It is wrong: drop it" }
                    p class="soft" { "Its payload is deleted. The same bytes are held again whenever they come." }
                    div class="acts" { button class="risky" { "Reject" } }
                }
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Release {
    csrf: String,
    incomplete: Option<String>,
    newer: Option<String>,
}

/// `POST /held/{pipeline}/{digest}/release`
pub(super) async fn release(
    State(app): State<App>,
    Extension(flashes): Extension<Flashes>,
    headers: HeaderMap,
    Path((pipeline, digest)): Path<(String, String)>,
    Form(form): Form<Release>,
) -> Result<Response, Problem> {
    let who = check_form(&app, &headers, &form.csrf, Some(&pipeline))?;
    let held = find(&app, &pipeline, &digest).await?;
    let at = link::held(&pipeline, &held.hold.digest);
    let of = app.pipeline(&pipeline).ok_or_else(|| not_found("No pipeline of this name is served."))?;
    let although = Although { incomplete: form.incomplete.is_some(), newer: form.newer.is_some() };
    let (tone, words) = match of.release(app.store(), &held, although, &Options::default()).await {
        Ok(receipt) => (Tone::Good, format!("Released: {}", batches::words(&receipt.outcome))),
        Err(error) => (Tone::Bad, format!("Not released, and nothing was changed.\n{error}")),
    };
    app.store()
        .record_action(&who, "release a held snapshot", &format!("{pipeline} {digest}"), &words)
        .await
        .map_err(failed)?;
    Ok(flashes.redirect(&at, &who, tone, words))
}

#[derive(Debug, Deserialize)]
pub(super) struct Reject {
    csrf: String,
}

/// `POST /held/{pipeline}/{digest}/reject`
pub(super) async fn reject(
    State(app): State<App>,
    Extension(flashes): Extension<Flashes>,
    headers: HeaderMap,
    Path((pipeline, digest)): Path<(String, String)>,
    Form(form): Form<Reject>,
) -> Result<Response, Problem> {
    let who = check_form(&app, &headers, &form.csrf, Some(&pipeline))?;
    let held = find(&app, &pipeline, &digest).await?;
    let at = link::held(&pipeline, &held.hold.digest);
    let (tone, words) = if app.store().reject(&held, Uuid::now_v7()).await.map_err(failed)? {
        (Tone::Good, "Rejected: its payload is dropped, and the table is as it was.".to_owned())
    } else {
        (Tone::Warn, "Nothing was done: it isn't held any more.".to_owned())
    };
    app.store()
        .record_action(&who, "reject a held snapshot", &format!("{pipeline} {digest}"), &words)
        .await
        .map_err(failed)?;
    Ok(flashes.redirect(&at, &who, tone, words))
}
