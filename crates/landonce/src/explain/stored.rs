//! What a record becomes in each column, as text.

use landonce_core::column::Type;
use landonce_core::pipeline::Pipeline as Declared;
use landonce_core::plan::{From, Guard, KeyForm, Match, TablePlan};
use landonce_core::record::Row;
use landonce_core::time;
use landonce_core::value::Value;
use serde::Serialize;

/// A column and what it takes of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// The column.
    pub column: String,
    /// The field; `None` for columns that landonce fills and for the rest.
    pub field: Option<String>,
    /// The type, as a pipeline spells it.
    #[serde(rename = "type")]
    pub ty: String,
    /// The value as text; `None` is NULL. Bytes and geometries (EWKB) are in hex.
    pub value: Option<String>,
}

pub(super) fn columns(declared: &Declared, plan: &TablePlan, row: &Row<'_>) -> Vec<Stored> {
    let managed = |column: &str, ty: &str, value: Value<'_>| Stored {
        column: column.to_owned(),
        field: None,
        ty: ty.to_owned(),
        value: text(&value),
    };
    let mut all = Vec::new();
    if let (Match::Key { column, form }, Some(key)) = (&plan.matching, row.key) {
        let ty = match form {
            KeyForm::Uuid => "uuid",
            KeyForm::Bytes => "bytes",
            KeyForm::Hex => "text",
        };
        all.push(managed(column, ty, key.to_value(*form)));
    }
    if let (Guard::Digest { column }, Some(digest)) = (&plan.guard, row.digest) {
        all.push(managed(column, "bytes", Value::Bytes(digest.to_vec().into())));
    }
    for (column, value) in plan.columns.iter().zip(&row.values) {
        let is_declared = declared.target().columns.iter().any(|declared| declared.name == column.name);
        all.push(Stored {
            column: column.name.clone(),
            field: match &column.from {
                From::Field(field) => Some(field.clone()),
                From::Rest => None,
            },
            ty: match &column.ty {
                // A scalar is stored as its text; nobody can declare the type, so nobody should read its name.
                Type::Scalar if !is_declared => Type::TEXT.to_string(),
                ty => ty.to_string(),
            },
            value: text(value),
        });
    }
    all
}

/// A value as text; `None` is NULL.
pub(crate) fn text(value: &Value<'_>) -> Option<String> {
    let written = |write: &dyn Fn(&mut String)| {
        let mut out = String::new();
        write(&mut out);
        out
    };
    Some(match value {
        Value::Null => return None,
        Value::Text(text) | Value::Json(text) => text.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Decimal(number) => number.to_plain(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        Value::Date(days) => written(&|out| time::write_date(*days, out)),
        Value::Timestamptz(micros) => written(&|out| time::write_timestamptz(*micros, out)),
        Value::Timestamp(micros) => written(&|out| time::write_timestamp(*micros, out)),
        Value::Uuid(bytes) => uuid::Uuid::from_bytes(*bytes).to_string(),
        Value::Bytes(bytes) | Value::Geometry(bytes) => hex::encode(bytes),
        Value::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| text(item).unwrap_or_else(|| "NULL".to_owned())).collect();
            format!("[{}]", items.join(", "))
        }
    })
}
