//! What follows every fault: what the run claimed, and what the clean re-run makes of it that an orchestrator would start.

use super::stage::{Clean, Stage};
use super::stand::{Conditions, Stand, how};
use crate::class::Class;
use crate::command::Ended;
use crate::error::Result;
use crate::judge::{self, Draft, Wrong};
use crate::snapshot::{self, Snapshot};
use crate::wire::Entry;

/// How a fault went.
pub(crate) struct Healed {
    /// What is wrong right after the faulted run, if it claimed success.
    pub(crate) at_once: Option<Wrong>,
    /// What is wrong after the clean re-run, if there was one that ended well.
    pub(crate) afterwards: Option<Wrong>,
    /// How the re-run ended, if it failed.
    pub(crate) stuck: Option<Ended>,
    /// Tables of which half could be seen before the re-run.
    pub(crate) half: Vec<String>,
    /// What the re-run did.
    pub(crate) log: Vec<Entry>,
    /// Whether prepared transactions were left by the faulted run.
    pub(crate) prepared: Vec<String>,
}

/// Compares after a faulted run, runs again, compares again.
pub(crate) async fn heal(
    stage: &Stage<'_>,
    clean: &Clean,
    stand: &mut Stand<'_, '_>,
    faulted: &Ended,
) -> Result<Healed> {
    let left = stand.snapshot().await?;
    let mut healed = Healed {
        at_once: None,
        afterwards: None,
        stuck: None,
        half: Vec::new(),
        log: Vec::new(),
        prepared: left.prepared.clone(),
    };
    if faulted.is_success() {
        let wrong = against_one(clean, &left)?;
        let is_right = wrong.is_nothing();
        healed.at_once = Some(wrong);
        // A pipeline that can't be repeated is not made to: `twice` has told that.
        if !is_right || !clean.is_all_repeatable() {
            return Ok(healed);
        }
    } else {
        let from_base = snapshot::across(&clean.base, &left, &clean.content)?;
        let from_one = snapshot::across(&clean.one, &left, &clean.content)?;
        healed.half = judge::is_half(&from_base, &from_one);
    }
    let _ = stage;
    let mut ended = stand.run("clean re-run", &Conditions::default()).await?;
    if !ended.is_success() && !faulted.is_success() && !ended.is_timed_out {
        // Once more: an orchestrator has more than one retry.
        ended = stand.run("second clean re-run", &Conditions::default()).await?;
    }
    healed.log = stand.logs.last().cloned().unwrap_or_default();
    let after = stand.snapshot().await?;
    let wrong = against_one(clean, &after)?;
    if ended.is_success() {
        healed.afterwards = Some(wrong);
    } else if !wrong.is_nothing() {
        healed.stuck = Some(ended);
    } else {
        // It refuses to do again what is done: the state is right.
        healed.afterwards = Some(wrong);
    }
    Ok(healed)
}

/// What is wrong against one clean run.
pub(crate) fn against_one(clean: &Clean, found: &Snapshot) -> Result<Wrong> {
    let difference = snapshot::across(&clean.one, found, &clean.content)?;
    Ok(Wrong::of(&difference, &|name| is_per_run(clean, name)))
}

/// Whether a name is one that every run makes anew, or came up where they do.
pub(crate) fn is_per_run(clean: &Clean, name: &str) -> bool {
    clean.per_run.iter().any(|known| {
        known == name
            || (!clean.one.tables.contains_key(name) && stem(known) == stem(name) && !stem(name).is_empty())
    })
}

/// A name without what varies in it: digits, and hex after the last underscore.
fn stem(name: &str) -> String {
    let cut = name.trim_end_matches(|c: char| c.is_ascii_hexdigit() || c == '_' || c == '-');
    cut.to_owned()
}

/// The findings that are the same whatever the fault was: what is left behind, a re-run that never succeeds, a hang.
pub(crate) fn usual(fault: &str, faulted: &Ended, healed: &Healed, clean: &Clean) -> Vec<Draft> {
    let mut drafts = Vec::new();
    if faulted.is_timed_out {
        drafts.push(Draft::new(
            Class::Hangs,
            format!(
                "After {fault} the command never ended: it was killed after {:.0} s, where a clean run takes {:.1} s.",
                faulted.took.as_secs_f64(),
                clean.took.as_secs_f64()
            ),
        ));
    }
    if let Some(ended) = healed.stuck.as_ref().filter(|ended| ended.is_timed_out) {
        drafts.push(Draft::new(
            Class::Hangs,
            format!(
                "After {fault} the next run never ended: it was killed after {:.0} s, where a clean run takes {:.1} s.",
                ended.took.as_secs_f64(),
                clean.took.as_secs_f64()
            ),
        ));
    } else if let Some(ended) = &healed.stuck {
        drafts.push(Draft::new(
            Class::Stuck,
            format!(
                "After {fault} the next runs fail as well: the re-run {}; its last words: {}",
                how(ended),
                ended.last_words()
            ),
        ));
    }
    let left = healed.afterwards.iter().chain(&healed.at_once).flat_map(|wrong| wrong.left.iter());
    let mut left: Vec<String> = left.cloned().collect();
    left.sort();
    left.dedup();
    if !left.is_empty() {
        drafts.push(Draft::new(
            Class::StagingLeft,
            format!("After {fault} and a clean re-run something is left behind: {}.", judge::list(&left)),
        ));
    }
    let still_prepared = healed.afterwards.as_ref().map_or(&healed.prepared, |wrong| &wrong.prepared);
    if !still_prepared.is_empty() {
        drafts.push(Draft::new(
            Class::PreparedLeft,
            format!(
                "After {fault} a prepared transaction is left ({}): it holds its locks, and keeps vacuum from working, until \
                 somebody ends it by hand.",
                judge::list(still_prepared)
            ),
        ));
    }
    if !healed.half.is_empty() && healed.afterwards.as_ref().is_some_and(Wrong::is_data_right) {
        drafts.push(Draft::new(
            Class::HalfVisible,
            format!(
                "After {fault} a part of the load could be seen in {} until the next run.",
                judge::list(&healed.half)
            ),
        ));
    }
    drafts
}
