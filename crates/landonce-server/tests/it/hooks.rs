//! Webhooks: a request that is its sender's lands once, and everything else leaves no trace.

mod at_once;
mod faults;
mod groups;
mod payments;
mod requests;
mod scene;
mod senders;
mod texts;
