//! The answer to "why is this row so": the row, every delivery of its identity that can be known, and what can't be known.

use landonce::history::{Decision, Delivery, History, Kept, Message};
use maud::{Markup, html};

use crate::page::layout::empty;
use crate::page::show::{self, Tone, id, long, shape, state, tail, text, time};
use crate::page::{batches, link};

/// A record's history.
pub(super) fn shown(history: &History) -> Markup {
    html! {
        (row(history))
        section aria-labelledby="deliveries" {
            h2 id="deliveries" { "Every delivery that is known, newest first" }
            @if history.deliveries.is_empty() {
                (empty("No delivery is known", html! { p { "No batch that can be looked into had this record. What can't be known is said below." } }))
            } @else {
                ol class="sheet trail" reversed { @for one in history.deliveries.iter().rev() { (delivery(&history.pipeline, one)) } }
            }
        }
        (kept(&history.kept))
        (messages(&history.messages))
        section aria-labelledby="unknown" {
            h2 id="unknown" { "What isn't known" }
            ul class="sheet pad stack soft" { @for sentence in &history.unknown { li { (text(sentence)) } } }
        }
    }
}

fn row(history: &History) -> Markup {
    html! {
        section aria-labelledby="row" {
            div class="lead" {
                h2 id="row" { "The row in " (text(&history.table)) }
                @match &history.row {
                    None => (state(Tone::None, "there is none")),
                    Some(row) if row.retired_at.is_some() => (state(Tone::Warn, "retired")),
                    Some(_) => (state(Tone::Good, "stands")),
                }
            }
            @if let Some(row) = &history.row {
                div class="sheet pad" { dl class="facts" {
                    @for cell in &row.columns { dt { (text(&cell.column)) } dd { (show::cell(&cell.json, 200)) } }
                    @if let Some(revision) = row.revision { dt { "Really changed" } dd { (revision) @if revision == 1 { " time" } @else { " times" } } }
                    @if let Some(at) = &row.retired_at { dt { "Retired since" } dd { (text(at)) } }
                } }
            } @else {
                (empty("There is no such row", html! { p { "It was never delivered, it was bad, or it has been deleted since." } }))
            }
            p class="soft small" { "Key " (id(&history.key)) }
        }
    }
}

fn tone(decided: Option<Decision>) -> Tone {
    match decided {
        Some(Decision::Quarantined | Decision::Conflict) => Tone::Bad,
        Some(Decision::Deleted | Decision::Removed | Decision::Retired) => Tone::Warn,
        Some(decision) if decision.is_change() => Tone::Good,
        _ => Tone::None,
    }
}

fn delivery(pipeline: &str, one: &Delivery) -> Markup {
    let tone = tone(one.decided);
    html! {
        li {
            (shape(tone))
            p class="when" { (time(&one.at)) }
            div {
                p {
                    b class={ "state " (tone.class()) } { (one.decided.map_or("not known what was decided", Decision::as_str)) }
                    " by batch " a href=(link::batch(pipeline, &one.batch_id)) { (batches::name(&one.batch_id)) }
                    @if let Some(number) = one.record { ", record № " (number) }
                    @if one.is_standing { " " span class="stands" { "the row is as this left it" } }
                }
                p class="soft small" { "From " (tail(&one.source, 60)) ", run " (id(&one.run_id.to_string())) ". Known " (one.known_by.as_str()) "." }
            }
        }
    }
}

fn kept(kept: &[Kept]) -> Markup {
    html! {
        @if !kept.is_empty() {
            section aria-labelledby="kept" {
                h2 id="kept" { "Kept in the quarantine" }
                ul class="waits plain" { @for one in kept {
                    li { (shape(Tone::Warn)) div class="what" { b { (long(&one.why, 200)) } span class="soft" { (time(&one.at)) " UTC" } } a class="button go" href={ "/quarantine/" (one.id) } { "Mend" } }
                } }
            }
        }
    }
}

fn messages(messages: &[Message]) -> Markup {
    html! {
        @if !messages.is_empty() {
            section aria-labelledby="told" {
                h2 id="told" { "Who was told" }
                div class="sheet" { table class="cards" {
                    caption class="unseen" { "Messages about this record, newest first" }
                    thead { tr { th scope="col" { "Message" } th scope="col" { "Topic" } th scope="col" { "Change" } th scope="col" { "State" } th scope="col" { "Enqueued (UTC)" } } }
                    tbody { @for one in messages {
                        tr {
                            th scope="row" { a href={ "/outbox/" (one.id) } { span class="id nowrap" { (one.id.to_string().get(..13).unwrap_or_default()) } } }
                            td data-label="Topic" { (text(&one.topic)) }
                            td data-label="Change" { (text(&one.kind)) }
                            td data-label="State" { (state(match one.state { "sent" => Tone::Good, "dead" => Tone::Bad, _ => Tone::None }, one.state)) }
                            td data-label="Enqueued (UTC)" { (time(&one.enqueued_at)) }
                        }
                    } }
                } }
            }
        }
    }
}
