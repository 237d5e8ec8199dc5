//! SQLite's other kind of generated key: an INTEGER PRIMARY KEY that no INSERT gives a value to.

use std::collections::BTreeMap;

use sqlparser::ast::{Statement as Tree, TableObject};

use super::{Column, Schema};
use crate::code::Unit;
use crate::sql::expr;

/// Marks keys of the type INTEGER as generated where every INSERT leaves them out: any other database would refuse such an
/// INSERT, so this is SQLite's row number.
pub(super) fn mark(schema: &mut Schema, units: &[Unit]) {
    let is_row_number = |column: &Column| {
        column.type_name.eq_ignore_ascii_case("integer") && column.default.is_none() && !column.is_generated
    };
    // The table, and whether some INSERT gives its key.
    let mut inserted: BTreeMap<String, bool> = BTreeMap::new();
    for statement in units.iter().flat_map(Unit::uses).flat_map(|it| &it.statements) {
        let Tree::Insert(insert) = &statement.tree else { continue };
        let TableObject::TableName(name) = &insert.table else { continue };
        let name = expr::name(name);
        let Some(table) = schema.table(&name) else { continue };
        let [key] = table.primary_key.as_slice() else { continue };
        if table.column(key).is_some_and(is_row_number) {
            let is_given = insert.columns.is_empty()
                || insert.columns.iter().any(|column| expr::name(column).eq_ignore_ascii_case(key));
            *inserted.entry(table.name.clone()).or_default() |= is_given;
        }
    }
    for table in schema.tables.values_mut().filter(|table| inserted.get(&table.name) == Some(&false)) {
        let key = table.primary_key.clone();
        for column in table.columns.iter_mut().filter(|column| key.contains(&column.name)) {
            column.is_generated = true;
        }
    }
}
