//! The transaction seam of landonce: the only crate that knows a database's dialect.
//!
//! - [`seam`] is the contract, verb by verb; [`inbox`], [`ledger`], [`due`] and [`quarantine`] are the nouns it speaks of.
//! - [`position`]: how far each part of a source has been landed, and who may go on.
//! - [`reads`]: what people look at afterwards.
//! - [`outbox`]: messages about changes, and the verbs of those who deliver them.
//! - [`repair`] is the other contract: how rows that should not be there are marked, written down and deleted.
//! - `sqlite/` and `postgres/` keep it, with mirrored files: know one, know both.
//! - [`error`] carries the code that decides about a retry.
#![warn(missing_docs)]

pub mod due;
pub mod error;
pub mod held;
pub mod inbox;
pub mod ledger;
pub mod outbox;
pub mod position;
pub mod postgres;
pub mod quarantine;
pub mod reads;
pub mod repair;
pub mod seam;
pub mod sqlite;

pub use error::{Error, Result};
