//! The pure part of landonce: no I/O, no clock, no randomness, no async.
//!
//! The modules in the order in which a record meets them:
//!
//! - [`column`], [`value`], [`number`]: types, and values that fit them exactly;
//! - [`bad_record`]: why a record can't be taken;
//! - [`plan`]: how records become rows of one table;
//! - [`outcome`]: the counts that always add up;
//! - [`retry`]: what to do about a failure.

pub mod bad_record;
pub mod column;
pub mod number;
pub mod outcome;
pub mod plan;
pub mod retry;
pub mod value;
