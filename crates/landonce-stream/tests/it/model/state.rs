//! What there is: the log, the database with its open transactions, the workers.
//!
//! Workers have no names: they are kept sorted, so that states which differ only in who is who are one state.

use std::collections::BTreeSet;

use super::rules::Bounds;

/// A message by the log's generation (a log that was made anew has another one) and its number.
pub(crate) type Message = (u8, u8);

/// Rows by key, each with its value.
pub(crate) type Rows = [Option<u8>; 2];

/// What a message does to the table: a key and its new value, or its end.
///
/// The third one repeats the first, the fourth one updates it, the fifth one deletes it. A row that comes new also counts in the
/// balance, which nothing takes back: landed twice, `0 … 4, 0` leaves a row too many and a balance too high.
pub(crate) fn effect((generation, number): Message) -> (usize, Option<u8>) {
    let value = |value: u8| Some(generation * 16 + value);
    match number {
        0 | 2 => (0, value(1)),
        1 => (1, value(1)),
        3 => (0, value(2)),
        _ => (0, None),
    }
}

/// A batch as a worker holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Batch {
    /// The epoch in which its worker took the part.
    pub(crate) epoch: u8,
    /// Where the worker believes the position to be.
    pub(crate) from: u8,
    /// Where the position is to be behind it.
    pub(crate) to: u8,
    /// Its first message: `from`, unless a mutant has read from somewhere else.
    pub(crate) first: u8,
    /// The generation of the log that it was read from.
    pub(crate) generation: u8,
}

impl Batch {
    pub(crate) fn messages(self) -> impl Iterator<Item = Message> {
        let generation = self.generation;
        (self.first..self.to).map(move |number| (generation, number))
    }
}

/// What names a batch in the inbox: the epoch, from where, to where.
pub(crate) type Claim = (u8, u8, u8);

/// How far a transaction is. Each step is a statement that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Its inbox row is inserted: who inserts the same one waits.
    Claimed,
    /// Its rows are written: who writes one of them waits.
    Written,
    /// Its move was asked for, and not made yet (only where that is two statements).
    Asked,
    /// Its position is moved: who moves or takes the part waits.
    Moved,
}

/// An open transaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Transaction {
    pub(crate) batch: Batch,
    pub(crate) claim: Claim,
    pub(crate) phase: Phase,
    /// The rows that it changes, as the write statement has found them; equal rows are neither written nor locked.
    pub(crate) writes: Vec<(usize, Option<u8>)>,
    /// How many of them came new.
    pub(crate) fresh: u8,
    /// Nobody holds its connection any more, and the server doesn't know yet. True: the COMMIT was sent, and may still arrive.
    pub(crate) may_commit: bool,
}

/// What a worker is at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Worker {
    /// Down, or without the part.
    Idle,
    /// The broker has given it the part.
    Assigned,
    /// It has read its place, and not raised the epoch yet (only where that is two statements).
    PlaceRead(u8),
    /// It has taken the part, and lands from `next` on; it reads from `reads` on (the same, unless it trusts the broker).
    Owner { epoch: u8, next: u8, reads: u8 },
    /// It has a batch and no transaction: new, or after a connection that was cut, or a COMMIT without an answer.
    Holding(Batch),
    /// It is in the batch's transaction.
    Within(Transaction),
    /// The inbox has the batch: it moves the part behind it, where that isn't done.
    Found(Batch),
}

/// Everything.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) workers: Vec<Worker>,
    /// Transactions that no worker holds any more.
    pub(crate) orphans: Vec<Transaction>,
    /// The position, committed.
    pub(crate) next: u8,
    pub(crate) epoch: u8,
    /// The claims, committed, each with the generation that stands for the digest of its bytes.
    pub(crate) inbox: BTreeSet<(Claim, u8)>,
    pub(crate) rows: Rows,
    /// What `apply` has added up since then: one for each row that came new.
    pub(crate) balance: u8,
    /// The broker's committed offset.
    pub(crate) broker: u8,
    /// The log's generation.
    pub(crate) generation: u8,
    /// Every message whose effect was committed since a person last moved the position, in order. For the properties alone.
    pub(crate) landed: Vec<Message>,
    /// The rows at that time, and where the position was moved to. For the properties alone.
    pub(crate) base: (Rows, u8),
    /// What may still happen.
    pub(crate) left: Bounds,
}

impl State {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            workers: vec![Worker::Idle; bounds.workers],
            orphans: Vec::new(),
            next: 0,
            epoch: 0,
            inbox: BTreeSet::new(),
            rows: Rows::default(),
            balance: 0,
            broker: 0,
            generation: 0,
            landed: Vec::new(),
            base: (Rows::default(), 0),
            left: bounds,
        }
    }

    /// The open transactions, less that of one worker.
    pub(crate) fn others(&self, but: Option<usize>) -> impl Iterator<Item = &Transaction> {
        let held = self.workers.iter().enumerate().filter(move |(index, _)| Some(*index) != but);
        held.filter_map(|(_, worker)| match worker {
            Worker::Within(transaction) => Some(transaction),
            _ => None,
        })
        .chain(&self.orphans)
    }

    /// Whether another transaction has moved the position and not ended.
    pub(crate) fn is_position_locked(&self, but: Option<usize>) -> bool {
        self.others(but).any(|other| other.phase == Phase::Moved)
    }

    /// What the position says has landed since a person last moved it.
    pub(crate) fn said(&self) -> impl Iterator<Item = Message> + use<> {
        let generation = self.generation;
        (self.base.1..self.next).map(move |number| (generation, number))
    }

    /// All that there is has landed, and nothing is open.
    pub(crate) fn is_done(&self) -> bool {
        self.next == self.left.messages && self.others(None).next().is_none()
    }

    /// The rows and the balance, if each message that has landed was the only one at work.
    pub(crate) fn replayed(&self) -> (Rows, u8) {
        let mut rows = self.base.0;
        let mut balance = 0;
        for message in &self.landed {
            let (key, value) = effect(*message);
            balance += u8::from(rows[key].is_none() && value.is_some());
            rows[key] = value;
        }
        (rows, balance)
    }

    /// Writes states that can't be told apart by what follows in one way: nobody is named, epochs are numbered anew in their order,
    /// and the claims of an epoch that nobody holds are left out, since nobody will ask for them.
    pub(crate) fn normalise(&mut self) {
        let current = self.epoch;
        let epochs: BTreeSet<u8> = self.epochs().map(|epoch| *epoch).chain([current]).collect();
        let anew = |epoch: u8| epochs.iter().position(|held| *held == epoch).map_or(0, |at| at as u8 + 1);
        let inbox = self.inbox.iter().filter(|((epoch, ..), _)| *epoch == 0 || epochs.contains(epoch));
        self.inbox = inbox.map(|((epoch, from, to), digest)| ((anew(*epoch), *from, *to), *digest)).collect();
        self.epoch = anew(current);
        self.epochs().for_each(|epoch| *epoch = anew(*epoch));
        self.workers.sort_unstable();
        self.orphans.sort_unstable();
    }

    /// The epochs that somebody holds, those in claims too.
    fn epochs(&mut self) -> impl Iterator<Item = &mut u8> {
        let held = self.workers.iter_mut().filter_map(|worker| match worker {
            Worker::Owner { epoch, .. } => Some(vec![epoch]),
            Worker::Holding(batch) | Worker::Found(batch) => Some(vec![&mut batch.epoch]),
            Worker::Within(transaction) => Some(transaction.epochs()),
            Worker::Idle | Worker::Assigned | Worker::PlaceRead(_) => None,
        });
        held.chain(self.orphans.iter_mut().map(Transaction::epochs)).flatten()
    }
}

impl Transaction {
    fn epochs(&mut self) -> Vec<&mut u8> {
        let claimed = Some(&mut self.claim.0).filter(|epoch| **epoch != 0);
        claimed.into_iter().chain([&mut self.batch.epoch]).collect()
    }
}
