//! A store: a database by its URL. SQLite runs on a blocking thread, the others on the async runtime (`on.rs`); above this file
//! nobody needs to know which.

mod callers;
mod derives;
mod look;
mod on;
mod outbox;
mod positions;
mod reads;
mod repairs;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use landonce_core::pipeline::Pipeline as Declared;
use landonce_core::plan;
use landonce_store::held::{Held, State};
use landonce_store::inbox::{InboxKey, Settled};
use landonce_store::ledger;
use landonce_store::quarantine::Entry;
use landonce_store::reads::Reads as _;
use landonce_store::seam::{Access, Connection};
use landonce_store::{postgres, sqlite};
use uuid::Uuid;

use crate::batch::Batch;
use crate::derive;
use crate::error::{Error, Repr};
use crate::ingest::{self, Connect, Options, Preview, Server};
use crate::pipeline::Pipeline;
use crate::receipt::Receipt;

pub use callers::CallersTransaction;
use on::{ask, on};

/// A database that landonce writes to.
#[derive(Debug, Clone)]
pub struct Store(Backend);

#[derive(Debug, Clone)]
pub(crate) enum Backend {
    Sqlite(sqlite::Database),
    Postgres(postgres::Database),
}

impl Connect for postgres::Database {
    type Connection = postgres::Session;

    async fn connect(&self) -> Result<postgres::Session, landonce_store::Error> {
        self.reuse().await
    }

    async fn open(&self, _: Access) -> Result<postgres::Session, landonce_store::Error> {
        self.connect().await
    }

    fn give_back(&self, connection: postgres::Session) {
        self.give_back(connection);
    }
}

impl Server for postgres::Database {
    fn is_gone(connection: &postgres::Session) -> bool {
        connection.is_closed()
    }
}

impl Connect for sqlite::Database {
    type Connection = sqlite::Session;

    async fn connect(&self) -> Result<sqlite::Session, landonce_store::Error> {
        self.connect()
    }

    async fn open(&self, access: Access) -> Result<sqlite::Session, landonce_store::Error> {
        self.open(access)
    }
}

/// What a store is doing. Boxed where it is made: the code of an `async fn` is compiled anew in every crate that awaits it, and
/// all of the engine hangs on these.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// Runs a future that never waits for the runtime (SQLite's) on a thread that may block.
pub(crate) async fn blocking<T: Send + 'static, F: Future<Output = Result<T, Error>>>(
    make: impl FnOnce() -> F + Send + 'static,
) -> Result<T, Error> {
    let (tell, told) = tokio::sync::oneshot::channel();
    on_a_thread(Box::new(move || {
        Box::pin(async move {
            // Nobody waits any more: what was done is done.
            let _ = tell.send(make().await);
        })
    }))
    .await?;
    told.await.unwrap_or_else(|_| Err(Error::internal("the SQLite thread ended without a word")))
}

/// Work for a thread that may block.
type Work = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// Of one type, whatever is done: the runtime's part of it is then compiled once, not for each verb.
async fn on_a_thread(work: Work) -> Result<(), Error> {
    let runtime = tokio::runtime::Handle::current();
    let task = tokio::task::spawn_blocking(move || runtime.block_on(work()));
    task.await.map_err(|failed| Error::internal(format!("the SQLite thread ended: {failed}")))
}

/// The pipeline with some period, if it needs one: the table is the same for all of them.
pub(crate) fn any_period(pipeline: &Declared) -> Result<Declared, Error> {
    let bound = match pipeline.calendar() {
        Some(calendar) if pipeline.period().is_none() => {
            let any = calendar
                .containing(jiff::Timestamp::UNIX_EPOCH)
                .map_err(|error| Error::declaration(error.to_string()))?;
            pipeline.of(&any)
        }
        _ => Ok(pipeline.clone()),
    };
    bound.map_err(|source| Repr::Pipeline { path: pipeline.name().to_owned(), source }.into())
}

impl Store {
    /// A store from its URL: `sqlite:PATH` (or a path that ends in `.db`, `.sqlite`, `.sqlite3`), `postgres://…`. Nothing is
    /// connected or made yet.
    pub fn open(url: &str) -> Result<Self, Error> {
        let is_path =
            [".db", ".sqlite", ".sqlite3"].iter().any(|end| url.ends_with(end)) && !url.contains("://");
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self(Backend::Postgres(postgres::Database::from_url(url)?)));
        }
        if let Some(path) = url.strip_prefix("sqlite:").or(is_path.then_some(url)) {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(Error::declaration("store: `sqlite:` names no file; write `sqlite:landonce.db`"));
            }
            return Ok(Self(Backend::Sqlite(sqlite::Database::new(path))));
        }
        // Only a scheme is shown: the rest, or a text that isn't a URL at all, may hold a password.
        let scheme = url.split_once(':').map(|(scheme, _)| scheme);
        let shown = scheme
            .filter(|scheme| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        Err(Error::declaration(format!(
            "store: {} is no store; known are sqlite:PATH and postgres://USER@HOST/DATABASE",
            shown.map_or_else(|| "that".to_owned(), |scheme| format!("`{scheme}:`"))
        )))
    }

    /// Where it is, without secrets.
    pub fn place(&self) -> String {
        match &self.0 {
            Backend::Sqlite(database) => format!("sqlite:{}", database.path().display()),
            Backend::Postgres(database) => database.place().to_owned(),
        }
    }

    pub(crate) fn ingest<'a>(
        &'a self,
        pipeline: &'a Arc<Declared>,
        batch: &'a Batch,
        options: &'a Options,
    ) -> Pending<'a, Receipt> {
        on!(self, [pipeline, batch, options], |database| ingest::ingest(database, pipeline, batch, options)
            .await)
    }

    /// The same store, whose transactions wait at most so long for a row of somebody else's. SQLite has a limit of its own.
    pub(crate) fn waiting_at_most(&self, limit: Duration) -> Self {
        Self(match &self.0 {
            Backend::Postgres(database) => Backend::Postgres(database.clone().lock_timeout(limit)),
            Backend::Sqlite(database) => Backend::Sqlite(database.clone()),
        })
    }

    /// The same store, which keeps at most so many connections between batches: for those who land many small ones. SQLite opens its
    /// file anew each time, which costs nothing.
    #[must_use]
    pub fn keeping_connections(&self, most: usize) -> Self {
        Self(match &self.0 {
            Backend::Postgres(database) => Backend::Postgres(database.clone().keeping(most)),
            Backend::Sqlite(database) => Backend::Sqlite(database.clone()),
        })
    }

    /// The same store, whose server rolls a batch back when it has heard nothing of the writer for so long in the middle of it: for
    /// those who have others waiting to take over. Nothing for SQLite, whose writer is a process of the same machine.
    #[must_use]
    pub fn letting_go_after(&self, silence: Duration) -> Self {
        Self(match &self.0 {
            Backend::Postgres(database) => Backend::Postgres(database.clone().idle_timeout(silence)),
            Backend::Sqlite(database) => Backend::Sqlite(database.clone()),
        })
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.0
    }

    /// How the pipeline's records become rows of its table, as the table is now.
    pub(crate) fn planned<'a>(&'a self, pipeline: &'a Declared) -> Pending<'a, plan::TablePlan> {
        ask!(self, Access::ReadOnly, [pipeline], |mut session| ingest::plan_for(&mut session, pipeline).await)
    }

    pub(crate) fn preview<'a>(
        &'a self,
        pipeline: &'a Arc<Declared>,
        batch: &'a Batch,
        samples: usize,
    ) -> Pending<'a, Preview> {
        ask!(self, Access::ReadOnly, [pipeline, batch], |session| {
            ingest::preview(session, pipeline, batch, samples).await
        })
    }

    /// Makes or upgrades landonce's own tables, and makes those again that somebody has dropped; safe at any time, also by several
    /// processes at once. Every run makes and upgrades them by itself where it has the rights.
    pub fn migrate(&self) -> Pending<'_, ()> {
        ask!(self, Access::Write, [], |mut session| Ok(session.remake().await?))
    }

    /// Makes landonce's own tables, and the pipeline's target and derived tables if there are none.
    pub fn set_up<'a>(&'a self, pipeline: &'a Pipeline) -> Pending<'a, ()> {
        async fn make<C: Connection>(connection: &mut C, pipeline: &Declared) -> Result<(), Error> {
            connection.remake().await?;
            let shape = connection.shape(&pipeline.target().table).await?;
            let plan = plan::resolve(&any_period(pipeline)?, shape.as_ref())?;
            if plan.create {
                connection.create_target(&plan).await?;
            }
            for derived in pipeline.derived() {
                let shape = connection.shape(&derived.table).await?;
                let plan = plan::derived(derived, shape.as_ref(), &derive::any_period(derived)?)?;
                if plan.create {
                    connection.create_target(&plan).await?;
                }
            }
            Ok(())
        }
        ask!(self, Access::Write, [pipeline], |mut session| make(&mut session, pipeline.declared()).await)
    }

    /// What the database's catalogue says of a table; `None` when there is none of that name.
    pub fn shape<'a>(&'a self, table: &'a plan::TableName) -> Pending<'a, Option<plan::TableShape>> {
        ask!(self, Access::ReadOnly, [table], |mut session| Ok(session.shape(table).await?))
    }

    /// The DDL of landonce's own tables, and of the pipeline's target as landonce would make it: for a DBA. Connects to
    /// nothing.
    pub fn setup_sql(&self, pipeline: Option<&Pipeline>) -> Result<String, Error> {
        let mut plans = Vec::new();
        if let Some(pipeline) = pipeline.map(Pipeline::declared) {
            plans.push(plan::resolve(&any_period(pipeline)?, None)?);
            for derived in pipeline.derived() {
                plans.push(plan::derived(derived, None, &derive::any_period(derived)?)?);
            }
        }
        let (mut sql, made): (String, fn(&plan::TablePlan) -> landonce_store::Result<String>) = match &self.0
        {
            Backend::Sqlite(_) => (sqlite::setup_sql(), sqlite::create_target_sql),
            Backend::Postgres(_) => (postgres::setup_sql(), postgres::create_target_sql),
        };
        for (nth, plan) in plans.iter().enumerate() {
            // The first statement of a script ends where the next one begins.
            sql.push_str(if nth == 0 || sql.trim_end().ends_with(';') { "\n" } else { ";\n\n" });
            sql.push_str(&made(plan)?);
        }
        Ok(sql)
    }

    /// The batches that have landed, newest first. None where there are no tables of landonce's yet.
    pub fn batches(&self, limit: usize) -> Pending<'_, Vec<Settled>> {
        ask!(self, Access::ReadOnly, [], |mut session| Ok(session.batches(limit).await?))
    }

    /// What the ledger knows of a pipeline's periods that start in `from..to` (microseconds since 1970 in UTC), by start.
    /// Nothing where there are no tables of landonce's yet.
    pub fn periods<'a>(&'a self, pipeline: &'a str, from: i64, to: i64) -> Pending<'a, Vec<ledger::Entry>> {
        let pipeline = pipeline.to_owned();
        ask!(self, Access::ReadOnly, [pipeline], |mut session| Ok(session
            .periods(pipeline, from, to)
            .await?))
    }

    /// Notes in the ledger that a run of a period failed before it came to [`Pipeline::ingest`]: its source wasn't there,
    /// say. What is loaded stays. (A failure inside `ingest` is noted by itself.)
    pub fn fail_period<'a>(&'a self, failure: &'a ledger::Failure<'a>) -> Pending<'a, ()> {
        let ledger::Failure { start, end, run_id, .. } = *failure;
        let texts = [failure.pipeline, failure.label, failure.code, failure.message].map(str::to_owned);
        ask!(self, Access::Write, [texts], |mut session| {
            let [pipeline, label, code, message] = texts;
            let failure = ledger::Failure { pipeline, label, start, end, run_id, code, message };
            session.migrate().await?;
            Ok(session.fail_period(&failure).await?)
        })
    }

    /// Whether it has one writer at a time, so that several batches at once only wait for each other.
    pub fn has_one_writer(&self) -> bool {
        matches!(self.0, Backend::Sqlite(_))
    }

    /// Held snapshots, of one pipeline or of all, newest first: those that wait for a person, or all.
    pub fn held<'a>(&'a self, pipeline: Option<&'a str>, is_all: bool) -> Pending<'a, Vec<Held>> {
        let pipeline = pipeline.map(str::to_owned);
        ask!(self, Access::ReadOnly, [pipeline], |mut session| Ok(session
            .held(pipeline.as_deref(), is_all)
            .await?))
    }

    /// A piece of a held payload; `None` behind the last.
    pub(crate) fn held_piece<'a>(&'a self, key: &'a InboxKey, nth: u32) -> Pending<'a, Option<Vec<u8>>> {
        ask!(self, Access::ReadOnly, [key], |mut session| Ok(session.held_piece(key, nth).await?))
    }

    /// The newest batch of the pipeline, if it has landed since a run was held.
    pub(crate) fn landed_since<'a>(&'a self, held: &'a Held) -> Pending<'a, Option<Settled>> {
        ask!(self, Access::ReadOnly, [held], |mut session| {
            let newest = session.earlier(&held.hold.pipeline, 1).await?.pop();
            // Times of one clock, the database's, in one spelling.
            Ok(newest.filter(|newest| newest.settled_at > held.held_at))
        })
    }

    pub(crate) fn decide(&self, key: InboxKey, state: State, run_id: Uuid) -> Pending<'_, bool> {
        ask!(self, Access::Write, [], |mut session| Ok(session.decide(&key, state, run_id).await?))
    }

    /// Quarantine entries, newest first: of one pipeline, or of all.
    pub fn quarantine<'a>(&'a self, pipeline: Option<&'a str>, limit: usize) -> Pending<'a, Vec<Entry>> {
        let pipeline = pipeline.map(str::to_owned);
        ask!(self, Access::ReadOnly, [pipeline], |mut session| {
            Ok(session.quarantine(pipeline.as_deref(), limit).await?)
        })
    }

    /// The quarantine entry whose id begins with these hex digits. An error when there is none, or more than one.
    pub fn quarantine_entry<'a>(&'a self, id_prefix: &'a str) -> Pending<'a, Entry> {
        let id = id_prefix.to_owned();
        ask!(self, Access::ReadOnly, [id], |mut session| found(id, session.quarantine_entry(id).await?))
    }
}

fn found(id_prefix: &str, entry: Option<Entry>) -> Result<Entry, Error> {
    entry.ok_or_else(|| {
        Error::declaration(format!(
            "no quarantine entry's id begins with `{id_prefix}`; `landonce quarantine list` shows them"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_store_is_not_repeated() {
        for text in ["host=localhost password=sekret", "sekret", "mysql://u:sekret@h/d", "u:sekret@h"] {
            let told = Store::open(text).unwrap_err().to_string();
            assert!(!told.contains("sekret"), "{told}");
        }
    }
}
