//! Simulates groups of workers on one database: crashes, rebalances, lost answers, slow round trips. It checks the protocol of
//! positions at every step, and prints what it costs.
//!
//! ```text
//! cargo run --release -p landonce-stream --example simulate                # the table of docs/scaling.md
//! cargo run --release -p landonce-stream --example simulate -- --broken    # moves that ask for nothing: must be found
//! ```
//!
//! Time is virtual and chance is seeded: two runs print the same. The database is a number of cores, a time for a batch and a time for
//! a row; put your own measurements into `settings.rs`.

#![expect(clippy::print_stdout, reason = "a table for people is all that it does")]
#![expect(clippy::cast_precision_loss, reason = "counts and microseconds stay far below 2^53")]

mod figures;
mod group;
mod random;
mod settings;
mod world;

use std::process::ExitCode;

use figures::HEAD;
use settings::Settings;
use world::World;

fn main() -> ExitCode {
    let is_broken = std::env::args().any(|argument| argument == "--broken");
    println!("{HEAD}");
    let mut checks = 0;
    for workers in [1, 4, 16, 64, 256, 1_000] {
        for (is_eager, is_loaded) in [(false, true), (true, true), (false, false)] {
            let mut settings = Settings { is_eager, is_broken, ..Settings::of(workers) };
            if is_loaded {
                let (by_workers, by_database) = settings.limits();
                settings.offered = 0.7 * by_workers.min(by_database);
            }
            let mut figures = World::new(&settings).run();
            println!("{}", figures.line(&settings));
            if let Some(violation) = figures.violation {
                println!("violated: {violation}");
                return ExitCode::FAILURE;
            }
            checks += figures.checks;
        }
    }
    println!("checked {checks} times: what has landed of a part is what its position says, once");
    ExitCode::SUCCESS
}
