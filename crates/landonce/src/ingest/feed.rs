//! The first pass: one thread frames records, a few identify them, and the database takes the chunk before.
//!
//! What goes to the database is what the stage wants of each record (key, digest, version, place), never the rows: most of
//! a re-delivered batch is there already. Chunks may arrive in any order; a record's offset says where it stood.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use landonce_core::bad_record::BadRecord;
use landonce_core::plan::{Guard, KeyForm, Match, StageColumn};
use landonce_core::record::{RecordReader, Row, Wanted};
use landonce_core::value::Value;
use landonce_store::seam::Rows;
use tokio::sync::mpsc;

use super::Job;
use super::repeats::Repeats;
use crate::decode::{DecodeError, Item, Texts};

/// How much text one block of records holds, from the framing thread to one that identifies.
const BLOCK_BYTES: usize = 256 << 10;
/// A chunk is sent to the database when it is about so large.
const CHUNK_BYTES: usize = 1 << 20;
/// Blocks and chunks waiting between threads, each.
const AHEAD: usize = 2;
/// The most threads that identify.
const MOST_THREADS: usize = 4;

/// What comes out of the feed.
pub(super) enum Fed<R> {
    /// Staged rows, and the bad records met meanwhile.
    Chunk {
        /// The number of the last record of the chunk, counted from 1 over all.
        read: u64,
        /// Where it began in the decoded payload.
        offset: u64,
        rows: R,
        bad: Vec<Bad>,
    },
    /// The payload has been read to its proved end. Comes last.
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

/// Starts the feed's threads.
pub(super) fn start<R: Rows>(
    job: &Job,
    encoder: impl Fn() -> R + Clone + Send + 'static,
) -> mpsc::Receiver<Fed<R>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let job = job.clone();
    thread::spawn(move || {
        let last = match feed(&job, &encoder, &sender) {
            Ok(last) => last,
            Err(error) => Fed::Failed(error),
        };
        let _ = sender.blocking_send(last); // nobody may be listening: then the transaction has failed
    });
    receiver
}

/// Frames, and lets the others identify; comes back when all chunks have been sent.
fn feed<R: Rows>(
    job: &Job,
    encoder: &(impl Fn() -> R + Clone + Send + 'static),
    sender: &mpsc::Sender<Fed<R>>,
) -> Result<Fed<R>, DecodeError> {
    let mut records = job.batch.payload().records(&job.format, &job.limits)?;
    let (blocks, waiting) = sync_channel(AHEAD);
    let waiting = Arc::new(Mutex::new(waiting));
    let repeats = Arc::new(Repeats::new());
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let identifying: Vec<_> = (0..threads)
        .map(|_| {
            let identifier = Identifier::new(job, encoder.clone(), sender.clone(), Arc::clone(&repeats));
            let waiting = Arc::clone(&waiting);
            thread::spawn(move || identifier.run(&waiting))
        })
        .collect();
    drop(waiting); // when the last of them stops, sending a block fails and so stops the framing
    let framed = frame(&mut records, &blocks);
    drop(blocks);
    for thread in identifying {
        let _ = thread.join();
    }
    Ok(Fed::Done { read: framed?, texts: records.finish() })
}

/// Records copied out of the decoder's buffer, which holds one at a time.
struct Block {
    text: Vec<u8>,
    records: Vec<Framed>,
    read: u64,
}

/// A record in a block.
struct Framed {
    number: u64,
    offset: u64,
    len: u32,
    /// Where its text (or, bad, its bytes) ends in the block; it starts where the one before ends.
    end: usize,
    bad: Option<BadRecord>,
}

impl Block {
    fn new() -> Self {
        Self { text: Vec::with_capacity(BLOCK_BYTES + (BLOCK_BYTES >> 3)), records: Vec::new(), read: 0 }
    }

    fn push(&mut self, item: &Item<'_>) {
        let bad = match &item.text {
            Ok(text) => {
                self.text.extend_from_slice(text);
                None
            }
            Err(bad) => {
                self.text.extend_from_slice(item.raw);
                Some(bad.clone())
            }
        };
        self.records.push(Framed {
            number: item.number,
            offset: item.offset,
            len: item.len,
            end: self.text.len(),
            bad,
        });
    }
}

/// Frames all records into blocks. Returns how many there were.
fn frame(records: &mut crate::decode::Records, blocks: &SyncSender<Block>) -> Result<u64, DecodeError> {
    let mut read = 0;
    let mut block = Block::new();
    while let Some(item) = records.next()? {
        read += 1;
        block.push(&item);
        if block.text.len() >= BLOCK_BYTES {
            block.read = read;
            if blocks.send(std::mem::replace(&mut block, Block::new())).is_err() {
                return Ok(read); // nobody listens any more
            }
        }
    }
    block.read = read;
    let _ = blocks.send(block);
    Ok(read)
}

/// Identifies blocks of records, on a thread of its own.
struct Identifier<R, E> {
    reader: RecordReader,
    columns: Vec<StageColumn>,
    form: KeyForm,
    wanted: Wanted,
    keeps_raw: bool,
    repeats: Arc<Repeats>,
    encoder: E,
    sender: mpsc::Sender<Fed<R>>,
}

impl<R: Rows, E: Fn() -> R> Identifier<R, E> {
    fn new(job: &Job, encoder: E, sender: mpsc::Sender<Fed<R>>, repeats: Arc<Repeats>) -> Self {
        let form = match job.plan.matching {
            Match::Key { form, .. } => form,
            Match::Columns(_) => KeyForm::Bytes,
        };
        Self {
            reader: RecordReader::new(&job.pipeline, &job.plan, job.is_lexical()),
            columns: job.plan.stage_columns(),
            form,
            wanted: if job.plan.guard == Guard::Columns { Wanted::Row } else { Wanted::Identity },
            keeps_raw: job.keeps_bad(),
            repeats,
            encoder,
            sender,
        }
    }

    fn run(mut self, waiting: &Mutex<Receiver<Block>>) {
        let (mut rows, mut bad, mut bad_bytes) = ((self.encoder)(), Vec::new(), 0);
        let (mut read, mut offset) = (0, 0);
        loop {
            let block = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(block) = block else { break };
            let mut start = 0;
            for record in block.records {
                let text = &block.text[start..record.end];
                (start, offset) = (record.end, record.offset);
                if let Err(found) = self.take(record, text, &mut rows) {
                    bad_bytes += found.raw.len() + size_of::<Bad>();
                    bad.push(found);
                }
            }
            read = block.read;
            if rows.size() + bad_bytes >= CHUNK_BYTES {
                let rows = std::mem::replace(&mut rows, (self.encoder)());
                let bad = std::mem::take(&mut bad);
                bad_bytes = 0;
                if self.sender.blocking_send(Fed::Chunk { read, offset, rows, bad }).is_err() {
                    return; // nobody listens any more: the transaction has failed
                }
            }
        }
        let _ = self.sender.blocking_send(Fed::Chunk { read, offset, rows, bad });
    }

    fn take(&mut self, record: Framed, text: &[u8], rows: &mut R) -> Result<(), Bad> {
        let why = match record.bad {
            Some(why) => why,
            None => match self.reader.read(text, self.wanted) {
                Ok(mut row) => {
                    let place = (record.number, record.offset, record.len);
                    let values = staged(&self.columns, &mut row, self.form, &self.repeats, place);
                    rows.push(&values);
                    return Ok(());
                }
                Err(why) => why,
            },
        };
        Err(Bad { number: record.number, why, raw: if self.keeps_raw { text.to_vec() } else { Vec::new() } })
    }
}

/// What the stage wants of a row.
fn staged<'r>(
    columns: &[StageColumn],
    row: &mut Row<'r>,
    form: KeyForm,
    repeats: &Repeats,
    (number, offset, len): (u64, u64, u32),
) -> Vec<Value<'r>> {
    // Matched on natural columns, the database's equality decides: every identity may repeat.
    let may_repeat = row.key.as_ref().is_none_or(|key| repeats.may_repeat(&key.0));
    let is_delete = row.is_delete;
    columns
        .iter()
        .map(|column| match column {
            StageColumn::MayRepeat => Value::Boolean(may_repeat),
            StageColumn::IsDelete => Value::Boolean(is_delete),
            other => super::build::value(*other, row, form, number, offset, len),
        })
        .collect()
}
