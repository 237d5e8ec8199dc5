//! What a scenario's trials have come to, while they are being made.

use super::Scenario;
use super::stage::Stage;
use super::stand::Leftovers;
use crate::class::{Class, Weight};
use crate::error::Result;
use crate::judge::{self, Draft};
use crate::report::{Moment, Run, ScenarioReport, Trial, Verdict};

/// After so many trials in which the command never ended the scenario is given up.
const ENOUGH_HANGS: usize = 2;

/// A scenario in the making.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    trials: Vec<Trial>,
    drafts: Vec<(String, String, Draft)>,
    because: Option<String>,
}

/// What one trial has shown.
pub(crate) enum Shown {
    /// These findings; none is fine.
    Judged(Vec<Draft>),
    /// Nothing that could be judged, and why.
    Unjudged(String),
}

impl Outcome {
    /// Why the scenario as a whole can't be judged, or what part of it can't.
    pub(crate) fn because(&mut self, why: impl Into<String>) {
        self.because = Some(why.into());
    }

    /// Makes a trial, unless the user asks for others only. A trial that can't be made is one that couldn't be judged: the
    /// others go on.
    pub(crate) async fn trial(
        &mut self,
        stage: &Stage<'_>,
        id: &str,
        name: &str,
        make: impl AsyncFnOnce() -> Result<(Leftovers, Shown)>,
    ) {
        if stage.plan.only.as_deref().is_some_and(|only| only != id) {
            return;
        }
        if self.hangs() >= ENOUGH_HANGS {
            self.because("the other moments were not tried: the command had hung twice, and each time costs its time-out");
            return;
        }
        stage.say(&format!("  {name}"));
        let (timeline, runs, shown) = match make().await {
            Ok((left, shown)) => (left.timeline, left.runs, shown),
            Err(error) => (Vec::new(), Vec::new(), Shown::Unjudged(error.whole())),
        };
        self.add(id, name, timeline, runs, shown);
    }

    /// In how many trials the command never ended.
    fn hangs(&self) -> usize {
        self.drafts.iter().filter(|(_, _, draft)| draft.class == Class::Hangs).count()
    }

    /// Adds a trial that has been made.
    pub(crate) fn add(&mut self, id: &str, name: &str, timeline: Vec<Moment>, runs: Vec<Run>, shown: Shown) {
        let (verdict, because) = match shown {
            Shown::Judged(drafts) => {
                let verdict = if drafts.iter().any(|draft| draft.weight == Weight::Violation) {
                    Verdict::Violations
                } else {
                    Verdict::Safe
                };
                self.drafts.extend(drafts.into_iter().map(|draft| (id.to_owned(), name.to_owned(), draft)));
                (verdict, None)
            }
            Shown::Unjudged(why) => (Verdict::Unjudged, Some(why)),
        };
        self.trials.push(Trial {
            name: name.to_owned(),
            id: id.to_owned(),
            timeline,
            runs,
            verdict,
            because,
        });
    }

    /// The report: violations if any trial has one, else unjudged unless at least one trial was judged.
    pub(crate) fn report(self, stage: &Stage<'_>, scenario: Scenario) -> ScenarioReport {
        let has = |verdict| self.trials.iter().any(|trial| trial.verdict == verdict);
        let verdict = if has(Verdict::Violations) {
            Verdict::Violations
        } else if has(Verdict::Safe) {
            Verdict::Safe
        } else {
            Verdict::Unjudged
        };
        let unjudged = || self.trials.iter().find_map(|trial| trial.because.clone());
        ScenarioReport {
            scenario,
            verdict,
            because: self.because.clone().or_else(unjudged),
            findings: judge::findings(stage.plan, stage.source.kind(), scenario, self.drafts),
            trials: self.trials,
        }
    }
}
