//! Parquet: a row is a record. Its text is rendered as JSON, every value exact: integers and decimals with all their digits, times in
//! their unit, bytes as base64.
//!
//! The footer is written last and counts the rows, so a file that has it is whole; a cut one has none, and nothing is taken from it. Rows
//! come one by one; a row group's pages are what is in memory.
//!
//! - `schema` tells what each column is, before anything is read of it; what can't be told exactly is refused there;
//! - `value` renders; `int96` reads the one type that the crate's rows would round; `source` gives the stored bytes by position.

mod int96;
mod schema;
mod source;
mod value;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::reader::RowIter;

use super::DecodeError;
use super::bad::too_large;
use super::records::Frame;
use super::window::Window;
use crate::payload::{Compression, Payload};
use int96::Int96s;
use schema::Shape;
use source::Source;

/// Rows whose levels and values are read at a time.
const AT_ONCE: usize = 1024;

/// Frames rows.
pub(super) struct Parquet {
    rows: RowIter<'static>,
    columns: Vec<(Vec<u8>, Shape)>,
    int96s: Vec<Int96s>,
    /// As many as the footer counts.
    due: u64,
    count: u64,
    limit: u32,
    /// The most bytes that all rows together may have as text, and how many are left of them.
    most: u64,
    left: u64,
}

impl Parquet {
    /// At the first row; the footer and the schema have been read.
    pub(super) fn new(payload: &Payload, limit: u32, most: u64) -> Result<Self, DecodeError> {
        if payload.compression() != Compression::None {
            return Err(DecodeError::Unsupported {
                detail: "the Parquet file is compressed as a whole: decompress it (its columns are compressed inside)".to_owned(),
            });
        }
        let source = Source::new(payload.stored().clone(), payload.len());
        source.check_ends()?;
        let reader = SerializedFileReader::new(source.clone()).map_err(|error| told(&error, 0))?;
        let file = reader.metadata().file_metadata();
        let due = u64::try_from(file.num_rows()).unwrap_or(0);
        let (columns, int96) = schema::columns(file.schema_descr())?;
        let int96s = int96.into_iter().map(|column| Int96s::new(source.clone(), column));
        Ok(Self {
            int96s: int96s.collect::<Result<_, _>>().map_err(|error| told(&error, 0))?,
            rows: RowIter::from_file_into(Box::new(reader)).with_batch_size(AT_ONCE),
            columns,
            due,
            count: 0,
            limit,
            most,
            left: most,
        })
    }

    /// The next row, rendered.
    pub(super) fn next(
        &mut self,
        window: &mut Window,
        out: &mut Vec<u8>,
    ) -> Result<Option<Frame>, DecodeError> {
        let Some(row) = self.rows.next() else {
            if self.count == self.due {
                return Ok(None);
            }
            let detail = format!("the footer counts {} rows, and there are {}", self.due, self.count);
            return Err(DecodeError::Incomplete { detail, records: self.count });
        };
        let row = row.map_err(|error| told(&error, self.count))?;
        let int96s: Result<Vec<_>, _> = self.int96s.iter_mut().map(Int96s::next).collect();
        let int96s = int96s.map_err(|error| told(&error, self.count))?;
        self.count += 1;
        out.clear();
        let bad = value::row(out, &row, &self.columns, &int96s).err();
        let len = out.len() as u64;
        let Some(left) = self.left.checked_sub(len) else {
            return Err(DecodeError::OverLimit { what: "decompressed bytes", most: self.most });
        };
        self.left = left;
        let is_large = len > u64::from(self.limit);
        if is_large {
            out.truncate(super::bad::KEPT);
        }
        let bad = if is_large { Some(too_large(len, self.limit)) } else { bad };
        Ok(Some(Frame {
            number: self.count,
            offset: 0,
            raw: window.close(0, 0, self.limit),
            bad,
            is_rendered: true,
        }))
    }
}

fn told(error: &ParquetError, records: u64) -> DecodeError {
    let detail = error.to_string();
    match error {
        ParquetError::EOF(_) => DecodeError::Incomplete { detail, records },
        ParquetError::NYI(_) => DecodeError::Unsupported { detail },
        _ => DecodeError::Malformed { format: "parquet", offset: 0, detail, records },
    }
}

#[cfg(test)]
mod tests;
