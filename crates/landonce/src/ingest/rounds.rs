//! Rounds of fold, tell apart and write: one for nearly every batch, more where one record waits for another.
//!
//! A batch leaves what its records would leave one by one. Folding gives that in one round, but for two cases. Where a
//! record is a change (`absent: keep`), the records of one identity are applied in their order, one a round; where a delete
//! retires its row, a put and a delete of one identity are, since what is retired is the content of the put. And a row that
//! the database refuses may be refused only because of what was there at that moment (a unique value that a later record
//! of the batch sets free, a parent that comes later): such rows are tried again until a round lands none of them, so that
//! a second delivery finds nothing left to do.

use std::collections::HashSet;
use std::sync::Arc;

use landonce_core::pipeline::{AbsentRow, Whole};
use landonce_core::record::{RecordReader, Wanted};
use landonce_store::seam::{Classified, Place, Refused, Survey, Work};
use tokio::sync::mpsc;

use super::feed::{Input, Withhold};
use super::land::{Staged, stage, tell_apart, write};
use super::tally::Tally;
use super::weigh::{self, There};
use super::{Job, marks, notices};
use crate::decode::{DecodeError, Texts};
use crate::error::{Error, Repr};

/// How many pairs of equal content a receipt shows.
const SAMPLES: usize = 5;
/// The most passes over refused rows. Each one but the last has landed at least one of them.
const MOST_PASSES: usize = 1_000;

/// Writes what is staged, then what waits. Returns the rows that the database refuses for good.
pub(super) async fn all<W: Work>(
    work: &mut W,
    job: &Job,
    tally: &mut Tally<'_>,
    texts: &Arc<Texts>,
    later: Vec<Place>,
) -> Result<Vec<Refused>, Error> {
    let mut refused = round(work, job, tally, texts, true).await?;
    let withholds = job.withholds().unwrap_or(Withhold::Repeats);
    refused.extend(replay(work, job, tally, texts, later, withholds).await?);
    let folded_away = if refused.is_empty() || tally.outcome.duplicates == 0 {
        Vec::new()
    } else {
        // The record that counted is refused: then those that it was to stand for count.
        folded_away(job, texts, &refused, tally.conflict_offsets()).await?
    };
    tally.outcome.duplicates -= folded_away.len() as u64;
    let mut waiting = folded_away;
    for _ in 0..MOST_PASSES {
        if refused.is_empty() {
            break;
        }
        waiting.extend(refused.iter().map(|refused| refused.place));
        waiting.sort_unstable_by_key(|place| place.offset);
        let before = tally.landed();
        refused = replay(work, job, tally, texts, std::mem::take(&mut waiting), Withhold::Repeats).await?;
        if tally.landed() == before {
            break;
        }
    }
    Ok(refused)
}

/// One round over what is staged.
async fn round<W: Work>(
    work: &mut W,
    job: &Job,
    tally: &mut Tally<'_>,
    texts: &Arc<Texts>,
    is_first: bool,
) -> Result<Vec<Refused>, Error> {
    let classified = tell_apart(work, job, tally, texts).await?;
    if is_first && job.plan.sender_id && classified.new > 0 {
        let same = work.same_content(SAMPLES).await?;
        tally.notes.same_content = same.count;
        tally.notes.same_content_samples =
            same.samples.into_iter().map(|(place, key)| (place.number, key)).collect();
    }
    marks::before(work, &mut tally.touched, classified).await?;
    notices::before(work, &mut tally.notices, classified).await?;
    if job.plan.scope.is_none() && job.plan.tombstone.is_some() && classified.changed > 0 {
        tally.outcome.restored += work.survey().await?.returning;
    }
    if is_first && job.plan.scope.is_some() {
        vanish(work, job, tally, classified).await?;
    }
    let refused = write(work, job, tally, texts, classified).await?;
    if classified.deletes > 0 {
        let deleted = work.delete(job.claim.run_id).await?;
        tally.outcome.deleted += deleted;
        if job.plan.tombstone.is_some() {
            tally.outcome.retired += deleted;
        }
        notices::deleted(&mut tally.notices, deleted);
        // Gone meanwhile: nothing left to delete. Or come meanwhile: told apart as nothing to delete, and deleted after all.
        tally.outcome.unchanged = (tally.outcome.unchanged + classified.deletes).saturating_sub(deleted);
    }
    marks::after(work, &mut tally.touched, classified).await?;
    notices::after(work, job, tally, classified).await?;
    Ok(refused)
}

/// Removes or retires the rows that the payload doesn't have: before the others are written, so that a value which only one
/// row may have is free for its next one. A snapshot is weighed first, before anything is touched.
pub(super) async fn vanish<W: Work>(
    work: &mut W,
    job: &Job,
    tally: &mut Tally<'_>,
    classified: Classified,
) -> Result<(), Error> {
    let missing = work.missing().await?;
    if let Some(Whole::Snapshot(of)) = job.pipeline.whole() {
        let Survey { standing, returning } = work.survey().await?;
        let there = There { standing, returning, missing };
        if let Some(hold) = weigh::before(job, of, tally, classified, there) {
            if !job.is_preview {
                return Err(Repr::Held(Box::new(hold)).into());
            }
            tally.notes.reasons = hold.reasons;
        }
        tally.outcome.restored = returning;
        if of.absent == AbsentRow::Keep {
            return Ok(());
        }
    } else if missing > 0 && tally.has_no_good_record() && tally.knows_all() && !job.allows_empty() {
        return Err(Repr::EmptyPeriod {
            source_name: job.batch.source().to_owned(),
            period: job.turn.as_ref().map(|turn| turn.label.clone()).unwrap_or_default(),
            rows: missing,
            table: job.plan.table.to_string(),
        }
        .into());
    }
    if missing == 0 {
        return Ok(());
    }
    if !tally.knows_all() {
        tally.notes.withheld = missing;
        return Ok(());
    }
    if !job.is_preview {
        marks::vanishing(work, &mut tally.touched).await?;
    }
    let gone = if job.is_preview {
        missing
    } else {
        let remembered = notices::vanishing(work, &mut tally.notices).await?;
        let gone = work.remove_missing(job.claim.run_id).await?;
        notices::all_seen(&tally.notices, gone, remembered)?;
        gone
    };
    if job.plan.tombstone.is_some() {
        tally.outcome.retired = gone;
    } else {
        tally.outcome.removed = gone;
    }
    Ok(())
}

/// The given records in their order, one of each identity a round, or what may be folded at once.
async fn replay<W: Work>(
    work: &mut W,
    job: &Job,
    tally: &mut Tally<'_>,
    texts: &Arc<Texts>,
    mut waiting: Vec<Place>,
    withholds: Withhold,
) -> Result<Vec<Refused>, Error> {
    let mut refused = Vec::new();
    while !waiting.is_empty() {
        work.close_stage().await?;
        work.open_stage(&job.plan).await?;
        let input = Input { again: Some((waiting, Arc::clone(texts))), withholds: Some(withholds) };
        let Staged { later, .. } = stage(work, job, tally, input).await?;
        waiting = later;
        refused.extend(round(work, job, tally, texts, false).await?);
    }
    Ok(refused)
}

/// The records that were folded into one of the refused: found by reading the payload once more, since to remember them
/// all would take memory that grows with the batch.
async fn folded_away(
    job: &Job,
    texts: &Arc<Texts>,
    refused: &[Refused],
    conflicts: HashSet<u64>,
) -> Result<Vec<Place>, Error> {
    let (job, texts) = (job.clone(), Arc::clone(texts));
    let refused: Vec<Place> = refused.iter().map(|refused| refused.place).collect();
    let name = job.batch.source().to_owned();
    let (sender, mut found) = mpsc::channel(1);
    std::thread::spawn(move || {
        let _ = sender.blocking_send(search(&job, &texts, &refused, &conflicts));
    });
    let found =
        found.recv().await.ok_or_else(|| Error::internal("the searching thread ended without a word"))?;
    found.map_err(|source| Repr::Decode { name, source }.into())
}

fn search(
    job: &Job,
    texts: &Texts,
    refused: &[Place],
    conflicts: &HashSet<u64>,
) -> Result<Vec<Place>, DecodeError> {
    let mut reader = RecordReader::new(&job.pipeline, &job.plan, job.is_lexical()).keyed();
    let (mut keys, mut text) = (HashSet::new(), Vec::new());
    for place in refused {
        texts
            .read(place.offset, place.len, &mut text)
            .map_err(|source| DecodeError::Read { offset: place.offset, source })?;
        keys.extend(reader.read(&text, Wanted::Identity).ok().and_then(|row| row.key));
    }
    let mut known: HashSet<u64> = refused.iter().map(|place| place.offset).collect();
    known.extend(conflicts);
    let mut places = Vec::new();
    let mut records = job.batch.payload().records(&job.format, &job.limits)?;
    while let Some(item) = records.next()? {
        let Ok(text) = item.text else { continue };
        let key = reader.read(text, Wanted::Identity).ok().and_then(|row| row.key);
        if key.is_some_and(|key| keys.contains(&key)) && !known.contains(&item.offset) {
            places.push(Place { number: item.number, offset: item.offset, len: item.len });
        }
    }
    Ok(places)
}
