//! A server in which databases are made, watched and dropped, by way of a connection to none of them.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Mutex;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::connect::{connect, words};
use crate::database::names::{self, Names, PREFIX};
use crate::database::url::Url;
use crate::database::{LAST_PATIENCE, LOOK_EVERY, PATIENCE};
use crate::error::{Error, Result};

/// The first half of the key of the lock by which a proof is known to be alive; the second is its number.
const LOCK: i32 = 0x6c61_6e64;

#[derive(Debug)]
pub(super) struct Server {
    /// Of the database that we keep a connection to.
    url: Url,
    client: Mutex<Option<Arc<Client>>>,
    /// The proof's number.
    number: u32,
}

impl Server {
    /// The server of this URL. We stay out of its database if we may enter another.
    pub(super) async fn of(url: &Url, number: u32) -> Self {
        let elsewhere = url.with_database("postgres");
        match connect(&elsewhere).await {
            Ok(client) => {
                hold(&client, number).await;
                Self { url: elsewhere, client: Mutex::new(Some(Arc::new(client))), number }
            }
            Err(_) => Self { url: url.clone(), client: Mutex::new(None), number },
        }
    }

    /// Our connection, made anew if it is gone.
    pub(super) async fn client(&self) -> Result<Arc<Client>> {
        let mut kept = self.client.lock().await;
        if let Some(client) = kept.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(connect(&self.url).await?);
        hold(&client, self.number).await;
        *kept = Some(Arc::clone(&client));
        Ok(client)
    }

    /// Connects to one of its databases.
    pub(super) async fn connect_to(&self, database: &str) -> Result<Client> {
        connect(&self.url.with_database(database)).await
    }

    /// Makes a database and dates it. `how` is what follows its name in CREATE DATABASE.
    pub(super) async fn create(&self, name: &str, how: &str) -> Result<(), Creating> {
        let client = self.client().await.map_err(Creating::Failed)?;
        let created = client.batch_execute(&format!("CREATE DATABASE {} {how}", identifier(name))).await;
        created.map_err(|error| {
            let said = words(&error);
            let failed = Error::because(format!("cannot create the database {name}: {said}"), error);
            match failed_with(&failed) {
                Some(SqlState::OBJECT_IN_USE) => Creating::InUse(failed),
                Some(SqlState::INSUFFICIENT_PRIVILEGE) => Creating::NotAllowed(failed),
                _ => Creating::Failed(failed),
            }
        })?;
        let comment = literal(&names::comment(self.is_held(&client).await));
        let commented =
            client.batch_execute(&format!("COMMENT ON DATABASE {} IS {comment}", identifier(name))).await;
        commented.map_err(|error| Creating::Failed(failed("dating a database", error)))
    }

    /// Whether this session has the proof's lock: behind a pooler it may have gone to another.
    async fn is_held(&self, client: &Client) -> bool {
        let held = client
            .query_one(
                "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() \
                 AND classid = $1::int::oid AND objid = $2::bigint::oid)",
                &[&LOCK, &i64::from(self.number)],
            )
            .await;
        held.is_ok_and(|row| row.get(0))
    }

    /// Makes a copy of a database that nobody should be using; waits for those who do, then ends their sessions.
    pub(super) async fn copy(&self, from: &str, to: &str) -> Result<()> {
        let how = format!("TEMPLATE {}", identifier(from));
        for _ in 0..3 {
            self.settle(from).await?;
            match self.create(to, &how).await {
                Ok(()) => return Ok(()),
                Err(Creating::InUse(_)) => {}
                Err(Creating::NotAllowed(error) | Creating::Failed(error)) => return Err(error),
            }
        }
        Err(Error::new(format!(
            "cannot clone {from}: something keeps connecting to it; is the command of `--setup` still running?"
        )))
    }

    /// Waits until nobody is connected to a database; ends the sessions that don't end by themselves.
    pub(super) async fn settle(&self, database: &str) -> Result<()> {
        let client = self.client().await?;
        let started = Instant::now();
        let mut next_push = PATIENCE;
        loop {
            // Autovacuum has no user. Whoever asks isn't counted: we may be in the database ourselves.
            let sessions = client
                .query(
                    "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND usesysid IS NOT NULL \
                     AND pid <> pg_backend_pid()",
                    &[&database],
                )
                .await
                .map_err(|error| failed("looking for sessions", error))?;
            if sessions.is_empty() {
                return Ok(());
            }
            if started.elapsed() > LAST_PATIENCE {
                return Err(Error::new(format!(
                    "{} sessions of {database} don't end, though the server was told to end them",
                    sessions.len()
                )));
            }
            if started.elapsed() > next_push {
                next_push = started.elapsed() + PATIENCE;
                let pids: Vec<i32> = sessions.iter().map(|row| row.get(0)).collect();
                client
                    .execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid", &[&pids])
                    .await
                    .map_err(|error| failed("ending the sessions that a run has left", error))?;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Whether a session of the database waits for another of it.
    pub(super) async fn is_blocked(&self, database: &str) -> Result<bool> {
        let row = self
            .client()
            .await?
            .query_one(
                "SELECT EXISTS (SELECT FROM pg_stat_activity waiting \
                 CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) blocker (pid) \
                 JOIN pg_stat_activity holding ON holding.pid = blocker.pid \
                 WHERE waiting.datname = $1 AND holding.datname = $1 AND holding.pid <> waiting.pid)",
                &[&database],
            )
            .await
            .map_err(|error| failed("looking for locks", error))?;
        Ok(row.get(0))
    }

    /// Rolls back what is prepared in a database: it would keep its locks, and the database from being dropped.
    pub(super) async fn roll_back_prepared(&self, database: &str) -> Result<()> {
        let client = self.client().await?;
        let prepared = client
            .query("SELECT gid FROM pg_prepared_xacts WHERE database = $1", &[&database])
            .await
            .map_err(|error| failed("looking for prepared transactions", error))?;
        if prepared.is_empty() {
            return Ok(());
        }
        let inside = self.connect_to(database).await?;
        for row in prepared {
            let gid: String = row.get(0);
            match inside.batch_execute(&format!("ROLLBACK PREPARED {}", literal(&gid))).await {
                Err(error) if error.code() != Some(&SqlState::UNDEFINED_OBJECT) => {
                    return Err(failed("rolling back what a run has left prepared", error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Drops a database, whoever uses it.
    pub(super) async fn remove(&self, database: &str) -> Result<()> {
        let client = self.client().await?;
        let sql = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", identifier(database));
        self.roll_back_prepared(database).await?;
        // Who was in the middle of PREPARE TRANSACTION at the first look has done it by the second.
        if client.batch_execute(&sql).await.is_ok() {
            return Ok(());
        }
        self.settle(database).await?;
        self.roll_back_prepared(database).await?;
        client.batch_execute(&sql).await.map_err(|error| failed(&format!("dropping {database}"), error))
    }

    /// Drops every database of one proof.
    pub(super) async fn drop_all(&self, prefix: &str) -> Result<()> {
        let rows = self
            .client()
            .await?
            .query("SELECT datname FROM pg_database WHERE starts_with(datname, $1)", &[&prefix])
            .await
            .map_err(|error| failed("looking for clones", error))?;
        let mut first_error = None;
        for row in rows {
            if let Err(error) = self.remove(row.get(0)).await {
                first_error.get_or_insert(error);
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Drops what a killed proof has left. What can't be dropped is for another to drop.
    pub(super) async fn drop_left_over(&self) -> Result<()> {
        let client = self.client().await?;
        let alive = client
            .query(
                "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = $1::int::oid",
                &[&LOCK],
            )
            .await
            .map_err(|error| failed("looking for other proofs", error))?;
        let alive: Vec<i64> = alive.iter().map(|row| row.get(0)).collect();
        let rows = client
            .query(
                "SELECT datname, shobj_description(oid, 'pg_database') FROM pg_database database \
                 WHERE starts_with(datname, $1) AND pg_has_role(datdba, 'USAGE') \
                 AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE datid = database.oid)",
                &[&PREFIX],
            )
            .await
            .map_err(|error| failed("looking for what earlier proofs have left", error))?;
        for row in rows {
            let (name, comment): (String, Option<String>) = (row.get(0), row.get(1));
            let is_alive = Names::number_of(&name).is_some_and(|number| alive.contains(&i64::from(number)));
            if comment.is_some_and(|comment| names::is_left_over(&comment, is_alive)) {
                // Another proof may be quicker, or the database be someone's by now.
                let _ = self.remove(&name).await;
            }
        }
        Ok(())
    }
}

/// Takes the lock by which others know that this proof is alive. Without it its databases are left alone for a day.
async fn hold(client: &Client, number: u32) {
    let key = number.cast_signed();
    let _ = client.execute("SELECT pg_try_advisory_lock_shared($1, $2)", &[&LOCK, &key]).await;
}

/// Why a database wasn't made.
#[derive(Debug)]
pub(super) enum Creating {
    /// Others are connected to its template.
    InUse(Error),
    /// It isn't ours to copy.
    NotAllowed(Error),
    Failed(Error),
}

fn failed_with(error: &Error) -> Option<SqlState> {
    let source = std::error::Error::source(error)?.downcast_ref::<tokio_postgres::Error>()?;
    source.code().cloned()
}

/// A statement of ours that failed.
pub(super) fn failed(what: &str, error: tokio_postgres::Error) -> Error {
    let said = words(&error);
    Error::because(format!("{what}: {said}"), error)
}

/// A name as SQL.
pub(super) fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL, where no value can be bound.
pub(super) fn literal(text: &str) -> String {
    let quoted = text.replace('\\', "\\\\").replace('\'', "''");
    if text.contains('\\') { format!("E'{quoted}'") } else { format!("'{quoted}'") }
}
