//! MySQL and MariaDB: they can't copy a database, so a copy is made table by table with SQL, as far as that goes.
//!
//! What a copy lacks is a note: events, and whatever code the user may not read or write. Tables are copied one after the
//! other without locks: a source that is written to meanwhile is copied as of several moments.

mod code;
mod copy;

use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};

use super::names::{Names, PREFIX};
use super::url::Url;
use super::{LAST_PATIENCE, LOOK_EVERY, PATIENCE};
use crate::error::{Error, Result};

/// InnoDB shows its transactions as they were until nobody has looked for a tenth of a second.
const STALE: Duration = Duration::from_millis(120);

/// Parameters of a URL that the driver knows; others are for the command's driver.
const KNOWN: &[&str] =
    &["require_ssl", "verify_ca", "verify_identity", "built_in_roots", "socket", "prefer_socket"];

#[derive(Debug)]
pub(super) struct Source {
    url: Url,
    place: String,
    base: String,
    base_url: String,
    names: Names,
    notes: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Clone {
    /// The server's, with no database.
    server: Url,
    database: String,
    url: String,
    drivers_url: String,
}

impl Source {
    pub(super) async fn open(url: &str) -> Result<Self> {
        let mut url = Url::parse(url)?;
        "mysql".clone_into(&mut url.scheme);
        let Some(database) = url.database.clone() else {
            return Err(Error::new("the MySQL URL names no database: write mysql://user@host/database"));
        };
        let names = Names::new();
        let base = names.base();
        drop_left_over(&url).await?;
        let notes = match copy::copy(&mut connect(&url).await?, &database, &base).await {
            Ok(notes) => notes,
            Err(error) => {
                // What is half made is of no use; the reason is what counts.
                let _ = drop_database(&url, &base).await;
                return Err(error);
            }
        };
        let base_url = url.with_database(&base).to_text();
        Ok(Self { place: url.place(), url, base, base_url, names, notes })
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(super) async fn fresh(&self) -> Result<Clone> {
        settle(&self.url, &self.base).await?;
        let database = self.names.next();
        copy::copy(&mut connect(&self.url).await?, &self.base, &database).await?;
        let url = self.url.with_database(&database);
        Ok(Clone {
            server: self.url.clone(),
            drivers_url: drivers(&url).to_text(),
            url: url.to_text(),
            database,
        })
    }

    pub(super) async fn close(self) -> Result<()> {
        let mut conn = connect(&self.url).await?;
        let names: Vec<String> = conn
            .exec(
                "SELECT schema_name FROM information_schema.schemata WHERE LEFT(schema_name, CHAR_LENGTH(?)) = ?",
                (self.names.prefix(), self.names.prefix()),
            )
            .await
            .map_err(|error| failed("looking for clones", error))?;
        for name in names {
            drop_database(&self.url, &name).await?;
        }
        close(conn).await;
        Ok(())
    }
}

impl Clone {
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The URL without parameters that only the command's driver knows.
    pub(super) fn drivers_url(&self) -> &str {
        &self.drivers_url
    }

    pub(super) async fn settle(&self) -> Result<()> {
        settle(&self.server, &self.database).await
    }

    pub(super) async fn is_blocked(&self) -> Result<bool> {
        tokio::time::sleep(STALE).await;
        let mut conn = connect(&self.server).await?;
        let waiting: Option<i64> = conn
            .exec_first(
                "SELECT COUNT(*) FROM information_schema.processlist process \
                 LEFT JOIN information_schema.innodb_trx trx ON trx.trx_mysql_thread_id = process.id \
                 WHERE process.db = ? AND (trx.trx_state = 'LOCK WAIT' OR process.state LIKE 'Waiting for%lock' \
                 OR process.state = 'User lock')",
                (&self.database,),
            )
            .await
            .map_err(|error| failed("looking for locks", error))?;
        close(conn).await;
        Ok(waiting.unwrap_or(0) > 0)
    }

    pub(super) async fn discard(self) -> Result<()> {
        drop_database(&self.server, &self.database).await
    }
}

async fn settle(server: &Url, database: &str) -> Result<()> {
    let mut conn = connect(server).await?;
    let started = Instant::now();
    let mut next_push = PATIENCE;
    loop {
        let sessions: Vec<u64> = conn
            .exec(
                "SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID() \
                 AND command <> 'Daemon'",
                (database,),
            )
            .await
            .map_err(|error| failed("looking for sessions", error))?;
        if sessions.is_empty() {
            close(conn).await;
            return Ok(());
        }
        if started.elapsed() > LAST_PATIENCE {
            return Err(Error::new(format!(
                "{} sessions of {database} don't end, though killed",
                sessions.len()
            )));
        }
        if started.elapsed() > next_push {
            next_push = started.elapsed() + PATIENCE;
            for id in sessions {
                // One that has gone meanwhile can't be killed, and needn't.
                let _ = conn.query_drop(format!("KILL {id}")).await;
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn drop_database(server: &Url, database: &str) -> Result<()> {
    let mut conn = connect(server).await?;
    let sessions: Vec<u64> = conn
        .exec(
            "SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID()",
            (database,),
        )
        .await
        .map_err(|error| failed("looking for sessions", error))?;
    for id in sessions {
        let _ = conn.query_drop(format!("KILL {id}")).await;
    }
    // A transaction that a run has left prepared (XA) keeps its locks, and can't be told from others'.
    let dropped = conn
        .query_drop(format!("SET lock_wait_timeout = 30; DROP DATABASE IF EXISTS {}", identifier(database)))
        .await;
    close(conn).await;
    dropped.map_err(|error| failed(&format!("dropping {database}"), error))
}

/// Drops what a killed proof has left: its databases have no dates, but their tables do. Without tables it stays.
async fn drop_left_over(server: &Url) -> Result<()> {
    let mut conn = connect(server).await?;
    let names: Vec<String> = conn
        .exec(
            "SELECT table_schema FROM information_schema.tables WHERE LEFT(table_schema, CHAR_LENGTH(?)) = ? \
             AND table_schema NOT IN (SELECT db FROM information_schema.processlist WHERE db IS NOT NULL) \
             GROUP BY table_schema HAVING MAX(create_time) < NOW() - INTERVAL 1 DAY",
            (PREFIX, PREFIX),
        )
        .await
        .map_err(|error| failed("looking for what earlier proofs have left", error))?;
    close(conn).await;
    for name in names {
        // Another proof may be quicker.
        let _ = drop_database(server, &name).await;
    }
    Ok(())
}

/// Connects to the server, and to the URL's database.
async fn connect(url: &Url) -> Result<Conn> {
    let unreached = |error: mysql_async::Error| {
        let said = error.to_string();
        Error::because(format!("cannot connect to MySQL at {}: {said}", url.place()), error)
    };
    let opts = Opts::from_url(&drivers(url).to_text()).map_err(|error| unreached(error.into()))?;
    let opts = OptsBuilder::from_opts(opts).prefer_socket(false);
    let connected = tokio::time::timeout(PATIENCE, Conn::new(opts)).await;
    let mut conn = match connected {
        Ok(conn) => conn.map_err(unreached)?,
        Err(_) => return Err(Error::new(format!("cannot connect to MySQL at {}: no answer", url.place()))),
    };
    conn.query_drop("SET NAMES utf8mb4").await.map_err(unreached)?;
    Ok(conn)
}

fn drivers(url: &Url) -> Url {
    let query = url.query.iter().filter(|(name, _)| KNOWN.contains(&name.as_str())).cloned().collect();
    Url { query, ..url.clone() }
}

/// Says good-bye, so that the server needn't find out.
async fn close(conn: Conn) {
    // One that is gone is closed.
    let _ = conn.disconnect().await;
}

fn failed(what: &str, error: mysql_async::Error) -> Error {
    let said = match &error {
        mysql_async::Error::Server(said) => said.message.clone(),
        other => other.to_string(),
    };
    Error::because(format!("{what}: {said}"), error)
}

fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
