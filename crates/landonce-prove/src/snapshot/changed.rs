//! Rows that were changed: one that has gone and one that has come, known to be the same by their key.

use super::multiset::{self, Buckets, ByDigest, EXAMPLES, Fields, Marked, Record};
use super::roles::{Role, Shared};
use super::row::{self, Reader, Row};
use super::table::Moments;
use super::{Change, Sample, sample};
use crate::error::Result;

/// The pairs of a table.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// How many.
    pub(super) count: u64,
    /// Their rows in the one.
    pub(super) ones: Marked,
    /// Their rows in the other.
    pub(super) others: Marked,
    /// The columns in which any of them differ.
    pub(super) columns: Vec<String>,
    /// Some of them.
    pub(super) samples: Vec<Sample>,
}

/// Pairs the rows that are lost with those that are gained. A key with a NULL in it names nothing.
pub(super) fn pairs(moments: &Moments<'_>, key: &[Shared], lost: &Marked, gained: &Marked) -> Result<Pairs> {
    let (one, other) = (moments.one, moments.other);
    let fields = Fields::of(key.iter());
    let count = multiset::buckets_for(one.rows + other.rows, moments.size);
    let folder = multiset::folder_of(other);
    let (mut ones, mut others) = (Buckets::new(count, folder)?, Buckets::new(count, folder)?);
    multiset::side_by_side(one, other, |row, a, b| {
        if let Some(group) = key_of(a, &fields.one, row, lost)
            && let Some(a) = a
        {
            ones.push(Record { group, row, offset: a.offset })?;
        }
        if let Some(group) = key_of(b, &fields.other, row, gained)
            && let Some(b) = b
        {
            others.push(Record { group, row, offset: b.offset })?;
        }
        Ok(())
    })?;

    let mut pairs = Pairs::default();
    let mut examples = Vec::new();
    for number in 0..ones.len() {
        let mut before: ByDigest<Record> = ByDigest::default();
        ones.each(number, |record| {
            before.entry(record.group).or_insert(record);
        })?;
        others.each(number, |record| {
            if let Some(partner) = before.remove(&record.group) {
                pairs.count += 1;
                pairs.ones.insert(partner.row);
                pairs.others.insert(record.row);
                if examples.len() < EXAMPLES {
                    examples.push((partner.offset, record.offset));
                }
            }
        })?;
    }
    if pairs.count > 0 {
        pairs.columns = columns(moments, &fields, &pairs)?;
        let (mut ones, mut others) = (Reader::open(one)?, Reader::open(other)?);
        for (before, after) in examples {
            let (before, after) = (ones.at(before)?, others.at(after)?);
            pairs.samples.push(sample::pair(Change::Changed, &moments.roles.columns, key, &before, &after));
        }
    }
    Ok(pairs)
}

/// The key's digest, of a row that is asked for.
fn key_of(row: Option<&Row>, fields: &[usize], number: u64, wanted: &Marked) -> Option<u128> {
    let row = row.filter(|_| wanted.contains(number))?;
    let has_null = fields.iter().any(|&field| row.field(field) == row::NULL);
    if has_null { None } else { Some(row.digest(fields)) }
}

/// Compares column by column without bringing pairs together: the sums of digests over (key, value) differ exactly where a
/// pair does.
fn columns(moments: &Moments<'_>, key: &Fields, pairs: &Pairs) -> Result<Vec<String>> {
    let columns: Vec<&Shared> =
        moments.roles.columns.iter().filter(|column| column.role != Role::Ignored).collect();
    let mut sums = vec![0_u128; columns.len()];
    multiset::side_by_side(moments.one, moments.other, |number, a, b| {
        if let Some(salt) = key_of(a, &key.one, number, &pairs.ones)
            && let Some(a) = a
        {
            for (sum, column) in sums.iter_mut().zip(&columns) {
                *sum = sum.wrapping_add(row::digest(salt, a.field(column.one)));
            }
        }
        if let Some(salt) = key_of(b, &key.other, number, &pairs.others)
            && let Some(b) = b
        {
            for (sum, column) in sums.iter_mut().zip(&columns) {
                *sum = sum.wrapping_sub(row::digest(salt, b.field(column.other)));
            }
        }
        Ok(())
    })?;
    Ok(columns.iter().zip(sums).filter(|(_, sum)| *sum != 0).map(|(column, _)| column.name.clone()).collect())
}
