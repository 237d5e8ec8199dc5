//! A window over a stream: the record being framed lies in it in one piece, however the stream delivers its bytes.
//!
//! The buffer grows with the longest record up to the record limit; framers drop what lies beyond it, so memory is bounded.

use std::ops::Range;

use super::DecodeError;
use super::bad::KEPT;
use super::stream::Stream;

/// The buffer's first size, and the least it reads at a time.
const CHUNK: usize = 256 * 1024;

/// A window over a stream. Ranges that it gives out are good until the next [`Window::more`].
pub(super) struct Window {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    /// The bytes not consumed yet.
    start: usize,
    end: usize,
    /// Where `buffer[0]` stands in the stream.
    base: u64,
    is_ended: bool,
    /// The first bytes of a record that didn't fit.
    kept: Vec<u8>,
}

/// Where a record's own bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raw {
    /// In the window's buffer.
    Within(Range<usize>),
    /// They were too many; the first of them are kept apart.
    Kept,
}

impl Window {
    /// A window at the beginning of a stream.
    pub(super) fn over(stream: Box<dyn Stream>) -> Self {
        Self { stream, buffer: vec![0; CHUNK], start: 0, end: 0, base: 0, is_ended: false, kept: Vec::new() }
    }

    /// What is there and not consumed.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Where the first byte of [`Window::rest`] stands in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Goes `count` bytes further.
    pub(super) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
    }

    /// Reads more behind what is there; `false` at the end of the stream.
    pub(super) fn more(&mut self) -> Result<bool, DecodeError> {
        if self.is_ended {
            return Ok(false);
        }
        if self.start == self.end {
            self.base += self.start as u64;
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            (self.start, self.end) = (0, self.end - self.start);
            // A record longer than the buffer would otherwise be read in ever smaller pieces.
            if self.buffer.len() - self.end < CHUNK / 2 {
                let larger = self.buffer.len() * 2;
                self.buffer.resize(larger, 0);
            }
        }
        let read = self.stream.read(&mut self.buffer[self.end..])?;
        self.end += read;
        self.is_ended = read == 0;
        Ok(read > 0)
    }

    /// Reads until at least `count` bytes are there, or the stream ends.
    pub(super) fn at_least(&mut self, count: usize) -> Result<&[u8], DecodeError> {
        while self.end - self.start < count && self.more()? {}
        Ok(self.rest())
    }

    /// The next byte that isn't white space in JSON's sense, without consuming it; `None` at the end.
    pub(super) fn skip_white(&mut self) -> Result<Option<u8>, DecodeError> {
        loop {
            let rest = self.rest();
            let white = rest.iter().take_while(|&&byte| is_white(byte)).count();
            let next = rest.get(white).copied();
            self.consume(white);
            if next.is_some() || !self.more()? {
                return Ok(next);
            }
        }
    }

    /// Keeps the first of the `len` bytes of the record that begins here, before they are dropped.
    pub(super) fn keep(&mut self, len: usize) {
        self.kept.clear();
        self.kept.extend_from_slice(&self.buffer[self.start..self.start + len.min(KEPT)]);
    }

    /// Consumes a record that ends `len` bytes from here and may have begun `dropped` bytes before: all there is to do about
    /// the limit at a record's end. Whole records stay in the window, of others the first bytes are kept.
    pub(super) fn close(&mut self, len: usize, dropped: u64, limit: u32) -> Raw {
        if dropped == 0 && len <= limit as usize {
            let at = self.start;
            self.consume(len);
            return Raw::Within(at..at + len);
        }
        if dropped == 0 {
            self.keep(len);
        }
        self.consume(len);
        Raw::Kept
    }

    /// Drops the first `len` bytes of an unfinished record if it is beyond the limit already; tells how many were dropped.
    /// What is kept of it must not depend on how the stream delivers, since a quarantined record is known by its bytes.
    pub(super) fn drop_beyond(&mut self, len: usize, dropped: u64, limit: u32) -> u64 {
        if dropped == 0 && len <= KEPT.max(limit as usize) {
            return 0;
        }
        if dropped == 0 {
            self.keep(len);
        }
        self.consume(len);
        len as u64
    }

    /// A record's own bytes; the first of them for a record that is too large.
    pub(super) fn raw(&self, raw: &Raw) -> &[u8] {
        match raw {
            Raw::Within(range) => &self.buffer[range.clone()],
            Raw::Kept => &self.kept,
        }
    }
}

/// White space in JSON's sense.
pub(super) fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}
