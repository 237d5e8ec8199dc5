//! The first pass: decode and identify on a thread of its own, while the database takes the chunk before.
//!
//! What goes to the database is what the stage wants of each record (key, digest, version, place), never the rows: most of
//! a re-delivered batch is there already.

use std::sync::Arc;

use landonce_core::bad_record::BadRecord;
use landonce_core::plan::{Guard, KeyForm, Match, StageColumn, TablePlan};
use landonce_core::record::{RecordReader, Row, Wanted};
use landonce_core::value::Value;
use landonce_store::seam::Rows;
use tokio::sync::mpsc;

use super::Job;
use super::repeats::Repeats;
use crate::decode::{DecodeError, Item, Texts};

/// A chunk is sent when it is about so large.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks waiting between the two threads.
const AHEAD: usize = 2;

/// What comes out of the feed.
pub(super) enum Fed<R> {
    /// Staged rows, and the bad records met meanwhile.
    Chunk {
        /// Records read so far, good and bad.
        read: u64,
        /// Bytes of the decoded payload read so far.
        offset: u64,
        rows: R,
        bad: Vec<Bad>,
    },
    /// The payload has been read to its proved end.
    Done { read: u64, texts: Texts },
    /// The payload can't be read to its end.
    Failed(DecodeError),
}

/// A bad record.
pub(super) struct Bad {
    pub(super) number: u64,
    pub(super) why: BadRecord,
    /// Its text as JSON where it could be framed, else its bytes.
    pub(super) raw: Vec<u8>,
}

/// Starts the feed's thread.
pub(super) fn start<R: Rows>(job: &Job, encoder: impl Fn() -> R + Send + 'static) -> mpsc::Receiver<Fed<R>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let feed = Feed {
        reader: RecordReader::new(&job.pipeline, &job.plan, job.is_lexical()),
        stager: Stager::new(&job.plan),
        keeps_raw: job.keeps_bad(),
        job: job.clone(),
        encoder,
        sender,
    };
    std::thread::spawn(move || feed.run());
    receiver
}

struct Feed<R, E> {
    reader: RecordReader,
    stager: Stager,
    keeps_raw: bool,
    job: Job,
    encoder: E,
    sender: mpsc::Sender<Fed<R>>,
}

impl<R: Rows, E: Fn() -> R> Feed<R, E> {
    fn run(mut self) {
        let last = match self.feed() {
            Ok(Some(last)) => last,
            Ok(None) => return, // nobody listens any more: the transaction has failed
            Err(error) => Fed::Failed(error),
        };
        let _ = self.sender.blocking_send(last);
    }

    fn feed(&mut self) -> Result<Option<Fed<R>>, DecodeError> {
        let mut records = self.job.batch.payload().records(&self.job.format, &self.job.limits)?;
        let mut read = 0;
        let (mut rows, mut bad, mut bad_bytes) = ((self.encoder)(), Vec::new(), 0);
        let mut offset = 0;
        while let Some(item) = records.next()? {
            read += 1;
            offset = item.offset;
            if let Err(found) = self.take(&item, &mut rows) {
                bad_bytes += found.raw.len() + size_of::<Bad>();
                bad.push(found);
            }
            if rows.size() + bad_bytes >= CHUNK_BYTES {
                let rows = std::mem::replace(&mut rows, (self.encoder)());
                let bad = std::mem::take(&mut bad);
                bad_bytes = 0;
                if self.sender.blocking_send(Fed::Chunk { read, offset, rows, bad }).is_err() {
                    return Ok(None);
                }
            }
        }
        if self.sender.blocking_send(Fed::Chunk { read, offset, rows, bad }).is_err() {
            return Ok(None);
        }
        Ok(Some(Fed::Done { read, texts: records.finish() }))
    }

    fn take(&mut self, item: &Item<'_>, rows: &mut R) -> Result<(), Bad> {
        let keeps_raw = self.keeps_raw;
        let bad = |why, raw: &[u8]| Bad {
            number: item.number,
            why,
            raw: if keeps_raw { raw.to_vec() } else { Vec::new() },
        };
        let text = match &item.text {
            Ok(text) => *text,
            Err(why) => return Err(bad(why.clone(), item.raw)),
        };
        match self.reader.read(text, self.stager.wanted) {
            Ok(row) => {
                self.stager.push(row, item, rows);
                Ok(())
            }
            Err(why) => Err(bad(why, text)),
        }
    }
}

/// Turns a row into what the stage wants of it.
struct Stager {
    plan: Arc<TablePlan>,
    columns: Vec<StageColumn>,
    form: KeyForm,
    repeats: Repeats,
    wanted: Wanted,
}

impl Stager {
    fn new(plan: &Arc<TablePlan>) -> Self {
        let form = match plan.matching {
            Match::Key { form, .. } => form,
            Match::Columns(_) => KeyForm::Bytes,
        };
        let wanted = if plan.guard == Guard::Columns { Wanted::Row } else { Wanted::Identity };
        Self { columns: plan.stage_columns(), plan: Arc::clone(plan), form, repeats: Repeats::new(), wanted }
    }

    fn push<R: Rows>(&mut self, mut row: Row<'_>, item: &Item<'_>, rows: &mut R) {
        // Matched on natural columns, the database's equality decides: every identity may repeat.
        let may_repeat = row.key.as_ref().is_none_or(|key| self.repeats.may_repeat(&key.0));
        let values: Vec<Value<'_>> = self
            .columns
            .iter()
            .map(|column| match column {
                StageColumn::MayRepeat => Value::Boolean(may_repeat),
                StageColumn::IsDelete => Value::Boolean(row.is_delete),
                other => super::build::value(*other, &mut row, self.form, item.number, item.offset, item.len),
            })
            .collect();
        debug_assert_eq!(values.len(), self.plan.stage_columns().len());
        rows.push(&values);
    }
}
