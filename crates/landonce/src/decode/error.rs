//! Why a payload can't be decoded to its end. Each of these fails the whole batch; a fault of one record is a
//! [`landonce_core::bad_record::BadRecord`] instead.

use std::io;
use std::path::{Path, PathBuf};

use crate::payload::is_no_space;

/// A payload that can't be decoded to its end. The message doesn't repeat the payload's name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The compressed stream ends too early.
    #[error(
        "truncated: the {compression} stream ends at byte {offset} {detail}, after {records} complete records; nothing \
         is taken from a cut file: fetch it again"
    )]
    Truncated {
        /// `gzip` or `zstd`.
        compression: &'static str,
        /// Where, in the compressed bytes.
        offset: u64,
        /// What was to come.
        detail: String,
        /// How many records had been decoded.
        records: u64,
    },
    /// The compressed stream is damaged, or is followed by something else.
    #[error(
        "corrupt: the {compression} stream is broken at about byte {offset} ({detail}), after {records} records; nothing \
         is taken from a damaged file: fetch it again"
    )]
    Corrupt {
        /// `gzip` or `zstd`.
        compression: &'static str,
        /// Where, in the compressed bytes.
        offset: u64,
        /// What is wrong.
        detail: String,
        /// How many records had been decoded.
        records: u64,
    },
    /// The text ends inside something that was opened.
    #[error("incomplete: {detail}; nothing is taken from a cut file: fetch it again")]
    Incomplete {
        /// What is open, and where it opened.
        detail: String,
        /// How many records had been decoded.
        records: u64,
    },
    /// The text isn't of its format, in a way that leaves open where the next record begins.
    #[error("not {format}: {detail}, at byte {offset} of the text")]
    Malformed {
        /// The format's name.
        format: &'static str,
        /// Where, in the decompressed bytes.
        offset: u64,
        /// What was found, and what was expected.
        detail: String,
        /// How many records had been decoded.
        records: u64,
    },
    /// The CSV header can't name columns.
    #[error("the CSV header can't be used: {detail}")]
    Header {
        /// What is wrong, and what to do.
        detail: String,
    },
    /// The bytes aren't text in UTF-8, or are compressed in a way that isn't read.
    #[error("can't be read as text: {detail}")]
    Unsupported {
        /// What was found, and what to do.
        detail: String,
    },
    /// An option of the format can't be.
    #[error("option of the format: {detail}")]
    Option {
        /// What is wrong, and what to do.
        detail: String,
    },
    /// It is more than the caller takes.
    #[error("more than {most} {what}: send it in several batches, or have the limit raised")]
    OverLimit {
        /// Of what.
        what: &'static str,
        /// The most that is taken.
        most: u64,
    },
    /// Reading the stored bytes failed.
    #[error("can't read the payload's bytes behind byte {offset}")]
    Read {
        /// How many stored bytes had been read.
        offset: u64,
        /// The operating system's words.
        source: io::Error,
    },
    /// There is no room for the decoded records.
    #[error(
        "no space in `{dir}` for the decoded records: make room, or choose another temporary folder",
        dir = dir.display()
    )]
    NoSpace {
        /// The folder of the temporary file.
        dir: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// The decoded records can't be kept for another reason.
    #[error("can't keep decoded records in `{dir}`", dir = dir.display())]
    Spool {
        /// The folder of the temporary file.
        dir: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// The records were asked for more after they had failed.
    #[error("decoding has failed before: start again from the payload")]
    Failed,
}

impl DecodeError {
    pub(super) fn incomplete(detail: impl Into<String>) -> Self {
        Self::Incomplete { detail: detail.into(), records: 0 }
    }

    pub(super) fn malformed(format: &'static str, offset: u64, detail: impl Into<String>) -> Self {
        Self::Malformed { format, offset, detail: detail.into(), records: 0 }
    }

    pub(super) fn spooling(dir: &Path, source: io::Error) -> Self {
        let dir = dir.to_owned();
        if is_no_space(&source) { Self::NoSpace { dir, source } } else { Self::Spool { dir, source } }
    }

    /// The same error, told after how many records it came: the layers below don't know.
    pub(super) fn after(mut self, count: u64) -> Self {
        if let Self::Truncated { records, .. }
        | Self::Corrupt { records, .. }
        | Self::Incomplete { records, .. }
        | Self::Malformed { records, .. } = &mut self
        {
            *records = count;
        }
        self
    }
}
