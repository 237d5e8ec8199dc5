//! The file of a table's rows: writing lines, reading them again, and the digest of some columns of a line.
//!
//! A line is COPY's text format: fields between tabs, `\N` for NULL, and backslash escapes, which keep tabs and line ends
//! out of values. Equal values have equal bytes, and different values different ones, so nothing is unescaped to compare.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_128, xxh3_128_with_seed};

use super::Table;
use crate::error::{Error, Result};

/// How NULL is written.
pub(super) const NULL: &[u8] = b"\\N";

/// Writes a table's file.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    out: BufWriter<File>,
    rows: u64,
}

impl Writer {
    /// A new file in the folder; the number tells tables apart, whose names may be no names for files.
    pub(super) fn create(folder: &Path, number: usize) -> Result<Self> {
        let path = folder.join(format!("{number:05}.rows"));
        let file = File::create_new(&path).map_err(|error| broken("writing", &path, error))?;
        Ok(Self { out: BufWriter::with_capacity(1 << 17, file), path, rows: 0 })
    }

    /// Takes whole lines, each with its line end, already in the format.
    pub(super) fn lines(&mut self, lines: &[u8]) -> Result<()> {
        self.rows += memchr::memchr_iter(b'\n', lines).count() as u64;
        self.out.write_all(lines).map_err(|error| broken("writing", &self.path, error))
    }

    /// The file and how many rows it holds.
    pub(super) fn finish(mut self) -> Result<(PathBuf, u64)> {
        self.out.flush().map_err(|error| broken("writing", &self.path, error))?;
        Ok((self.path, self.rows))
    }
}

/// Appends a value to a line, escaped as COPY does.
pub(super) fn escape(value: &[u8], line: &mut Vec<u8>) {
    for &byte in value {
        let letter = match byte {
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0b => b'v',
            0x0c => b'f',
            _ => {
                line.push(byte);
                continue;
            }
        };
        line.extend([b'\\', letter]);
    }
}

/// Reads a table's file from the start to the end, a row at a time.
#[derive(Debug)]
pub(super) struct Reader {
    path: PathBuf,
    input: BufReader<File>,
    fields: usize,
    row: Row,
    next: u64,
}

/// A row: field 0 is the version, field n is column n of the table, counted from 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    line: Vec<u8>,
    /// Where each field ends.
    ends: Vec<usize>,
    /// Where the line begins in the file.
    pub(super) offset: u64,
}

impl Reader {
    pub(super) fn open(table: &Table) -> Result<Self> {
        let file = File::open(&table.file).map_err(|error| broken("reading", &table.file, error))?;
        Ok(Self {
            path: table.file.clone(),
            input: BufReader::with_capacity(1 << 17, file),
            fields: table.columns.len() + 1,
            row: Row::default(),
            next: 0,
        })
    }

    /// The next row; none after the last.
    pub(super) fn next(&mut self) -> Result<Option<&Row>> {
        if self.advance()? { self.split().map(Some) } else { Ok(None) }
    }

    /// Reads the next line, without looking into it; false after the last.
    pub(super) fn advance(&mut self) -> Result<bool> {
        let row = &mut self.row;
        row.line.clear();
        let read = self
            .input
            .read_until(b'\n', &mut row.line)
            .map_err(|error| broken("reading", &self.path, error))?;
        row.offset = self.next;
        self.next += read as u64;
        Ok(read > 0)
    }

    /// The line that was read last.
    pub(super) fn line(&self) -> &[u8] {
        &self.row.line
    }

    /// The row that was read last.
    pub(super) fn split(&mut self) -> Result<&Row> {
        let row = &mut self.row;
        row.ends.clear();
        if row.line.pop() == Some(b'\n') {
            row.ends.extend(memchr::memchr_iter(b'\t', &row.line));
            row.ends.push(row.line.len());
        }
        if row.ends.len() != self.fields {
            return Err(Error::new(format!(
                "{} is damaged: a row of {} fields instead of {} at byte {}",
                self.path.display(),
                row.ends.len(),
                self.fields,
                row.offset
            )));
        }
        Ok(row)
    }

    /// The row that begins at this byte.
    pub(super) fn at(&mut self, offset: u64) -> Result<Row> {
        self.input.seek(SeekFrom::Start(offset)).map_err(|error| broken("reading", &self.path, error))?;
        self.next = offset;
        match self.next()? {
            Some(row) => Ok(row.clone()),
            None => Err(Error::new(format!("{} is damaged: it ends at byte {offset}", self.path.display()))),
        }
    }
}

impl Row {
    /// The bytes of a field, as they stand in the file.
    pub(super) fn field(&self, number: usize) -> &[u8] {
        &self.line[self.start(number)..self.ends[number]]
    }

    fn start(&self, number: usize) -> usize {
        if number == 0 { 0 } else { self.ends[number - 1] + 1 }
    }

    /// The digest of these fields with a tab between them. No field holds one, so it keeps them apart.
    pub(super) fn digest(&self, fields: &[usize]) -> u128 {
        let (Some(&first), Some(&last)) = (fields.first(), fields.last()) else { return xxh3_128(b"") };
        if fields.windows(2).all(|pair| pair[1] == pair[0] + 1) {
            // They stand in the line as they are to be taken.
            return xxh3_128(&self.line[self.start(first)..self.ends[last]]);
        }
        let mut joined = Vec::with_capacity(self.line.len() + 1);
        for &field in fields {
            joined.extend_from_slice(self.field(field));
            joined.push(b'\t');
        }
        joined.pop();
        xxh3_128(&joined)
    }

    /// Whether two rows are equal in these fields, the first's and the second's numbers for them.
    pub(super) fn is_equal(&self, fields: &[usize], other: &Self, others: &[usize]) -> bool {
        fields.iter().zip(others).all(|(&mine, &its)| self.field(mine) == other.field(its))
    }
}

/// The digest of one value under a salt, which is a digest itself.
pub(super) fn digest(salt: u128, value: &[u8]) -> u128 {
    xxh3_128_with_seed(value, (salt >> 64) as u64 ^ salt as u64)
}

pub(super) fn broken(doing: &str, path: &Path, error: std::io::Error) -> Error {
    Error::because(format!("{doing} the snapshot's file {} failed", path.display()), error)
}
