//! What is promised, one guarantee a file.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod fixes;
mod live;
mod output;
mod proofs;
mod rules;
mod rules_correct;
