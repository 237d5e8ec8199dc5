//! The first pass: one thread frames records, a few identify them, and the database takes the chunk before.
//!
//! What goes to the database is what the stage wants of each record (key, digest, version, place), never the rows: most of
//! a re-delivered batch is there already. Chunks may arrive in any order; a record's offset says where it stood.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use landonce_core::bad_record::BadRecord;
use landonce_core::plan::{Guard, KeyForm, Match, StageColumn};
use landonce_core::record::{RecordReader, Row, Wanted};
use landonce_core::value::Value;
use landonce_store::seam::{Place, Rows};
use tokio::sync::mpsc;

use super::Job;
use super::copies::Copies;
use super::repeats::Repeats;
use super::weigh::Nulls;
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
        /// Records withheld for another round ([`Input::withholds`]).
        later: Vec<Place>,
    },
    /// Everything has been read; a payload to its proved end, and where its texts can be read again. Comes last.
    Done { read: u64, texts: Option<Texts> },
    /// The payload can't be read to its end.
    Failed(DecodeError),
}

/// What is fed.
pub(super) struct Input {
    /// These records again, in this order; the whole payload when there are none given.
    pub(super) again: Option<(Vec<Place>, Arc<Texts>)>,
    /// Records of one identity that are withheld, in order, where folding would lose what they say; none where all may be folded.
    pub(super) withholds: Option<Withhold>,
}

/// Which records of one identity are withheld for a later round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Withhold {
    /// All but the first: each record is a change to what the one before has left.
    Repeats,
    /// A delete behind a put, a put behind a delete, and what follows: a delete leaves the row that the put has made.
    Turns,
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
    input: Input,
) -> mpsc::Receiver<Fed<R>> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let job = job.clone();
    thread::spawn(move || {
        let last = match feed(&job, &encoder, &sender, &input) {
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
    input: &Input,
) -> Result<Fed<R>, DecodeError> {
    let (blocks, waiting) = sync_channel(AHEAD);
    let waiting = Arc::new(Mutex::new(waiting));
    let repeats = Arc::new(Repeats::new());
    // Which record of an identity is the first is told by their order: by one thread.
    let most = if input.withholds.is_some() { 1 } else { MOST_THREADS };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(most);
    let identifying: Vec<_> = (0..threads)
        .map(|_| {
            let identifier =
                Identifier::new(job, encoder.clone(), sender.clone(), Arc::clone(&repeats), input);
            let waiting = Arc::clone(&waiting);
            thread::spawn(move || identifier.run(&waiting))
        })
        .collect();
    drop(waiting); // when the last of them stops, sending a block fails and so stops the framing
    let framed = match &input.again {
        Some((places, texts)) => frame_again(places, texts, &blocks).map(|read| (read, None)),
        None => frame_payload(job, &blocks).map(|(read, texts)| (read, Some(texts))),
    };
    drop(blocks);
    for thread in identifying {
        let _ = thread.join();
    }
    let (read, texts) = framed?;
    Ok(Fed::Done { read, texts })
}

fn frame_payload(job: &Job, blocks: &SyncSender<Block>) -> Result<(u64, Texts), DecodeError> {
    let mut records = job.batch.payload().records(&job.format, &job.limits)?;
    let read = frame(&mut records, blocks)?;
    Ok((read, records.finish()))
}

/// Reads records again by their places. All of them were good the first time.
fn frame_again(places: &[Place], texts: &Texts, blocks: &SyncSender<Block>) -> Result<u64, DecodeError> {
    let mut block = Block::new();
    let mut text = Vec::new();
    for place in places {
        texts
            .read(place.offset, place.len, &mut text)
            .map_err(|source| DecodeError::Read { offset: place.offset, source })?;
        block.push(&Item {
            number: place.number,
            offset: place.offset,
            len: place.len,
            text: Ok(&text),
            raw: &text,
        });
        if block.text.len() >= BLOCK_BYTES
            && blocks.send(std::mem::replace(&mut block, Block::new())).is_err()
        {
            break; // nobody listens any more
        }
    }
    let _ = blocks.send(block);
    Ok(places.len() as u64)
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
    withholds: Option<Withhold>,
    turns: Turns,
    is_natural: bool,
    later: Vec<Place>,
    repeats: Arc<Repeats>,
    copies: Option<Arc<Copies>>,
    nulls: Option<Arc<Nulls>>,
    is_again: bool,
    encoder: E,
    sender: mpsc::Sender<Fed<R>>,
}

impl<R: Rows, E: Fn() -> R> Identifier<R, E> {
    fn new(
        job: &Job,
        encoder: E,
        sender: mpsc::Sender<Fed<R>>,
        repeats: Arc<Repeats>,
        input: &Input,
    ) -> Self {
        let withholds = input.withholds;
        let reader = RecordReader::new(&job.pipeline, &job.plan, job.is_lexical());
        let form = match job.plan.matching {
            Match::Key { form, .. } => form,
            Match::Columns(_) => KeyForm::Bytes,
        };
        Self {
            reader: if withholds.is_some() { reader.keyed() } else { reader },
            columns: job.plan.stage_columns(),
            form,
            wanted: if job.plan.guard == Guard::Columns { Wanted::Row } else { Wanted::Identity },
            keeps_raw: job.keeps_bad(),
            withholds,
            turns: Turns::default(),
            is_natural: matches!(job.plan.matching, Match::Columns(_)),
            later: Vec::new(),
            repeats,
            copies: job.copies.clone(),
            nulls: job.nulls.clone(),
            is_again: input.again.is_some(),
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
                let later = std::mem::take(&mut self.later);
                if self.sender.blocking_send(Fed::Chunk { read, offset, rows, bad, later }).is_err() {
                    return; // nobody listens any more: the transaction has failed
                }
            }
        }
        let later = std::mem::take(&mut self.later);
        let _ = self.sender.blocking_send(Fed::Chunk { read, offset, rows, bad, later });
    }

    fn take(&mut self, record: Framed, text: &[u8], rows: &mut R) -> Result<(), Bad> {
        let why = match record.bad {
            Some(why) => why,
            None => match self.reader.read(text, self.wanted) {
                Ok(mut row) => {
                    let place = Place { number: record.number, offset: record.offset, len: record.len };
                    if let Some(nulls) = self.nulls.as_ref().filter(|_| !self.is_again) {
                        nulls.see(&row.values);
                    }
                    if let (Some(copies), Some(key)) = (&self.copies, row.key) {
                        row.key = Some(if self.is_again {
                            copies.again(key, place.offset)
                        } else {
                            copies.meet(key, place.offset)
                        });
                    }
                    let may_repeat = row.key.as_ref().is_none_or(|key| self.repeats.may_repeat(&key.0));
                    let is_withheld = match self.withholds {
                        None => false,
                        Some(Withhold::Repeats) => may_repeat,
                        Some(Withhold::Turns) => {
                            row.key.is_none_or(|key| self.turns.is_withheld(key.0, row.is_delete, may_repeat))
                        }
                    };
                    if is_withheld {
                        self.later.push(place);
                        return Ok(());
                    }
                    // Matched on natural columns, the database's equality decides: every identity may repeat.
                    let values =
                        staged(&self.columns, &mut row, self.form, may_repeat || self.is_natural, place);
                    rows.push(&values);
                    return Ok(());
                }
                Err(why) => why,
            },
        };
        Err(Bad { number: record.number, why, raw: if self.keeps_raw { text.to_vec() } else { Vec::new() } })
    }
}

/// The identities of a round whose records take turns.
#[derive(Debug, Default)]
struct Turns {
    /// A delete is staged, or a record is withheld: whatever follows has to wait.
    is_over: HashSet<[u8; 32]>,
}

impl Turns {
    fn is_withheld(&mut self, key: [u8; 32], is_delete: bool, may_repeat: bool) -> bool {
        if self.is_over.contains(&key) {
            return true;
        }
        if is_delete {
            self.is_over.insert(key);
        }
        is_delete && may_repeat
    }
}

/// What the stage wants of a row.
fn staged<'r>(
    columns: &[StageColumn],
    row: &mut Row<'r>,
    form: KeyForm,
    may_repeat: bool,
    place: Place,
) -> Vec<Value<'r>> {
    let is_delete = row.is_delete;
    columns
        .iter()
        .map(|column| match column {
            StageColumn::MayRepeat => Value::Boolean(may_repeat),
            StageColumn::IsDelete => Value::Boolean(is_delete),
            other => super::build::value(*other, row, form, place),
        })
        .collect()
}
