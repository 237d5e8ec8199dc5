//! The store on SQLite, bundled: the default.
//!
//! - [`Database`] is a file to connect to, [`Session`] a connection of its own, [`Joined`] a caller's transaction.
//! - `stage.rs` tells a batch's records apart, `fold.rs` decides between those of one identity, `sameness.rs` finds equal content, `write.rs` writes; their
//!   SQL comes from `render.rs`, their values from `rows.rs`, and what SQL can't compare from `functions.rs`.
//! - `catalog.rs` reads the catalogue, `migrate.rs` makes tables, `inbox.rs`, `ledger.rs`, `due.rs`, `quarantine.rs` and
//!   `report.rs` keep landonce's own; `derive.rs` computes derived tables, `repair.rs` mends tables that others have
//!   broken.
//!
//! The seam is async and SQLite isn't: the verbs block, and their futures are ready at once. Whoever calls them does so on
//! a thread that may block.

mod apply;
mod catalog;
mod connect;
mod derive;
mod due;
mod errors;
mod events;
mod fold;
mod functions;
mod held;
mod inbox;
mod joined;
mod ledger;
mod migrate;
mod notices;
mod outbox;
mod position;
mod quarantine;
mod reads;
mod render;
mod repair;
mod report;
mod rows;
mod sameness;
mod stage;
mod write;

use landonce_core::plan::{TableName, TablePlan, TableShape};
use uuid::Uuid;

pub use connect::Database;
pub use events::Way;
pub use joined::Joined;
pub use migrate::{create_target_sql, migrate, setup_sql};
pub use rows::{BoundRows, MakesRows};

use crate::error::{Error, Result};
use crate::held::{Hold, State};
use crate::inbox::{InboxKey, Settled};
use crate::ledger::{Entry, Failure};
use crate::position::{Part, Position, Taken};
use crate::seam::{Access, Connection};
use errors::during;
use joined::Held;

/// A connection to an SQLite database, with at most one transaction at a time.
pub struct Session {
    connection: rusqlite::Connection,
    database: Database,
    /// The most that may be done with it.
    opened: Access,
    /// How the connection at hand is opened: a session that may write lays that down for a plan.
    current: Access,
    held: Held,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("database", &self.database)
            .field("current", &self.current)
            .finish_non_exhaustive()
    }
}

/// What the catalogue says of a table, on a caller's connection; `None` when there is none of that name.
pub fn shape(connection: &rusqlite::Connection, table: &TableName) -> Result<Option<TableShape>> {
    Ok(catalog::load(connection, table)?.map(catalog::Catalog::into_shape))
}

impl Session {
    fn new(connection: rusqlite::Connection, database: Database, opened: Access) -> Self {
        Self { connection, database, opened, current: opened, held: Held::new(opened) }
    }

    /// Only a connection that is opened read-only is kept from writing by SQLite itself and can fill temporary tables all
    /// the same; `PRAGMA query_only` forbids both.
    fn reopen(&mut self, access: Access) -> Result<()> {
        if access == Access::Write && self.opened == Access::ReadOnly {
            return Err(Error::refused("the database was opened to look only; nothing can be written"));
        }
        if access != self.current {
            self.connection = self.database.connection(access)?;
            self.current = access;
        }
        Ok(())
    }
}

impl Connection for Session {
    type Work<'c> = Joined<'c>;

    async fn look_up(&mut self, key: &InboxKey) -> Result<Option<Settled>> {
        inbox::look_up(&self.connection, key)
    }

    async fn period(&mut self, pipeline: &str, label: &str) -> Result<Option<Entry>> {
        ledger::period(&self.connection, pipeline, label)
    }

    async fn periods(&mut self, pipeline: &str, from: i64, to: i64) -> Result<Vec<Entry>> {
        ledger::periods(&self.connection, pipeline, from, to)
    }

    async fn fail_period(&mut self, failure: &Failure<'_>) -> Result<()> {
        self.begin(Access::Write).await?;
        let noted = ledger::fail(&self.connection, failure);
        match noted {
            Ok(()) => self.commit().await,
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn is_there(&mut self, table: &TableName) -> Result<bool> {
        inbox::is_there(&self.connection, &table.name).map_err(errors::during("looking for the target"))
    }

    async fn has_rows(&mut self, table: &TableName) -> Result<bool> {
        let doing = "looking for rows in the target";
        if !inbox::is_there(&self.connection, &table.name).map_err(errors::during(doing))? {
            return Ok(false);
        }
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {})", render::target(table)?);
        self.connection.query_row(&sql, [], |row| row.get(0)).map_err(errors::during(doing))
    }

    async fn shape(&mut self, table: &TableName) -> Result<Option<TableShape>> {
        shape(&self.connection, table)
    }

    async fn remake(&mut self) -> Result<()> {
        self.reopen(Access::Write)?;
        migrate::remake(&self.connection)
    }

    async fn migrate(&mut self) -> Result<()> {
        self.reopen(Access::Write)?;
        migrate::migrate(&self.connection)
    }

    async fn create_target(&mut self, plan: &TablePlan) -> Result<()> {
        self.reopen(Access::Write)?;
        migrate::create_target(&self.connection, plan)
    }

    async fn create_history(&mut self, plan: &TablePlan) -> Result<()> {
        self.reopen(Access::Write)?;
        migrate::create_history(&self.connection, plan)
    }

    async fn hold(&mut self, hold: &Hold, payload: &mut (dyn std::io::Read + Send)) -> Result<State> {
        self.begin(Access::Write).await?;
        match held::hold(&self.connection, hold, payload) {
            Ok(state) => self.commit().await.map(|()| state),
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn decide(&mut self, key: &InboxKey, state: State, run_id: Uuid) -> Result<bool> {
        self.begin(Access::Write).await?;
        match held::decide(&self.connection, key, state, run_id) {
            Ok(is_decided) => self.commit().await.map(|()| is_decided),
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn held_as(&mut self, key: &InboxKey) -> Result<Option<State>> {
        held::state(&self.connection, key)
    }

    async fn earlier(&mut self, pipeline: &str, most: usize) -> Result<Vec<Settled>> {
        held::earlier(&self.connection, pipeline, most)
    }

    async fn take_part(&mut self, part: &Part, owner: &str) -> Result<Taken> {
        position::take(&self.connection, part, owner)
    }

    async fn put_position(&mut self, part: &Part, next: Option<&str>, owner: &str) -> Result<()> {
        position::put(&self.connection, part, next, owner)
    }

    async fn positions(&mut self, pipeline: Option<&str>) -> Result<Vec<Position>> {
        position::list(&self.connection, pipeline)
    }

    async fn begin(&mut self, access: Access) -> Result<()> {
        if !self.connection.is_autocommit() {
            // Whoever let go of a verb half way has left a transaction open.
            self.rollback().await;
        }
        self.reopen(access)?;
        self.held = Held::new(access);
        // The write lock comes first: a twin waits here, not in mid-batch, where waiting could end in a deadlock.
        let sql = if access == Access::Write { "BEGIN IMMEDIATE" } else { "BEGIN" };
        self.connection.execute_batch(sql).map_err(during("beginning a transaction"))
    }

    fn work(&mut self) -> Joined<'_> {
        Joined::lent(&self.connection, &mut self.held)
    }

    async fn commit(&mut self) -> Result<()> {
        // Temporary tables outlive a COMMIT.
        self.held.close(&self.connection)?;
        let committed = self.connection.execute_batch("COMMIT").map_err(during("committing"));
        committed.map_err(|error| {
            let phase = errors::commit_phase(&error);
            error.in_phase(phase)
        })
    }

    async fn rollback(&mut self) {
        self.held = Held::new(self.current);
        // After some failures SQLite has rolled back by itself, and says so.
        let _ = self.connection.execute_batch("ROLLBACK");
    }
}

#[cfg(test)]
mod tests {
    use landonce_core::plan::{Absent, Guard, KeyForm, Match, WriteMode};

    use super::*;
    use crate::seam::Work as _;

    #[tokio::test]
    async fn a_commit_takes_the_stage_away() {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Database::new(folder.path().join("a.db")).connect().unwrap();
        let plan = TablePlan {
            table: TableName { schema: None, name: "t".to_owned() },
            create: true,
            columns: Vec::new(),
            matching: Match::Key { column: "k".to_owned(), form: KeyForm::Uuid },
            guard: Guard::Digest { column: "d".to_owned() },
            run_id: None,
            revision: None,
            version: None,
            mode: WriteMode::Upsert,
            absent: Absent::Replace,
            unguarded: Vec::new(),
            has_deletes: false,
            scope: None,
            tombstone: None,
            history: None,
            sender_id: false,
        };
        session.create_target(&plan).await.unwrap();
        session.begin(Access::Write).await.unwrap();
        session.work().open_stage(&plan).await.unwrap();
        let staged = |session: &Session| {
            session
                .connection
                .query_row("SELECT count(*) FROM sqlite_temp_schema", [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        assert_eq!(staged(&session), 2);
        session.commit().await.unwrap();
        assert_eq!(staged(&session), 0);
    }
}
