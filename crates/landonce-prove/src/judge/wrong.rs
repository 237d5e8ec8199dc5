//! What is wrong after a fault, against what clean runs leave.

use super::evidence::figures;
use super::run_log::is_run_log;
use crate::report::Evidence;
use crate::snapshot::{Difference, Snapshot};

/// What is wrong, sorted. Tables that differ in several ways are in several lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wrong {
    /// Rows that are there more often than they should.
    pub(crate) doubled: Vec<Evidence>,
    /// Rows that should not be there at all.
    pub(crate) extra: Vec<Evidence>,
    /// Rows that are missing.
    pub(crate) missing: Vec<Evidence>,
    /// Rows with other values.
    pub(crate) changed: Vec<Evidence>,
    /// Tables and other objects that should not be there.
    pub(crate) left: Vec<String>,
    /// Tables that should be there.
    pub(crate) vanished: Vec<String>,
    /// Prepared transactions.
    pub(crate) prepared: Vec<String>,
}

impl Wrong {
    /// Sorts a difference from what is expected to what was found. `per_run` tells of names that every clean run makes anew:
    /// they are no leftovers of the fault.
    pub(crate) fn of(difference: &Difference, per_run: &dyn Fn(&str) -> bool) -> Self {
        let mut wrong = Self::default();
        for (table, rows) in &difference.tables {
            let evidence = figures(table, rows);
            // One more row in a log of runs is a run more, and no row of data.
            let new = if is_run_log(table) { 0 } else { rows.added.saturating_sub(rows.changed) };
            let doubled = rows.doubled.min(new);
            if doubled > 0 {
                wrong.doubled.push(evidence.clone());
            }
            if new > doubled {
                wrong.extra.push(evidence.clone());
            }
            if rows.removed > rows.changed {
                wrong.missing.push(evidence.clone());
            }
            if rows.changed > 0 {
                wrong.changed.push(evidence);
            }
        }
        let leftovers = difference.appeared.iter().chain(&difference.objects_appeared);
        wrong.left = leftovers.filter(|name| !per_run(name)).cloned().collect();
        wrong.vanished = difference.vanished.iter().filter(|name| !per_run(name)).cloned().collect();
        wrong.prepared.clone_from(&difference.prepared);
        wrong
    }

    /// Whether rows, tables and transactions are as they should be.
    pub(crate) fn is_nothing(&self) -> bool {
        self.is_data_right() && self.left.is_empty() && self.prepared.is_empty()
    }

    /// Whether the rows are as they should be.
    pub(crate) fn is_data_right(&self) -> bool {
        self.doubled.is_empty()
            && self.extra.is_empty()
            && self.missing.is_empty()
            && self.changed.is_empty()
            && self.vanished.is_empty()
    }

    /// The figures in words: `500 rows too many in a, 3 missing from b`.
    pub(crate) fn words(&self) -> String {
        let mut said = Vec::new();
        for evidence in self.doubled.iter().chain(&self.extra) {
            let rows = evidence.added.saturating_sub(evidence.changed);
            said.push(format!(
                "{rows} too many in {} ({} instead of {})",
                evidence.table, evidence.found, evidence.expected
            ));
        }
        for evidence in &self.missing {
            let rows = evidence.removed.saturating_sub(evidence.changed);
            said.push(format!(
                "{rows} missing from {} ({} instead of {})",
                evidence.table, evidence.found, evidence.expected
            ));
        }
        for evidence in &self.changed {
            said.push(format!("{} with other values in {}", evidence.changed, evidence.table));
        }
        for table in &self.vanished {
            said.push(format!("{table} is gone"));
        }
        said.dedup();
        match said.len() {
            0 => "nothing".to_owned(),
            1..=4 => said.join(", "),
            more => format!("{}, and {} more", said[..4].join(", "), more - 4),
        }
    }

    /// Every table with wrong rows, once.
    pub(crate) fn tables(&self) -> Vec<Evidence> {
        let mut tables: Vec<Evidence> = Vec::new();
        for evidence in self.doubled.iter().chain(&self.extra).chain(&self.missing).chain(&self.changed) {
            if tables.iter().all(|known| known.table != evidence.table) {
                tables.push(evidence.clone());
            }
        }
        tables
    }
}

/// Whether some table holds neither what it held before nor what a clean run leaves.
pub(crate) fn is_half(from_base: &Difference, from_expected: &Difference) -> Vec<String> {
    from_base
        .tables
        .iter()
        .filter(|(table, rows)| {
            rows.rows_before != rows.rows_after
                && from_expected.tables.get(*table).is_some_and(|rows| rows.removed > 0)
        })
        .map(|(table, _)| table.clone())
        .collect()
}

/// Names that only one of two clean runs has left: every run makes its own.
pub(crate) fn names_per_run(one: &Snapshot, other: &Snapshot) -> Vec<String> {
    let names = |snapshot: &Snapshot| -> Vec<String> {
        snapshot.tables.keys().cloned().chain(snapshot.objects.iter().cloned()).collect()
    };
    let (one, other) = (names(one), names(other));
    one.iter()
        .filter(|name| !other.contains(name))
        .chain(other.iter().filter(|name| !one.contains(name)))
        .cloned()
        .collect()
}
