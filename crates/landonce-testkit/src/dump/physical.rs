//! Row versions: what shows that a re-run wrote nothing at all (X2), where equal values can't.

use tokio_postgres::Client;

/// One version of a row, as it lies in the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PhysicalRow {
    /// Where it lies: `(page,item)`. Another place is another version, even with equal values.
    pub ctid: String,
    /// The transaction that wrote it.
    pub xmin: String,
    /// The last transaction that locked it (or tried to change it), `0` for none. A row lock shows here and nowhere else.
    pub xmax: String,
    /// Its values, as the text of the whole row.
    pub row: String,
}

/// The row versions that a new transaction sees in a table (its name as SQL: `duty_event`, `landonce.inbox`), by place.
///
/// # Panics
///
/// When the table can't be read.
pub async fn physical(client: &Client, table: &str) -> Vec<PhysicalRow> {
    let mut rows: Vec<PhysicalRow> = client
        .query(
            &format!("SELECT t.ctid::text, t.xmin::text, t.xmax::text, (t.*)::text FROM {table} AS t"),
            &[],
        )
        .await
        .unwrap_or_else(|error| panic!("reading the row versions of {table}: {error:?}"))
        .into_iter()
        .map(|row| PhysicalRow { ctid: row.get(0), xmin: row.get(1), xmax: row.get(2), row: row.get(3) })
        .collect();
    rows.sort_unstable();
    rows
}
