//! `/outbox`: messages about changes, what became of each, and what a person can do about those that stay.

mod acts;
mod one;

use axum::extract::{Query, State};
use axum::response::Response;
use landonce::outbox::{Depth, Entry, State as Standing, Which};
use maud::{Markup, html};
use serde::Deserialize;

pub(super) use acts::{act, redrive_topic, resume};
pub(super) use one::one;

use super::layout::{Page, Place, button, command, empty};
use super::link;
use super::reads::failed;
use super::show::{Tone, count, entity, lasting, long, state, text, time};
use super::visitor::Visitor;
use crate::app::App;
use crate::problem::Problem;

/// Messages that are shown at first, and when somebody wants more.
const FEW: usize = 100;
const MANY: usize = 1000;

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    topic: Option<String>,
    state: Option<String>,
    more: Option<String>,
}

const STATES: [(Standing, &str); 4] = [
    (Standing::Pending, "Pending"),
    (Standing::Dead, "Dead"),
    (Standing::Sent, "Sent"),
    (Standing::Discarded, "Discarded"),
];

/// `GET /outbox`
pub(super) async fn list(
    State(app): State<App>,
    visitor: Visitor,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let topic = asked.topic.filter(|topic| !topic.is_empty());
    let standing =
        STATES.iter().map(|(state, _)| *state).find(|one| Some(one.as_str()) == asked.state.as_deref());
    let most = if asked.more.is_some() { MANY } else { FEW };
    let which = Which { topic: topic.clone(), state: standing, ..Which::default() };
    let mut outbox = app.store().outbox();
    let mut found = outbox.messages(&which, most).await.map_err(failed)?;
    let is_more = found.len() >= most;
    found.retain(|one| visitor.may_read(&one.message.producer));
    let depths = if visitor.may_read_all() { outbox.depth().await.map_err(failed)? } else { Vec::new() };
    let state_word = standing.map(Standing::as_str);
    let body = html! {
        div id="topics" data-live { @if !depths.is_empty() { (topics(&visitor, &depths)) } }
        section aria-labelledby="messages" {
            div class="lead" {
                h2 id="messages" { @match &topic { Some(topic) => { "Messages of " (text(topic)) } None => "Messages" } }
                @if topic.is_some() { a href=(link::query("/outbox", &[("state", state_word)])) { "Of all topics" } }
            }
            nav class="tabs" aria-label="State" {
                a href=(link::query("/outbox", &[("topic", topic.as_deref())])) aria-current=[standing.is_none().then_some("true")] { "All" }
                @for (state, word) in STATES {
                    a href=(link::query("/outbox", &[("topic", topic.as_deref()), ("state", Some(state.as_str()))])) aria-current=[(standing == Some(state)).then_some("true")] { (word) }
                }
            }
            div id="list" data-live {
                @if found.is_empty() { (none(standing.is_none() && topic.is_none())) } @else {
                    div class="sheet" {
                        (table(&found))
                        @if is_more { div class="pager" {
                            span class="soft" { "The newest " (count(found.len() as u64)) }
                            @if most == FEW { a href=(link::query("/outbox", &[("topic", topic.as_deref()), ("state", state_word), ("more", Some("yes"))])) { "Up to " (count(MANY as u64)) } }
                        } }
                    }
                }
            }
        }
    };
    Ok(Page::new(Place::Outbox, "Outbox", body)
        .about(html! { "Messages about changes, written with the rows that changed, delivered apart from them." })
        .live()
        .shown(&app, &visitor))
}

fn none(is_all: bool) -> Markup {
    if !is_all {
        return empty("No such message", html! { p { a href="/outbox" { "All messages" } } });
    }
    empty(
        "The outbox is empty",
        html! {
            p { "A pipeline tells others of its changes when it says so; each real change is one message, a repeat is none:" }
            (command("notify: [{on: [inserted, updated], topic: orders-changed}]"))
        },
    )
}

fn topics(visitor: &Visitor, depths: &[Depth]) -> Markup {
    html! {
        section aria-labelledby="by-topic" {
            h2 id="by-topic" { "Topics with something to do" }
            div class="sheet" { table class="cards" {
                caption class="unseen" { "Topics that have messages to deliver, dead letters or a pause" }
                thead { tr { th scope="col" { "Topic" } th scope="col" { "State" } th scope="col" class="num" { "Pending" } th scope="col" class="num" { "Failed before" } th scope="col" { "Oldest" } th scope="col" class="num" { "Dead" } th scope="col" { "Actions" } } }
                tbody { @for one in depths { (topic_row(visitor, one)) } }
            } }
        }
    }
}

fn topic_row(visitor: &Visitor, one: &Depth) -> Markup {
    let can = visitor.may_operate_all();
    html! {
        tr {
            th scope="row" { a href=(link::query("/outbox", &[("topic", Some(&one.topic))])) { (text(&one.topic)) } }
            td data-label="State" {
                @match &one.paused {
                    Some((left, why)) => { div { (state(Tone::Warn, &format!("pauses, {} more", lasting(*left)))) div class="soft small" { (long(why, 120)) } } }
                    None if one.dead > 0 => (state(Tone::Bad, "has dead letters")),
                    None if one.retrying > 0 => (state(Tone::Warn, "tries again")),
                    None => (state(Tone::Good, "goes")),
                }
            }
            td class="num" data-label="Pending" { (count(one.pending)) }
            td class="num" data-label="Failed before" { (count(one.retrying)) }
            td data-label="Oldest" { @match one.oldest { Some(oldest) => (lasting(oldest)), None => span class="soft" { "none" } } }
            td class="num" data-label="Dead" { (count(one.dead)) }
            td class=[(!can || (one.paused.is_none() && one.dead == 0)).then_some("idle")] data-label="Actions" {
                @if can { div class="acts" {
                    @if one.paused.is_some() { (button(visitor, "/outbox/resume", &[("topic", &one.topic)], "", "Resume now")) }
                    @if one.dead > 0 { (button(visitor, "/outbox/redrive", &[("topic", &one.topic)], "", "Redrive dead")) }
                } }
            }
        }
    }
}

fn table(found: &[Entry]) -> Markup {
    html! {
        table class="cards" {
            caption class="unseen" { "Messages, newest first" }
            thead { tr { th scope="col" { "Message" } th scope="col" { "State" } th scope="col" { "Topic" } th scope="col" { "About" } th scope="col" { "Enqueued (UTC)" } th scope="col" class="num" { "Attempts" } th scope="col" { "Last answer" } } }
            tbody { @for one in found {
                tr {
                    th scope="row" { a href={ "/outbox/" (one.message.id) } { span class="id nowrap" { (one.message.id.to_string().get(..13).unwrap_or_default()) } } }
                    td data-label="State" { (standing(one)) }
                    td data-label="Topic" { (text(&one.message.topic)) }
                    td data-label="About" { (text(&one.message.kind)) " " (entity(&one.message.entity)) }
                    td data-label="Enqueued (UTC)" { (time(&one.enqueued_at)) }
                    td class="num" data-label="Attempts" { (one.attempts) }
                    td class=[one.answer.is_none().then_some("idle")] data-label="Last answer" { @if let Some(answer) = &one.answer { (long(answer, 60)) } }
                }
            } }
        }
    }
}

fn standing(one: &Entry) -> Markup {
    match one.state {
        Standing::Pending if one.leased.is_some() => state(Tone::None, "under way"),
        Standing::Pending if one.attempts > 0 => state(Tone::Warn, "tries again"),
        Standing::Pending => state(Tone::None, "waits"),
        Standing::Sent => state(Tone::Good, "sent"),
        Standing::Dead => state(Tone::Bad, "dead"),
        Standing::Discarded => state(Tone::None, "discarded"),
    }
}
