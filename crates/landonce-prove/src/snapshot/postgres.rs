//! Reads a PostgreSQL database whole, in one transaction that writes nothing: COPY's own lines are the snapshot's.
//!
//! What there is comes from `catalog`.

mod catalog;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use futures_util::StreamExt;
use tokio_postgres::{Client, Transaction};

use self::catalog::{Relation, SequenceState};
use super::name;
use super::row::Writer;
use super::{Column, Snapshot, Table};
use crate::error::{Error, Result};
use crate::wire::dial;

/// Makes text exact and the same in every session, and the order of rows the same while nothing is written.
const SETTINGS: &str = "SET LOCAL search_path = pg_catalog; SET LOCAL extra_float_digits = 3; \
    SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL intervalstyle = 'postgres'; SET LOCAL timezone = 'UTC'; \
    SET LOCAL bytea_output = 'hex'; SET LOCAL lc_monetary = 'C'; SET LOCAL xmloption = 'content'; \
    SET LOCAL quote_all_identifiers = off; SET LOCAL row_security = off; SET LOCAL statement_timeout = 0; \
    SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '30s'; \
    SET LOCAL synchronize_seqscans = off; SET LOCAL max_parallel_workers_per_gather = 0";

/// So many sequences are asked for their state at a time.
const SEQUENCES_AT_ONCE: usize = 200;

/// Connects and reads everything into files in this folder, which exists and is empty.
///
/// Fails when it can't connect, when a table can't be read (the message names it), and when the disk is full.
pub async fn read(url: &str, folder: &Path) -> Result<Snapshot> {
    read_from(&mut dial::connect(url).await?, folder).await
}

/// Moves every sequence of a clone on by so many steps; one that would be near its end then stays where it is. Done in one of the two clones of a calibration,
/// before its run, it makes everything vary that comes from a sequence: also what holds such an id without a foreign key.
pub async fn advance_sequences(url: &str, steps: u32) -> Result<()> {
    advance_sequences_of(&mut dial::connect(url).await?, steps).await
}

/// The same over a connection that is there and in no transaction.
pub async fn advance_sequences_of(client: &mut Client, steps: u32) -> Result<()> {
    let failed = |error| Error::because("moving the sequences on failed", error);
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute("SET LOCAL search_path = pg_catalog").await.map_err(failed)?;
    for sequence in catalog::read_sequences(&transaction).await.map_err(failed)? {
        let name = format!("{}.{}", name::quote(&sequence.schema), name::quote(&sequence.name));
        let statement = format!(
            "SELECT setval(s.seqrelid::regclass, (q.last_value + s.seqincrement * $1::int8)::int8, q.is_called)
             FROM pg_sequence s, {name} q
             WHERE s.seqrelid = $2
               AND q.last_value + 2 * s.seqincrement::numeric * $1::int8 BETWEEN s.seqmin AND s.seqmax"
        );
        transaction.query(&statement, &[&i64::from(steps), &sequence.oid]).await.map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

/// The same over a connection that is there and in no transaction.
pub async fn read_from(client: &mut Client, folder: &Path) -> Result<Snapshot> {
    let failed = |error| Error::because("reading the database's catalogue failed", error);
    let transaction = client
        .build_transaction()
        .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await
        .map_err(failed)?;
    transaction.batch_execute(SETTINGS).await.map_err(failed)?;
    let catalog = catalog::read(&transaction).await.map_err(failed)?;
    let states = sequences(&transaction, &catalog.sequences).await?;

    let mut tables = BTreeMap::new();
    for (number, relation) in catalog.relations.into_iter().enumerate() {
        let name = name::join([relation.schema.as_str(), relation.name.as_str()]);
        let (file, rows) = rows(&transaction, &relation, &name, Writer::create(folder, number)?).await?;
        tables.insert(name, table(relation, &states, file, rows));
    }
    transaction.rollback().await.map_err(failed)?;
    Ok(Snapshot {
        tables,
        sequences: states.into_values().map(|state| (state.name.clone(), state.to_string())).collect(),
        prepared: catalog.prepared,
        objects: catalog.objects,
    })
}

/// Streams a table into its file.
async fn rows(
    transaction: &Transaction<'_>,
    relation: &Relation,
    name: &str,
    mut writer: Writer,
) -> Result<(std::path::PathBuf, u64)> {
    let failed = |error| Error::because(format!("reading the rows of {name} failed"), error);
    if relation.is_readable {
        let stream = transaction.copy_out(&statement(relation)).await.map_err(failed)?;
        let mut stream = std::pin::pin!(stream);
        while let Some(lines) = stream.next().await {
            writer.lines(&lines.map_err(failed)?)?;
        }
    }
    writer.finish()
}

fn statement(relation: &Relation) -> String {
    let version = match relation.kind {
        catalog::Kind::Table => "ctid::text || ':' || xmin::text",
        catalog::Kind::Partitioned => "tableoid::text || ':' || ctid::text || ':' || xmin::text",
        // A refresh writes all rows anew.
        catalog::Kind::View => "''",
    };
    let columns: String =
        relation.columns.iter().map(|column| format!(", {}", name::quote(&column.name))).collect();
    // Tables that inherit are tables of their own; partitions are not.
    let only = if relation.kind == catalog::Kind::Table { "ONLY " } else { "" };
    format!(
        "COPY (SELECT {version}{columns} FROM {only}{}.{} {}) TO STDOUT",
        name::quote(&relation.schema),
        name::quote(&relation.name),
        relation.condition
    )
}

fn table(
    relation: Relation,
    states: &HashMap<u32, SequenceState>,
    file: std::path::PathBuf,
    rows: u64,
) -> Table {
    let columns = relation
        .columns
        .into_iter()
        .map(|column| {
            // Rows, and a sequence that was never used: whoever wrote them brought the numbers along.
            let is_supplied = rows > 0
                && column.sequence.and_then(|oid| states.get(&oid)).is_some_and(SequenceState::is_unused);
            Column {
                is_generated: column.is_generated && !is_supplied,
                name: column.name,
                type_name: column.type_name,
                default: column.default,
                references: column.references,
            }
        })
        .collect();
    Table {
        columns,
        rows,
        key: relation.key,
        unique: relation.unique,
        incarnation: relation.oid.to_string(),
        file,
    }
}

/// Where each sequence stands: read from itself, as the catalogue's view hides whether its value has been used.
async fn sequences(
    transaction: &Transaction<'_>,
    sequences: &[catalog::Sequence],
) -> Result<HashMap<u32, SequenceState>> {
    let mut states = HashMap::new();
    for some in sequences.chunks(SEQUENCES_AT_ONCE) {
        let queries: Vec<String> = some
            .iter()
            .map(|it| {
                let (schema, name) = (name::quote(&it.schema), name::quote(&it.name));
                format!("SELECT {}::oid, last_value, is_called FROM {schema}.{name}", it.oid)
            })
            .collect();
        let rows = transaction
            .query(&queries.join(" UNION ALL "), &[])
            .await
            .map_err(|error| Error::because("reading the sequences failed", error))?;
        for row in rows {
            let oid: u32 = row.get(0);
            if let Some(sequence) = some.iter().find(|it| it.oid == oid) {
                let state = SequenceState {
                    name: name::join([sequence.schema.as_str(), sequence.name.as_str()]),
                    last: row.get(1),
                    is_called: row.get(2),
                    start: sequence.start,
                };
                states.insert(oid, state);
            }
        }
    }
    Ok(states)
}
