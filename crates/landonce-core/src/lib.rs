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
pub mod canonical;
pub mod column;
pub mod geometry;
pub mod identity;
pub mod json;
pub mod number;
pub mod outcome;
pub mod pipeline;
pub mod plan;
pub mod record;
pub mod retry;
pub mod spec;
pub mod time;
pub mod value;
