//! A range of rows inside a savepoint: whole if the server takes it, else split until the rows that it refuses are found.
//!
//! A range that goes through costs one savepoint. One bad row costs about as much again as its chunk: a COPY tells how far
//! it had come, and other statements are told by halves. Ranges are sent in their order, so that rows keep theirs.

use std::ops::Range;

use landonce_core::retry;

use super::link::{Fault, Link};
use crate::error::{Error, Result};
use crate::seam::{Place, Refused};

/// The most rows of one chunk that the server may refuse before the chunk is given up: finding each costs a few round
/// trips, and where everything is wrong nobody needs the list.
const MOST_REFUSED: usize = 1_000;

/// How often one chunk is split where a COPY has stopped. It sends what came before again, and then the whole rest: a
/// good way to find a few rows, and a bad one to find many.
const MOST_STOPS: usize = 16;

/// Rows that can be sent as ranges.
pub(super) trait Attempt {
    /// What is being done, for an error that ends the whole.
    fn doing(&self) -> &str;

    /// What has to be done before each savepoint, as SQL; empty for nothing.
    fn prepare(&self) -> &'static str;

    /// Sends the rows. What it counts, it counts only when it succeeds.
    async fn attempt(&mut self, rows: Range<usize>) -> Result<(), Fault>;
}

/// Sends a range; returns the rows that the server refused, by number, and its words. Fails when it isn't a row that is at
/// fault, or when more than a thousand rows are.
pub(super) async fn all_but_refused(
    link: &Link<'_>,
    rows: Range<usize>,
    attempt: &mut impl Attempt,
) -> Result<Vec<(usize, Error)>> {
    let count = rows.len();
    let mut refused = Vec::new();
    let mut pending = Pending::new(rows);
    while let Some(rows) = pending.next() {
        match once(link, rows.clone(), attempt).await? {
            Ok(()) => {}
            Err(fault) if rows.len() == 1 => {
                refused.push((rows.start, fault.error));
                if refused.len() > MOST_REFUSED {
                    return Err(too_many(attempt.doing(), refused, count));
                }
            }
            Err(fault) => pending.split(rows, fault.row),
        }
    }
    Ok(refused)
}

/// Ranges that are still to be sent, in their order.
pub(super) struct Pending {
    /// The next one is the last.
    ranges: Vec<Range<usize>>,
    stops: usize,
}

impl Pending {
    pub(super) fn new(rows: Range<usize>) -> Self {
        Self { ranges: Vec::from_iter((!rows.is_empty()).then_some(rows)), stops: 0 }
    }

    pub(super) fn next(&mut self) -> Option<Range<usize>> {
        self.ranges.pop()
    }

    /// Splits a range that was refused: around the row at which a COPY stopped, or in two halves.
    pub(super) fn split(&mut self, rows: Range<usize>, stopped_at: Option<usize>) {
        let stop =
            stopped_at.map(|at| rows.start + at).filter(|at| rows.contains(at) && self.stops < MOST_STOPS);
        let parts = if let Some(at) = stop {
            self.stops += 1;
            [at + 1..rows.end, at..at + 1, rows.start..at]
        } else {
            let middle = rows.start + rows.len() / 2;
            [middle..rows.end, rows.start..middle, 0..0]
        };
        self.ranges.extend(parts.into_iter().filter(|part| !part.is_empty()));
    }
}

/// Sends rows inside a savepoint. The inner error blames a row, and the savepoint has taken everything back.
pub(super) async fn once(
    link: &Link<'_>,
    rows: Range<usize>,
    attempt: &mut impl Attempt,
) -> Result<std::result::Result<(), Fault>> {
    let doing = "keeping a savepoint";
    link.batch(doing, &format!("{}SAVEPOINT landonce_chunk", attempt.prepare())).await?;
    match attempt.attempt(rows).await {
        Ok(()) => {
            link.batch(doing, "RELEASE SAVEPOINT landonce_chunk").await?;
            Ok(Ok(()))
        }
        Err(fault) if retry::blames_row(&fault.error.code) => {
            let back = "ROLLBACK TO SAVEPOINT landonce_chunk; RELEASE SAVEPOINT landonce_chunk";
            link.batch(doing, back).await?;
            Ok(Err(fault))
        }
        Err(fault) => Err(fault.error.while_doing(attempt.doing())),
    }
}

/// A refused row as the engine sees it.
pub(super) fn refused(place: Place, error: Error) -> Refused {
    Refused { place, name: error.name.unwrap_or_default(), message: error.message }
}

fn too_many(doing: &str, mut refused: Vec<(usize, Error)>, count: usize) -> Error {
    let (_, first) = refused.swap_remove(0);
    let message = format!(
        "{doing}: the database refused more than {MOST_REFUSED} of {count} rows, and the rest was not tried; the first: {}",
        first.message
    );
    Error { message, ..first }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges that are sent to find these bad rows; a COPY tells where it stopped if `is_told`.
    fn sent(count: usize, bad: &[usize], is_told: bool) -> Vec<Range<usize>> {
        let mut pending = Pending::new(0..count);
        let mut sent = Vec::new();
        while let Some(rows) = pending.next() {
            sent.push(rows.clone());
            let stop = rows.clone().find(|row| bad.contains(row));
            if let Some(at) = stop.filter(|_| rows.len() > 1) {
                pending.split(rows.clone(), is_told.then_some(at - rows.start));
            }
        }
        sent
    }

    #[test]
    fn a_copy_that_stops_is_split_around_its_row() {
        assert_eq!(sent(100, &[7], true), [0..100, 0..7, 7..8, 8..100]);
        assert_eq!(sent(3, &[0], true), [0..3, 0..1, 1..3]);
        assert_eq!(sent(0, &[], true), []);
    }

    #[test]
    fn without_a_place_halves_find_the_row() {
        assert_eq!(sent(8, &[5], false), [0..8, 0..4, 4..8, 4..6, 4..5, 5..6, 6..8]);
    }

    #[test]
    fn a_chunk_full_of_bad_rows_is_not_sent_once_for_each() {
        let bad: Vec<usize> = (0..1000).collect();
        let rows: usize = sent(1000, &bad, true).iter().map(Range::len).sum();
        assert!(rows < 1000 * 40, "{rows}");
    }

    #[test]
    fn a_place_outside_the_range_is_no_place() {
        let mut pending = Pending::new(0..0);
        pending.split(10..20, Some(10));
        assert_eq!((pending.next(), pending.next(), pending.next()), (Some(10..15), Some(15..20), None));
    }
}
