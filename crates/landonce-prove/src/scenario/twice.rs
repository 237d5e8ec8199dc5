//! `twice`: the command runs, then runs again on the same input; where it keeps files, also in a fresh folder.

use super::outcome::{Outcome, Shown};
use super::stage::{Clean, Stage};
use super::stand::{Conditions, Stand, how};
use crate::class::Class;
use crate::error::Result;
use crate::judge::{self, Draft};
use crate::snapshot;

/// The trials.
pub(crate) async fn run(stage: &Stage<'_>, clean: &Clean) -> Outcome {
    let mut outcome = Outcome::default();
    if stage.plan.only.as_deref().is_none_or(|only| only == "twice") {
        outcome.add(
            "twice",
            "run again on the same input",
            clean.timeline.clone(),
            clean.runs.clone(),
            Shown::Judged(again(clean)),
        );
    }
    if clean.has_state && clean.is_all_repeatable() {
        outcome
            .trial(
                stage,
                "twice:elsewhere",
                "run again in a fresh folder, as on another machine",
                async || elsewhere(stage, clean).await,
            )
            .await;
    }
    outcome
}

fn again(clean: &Clean) -> Vec<Draft> {
    let mut drafts = judge::repeat(&clean.repeat, &clean.two, &clean.second_log);
    if !clean.second.is_success() {
        // Refusing to repeat is safe; an orchestrator that retries a run that had succeeded still sees a failure.
        drafts.push(
            Draft::new(
                Class::NotRetried,
                format!(
                    "The second run on the same input {}; its last words: {}",
                    how(&clean.second),
                    clean.second.last_words()
                ),
            )
            .remark(),
        );
    }
    drafts
}

async fn elsewhere(stage: &Stage<'_>, clean: &Clean) -> Result<(super::stand::Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    stand.run("first run", &Conditions::default()).await?;
    let before = stand.snapshot().await?;
    stand.elsewhere().await?;
    stand.run("repeat", &Conditions::default()).await?;
    let after = stand.snapshot().await?;
    let difference = snapshot::within(&before, &after, &clean.content)?;
    let log = stand.logs.last().cloned().unwrap_or_default();
    let drafts = judge::repeat(&difference, &after, &log);
    let shown = drafts.into_iter().map(|draft| {
        if draft.weight == crate::class::Weight::Remark {
            return draft;
        }
        let message = format!(
            "What is done is kept in a local file: a second run on another machine, without it, does it again. {}",
            draft.message
        );
        Draft::new(Class::BookkeepingApart, message).tables(draft.tables).statement(draft.statement)
    });
    let shown = Shown::Judged(shown.collect());
    Ok((stand.give_back().await?, shown))
}
