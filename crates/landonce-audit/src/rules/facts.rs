//! What the rules ask about: statements ([`write`]), the order of steps and their transactions ([`flow`]), tables and
//! their keys ([`tables`]), values ([`value`]), and calls to the outside ([`effect`]). No rule is in here.

pub(crate) mod effect;
pub(crate) mod flow;
pub(crate) mod tables;
pub(crate) mod value;
pub(crate) mod write;

use std::collections::BTreeSet;
use std::fmt;

use sqlparser::ast::Statement as Tree;

use crate::code::{Span, Unit};
use crate::file::Language;
use crate::rule::{Hit, Level};
use crate::schema::{Schema, Table};
use crate::sql::Statement;

use flow::{Flow, Habit, What};
use tables::Name;

/// A project, walked through.
pub(crate) struct Facts<'a> {
    schema: &'a Schema,
    /// Every function of every file that is neither a test nor a migration.
    pub(crate) flows: Vec<Flow<'a>>,
    /// Tables that are created as temporary ones somewhere.
    temporary: BTreeSet<String>,
}

impl<'a> Facts<'a> {
    /// Walks through everything, once for all rules.
    pub(crate) fn of(units: &'a [Unit], schema: &'a Schema) -> Self {
        let mut flows = Vec::new();
        let mut temporary = BTreeSet::new();
        for (index, unit) in units.iter().enumerate() {
            if tables::is_test(&unit.path) {
                continue;
            }
            let is_left_out = tables::is_migration(unit);
            let habit = Habit::of(unit);
            let tests = tests_from(unit);
            for function in unit.functions.iter().filter(|it| it.span.start < tests) {
                let flow = Flow::of(index, unit, function, &habit);
                for event in &flow.events {
                    if let What::Sql { statement, .. } = event.what
                        && let Tree::CreateTable(create) = &statement.tree
                        && create.temporary
                    {
                        temporary.insert(Name::of(&create.name).bare);
                    }
                }
                if !is_left_out {
                    flows.push(flow);
                }
            }
        }
        Self { schema, flows, temporary }
    }

    /// The functions of one file.
    pub(crate) fn of_unit(&self, index: usize) -> &[Flow<'a>] {
        let start = self.flows.partition_point(|flow| flow.index < index);
        let end = self.flows.partition_point(|flow| flow.index <= index);
        &self.flows[start..end]
    }

    /// What is known of a table's columns and keys.
    pub(crate) fn table(&self, name: &Name) -> Option<&'a Table> {
        self.schema.table(&name.full)
    }

    /// Whether what came is looked at for being all there before a step: in its function, or in another one of the file that
    /// ends the run otherwise.
    pub(crate) fn is_checked_complete(&self, flow: &Flow<'_>, at: usize) -> bool {
        flow.is_checked_complete(at)
            || self.flows.iter().any(|other| other.index == flow.index && other.is_stopping_incomplete())
    }

    /// Whether a table lives for one run only, by its declaration or by its name.
    pub(crate) fn is_staging(&self, name: &Name) -> bool {
        self.temporary.contains(&name.bare) || tables::is_staging_name(name)
    }
}

/// Where the tests of a Rust file begin: by custom they are its last module.
fn tests_from(unit: &Unit) -> usize {
    let found = (unit.language == Language::Rust).then(|| unit.text.find("#[cfg(test)]\nmod ")).flatten();
    found.unwrap_or(usize::MAX)
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facts").field("flows", &self.flows.len()).finish_non_exhaustive()
    }
}

/// A finding in a file.
pub(super) fn hit(unit: usize, span: Span, level: Level, message: String, fix: String) -> Hit {
    Hit { unit: Some(unit), span, level, message, fix, is_fix_safe: false }
}

/// Where a nested statement stands: as precise as its keyword and its table can be found.
pub(super) fn place(statement: &Statement, keywords: &str, name: &Name) -> Span {
    let found = statement.find(&format!("{keywords} {}", name.written));
    if found == statement.span { statement.find(keywords) } else { found }
}
