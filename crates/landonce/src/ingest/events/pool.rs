//! Connections that are kept open for events, each with what is prepared on it. A connection on which anything went wrong isn't used
//! again.

use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult, Timeouts};
use landonce_core::plan::TablePlan;
use landonce_core::retry::Code;
use landonce_store::seam::{Access, Events};
use landonce_store::{postgres, sqlite};
use tokio::sync::{Mutex, MutexGuard};

use crate::error::Error;
use crate::ingest::Server;

/// A connection that is kept.
pub(crate) struct Kept<C: Events> {
    pub(super) session: C,
    /// What is prepared on it, and for which plan.
    pub(super) way: Option<(Arc<TablePlan>, Option<C::Way>)>,
    /// Something went wrong on it, or may have.
    pub(super) is_spoiled: bool,
}

impl<C: Events> Kept<C> {
    fn new(session: C) -> Self {
        Self { session, way: None, is_spoiled: false }
    }
}

/// Where connections are kept.
pub(crate) trait Lends {
    type Connection: Events;
    type Lent<'a>: DerefMut<Target = Kept<Self::Connection>>
    where
        Self: 'a;

    /// A connection that is in no transaction. Waits for one at most so long.
    async fn lend(&self, within: Duration) -> Result<Self::Lent<'_>, Error>;
}

/// A server that events are landed on.
pub(crate) trait Takes: Server + Clone + Send + Sync + 'static {
    /// The same server, by connections that are set up for short statements which come again and again; `None` where that is all the
    /// same.
    fn quick(&self) -> Option<Self>;
}

impl Takes for postgres::Database {
    fn quick(&self) -> Option<Self> {
        Some(self.clone().planning_once())
    }
}

/// Makes and looks after connections to a server.
#[derive(Debug)]
pub(crate) struct Maker<D> {
    plain: D,
    quick: Option<D>,
    /// A pooler stands in between that doesn't take what makes them quick.
    is_refused: AtomicBool,
}

impl<D: Takes> Maker<D> {
    fn new(database: &D) -> Self {
        Self { plain: database.clone(), quick: database.quick(), is_refused: AtomicBool::new(false) }
    }

    async fn connect(&self) -> Result<D::Connection, landonce_store::Error> {
        let quick = self.quick.as_ref().filter(|_| !self.is_refused.load(Ordering::Relaxed));
        let Some(quick) = quick else { return self.plain.open(Access::Write).await };
        match quick.open(Access::Write).await {
            Err(error) if matches!(&error.code, Code::SqlState(state) if state == "08P01") => {
                self.is_refused.store(true, Ordering::Relaxed);
                self.plain.open(Access::Write).await
            }
            made => made,
        }
    }
}

impl<D: Takes> managed::Manager for Maker<D>
where
    D::Connection: Events + Send,
    <D::Connection as Events>::Way: Send,
{
    type Type = Kept<D::Connection>;
    type Error = landonce_store::Error;

    async fn create(&self) -> Result<Self::Type, Self::Error> {
        Ok(Kept::new(Box::pin(self.connect()).await?))
    }

    async fn recycle(&self, kept: &mut Self::Type, _: &Metrics) -> RecycleResult<Self::Error> {
        if kept.is_spoiled || D::is_gone(&kept.session) {
            return Err(RecycleError::message("it was left in an unknown state, or has ended"));
        }
        Ok(())
    }
}

/// Connections to a server.
pub(crate) struct Several<M: managed::Manager>(managed::Pool<M>);

impl<M: managed::Manager> Clone for Several<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: Takes> Several<Maker<D>>
where
    Maker<D>: managed::Manager,
{
    pub(crate) fn new(database: &D, most: usize) -> Result<Self, Error> {
        let pool = managed::Pool::builder(Maker::new(database))
            .max_size(most.max(1))
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|error| Error::internal(format!("no pool of connections: {error}")))?;
        Ok(Self(pool))
    }
}

impl<C: Events, M: managed::Manager<Type = Kept<C>, Error = landonce_store::Error>> Lends for Several<M> {
    type Connection = C;
    type Lent<'a>
        = managed::Object<M>
    where
        Self: 'a;

    async fn lend(&self, within: Duration) -> Result<Self::Lent<'_>, Error> {
        let timeouts = Timeouts { wait: Some(within), ..Timeouts::new() };
        self.0.timeout_get(&timeouts).await.map_err(|error| match error {
            managed::PoolError::Backend(error) => error.into(),
            managed::PoolError::Timeout(_) => busy(within).into(),
            other => Error::internal(format!("no connection of the pool: {other}")),
        })
    }
}

/// The one connection to SQLite that writes.
#[derive(Debug, Clone)]
pub(crate) struct One {
    database: sqlite::Database,
    kept: Arc<Mutex<Option<Kept<sqlite::Session>>>>,
}

impl<C: Events> std::fmt::Debug for Kept<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept").field("is_spoiled", &self.is_spoiled).finish_non_exhaustive()
    }
}

impl One {
    pub(crate) fn new(database: &sqlite::Database) -> Self {
        Self { database: database.clone(), kept: Arc::default() }
    }
}

impl Lends for One {
    type Connection = sqlite::Session;
    type Lent<'a> = tokio::sync::MappedMutexGuard<'a, Kept<sqlite::Session>>;

    async fn lend(&self, within: Duration) -> Result<Self::Lent<'_>, Error> {
        let mut kept = tokio::time::timeout(within, self.kept.lock()).await.map_err(|_| busy(within))?;
        if kept.as_ref().is_none_or(|kept| kept.is_spoiled) {
            *kept = Some(Kept::new(self.database.connect()?));
        }
        MutexGuard::try_map(kept, Option::as_mut)
            .map_err(|_| Error::internal("the connection that was just made isn't there"))
    }
}

/// Nobody gave a connection back in time.
fn busy(within: Duration) -> landonce_store::Error {
    landonce_store::Error {
        code: Code::SqlState("53300".to_owned()),
        ..landonce_store::Error::refused(format!(
            "every connection to the store was busy for {:.1} s; try again, or give it more of them (`Width::connections`)",
            within.as_secs_f32()
        ))
    }
}
