//! Decode: from a payload's bytes to framed records, one at a time, in bounded memory.
//!
//! A record comes out as the text of one JSON object and an address, at which the same text can be read again later
//! ([`Texts`]). Here is only found out where records begin and end, and whether the payload is whole: a cut stream, an
//! open array or an unclosed quote is an error and never an end. Whether a record's text is good JSON, and what it means,
//! is left to `landonce-core`.

mod bad;
mod csv;
mod ending;
mod error;
mod format;
mod geojson;
mod json;
pub(crate) mod messages;
mod ndjson;
#[cfg(feature = "parquet")]
mod parquet;
mod records;
mod sniff;
mod spool;
mod stream;
mod window;

#[cfg(test)]
mod tests;

pub use csv::CsvOptions;
pub use ending::{Ending, Seen};
pub use error::DecodeError;
pub use format::Format;
pub use records::{Item, Limits, Records};
pub use spool::Texts;
