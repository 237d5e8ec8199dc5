//! What points at rows that go: how many rows of which tables, what is in their way; and rows as they are shown.

use landonce_store::repair::{Group, Known, Moved, Repair};

use super::Options;
use super::report::{Cell, ClashingRows, ReferenceReport, Report, ShownGroup};
use crate::error::Error;

/// What one reference's rows have to do, and what is in their way.
pub(super) async fn reference<C: Repair>(
    connection: &mut C,
    known: &Known,
    key: &[String],
    options: &Options,
    at: usize,
    report: &mut Report,
) -> Result<Moved, Error> {
    let reference = &known.references[at];
    let moved = connection.move_reference(known, at).await?;
    let (clashes, first) = if moved.rows > 0 {
        connection.collisions(known, at, options.examples).await?
    } else {
        (0, Vec::new())
    };
    let of = format!("{} ({})", reference.table, reference.name);
    if moved.lost > 0 {
        report.refusals.push(format!(
            "{of}: {} rows point at a value that is NULL in the row that stays; fill it there first",
            moved.lost
        ));
    }
    if clashes > 0 {
        report.refusals.push(format!(
            "{of}: {clashes} groups of rows would be equal under a unique index once they point at the row that stays; repair \
             {} first, by its own key",
            reference.table
        ));
    }
    if moved.rows > 0 && reference.row_key.is_empty() {
        report.refusals.push(format!(
            "{of}: {} rows are to point elsewhere, and the table has no primary key to tell them by when that is taken back; add one",
            moved.rows
        ));
    }
    let is_in_key = reference.is_own && reference.columns.iter().any(|column| key.contains(column));
    if moved.rows > 0 && is_in_key {
        report.refusals.push(format!(
            "{of}: the key holds a column that points at the same table, so pointing it at the rows that stay would make new copies; \
             repair by the other columns first"
        ));
    }
    report.references.push(ReferenceReport {
        name: reference.name.clone(),
        table: reference.table.to_string(),
        columns: reference.columns.clone(),
        row_key: reference.row_key.clone(),
        rows: moved.rows,
        clashes,
        first_clashes: first
            .into_iter()
            .map(|clash| ClashingRows { index: clash.index, values: clash.values, rows: clash.rows })
            .collect(),
    });
    Ok(moved)
}

pub(super) fn note_triggers(known: &Known, moves: &[(usize, Moved)], report: &mut Report) {
    if !known.triggers.is_empty() {
        report.notes.push(format!(
            "{}: triggers fire for each row that is deleted: {}",
            known.table,
            known.triggers.join(", ")
        ));
    }
    for (at, _) in moves {
        let reference = &known.references[*at];
        if !reference.triggers.is_empty() {
            report.notes.push(format!(
                "{}: triggers fire for each row that is pointed elsewhere, and again when that is taken back: {}",
                reference.table,
                reference.triggers.join(", ")
            ));
        }
    }
    if known.references.is_empty() {
        report.notes.push(format!(
            "no foreign key points at {}; what refers to its rows without one is not known here",
            known.table
        ));
    }
}

pub(super) fn shown(known: &Known, key: &[String], group: Group) -> ShownGroup {
    let cells = |values: Vec<Option<String>>| -> Vec<Cell> {
        let columns = known.columns.iter().map(|column| column.name.clone());
        columns.zip(values).map(|(column, value)| Cell { column, value }).collect()
    };
    let stays = cells(group.kept);
    ShownGroup {
        key: key.iter().filter_map(|name| stays.iter().find(|cell| &cell.column == name).cloned()).collect(),
        goes: group.gone.into_iter().map(cells).collect(),
        stays,
    }
}
