//! What can happen next: which steps are possible in a state.
//!
//! A step that would wait for a lock isn't possible: it is when the lock is free, and then it sees what has been committed by then, as
//! a statement does under READ COMMITTED that has waited and evaluates its condition again.

use super::rules::Rules;
use super::state::{Phase, State, Transaction, Worker};

/// A step. Workers and orphans are named by their place in the sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// The broker gives a worker the part, whoever has it.
    Assign(usize),
    /// The broker takes the part from a worker that has nothing left to read.
    Revoke(usize),
    /// A worker takes the part in the database.
    Take(usize),
    /// It does, and never gets the answer.
    TakeUnanswered(usize),
    /// A mutant reads its place before it raises the epoch.
    ReadPlace(usize),
    /// A worker reads up to a message and cuts a batch.
    Read(usize, u8),
    /// It gives the batch up and reads again, in the epoch that it has.
    Reread(usize),
    /// BEGIN, and the batch's inbox row; or the row is found there.
    Claim(usize),
    /// The rows.
    Write(usize),
    /// A mutant asks whether the part is its own.
    Ask(usize),
    /// The position, if the part is its own and where the batch begins; else ROLLBACK, and the part is let go.
    Move(usize),
    /// COMMIT, answered.
    Commit(usize),
    /// COMMIT, and the connection is lost before the answer.
    CommitUnanswered(usize),
    /// The connection is lost before COMMIT.
    Cut(usize),
    /// A worker dies, or is told by the broker that the part isn't its own any more.
    Crash(usize),
    /// A worker moves the part behind a batch that it has found in the inbox.
    Pass(usize),
    /// A worker tells the broker how far it is. Only a mutant asks for that.
    TellBroker(usize),
    /// A COMMIT that nobody waits for arrives.
    OrphanCommits(usize),
    /// The server notices that a connection is gone, and rolls back.
    OrphanEnds(usize),
    /// A person puts the position to a message.
    Put(u8),
    /// The log is made anew, and a person puts the position to its beginning.
    Remake,
}

/// Every step that is possible.
pub(crate) fn possible(rules: &Rules, state: &State, to: &mut Vec<Action>) {
    for (index, worker) in state.workers.iter().enumerate() {
        // Workers that are alike do alike: one of them is enough.
        if index > 0 && state.workers[index - 1] == *worker {
            continue;
        }
        of_worker(rules, state, index, worker, to);
    }
    for (index, orphan) in state.orphans.iter().enumerate() {
        to.push(Action::OrphanEnds(index));
        if orphan.may_commit {
            to.push(Action::OrphanCommits(index));
        }
    }
    if state.left.persons > 0 && !state.is_position_locked(None) {
        to.extend((0..state.left.messages).filter(|place| *place != state.next).map(Action::Put));
        to.push(Action::Remake);
    }
}

fn of_worker(rules: &Rules, state: &State, index: usize, worker: &Worker, to: &mut Vec<Action>) {
    let is_free = !state.is_position_locked(Some(index));
    let left = &state.left;
    match worker {
        Worker::Idle => {
            // Nobody has it, and there is something to read: that the broker assigns it then is no disturbance.
            let is_wanted =
                state.next < left.messages && state.workers.iter().all(|other| *other == Worker::Idle);
            if is_wanted || left.assigns > 0 {
                to.push(Action::Assign(index));
            }
        }
        Worker::Assigned if !rules.reads_place_with_epoch => to.push(Action::ReadPlace(index)),
        Worker::Assigned | Worker::PlaceRead(_) if is_free => {
            to.push(Action::Take(index));
            if left.faults > 0 {
                to.push(Action::TakeUnanswered(index));
            }
        }
        Worker::Assigned | Worker::PlaceRead(_) => {}
        Worker::Owner { next, reads, .. } => {
            to.extend((next.max(reads) + 1..=left.messages).map(|end| Action::Read(index, end)));
            if left.assigns > 0 {
                to.push(Action::Assign(index));
            }
            if *next == left.messages && state.next < left.messages {
                to.push(Action::Revoke(index));
            }
            if !rules.trusts_database && state.broker != *next {
                to.push(Action::TellBroker(index));
            }
        }
        Worker::Holding(batch) => {
            let claim = rules.claim(*batch);
            if state.others(Some(index)).all(|other| other.claim != claim) {
                to.push(Action::Claim(index));
            }
            if left.rereads > 0 {
                to.push(Action::Reread(index));
            }
        }
        Worker::Within(transaction) => {
            within(rules, state, index, transaction, to);
            if left.faults > 0 {
                to.push(Action::Cut(index));
            }
        }
        Worker::Found(_) if is_free => to.push(Action::Pass(index)),
        Worker::Found(_) => {}
    }
    if left.faults > 0 && *worker != Worker::Idle {
        to.push(Action::Crash(index));
    }
}

fn within(rules: &Rules, state: &State, index: usize, transaction: &Transaction, to: &mut Vec<Action>) {
    let commits = if rules.moves_inside { Phase::Moved } else { Phase::Written };
    let is_free = !state.is_position_locked(Some(index));
    if transaction.phase == commits {
        to.push(Action::Commit(index));
        if state.left.faults > 0 {
            to.push(Action::CommitUnanswered(index));
        }
        return;
    }
    match transaction.phase {
        Phase::Claimed => {
            let (writes, _) = state.changes(transaction.batch);
            let is_locked = |key: usize| {
                state.others(Some(index)).any(|other| other.writes.iter().any(|(locked, _)| *locked == key))
            };
            if !writes.iter().any(|(key, _)| is_locked(*key)) {
                to.push(Action::Write(index));
            }
        }
        Phase::Written if !rules.is_one_statement => to.push(Action::Ask(index)),
        Phase::Written | Phase::Asked if is_free => to.push(Action::Move(index)),
        Phase::Written | Phase::Asked | Phase::Moved => {}
    }
}
