//! Two files of rows as multisets, compared in constant memory.
//!
//! Digests of rows go into buckets by their first bits, each small enough for memory, on disk where there are several. Equal
//! rows meet in one bucket. A digest is XXH3's 128 bits: for 2 × 10 million rows, two different ones share it with a chance
//! below 10⁻²⁴. It withstands chance, not somebody who makes up rows to share one; the rows are the user's own.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use super::Table;
use super::row::{self, Reader, Row};
use crate::error::{Error, Result};

/// How many rows a bucket holds, about: their counts are to stay near the processor.
pub(super) const BUCKET: u64 = 250_000;
/// More files than these aren't kept open.
const MOST_BUCKETS: u64 = 128;
/// So many rows are remembered as examples.
pub(super) const EXAMPLES: usize = 10;
/// A record on disk.
const SIZE: usize = 32;

/// The same columns of two tables, as numbers of fields in the one and in the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) one: Vec<usize>,
    pub(super) other: Vec<usize>,
}

/// A row in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// What it is grouped by.
    pub(super) group: u128,
    /// The how manieth it is.
    pub(super) row: u64,
    /// Where its line begins.
    pub(super) offset: u64,
}

/// Records of one side in buckets.
#[derive(Debug)]
pub(super) struct Buckets(Vec<Bucket>);

#[derive(Debug)]
enum Bucket {
    Memory(Vec<Record>),
    Disk(BufWriter<File>),
}

/// How many buckets so many rows need.
pub(super) fn buckets_for(rows: u64, size: u64) -> u64 {
    rows.div_ceil(size.max(1)).clamp(1, MOST_BUCKETS)
}

impl Buckets {
    /// Empty ones, with their files in this folder.
    pub(super) fn new(count: u64, folder: &Path) -> Result<Self> {
        if count == 1 {
            return Ok(Self(vec![Bucket::Memory(Vec::new())]));
        }
        (0..count)
            .map(|_| {
                let file =
                    tempfile::tempfile_in(folder).map_err(|error| row::broken("making", folder, error))?;
                Ok(Bucket::Disk(BufWriter::with_capacity(SIZE << 9, file)))
            })
            .collect::<Result<_>>()
            .map(Self)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, record: Record) -> Result<()> {
        let number = (record.group >> 64) as usize % self.0.len();
        match &mut self.0[number] {
            Bucket::Memory(records) => records.push(record),
            Bucket::Disk(out) => out.write_all(&record.to_bytes()).map_err(spilled)?,
        }
        Ok(())
    }

    /// Every record of a bucket, in the order in which they came.
    pub(super) fn each(&mut self, number: usize, mut take: impl FnMut(Record)) -> Result<()> {
        match &mut self.0[number] {
            Bucket::Memory(records) => records.iter().copied().for_each(take),
            Bucket::Disk(out) => {
                out.flush().map_err(spilled)?;
                let file = out.get_mut();
                file.rewind().map_err(spilled)?;
                let length = file.metadata().map_err(spilled)?.len();
                let mut input = BufReader::with_capacity(SIZE << 11, file);
                let mut bytes = [0; SIZE];
                for _ in 0..length / SIZE as u64 {
                    input.read_exact(&mut bytes).map_err(spilled)?;
                    take(Record::from_bytes(&bytes));
                }
            }
        }
        Ok(())
    }
}

impl Record {
    fn to_bytes(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..16].copy_from_slice(&self.group.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.row.to_le_bytes());
        bytes[24..].copy_from_slice(&self.offset.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; SIZE]) -> Self {
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().rev().fold(0_u128, |number, &byte| number << 8 | u128::from(byte))
        };
        Self { group: number(0..16), row: number(16..24) as u64, offset: number(24..32) as u64 }
    }
}

fn spilled(error: std::io::Error) -> Error {
    Error::because("a temporary file for comparing tables failed", error)
}

/// A set of row numbers: a bit each.
#[derive(Debug, Default)]
pub(super) struct Marked(Vec<u64>);

impl Marked {
    pub(super) fn insert(&mut self, row: u64) {
        let word = (row / 64) as usize;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (row % 64);
    }

    pub(super) fn contains(&self, row: u64) -> bool {
        self.0.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// By digest.
pub(super) type ByDigest<V> = HashMap<u128, V, BuildHasherDefault<Taken>>;

/// A digest is as good as its own hash. All of a bucket have the same remainder of the upper half, so the lower one is taken.
#[derive(Debug, Default)]
pub(super) struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u128(&mut self, digest: u128) {
        self.0 = digest as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        // Only digests are asked for; whatever else comes is put together in some way.
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
}

/// How often a group is in the one and in the other.
pub(super) type Counts = ByDigest<(u64, u64)>;

/// Counts the groups of a bucket.
pub(super) fn count(one: &mut Buckets, other: &mut Buckets, number: usize) -> Result<Counts> {
    let mut counts = Counts::default();
    one.each(number, |record| counts.entry(record.group).or_default().0 += 1)?;
    other.each(number, |record| counts.entry(record.group).or_default().1 += 1)?;
    Ok(counts)
}

/// Calls with the rows of both files side by side, in the order of the files, and the rest of the longer one alone.
pub(super) fn side_by_side(
    one: &Table,
    other: &Table,
    mut take: impl FnMut(u64, Option<&Row>, Option<&Row>) -> Result<()>,
) -> Result<()> {
    let (mut ones, mut others) = (Reader::open(one)?, Reader::open(other)?);
    for number in 0.. {
        let (a, b) = (ones.next()?, others.next()?);
        if a.is_none() && b.is_none() {
            break;
        }
        take(number, a, b)?;
    }
    Ok(())
}

/// The same without the rows that are equal in everything and stand at the same place. They are nearly all in most cases,
/// and nothing is spent on them. Returns how many.
fn differing_side_by_side(
    one: &Table,
    other: &Table,
    mut take: impl FnMut(u64, Option<&Row>, Option<&Row>) -> Result<()>,
) -> Result<u64> {
    let (mut ones, mut others) = (Reader::open(one)?, Reader::open(other)?);
    let names = |table: &Table| table.columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    let is_same_shape = names(one) == names(other);
    let mut equal = 0;
    for number in 0.. {
        match (ones.advance()?, others.advance()?) {
            (false, false) => break,
            (true, true) if is_same_shape && ones.line() == others.line() => equal += 1,
            (true, true) => take(number, Some(ones.split()?), Some(others.split()?))?,
            (true, false) => take(number, Some(ones.split()?), None)?,
            (false, true) => take(number, None, Some(others.split()?))?,
        }
    }
    Ok(equal)
}

/// For each of the sets of fields, whether the rows are the same multiset. One pass.
pub(super) fn are_equal(one: &Table, other: &Table, sets: &[Fields]) -> Result<Vec<bool>> {
    let mut sums = vec![0_u128; sets.len()];
    differing_side_by_side(one, other, |_, a, b| {
        let mut last = 0;
        for (number, fields) in sets.iter().enumerate() {
            // Often a set has nothing more than the one before it.
            if number > 0 && *fields == sets[number - 1] {
                sums[number] = sums[number].wrapping_add(last);
                continue;
            }
            last = 0;
            if let (Some(a), Some(b)) = (a, b)
                && a.is_equal(&fields.one, b, &fields.other)
            {
                continue;
            }
            if let Some(a) = a {
                last = a.digest(&fields.one);
            }
            if let Some(b) = b {
                last = last.wrapping_sub(b.digest(&fields.other));
            }
            sums[number] = sums[number].wrapping_add(last);
        }
        Ok(())
    })?;
    Ok(sums.into_iter().map(|sum| sum == 0 && one.rows == other.rows).collect())
}

/// Rows of two tables matched one to one.
#[derive(Debug, Default)]
pub(super) struct Partners {
    /// How many rows of the one have a partner of their own in the other.
    pub(super) count: u64,
    /// Of the others without a partner: where the first few begin.
    pub(super) without: Vec<u64>,
}

/// Matches the rows that are equal in these fields. Rows of the other that are in `except` are no examples.
pub(super) fn partners(
    one: &Table,
    other: &Table,
    fields: &Fields,
    except: &Marked,
    size: u64,
) -> Result<Partners> {
    let count_of = buckets_for(one.rows + other.rows, size);
    let folder = folder_of(other);
    let (mut ones, mut others) = (Buckets::new(count_of, folder)?, Buckets::new(count_of, folder)?);
    let mut found = Partners::default();
    let mut equal = 0;
    found.count = differing_side_by_side(one, other, |row, a, b| {
        if let (Some(a), Some(b)) = (a, b)
            && a.is_equal(&fields.one, b, &fields.other)
        {
            equal += 1;
            return Ok(());
        }
        if let Some(a) = a {
            ones.push(Record { group: a.digest(&fields.one), row, offset: a.offset })?;
        }
        if let Some(b) = b {
            others.push(Record { group: b.digest(&fields.other), row, offset: b.offset })?;
        }
        Ok(())
    })?;
    found.count += equal;
    for number in 0..ones.len() {
        let counts = count(&mut ones, &mut others, number)?;
        found.count += counts.values().map(|&(a, b)| a.min(b)).sum::<u64>();
        if found.without.len() < EXAMPLES {
            others.each(number, |record| {
                let is_surplus = counts.get(&record.group).is_some_and(|(a, b)| b > a);
                if is_surplus && found.without.len() < EXAMPLES && !except.contains(record.row) {
                    found.without.push(record.offset);
                }
            })?;
        }
    }
    Ok(found)
}

/// Where a table's file is: other files for comparing go beside it.
pub(super) fn folder_of(table: &Table) -> &Path {
    table.file.parent().unwrap_or(Path::new("."))
}
