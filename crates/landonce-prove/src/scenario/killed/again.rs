//! `killed`, in a repeat: what a whole run has left may be taken away by one transaction and brought back by another, and a
//! kill between the two shows it. On an empty table the first run has nothing to take away.

use crate::class::Class;
use crate::command::Ended;
use crate::error::Result;
use crate::judge::{Draft, Wrong, likely_statement, list, shortened};
use crate::scenario::heal::{against_one, is_per_run};
use crate::scenario::moments::spread;
use crate::scenario::outcome::{Outcome, Shown};
use crate::scenario::stage::{Clean, Stage};
use crate::scenario::stand::{Conditions, Leftovers, Stand, how};
use crate::snapshot;
use crate::wire::{Armed, At, Fault, Kind};

/// How many moments are tried: each costs three runs.
const MOST: usize = 2;

/// The trials: none where a repeat does all in one transaction, or where `twice` has told already what it does.
pub(super) async fn run(stage: &Stage<'_>, clean: &Clean, outcome: &mut Outcome) {
    if !stage.has_wire() || !clean.is_all_repeatable() {
        return;
    }
    let is_end = |kind: Kind, is_in_transaction: bool| kind == Kind::Commit || !is_in_transaction;
    let ends: Vec<_> = clean
        .second_log
        .iter()
        .filter(|entry| entry.write > 0 && is_end(entry.kind, entry.is_in_transaction))
        .collect();
    // After the last one all is there again.
    let between = ends.len().saturating_sub(1) as u64;
    for nth in spread(between, MOST, &mut stage.chance("killed again")) {
        let entry = ends[nth as usize - 1];
        let id = format!("killed:again:{}", entry.write);
        let name = format!(
            "killed in a repeat, when write {} was done ({})",
            entry.write,
            shortened(&entry.text, 50)
        );
        outcome.trial(stage, &id, &name, async || trial(stage, clean, entry.write, &name).await).await;
    }
}

async fn trial(stage: &Stage<'_>, clean: &Clean, write: u64, name: &str) -> Result<(Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    stand.run("first run", &Conditions::default()).await?;
    let before = stand.snapshot().await?;
    let conditions =
        Conditions { faults: vec![Fault::HoldAnswer(At::Write(write))], ..Conditions::default() };
    let mut going = stand.begin("repeat", &conditions).await?;
    let armed = going.armed.first().cloned();
    let fired = async {
        match &armed {
            Some(armed) => armed.fired().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = fired => {}
        ended = going.running.ended_within(stage.limit()) => { ended?; }
    }
    if !armed.as_ref().is_some_and(Armed::has_fired) {
        stand.kill(going).await?;
        let why = "the repeat ended before that moment came: it doesn't always do the same writes";
        return Ok((stand.give_back().await?, Shown::Unjudged(why.to_owned())));
    }
    stand.fault(name);
    stand.kill(going).await?;
    let log = stand.logs.last().cloned().unwrap_or_default();
    let between = stand.snapshot().await?;
    let difference = snapshot::within(&before, &between, &clean.content)?;
    let half = Wrong::of(&difference, &|name| is_per_run(clean, name));

    let mut ended = stand.run("clean re-run", &Conditions::default()).await?;
    if !ended.is_success() && !ended.is_timed_out {
        ended = stand.run("second clean re-run", &Conditions::default()).await?;
    }
    let after = stand.snapshot().await?;
    let wrong = against_one(clean, &after)?;
    let mut drafts = Vec::new();
    if !ended.is_success() && !wrong.is_nothing() {
        drafts.push(never_healed(name, &ended).statement(likely_statement(&log, &wrong.tables())));
    } else if !wrong.is_data_right() {
        let tables = wrong.tables();
        drafts.push(
            Draft::new(
                super::class(&wrong, clean),
                format!("Being {name}, then run again: {}.", wrong.words()),
            )
            .statement(likely_statement(&log, &tables))
            .tables(tables),
        );
    } else if !half.missing.is_empty() || !half.vanished.is_empty() {
        let gone: Vec<String> = half
            .missing
            .iter()
            .map(|evidence| {
                format!(
                    "{} of {} rows of {}",
                    evidence.removed.saturating_sub(evidence.changed),
                    evidence.expected,
                    evidence.table
                )
            })
            .chain(half.vanished.iter().map(|table| format!("the table {table}")))
            .collect();
        drafts.push(
            Draft::new(
                Class::HalfVisible,
                format!(
                    "Being {name}: {} were gone until the next run. They are taken away in one transaction and brought back \
                     in another.",
                    list(&gone)
                ),
            )
            .statement(likely_statement(&log, &half.missing))
            .tables(half.missing),
        );
    }
    if !wrong.left.is_empty() {
        drafts.push(Draft::new(
            Class::StagingLeft,
            format!("Being {name}, then run again, something is left behind: {}.", list(&wrong.left)),
        ));
    }
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

/// The runs after the kill fail, or don't end.
fn never_healed(name: &str, ended: &Ended) -> Draft {
    if ended.is_timed_out {
        return Draft::new(Class::Hangs, format!("After being {name} the next run never ended."));
    }
    Draft::new(
        Class::Stuck,
        format!(
            "After being {name} the next runs fail as well: the re-run {}; its last words: {}",
            how(ended),
            ended.last_words()
        ),
    )
}
