//! The walk through a geometry: checks its shape and tells a [`Sink`] what it meets. Leaves writing to the sinks.
//!
//! The text is known to be JSON, so the cursor only has to find its way: brackets, commas, numbers.

use serde_json::value::RawValue;

use super::object::{Object, found, wrong_type};
use super::{Kind, Ordinate, Sink};
use crate::bad_record::{BadKind, BadRecord, shorten};

/// The most collections in each other.
const MOST_COLLECTIONS: usize = 16;

/// One walk through one outermost geometry.
pub(super) struct Walk<'s, S> {
    sink: &'s mut S,
    srid: Option<i32>,
    /// How many numbers a position has: the first position decides, for the parts of a collection as well.
    ordinates: Option<usize>,
}

/// The shape of a run of positions.
#[derive(Default)]
struct Run {
    positions: usize,
    first: [f64; 3],
    last: [f64; 3],
}

impl<'s, S: Sink> Walk<'s, S> {
    /// `srid`: the system that a `crs` member must name; `None` doesn't look at it.
    pub(super) fn new(sink: &'s mut S, srid: Option<i32>) -> Self {
        Self { sink, srid, ordinates: None }
    }

    /// Walks the whole geometry; `wanted` is the declared kind. Tells whether it has three dimensions.
    pub(super) fn outermost(mut self, json: &str, wanted: Option<&str>) -> Result<bool, BadRecord> {
        self.geometry(json, wanted, 0)?;
        Ok(self.ordinates == Some(3))
    }

    /// A geometry that stands inside so many collections.
    fn geometry(&mut self, json: &str, wanted: Option<&str>, depth: usize) -> Result<(), BadRecord> {
        let object = Object::read(json)?;
        let kind = object.kind()?;
        if let Some(srid) = self.srid {
            object.check_crs(srid)?;
        }
        let multi = kind.multi();
        if wanted.is_none_or(|wanted| wanted == kind.name()) {
            self.sink.begin(kind);
            self.content(&object, kind, depth)?;
        } else if let Some(multi) = multi.filter(|multi| wanted == Some(multi.name())) {
            self.sink.begin(multi);
            self.only_part(&object, kind, depth)?;
        } else {
            let wanted = wanted.unwrap_or_default();
            let detail = format!("found a `{}`; the column takes a `{wanted}`", kind.name());
            return Err(wrong_type(detail).under("type"));
        }
        self.sink.end();
        Ok(())
    }

    /// The content of a single kind as that of its Multi kind. Of an empty one there is no part.
    fn only_part(&mut self, object: &Object<'_>, kind: Kind, depth: usize) -> Result<(), BadRecord> {
        self.sink.open();
        let is_empty = object.content(kind).is_ok_and(|text| Cursor::new(text).is_at_empty_list());
        if !is_empty {
            self.sink.part(kind);
            self.content(object, kind, depth)?;
        }
        self.sink.close(usize::from(!is_empty));
        Ok(())
    }

    fn content(&mut self, object: &Object<'_>, kind: Kind, depth: usize) -> Result<(), BadRecord> {
        object
            .content(kind)
            .and_then(|text| {
                let cursor = &mut Cursor::new(text);
                match kind {
                    Kind::Point if cursor.is_at_empty_list() => {
                        self.sink.empty_point();
                        Ok(())
                    }
                    Kind::Point => self.position(cursor).map(drop),
                    Kind::LineString => self.line(cursor),
                    Kind::Polygon => self.polygon(cursor),
                    Kind::MultiPoint => {
                        self.parts(cursor, Kind::Point, |walk, cursor| walk.position(cursor).map(drop))
                    }
                    Kind::MultiLineString => self.parts(cursor, Kind::LineString, Self::line),
                    Kind::MultiPolygon => self.parts(cursor, Kind::Polygon, Self::polygon),
                    Kind::GeometryCollection => self.geometries(text, depth),
                }
            })
            .map_err(|bad| bad.under(kind.member()))
    }

    fn geometries(&mut self, text: &str, depth: usize) -> Result<(), BadRecord> {
        if depth == MOST_COLLECTIONS {
            let detail = format!("more than {MOST_COLLECTIONS} collections stand in each other");
            return Err(BadRecord::new(BadKind::TooDeep, "", detail));
        }
        let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| {
            wrong_type(format!("found {}; a list of geometries is due", found(text.bytes().next())))
        })?;
        self.sink.open();
        for (at, item) in items.iter().enumerate() {
            self.geometry(item.get(), None, depth + 1).map_err(|bad| bad.under(&format!("[{at}]")))?;
        }
        self.sink.close(items.len());
        Ok(())
    }

    fn parts(
        &mut self,
        cursor: &mut Cursor<'_>,
        kind: Kind,
        walk_part: impl Fn(&mut Self, &mut Cursor<'_>) -> Result<(), BadRecord>,
    ) -> Result<(), BadRecord> {
        let step = |walk: &mut Self, cursor: &mut Cursor<'_>| {
            walk.sink.part(kind);
            walk_part(walk, cursor)
        };
        self.list(cursor, step).map(drop)
    }

    fn polygon(&mut self, cursor: &mut Cursor<'_>) -> Result<(), BadRecord> {
        self.list(cursor, Self::ring).map(drop)
    }

    fn line(&mut self, cursor: &mut Cursor<'_>) -> Result<(), BadRecord> {
        match self.run(cursor)?.positions {
            1 => Err(wrong_type("found 1 position; a line has none, or at least 2")),
            _ => Ok(()),
        }
    }

    fn ring(&mut self, cursor: &mut Cursor<'_>) -> Result<(), BadRecord> {
        let run = self.run(cursor)?;
        if run.positions < 4 {
            return Err(wrong_type(format!("found {} positions; a ring has at least 4", run.positions)));
        }
        // Bit by bit, as PostGIS compares them; no number here is negative zero.
        if run.first.map(f64::to_bits) != run.last.map(f64::to_bits) {
            return Err(wrong_type(format!(
                "the ring begins at {:?} and ends at {:?}; a ring ends where it begins",
                self.shown(&run.first),
                self.shown(&run.last)
            )));
        }
        Ok(())
    }

    /// A position as a message shows it: without the third number if there is none.
    fn shown<'p>(&self, position: &'p [f64; 3]) -> &'p [f64] {
        &position[..self.ordinates.unwrap_or(3).min(3)]
    }

    fn run(&mut self, cursor: &mut Cursor<'_>) -> Result<Run, BadRecord> {
        let mut run = Run::default();
        self.list(cursor, |walk, cursor| {
            run.last = walk.position(cursor)?;
            if run.positions == 0 {
                run.first = run.last;
            }
            run.positions += 1;
            Ok(())
        })?;
        Ok(run)
    }

    /// A list, each item walked by `item`. Tells how many there were.
    fn list(
        &mut self,
        cursor: &mut Cursor<'_>,
        mut item: impl FnMut(&mut Self, &mut Cursor<'_>) -> Result<(), BadRecord>,
    ) -> Result<usize, BadRecord> {
        if !cursor.take(b'[') {
            return Err(wrong_type(format!("found {}; a list is due", found(cursor.peek()))));
        }
        self.sink.open();
        let mut items = 0;
        while !cursor.take(b']') {
            item(self, cursor).map_err(|bad| bad.under(&format!("[{items}]")))?;
            items += 1;
            cursor.take(b',');
        }
        self.sink.close(items);
        Ok(items)
    }

    /// Two or three numbers, as many as in every other position.
    fn position(&mut self, cursor: &mut Cursor<'_>) -> Result<[f64; 3], BadRecord> {
        if !cursor.take(b'[') {
            return Err(wrong_type(format!(
                "found {}; a position is due, a list of 2 or 3 numbers",
                found(cursor.peek())
            )));
        }
        let mut ordinates = [Ordinate::default(); 3];
        let mut count = 0;
        while !cursor.take(b']') {
            if count == 3 {
                return Err(wrong_type("found more than 3 numbers; a position has 2 or 3"));
            }
            ordinates[count] = cursor.number().map_err(|bad| bad.under(&format!("[{count}]")))?;
            count += 1;
            cursor.take(b',');
        }
        if count < 2 {
            return Err(wrong_type(format!("found a list of {count}; a position has 2 or 3 numbers")));
        }
        let due = *self.ordinates.get_or_insert(count);
        if count != due {
            return Err(wrong_type(format!("found {count} numbers where the positions before have {due}")));
        }
        self.sink.position(&ordinates[..count])?;
        Ok(ordinates.map(|ordinate| ordinate.value))
    }
}

/// A place in JSON text that is known to be well formed.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.trim_start() }
    }

    fn peek(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    /// Steps over `mark` and the white space behind it, if it comes next.
    fn take(&mut self, mark: u8) -> bool {
        let is_next = self.peek() == Some(mark);
        if is_next {
            self.rest = self.rest[1..].trim_start();
        }
        is_next
    }

    fn is_at_empty_list(&self) -> bool {
        self.rest.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(']'))
    }

    fn number(&mut self) -> Result<Ordinate<'a>, BadRecord> {
        let len =
            self.rest.bytes().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
        let (text, rest) = self.rest.split_at(len.count());
        let first = self.peek().filter(|b| matches!(b, b'-' | b'0'..=b'9'));
        let Some(value) = first.and_then(|_| text.parse::<f64>().ok()) else {
            return Err(wrong_type(format!("found {}; a number is due", found(self.peek()))));
        };
        if value.is_infinite() {
            let detail = format!("found {}, which is beyond a double", shorten(text));
            return Err(BadRecord::new(BadKind::OutOfRange, "", detail));
        }
        self.rest = rest.trim_start();
        // -0 is 0: the sum is positive zero for both, and changes nothing else.
        Ok(Ordinate { text, value: value + 0.0 })
    }
}
