//! `killed`: SIGKILL at the k-th write, before and after it is done, and at the very end; then a clean run.

mod again;

use std::time::Duration;

use rand::rngs::StdRng;

use super::heal::{Healed, heal, usual};
use super::moments::spread;
use super::outcome::{Outcome, Shown};
use super::stage::{Clean, Stage};
use super::stand::{Conditions, Halt, Leftovers, Stand};
use crate::class::Class;
use crate::error::Result;
use crate::judge::{Draft, Wrong, likely_statement, shortened};
use crate::watch::Watch;
use crate::wire::{At, Fault};

/// When the command dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// Before the server gets the n-th write.
    Before(u64),
    /// When the server has done it, before the command knows.
    After(u64),
    /// When the command closes its connection.
    Close,
    /// Just after the n-th change of its file, where there is no wire.
    Change(u64),
    /// At so many thousandths of its time, where there is neither.
    Share(u64),
}

/// The trials.
pub(crate) async fn run(stage: &Stage<'_>, clean: &Clean) -> Outcome {
    let mut outcome = Outcome::default();
    for moment in moments(stage, clean) {
        let (id, name) = (id(moment), name(moment, clean));
        outcome.trial(stage, &id, &name, async || trial(stage, clean, moment, &name).await).await;
    }
    again::run(stage, clean, &mut outcome).await;
    outcome
}

fn moments(stage: &Stage<'_>, clean: &Clean) -> Vec<Moment> {
    let (last, most) = (clean.writes(), stage.plan.trials);
    let mut chance = stage.chance("killed");
    if !stage.has_wire() {
        if !clean.changes.is_empty() {
            let changes = spread(clean.changes.len() as u64, most, &mut chance);
            return changes.into_iter().map(Moment::Change).collect();
        }
        return spread(1000, most, &mut chance).into_iter().map(Moment::Share).collect();
    }
    on_the_wire(last, most, &mut chance)
}

/// The end of the run is where most goes wrong: after the last write, before the command knows; before it; after the command
/// knows. Few moments must hold one from the middle of the work: at the end of the run all is written.
fn on_the_wire(last: u64, most: usize, chance: &mut StdRng) -> Vec<Moment> {
    let mut chosen = vec![Moment::After(last), Moment::Before(last), Moment::Close, Moment::After(1)];
    // Two ways of dying at each of the others.
    let others = spread(last, most.saturating_sub(2), chance);
    for (at, write) in others.into_iter().enumerate() {
        chosen.push(if at % 2 == 0 { Moment::After(write) } else { Moment::Before(write) });
    }
    let mut kept: Vec<Moment> = Vec::new();
    for moment in chosen {
        if kept.len() < most && !kept.contains(&moment) {
            kept.push(moment);
        }
    }
    kept.sort_unstable();
    kept
}

fn id(moment: Moment) -> String {
    match moment {
        Moment::Before(write) => format!("killed:before:{write}"),
        Moment::After(write) => format!("killed:after:{write}"),
        Moment::Close => "killed:close".to_owned(),
        Moment::Change(change) => format!("killed:change:{change}"),
        Moment::Share(share) => format!("killed:at:{share}"),
    }
}

fn name(moment: Moment, clean: &Clean) -> String {
    let of = |write: u64| {
        let text =
            clean.write(write).map_or_else(String::new, |entry| format!(" ({})", shortened(&entry.text, 50)));
        format!("write {write} of {}{text}", clean.writes())
    };
    match moment {
        Moment::Before(write) => format!("killed before {}", of(write)),
        Moment::After(write) => format!("killed when {} was done, before it knew", of(write)),
        Moment::Close => "killed after the last write, when it closed its connection".to_owned(),
        Moment::Change(change) => format!("killed just after {}", clean.change(change)),
        Moment::Share(share) => format!("killed at {}.{} % of its time", share / 10, share % 10),
    }
}

async fn trial(stage: &Stage<'_>, clean: &Clean, moment: Moment, name: &str) -> Result<(Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    let fault = match moment {
        Moment::Before(write) => Some(Fault::Hold(At::Write(write))),
        Moment::After(write) => Some(Fault::HoldAnswer(At::Write(write))),
        Moment::Close => Some(Fault::Hold(At::Close(clean.writes()))),
        Moment::Change(_) | Moment::Share(_) => None,
    };
    let halt = match moment {
        Moment::Change(change) => Some((change, Halt::Kill)),
        _ => None,
    };
    let conditions = Conditions { faults: fault.into_iter().collect(), halt, ..Conditions::default() };
    let mut going = stand.begin("faulted run", &conditions).await?;
    let is_reached = match moment {
        Moment::Share(share) => {
            let wait = clean.took * share as u32 / 1000;
            going.running.ended_within(wait).await?.is_none()
        }
        Moment::Change(_) => {
            // The signal comes from the watch: whether it came before the end, the end tells.
            let ended = going.running.ended(stage.limit()).await?;
            let is_killed = !ended.is_timed_out && ended.signal.is_some();
            is_killed && going.watch.as_ref().is_some_and(Watch::has_fired)
        }
        _ => {
            let armed = going.armed.first().cloned();
            let fired = async {
                match &armed {
                    Some(armed) => armed.fired().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = fired => true,
                ended = going.running.ended_within(stage.limit()) => { ended?; false }
            }
        }
    };
    let is_over = going.running.ended_within(Duration::ZERO).await?;
    if let (false, Some(ended)) = (is_reached, is_over.clone()) {
        // It ended before that moment came.
        stand.keep(going, ended).await?;
        // A command doesn't wait for its good-bye to be heard: it may be through by itself before the signal comes.
        if matches!(moment, Moment::Share(_) | Moment::Close) {
            return Ok((stand.give_back().await?, Shown::Judged(Vec::new())));
        }
        return Ok((
            stand.give_back().await?,
            Shown::Unjudged(
                "the run ended before that moment came: it doesn't always do the same writes".to_owned(),
            ),
        ));
    }
    stand.fault(name);
    let ended = match is_over {
        Some(ended) => stand.keep(going, ended).await?,
        None => stand.kill(going).await?,
    };
    let healed = heal(stage, clean, &mut stand, &ended).await?;
    let drafts = judge(name, &ended, &healed, clean);
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

fn judge(fault: &str, ended: &crate::command::Ended, healed: &Healed, clean: &Clean) -> Vec<Draft> {
    let mut drafts = usual(&format!("being {fault}"), ended, healed, clean);
    let Some(wrong) = healed.afterwards.as_ref().or(healed.at_once.as_ref()) else { return drafts };
    if wrong.is_data_right() {
        return drafts;
    }
    let class = class(wrong, clean);
    let why = match class {
        Class::Appended => "the run that was killed had already written, and the re-run wrote it again",
        Class::BookkeepingApart => "what is done is recorded apart from the data",
        Class::Accumulated => "what the killed run had changed was changed again",
        _ => "what the killed run had left was taken for whole, or added to",
    };
    let tables = wrong.tables();
    let statement = likely_statement(&healed.log, &tables).or_else(|| likely_statement(&clean.log, &tables));
    drafts.push(
        Draft::new(class, format!("Being {fault}, then run again: {}. It seems that {why}.", wrong.words()))
            .tables(tables)
            .statement(statement),
    );
    drafts
}

/// What kind of fault leaves this after a kill and a re-run.
pub(crate) fn class(wrong: &Wrong, clean: &Clean) -> Class {
    let is_repeatable = |evidence: &crate::report::Evidence| clean.is_repeatable(&evidence.table);
    if !wrong.missing.is_empty() || !wrong.vanished.is_empty() {
        // A table that keeps the books is complete while the data is not.
        let whole = |table: &String| wrong.tables().iter().all(|evidence| &evidence.table != table);
        let keeps_books = clean.one.tables.iter().any(|(table, rows)| {
            whole(table)
                && rows.rows > 0
                && clean.base.tables.get(table).is_none_or(|base| base.rows < rows.rows)
        });
        return if keeps_books || clean.has_state { Class::BookkeepingApart } else { Class::PartialLoad };
    }
    let too_many = || wrong.doubled.iter().chain(&wrong.extra);
    if too_many().next().is_some() {
        if too_many().all(is_repeatable) {
            return Class::BookkeepingApart;
        }
        let is_whole =
            |evidence: &crate::report::Evidence| evidence.added >= evidence.expected && evidence.expected > 0;
        return if too_many().all(is_whole) { Class::Appended } else { Class::PartialLoad };
    }
    if wrong.changed.iter().all(is_repeatable) { Class::BookkeepingApart } else { Class::Accumulated }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn few_moments_hold_one_before_all_is_written() {
        for most in 2..9 {
            let moments = on_the_wire(9, most, &mut StdRng::seed_from_u64(1));
            assert_eq!(moments.len(), most, "{moments:?}");
            assert!(moments.contains(&Moment::After(9)), "{moments:?}");
            assert!(moments.contains(&Moment::Before(9)), "{moments:?}");
        }
    }
}
