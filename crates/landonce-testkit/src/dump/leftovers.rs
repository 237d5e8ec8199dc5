//! What a run must not leave behind in PostgreSQL once it has ended, well or badly (J5, C46).

use tokio_postgres::Client;

use crate::wait;

/// Everything in the client's database that an ended run should have taken with it, a line each: temporary and stage
/// tables, prepared transactions, locks that other clients hold, and transactions of landonce's that are open and idle.
/// Of a run that is still going its stage and its locks show too.
///
/// # Panics
///
/// When the catalogue can't be read.
pub async fn leftovers(client: &Client) -> Vec<String> {
    client
        .query(
            "SELECT 'temporary table ' || c.oid::regclass
             FROM pg_class c WHERE c.relpersistence = 't' AND c.relkind IN ('r', 'p', 'S', 'v')
             UNION ALL
             SELECT 'stage table ' || c.oid::regclass
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relpersistence <> 't' AND c.relkind IN ('r', 'p') AND c.relname ~ '(^|_)stage(d)?(_|[0-9]|$)'
               AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
             UNION ALL
             SELECT 'prepared transaction ' || gid FROM pg_prepared_xacts WHERE database = current_database()
             UNION ALL
             SELECT DISTINCT format('lock %s %s held by %s (%s, %s)', l.mode,
                           coalesce(l.relation::regclass::text, l.locktype), l.pid, s.application_name, s.state)
             FROM pg_locks l JOIN pg_stat_activity s ON s.pid = l.pid
             WHERE s.datname = current_database() AND s.backend_type = 'client backend'
               AND l.pid <> pg_backend_pid() AND l.granted AND l.locktype <> 'virtualxid'
             UNION ALL
             SELECT format('session %s (%s) is %s: %s', pid, application_name, state, query)
             FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
               AND application_name LIKE 'landonce%' AND state LIKE 'idle in transaction%'",
            &[],
        )
        .await
        .expect("the catalogue tells what is left")
        .into_iter()
        .map(|row| row.get(0))
        .collect()
}

/// Waits until nothing is left. The server needs a moment to notice that a killed client is gone.
///
/// # Panics
///
/// When something is left after ten seconds, with the list.
pub async fn assert_no_leftovers(client: &Client) {
    let mut last = Vec::new();
    let clean = wait::until_or_none(10, async || {
        last = leftovers(client).await;
        last.is_empty().then_some(())
    })
    .await;
    assert!(clean.is_some(), "left behind in the database:\n{}", last.join("\n"));
}
