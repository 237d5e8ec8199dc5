//! What the tests of landonce stand on. A dev-dependency only: it fails a test by panicking, and nothing ships it.
//!
//! | module | gives a test |
//! |---|---|
//! | [`postgres`] | a PostgreSQL database of its own, kept when the test fails |
//! | [`mariadb`] | the same of MariaDB |
//! | [`dump`] | every table and every row as exact text, to compare before and after; what a re-run left behind |
//! | [`proxy`] | a wire to PostgreSQL that breaks where it is told to |
//! | [`crash`] | the program under test, killed at a failpoint or at a random moment |
//! | [`fixture`] | flight events by seed: any number, some changed, some twice |
//! | [`kafka`] | a Kafka broker with nothing in it |
//! | [`nats`] | a NATS server with JetStream, killed and started again |
//! | [`receiver`] | an HTTP receiver that checks signatures and misbehaves as it is told |
//! | [`s3`] | an S3-compatible server with an empty bucket |
//! | [`source`] | an HTTP source that misbehaves as it is told |
//! | [`wait`] | bounds for everything that waits; no test sleeps |
//! | [`seed`] | random numbers that a failed test can be run with again |
//!
//! It knows nothing of the engine or the stores: what it sees, any user of the database could see.
#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::print_stderr,
    reason = "a test kit fails a test by panicking and tells why on stderr"
)]

mod address;
pub mod crash;
pub mod dump;
pub mod fixture;
pub mod kafka;
pub mod mariadb;
pub mod nats;
pub mod postgres;
mod private;
pub mod proxy;
pub mod receiver;
pub mod s3;
pub mod seed;
pub mod source;
pub mod wait;
