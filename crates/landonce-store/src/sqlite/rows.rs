//! Rows on their way into SQLite: values in the storage classes that SQLite has, packed into one growing buffer on
//! whichever thread decodes, and bound one by one on the connection's.
//!
//! SQLite has five classes, so a value's form is decided here and nowhere else: what is exact as text is text (decimals,
//! times, JSON, arrays), and fixed-width times make text order time order.

use std::fmt::Write as _;
use std::sync::Arc;

use landonce_core::plan::{StageColumn, TablePlan};
use landonce_core::time;
use landonce_core::value::Value;
use rusqlite::Statement;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::catalog::Affinity;
use crate::error::{Error, Result};
use crate::seam::{Place, Refused, Rows};

/// Rows of one plan, ready to be bound.
#[derive(Debug)]
pub struct BoundRows {
    layout: Arc<Layout>,
    cells: Cells,
    ends: Vec<usize>,
    /// How many rows carry the mark that their identity may have come before.
    pub(super) may_repeat: u64,
    /// Rows with a text that the column would turn into a number: (row, slot).
    unfit: Vec<(usize, usize)>,
    mismatch: Option<usize>,
    scratch: String,
}

/// What a row is made of, in the order in which its values are pushed.
#[derive(Debug)]
struct Layout {
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    column: StageColumn,
    /// The column's name, for messages; empty for those of the stage.
    name: String,
    /// The column turns a text that looks like a number into one.
    is_numeric: bool,
}

/// What makes rows; any number of them, on any thread.
pub trait MakesRows: Fn() -> BoundRows + Send {
    /// Another one.
    fn another(&self) -> Box<dyn MakesRows>;
}

impl<F: Fn() -> BoundRows + Clone + Send + 'static> MakesRows for F {
    fn another(&self) -> Box<dyn MakesRows> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn MakesRows> {
    fn clone(&self) -> Self {
        (**self).another()
    }
}

/// What makes rows of these columns for a plan.
pub(super) fn encoder(plan: &TablePlan, columns: &[StageColumn]) -> Box<dyn MakesRows> {
    let slot = |&column: &StageColumn| {
        let planned = match column {
            StageColumn::Column(at) => plan.columns.get(at),
            _ => None,
        };
        let sql_type = planned.and_then(|planned| planned.sql_type.as_deref());
        Slot {
            column,
            name: planned.map(|planned| planned.name.clone()).unwrap_or_default(),
            is_numeric: sql_type.is_some_and(|sql_type| Affinity::of(sql_type).is_numeric()),
        }
    };
    let layout = Arc::new(Layout { slots: columns.iter().map(slot).collect() });
    Box::new(move || BoundRows {
        layout: Arc::clone(&layout),
        cells: Cells::default(),
        ends: Vec::new(),
        may_repeat: 0,
        unfit: Vec::new(),
        mismatch: None,
        scratch: String::new(),
    })
}

impl Rows for BoundRows {
    fn push(&mut self, values: &[Value<'_>]) {
        if values.len() != self.layout.slots.len() {
            self.mismatch.get_or_insert(values.len());
        }
        for (at, (slot, value)) in self.layout.slots.iter().zip(values).enumerate() {
            if slot.column == StageColumn::MayRepeat && *value == Value::Boolean(true) {
                self.may_repeat += 1;
            }
            let cell = cell(value, slot.column == StageColumn::Key, &mut self.scratch);
            if slot.is_numeric && matches!(cell, ValueRef::Text(text) if looks_like_a_number(text)) {
                self.unfit.push((self.ends.len(), at));
            }
            self.cells.push(cell);
        }
        self.ends.push(self.cells.0.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn size(&self) -> usize {
        self.cells.0.len() + self.ends.len() * size_of::<usize>()
    }
}

impl BoundRows {
    /// Calls `each` with every row's cells, except rows that SQLite would alter: those are returned as refused.
    pub(super) fn each(&self, each: impl FnMut(&[ValueRef<'_>]) -> Result<()>) -> Result<Vec<Refused>> {
        self.visit(0..self.ends.len(), each)
    }

    /// The same, by the bytes of the first cell, the key: SQLite sorts a million keys in half the time when they come in
    /// ordered runs.
    pub(super) fn each_by_key(
        &self,
        each: impl FnMut(&[ValueRef<'_>]) -> Result<()>,
    ) -> Result<Vec<Refused>> {
        let mut order: Vec<usize> = (0..self.ends.len()).collect();
        order.sort_unstable_by(|a, b| self.packed(*a).cmp(self.packed(*b)));
        let mut refused = self.visit(order, each)?;
        refused.sort_unstable_by_key(|one| one.place.offset);
        Ok(refused)
    }

    fn visit(
        &self,
        order: impl IntoIterator<Item = usize>,
        mut each: impl FnMut(&[ValueRef<'_>]) -> Result<()>,
    ) -> Result<Vec<Refused>> {
        if let Some(found) = self.mismatch {
            let due = self.layout.slots.len();
            return Err(Error::refused(format!(
                "a row of {found} values was made where {due} are due: a fault in landonce"
            )));
        }
        let mut refused = Vec::new();
        let mut cells = Vec::with_capacity(self.layout.slots.len());
        for row in order {
            cells.clear();
            cells.extend(Cells::read(self.packed(row)));
            let first = self.unfit.partition_point(|(at, _)| *at < row);
            if let Some((_, slot)) = self.unfit.get(first).filter(|(at, _)| *at == row) {
                let name = self.layout.slots[*slot].name.clone();
                let message = format!(
                    "the text looks like a number, and column `{name}` turns such texts into numbers; give it the type TEXT"
                );
                refused.push(Refused { place: place(&cells), name, message });
                continue;
            }
            each(&cells)?;
        }
        Ok(refused)
    }

    fn packed(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.cells.0[start..self.ends[row]]
    }
}

/// Where a record stands: the last three cells of staged records and of rows alike.
pub(super) fn place(cells: &[ValueRef<'_>]) -> Place {
    let at = |back: usize| match cells.len().checked_sub(back).map(|at| cells[at]) {
        Some(ValueRef::Integer(number)) => number,
        _ => 0,
    };
    Place { number: at(3) as u64, offset: at(2) as u64, len: at(1) as u32 }
}

/// Binds cells to a statement's parameters from the first on; those that it doesn't have are left out.
pub(super) fn bind(statement: &mut Statement<'_>, cells: &[ValueRef<'_>]) -> rusqlite::Result<()> {
    let taken = statement.parameter_count();
    for (at, cell) in cells.iter().take(taken).enumerate() {
        statement.raw_bind_parameter(at + 1, ToSqlOutput::Borrowed(*cell))?;
    }
    Ok(())
}

/// Cells packed one after the other: a class, then eight bytes or a length and so many bytes.
#[derive(Debug, Default)]
pub(super) struct Cells(Vec<u8>);

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BLOB: u8 = 4;

impl Cells {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn push(&mut self, cell: ValueRef<'_>) {
        match cell {
            ValueRef::Null => self.0.push(NULL),
            ValueRef::Integer(value) => self.eight(INTEGER, value.to_le_bytes()),
            ValueRef::Real(value) => self.eight(REAL, value.to_le_bytes()),
            ValueRef::Text(bytes) => self.long(TEXT, bytes),
            ValueRef::Blob(bytes) => self.long(BLOB, bytes),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ValueRef<'_>> {
        Self::read(&self.0)
    }

    fn eight(&mut self, class: u8, bytes: [u8; 8]) {
        self.0.push(class);
        self.0.extend_from_slice(&bytes);
    }

    fn long(&mut self, class: u8, bytes: &[u8]) {
        self.0.push(class);
        self.0.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.0.extend_from_slice(bytes);
    }

    fn read(mut packed: &[u8]) -> impl Iterator<Item = ValueRef<'_>> {
        std::iter::from_fn(move || {
            let (class, rest) = packed.split_first()?;
            let (cell, rest) = match *class {
                NULL => (ValueRef::Null, rest),
                INTEGER | REAL => {
                    let (eight, rest) = rest.split_first_chunk::<8>()?;
                    let is_integer = *class == INTEGER;
                    let value = if is_integer {
                        ValueRef::Integer(i64::from_le_bytes(*eight))
                    } else {
                        ValueRef::Real(f64::from_le_bytes(*eight))
                    };
                    (value, rest)
                }
                _ => {
                    let (len, rest) = rest.split_first_chunk::<4>()?;
                    let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
                    (if *class == TEXT { ValueRef::Text(bytes) } else { ValueRef::Blob(bytes) }, rest)
                }
            };
            packed = rest;
            Some(cell)
        })
    }
}

/// A value in SQLite's classes. A key's UUID is its sixteen bytes; a column's is text that a person can read.
pub(super) fn cell<'v>(value: &'v Value<'_>, is_key: bool, scratch: &'v mut String) -> ValueRef<'v> {
    scratch.clear();
    match value {
        Value::Null => return ValueRef::Null,
        Value::Integer(value) => return ValueRef::Integer(*value),
        Value::Boolean(value) => return ValueRef::Integer(i64::from(*value)),
        Value::Float(value) => return ValueRef::Real(*value),
        Value::Text(text) | Value::Json(text) => return ValueRef::Text(text.as_bytes()),
        Value::Bytes(bytes) | Value::Geometry(bytes) => return ValueRef::Blob(bytes),
        Value::Uuid(bytes) if is_key => return ValueRef::Blob(bytes),
        Value::Uuid(_) | Value::Decimal(_) | Value::Date(_) | Value::Timestamptz(_) | Value::Timestamp(_) => {
            write_plain(value, scratch);
        }
        Value::Array(items) => write_items(items, scratch),
    }
    ValueRef::Text(scratch.as_bytes())
}

/// What has one spelling that needs no quotes.
fn write_plain(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Decimal(number) => out.push_str(&number.to_plain()),
        Value::Date(days) => time::write_date(*days, out),
        Value::Timestamptz(micros) => time::write_timestamptz(*micros, out),
        Value::Timestamp(micros) => time::write_timestamp(*micros, out),
        Value::Uuid(bytes) => {
            let _ = write!(out, "{}", uuid::Uuid::from_bytes(*bytes).hyphenated());
        }
        _ => {}
    }
}

/// An array as JSON. Numbers keep their digits; what JSON has no kind for is a string in the form it has as a column.
fn write_items(items: &[Value<'_>], out: &mut String) {
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match item {
            Value::Null => out.push_str("null"),
            Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Json(text) => out.push_str(text),
            Value::Integer(value) => {
                let _ = write!(out, "{value}");
            }
            Value::Float(value) => out.push_str(&serde_json::Value::from(*value).to_string()),
            Value::Decimal(_) => write_plain(item, out),
            Value::Text(text) => write_string(text, out),
            Value::Bytes(bytes) => write_string(&format!("\\x{}", hex::encode(bytes)), out),
            Value::Geometry(bytes) => write_string(&hex::encode(bytes), out),
            Value::Array(inner) => write_items(inner, out),
            Value::Date(_) | Value::Timestamptz(_) | Value::Timestamp(_) | Value::Uuid(_) => {
                out.push('"');
                write_plain(item, out);
                out.push('"');
            }
        }
    }
    out.push(']');
}

fn write_string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// Whether a column of numeric affinity would store a number in place of this text.
fn looks_like_a_number(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let text = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(text);
    let mut rest = &text[whole..];
    let mut fraction = 0;
    if let Some(behind) = rest.strip_prefix(b".") {
        fraction = digits(behind);
        rest = &behind[fraction..];
    }
    if whole + fraction == 0 {
        return false;
    }
    if let Some(power) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let power = power.strip_prefix(b"-").or_else(|| power.strip_prefix(b"+")).unwrap_or(power);
        return !power.is_empty() && digits(power) == power.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use landonce_core::number::Decimal;

    use super::*;

    fn text_of(value: &Value<'_>) -> String {
        let mut scratch = String::new();
        match cell(value, false, &mut scratch) {
            ValueRef::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_sqlite_has_no_class_for_is_exact_text() {
        let decimal = |text: &'static str| Value::Decimal(Decimal::parse(text).unwrap());
        assert_eq!(text_of(&decimal("12345678901234567890.12345678900")), "12345678901234567890.123456789");
        assert_eq!(text_of(&Value::Date(0)), "1970-01-01");
        assert_eq!(text_of(&Value::Timestamptz(1)), "1970-01-01T00:00:00.000001Z");
        assert_eq!(text_of(&Value::Timestamp(-1)), "1969-12-31T23:59:59.999999");
        assert_eq!(text_of(&Value::Uuid([0xab; 16])), "abababab-abab-abab-abab-abababababab");
    }

    #[test]
    fn arrays_are_json_that_keeps_every_digit() {
        let items = vec![
            Value::Null,
            Value::Integer(-1),
            Value::Decimal(Decimal::parse("0.10000000000000000001").unwrap()),
            Value::Float(1e300),
            Value::Text(Cow::Borrowed("a\"b\n")),
            Value::Boolean(true),
            Value::Date(0),
            Value::Bytes(Cow::Borrowed(&[1, 255])),
            Value::Json(Cow::Borrowed("{\"a\":1}")),
        ];
        assert_eq!(
            text_of(&Value::Array(items)),
            r#"[null,-1,0.10000000000000000001,1e+300,"a\"b\n",true,"1970-01-01","\\x01ff",{"a":1}]"#
        );
    }

    #[test]
    fn cells_come_back_as_they_were_packed() {
        let cells = [
            ValueRef::Null,
            ValueRef::Integer(i64::MIN),
            ValueRef::Real(0.5),
            ValueRef::Text(b""),
            ValueRef::Blob(&[0, 1, 2]),
            ValueRef::Text("ü".as_bytes()),
        ];
        let mut packed = Cells::default();
        for cell in cells {
            packed.push(cell);
        }
        assert_eq!(packed.iter().collect::<Vec<_>>(), cells);
    }

    #[test]
    fn a_text_counts_as_a_number_exactly_when_sqlite_would_make_it_one() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t(n NUMERIC)").unwrap();
        for text in [
            "7",
            "007",
            " 7 ",
            "-1",
            "+1",
            "1.",
            ".5",
            ".",
            "1e5",
            "1e",
            "1e+",
            "1E-2",
            "1.5e3",
            "e5",
            "",
            " ",
            "-",
            "abc",
            "7a",
            "0x10",
            "1_000",
            "2024-01-01",
            "12:30",
            "inf",
            "nan",
            "Infinity",
            "NaN",
            "1 2",
            "\t8\n",
            "--1",
            "1e5.5",
            "99999999999999999999999",
        ] {
            connection.execute("INSERT INTO t VALUES (?1)", [text]).unwrap();
            let stored: String = connection
                .query_row("SELECT typeof(n) FROM t ORDER BY rowid DESC LIMIT 1", [], |row| row.get(0))
                .unwrap();
            assert_eq!(
                looks_like_a_number(text.as_bytes()),
                stored != "text",
                "{text:?} is stored as {stored}"
            );
        }
    }
}
