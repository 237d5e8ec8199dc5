//! `/outbox/{id}`: one message: what is sent, how often that was tried, what was answered.

use axum::extract::{Path, State};
use axum::response::Response;
use jiff::Timestamp;
use landonce::outbox::{Entry, State as Standing, Which};
use maud::{Markup, html};
use uuid::Uuid;

use super::standing;
use crate::app::App;
use crate::page::layout::{Page, Place, button};
use crate::page::reads::failed;
use crate::page::show::{entity, id, long, text, time_and_ago};
use crate::page::visitor::{Visitor, not_found};
use crate::page::{link, record};
use crate::problem::Problem;

/// `GET /outbox/{id}`
pub(crate) async fn one(
    State(app): State<App>,
    visitor: Visitor,
    Path(asked): Path<Uuid>,
) -> Result<Response, Problem> {
    let entry = find(&app, asked).await?;
    visitor.check_read(&entry.message.producer)?;
    let message = &entry.message;
    let body = html! {
        div class="two" {
            section aria-labelledby="facts" {
                h2 id="facts" { "What became of it" }
                div class="sheet pad" { dl class="facts" {
                    dt { "State" } dd { (standing(&entry)) }
                    dt { "Enqueued" } dd { (time_and_ago(&entry.enqueued_at)) }
                    dt { "Attempts" } dd { (entry.attempts) }
                    @if let Some(answer) = &entry.answer { dt { "Last answer" } dd { (long(answer, 200)) } }
                    @if let Some(due) = &entry.due_at { dt { "Due next" } dd { (time_and_ago(due)) } }
                    @if let Some((by, until)) = &entry.leased { dt { "Held by" } dd { (text(by)) " until " (time_and_ago(until)) } }
                    @if let Some(sent) = &entry.sent_at { dt { "Acknowledged" } dd { (time_and_ago(sent)) } }
                    @if let Some(by) = entry.corrected_by { dt { "Corrected by" } dd { a href={ "/outbox/" (by) } { (id(&by.to_string())) } } }
                } }
                (acts(&visitor, &entry))
            }
            section aria-labelledby="says" {
                h2 id="says" { "What it is" }
                div class="sheet pad" { dl class="facts" {
                    dt { "Topic" } dd { a href=(link::query("/outbox", &[("topic", Some(&message.topic))])) { (text(&message.topic)) } }
                    dt { "Kind" } dd { (text(&message.kind)) }
                    dt { "About" } dd { (entity(&message.entity)) }
                    @if let Some(ordering) = &message.ordering { dt { "In order with" } dd { code { (long(ordering, 200)) } } }
                    dt { "From" } dd { (text(&message.producer)) }
                    @if let Some(run) = message.run_id { dt { "Run" } dd { (id(&run.to_string())) } }
                    dt { "Id" } dd { (id(&message.id.to_string())) }
                } }
            }
        }
        section aria-labelledby="payload" {
            h2 id="payload" { "What is sent" }
            (record::laid_out(message.payload.as_bytes(), ""))
        }
    };
    let title = format!("{} {}", message.topic, message.kind);
    Ok(Page::new(Place::Outbox, &title, body)
        .above("/outbox", "Outbox")
        .about(html! { "Every attempt carries the same id, so that its receiver can tell a repeat." })
        .shown(&app, &visitor))
}

pub(super) async fn find(app: &App, asked: Uuid) -> Result<Entry, Problem> {
    let which = Which { ids: vec![asked], ..Which::default() };
    let found = app.store().outbox().messages(&which, 1).await.map_err(failed)?;
    found.into_iter().next().ok_or_else(|| not_found("There is no message of this id."))
}

/// What can be done with it.
fn acts(visitor: &Visitor, entry: &Entry) -> Markup {
    let to = format!("/outbox/{}/act", entry.message.id);
    if !visitor.may_operate(&entry.message.producer) {
        return html! {};
    }
    let one = |act: &str, class: &str, word: &str| button(visitor, &to, &[("act", act)], class, word);
    html! {
        div class="acts" {
            @match entry.state {
                Standing::Pending if entry.leased.is_some() => p class="soft" { "A worker has it at the moment." },
                Standing::Pending => { @if is_later(entry) { (one("retry", "main", "Try now")) } (one("discard", "risky", "Discard")) }
                Standing::Dead => { (one("redrive", "main", "Deliver after all")) (one("discard", "risky", "Discard")) }
                Standing::Discarded => (one("redrive", "", "Deliver after all")),
                Standing::Sent => (one("resend", "", "Send again, under the same id")),
            }
        }
    }
}

/// It waits for its next attempt; one that is due already needs nobody's word.
fn is_later(entry: &Entry) -> bool {
    let due = entry.due_at.as_deref().and_then(|due| due.parse::<Timestamp>().ok());
    due.is_some_and(|due| due > Timestamp::now())
}
