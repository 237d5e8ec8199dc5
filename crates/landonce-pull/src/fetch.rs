//! The contract of what is fetched.
//!
//! A fetch begins where the feed's position says, and gives pieces until there are no more. Reading is safe to repeat: whatever fails
//! for a passing reason is asked for again inside, within a deadline, and a piece is given only when all of it has been read. A fetch
//! that fails gives an error and never an end: no absence may be concluded from it.
//!
//! ```text
//! begin(where the last run ended) → (next → land, moving the position)* → an end
//! ```
//!
//! The place is the fetch's own text: nobody else reads it. It may name what has been read already ("everything up to here, a little
//! overlapping"): records that come again are equal, and an equal record is left untouched.

use std::pin::Pin;

use landonce::payload::Payload;

use crate::error::Error;

/// What a fetch is doing.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Something that is fetched.
pub trait Fetch: Send {
    /// What is fetched, for the feed's position and for messages, without a secret in it: `http https://api.example/roster`. Another
    /// text is another feed, which begins anew.
    fn source(&self) -> String;

    /// Begins where the position says; at the beginning without one. Reads nothing yet that could be large.
    fn begin(&mut self, next: Option<&str>) -> Pending<'_, ()>;

    /// The next piece; `None` behind the last one.
    fn next(&mut self, limits: Limits) -> Pending<'_, Option<Piece>>;
}

/// How much a piece may hold; at least one page is in it, however large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Records.
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Limits {
    /// All there is in one piece: for snapshots and periods, whose payload is one.
    pub const NONE: Self = Self { records: u64::MAX, bytes: u64::MAX };
}

/// A piece of what is fetched, whole.
#[derive(Debug)]
pub struct Piece {
    /// Its bytes: [`landonce::payload::Messages`], or what the source gave.
    pub payload: Payload,
    /// Where to go on behind it; `None` leaves the position where it is.
    pub next: Option<String>,
    /// How it is known that this is all there is (`the last page was reached`), where it is: of the one piece of a fetch without limits.
    pub is_all: Option<String>,
}
