//! How one table differs between two moments: a handful of matchings of its rows, each finer than the one before.

use std::collections::BTreeMap;

use super::changed::{self, Pairs};
use super::multiset::{self, Buckets, ByDigest, EXAMPLES, Fields, Marked, Record};
use super::roles::{Role, Roles, Shared};
use super::row::{Reader, Row};
use super::{Change, Sample, Table, TableDifference, sample};
use crate::error::Result;

/// How far rows are matched: the content, then stamps too, then ids too, then versions too.
pub(super) fn levels(roles: &Roles) -> [Fields; 4] {
    let every = roles.fields(&[Role::Stable, Role::Stamp, Role::Identity]);
    let mut physical = every.clone();
    physical.one.push(0);
    physical.other.push(0);
    [roles.fields(&[Role::Stable]), roles.fields(&[Role::Stable, Role::Stamp]), every, physical]
}

/// Two moments of a table, and what is known of them.
pub(super) struct Moments<'a> {
    pub(super) one: &'a Table,
    pub(super) other: &'a Table,
    pub(super) roles: &'a Roles,
    /// Rows in memory at a time.
    pub(super) size: u64,
}

impl Moments<'_> {
    /// Compares the content only.
    pub(super) fn across(&self) -> Result<TableDifference> {
        let mut found = self.begin();
        let samples = self.rows(&mut found)?.1;
        found.samples = sample::varied(samples);
        Ok(found)
    }

    /// Compares everything; `equal` says for which of the [`levels`] the rows are known to be the same.
    pub(super) fn within(&self, equal: &[bool]) -> Result<TableDifference> {
        let levels = levels(self.roles);
        let mut found = self.begin();
        found.recreated = self.one.incarnation != self.other.incarnation
            && found.columns_added.is_empty()
            && found.columns_dropped.is_empty();
        let mut gained = Marked::default();
        let mut samples = Vec::new();
        if !equal[0] {
            (gained, samples) = self.rows(&mut found)?;
        }
        let with_content = found.rows_after - found.added;
        let mut matched = [with_content; 4];
        let mut stamped = Vec::new();
        for level in 1..4 {
            matched[level] = if equal[level] {
                found.rows_after
            } else if levels[level].one.len() == levels[level - 1].one.len() {
                matched[level - 1]
            } else {
                let partners = multiset::partners(self.one, self.other, &levels[level], &gained, self.size)?;
                if level == 1 {
                    stamped = partners.without;
                }
                partners.count
            };
        }
        found.restamped = matched[0].saturating_sub(matched[1]);
        found.renumbered = matched[1].saturating_sub(matched[2]);
        found.rewritten = if found.recreated { matched[2] } else { matched[2].saturating_sub(matched[3]) };
        if found.restamped > 0 {
            found.restamped_columns = self.restamped_columns(with_content, &found)?;
            samples.push(self.restamped_samples(&stamped)?);
        }
        found.samples = sample::varied(samples);
        Ok(found)
    }

    fn begin(&self) -> TableDifference {
        let only = |here: &Table, there: &Table| {
            let is_there = |name: &String| there.columns.iter().any(|column| column.name == *name);
            here.columns.iter().map(|column| column.name.clone()).filter(|name| !is_there(name)).collect()
        };
        TableDifference {
            rows_before: self.one.rows,
            rows_after: self.other.rows,
            columns_added: only(self.other, self.one),
            columns_dropped: only(self.one, self.other),
            ..TableDifference::default()
        }
    }

    /// Counts rows whose content is only in one. Returns the others whose content there are more of now, and samples.
    fn rows(&self, found: &mut TableDifference) -> Result<(Marked, Vec<Vec<Sample>>)> {
        let (one, other) = (self.one, self.other);
        let stable = self.roles.fields(&[Role::Stable]);
        let count = multiset::buckets_for(one.rows + other.rows, self.size);
        let folder = multiset::folder_of(other);
        let (mut ones, mut others) = (Buckets::new(count, folder)?, Buckets::new(count, folder)?);
        multiset::side_by_side(one, other, |row, a, b| {
            if let Some(a) = a {
                ones.push(Record { group: a.digest(&stable.one), row, offset: a.offset })?;
            }
            if let Some(b) = b {
                others.push(Record { group: b.digest(&stable.other), row, offset: b.offset })?;
            }
            Ok(())
        })?;

        let (mut lost, mut gained) = (Marked::default(), Marked::default());
        for number in 0..ones.len() {
            let counts = multiset::count(&mut ones, &mut others, number)?;
            for &(a, b) in counts.values() {
                found.added += b.saturating_sub(a);
                found.removed += a.saturating_sub(b);
            }
            let is = |record: &Record, more: fn(u64, u64) -> bool| {
                counts.get(&record.group).is_some_and(|&(a, b)| more(a, b))
            };
            ones.each(number, |record| {
                if is(&record, |a, b| a > b) {
                    lost.insert(record.row);
                }
            })?;
            others.each(number, |record| {
                if is(&record, |a, b| b > a) {
                    gained.insert(record.row);
                }
            })?;
        }

        let pairs = match &self.roles.key {
            Some(key) if !lost.is_empty() && !gained.is_empty() => changed::pairs(self, key, &lost, &gained)?,
            _ => Pairs::default(),
        };
        let mut examples = Examples::default();
        let (mut went, mut came) = (0, 0);
        for number in 0..ones.len() {
            let counts = multiset::count(&mut ones, &mut others, number)?;
            let paired = examples.look(number, &counts, &pairs, &mut ones, &mut others)?;
            went += paired.went;
            came += paired.came;
            found.doubled += paired.doubled;
        }
        // Within a group it can't be told which copy has gone, so more of it may have been paired than have.
        found.changed = pairs.count.min(went).min(came);
        found.changed_columns.clone_from(&pairs.columns);
        let mut samples = examples.load(one, other)?;
        samples.push(pairs.samples);
        Ok((gained, samples))
    }

    /// The stamps that differ on equal content.
    fn restamped_columns(&self, with_content: u64, found: &TableDifference) -> Result<Vec<String>> {
        let stamps: Vec<&Shared> = self.roles.of(Role::Stamp).collect();
        let sets: Vec<Fields> = stamps.iter().map(|stamp| self.roles.stable_and(stamp)).collect();
        let equal = multiset::are_equal(self.one, self.other, &sets)?;
        let mut columns = Vec::new();
        for ((stamp, fields), is_equal) in stamps.iter().zip(&sets).zip(equal) {
            let differs = !is_equal
                && (found.added == 0 && found.removed == 0
                    || multiset::partners(self.one, self.other, fields, &Marked::default(), self.size)?
                        .count
                        < with_content);
            if differs {
                columns.push(stamp.name.clone());
            }
        }
        Ok(columns)
    }

    /// Rows without a partner that has their stamps, beside one that has their content.
    fn restamped_samples(&self, offsets: &[u64]) -> Result<Vec<Sample>> {
        let stable = self.roles.fields(&[Role::Stable]);
        let mut reader = Reader::open(self.other)?;
        let mut wanted: ByDigest<Row> = ByDigest::default();
        for &offset in offsets {
            let row = reader.at(offset)?;
            wanted.insert(row.digest(&stable.other), row);
        }
        let key: Vec<Shared> = match &self.roles.key {
            Some(key) => key.clone(),
            None => self.roles.of(Role::Stable).take(3).cloned().collect(),
        };
        let stamps: Vec<Shared> = self.roles.of(Role::Stamp).cloned().collect();
        let all = Fields::of(stamps.iter());
        let mut samples = Vec::new();
        let mut ones = Reader::open(self.one)?;
        while !wanted.is_empty()
            && let Some(before) = ones.next()?
        {
            let digest = before.digest(&stable.one);
            if let Some(after) = wanted.get(&digest)
                && !before.is_equal(&all.one, after, &all.other)
            {
                samples.push(sample::pair(Change::Restamped, &stamps, &key, before, after));
                wanted.remove(&digest);
            }
        }
        Ok(samples)
    }
}

/// How many rows of each group of a bucket are among these.
fn changed_in(buckets: &mut Buckets, number: usize, among: &Marked) -> Result<ByDigest<u64>> {
    let mut changed: ByDigest<u64> = ByDigest::default();
    if !among.is_empty() {
        buckets.each(number, |record| {
            if among.contains(record.row) {
                *changed.entry(record.group).or_default() += 1;
            }
        })?;
    }
    Ok(changed)
}

/// Where rows begin that show what was counted.
#[derive(Default)]
struct Examples {
    added: Vec<u64>,
    /// By content, so that ten copies of one row aren't all there is; the last copy, as the newest often comes last.
    doubled: BTreeMap<u128, u64>,
    removed: Vec<u64>,
}

/// The rows of a bucket, by whether they are one half of a changed pair.
struct Paired {
    /// Rows that have gone and are.
    went: u64,
    /// Rows that have come and are.
    came: u64,
    /// Rows that have come and aren't, where equal ones were before.
    doubled: u64,
}

impl Examples {
    /// Looks through a bucket, and counts there.
    fn look(
        &mut self,
        number: usize,
        counts: &multiset::Counts,
        pairs: &Pairs,
        ones: &mut Buckets,
        others: &mut Buckets,
    ) -> Result<Paired> {
        let came = changed_in(others, number, &pairs.others)?;
        let went = changed_in(ones, number, &pairs.ones)?;
        let of = |pairs: &ByDigest<u64>, group: &u128| pairs.get(group).copied().unwrap_or_default();
        let more = |group: &u128| counts.get(group).map_or(0, |(a, b)| b.saturating_sub(*a));
        let fewer = |group: &u128| counts.get(group).map_or(0, |(a, b)| a.saturating_sub(*b));
        let surplus = |group: &u128| more(group).saturating_sub(of(&came, group));
        let deficit = |group: &u128| fewer(group).saturating_sub(of(&went, group));
        let was_there = |group: &u128| counts.get(group).is_some_and(|(a, _)| *a > 0);
        let paired = Paired {
            went: went.iter().map(|(group, pairs)| fewer(group).min(*pairs)).sum(),
            came: came.iter().map(|(group, pairs)| more(group).min(*pairs)).sum(),
            doubled: counts.keys().filter(|group| was_there(group)).map(surplus).sum(),
        };
        others.each(number, |record| {
            if surplus(&record.group) == 0 || pairs.others.contains(record.row) {
                return;
            }
            if !was_there(&record.group) {
                if self.added.len() < EXAMPLES {
                    self.added.push(record.offset);
                }
            } else if self.doubled.len() < EXAMPLES || self.doubled.contains_key(&record.group) {
                self.doubled.insert(record.group, record.offset);
            }
        })?;
        ones.each(number, |record| {
            let is_example = deficit(&record.group) > 0 && !pairs.ones.contains(record.row);
            if is_example && self.removed.len() < EXAMPLES {
                self.removed.push(record.offset);
            }
        })?;
        Ok(paired)
    }

    fn load(&self, one: &Table, other: &Table) -> Result<Vec<Vec<Sample>>> {
        let load = |table: &Table, change: Change, offsets: &mut dyn Iterator<Item = u64>| {
            let mut reader = Reader::open(table)?;
            offsets
                .map(|offset| Ok(sample::whole(change, table, &reader.at(offset)?)))
                .collect::<Result<Vec<_>>>()
        };
        Ok(vec![
            load(other, Change::Doubled, &mut self.doubled.values().copied())?,
            load(one, Change::Removed, &mut self.removed.iter().copied())?,
            load(other, Change::Added, &mut self.added.iter().copied())?,
        ])
    }
}
