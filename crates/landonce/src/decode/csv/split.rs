//! One framed row split into its fields, by csv-core.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

/// Splits rows; holds the fields of the last one.
pub(super) struct Splitter {
    builder: ReaderBuilder,
    reader: Reader,
    /// The fields' texts, unquoted, one behind the other.
    text: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    count: usize,
}

impl Splitter {
    /// For fields between such delimiters.
    pub(super) fn new(delimiter: u8) -> Self {
        let mut builder = ReaderBuilder::new();
        builder.delimiter(delimiter);
        let reader = fresh(&builder);
        Self { builder, reader, text: Vec::new(), ends: vec![0; 16], count: 0 }
    }

    /// Splits a row that comes without its line end; `false` if csv-core sees something else in it than one row.
    pub(super) fn split(&mut self, row: &[u8]) -> bool {
        // A field is never longer than its spelling; one byte more, since csv-core doesn't work on an empty buffer.
        if self.text.len() <= row.len() {
            self.text.resize(row.len() + 1, 0);
        }
        let (mut read, mut written) = (0, 0);
        self.count = 0;
        loop {
            let is_behind = read == row.len();
            let input = if is_behind { b"\n" } else { &row[read..] };
            let (result, more_read, more_written, more_ends) =
                self.reader.read_record(input, &mut self.text[written..], &mut self.ends[self.count..]);
            written += more_written;
            self.count += more_ends;
            match result {
                ReadRecordResult::Record if is_behind => return true,
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::InputEmpty if !is_behind => {}
                _ => {
                    self.reader = fresh(&self.builder);
                    return false;
                }
            }
            if !is_behind {
                read += more_read;
            }
        }
    }

    /// How many fields the row has.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The fields' texts.
    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends[..self.count]).map(|(start, &end)| &self.text[start..end])
    }
}

/// A reader that has read something already: the first read of all strips a byte order mark, which in the middle of a text
/// is text. The empty line that it reads here is skipped.
fn fresh(builder: &ReaderBuilder) -> Reader {
    let mut reader = builder.build();
    reader.read_record(b"\n", &mut [0], &mut [0]);
    reader
}
