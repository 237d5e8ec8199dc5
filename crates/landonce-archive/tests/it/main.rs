//! The promise, one guarantee a file: what was kept comes back as it was, or not at all.

#![expect(clippy::unwrap_used, reason = "a failed test says where")]

mod given;

mod damage;
mod forgetting;
mod keeping;
mod processes;
#[cfg(feature = "s3")]
mod s3;
