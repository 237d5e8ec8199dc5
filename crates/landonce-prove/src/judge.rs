//! What differences mean: the one place that makes findings of them.
//!
//! [`repeat`] judges a second run on the same input within one clone; [`Wrong`] sorts what is wrong after a fault, against
//! what one clean run leaves, and each scenario says which class that is an instance of.

mod evidence;
mod repeat;
mod run_log;
mod staging;
mod wrong;

pub(crate) use evidence::{figures, is_named, likely_statement, list, shortened};
pub(crate) use repeat::repeat;
pub(crate) use run_log::is_run_log;
pub(crate) use staging::is_staging;
pub(crate) use wrong::{Wrong, is_half, names_per_run};

use crate::class::{Class, Weight};
use crate::database::Kind;
use crate::plan::Plan;
use crate::report::{Evidence, Finding};
use crate::scenario::Scenario;

/// A finding of one trial.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// What kind.
    pub(crate) class: Class,
    /// The class's, unless this instance harms nothing.
    pub(crate) weight: Weight,
    /// In one or two sentences.
    pub(crate) message: String,
    /// Where it shows.
    pub(crate) tables: Vec<Evidence>,
    /// What likely does it.
    pub(crate) statement: Option<String>,
}

impl Draft {
    /// One with its class's weight and nothing else to show.
    pub(crate) fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, weight: class.weight(), message: message.into(), tables: Vec::new(), statement: None }
    }

    /// Harms nothing here.
    pub(crate) fn remark(mut self) -> Self {
        self.weight = Weight::Remark;
        self
    }

    /// Where it shows.
    pub(crate) fn tables(mut self, tables: Vec<Evidence>) -> Self {
        self.tables = tables;
        self
    }

    /// What likely does it.
    pub(crate) fn statement(mut self, statement: Option<String>) -> Self {
        self.statement = statement;
        self
    }
}

/// The drafts of a scenario's trials as findings: one per class, weight and set of tables, however many trials show it; violations first.
pub(crate) fn findings(
    plan: &Plan,
    kind: Kind,
    scenario: Scenario,
    drafts: Vec<(String, String, Draft)>,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for (id, name, draft) in drafts {
        let tables = |evidence: &[Evidence]| -> Vec<String> {
            evidence.iter().map(|evidence| evidence.table.clone()).collect()
        };
        let known = findings.iter_mut().find(|finding| {
            finding.class == draft.class
                && finding.weight == draft.weight
                && tables(&finding.tables) == tables(&draft.tables)
        });
        if let Some(known) = known {
            known.trials.push(name);
            continue;
        }
        findings.push(Finding {
            class: draft.class,
            weight: draft.weight,
            message: draft.message,
            tables: draft.tables,
            statement: draft.statement,
            fix: draft.class.fix(kind).to_owned(),
            sql: draft.class.sql(kind).map(str::to_owned),
            docs: draft.class.docs(),
            replay: plan.replay(scenario, &id),
            trials: vec![name],
        });
    }
    findings.sort_by_key(|finding| (finding.weight, finding.class));
    findings
}
