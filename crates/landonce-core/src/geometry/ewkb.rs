//! EWKB, little-endian: ISO's WKB with `PostGIS`'s flags for the SRID and the third dimension.

use super::{Kind, Ordinate, Sink};
use crate::bad_record::BadRecord;

const LITTLE_ENDIAN: u8 = 1;
const HAS_SRID: u32 = 0x2000_0000;
/// The flag `0x8000_0000` as it stands in the last of the type word's four bytes.
const HAS_Z_LAST_BYTE: u8 = 0x80;
/// The not-a-number of an empty point, with the bits that `PostGIS` writes.
const NO_ORDINATE: u64 = 0x7FF8_0000_0000_0000;

/// Writes while the walk goes on; counts, and the flag for the third dimension, are put in when they are known.
pub(super) struct Writer {
    out: Vec<u8>,
    srid: i32,
    /// Where each header's type word begins.
    headers: Vec<usize>,
    /// Where the count of each open list stands.
    counts: Vec<usize>,
    /// Where each empty point ends: it takes a third number if the positions beside it have one.
    empty_points: Vec<usize>,
}

impl Writer {
    pub(super) fn new(srid: i32, capacity: usize) -> Self {
        Self {
            out: Vec::with_capacity(capacity),
            srid,
            headers: Vec::new(),
            counts: Vec::new(),
            empty_points: Vec::new(),
        }
    }

    pub(super) fn finish(mut self, has_z: bool) -> Vec<u8> {
        if !has_z {
            return self.out;
        }
        for header in self.headers {
            self.out[header + 3] |= HAS_Z_LAST_BYTE;
        }
        if self.empty_points.is_empty() {
            return self.out;
        }
        let mut out = Vec::with_capacity(self.out.len() + 8 * self.empty_points.len());
        let mut copied = 0;
        for end in self.empty_points {
            out.extend_from_slice(&self.out[copied..end]);
            out.extend_from_slice(&NO_ORDINATE.to_le_bytes());
            copied = end;
        }
        out.extend_from_slice(&self.out[copied..]);
        out
    }

    /// The SRID stands in the outermost header only.
    fn header(&mut self, kind: Kind) {
        let has_srid = self.out.is_empty() && self.srid != 0;
        self.out.push(LITTLE_ENDIAN);
        self.headers.push(self.out.len());
        let word = kind as u32 | if has_srid { HAS_SRID } else { 0 };
        self.out.extend_from_slice(&word.to_le_bytes());
        if has_srid {
            self.out.extend_from_slice(&self.srid.to_le_bytes());
        }
    }
}

impl Sink for Writer {
    fn begin(&mut self, kind: Kind) {
        self.header(kind);
    }

    fn part(&mut self, kind: Kind) {
        self.header(kind);
    }

    fn open(&mut self) {
        self.counts.push(self.out.len());
        self.out.extend_from_slice(&[0; 4]);
    }

    fn close(&mut self, items: usize) {
        if let Some(at) = self.counts.pop() {
            self.out[at..at + 4].copy_from_slice(&(items as u32).to_le_bytes());
        }
    }

    fn position(&mut self, ordinates: &[Ordinate<'_>]) -> Result<(), BadRecord> {
        for ordinate in ordinates {
            self.out.extend_from_slice(&ordinate.value.to_le_bytes());
        }
        Ok(())
    }

    fn empty_point(&mut self) {
        self.out.extend_from_slice(&NO_ORDINATE.to_le_bytes());
        self.out.extend_from_slice(&NO_ORDINATE.to_le_bytes());
        self.empty_points.push(self.out.len());
    }

    fn end(&mut self) {}
}
