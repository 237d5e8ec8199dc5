//! A chunk inside a savepoint: whole if the server takes it, else halved until the rows that it refuses are found.
//!
//! A chunk that goes through costs one savepoint. One bad row costs about as much again as its chunk, since the halves
//! that hold it shrink.

use std::ops::Range;

use landonce_core::retry;

use super::link::Link;
use crate::error::{Error, Result};
use crate::seam::{Place, Refused};

/// The most rows of one chunk that the server may refuse before the chunk is given up: finding each costs a few round
/// trips, and where everything is wrong nobody needs the list.
const MOST_REFUSED: usize = 1_000;

/// A range of a chunk's rows, to be sent as one.
pub(super) trait Attempt {
    /// What is being done, for an error that ends the whole.
    fn doing(&self) -> &str;

    /// What has to be done before each savepoint, as SQL; empty for nothing.
    fn prepare(&self) -> &'static str;

    /// Sends the rows. What it counts, it counts only when it succeeds.
    async fn attempt(&mut self, rows: Range<usize>) -> Result<()>;
}

/// Sends `count` rows; returns those that the server refused, by number, and its words. Fails when it isn't a row that is
/// at fault, or when more than a thousand rows are.
pub(super) async fn all_but_refused(
    link: &Link<'_>,
    count: usize,
    attempt: &mut impl Attempt,
) -> Result<Vec<(usize, Error)>> {
    let mut refused = Vec::new();
    let mut pending = Vec::new();
    let mut next = Some(0..count);
    while let Some(rows) = next.take().or_else(|| pending.pop()) {
        match once(link, rows.clone(), attempt).await? {
            Ok(()) => {}
            Err(error) if rows.len() == 1 => {
                refused.push((rows.start, error));
                if refused.len() > MOST_REFUSED {
                    return Err(too_many(attempt.doing(), refused, count));
                }
            }
            Err(_) => {
                let middle = rows.start + rows.len() / 2;
                pending.push(middle..rows.end);
                next = Some(rows.start..middle);
            }
        }
    }
    Ok(refused)
}

/// Sends rows inside a savepoint. The inner error blames a row, and the savepoint has taken everything back.
pub(super) async fn once(
    link: &Link<'_>,
    rows: Range<usize>,
    attempt: &mut impl Attempt,
) -> Result<std::result::Result<(), Error>> {
    let doing = "keeping a savepoint";
    link.batch(doing, &format!("{}SAVEPOINT landonce_chunk", attempt.prepare())).await?;
    match attempt.attempt(rows).await {
        Ok(()) => {
            link.batch(doing, "RELEASE SAVEPOINT landonce_chunk").await?;
            Ok(Ok(()))
        }
        Err(error) if retry::blames_row(&error.code) => {
            link.batch(doing, "ROLLBACK TO SAVEPOINT landonce_chunk; RELEASE SAVEPOINT landonce_chunk")
                .await?;
            Ok(Err(error))
        }
        Err(error) => Err(error.while_doing(attempt.doing())),
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
