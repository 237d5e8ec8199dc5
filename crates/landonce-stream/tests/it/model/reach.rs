//! From everywhere, the end: a check that stateright has no property for.
//!
//! It walks over every state, and then backwards from those that are done. What isn't reached on the way back is a state from which
//! nothing can bring the log to its end any more.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use stateright::Model;

use super::state::State;
use super::steps::Protocol;

/// How many states there are, and one from which the end can't be reached.
pub(crate) fn stuck(protocol: &Protocol) -> (usize, Option<State>) {
    let mut numbers = HashMap::new();
    let mut states = protocol.init_states();
    let mut before: Vec<Vec<u32>> = vec![Vec::new()];
    numbers.insert(states[0].clone(), 0);
    let mut at = 0;
    while at < states.len() {
        for next in protocol.next_states(&states[at]) {
            let number = match numbers.entry(next) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    states.push(new.key().clone());
                    before.push(Vec::new());
                    *new.insert(states.len() - 1)
                }
            };
            before[number].push(at as u32);
        }
        at += 1;
    }
    let mut todo: Vec<usize> = (0..states.len()).filter(|at| states[*at].is_done()).collect();
    let mut leads = vec![false; states.len()];
    while let Some(at) = todo.pop() {
        if !std::mem::replace(&mut leads[at], true) {
            todo.extend(before[at].iter().map(|from| *from as usize));
        }
    }
    let stuck = leads.iter().position(|leads| !leads);
    (states.len(), stuck.map(|at| states.swap_remove(at)))
}
