//! How two snapshots differ: which tables to compare, and everything that isn't a table.

use std::collections::{BTreeMap, BTreeSet};

use super::content::WHOLE;
use super::multiset::{self, BUCKET, Fields};
use super::roles::{Role, Roles};
use super::table::{self, Moments};
use super::{Content, Difference, Snapshot, Table, TableDifference};
use crate::error::Result;

pub(super) fn within(before: &Snapshot, after: &Snapshot, content: &Content) -> Result<Difference> {
    within_by(before, after, content, BUCKET)
}

pub(super) fn across(expected: &Snapshot, found: &Snapshot, content: &Content) -> Result<Difference> {
    across_by(expected, found, content, BUCKET)
}

fn within_by(before: &Snapshot, after: &Snapshot, content: &Content, size: u64) -> Result<Difference> {
    let mut difference = besides(before, after, content);
    let mut still = BTreeSet::new();
    let mut moved = BTreeMap::new();
    for (name, one, other) in both(before, after, content) {
        let roles = Roles::new(name, one, other, content, |_| false, true);
        let equal = multiset::are_equal(one, other, &table::levels(&roles))?;
        let is_same_table = one.incarnation == other.incarnation && has_same_columns(one, other);
        if equal[2] {
            still.insert(name.as_str());
        }
        if !(equal.iter().all(|is_equal| *is_equal) && is_same_table) {
            moved.insert(name, (roles, equal));
        }
    }
    for (name, (roles, equal)) in moved {
        let (one, other) = (&before.tables[name], &after.tables[name]);
        let anchored = Roles::new(name, one, other, content, |table| still.contains(table), true);
        let is_as_before = anchored.fields(&[Role::Stable]) == roles.fields(&[Role::Stable]);
        let equal =
            if is_as_before { equal } else { multiset::are_equal(one, other, &table::levels(&anchored))? };
        let found = Moments { one, other, roles: &anchored, size }.within(&equal)?;
        keep(&mut difference, name, found);
    }
    Ok(difference)
}

fn across_by(expected: &Snapshot, found: &Snapshot, content: &Content, size: u64) -> Result<Difference> {
    let mut difference = besides(expected, found, content);
    difference.vanished.retain(|name| !content.unstable.contains(name));
    difference.appeared.retain(|name| !content.unstable.contains(name));
    for (name, one, other) in both(expected, found, content) {
        if content.unstable.contains(name) {
            difference.skipped.push(name.clone());
            continue;
        }
        let roles = Roles::new(name, one, other, content, |_| false, false);
        let stable = roles.fields(&[Role::Stable]);
        if has_same_columns(one, other) && multiset::are_equal(one, other, &[stable])?[0] {
            continue;
        }
        let found = Moments { one, other, roles: &roles, size }.across()?;
        keep(&mut difference, name, found);
    }
    Ok(difference)
}

pub(super) fn is_any(base: &Snapshot, later: &Snapshot) -> Result<bool> {
    let nothing = Content::default();
    if base.sequences != later.sequences || besides(base, later, &nothing) != Difference::default() {
        return Ok(true);
    }
    for (_, one, other) in both(base, later, &nothing) {
        let fields: Vec<usize> = (0..=one.columns.len()).collect();
        if one.columns != other.columns
            || one.rows != other.rows
            || one.incarnation != other.incarnation
            || !multiset::are_equal(one, other, &[Fields { one: fields.clone(), other: fields }])?[0]
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn keep(difference: &mut Difference, name: &str, found: TableDifference) {
    let nothing = TableDifference {
        rows_before: found.rows_before,
        rows_after: found.rows_after,
        ..TableDifference::default()
    };
    if found != nothing {
        difference.tables.insert(name.to_owned(), found);
    }
}

/// The tables that both have, without those that the user leaves out.
fn both<'a>(
    one: &'a Snapshot,
    other: &'a Snapshot,
    content: &'a Content,
) -> impl Iterator<Item = (&'a String, &'a Table, &'a Table)> {
    one.tables
        .iter()
        .filter(|(name, _)| !content.is_ignored(name, WHOLE))
        .filter_map(|(name, table)| Some((name, table, other.tables.get(name)?)))
}

fn has_same_columns(one: &Table, other: &Table) -> bool {
    let names =
        |table: &Table| table.columns.iter().map(|column| column.name.clone()).collect::<BTreeSet<_>>();
    names(one) == names(other)
}

/// All but the rows.
fn besides(one: &Snapshot, other: &Snapshot, content: &Content) -> Difference {
    let tables = |here: &Snapshot, there: &Snapshot| {
        let names = here.tables.keys().filter(|name| !there.tables.contains_key(*name));
        names.filter(|name| !content.is_ignored(name, WHOLE)).cloned().collect()
    };
    Difference {
        vanished: tables(one, other),
        appeared: tables(other, one),
        prepared: only(&other.prepared, &one.prepared),
        objects_appeared: only(&other.objects, &one.objects),
        objects_vanished: only(&one.objects, &other.objects),
        ..Difference::default()
    }
}

fn only(here: &[String], there: &[String]) -> Vec<String> {
    let there: BTreeSet<&String> = there.iter().collect();
    here.iter().filter(|name| !there.contains(name)).cloned().collect()
}

#[cfg(test)]
mod model;
