//! The key's columns, and the unique constraint on them: whether it is there, and which one would be added.

use landonce_store::repair::{Constraint, Keep, Known};

use super::report::{Added, ConstraintReport};
use super::{Constrain, Dedupe, refused};
use crate::error::Error;

/// PostgreSQL's limit, which SQLite's names may keep as well.
const LONGEST_NAME: usize = 63;

/// The constraint that is missing, if one is and it is wanted.
pub(super) fn constraint(
    known: &Known,
    dedupe: &Dedupe,
    null_keys: u64,
    report: &mut ConstraintReport,
) -> Option<Constraint> {
    let nullable: Vec<&str> = known
        .columns
        .iter()
        .filter(|column| column.is_nullable && dedupe.key.contains(&column.name))
        .map(|column| column.name.as_str())
        .collect();
    // One on fewer columns is stricter. One that takes NULLs for different is enough where no better can be had.
    let enforces = known.unique.iter().find(|unique| {
        unique.columns.iter().all(|column| dedupe.key.contains(column))
            && (unique.is_null_safe || null_keys == 0 || !known.can_guard_nulls)
    });
    if let Some(unique) = enforces {
        report.state = Added::Present;
        report.name = Some(unique.name.clone());
        if !unique.is_null_safe {
            report.note = Some(unguarded(&nullable));
        }
        return None;
    }
    if dedupe.constrain == Constrain::Never {
        return None;
    }
    // SQLite takes two NULLs for different: only an index over expressions doesn't, and ON CONFLICT (columns) can't use
    // that. So it is made where NULLs are, and else one that ON CONFLICT can use.
    let guards_nulls = !nullable.is_empty()
        && known.can_guard_nulls
        && (!known.guards_nulls_by_expressions || null_keys > 0);
    let name = name(known, &dedupe.key);
    report.state = Added::Missing;
    report.name = Some(name.clone());
    report.note = if nullable.is_empty() {
        None
    } else if guards_nulls && known.guards_nulls_by_expressions {
        Some(
            "it is over expressions, so that two NULLs are equal; ON CONFLICT (columns) can't use it"
                .to_owned(),
        )
    } else if guards_nulls {
        Some("NULLS NOT DISTINCT: two NULLs are equal".to_owned())
    } else {
        Some(unguarded(&nullable))
    };
    Some(Constraint { name, columns: dedupe.key.clone(), guards_nulls })
}

fn unguarded(nullable: &[&str]) -> String {
    format!("it doesn't guard rows in which {} is NULL: to it, two NULLs differ", nullable.join(" or "))
}

/// `table_a_b_once`, in the length that names have, and unlike the table's other indexes.
pub(super) fn name(known: &Known, key: &[String]) -> String {
    let mut stem = format!("{}_{}", known.table.name, key.join("_"));
    let is_taken = |name: &str| known.unique.iter().any(|unique| unique.name.eq_ignore_ascii_case(name));
    let mut end = "_once".to_owned();
    let mut nth = 1;
    loop {
        while stem.len() + end.len() > LONGEST_NAME {
            stem.pop();
        }
        let name = format!("{stem}{end}");
        if !is_taken(&name) {
            return name;
        }
        nth += 1;
        end = format!("_once_{nth}");
    }
}

/// Refuses what names columns that aren't there, or that a script can't write.
pub(super) fn has_columns(known: &Known, key: &[String], keep: Option<&Keep>) -> Result<(), Error> {
    let keep = match keep {
        Some(Keep::Earliest(column) | Keep::Latest(column)) => Some(column),
        None => None,
    };
    for name in key.iter().chain(keep) {
        let Some(column) = known.columns.iter().find(|column| &column.name == name) else {
            let names: Vec<&str> = known.columns.iter().map(|column| column.name.as_str()).collect();
            return Err(refused(format!(
                "{} has no column `{name}`; it has {}",
                known.table,
                names.join(", ")
            )));
        };
        if column.is_generated && key.contains(name) {
            return Err(refused(format!(
                "the database computes `{name}`; name the columns that it is computed from"
            )));
        }
    }
    Ok(())
}
