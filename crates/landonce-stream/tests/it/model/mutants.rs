//! The same model with a rule broken: the same properties must find it.
//!
//! Two rules cover for each other in many histories: a move asks for the epoch *and* for the place. So some mutants do harm only where
//! the place isn't asked for either; then it is shown as well that not asking for the place does no harm by itself within these bounds.

use stateright::{Checker as _, HasDiscoveries, Model as _};

use super::actions::Action;
use super::reach;
use super::rules::{Bounds, Rules};
use super::steps::Protocol;

/// Two workers, two messages, one fault, one assignment too many.
const SMALL: Bounds = Bounds { workers: 2, messages: 2, assigns: 1, faults: 1, rereads: 0, persons: 0 };

/// The property that fails first, and the shortest history that makes it fail.
fn failure(rules: Rules, bounds: Bounds) -> Option<(&'static str, Vec<Action>)> {
    let checker =
        Protocol { rules, bounds }.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let found = checker.discoveries().into_iter();
    let mut failures: Vec<_> = found
        .filter(|(name, _)| checker.discovery_classification(name).to_string() == "counterexample")
        .map(|(name, path)| (name, path.into_actions()))
        .collect();
    failures.sort_unstable_by_key(|(name, _)| *name);
    failures.into_iter().next()
}

/// What a mutant does wrong.
#[track_caller]
fn harm(rules: Rules, bounds: Bounds) -> &'static str {
    assert_eq!(failure(Rules::OURS, bounds), None, "the protocol itself fails");
    let (name, history) = failure(rules, bounds).expect("nothing finds it");
    println!("{name}: {history:?}");
    name
}

/// What a mutant does wrong where nobody asks for the place either.
#[track_caller]
fn harm_without_place(rules: Rules, bounds: Bounds) -> &'static str {
    assert_eq!(failure(rules, bounds), None, "it does harm by itself");
    let nowhere = Rules { asks_place: false, ..Rules::OURS };
    assert_eq!(failure(nowhere, bounds), None, "not asking for the place does harm by itself");
    harm(Rules { asks_place: false, ..rules }, bounds)
}

#[test]
fn a_move_that_asks_for_no_epoch_lands_messages_of_a_log_that_is_no_more() {
    let person = Bounds { faults: 0, persons: 1, ..SMALL };
    let name = harm(Rules { asks_epoch: false, ..Rules::OURS }, person);
    assert_eq!(name, "what has landed is what the position says, in order");
}

#[test]
fn a_move_that_asks_for_no_place_lands_twice_what_was_cut_anew_after_a_lost_answer() {
    let name = harm(Rules { asks_place: false, ..Rules::OURS }, Bounds { rereads: 1, ..SMALL });
    assert_eq!(name, "no effect twice");
}

#[test]
fn a_move_that_asks_for_neither_lands_twice_what_two_owners_have_read() {
    let name = harm_without_place(Rules { asks_epoch: false, ..Rules::OURS }, SMALL);
    assert_eq!(name, "no effect twice");
}

/// The rows' own locks hide it where both batches change a row; a message that repeats an earlier one changes none.
#[test]
fn a_question_before_the_move_is_out_of_date_by_then() {
    let bounds = Bounds { messages: 3, faults: 0, ..SMALL };
    let name = harm(Rules { is_one_statement: false, ..Rules::OURS }, bounds);
    assert_eq!(name, "no effect twice");
}

#[test]
fn a_move_behind_the_transaction_is_lost_in_a_crash_between_them() {
    let name = harm(Rules { moves_inside: false, ..Rules::OURS }, SMALL);
    assert_eq!(name, "no effect twice");
}

#[test]
fn a_claim_before_the_transaction_hides_a_batch_that_never_landed() {
    let name = harm(Rules { claims_inside: false, ..Rules::OURS }, SMALL);
    assert_eq!(name, "what has landed is what the position says, in order");
}

#[test]
fn a_worker_that_begins_where_the_broker_says_lands_twice() {
    let name = harm(Rules { trusts_database: false, ..Rules::OURS }, SMALL);
    assert_eq!(name, "no effect twice");
}

#[test]
fn a_place_read_before_its_epoch_is_covered_by_the_question_for_the_place() {
    let name = harm_without_place(Rules { reads_place_with_epoch: false, ..Rules::OURS }, SMALL);
    assert_eq!(name, "no effect twice");
}

#[test]
fn an_epoch_of_two_owners_is_covered_by_the_question_for_the_place() {
    let name = harm_without_place(Rules { raises_epoch: false, ..Rules::OURS }, SMALL);
    assert_eq!(name, "no effect twice");
}

#[test]
fn a_commit_taken_for_done_is_covered_by_the_question_for_the_place() {
    let name = harm_without_place(Rules { resolves_unanswered: false, ..Rules::OURS }, SMALL);
    assert_eq!(name, "what has landed is what the position says, in order");
}

#[test]
fn a_batch_id_without_the_epoch_skips_what_a_person_wants_landed_again() {
    let person = Bounds { faults: 0, persons: 1, ..SMALL };
    let name = harm(Rules { id_has_epoch: false, ..Rules::OURS }, person);
    assert_eq!(name, "what has landed is what the position says, in order");
}

/// The only batch there is has the id of another one: an error, for ever.
#[test]
fn a_batch_id_without_the_epoch_never_lands_a_log_that_was_made_anew() {
    let bounds = Bounds { messages: 1, persons: 1, ..SMALL };
    let rules = Rules { id_has_epoch: false, ..Rules::OURS };
    let (_, stuck) = reach::stuck(&Protocol { rules, bounds });
    assert_eq!(stuck.map(|state| (state.generation, state.next)), Some((1, 0)));
    assert_eq!(reach::stuck(&Protocol { rules: Rules::OURS, bounds }).1, None);
}
