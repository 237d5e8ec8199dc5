//! INT96, in which older writers keep times: nanoseconds of a day and the day. The crate's rows round it to milliseconds, so its
//! columns are read a second time, by themselves.

use std::collections::VecDeque;

use parquet::column::reader::ColumnReader;
use parquet::data_type::Int96;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use super::AT_ONCE;
use super::source::Source;

/// The Julian day of 1970-01-01.
const EPOCH: i64 = 2_440_588;
const NANOS_PER_DAY: i128 = 86_400_000_000_000;

/// The values of one column, in order.
pub(super) struct Int96s {
    file: SerializedFileReader<Source>,
    column: usize,
    group: usize,
    chunk: Option<ColumnReader>,
    most_defined: i16,
    read: VecDeque<Option<i128>>,
}

impl Int96s {
    /// Of the leaf of this number, which isn't repeated.
    pub(super) fn new(source: Source, column: usize) -> Result<Self> {
        let file = SerializedFileReader::new(source)?;
        let most_defined = file.metadata().file_metadata().schema_descr().column(column).max_def_level();
        Ok(Self { file, column, group: 0, chunk: None, most_defined, read: VecDeque::new() })
    }

    /// The value of the next row, in nanoseconds since 1970.
    pub(super) fn next(&mut self) -> Result<Option<i128>> {
        while self.read.is_empty() {
            self.more()?;
        }
        Ok(self.read.pop_front().flatten())
    }

    fn more(&mut self) -> Result<()> {
        let chunk = match &mut self.chunk {
            Some(chunk) => chunk,
            None if self.group == self.file.num_row_groups() => {
                return Err(ParquetError::EOF(
                    "an INT96 column has fewer values than there are rows".to_owned(),
                ));
            }
            None => {
                let group = self.file.get_row_group(self.group)?;
                self.group += 1;
                self.chunk.insert(group.get_column_reader(self.column)?)
            }
        };
        let ColumnReader::Int96ColumnReader(chunk) = chunk else {
            return Err(ParquetError::General("the schema says INT96, and the column isn't".to_owned()));
        };
        let (mut levels, mut values) = (Vec::new(), Vec::<Int96>::new());
        let (records, _, _) = chunk.read_records(AT_ONCE, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            self.chunk = None;
            return Ok(());
        }
        let mut values = values.iter().map(nanos);
        for at in 0..records {
            let is_null =
                self.most_defined > 0 && levels.get(at).is_none_or(|level| *level < self.most_defined);
            self.read.push_back(if is_null { None } else { values.next() });
        }
        Ok(())
    }
}

fn nanos(value: &Int96) -> i128 {
    let data = value.data();
    let of_day = i128::from(u64::from(data[1]) << 32 | u64::from(data[0]));
    i128::from(i64::from(data[2]) - EPOCH) * NANOS_PER_DAY + of_day
}
