//! A row as the database told it, read without losing a digit, and written so that every store writes the same.

use crate::canonical::{self, Exclusions};
use crate::json::{Json, Kind, Tape};
use crate::number::Decimal;
use crate::plan::{From, TablePlan};

/// The largest power of ten, either way, that a number is written out for.
const MOST_WRITTEN_OUT: i32 = 60;

/// What is known of a column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) from: From,
    /// It changes per attempt.
    pub(super) is_volatile: bool,
}

impl Column {
    pub(super) fn all(plan: &TablePlan) -> Vec<Self> {
        let column = |(at, column): (usize, &crate::plan::PlanColumn)| Self {
            from: column.from.clone(),
            is_volatile: plan.unguarded.contains(&at),
        };
        plan.columns.iter().enumerate().map(column).collect()
    }
}

/// A row: a value a column.
#[derive(Debug, Clone)]
pub(super) struct Row<'t>(Vec<Json<'t>>);

impl<'t> Row<'t> {
    pub(super) fn read(tape: &'t mut Tape, text: &'t str, columns: &[Column]) -> Result<Self, String> {
        let json = tape
            .scan(text.as_bytes())
            .map_err(|bad| format!("a row that the database gave can't be read: {bad}"))?;
        let values: Vec<Json<'t>> = json.items().collect();
        if values.len() != columns.len() {
            return Err(format!(
                "a row that the database gave has {} values; {} are due",
                values.len(),
                columns.len()
            ));
        }
        Ok(Self(values))
    }

    pub(super) fn at(&self, column: usize) -> Json<'t> {
        self.0[column]
    }

    /// Whether a column's value is another one.
    pub(super) fn differs(&self, other: &Row<'_>, column: usize) -> bool {
        let (a, b) = (self.at(column), other.at(column));
        a.raw() != b.raw() && encoded(a, &Exclusions::default()) != encoded(b, &Exclusions::default())
    }

    /// What of the row counts as content, as bytes: NULL and what changes per attempt don't.
    pub(super) fn content(&self, columns: &[Column], except: &Exclusions) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (column, value) in columns.iter().zip(&self.0) {
            if column.is_volatile || value.kind() == Kind::Null {
                continue;
            }
            let (name, inside) = match &column.from {
                From::Field(field) => (field.as_str(), except.inside(field)),
                From::Rest => ("", except.clone()),
            };
            canonical::put(&mut bytes, b's', name.as_bytes());
            bytes.extend(encoded(*value, &inside));
        }
        bytes
    }

    /// Appends the row as an object.
    pub(super) fn write(&self, names: &[String], out: &mut String) {
        for (at, (name, value)) in names.iter().zip(&self.0).enumerate() {
            out.push(if at == 0 { '{' } else { ',' });
            out.push_str(name);
            out.push(':');
            write(*value, out);
        }
        out.push_str(if names.is_empty() { "{}" } else { "}" });
    }
}

/// A value's canonical bytes. A number beyond what they can hold is taken as it is written.
fn encoded(value: Json<'_>, except: &Exclusions) -> Vec<u8> {
    let mut bytes = Vec::new();
    if canonical::put_json(&mut bytes, value, except).is_err() {
        bytes.clear();
        canonical::put(&mut bytes, b's', value.raw().as_bytes());
    }
    bytes
}

/// Appends a value: without white space, names sorted by their bytes, numbers written out.
pub(super) fn write(value: Json<'_>, out: &mut String) {
    match value.kind() {
        Kind::Null | Kind::True | Kind::False | Kind::Plain => out.push_str(value.raw()),
        Kind::Escaped => out.push_str(&quoted(&value.string().unwrap_or_default())),
        Kind::Number => out.push_str(&number(value.span())),
        Kind::Array => {
            out.push('[');
            for (at, item) in value.items().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Kind::Object => {
            let name = |name: Json<'_>| name.string().unwrap_or_default().into_owned();
            let mut members: Vec<_> = value.members().map(|(of, value)| (name(of), value)).collect();
            members.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
            out.push('{');
            for (at, (name, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&quoted(&name));
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// Appends a value as text: a text's own, nothing for null, JSON for lists and objects.
pub(super) fn write_text(value: Json<'_>, out: &mut String) {
    match value.kind() {
        Kind::Null => {}
        Kind::Plain | Kind::Escaped => out.push_str(&value.string().unwrap_or_default()),
        _ => write(value, out),
    }
}

/// A number's one spelling: `1.50`, `1.5` and `15e-1` are 1.5.
fn number(lexeme: &str) -> String {
    match Decimal::parse(lexeme) {
        Some(number)
            if number.exponent.abs() <= MOST_WRITTEN_OUT
                && number.digits.len() <= 2 * MOST_WRITTEN_OUT as usize =>
        {
            number.to_plain()
        }
        _ => lexeme.to_owned(),
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    // A text always serialises.
    serde_json::to_string(text).unwrap_or_default()
}
