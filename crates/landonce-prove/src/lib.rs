//! Runs anyone's pipeline under the faults that retries bring, compares whole tables, and says what is wrong.
//!
//! ```no_run
//! # async fn example() -> Result<(), landonce_prove::Error> {
//! use landonce_prove::{Plan, Verdict};
//!
//! let plan = Plan::new("postgres://localhost/dev", ["python", "ingest.py", "{input}"]).input("day.ndjson");
//! let report = landonce_prove::prove(&plan, &mut |line| eprintln!("{line}")).await?;
//! assert_eq!(report.verdict, Verdict::Safe, "{report}");
//! # Ok(())
//! # }
//! ```
//!
//! The user's own database is only read: every trial works in a fresh clone of it. In the order in which a proof goes:
//!
//! - [`Plan`] is what the user asks for; [`Scenario`] names the faults.
//! - [`database`] makes clones, and [`snapshot`] reads them whole: every table, every column, and physical evidence.
//! - [`command`] runs the user's command in a fresh folder; [`wire`] stands between it and PostgreSQL, and [`recorder`]
//!   between it and the web; [`clock`] tells it another time; [`input`] cuts its file short.
//! - `scenario/` has one file a scenario: what is broken, when.
//! - `judge` makes [`Finding`]s of differences, each of a [`Class`] from a closed list; [`Report`] holds it all.

pub mod class;
pub mod clock;
pub mod command;
pub mod database;
mod error;
pub mod input;
mod judge;
mod plan;
pub mod recorder;
pub mod report;
mod scenario;
pub mod snapshot;
mod watch;
pub mod wire;

pub use class::{Class, Weight};
pub use error::Error;
pub use plan::Plan;
pub use report::{Finding, Report, Verdict};
pub use scenario::{Scenario, prove, prove_until};
