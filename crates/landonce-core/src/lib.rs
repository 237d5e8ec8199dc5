//! The pure part of landonce: no I/O, no clock, no randomness, no async.
//!
//! The modules in the order in which a record meets them:
//!
//! - [`spec`], [`pipeline`]: what a user writes, and what it means, checked as a whole;
//! - [`mod@column`], [`value`], [`number`], [`time`], [`geometry`]: types, and values that fit them exactly;
//! - [`period`]: hours, days, weeks and months of a zone, for pipelines that load one a run;
//! - [`plan`]: a pipeline held against a catalogue: how records become rows of one table;
//! - [`json`]: a strict scanner that keeps the text; [`record`]: from a text to key, digest and columns;
//! - [`canonical`], [`identity`]: the bytes under keys and digests, version 1;
//! - [`bad_record`]: why a record can't be taken;
//! - [`outcome`]: the counts that always add up; [`notice`]: what a change becomes for others to hear of,
//!   [`message`]: what that is known by, [`webhook`]: how it is signed, and how others sign;
//! - [`retry`]: what to do about a failure.

pub mod bad_record;
pub mod canonical;
pub mod column;
pub mod geometry;
pub mod identity;
pub mod json;
pub mod message;
pub mod notice;
pub mod number;
pub mod outcome;
pub mod period;
pub mod pipeline;
pub mod plan;
pub mod record;
pub mod retry;
pub mod spec;
pub mod time;
pub mod value;
pub mod webhook;
