//! The counts as they grow, and the bad records met on the way.

use std::collections::HashSet;

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::outcome::Outcome;
use landonce_core::pipeline::{OnBad, Whole};
use landonce_store::quarantine::BadRow;
use landonce_store::seam::{Place, Refused, Work};

use super::Job;
use super::feed::Bad;
use super::marks::Touched;
use super::notices::Notices;
use crate::complete::{self, Completeness};
use crate::decode::Texts;
use crate::error::{Error, Located, Repr};
use crate::receipt::Notes;

/// How many bad records an error or a receipt lists.
const LISTED: usize = 100;

/// What has become of the batch so far.
pub(super) struct Tally<'j> {
    job: &'j Job,
    pub(super) outcome: Outcome,
    pub(super) notes: Notes,
    pub(super) touched: Touched,
    pub(super) notices: Notices,
    bad: u64,
    found: Vec<Located>,
    /// The numbers of the bad records, when the batch is made of quarantine entries.
    still_bad: HashSet<u64>,
    /// Where the records in conflict stand.
    in_conflict: HashSet<u64>,
    /// Bad records that have an identity, so that a row which the payload seems not to have may be theirs.
    somebodys: u64,
    /// What is known of the payload once it has been read to its end.
    completeness: Option<Completeness>,
}

impl<'j> Tally<'j> {
    pub(super) fn new(job: &'j Job) -> Self {
        Self {
            job,
            outcome: Outcome::default(),
            notes: Notes::default(),
            touched: Touched::default(),
            notices: Notices::default(),
            bad: 0,
            found: Vec::new(),
            still_bad: HashSet::new(),
            in_conflict: HashSet::new(),
            somebodys: 0,
            completeness: None,
        }
    }

    /// Whether the batch is lost already, so that only the listing goes on.
    pub(super) fn is_lost(&self) -> bool {
        self.bad > 0 && self.job.pipeline.on_bad() == OnBad::Fail
    }

    /// Bad records from the first pass.
    pub(super) async fn bad<W: Work>(&mut self, work: &mut W, bad: Vec<Bad>) -> Result<(), Error> {
        for one in &bad {
            self.count(one.number, &one.why);
        }
        if self.job.keeps_bad() {
            let rows: Vec<BadRow<'_>> =
                bad.iter().map(|one| self.row(one.number, one.why.clone(), &one.raw)).collect();
            self.keep(work, &rows).await?;
        }
        Ok(())
    }

    /// Rows that the database refused for good.
    pub(super) async fn refused<W: Work>(
        &mut self,
        work: &mut W,
        texts: &Texts,
        refused: &[Refused],
    ) -> Result<(), Error> {
        for one in refused {
            let why = BadRecord::new(BadKind::Refused, one.name.as_str(), one.message.as_str());
            self.count(one.place.number, &why);
            if self.job.keeps_bad() {
                let raw = Self::text(texts, one.place)?;
                let row = self.row(one.place.number, why, &raw);
                self.keep(work, &[row]).await?;
            }
        }
        Ok(())
    }

    /// Records in conflict: kept in every mode, never silently dropped.
    pub(super) async fn conflicts<W: Work>(
        &mut self,
        work: &mut W,
        texts: &Texts,
        places: &[Place],
    ) -> Result<(), Error> {
        for place in places {
            self.in_conflict.insert(place.offset);
            let why = if self.job.plan.scope.is_some() {
                let why = BadRecord::new(
                    BadKind::Conflict,
                    "",
                    "its row is there, in another period or another owner's; both can't have it",
                );
                self.count(place.number, &why);
                if !self.job.keeps_bad() {
                    continue;
                }
                why
            } else {
                let why =
                    BadRecord::new(BadKind::Conflict, "", "the version is there already with other content");
                self.outcome.conflicts += 1;
                self.list(place.number, &why);
                why
            };
            let raw = Self::text(texts, *place)?;
            let row = self.row(place.number, why, &raw);
            self.keep(work, &[row]).await?;
        }
        Ok(())
    }

    /// So many records will be in conflict (a plan, which doesn't ask which).
    pub(super) fn foresee_conflicts(&mut self, conflicts: u64) {
        if self.job.plan.scope.is_some() {
            self.bad += conflicts;
            self.somebodys += conflicts;
            self.notes.moved += conflicts;
        } else {
            self.outcome.conflicts += conflicts;
        }
    }

    /// Judges whether the payload is whole: what isn't fails the batch, or holds it, by the mode.
    pub(super) fn judge(&mut self, texts: &Texts) -> Result<(), Error> {
        let (pipeline, batch) = (&self.job.pipeline, &self.job.batch);
        if matches!(pipeline.whole(), Some(Whole::Snapshot(_))) {
            self.completeness = Some(complete::judge(pipeline, batch, texts.seen(), self.outcome.read)?);
            return Ok(());
        }
        complete::check(pipeline, batch, texts.seen(), self.outcome.read)
    }

    pub(super) fn completeness(&self) -> Option<&Completeness> {
        self.completeness.as_ref()
    }

    pub(super) fn bad_so_far(&self) -> u64 {
        self.bad
    }

    /// Records whose row is in another period or another owner's: it may be free for them by the next run.
    pub(super) fn moved(&self) -> u64 {
        if self.job.plan.scope.is_some() { self.in_conflict.len() as u64 } else { 0 }
    }

    /// Whether no bad record can be that of a row which the payload seems not to have.
    pub(super) fn knows_all(&self) -> bool {
        self.somebodys == 0
    }

    /// Whether no record was good: a payload of nothing but bad ones says as little about the rows as an empty one.
    pub(super) fn has_no_good_record(&self) -> bool {
        self.bad == self.outcome.read
    }

    /// Rows that this batch has changed so far.
    pub(super) fn landed(&self) -> u64 {
        self.outcome.inserted + self.outcome.updated + self.outcome.deleted
    }

    /// Where the records in conflict stand.
    pub(super) fn conflict_offsets(&self) -> HashSet<u64> {
        self.in_conflict.clone()
    }

    /// Whether the bad records are more than the pipeline allows; to be asked once all have been read, and again once
    /// all have been written.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        let source_name = self.job.batch.source().to_owned();
        match self.job.pipeline.on_bad() {
            OnBad::Fail if self.bad > 0 => {
                Err(Repr::BadRecords { source_name, found: std::mem::take(&mut self.found), total: self.bad }
                    .into())
            }
            OnBad::Quarantine(ceiling) if ceiling.is_over(self.bad, self.outcome.read) => {
                let (bad, read) = (self.bad, self.outcome.read);
                Err(Repr::OverCeiling { source_name, bad, read, found: std::mem::take(&mut self.found) }
                    .into())
            }
            _ => Ok(()),
        }
    }

    /// The quarantine entries that have landed: those whose record isn't bad any more.
    pub(super) fn resolved(&self) -> Vec<[u8; 32]> {
        let ids = self.job.batch.entries().into_iter().flat_map(|entries| &entries.ids);
        (1..).zip(ids).filter(|(number, _)| !self.still_bad.contains(number)).map(|(_, id)| *id).collect()
    }

    /// The counts and notes, once they add up (X3).
    pub(super) fn close(mut self) -> Result<(Outcome, Notes), Error> {
        self.outcome.quarantined = self.bad;
        if self.outcome.accounted() != self.outcome.read {
            return Err(Error::internal(format!(
                "{} records read, {} accounted for: {:?}",
                self.outcome.read,
                self.outcome.accounted(),
                self.outcome
            )));
        }
        self.notes.kept = self.found;
        Ok((self.outcome, self.notes))
    }

    fn count(&mut self, number: u64, why: &BadRecord) {
        self.bad += 1;
        self.somebodys += u64::from(!why.kind.is_without_identity());
        if self.job.batch.entries().is_some() {
            self.still_bad.insert(number);
        }
        self.list(number, why);
    }

    /// The first ones by number, whichever thread met them first.
    fn list(&mut self, number: u64, why: &BadRecord) {
        let at = self.found.partition_point(|located| located.number <= number);
        if at < LISTED {
            self.found.insert(at, Located { number, bad: why.clone() });
            self.found.truncate(LISTED);
        }
    }

    fn row<'r>(&self, number: u64, bad: BadRecord, raw: &'r [u8]) -> BadRow<'r>
    where
        'j: 'r,
    {
        let claim = &self.job.claim;
        BadRow {
            pipeline: &claim.pipeline,
            batch_id: &claim.batch_id,
            run_id: claim.run_id,
            source: &claim.source,
            number,
            bad,
            raw,
        }
    }

    async fn keep<W: Work>(&mut self, work: &mut W, rows: &[BadRow<'_>]) -> Result<(), Error> {
        if self.job.is_preview || rows.is_empty() {
            return Ok(());
        }
        self.notes.kept_new += work.keep_bad(rows).await?;
        Ok(())
    }

    fn text(texts: &Texts, place: Place) -> Result<Vec<u8>, Error> {
        let mut raw = Vec::new();
        texts.read(place.offset, place.len, &mut raw).map_err(|error| {
            Error::internal(format!("record {} can't be read again: {error}", place.number))
        })?;
        Ok(raw)
    }
}
