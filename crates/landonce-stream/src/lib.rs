//! Consumes streams: each batch's rows and its next offset are landed in one transaction, by any number of workers.
//!
//! - [`source`] is the contract between what delivers messages (a file each for Kafka and NATS) and what lands them;
//! - [`desk`] lands them: a lane for each part, a batch at a time in each, several lanes at once;
//! - [`decode`] is where bytes that aren't JSON become it;
//! - [`consume()`] is a worker: a source, a desk, and what has to be told meanwhile.
//!
//! A broker delivers at least once, and says who reads which part now; but what it says may be out of date by the time that a worker
//! commits. So the place to go on at lies in the database, moved in the batch's own transaction, and each owner of a part has an epoch
//! of its own (`landonce_store::position`): whoever was taken over commits nothing any more. What the broker remembers of offsets is
//! for people who watch it.
#![warn(missing_docs)]

pub mod consume;
pub mod decode;
pub mod desk;
pub mod error;
#[cfg(feature = "kafka")]
pub mod kafka;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "registry")]
pub mod registry;
pub mod source;
pub mod tally;

pub use consume::{Options, consume};
pub use decode::{Decode, Undecoded};
pub use desk::{Desk, Given, Intake};
pub use error::Error;
pub use source::{PartName, Room, Source, Start, mark};
pub use tally::Tally;
