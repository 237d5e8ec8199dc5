//! What happens, in the order of virtual time.
//!
//! The database does what the real one does: a batch's rows are locked from its writing to its end, its position from its move to its
//! end; a taking waits for the second, and a batch of the next owner for the first.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use super::figures::Figures;
use super::group::assign;
use super::random::Random;
use super::settings::Settings;

/// What is to happen. Numbers are those of batches, parts, workers, rebalances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A part may have something to read, in the epoch that its owner has.
    Wake(usize, u64),
    /// A batch is encoded, and wants a connection.
    Prepared(usize),
    /// A batch's rows are written: it asks for the part and moves it.
    Written(usize),
    /// A batch's COMMIT is done.
    Committed(usize),
    /// The server has noticed that a connection is gone.
    OrphanEnds(usize),
    Crash(usize),
    Restart(usize),
    /// Every so often, or because somebody has come or gone.
    Rebalance(bool),
    /// The barrier of a rebalance is over.
    Assign(u64),
    /// A worker asks the database for a part, as the rebalance told it.
    Take(usize, usize, u64),
}

/// A part as its owner sees it.
#[derive(Debug, Clone, Copy)]
struct Lane {
    worker: usize,
    epoch: u64,
    next: u64,
    is_busy: bool,
    has_lingered: bool,
}

#[derive(Debug, Default)]
struct Part {
    epoch: u64,
    next: u64,
    /// How many effects there are: what no rule of the protocol looks at.
    effects: u64,
    lane: Option<Lane>,
    /// Who had it before, and may not know.
    former: Option<Lane>,
    ownerless_since: Option<u64>,
    /// The batch that holds the rows' locks, and those that wait for them.
    writer: Option<usize>,
    waiting: VecDeque<usize>,
    /// The batch that holds the position's lock, and those who wait for it.
    mover: Option<usize>,
    takers: Vec<(usize, u64)>,
}

#[derive(Debug, Default)]
struct Worker {
    is_up: bool,
    /// Its own time is taken up to here.
    free_at: u64,
    open: BTreeSet<usize>,
    lanes: BTreeSet<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Batch {
    part: usize,
    worker: usize,
    epoch: u64,
    from: u64,
    to: u64,
    cost: f64,
    is_connected: bool,
    /// Its worker is gone, and its COMMIT isn't on the way.
    is_orphan: bool,
}

/// Everything.
pub(crate) struct World<'a> {
    settings: &'a Settings,
    now: u64,
    count: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    random: Random,
    parts: Vec<Part>,
    workers: Vec<Worker>,
    batches: Vec<Batch>,
    cores: Vec<f64>,
    connections: usize,
    queue: VecDeque<usize>,
    rebalance: u64,
    is_rebalancing: bool,
    is_asked_again: bool,
    target: Vec<Option<usize>>,
    figures: Figures,
}

impl<'a> World<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Self {
        let mut world = Self {
            settings,
            now: 0,
            count: 0,
            events: BinaryHeap::new(),
            random: Random::new(settings.seed),
            parts: (0..settings.parts)
                .map(|_| Part { ownerless_since: Some(0), ..Part::default() })
                .collect(),
            workers: (0..settings.workers).map(|_| Worker { is_up: true, ..Worker::default() }).collect(),
            batches: Vec::new(),
            cores: vec![0.0; settings.cores],
            connections: 0,
            queue: VecDeque::new(),
            rebalance: 0,
            is_rebalancing: false,
            is_asked_again: false,
            target: Vec::new(),
            figures: Figures::default(),
        };
        world.at(0, Event::Rebalance(false));
        world.at(settings.rebalance_every, Event::Rebalance(true));
        for worker in 0..settings.workers {
            let after = world.random.until_next(settings.crash_every);
            world.at(after, Event::Crash(worker));
        }
        world
    }

    /// Until the end, or until something is violated.
    pub(crate) fn run(mut self) -> Figures {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > self.settings.duration || self.figures.violation.is_some() {
                break;
            }
            self.now = at;
            self.happen(event);
        }
        let end = self.settings.duration;
        let open = self.parts.iter().filter_map(|part| part.ownerless_since).map(|since| end - since);
        self.figures.ownerless += open.sum::<u64>();
        self.figures
    }

    fn at(&mut self, after: u64, event: Event) {
        self.count += 1;
        self.events.push(Reverse((self.now + after, self.count, event)));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Wake(part, epoch) => {
                if let Some(lane) = self.parts[part].lane.as_mut().filter(|lane| lane.epoch == epoch) {
                    lane.has_lingered = true;
                    self.read(part);
                }
            }
            Event::Prepared(batch) if self.batches[batch].is_orphan => {}
            Event::Prepared(batch) if self.connections < self.settings.connections => self.connect(batch),
            Event::Prepared(batch) => self.queue.push_back(batch),
            Event::Written(batch) | Event::Committed(batch) if self.batches[batch].is_orphan => {}
            Event::Written(batch) => self.move_part(batch),
            Event::Committed(batch) => self.commit(batch),
            Event::OrphanEnds(batch) => self.end(batch),
            Event::Crash(worker) => self.crash(worker),
            Event::Restart(worker) => {
                self.workers[worker].is_up = true;
                let after = self.random.until_next(self.settings.crash_every);
                self.at(after, Event::Crash(worker));
                self.at(0, Event::Rebalance(false));
            }
            Event::Rebalance(is_periodic) => {
                if is_periodic {
                    self.at(self.settings.rebalance_every, event);
                }
                // Who comes or goes meanwhile is for the next one.
                if self.is_rebalancing { self.is_asked_again = true } else { self.begin_rebalance() }
            }
            Event::Assign(rebalance) => {
                self.is_rebalancing = false;
                for part in 0..self.parts.len() {
                    if let (None, Some(worker)) = (self.parts[part].lane, self.target[part]) {
                        self.at(self.settings.round_trip, Event::Take(part, worker, rebalance));
                    }
                }
                if std::mem::take(&mut self.is_asked_again) {
                    self.at(self.settings.settle, Event::Rebalance(false));
                }
            }
            Event::Take(part, worker, rebalance) => self.take(part, worker, rebalance),
        }
    }

    fn begin_rebalance(&mut self) {
        self.rebalance += 1;
        self.is_rebalancing = true;
        let present: Vec<usize> =
            (0..self.workers.len()).filter(|worker| self.workers[*worker].is_up).collect();
        let owners: Vec<Option<usize>> =
            self.parts.iter().map(|part| part.lane.map(|lane| lane.worker)).collect();
        self.target = assign(self.settings.is_eager, &present, &owners);
        for (part, owner) in owners.iter().enumerate() {
            if self.settings.is_eager || *owner != self.target[part] {
                self.let_go(part);
            }
        }
        self.at(self.settings.barrier, Event::Assign(self.rebalance));
    }

    fn let_go(&mut self, part: usize) {
        if let Some(lane) = self.parts[part].lane.take() {
            self.workers[lane.worker].lanes.remove(&part);
            self.parts[part].former = Some(lane);
            self.parts[part].ownerless_since = Some(self.now);
            // What has no transaction yet is dropped; what has one goes on to its end, or to its fence.
            let worker = &mut self.workers[lane.worker];
            for number in worker.open.iter().copied().collect::<Vec<_>>() {
                let batch = &mut self.batches[number];
                if batch.part == part && !batch.is_connected {
                    batch.is_orphan = true;
                    worker.open.remove(&number);
                }
            }
        }
    }

    fn take(&mut self, at: usize, worker: usize, rebalance: u64) {
        let part = &mut self.parts[at];
        if rebalance != self.rebalance || !self.workers[worker].is_up || part.lane.is_some() {
            return;
        }
        if part.mover.is_some() {
            return part.takers.push((worker, rebalance));
        }
        part.epoch += 1;
        let lane = Lane { worker, epoch: part.epoch, next: part.next, is_busy: false, has_lingered: false };
        part.lane = Some(lane);
        let former = part.former.take();
        if let Some(since) = part.ownerless_since.take() {
            self.figures.ownerless += self.now - since;
        }
        self.figures.takes += 1;
        self.workers[worker].lanes.insert(at);
        // Who doesn't know yet that the part is another's reads on in it.
        if let Some(late) = former.filter(|lane| !lane.is_busy && self.workers[lane.worker].is_up)
            && self.random.chance(self.settings.late)
        {
            self.cut(at, late);
        }
        self.read(at);
    }

    fn backlog(&self, next: u64) -> u64 {
        let rate = self.settings.offered / self.settings.parts as f64 / 1e6;
        let produced = if rate.is_finite() { (self.now as f64 * rate) as u64 } else { u64::MAX };
        produced.saturating_sub(next)
    }

    /// Cuts a batch, where there is one to cut.
    fn read(&mut self, at: usize) {
        let Some(lane) = self.parts[at].lane.filter(|lane| !lane.is_busy) else { return };
        if self.workers[lane.worker].open.len() >= self.settings.at_once {
            return; // looked at again when one of them has ended
        }
        let backlog = self.backlog(lane.next);
        let waits = backlog == 0 || (backlog < self.settings.batch && !lane.has_lingered);
        if let Some(lane) = self.parts[at].lane.as_mut() {
            lane.has_lingered = false;
            lane.is_busy = !waits;
        }
        if waits {
            self.at(self.settings.linger, Event::Wake(at, lane.epoch));
        } else {
            self.cut(at, lane);
        }
    }

    fn cut(&mut self, part: usize, lane: Lane) {
        let count = self.backlog(lane.next).min(self.settings.batch);
        if count == 0 {
            return;
        }
        let cost = self.settings.batch_cost + count as f64 * self.settings.row_cost;
        let number = self.batches.len();
        let Lane { worker, epoch, next, .. } = lane;
        self.batches.push(Batch {
            part,
            worker,
            epoch,
            from: next,
            to: next + count,
            cost,
            is_connected: false,
            is_orphan: false,
        });
        let worker = &mut self.workers[worker];
        worker.open.insert(number);
        worker.free_at = worker.free_at.max(self.now) + (count as f64 * self.settings.worker_message) as u64;
        let after = worker.free_at - self.now;
        self.at(after, Event::Prepared(number));
    }

    fn connect(&mut self, number: usize) {
        self.connections += 1;
        self.batches[number].is_connected = true;
        let part = &mut self.parts[self.batches[number].part];
        if part.writer.is_some() { part.waiting.push_back(number) } else { self.write(number) }
    }

    fn write(&mut self, number: usize) {
        let cost = self.batches[number].cost;
        self.parts[self.batches[number].part].writer = Some(number);
        let mut core = 0;
        for other in 1..self.cores.len() {
            if self.cores[other] < self.cores[core] {
                core = other;
            }
        }
        self.cores[core] = self.cores[core].max(self.now as f64) + cost;
        self.figures.worked += cost;
        let after = (self.cores[core] - self.now as f64) as u64
            + self.settings.round_trip * self.settings.round_trips;
        self.at(after, Event::Written(number));
    }

    fn move_part(&mut self, number: usize) {
        let batch = self.batches[number];
        let part = &mut self.parts[batch.part];
        let is_ours = part.epoch == batch.epoch && part.next == batch.from;
        if is_ours || self.settings.is_broken {
            part.mover = Some(number);
            return self.at(self.settings.commit, Event::Committed(number));
        }
        self.figures.fenced += 1;
        self.figures.lost += batch.cost;
        self.end(number);
    }

    fn commit(&mut self, number: usize) {
        let batch = self.batches[number];
        let part = &mut self.parts[batch.part];
        part.next = batch.to;
        part.effects += batch.to - batch.from;
        self.figures.checks += 1;
        if part.effects != part.next {
            self.figures.violation = Some(format!(
                "part {} stands at {}, and {} effects have landed: batch {}-{} of epoch {} in epoch {}",
                batch.part, part.next, part.effects, batch.from, batch.to, batch.epoch, part.epoch
            ));
        }
        self.figures.landed += batch.to - batch.from;
        self.figures.batches += 1;
        let rate = self.settings.offered / self.settings.parts as f64 / 1e6;
        if rate.is_finite() {
            let half = (batch.to - batch.from).div_ceil(2);
            for message in [batch.from, batch.to - 1] {
                let produced = (message as f64 / rate) as u64;
                self.figures.latencies.push((self.now.saturating_sub(produced), half));
            }
        }
        let is_unanswered = self.random.chance(self.settings.unanswered);
        let mut wakes = false;
        if let Some(lane) = self.parts[batch.part].lane.as_mut().filter(|lane| lane.epoch == batch.epoch) {
            (lane.next, lane.is_busy) = (batch.to, is_unanswered);
            wakes = is_unanswered;
        }
        if wakes {
            // It connects again, and finds its batch in the inbox.
            self.figures.found += 1;
            if let Some(lane) = self.parts[batch.part].lane.as_mut() {
                lane.is_busy = false;
            }
            self.at(self.settings.linger, Event::Wake(batch.part, batch.epoch));
        }
        self.end(number);
    }

    /// A transaction ends: locks and the connection are free.
    fn end(&mut self, number: usize) {
        let batch = self.batches[number];
        self.workers[batch.worker].open.remove(&number);
        let part = &mut self.parts[batch.part];
        if part.mover == Some(number) {
            part.mover = None;
        }
        if part.writer == Some(number) {
            part.writer = None;
            if let Some(next) = part.waiting.pop_front() {
                self.write(next);
            }
        } else {
            part.waiting.retain(|waiting| *waiting != number);
        }
        self.connections -= 1;
        while let Some(next) = self.queue.pop_front() {
            if !self.batches[next].is_orphan {
                self.connect(next);
                break;
            }
        }
        for (worker, rebalance) in std::mem::take(&mut self.parts[batch.part].takers) {
            self.take(batch.part, worker, rebalance);
        }
        let lanes: Vec<usize> = self.workers[batch.worker].lanes.iter().copied().collect();
        for part in lanes {
            self.read(part);
        }
    }

    fn crash(&mut self, at: usize) {
        self.figures.crashes += 1;
        self.workers[at].is_up = false;
        for part in std::mem::take(&mut self.workers[at].lanes) {
            self.let_go(part);
            self.parts[part].former = None;
        }
        for number in std::mem::take(&mut self.workers[at].open) {
            let batch = self.batches[number];
            // A COMMIT that is on its way may arrive.
            if self.parts[batch.part].mover == Some(number) && self.random.chance(0.5) {
                continue;
            }
            self.batches[number].is_orphan = true;
            if batch.is_connected {
                self.figures.lost += batch.cost;
                self.at(self.settings.notice, Event::OrphanEnds(number));
            }
        }
        self.at(self.settings.restart, Event::Restart(at));
        self.at(self.settings.session, Event::Rebalance(false));
    }
}
