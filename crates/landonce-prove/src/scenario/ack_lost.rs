//! `ack-lost`: the server does a COMMIT (or a write outside of a transaction), and the connection is cut before its answer.

use super::heal::{heal, usual};
use super::moments::spread;
use super::outcome::{Outcome, Shown};
use super::stage::{Clean, Stage};
use super::stand::{Conditions, Leftovers, Stand, how};
use crate::class::Class;
use crate::error::Result;
use crate::judge::{Draft, Wrong, likely_statement, shortened};
use crate::wire::{At, Fault, Kind};

/// The trials.
pub(crate) async fn run(stage: &Stage<'_>, clean: &Clean) -> Outcome {
    let mut outcome = Outcome::default();
    if !stage.has_wire() {
        outcome.because("SQLite has no wire, and no answer to lose");
        return outcome;
    }
    let ends: Vec<u64> = clean
        .log
        .iter()
        .filter(|entry| entry.write > 0 && (entry.kind == Kind::Commit || !entry.is_in_transaction))
        .map(|entry| entry.write)
        .collect();
    if ends.is_empty() {
        outcome.because("no COMMIT and no write outside of a transaction was seen");
        return outcome;
    }
    let most = stage.plan.trials.div_ceil(2).max(2);
    for nth in spread(ends.len() as u64, most, &mut stage.chance("ack-lost")) {
        let write = ends[nth as usize - 1];
        let text = clean.write(write).map_or("COMMIT", |entry| entry.text.as_str());
        let name = format!(
            "answer lost after write {write} of {} was done ({})",
            clean.writes(),
            shortened(text, 50)
        );
        let id = format!("ack-lost:{write}");
        outcome.trial(stage, &id, &name, async || trial(stage, clean, write, &name).await).await;
    }
    outcome
}

async fn trial(stage: &Stage<'_>, clean: &Clean, write: u64, name: &str) -> Result<(Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    let conditions = Conditions { faults: vec![Fault::CutAnswer(At::Write(write))], ..Conditions::default() };
    let going = stand.begin("faulted run", &conditions).await?;
    let armed = going.armed.clone();
    let ended = stand.finish(going).await?;
    if !armed.iter().any(crate::wire::Armed::has_fired) {
        let why = "the run ended before that write came: it doesn't always do the same writes";
        return Ok((stand.give_back().await?, Shown::Unjudged(why.to_owned())));
    }
    stand.fault(name);
    let log = stand.logs.last().cloned().unwrap_or_default();
    let healed = heal(stage, clean, &mut stand, &ended).await?;
    let fault = format!("the {name}");
    let mut drafts = usual(&fault, &ended, &healed, clean);
    let claimed = healed.at_once.as_ref().filter(|wrong| !wrong.is_data_right());
    let later = healed.afterwards.as_ref().filter(|wrong| !wrong.is_data_right());
    if let Some(wrong) = claimed.or(later) {
        let class = class(wrong, clean, claimed.is_some());
        let whose = if claimed.is_some() {
            format!("the command went on and {}", how(&ended))
        } else {
            format!("the command {}, and was run again", how(&ended))
        };
        let tables = wrong.tables();
        let statement = likely_statement(if claimed.is_some() { &log } else { &healed.log }, &tables);
        drafts.push(
            Draft::new(
                class,
                format!(
                    "With {fault}, {whose}: {}. {}.",
                    wrong.words(),
                    if class == Class::BookkeepingApart {
                        "What is done is recorded apart from the data"
                    } else {
                        "Whether the write had happened was guessed, not looked up"
                    }
                ),
            )
            .tables(tables)
            .statement(statement),
        );
    }
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

/// What kind of fault leaves this after a lost answer. Where a repeat changes nothing, the command does look what is done: a wrong
/// state after the next run then means that what it looks at was written apart from the data.
fn class(wrong: &Wrong, clean: &Clean, is_claimed: bool) -> Class {
    let too_many = !wrong.doubled.is_empty() || !wrong.extra.is_empty() || !wrong.changed.is_empty();
    let after_a_rerun = super::killed::class(wrong, clean);
    match (too_many, is_claimed) {
        (_, false) if after_a_rerun == Class::BookkeepingApart => after_a_rerun,
        (true, _) => Class::BlindReplay,
        (false, true) => Class::FalseSuccess,
        (false, false) => Class::PartialLoad,
    }
}
