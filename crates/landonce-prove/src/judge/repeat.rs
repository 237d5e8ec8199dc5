//! A second run on the same input, within one clone: what it adds, changes, removes, stamps and rewrites.

use super::Draft;
use super::evidence::{figures, likely_statement, list};
use super::run_log::is_run_log;
use crate::class::Class;
use crate::report::Evidence;
use crate::snapshot::{Difference, Snapshot, TableDifference};
use crate::wire::Entry;

/// The findings of a repeat. `after` is the state that the difference leads to, `log` the statements of the repeat.
pub(crate) fn repeat(difference: &Difference, after: &Snapshot, log: &[Entry]) -> Vec<Draft> {
    let mut by_class: Vec<(Class, Vec<Evidence>)> = Vec::new();
    let mut run_logs: Vec<Evidence> = Vec::new();
    for (table, rows) in &difference.tables {
        for class in classes(rows, &|column| is_stamp(after, table, column)) {
            let evidence = figures(table, rows);
            if class == Class::Appended && is_run_log(table) {
                run_logs.push(evidence);
                continue;
            }
            match by_class.iter_mut().find(|(known, _)| *known == class) {
                Some((_, tables)) => tables.push(evidence),
                None => by_class.push((class, vec![evidence])),
            }
        }
    }
    let mut drafts: Vec<Draft> = by_class
        .into_iter()
        .map(|(class, tables)| {
            let statement = likely_statement(log, &tables);
            Draft::new(class, message(class, &tables)).tables(tables).statement(statement)
        })
        .collect();
    if !run_logs.is_empty() {
        let names: Vec<String> = run_logs.iter().map(|evidence| evidence.table.clone()).collect();
        let said = format!("The second run logged itself in {}, which grows with every run.", list(&names));
        drafts.push(Draft::new(Class::Appended, said).tables(run_logs).remark());
    }
    if !difference.vanished.is_empty() {
        drafts.push(Draft::new(
            Class::Removed,
            format!("The second run on the same input dropped {}.", list(&difference.vanished)),
        ));
    }
    if !difference.appeared.is_empty() {
        drafts.push(Draft::new(
            Class::StagingLeft,
            format!("The second run left another table: {}.", list(&difference.appeared)),
        ));
    }
    if !difference.prepared.is_empty() {
        drafts.push(Draft::new(
            Class::PreparedLeft,
            format!("The second run left a prepared transaction: {}.", list(&difference.prepared)),
        ));
    }
    drafts
}

/// The classes that a table's difference is an instance of.
fn classes(rows: &TableDifference, is_stamp: &dyn Fn(&str) -> bool) -> Vec<Class> {
    let mut classes = Vec::new();
    let (new, gone) = (rows.added.saturating_sub(rows.changed), rows.removed.saturating_sub(rows.changed));
    if new > 0 {
        classes.push(Class::Appended);
    }
    if gone > 0 {
        classes.push(Class::Removed);
    }
    if rows.changed > 0 {
        // A stamp that doesn't vary between two clean runs (a date, a run id that is given) is a stamp all the same.
        let is_only_stamped =
            !rows.changed_columns.is_empty() && rows.changed_columns.iter().all(|column| is_stamp(column));
        classes.push(if is_only_stamped { Class::Restamped } else { Class::Accumulated });
    }
    if rows.restamped > 0 && !classes.contains(&Class::Restamped) {
        classes.push(Class::Restamped);
    }
    if rows.renumbered > 0 {
        classes.push(Class::Renumbered);
    }
    if rows.rewritten > 0 {
        classes.push(Class::Rewritten);
    }
    classes
}

/// Whether a column looks like provenance: a moment by its type, or a run by its name.
fn is_stamp(snapshot: &Snapshot, table: &str, column: &str) -> bool {
    let type_name = snapshot
        .tables
        .get(table)
        .and_then(|table| table.columns.iter().find(|known| known.name == column))
        .map_or("", |known| known.type_name.as_str())
        .to_lowercase();
    let name = column.to_lowercase();
    type_name.starts_with("timestamp")
        || type_name.starts_with("datetime")
        || [
            "run_id",
            "batch_id",
            "load_id",
            "job_id",
            "updated_at",
            "loaded_at",
            "ingested_at",
            "modified_at",
        ]
        .iter()
        .any(|stamp| name.ends_with(stamp))
}

fn message(class: Class, tables: &[Evidence]) -> String {
    let each = |say: &dyn Fn(&Evidence) -> String| -> String {
        let said: Vec<String> = tables.iter().map(say).collect();
        list(&said)
    };
    let columns = |evidence: &Evidence| list(&evidence.columns);
    match class {
        Class::Appended => format!(
            "The second run on the same input added rows: {}.",
            each(&|t| format!(
                "{} to {} ({} → {})",
                t.added - t.changed.min(t.added),
                t.table,
                t.expected,
                t.found
            ))
        ),
        Class::Removed => format!(
            "The second run on the same input deleted rows: {}.",
            each(&|t| format!(
                "{} from {} ({} → {})",
                t.removed - t.changed.min(t.removed),
                t.table,
                t.expected,
                t.found
            ))
        ),
        Class::Accumulated => format!(
            "The second run on the same input changed values: {}.",
            each(&|t| format!("{} rows of {} in {}", t.changed, t.table, columns(t)))
        ),
        Class::Restamped => format!(
            "The second run on the same input gave equal rows a new stamp: {}. They no longer tell which run made them.",
            each(&|t| format!("{} in {}", t.table, columns(t)))
        ),
        Class::Renumbered => format!(
            "The second run gave equal rows new generated ids: {}. Whatever refers to the old ids is cut off.",
            each(&|t| t.table.clone())
        ),
        _ => format!(
            "The second run wrote equal rows anew: {}. It costs dead rows, write-ahead log and triggers for nothing.",
            each(&|t| format!("{} of {} in {}", t.rewritten, t.found, t.table))
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Weight;

    fn classes_of(rows: &TableDifference) -> Vec<Class> {
        classes(rows, &|column| column == "updated_at")
    }

    #[test]
    fn each_kind_of_difference_has_its_class() {
        let none = TableDifference::default;
        assert_eq!(classes_of(&none()), []);
        assert_eq!(classes_of(&TableDifference { added: 3, doubled: 3, ..none() }), [Class::Appended]);
        assert_eq!(classes_of(&TableDifference { removed: 3, ..none() }), [Class::Removed]);
        let changed = TableDifference { added: 3, removed: 3, changed: 3, ..none() };
        assert_eq!(
            classes_of(&TableDifference { changed_columns: vec!["n".into()], ..changed.clone() }),
            [Class::Accumulated]
        );
        assert_eq!(
            classes_of(&TableDifference { changed_columns: vec!["updated_at".into()], ..changed }),
            [Class::Restamped]
        );
        assert_eq!(classes_of(&TableDifference { restamped: 1, ..none() }), [Class::Restamped]);
        assert_eq!(classes_of(&TableDifference { rewritten: 1, ..none() }), [Class::Rewritten]);
        assert_eq!(classes_of(&TableDifference { renumbered: 1, ..none() }), [Class::Renumbered]);
    }

    #[test]
    fn a_tools_log_of_its_runs_grows_as_a_remark() {
        let rows = TableDifference { added: 1, rows_before: 1, rows_after: 2, ..TableDifference::default() };
        let difference = |table: &str| Difference {
            tables: [(table.to_owned(), rows.clone())].into(),
            ..Difference::default()
        };
        let after = Snapshot::default();
        let weights =
            |table| repeat(&difference(table), &after, &[]).iter().map(|it| it.weight).collect::<Vec<_>>();
        assert_eq!(weights("raw._dlt_loads"), [Weight::Remark]);
        assert_eq!(weights("raw.orders"), [Weight::Violation]);
    }

    #[test]
    fn new_rows_beside_changed_ones_are_both_told() {
        let rows = TableDifference {
            added: 5,
            removed: 3,
            changed: 3,
            changed_columns: vec!["n".into()],
            ..TableDifference::default()
        };
        assert_eq!(classes_of(&rows), [Class::Appended, Class::Accumulated]);
    }
}
