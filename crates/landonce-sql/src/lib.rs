//! Insert-or-skip and upsert as landonce means them (I1–I3), spelled for each store.
//!
//! `ON CONFLICT`, `UPSERT INTO` and `ON DUPLICATE KEY UPDATE` are three spellings of one thing, an [`Upsert`]: these rows go into
//! this table; where a row is there already under *this* key, it is left alone or changed so. A conflict with another unique index
//! is never a match: it is the error 23505 (1062, 2067), on every store. [`Dialect`] says how a store is to be spoken to.
//!
//! [`render`] writes an [`Upsert`] for a store, [`parse`] reads one from a statement, and [`wrote`] tells by the row count which of several
//! callers has written. Nothing here talks to a database.
//!
//! ```
//! use landonce_core::plan::TableName;
//! use landonce_sql::{Action, Dialect, Expr, Rows, Upsert, Wrote, render};
//!
//! let once = Upsert {
//!     table: TableName { schema: None, name: "payment".into() },
//!     columns: vec!["event_id".into(), "amount".into()],
//!     rows: Rows::Values(vec![vec![Expr::param(1), Expr::param(2)]]),
//!     key: vec!["event_id".into()],
//!     action: Action::Skip,
//!     returning: Vec::new(),
//! };
//! let rendered = render(&once, Dialect::Postgres)?;
//! assert_eq!(
//!     rendered.sql,
//!     r#"INSERT INTO "payment" ("event_id", "amount") VALUES ($1, $2) ON CONFLICT ("event_id") DO NOTHING"#
//! );
//! // Run it with these parameters, in this order, and look at the row count:
//! assert_eq!(rendered.params, [1, 2]);
//! assert_eq!(rendered.wrote(0), Wrote::Nothing); // a duplicate
//! # Ok::<(), landonce_sql::Refused>(())
//! ```
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
