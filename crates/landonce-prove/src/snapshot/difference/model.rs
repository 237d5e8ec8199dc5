//! The comparison against a naive model that counts in memory, for any rows in any order and any size of buckets.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::snapshot::{Change, Column};

/// A row: its key, content, stamp, id and version.
type Cells = (Option<u8>, u8, u8, u32, u8);

/// The table `t` with these rows.
fn snapshot(folder: &Path, name: &str, rows: &[Cells], key: &[&str]) -> Snapshot {
    let cell = |key: Option<u8>| key.map_or("\\N".to_owned(), |key| key.to_string());
    let text: String = rows
        .iter()
        .map(|(key, content, stamp, id, version)| {
            format!("{version}\t{}\t{content}\t{stamp}\t{id}\n", cell(*key))
        })
        .collect();
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    let columns = ["key", "content", "stamp", "id"]
        .into_iter()
        .map(|name| Column {
            name: name.to_owned(),
            type_name: String::new(),
            is_generated: name == "id",
            default: None,
            references: None,
        })
        .collect();
    let key: Vec<String> = key.iter().map(|&name| name.to_owned()).collect();
    let unique = if key.is_empty() { Vec::new() } else { vec![key.clone()] };
    let table = Table { columns, rows: rows.len() as u64, key, unique, incarnation: String::new(), file };
    Snapshot {
        tables: BTreeMap::from([("t".to_owned(), table)]),
        sequences: BTreeMap::new(),
        prepared: Vec::new(),
        objects: Vec::new(),
    }
}

fn content() -> Content {
    let list = |column: &str| BTreeMap::from([("t".to_owned(), vec![column.to_owned()])]);
    Content { varying: list("stamp"), generated: list("id"), ..Content::default() }
}

/// How often each value is there.
fn counted<T: Ord>(rows: &[Cells], part: impl Fn(&Cells) -> T) -> BTreeMap<T, u64> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(part(row)).or_default() += 1;
    }
    counts
}

/// How many can be matched one to one.
fn matched<T: Ord>(one: &[Cells], other: &[Cells], part: impl Fn(&Cells) -> T) -> u64 {
    let others = counted(other, &part);
    counted(one, &part).iter().map(|(value, count)| *count.min(others.get(value).unwrap_or(&0))).sum()
}

/// What is counted, without columns and samples.
fn counts(found: &TableDifference) -> [u64; 7] {
    let it = found;
    [it.added, it.removed, it.changed, it.doubled, it.restamped, it.renumbered, it.rewritten]
}

fn compared(one: &[Cells], other: &[Cells], key: &[&str], size: u64) -> TableDifference {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (snapshot(folder.path(), "one", one, key), snapshot(folder.path(), "other", other, key));
    within_by(&a, &b, &content(), size).unwrap().tables.remove("t").unwrap_or_default()
}

fn rows(most: usize) -> impl Strategy<Value = Vec<Cells>> {
    let row = (prop::option::weighted(0.9, 0_u8..3), 0_u8..3, 0_u8..2, 0_u32..3, 0_u8..2);
    prop::collection::vec(row, 0..most)
}

/// Rows whose ids are unique.
fn numbered(most: usize) -> impl Strategy<Value = Vec<Cells>> {
    rows(most).prop_map(|mut rows| {
        for (number, row) in rows.iter_mut().enumerate() {
            row.3 += 3 * number as u32 / 2;
        }
        rows.sort_by_key(|row| row.3);
        rows.dedup_by_key(|row| row.3);
        rows
    })
}

/// Rows whose keys are unique.
fn keyed(most: usize) -> impl Strategy<Value = Vec<Cells>> {
    let row = (0_u8..3, 0_u8..2, 0_u32..3, 0_u8..2);
    prop::collection::btree_map(0_u8..30, row, 0..most)
        .prop_map(|map| {
            map.into_iter().map(|(key, (a, b, c, d))| (Some(key), a, b, c, d)).collect::<Vec<_>>()
        })
        .prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_rows_are_counted_as_multisets(one in rows(30), other in rows(30), size in 1_u64..40) {
        let found = compared(&one, &other, &[], size);
        let levels = [
            matched(&one, &other, |row| (row.0, row.1)),
            matched(&one, &other, |row| (row.0, row.1, row.2)),
            matched(&one, &other, |row| (row.0, row.1, row.2, row.3)),
            matched(&one, &other, |row| *row),
        ];
        let before = counted(&one, |row| (row.0, row.1));
        let doubled = counted(&other, |row| (row.0, row.1))
            .iter()
            .filter_map(|(group, now)| before.get(group).map(|before| now.saturating_sub(*before)))
            .sum::<u64>();
        let expected = [
            other.len() as u64 - levels[0],
            one.len() as u64 - levels[0],
            0,
            doubled,
            levels[0] - levels[1],
            levels[1] - levels[2],
            levels[2] - levels[3],
        ];
        prop_assert_eq!(counts(&found), expected);
        prop_assert_eq!(found.restamped_columns.is_empty(), found.restamped == 0);
    }

    #[test]
    fn rows_with_a_key_are_paired_by_it(one in keyed(20), other in keyed(20), size in 1_u64..40) {
        let found = compared(&one, &other, &["key"], size);
        let before: BTreeMap<_, _> = one.iter().map(|row| (row.0, row)).collect();
        let pairs: Vec<_> = other
            .iter()
            .filter_map(|row| before.get(&row.0).map(|before| (*before, row)))
            .filter(|(before, after)| before.1 != after.1)
            .collect();
        prop_assert_eq!(found.changed, pairs.len() as u64);
        prop_assert_eq!(found.doubled, 0);
        let differs = |part: fn(&Cells) -> u32| pairs.iter().any(|(before, after)| part(before) != part(after));
        let columns = [
            ("content", differs(|row| row.1.into())),
            ("stamp", differs(|row| row.2.into())),
            ("id", differs(|row| row.3)),
        ];
        let expected: Vec<&str> = columns.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        prop_assert_eq!(&found.changed_columns, &expected);
        let shown = found.samples.iter().filter(|sample| sample.change == Change::Changed).count();
        prop_assert_eq!(shown > 0, !pairs.is_empty());
        for sample in &found.samples {
            prop_assert_ne!(sample.change, Change::Doubled);
        }
    }

    #[test]
    fn rows_known_by_a_made_up_id_are_paired_where_their_content_went_and_came(
        one in numbered(20), other in numbered(20), size in 1_u64..40,
    ) {
        let found = compared(&one, &other, &["id"], size);
        let (a, b) = (counted(&one, |row| (row.0, row.1)), counted(&other, |row| (row.0, row.1)));
        let many = |counts: &BTreeMap<_, u64>, row: &Cells| counts.get(&(row.0, row.1)).copied().unwrap_or(0);
        let pairs: Vec<(&Cells, &Cells)> = one
            .iter()
            .filter(|row| many(&a, row) > many(&b, row))
            .filter_map(|row| Some((row, other.iter().find(|it| it.3 == row.3 && many(&b, it) > many(&a, it))?)))
            .collect();
        let went: Vec<Cells> = pairs.iter().map(|(before, _)| **before).collect();
        let came: Vec<Cells> = pairs.iter().map(|(_, after)| **after).collect();
        // Of a group no more can be half of a pair than it has lost, or gained.
        let within = |rows: &[Cells], more: &BTreeMap<(Option<u8>, u8), u64>, fewer: &BTreeMap<_, u64>| -> u64 {
            counted(rows, |row| (row.0, row.1))
                .iter()
                .map(|(group, paired)| (*paired).min(more[group] - fewer.get(group).unwrap_or(&0)))
                .sum()
        };
        let changed = (pairs.len() as u64).min(within(&went, &a, &b)).min(within(&came, &b, &a));
        prop_assert_eq!(found.changed, changed);
        prop_assert!(found.doubled + found.changed <= found.added);
    }

    #[test]
    fn the_order_of_rows_means_nothing(
        (one, shuffled) in rows(30).prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        size in 1_u64..40,
    ) {
        prop_assert_eq!(compared(&one, &shuffled, &[], size), TableDifference::default());
    }
}
