//! What the kit promises to the tests that stand on it: a tool that reported a fault it didn't make, or missed a byte that
//! changed, would make every other test worthless.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it, as the test itself may")]

mod crash;
mod database;
mod dump;
mod fixture;
mod passing;
mod private_server;
mod receiver;
mod refusing;
mod wire;
