//! Insert-or-skip and upsert as landonce means them (I1–I3), spelled for each store.
//!
//! `ON CONFLICT`, `UPSERT INTO` and `ON DUPLICATE KEY UPDATE` are three spellings of one thing, an [`Upsert`]: these rows go into
//! this table; where a row is there already under *this* key, it is left alone or changed so. A conflict with another unique index
//! is never a match: it is the error 23505 (1062, 2067), on every store. [`Dialect`] says how a store is to be spoken to.
//!
//! Nothing here talks to a database.
#![warn(missing_docs)]

mod check;
mod dialect;
mod quote;
mod refused;
mod render;
mod spelled;
mod upsert;

pub use dialect::{Dialect, Wrote};
pub use refused::Refused;
pub use render::{OTHER_ROW, Rendered, render, wrote};
pub use spelled::{Keys, Spelled, Spelling, Target, parse};
pub use upsert::{Action, Assignment, Each, Expr, Piece, Rows, Upsert};
