//! What a step does: the protocol, statement by statement. See [`Action`] for what each step is.

use stateright::Model;
use stateright::Property;

use super::actions::{Action, possible};
use super::rules::{Bounds, Rules};
use super::state::{Batch, Claim, Phase, State, Transaction, Worker, effect};

/// The protocol by its rules, and how much may happen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Protocol {
    pub(crate) rules: Rules,
    pub(crate) bounds: Bounds,
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.bounds)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        possible(&self.rules, state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        state.step(&self.rules, action);
        state.normalise();
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no effect twice", |_, state: &State| {
                let landed = &state.landed;
                landed.iter().enumerate().all(|(at, message)| !landed[..at].contains(message))
            }),
            Property::always("what has landed is what the position says, in order", |_, state: &State| {
                state.landed.iter().copied().eq(state.said())
            }),
            Property::always("the table is that of one delivery", |_, state: &State| {
                (state.rows, state.balance) == state.replayed()
            }),
            Property::sometimes("everything lands", |_, state: &State| state.is_done()),
            Property::sometimes("two owners are in their transactions", |_, state: &State| {
                state.workers.iter().filter(|worker| matches!(worker, Worker::Within(_))).count() > 1
            }),
            Property::sometimes("a taking waits for a COMMIT that nobody waits for", |_, state: &State| {
                let mut orphans = state.orphans.iter();
                orphans.any(|orphan| orphan.phase == Phase::Moved && orphan.may_commit)
                    && state.workers.contains(&Worker::Assigned)
            }),
            Property::sometimes("what was not answered is found", |_, state: &State| {
                state.workers.iter().any(|worker| matches!(worker, Worker::Found(_)))
            }),
        ]
    }
}

impl Rules {
    /// What a batch is claimed as.
    pub(crate) fn claim(&self, batch: Batch) -> Claim {
        (if self.id_has_epoch { batch.epoch } else { 0 }, batch.from, batch.to)
    }

    fn may_move(&self, state: &State, batch: Batch) -> bool {
        (!self.asks_epoch || state.epoch == batch.epoch) && (!self.asks_place || state.next == batch.from)
    }
}

impl State {
    /// The rows that a batch would change as they are now, and how many of them would come new.
    pub(crate) fn changes(&self, batch: Batch) -> (Vec<(usize, Option<u8>)>, u8) {
        let mut rows = self.rows;
        let mut fresh = 0;
        for message in batch.messages() {
            let (key, value) = effect(message);
            fresh += u8::from(rows[key].is_none() && value.is_some());
            rows[key] = value;
        }
        let writes = rows.into_iter().enumerate().filter(|(key, value)| self.rows[*key] != *value);
        (writes.collect(), fresh)
    }

    fn step(&mut self, rules: &Rules, action: Action) {
        match action {
            Action::Assign(at) => {
                let is_wanted = self.next < self.left.messages
                    && self.workers.iter().all(|worker| *worker == Worker::Idle);
                self.left.assigns -= u8::from(!is_wanted);
                self.workers[at] = Worker::Assigned;
            }
            Action::Revoke(at) => self.workers[at] = Worker::Idle,
            Action::ReadPlace(at) => self.workers[at] = Worker::PlaceRead(self.next),
            Action::Take(at) => {
                let next = match self.workers[at] {
                    Worker::PlaceRead(next) => next,
                    _ => self.next,
                };
                self.epoch += u8::from(rules.raises_epoch);
                let reads = if rules.trusts_database { next } else { self.broker };
                self.workers[at] = Worker::Owner { epoch: self.epoch, next, reads };
            }
            Action::TakeUnanswered(at) => {
                self.left.faults -= 1;
                self.epoch += u8::from(rules.raises_epoch);
                self.workers[at] = Worker::Assigned;
            }
            Action::Read(at, to) => {
                if let Worker::Owner { epoch, next, reads } = self.workers[at] {
                    let generation = self.generation;
                    self.workers[at] =
                        Worker::Holding(Batch { epoch, from: next, to, first: reads, generation });
                }
            }
            Action::Reread(at) => {
                self.left.rereads -= 1;
                if let Worker::Holding(Batch { epoch, from, first, .. }) = self.workers[at] {
                    self.workers[at] = Worker::Owner { epoch, next: from, reads: first };
                }
            }
            Action::Claim(_) | Action::Write(_) | Action::Ask(_) | Action::Move(_) => {
                self.statement(rules, action);
            }
            Action::Commit(at) => {
                if let Some(transaction) = self.end(at) {
                    self.commit(&transaction);
                    let batch = transaction.batch;
                    self.workers[at] = if rules.moves_inside { behind(batch) } else { Worker::Found(batch) };
                }
            }
            Action::CommitUnanswered(at) => {
                self.left.faults -= 1;
                if let Some(transaction) = self.end(at) {
                    let batch = transaction.batch;
                    self.orphans.push(Transaction { may_commit: true, ..transaction });
                    self.workers[at] =
                        if rules.resolves_unanswered { Worker::Holding(batch) } else { behind(batch) };
                }
            }
            Action::Cut(at) => {
                self.left.faults -= 1;
                if let Some(transaction) = self.end(at) {
                    self.workers[at] = Worker::Holding(transaction.batch);
                    self.orphans.push(transaction);
                }
            }
            Action::Crash(at) => {
                self.left.faults -= 1;
                let open = self.end(at);
                self.orphans.extend(open);
            }
            Action::Pass(at) => self.pass(rules, at),
            Action::TellBroker(at) => {
                if let Worker::Owner { next, .. } = self.workers[at] {
                    self.broker = next;
                }
            }
            Action::OrphanCommits(at) => {
                let orphan = self.orphans.remove(at);
                self.commit(&orphan);
            }
            Action::OrphanEnds(at) => drop(self.orphans.remove(at)),
            Action::Put(place) => self.put(place),
            Action::Remake => {
                self.generation += 1;
                self.put(0);
            }
        }
    }

    /// A statement of a batch's transaction.
    fn statement(&mut self, rules: &Rules, action: Action) {
        match action {
            Action::Claim(at) => {
                let Worker::Holding(batch) = self.workers[at] else { return };
                let claim = rules.claim(batch);
                let found = self.inbox.iter().find(|(other, _)| *other == claim).copied();
                if !rules.claims_inside {
                    self.inbox.insert((claim, batch.generation));
                }
                self.workers[at] = match found {
                    None => Worker::Within(Transaction {
                        batch,
                        claim,
                        phase: Phase::Claimed,
                        writes: Vec::new(),
                        fresh: 0,
                        may_commit: false,
                    }),
                    Some((_, digest)) if digest == batch.generation => Worker::Found(batch),
                    // The same id with another digest is an error, and the worker stops.
                    Some(_) => Worker::Idle,
                };
            }
            Action::Write(at) => {
                let Worker::Within(transaction) = &self.workers[at] else { return };
                let (writes, fresh) = self.changes(transaction.batch);
                let Worker::Within(transaction) = &mut self.workers[at] else { return };
                (transaction.writes, transaction.fresh, transaction.phase) = (writes, fresh, Phase::Written);
            }
            Action::Ask(at) | Action::Move(at) => {
                let Worker::Within(transaction) = &self.workers[at] else { return };
                let is_asked = transaction.phase == Phase::Asked;
                let is_ours = is_asked || rules.may_move(self, transaction.batch);
                let then = if matches!(action, Action::Ask(_)) { Phase::Asked } else { Phase::Moved };
                match &mut self.workers[at] {
                    Worker::Within(transaction) if is_ours => transaction.phase = then,
                    fenced => *fenced = Worker::Idle,
                }
            }
            _ => {}
        }
    }

    /// Takes a worker's transaction from it, and leaves the worker idle.
    fn end(&mut self, at: usize) -> Option<Transaction> {
        match std::mem::replace(&mut self.workers[at], Worker::Idle) {
            Worker::Within(transaction) => Some(transaction),
            _ => None,
        }
    }

    fn commit(&mut self, transaction: &Transaction) {
        self.inbox.insert((transaction.claim, transaction.batch.generation));
        for (key, value) in &transaction.writes {
            self.rows[*key] = *value;
        }
        self.balance += transaction.fresh;
        self.landed.extend(transaction.batch.messages());
        if transaction.phase == Phase::Moved {
            self.next = transaction.batch.to;
        }
    }

    fn pass(&mut self, rules: &Rules, at: usize) {
        let Worker::Found(batch) = self.workers[at] else { return };
        let is_ours = rules.may_move(self, batch);
        if is_ours {
            self.next = batch.to;
        }
        let is_there = is_ours || (self.epoch == batch.epoch && self.next == batch.to);
        self.workers[at] = if is_there { behind(batch) } else { Worker::Idle };
    }

    fn put(&mut self, place: u8) {
        self.left.persons -= 1;
        self.epoch += 1;
        self.next = place;
        self.base = (self.rows, place);
        self.landed.clear();
        self.balance = 0;
    }
}

/// A worker that goes on behind its batch.
fn behind(batch: Batch) -> Worker {
    Worker::Owner { epoch: batch.epoch, next: batch.to, reads: batch.to }
}
