//! Which loads fell short: told from the inbox alone.

use std::collections::BTreeMap;

use landonce_store::repair::lost::Load;
use uuid::Uuid;

use super::report::{BeforeLoad, LostLoad};
use crate::ingest::{EARLIER, median};

/// What the loads tell.
#[derive(Debug, Default)]
pub(super) struct Short {
    /// Loads that fell short and took rows away, oldest first; with none of their rows yet.
    pub(super) loads: Vec<(LostLoad, Since)>,
    /// The load that was named is there.
    pub(super) has_named: bool,
}

/// What has landed since of the same table, or period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    /// No full load: what the load took away is missing still.
    NoFull,
    /// A full one: what is retired still was missing there too.
    Full,
}

/// What a load replaced: a period, or the snapshot. Other loads take nothing away.
pub(super) fn label(batch_id: &str) -> Option<&str> {
    let (label, number) = batch_id.rsplit_once('#')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(label)
}

/// Whether so many records are too few.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
pub(super) fn is_short(read: u64, median: u64, share: f64) -> bool {
    (read as f64) < (1.0 - share) * median as f64
}

/// Finds them. A load is compared with those before it of the same period (or of the snapshot), as a load is weighed before it
/// lands: the median of the last seven, back to the last that a person has released. A load that is `named` needs not
/// be short.
pub(super) fn short(loads: &[Load], share: f64, named: Option<Uuid>) -> Short {
    let mut groups: BTreeMap<&str, Vec<&Load>> = BTreeMap::new();
    for load in loads {
        if let Some(label) = label(&load.settled.batch_id) {
            groups.entry(label).or_default().push(load);
        }
    }
    let mut found = Short::default();
    for group in groups.values() {
        let mut is_low = vec![false; group.len()];
        for at in 0..group.len() {
            let (settled, outcome) = (&group[at].settled, &group[at].settled.outcome);
            let mut reads = Vec::new();
            for earlier in group[..at].iter().rev().take(EARLIER) {
                reads.push(earlier.settled.outcome.read);
                if earlier.is_released {
                    break;
                }
            }
            let usual = median(&reads);
            is_low[at] = usual.is_some_and(|usual| is_short(outcome.read, usual, share));
            let is_named = named == Some(settled.run_id);
            found.has_named |= is_named;
            let is_asked = if named.is_some() { is_named } else { is_low[at] };
            if !is_asked || outcome.retired + outcome.removed == 0 {
                continue;
            }
            let later = &group[at + 1..];
            let is_full = |later: &&Load| {
                let read = later.settled.outcome.read;
                usual.map_or(read > outcome.read, |usual| !is_short(read, usual, share))
            };
            let since = if later.iter().any(is_full) { Since::Full } else { Since::NoFull };
            let before = (0..at).rev().find(|&before| !is_low[before]).map(|before| &group[before].settled);
            let load = LostLoad {
                run_id: settled.run_id,
                batch_id: settled.batch_id.clone(),
                source: settled.source.clone(),
                landed_at: settled.settled_at.clone(),
                is_released: group[at].is_released,
                read: outcome.read,
                median: usual,
                earlier: reads.len() as u64,
                retired: outcome.retired,
                removed: outcome.removed,
                lost: 0,
                first_rows: Vec::new(),
                later_loads: later.len() as u64,
                before: before.map(|before| BeforeLoad {
                    batch_id: before.batch_id.clone(),
                    digest: hex::encode(before.digest),
                    landed_at: before.settled_at.clone(),
                    read: before.outcome.read,
                }),
            };
            found.loads.push((load, since));
        }
    }
    found.loads.sort_by(|(one, _), (other, _)| one.landed_at.cmp(&other.landed_at));
    found
}

#[cfg(test)]
mod tests {
    use landonce_core::outcome::Outcome;
    use landonce_store::inbox::Settled;

    use super::*;

    /// Loads of one snapshot: records, rows taken away, released.
    fn loads(of: &[(u64, u64, bool)]) -> Vec<Load> {
        let load = |(at, &(read, retired, is_released)): (usize, &(u64, u64, bool))| Load {
            settled: Settled {
                pipeline: "p".to_owned(),
                batch_id: format!("snapshot#{}", at + 1),
                digest: [at as u8; 32],
                run_id: Uuid::from_u128(at as u128),
                source: "s".to_owned(),
                outcome: Outcome { read, retired, ..Outcome::default() },
                settled_at: format!("2026-01-{:02}T00:00:00Z", at + 1),
            },
            is_released,
        };
        of.iter().enumerate().map(load).collect()
    }

    fn found(of: &[(u64, u64, bool)]) -> Vec<(String, Since)> {
        let short = short(&loads(of), 0.2, None);
        short.loads.into_iter().map(|(load, since)| (load.batch_id, since)).collect()
    }

    #[test]
    fn a_load_is_short_of_the_ones_before_it_and_takes_rows_away() {
        assert_eq!(found(&[(100, 0, false), (50, 50, true)]), [("snapshot#2".to_owned(), Since::NoFull)]);
        assert_eq!(found(&[(100, 0, false), (50, 0, true)]), [], "it took nothing away");
        assert_eq!(found(&[(100, 0, false), (80, 20, true)]), [], "exactly a fifth");
        assert_eq!(found(&[(50, 50, false)]), [], "nothing came before");
    }

    #[test]
    fn a_full_load_since_makes_up_for_it_and_a_released_one_is_the_new_measure() {
        let full = [(100, 0, false), (50, 50, true), (99, 0, false)];
        assert_eq!(found(&full), [("snapshot#2".to_owned(), Since::Full)]);
        let shrunk = [(100, 0, false), (50, 50, true), (50, 1, false)];
        assert_eq!(found(&shrunk), [("snapshot#2".to_owned(), Since::NoFull)]);
    }

    #[test]
    fn the_load_before_is_the_last_full_one() {
        let short = short(&loads(&[(100, 0, false), (50, 50, false), (30, 20, false)]), 0.2, None);
        let before: Vec<u64> =
            short.loads.iter().filter_map(|(load, _)| Some(load.before.as_ref()?.read)).collect();
        assert_eq!(before, [100, 100]);
    }

    #[test]
    fn a_named_load_need_not_be_short() {
        let all = loads(&[(100, 0, false), (95, 5, false)]);
        assert_eq!(short(&all, 0.2, Some(Uuid::from_u128(1))).loads.len(), 1);
        assert!(!short(&all, 0.2, Some(Uuid::from_u128(9))).has_named);
    }
}
