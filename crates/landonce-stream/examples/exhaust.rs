//! Checks the protocol of positions in every history of larger bounds than the tests have time for.
//!
//! ```text
//! cargo run --release -p landonce-stream --example exhaust
//! ```
//!
//! The model is that of the tests (`tests/it/model.rs`). It takes a few minutes.

#![expect(clippy::print_stdout, reason = "what it has found is all that it does")]

#[path = "../tests/it/model/actions.rs"]
mod actions;
#[path = "../tests/it/model/reach.rs"]
mod reach;
#[path = "../tests/it/model/rules.rs"]
mod rules;
#[path = "../tests/it/model/state.rs"]
mod state;
#[path = "../tests/it/model/steps.rs"]
mod steps;

use std::time::Instant;

use stateright::{Checker as _, Model as _};

use rules::{Bounds, Rules};
use steps::Protocol;

fn main() {
    let larger = [
        Bounds { workers: 2, messages: 3, assigns: 1, faults: 1, rereads: 1, persons: 1 },
        Bounds { workers: 3, messages: 5, assigns: 2, faults: 1, rereads: 0, persons: 0 },
        Bounds { workers: 3, messages: 3, assigns: 2, faults: 2, rereads: 1, persons: 0 },
    ];
    for bounds in [Bounds::LOG, Bounds::CROWD, Bounds::FAULTS, Bounds::PERSON].into_iter().chain(larger) {
        let started = Instant::now();
        let protocol = Protocol { rules: Rules::OURS, bounds };
        let checker = protocol.checker().threads(2).spawn_bfs().join();
        checker.assert_properties();
        println!(
            "{bounds:?}: {} states, {} steps deep, {:.1} s",
            checker.unique_state_count(),
            checker.max_depth(),
            started.elapsed().as_secs_f64()
        );
        if checker.unique_state_count() < 500_000 {
            let (_, stuck) = reach::stuck(&protocol);
            assert_eq!(stuck, None);
            println!("  from each of them the end can be reached");
        }
    }
}
