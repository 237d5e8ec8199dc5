//! A row of a table as the record that it was: as much of it as its key is made of.

use landonce_core::column::Type;
use landonce_core::pipeline::{IdentityFrom, Pipeline as Declared};
use landonce_core::plan::{
    Absent, From, Guard, KeyForm, Match, PlanColumn, ShapeColumn, TablePlan, TableShape, UniqueIndex, resolve,
};
use landonce_core::record::{RecordReader, Wanted};
use landonce_core::time;
use landonce_store::repair::{Known, Read, Shown};

use super::super::refused;
use super::spelling::Spelling;
use crate::error::Error;

/// Makes keys of rows, as one declaration says.
pub(super) struct Maker {
    /// The key's column and form.
    pub(super) column: String,
    pub(super) form: KeyForm,
    /// The column is there.
    pub(super) is_there: bool,
    plan: TablePlan,
    reader: RecordReader,
    text: String,
    /// The texts of moments count: a joined key is made of them.
    is_spelled: bool,
    /// How moments were spelled where a key was last found to be right.
    spelling: Spelling,
    /// How many rows in a row no spelling was right for.
    misses: u32,
}

/// After so many rows that no spelling was right for, no more are tried: the old declaration is another.
const MOST_MISSES: u32 = 1_000;

impl Maker {
    pub(super) fn new(declared: &Declared, shape: &TableShape) -> Result<Self, Error> {
        let fields: Vec<String> = match &declared.identity().from {
            IdentityFrom::Fields { names, .. } => names.clone(),
            IdentityFrom::SenderId(field) => vec![field.clone()],
            IdentityFrom::Content(_) => {
                return Err(refused(format!(
                    "pipeline `{}`: its identity is a hash of the content, which can't be made again from a table's columns",
                    declared.name()
                )));
            }
        };
        let column = declared.target().managed.key.clone();
        let is_there = shape.column(&column).is_some();
        let mut plan = resolve(declared, Some(&with_key(shape, declared, &column)))?;
        let Match::Key { form, .. } = plan.matching else {
            return Err(refused(format!(
                "pipeline `{}` has no key column: it matches on the natural key's own columns, which `landonce repair dedupe` mends",
                declared.name()
            )));
        };
        let is_of_key =
            |column: &PlanColumn| matches!(&column.from, From::Field(field) if fields.contains(field));
        let needs_rest = plan.columns.iter().filter(|column| is_of_key(column)).count() < fields.len();
        plan.columns.retain(|column| is_of_key(column) || (needs_rest && column.from == From::Rest));
        if needs_rest && !plan.columns.iter().any(|column| column.from == From::Rest) {
            return Err(refused(format!(
                "pipeline `{}`: {} has no column for every field of the identity ({})",
                declared.name(),
                shape.table,
                fields.join(", ")
            )));
        }
        // Nothing but the key is made.
        (plan.guard, plan.absent, plan.version, plan.scope) = (Guard::Columns, Absent::Replace, None, None);
        (plan.run_id, plan.revision, plan.has_deletes, plan.sender_id) = (None, None, false, false);
        (plan.tombstone, plan.history) = (None, None);
        plan.unguarded.clear();
        let reader = RecordReader::new(declared, &plan, false);
        let is_spelled = matches!(declared.identity().from, IdentityFrom::Fields { joined: Some(_), .. })
            && plan.columns.iter().any(|column| matches!(column.ty, Type::Timestamptz | Type::Timestamp));
        let spelling = Spelling::ALL[0];
        Ok(Self {
            column,
            form,
            is_there,
            plan,
            reader,
            text: String::new(),
            is_spelled,
            spelling,
            misses: 0,
        })
    }

    /// The columns that it reads.
    pub(super) fn reads(&self) -> Vec<Read> {
        let read = |column: &PlanColumn| Read {
            column: column.name.clone(),
            shown: match column.ty {
                Type::Timestamptz | Type::Timestamp => Shown::Micros,
                Type::Bytes => Shown::Hex,
                _ => Shown::Text,
            },
        };
        self.plan.columns.iter().map(read).collect()
    }

    /// Fields whose text of the time is lost in their columns: one moment and one number have many spellings.
    pub(super) fn respelled(&self) -> Vec<&str> {
        let is_respelled = |column: &&PlanColumn| {
            matches!(column.ty, Type::Timestamptz | Type::Timestamp | Type::Decimal { .. } | Type::Bytes)
        };
        self.plan.columns.iter().filter(is_respelled).map(|column| column.name.as_str()).collect()
    }

    /// Fields that nobody has given a type: a text may have been a number.
    pub(super) fn untyped(&self) -> Vec<&str> {
        let columns = self.plan.columns.iter().filter(|column| column.ty == Type::Scalar);
        columns.map(|column| column.name.as_str()).collect()
    }

    /// A row's key as it is stored, if the declaration makes it of the row; else what it makes. Where a joined key is of
    /// texts of moments, those that programs commonly write are tried: the one that was right last comes first.
    pub(super) fn key_like(
        &mut self,
        values: &[&Option<String>],
        stored: Option<&String>,
    ) -> Result<String, String> {
        let made = self.key(values);
        if !self.is_spelled || made.as_ref().ok() == stored || self.misses >= MOST_MISSES {
            return made;
        }
        let last = self.spelling;
        for &spelling in Spelling::ALL {
            self.spelling = spelling;
            let made = self.key(values);
            if made.as_ref().ok() == stored {
                self.misses = 0;
                return made;
            }
        }
        self.misses += 1;
        self.spelling = last;
        made
    }

    /// A row's key in hex digits, of its columns' values in the order of [`Maker::reads`]; or why it has none.
    pub(super) fn key(&mut self, values: &[&Option<String>]) -> Result<String, String> {
        self.text.clear();
        self.text.push('{');
        for (column, value) in self.plan.columns.iter().zip(values) {
            let text = &mut self.text;
            match (&column.from, value) {
                (From::Rest, None) => {}
                (From::Rest, Some(object)) => {
                    let members = object.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}'));
                    let members = members.ok_or_else(|| format!("{}: no JSON object", column.name))?;
                    if !members.trim().is_empty() {
                        comma(text);
                        text.push_str(members);
                    }
                }
                (From::Field(field), value) => {
                    comma(text);
                    text.push_str(&quoted(field));
                    text.push(':');
                    match value {
                        None => text.push_str("null"),
                        Some(value) => put(text, &column.ty, value, self.spelling),
                    }
                }
            }
        }
        self.text.push('}');
        let row = self.reader.read(self.text.as_bytes(), Wanted::Identity).map_err(|bad| bad.to_string())?;
        let key = row.key.ok_or_else(|| "it has no key".to_owned())?;
        Ok(match self.form {
            KeyForm::Uuid => key.to_uuid().simple().to_string(),
            KeyForm::Bytes | KeyForm::Hex => hex::encode(key.0),
        })
    }
}

/// The shape as if the key's column were there and unique: that it isn't is what a repair is for.
fn with_key(shape: &TableShape, declared: &Declared, column: &str) -> TableShape {
    use landonce_core::pipeline::DeclaredForm;
    let mut shape = shape.clone();
    if shape.column(column).is_none() {
        let ty = match declared.identity().form {
            Some(DeclaredForm::Key(KeyForm::Bytes)) => Type::Bytes,
            Some(DeclaredForm::Key(KeyForm::Hex)) => Type::TEXT,
            _ => Type::Uuid,
        };
        shape.columns.push(ShapeColumn {
            name: column.to_owned(),
            sql_type: ty.to_string(),
            ty: Some(ty),
            nullable: false,
            is_generated: false,
            has_default: false,
            is_exact: true,
        });
    }
    shape.unique.push(UniqueIndex {
        name: "the key's".to_owned(),
        columns: vec![column.to_owned()],
        is_null_safe: true,
        is_primary: false,
    });
    shape
}

fn comma(text: &mut String) {
    if !text.ends_with('{') {
        text.push(',');
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// A stored value as JSON of its type.
fn put(out: &mut String, ty: &Type, value: &str, spelling: Spelling) {
    match ty {
        Type::Integer { .. } | Type::Decimal { .. } | Type::Json => out.push_str(value),
        Type::Boolean => out.push_str(match value {
            "1" | "t" => "true",
            "0" | "f" => "false",
            other => other,
        }),
        Type::Bytes => out.push_str(&quoted(&format!("\\x{value}"))),
        Type::Timestamptz | Type::Timestamp => {
            let micros = value.parse().ok().or_else(|| match ty {
                Type::Timestamptz => time::timestamptz(value).ok(),
                _ => time::timestamp(value).ok(),
            });
            match micros {
                Some(micros) => spelling.put(out, micros, *ty == Type::Timestamptz),
                None => out.push_str(&quoted(value)),
            }
        }
        _ => out.push_str(&quoted(value)),
    }
}

/// Where a column is among those that are read.
pub(super) fn place(read: Read, reads: &mut Vec<Read>) -> usize {
    reads.iter().position(|has| *has == read).unwrap_or_else(|| {
        reads.push(read);
        reads.len() - 1
    })
}

/// Where each of a maker's columns is among those that are read.
pub(super) fn places(maker: &Maker, reads: &mut Vec<Read>) -> Vec<usize> {
    maker.reads().into_iter().map(|read| place(read, reads)).collect()
}

/// The column that holds a maker's keys, to be read as hex digits.
pub(super) fn stored(maker: &Maker, known: &Known) -> Result<Read, Error> {
    if !maker.is_there {
        return Err(refused(format!(
            "{} has no column `{}` for the old keys; `target.managed.key` of the old pipeline names it",
            known.table, maker.column
        )));
    }
    let shown = if maker.form == KeyForm::Hex { Shown::Text } else { Shown::Hex };
    Ok(Read { column: maker.column.clone(), shown })
}
