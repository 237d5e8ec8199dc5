//! The protocol of positions, checked in every history that its bounds allow (F4, H2, C37).
//!
//! The model has the parts that matter: a log, a database under READ COMMITTED with its locks, transactions that nobody holds any more,
//! workers that a broker gives the part to when it likes, and a person. What it says of the protocol holds within the [`Bounds`], and of
//! the code as far as the code is the protocol: `landonce/tests/it/positions.rs` drives the real stores through its traces.
//!
//! Each mutant breaks one rule, and the same properties find it.

#![expect(clippy::print_stdout, reason = "how many states there were, for who runs it with --nocapture")]

mod actions;
mod mutants;
mod reach;
mod rules;
mod state;
mod steps;

use stateright::{Checker as _, Model as _};

use rules::{Bounds, Rules};
use steps::Protocol;

/// Every state within these bounds.
#[track_caller]
fn check(bounds: Bounds) {
    let checker = Protocol { rules: Rules::OURS, bounds }.checker().spawn_bfs().join();
    println!("{bounds:?}: {} states, {} steps deep", checker.unique_state_count(), checker.max_depth());
    checker.assert_properties();
}

#[test]
fn each_message_of_a_log_has_one_effect_whatever_fails() {
    check(Bounds::LOG);
}

#[test]
fn each_message_has_one_effect_with_three_workers_at_odds() {
    check(Bounds::CROWD);
}

#[test]
fn each_message_has_one_effect_when_faults_come_one_behind_the_other() {
    check(Bounds::FAULTS);
}

#[test]
fn a_person_who_moves_the_position_has_each_message_landed_once_from_there() {
    check(Bounds::PERSON);
}

#[test]
fn from_every_state_the_end_can_be_reached() {
    for bounds in [Bounds::FAULTS, Bounds { messages: 2, ..Bounds::PERSON }] {
        let (count, stuck) = reach::stuck(&Protocol { rules: Rules::OURS, bounds });
        println!("{bounds:?}: {count} states");
        assert_eq!(stuck, None);
    }
}
