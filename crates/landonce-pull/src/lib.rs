//! Fetches what doesn't come by itself: HTTP APIs page by page, queries to other databases, programs' output.
//!
//! - [`fetch`] is the contract of what is fetched; each kind of source is a file beside it;
//! - [`open`](mod@open) makes the fetch that a pipeline declares;
//! - [`run`](mod@run) is one run: take the feed over, fetch piece by piece, land each with the place behind it in one transaction.
//!
//! Reading may be repeated, so it is: what fails for a passing reason is asked for again. What has been read is landed by the engine's
//! one batch transaction, and the place to go on at moves in it. So a run that dies leaves whole pieces, and the next goes on behind
//! them.
#![warn(missing_docs)]

mod batch;
mod command;
pub mod error;
pub mod fetch;
mod gather;
mod http;
pub mod open;
mod query;
pub mod run;
mod singer;
mod spool;

pub use error::Error;
pub use fetch::{Fetch, Limits, Pending, Piece};
pub use open::open;
pub use run::{Watch, peek, run};
