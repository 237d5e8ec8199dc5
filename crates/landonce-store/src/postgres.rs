//! The store on PostgreSQL, 14 and newer.
//!
//! - [`Database`] is a place to connect to, [`Session`] a connection of its own, [`Joined`] a caller's transaction.
//! - `stage.rs` tells a batch's records apart, `write.rs` and `straight.rs` write them, `savepoint.rs` finds the rows
//!   that the server refuses; their SQL comes from `render.rs`, their bytes from `rows.rs` and `wire.rs`.
//! - `catalog.rs` reads the server's catalogue, `migrate.rs` makes tables, `inbox.rs`, `ledger.rs`, `due.rs`, `quarantine.rs` and
//!   `report.rs` keep landonce's own; `derive.rs` computes derived tables, `repair.rs` mends tables that others have
//!   broken.
//!
//! Everything lives inside one transaction: settings are SET LOCAL, tables are ON COMMIT DROP, statements unnamed. So a
//! pooler in transaction mode can stand in between.

mod address;
mod apply;
mod catalog;
mod connect;
mod derive;
mod due;
mod errors;
mod events;
mod facts;
mod held;
mod idle;
mod inbox;
mod joined;
mod ledger;
mod link;
mod migrate;
mod notices;
mod numeric;
mod outbox;
mod position;
mod quarantine;
mod quote;
mod reach;
mod reads;
mod render;
mod repair;
mod report;
mod rows;
mod savepoint;
mod stage;
mod straight;
mod tls;
mod wire;
mod write;

use landonce_core::plan::{TableName, TablePlan, TableShape};
use landonce_core::retry::Phase;
use tokio_postgres::{Client, GenericClient};
use uuid::Uuid;

pub use connect::Database;
pub use events::Way;
pub use joined::Joined;
pub use migrate::{create_target_sql, setup_sql};
pub use reach::Reach;
pub use rows::{CopyRows, MakesRows};

use crate::error::Result;
use crate::held::{Hold, State};
use crate::inbox::{InboxKey, Settled};
use crate::ledger::{Entry, Failure};
use crate::position::{Part, Position, Taken};
use crate::seam::{Access, Connection};
use connect::Options;
use joined::Held;
use link::{Link, Lost};

/// What the catalogue says of a table, on a caller's connection or in its transaction; `None` when there is none of that
/// name.
pub async fn shape(client: &impl GenericClient, table: &TableName) -> Result<Option<TableShape>> {
    Ok(catalog::load(&Link::on(client), table).await?.map(catalog::Catalog::into_shape))
}

/// Makes or upgrades landonce's own tables, on a caller's connection that is in no transaction.
pub async fn migrate(client: &Client) -> Result<()> {
    migrate::migrate(&Link::on(client)).await
}

/// A connection to PostgreSQL, with at most one transaction at a time.
pub struct Session {
    client: Client,
    lost: Lost,
    options: Options,
    /// BEGIN was sent and neither COMMIT nor ROLLBACK was answered.
    is_begun: bool,
    /// Every statement since BEGIN has been answered without an error.
    is_sound: bool,
    held: Held,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("is_begun", &self.is_begun).finish_non_exhaustive()
    }
}

impl Session {
    fn new(client: Client, lost: Lost, options: Options) -> Self {
        Self { client, lost, options, is_begun: false, is_sound: false, held: Held::default() }
    }

    /// Begins a transaction, with more settings of its own (`; SET LOCAL …`).
    async fn begin_with(&mut self, access: Access, settings: &str) -> Result<()> {
        let sql = self.beginning(access, settings);
        self.is_begun = true;
        self.link().batch("beginning a transaction", &sql).await
    }

    fn beginning(&mut self, access: Access, settings: &str) -> String {
        self.held = Held::new(access);
        self.is_sound = false;
        // Whoever let go of a verb half way has left a transaction open.
        let mut sql = if self.is_begun { "ROLLBACK; ".to_owned() } else { String::new() };
        sql.push_str("BEGIN ISOLATION LEVEL READ COMMITTED");
        if access == Access::Write {
            sql.push_str(&self.options.set_local());
        }
        sql.push_str(settings);
        sql
    }

    fn link(&self) -> Link<'_> {
        Link { client: &self.client, lost: self.lost.clone() }
    }

    /// Whether the connection is gone; a new one is needed then.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

impl Connection for Session {
    type Work<'c> = Joined<'c>;

    async fn look_up(&mut self, key: &InboxKey) -> Result<Option<Settled>> {
        inbox::look_up(&self.link(), key).await
    }

    async fn period(&mut self, pipeline: &str, label: &str) -> Result<Option<Entry>> {
        ledger::period(&self.link(), pipeline, label).await
    }

    async fn periods(&mut self, pipeline: &str, from: i64, to: i64) -> Result<Vec<Entry>> {
        ledger::periods(&self.link(), pipeline, from, to).await
    }

    async fn fail_period(&mut self, failure: &Failure<'_>) -> Result<()> {
        self.begin(Access::Write).await?;
        let noted = ledger::fail(&self.link(), failure).await;
        match noted {
            Ok(()) => self.commit().await,
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn is_there(&mut self, table: &TableName) -> Result<bool> {
        let name = quote::table(table)?;
        let sql = "SELECT to_regclass($1) IS NOT NULL";
        let row = self
            .link()
            .one("looking for the target", sql, &[(&name, tokio_postgres::types::Type::TEXT)])
            .await?;
        Ok(row.get(0))
    }

    async fn has_rows(&mut self, table: &TableName) -> Result<bool> {
        if !self.is_there(table).await? {
            return Ok(false);
        }
        let sql = format!("SELECT EXISTS (SELECT FROM {})", quote::table(table)?);
        Ok(self.link().one("looking for rows in the target", &sql, &[]).await?.get(0))
    }

    async fn shape(&mut self, table: &TableName) -> Result<Option<TableShape>> {
        Ok(catalog::load(&self.link(), table).await?.map(catalog::Catalog::into_shape))
    }

    async fn migrate(&mut self) -> Result<()> {
        migrate::migrate(&self.link()).await
    }

    async fn remake(&mut self) -> Result<()> {
        migrate::remake(&self.link()).await
    }

    async fn create_target(&mut self, plan: &TablePlan) -> Result<()> {
        migrate::create_target(&self.link(), plan).await
    }

    async fn create_history(&mut self, plan: &TablePlan) -> Result<()> {
        migrate::create_history(&self.link(), plan).await
    }

    async fn hold(&mut self, hold: &Hold, payload: &mut (dyn std::io::Read + Send)) -> Result<State> {
        self.begin(Access::Write).await?;
        match held::hold(&self.link(), hold, payload).await {
            Ok(state) => self.commit().await.map(|()| state),
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn decide(&mut self, key: &InboxKey, state: State, run_id: Uuid) -> Result<bool> {
        self.begin(Access::Write).await?;
        match held::decide(&self.link(), key, state, run_id).await {
            Ok(is_decided) => self.commit().await.map(|()| is_decided),
            Err(error) => {
                self.rollback().await;
                Err(error)
            }
        }
    }

    async fn held_as(&mut self, key: &InboxKey) -> Result<Option<State>> {
        held::state(&self.link(), key).await
    }

    async fn earlier(&mut self, pipeline: &str, most: usize) -> Result<Vec<Settled>> {
        held::earlier(&self.link(), pipeline, most).await
    }

    async fn take_part(&mut self, part: &Part, owner: &str) -> Result<Taken> {
        position::take(&self.link(), part, owner).await
    }

    async fn put_position(&mut self, part: &Part, next: Option<&str>, owner: &str) -> Result<()> {
        position::put(&self.link(), part, next, owner).await
    }

    async fn positions(&mut self, pipeline: Option<&str>) -> Result<Vec<Position>> {
        position::list(&self.link(), pipeline).await
    }

    async fn begin(&mut self, access: Access) -> Result<()> {
        self.begin_with(access, "").await
    }

    fn work(&mut self) -> Joined<'_> {
        // What becomes of its verbs isn't seen here.
        self.is_sound = false;
        Joined::lent(Link { client: &self.client, lost: self.lost.clone() }, &mut self.held)
    }

    async fn commit(&mut self) -> Result<()> {
        // Statements are closed on the server connection that has them, before a pooler takes it away.
        self.held = Held::default();
        // COMMIT of a transaction that has failed is answered with ROLLBACK and without an error: a statement before it, in
        // the same message, fails there, and then COMMIT isn't looked at.
        let sql = if self.is_sound { "COMMIT" } else { "SELECT 1; COMMIT" };
        let committed = self.client.batch_execute(sql).await;
        let doing = "committing";
        match committed {
            Ok(()) => {
                self.is_begun = false;
                Ok(())
            }
            Err(error) => {
                let phase = errors::commit_phase(&error);
                if phase == Phase::CommitRefused {
                    self.rollback().await;
                }
                Err(errors::failed(&error, &self.lost, doing).in_phase(phase))
            }
        }
    }

    async fn rollback(&mut self) {
        self.held = Held::default();
        if self.client.batch_execute("ROLLBACK").await.is_ok() {
            self.is_begun = false;
        }
    }
}
