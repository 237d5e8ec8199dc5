//! Rows on their way into PostgreSQL: encoded as binary COPY wants them, on whichever thread decodes, and sent in slices.
//!
//! One growing buffer holds a chunk; where each row ends is remembered, so that a range of rows can be sent again when
//! the server refuses one of them. Values become bytes in `wire.rs`.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use landonce_core::plan::StageColumn;
use landonce_core::value::Value;

use super::wire::{self, Wire};
use crate::error::{Error, Result};
use crate::seam::{Place, Rows};

/// The most bytes in one message: large enough to cost no time, small enough for the socket to keep moving.
const PIECE: usize = 256 * 1024;

/// Opens a binary COPY: signature, no flags, no header extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Closes it.
const TRAILER: &[u8] = b"\xff\xff";

/// Rows of one plan, in COPY's binary form.
#[derive(Debug)]
pub struct CopyRows {
    layout: Arc<Layout>,
    body: Vec<u8>,
    ends: Vec<usize>,
    places: Vec<Place>,
    may_repeat: u64,
    mismatch: Option<usize>,
}

/// What a row is made of, in the order in which its values are pushed.
#[derive(Debug)]
pub(super) struct Layout {
    slots: Vec<Slot>,
    /// How many of the slots go onto the wire.
    fields: i16,
}

#[derive(Debug)]
struct Slot {
    column: StageColumn,
    /// `None`: kept on this side only.
    wire: Option<Wire>,
}

/// What makes rows; any number of them, on any thread.
pub trait MakesRows: Fn() -> CopyRows + Send {
    /// Another one.
    fn another(&self) -> Box<dyn MakesRows>;
}

impl<F: Fn() -> CopyRows + Clone + Send + 'static> MakesRows for F {
    fn another(&self) -> Box<dyn MakesRows> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn MakesRows> {
    fn clone(&self) -> Self {
        (**self).another()
    }
}

impl Layout {
    /// A staged record's place is told to the database; a row's place is kept here, to name it when it is refused.
    pub(super) fn new(columns: &[StageColumn], wire_of: impl Fn(usize) -> Wire, key: &Wire) -> Self {
        let is_stage = columns.contains(&StageColumn::MayRepeat);
        let slots: Vec<Slot> = columns
            .iter()
            .map(|&column| Slot {
                column,
                wire: match column {
                    StageColumn::Key => Some(key.clone()),
                    StageColumn::Digest => Some(Wire::Bytes),
                    StageColumn::Column(at) => Some(wire_of(at)),
                    StageColumn::Present => Some(Wire::Int8),
                    StageColumn::IsDelete | StageColumn::MayRepeat => Some(Wire::Boolean),
                    StageColumn::Number | StageColumn::Offset => is_stage.then_some(Wire::Int8),
                    StageColumn::Len => is_stage.then_some(Wire::Int4),
                },
            })
            .collect();
        let fields = slots.iter().filter(|slot| slot.wire.is_some()).count() as i16;
        Self { slots, fields }
    }

    /// What makes rows of this layout.
    pub(super) fn encoder(self) -> Box<dyn MakesRows> {
        let layout = Arc::new(self);
        Box::new(move || CopyRows {
            layout: Arc::clone(&layout),
            body: Vec::new(),
            ends: Vec::new(),
            places: Vec::new(),
            may_repeat: 0,
            mismatch: None,
        })
    }
}

impl Rows for CopyRows {
    fn push(&mut self, values: &[Value<'_>]) {
        self.body.put_i16(self.layout.fields);
        let mut place = Place { number: 0, offset: 0, len: 0 };
        if values.len() != self.layout.slots.len() {
            self.mismatch.get_or_insert(values.len());
        }
        for (at, (slot, value)) in self.layout.slots.iter().zip(values).enumerate() {
            match (slot.column, value) {
                (StageColumn::Number, Value::Integer(number)) => place.number = *number as u64,
                (StageColumn::Offset, Value::Integer(offset)) => place.offset = *offset as u64,
                (StageColumn::Len, Value::Integer(len)) => place.len = *len as u32,
                (StageColumn::MayRepeat, Value::Boolean(true)) => self.may_repeat += 1,
                _ => {}
            }
            if let Some(wire) = &slot.wire
                && wire::field(&mut self.body, wire, value).is_err()
            {
                self.mismatch.get_or_insert(at);
            }
        }
        self.ends.push(self.body.len());
        self.places.push(place);
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn size(&self) -> usize {
        self.body.len() + self.ends.len() * (size_of::<usize>() + size_of::<Place>())
    }
}

/// Rows that are complete, to be sent as a whole or by ranges.
#[derive(Debug)]
pub(super) struct Sealed {
    body: Bytes,
    ends: Vec<usize>,
    places: Vec<Place>,
    fields: i16,
    /// How many rows carry the mark that their identity may have come before.
    pub(super) may_repeat: u64,
}

impl CopyRows {
    pub(super) fn seal(self) -> Result<Sealed> {
        if let Some(at) = self.mismatch {
            return Err(Error::refused(format!(
                "the rows don't belong to the plan: value {} of a row isn't what its column takes",
                at + 1
            )));
        }
        Ok(Sealed {
            body: Bytes::from(self.body),
            ends: self.ends,
            places: self.places,
            fields: self.layout.fields,
            may_repeat: self.may_repeat,
        })
    }
}

impl Sealed {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn place(&self, row: usize) -> Place {
        self.places[row]
    }

    fn start(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.ends[row - 1] }
    }

    /// The rows of a range as COPY's messages, without copying them.
    pub(super) fn pieces(&self, rows: std::ops::Range<usize>) -> impl Iterator<Item = Bytes> + use<'_> {
        let body = self.body.slice(self.start(rows.start)..self.start(rows.end));
        let count = body.len().div_ceil(PIECE);
        std::iter::once(Bytes::from_static(HEADER))
            .chain((0..count).map(move |at| body.slice(at * PIECE..body.len().min((at + 1) * PIECE))))
            .chain(std::iter::once(Bytes::from_static(TRAILER)))
    }

    /// The rows of a range as COPY's messages for the target itself: the fields of each, less `cut` bytes at its end, and
    /// then the same `more` fields.
    pub(super) fn widened(
        &self,
        rows: std::ops::Range<usize>,
        cut: Cut,
        more: &[u8],
        more_fields: i16,
    ) -> impl Iterator<Item = Bytes> {
        let fields = self.fields - cut.fields + more_fields;
        let mut left = rows.clone();
        let mut is_done = false;
        std::iter::from_fn(move || {
            if is_done {
                return None;
            }
            let mut piece = BytesMut::with_capacity(PIECE + PIECE / 4);
            if left.start == rows.start {
                piece.put_slice(HEADER);
            }
            while piece.len() < PIECE {
                let Some(row) = left.next() else { break };
                piece.put_i16(fields);
                piece.put_slice(&self.body[self.start(row) + 2..self.ends[row] - cut.bytes]);
                piece.put_slice(more);
            }
            if left.is_empty() {
                piece.put_slice(TRAILER);
                is_done = true;
            }
            Some(piece.freeze())
        })
    }
}

/// What the target doesn't have at the end of a staged row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cut {
    pub(super) fields: i16,
    pub(super) bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: [StageColumn; 4] =
        [StageColumn::Key, StageColumn::Number, StageColumn::Offset, StageColumn::Len];

    fn rows(count: usize) -> CopyRows {
        let encoder = Layout::new(&ROW, |_| Wire::Text, &Wire::Uuid).encoder();
        let mut rows = encoder();
        for at in 0..count as i64 {
            let key = Value::Uuid([at as u8; 16]);
            rows.push(&[key, Value::Integer(at), Value::Integer(at * 10), Value::Integer(9)]);
        }
        rows
    }

    fn joined(pieces: impl Iterator<Item = Bytes>) -> Vec<u8> {
        pieces.flat_map(|piece| piece.to_vec()).collect()
    }

    #[test]
    fn a_range_is_a_copy_of_its_own() {
        let sealed = rows(3).seal().unwrap();
        let sent = joined(sealed.pieces(1..2));
        assert_eq!(sent.len(), HEADER.len() + 2 + 4 + 16 + TRAILER.len());
        assert_eq!(sent[HEADER.len()..][..6], [0, 1, 0, 0, 0, 16]);
        assert_eq!(sent[HEADER.len() + 6], 1);
        assert_eq!(sealed.place(1), Place { number: 1, offset: 10, len: 9 });
    }

    #[test]
    fn large_chunks_go_in_pieces_that_join_to_the_whole() {
        let sealed = rows(40_000).seal().unwrap();
        assert!(sealed.pieces(0..40_000).all(|piece| piece.len() <= PIECE));
        assert_eq!(
            joined(sealed.pieces(0..40_000)),
            joined(sealed.widened(0..40_000, Cut::default(), &[], 0))
        );
    }

    #[test]
    fn widened_rows_carry_the_fields_they_were_given() {
        let sent = joined(rows(3).seal().unwrap().widened(1..2, Cut::default(), &[0, 0, 0, 1, 7], 1));
        assert_eq!(sent[HEADER.len()..][..7], [0, 2, 0, 0, 0, 16, 1]);
        assert_eq!(sent[sent.len() - TRAILER.len() - 5..][..5], [0, 0, 0, 1, 7]);
    }

    #[test]
    fn rows_of_another_plan_are_refused_not_sent() {
        let mut rows = rows(1);
        rows.push(&[Value::Integer(1), Value::Integer(1), Value::Integer(1), Value::Integer(1)]);
        assert!(rows.seal().unwrap_err().to_string().contains("value 1 of a row"));
    }
}
