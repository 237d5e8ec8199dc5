//! By which columns a row is the same, where the statement doesn't say: from whoever calls, or from the store's catalogue.

use landonce_core::plan::{TableShape, UniqueIndex};

use super::Target;
use crate::Refused;

/// What is known of the table's keys.
#[derive(Debug, Clone, Copy)]
pub enum Keys<'a> {
    /// Nothing: the statement has to say it.
    Unknown,
    /// These columns are meant.
    Given(&'a [String]),
    /// What the store's catalogue says of the table.
    Catalogue(&'a TableShape),
    /// These columns are meant, and the catalogue has to have a unique index on them.
    Checked(&'a [String], &'a TableShape),
}

/// The key, in the spelling of the statement's columns. `written` are the columns that the statement itself names.
pub(super) fn resolve(
    target: &Target,
    written: Option<Vec<String>>,
    columns: &[String],
    keys: &Keys<'_>,
) -> Result<Vec<String>, Refused> {
    let key = match (target, keys) {
        (Target::Constraint(name), keys) => return Err(constraint(name, keys)),
        (_, Keys::Checked(given, shape)) => {
            is_unique(shape, given)?;
            resolve(target, written, columns, &Keys::Given(given))?
        }
        (Target::Columns(_), Keys::Given(given)) if !same(&written.clone().unwrap_or_default(), given) => {
            return Err(Refused::new(
                format!(
                    "the statement's key is ({}), and ({}) was given",
                    written.unwrap_or_default().join(", "),
                    given.join(", ")
                ),
                "leave one of them out",
            ));
        }
        (Target::Columns(_), keys) => {
            let written = written.unwrap_or_default();
            if let Keys::Catalogue(shape) = keys {
                is_unique(shape, &written)?;
            }
            written
        }
        (_, Keys::Given(given)) => given.to_vec(),
        (Target::PrimaryKey, Keys::Unknown) => {
            return Err(Refused::new(
                "UPSERT finds a row by the table's primary key, which the statement doesn't name",
                "give the key's columns, or a store whose catalogue knows them",
            ));
        }
        (Target::AnyIndex, Keys::Unknown) => {
            return Err(Refused::new(
                "the statement doesn't say which unique index it means, and any of them could find a row",
                "give the key's columns, or a store whose catalogue knows them",
            ));
        }
        (Target::PrimaryKey, Keys::Catalogue(shape)) => {
            match shape.unique.iter().find(|index| index.is_primary) {
                Some(index) => index.columns.clone(),
                None => {
                    return Err(Refused::new(
                        format!("{} has no primary key that UPSERT could find a row by", shape.table),
                        there_are(shape),
                    ));
                }
            }
        }
        (Target::AnyIndex, Keys::Catalogue(shape)) => only_one(shape, columns)?.columns.clone(),
    };
    Ok(key.into_iter().map(|name| as_spelled(name, columns)).collect())
}

/// Without a unique index on exactly these columns, two rows of one key could stand side by side. What a view has isn't seen.
fn is_unique(shape: &TableShape, key: &[String]) -> Result<(), Refused> {
    if shape.is_view || shape.unique.iter().any(|index| same(&index.columns, key)) {
        return Ok(());
    }
    Err(Refused::new(
        format!("no unique index of {} is on exactly {}", shape.table, listed(key)),
        there_are(shape),
    ))
}

/// The primary key if the rows give it, else the one unique index that they give.
fn only_one<'s>(shape: &'s TableShape, columns: &[String]) -> Result<&'s UniqueIndex, Refused> {
    let is_given = |index: &&UniqueIndex| {
        index.columns.iter().all(|name| columns.iter().any(|column| alike(name, column)))
    };
    if let Some(primary) = shape.unique.iter().filter(is_given).find(|index| index.is_primary) {
        return Ok(primary);
    }
    let given: Vec<&UniqueIndex> = shape.unique.iter().filter(is_given).collect();
    match given[..] {
        [one] => Ok(one),
        [] => Err(Refused::new(
            format!(
                "the rows give no unique index of {} all of its columns, so each would be a new one",
                shape.table
            ),
            there_are(shape),
        )),
        _ => {
            let names: Vec<String> = given.iter().map(|index| listed(&index.columns)).collect();
            Err(Refused::new(
                format!(
                    "the statement doesn't say which unique index it means, and {} could each find a row",
                    names.join(" and ")
                ),
                "give the key's columns",
            ))
        }
    }
}

fn constraint(name: &str, keys: &Keys<'_>) -> Refused {
    let what = format!(
        "the constraint `{name}` is no conflict target that every store has, and its columns can change under its name"
    );
    let index = match keys {
        Keys::Catalogue(shape) | Keys::Checked(_, shape) => {
            shape.unique.iter().find(|index| alike(&index.name, name))
        }
        Keys::Given(_) | Keys::Unknown => None,
    };
    match (index, keys) {
        (Some(index), _) => Refused::new(what, format!("write ON CONFLICT {}", listed(&index.columns))),
        (None, Keys::Catalogue(shape) | Keys::Checked(_, shape)) => {
            Refused::new(format!("{} has no unique constraint `{name}`", shape.table), there_are(shape))
        }
        (None, Keys::Given(given)) => Refused::new(what, format!("write ON CONFLICT {}", listed(given))),
        (None, Keys::Unknown) => Refused::new(
            what,
            format!(
                "write ON CONFLICT (its columns), which PostgreSQL tells: SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = '{}'",
                name.replace('\'', "''")
            ),
        ),
    }
}

fn there_are(shape: &TableShape) -> String {
    if shape.unique.is_empty() {
        return format!(
            "make one: CREATE UNIQUE INDEX ON {} (the columns by which a row is the same)",
            shape.table
        );
    }
    let names: Vec<String> = shape.unique.iter().map(|index| listed(&index.columns)).collect();
    format!("it has {}", names.join(", "))
}

fn listed(columns: &[String]) -> String {
    format!("({})", columns.join(", "))
}

fn as_spelled(name: String, columns: &[String]) -> String {
    if columns.contains(&name) {
        return name;
    }
    columns.iter().find(|column| alike(column, &name)).cloned().unwrap_or(name)
}

fn same(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.iter().any(|other| alike(name, other)))
}

fn alike(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}
