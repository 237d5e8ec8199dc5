//! What the catalogue adds to a plan: wire forms, comparisons, and what the target takes.
//!
//! The plan was made from the catalogue, but may be older than the table: what is gone meanwhile is told here, before
//! anything is sent.

use landonce_core::column::Type;
use landonce_core::plan::{KeyForm, Match, StageColumn, TableName, TablePlan};
use tokio_postgres::types::Type as Pg;

use super::catalog::{self, Catalog, Column, Compare};
use super::link::Link;
use super::render::{Fact, Facts, ROWS};
use super::rows::Layout;
use super::wire::Wire;
use crate::error::{Error, Result};

/// Of a table that is there.
pub(super) fn of(plan: &TablePlan, catalog: &Catalog) -> Result<Facts> {
    let column = |name: &str| {
        catalog.column(name).ok_or_else(|| {
            Error::refused(format!("table {} has no column `{name}` any more; plan again", plan.table))
        })
    };
    let wire = |column: &Column| {
        column.wire.clone().ok_or_else(|| {
            Error::refused(format!(
                "landonce doesn't write columns of type {} (`{}` of {})",
                column.shape.sql_type, column.shape.name, plan.table
            ))
        })
    };
    let columns = plan
        .columns
        .iter()
        .map(|planned| {
            let found = column(&planned.name)?;
            let wire = wire(found)?;
            let staged_as = match found.fraction {
                Some(_) => Some(unrounded(&wire)),
                None => found.base_type.clone(),
            };
            let must_fit =
                found.fraction.map(|_| found.base_type.as_ref().unwrap_or(&found.shape.sql_type).clone());
            Ok(Fact { wire, compare: found.compare.clone(), staged_as, must_fit })
        })
        .collect::<Result<_>>()?;
    let key = match &plan.matching {
        Match::Key { column: name, .. } => wire(column(name)?)?,
        Match::Columns(_) => Wire::Text,
    };
    let filled = |name: &Option<String>| name.as_deref().map(|name| wire(column(name)?)).transpose();
    Ok(Facts {
        relation: Some(catalog.relation),
        takes_copy: catalog.takes_copy,
        columns,
        key,
        run_id: filled(&plan.run_id)?,
        revision: filled(&plan.revision)?,
    })
}

/// Of a table that isn't there yet, as landonce would make it.
pub(super) fn made(plan: &TablePlan) -> Facts {
    let fact = |ty: &Type| {
        let compare = match ty {
            Type::Geometry { .. } => Compare::Geometry { schema: "public".to_owned() },
            _ => Compare::Plain,
        };
        Fact { wire: made_wire(ty), compare, staged_as: None, must_fit: None }
    };
    Facts {
        relation: None,
        takes_copy: false,
        columns: plan.columns.iter().map(|column| fact(&column.ty)).collect(),
        key: match plan.matching {
            Match::Key { form: KeyForm::Uuid, .. } => Wire::Uuid,
            Match::Key { form: KeyForm::Bytes, .. } => Wire::Bytes,
            Match::Key { form: KeyForm::Hex, .. } | Match::Columns(_) => Wire::Text,
        },
        run_id: plan.run_id.is_some().then_some(Wire::Uuid),
        revision: plan.revision.is_some().then_some(Wire::Int8),
    }
}

/// The rest about a table that isn't there yet, from the temporary one that was made in its likeness: only the server
/// knows the types that others have made.
pub(super) async fn complete(plan: &TablePlan, facts: &mut Facts, link: &Link<'_>) -> Result<()> {
    let (schema, name) = ROWS.split_once('.').unwrap_or(("pg_temp", ROWS));
    let table = TableName { schema: Some(schema.to_owned()), name: name.to_owned() };
    let Some(catalog) = catalog::load(link, &table).await? else { return Ok(()) };
    for (at, fact) in facts.columns.iter_mut().enumerate().take(plan.columns.len()) {
        if let Some(Column { wire: Some(wire), compare, .. }) = catalog.column(&format!("c{at}")) {
            fact.wire = wire.clone();
            fact.compare = compare.clone();
        }
    }
    Ok(())
}

/// What makes rows of these columns.
pub(super) fn layout(facts: &Facts, columns: &[StageColumn]) -> Layout {
    let wire = |at: usize| facts.columns.get(at).map_or(Wire::Text, |fact| fact.wire.clone());
    Layout::new(columns, wire, &facts.key)
}

fn made_wire(ty: &Type) -> Wire {
    match ty {
        Type::Scalar | Type::Text { .. } | Type::Enum { .. } => Wire::Text,
        Type::Integer { bits: 16 } => Wire::Int2,
        Type::Integer { bits: 32 } => Wire::Int4,
        Type::Integer { .. } => Wire::Int8,
        Type::Decimal { .. } => Wire::Numeric,
        Type::Float { bits: 32 } => Wire::Float4,
        Type::Float { .. } => Wire::Float8,
        Type::Boolean => Wire::Boolean,
        Type::Date => Wire::Date,
        Type::Timestamptz => Wire::Timestamptz,
        Type::Timestamp => Wire::Timestamp,
        Type::Uuid => Wire::Uuid,
        Type::Bytes => Wire::Bytes,
        Type::Json => Wire::Jsonb,
        Type::Geometry { .. } => Wire::Geometry,
        Type::Array(item) => Wire::Array { item: Box::new(made_wire(item)), oid: made_oid(item) },
    }
}

/// The oid of a type that landonce gives a column of its own; 0 for those that only the server knows.
fn made_oid(ty: &Type) -> u32 {
    let built_in = match ty {
        Type::Scalar | Type::Text { max: None } => Pg::TEXT,
        Type::Text { max: Some(_) } => Pg::VARCHAR,
        Type::Integer { bits: 16 } => Pg::INT2,
        Type::Integer { bits: 32 } => Pg::INT4,
        Type::Integer { .. } => Pg::INT8,
        Type::Decimal { .. } => Pg::NUMERIC,
        Type::Float { bits: 32 } => Pg::FLOAT4,
        Type::Float { .. } => Pg::FLOAT8,
        Type::Boolean => Pg::BOOL,
        Type::Date => Pg::DATE,
        Type::Timestamptz => Pg::TIMESTAMPTZ,
        Type::Timestamp => Pg::TIMESTAMP,
        Type::Uuid => Pg::UUID,
        Type::Bytes => Pg::BYTEA,
        Type::Json => Pg::JSONB,
        Type::Enum { .. } | Type::Array(_) | Type::Geometry { .. } => return 0,
    };
    built_in.oid()
}

/// The type that keeps every digit where the column's own rounds.
fn unrounded(wire: &Wire) -> String {
    match wire {
        Wire::Timestamp => "timestamp".to_owned(),
        Wire::Timestamptz => "timestamptz".to_owned(),
        Wire::Array { item, .. } => format!("{}[]", unrounded(item)),
        _ => "text".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_columns_have_the_wire_form_of_the_type_they_are_made_with() {
        let items = Type::Array(Box::new(Type::Decimal { limits: Some((10, 2)) }));
        let wire = Wire::Array { item: Box::new(Wire::Numeric), oid: 1700 };
        assert_eq!(made_wire(&items), wire);
        assert_eq!(unrounded(&Wire::Array { item: Box::new(Wire::Timestamp), oid: 1114 }), "timestamp[]");
    }
}
