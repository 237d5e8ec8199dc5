//! What the core promises to others, one file each.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed test says where")]

mod documents;
mod schemes;
mod vectors;
mod webhooks;
