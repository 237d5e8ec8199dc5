//! Connections that are kept open for events, each with what is prepared on it. A connection on which anything went wrong isn't used
//! again.

use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool::managed::{self, Metrics, RecycleError, RecycleResult, Timeouts};
use landonce_core::plan::TablePlan;
use landonce_core::retry::Code;
use landonce_store::seam::Events;
use landonce_store::{postgres, sqlite};
use tokio::sync::{Mutex, MutexGuard};

use crate::error::Error;

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

/// Makes and looks after connections to PostgreSQL.
#[derive(Debug)]
pub(crate) struct Maker {
    plain: postgres::Database,
    /// The same, its statements planned once.
    quick: postgres::Database,
    /// A pooler stands in between that doesn't take what makes them so.
    is_refused: AtomicBool,
}

impl Maker {
    fn new(database: &postgres::Database) -> Self {
        Self {
            plain: database.clone(),
            quick: database.clone().planning_once(),
            is_refused: AtomicBool::new(false),
        }
    }

    async fn connect(&self) -> Result<postgres::Session, landonce_store::Error> {
        if self.is_refused.load(Ordering::Relaxed) {
            return self.plain.connect().await;
        }
        match self.quick.connect().await {
            Err(error) if matches!(&error.code, Code::SqlState(state) if state == "08P01") => {
                self.is_refused.store(true, Ordering::Relaxed);
                self.plain.connect().await
            }
            made => made,
        }
    }
}

impl managed::Manager for Maker {
    type Type = Kept<postgres::Session>;
    type Error = landonce_store::Error;

    async fn create(&self) -> Result<Self::Type, Self::Error> {
        Ok(Kept::new(Box::pin(self.connect()).await?))
    }

    async fn recycle(&self, kept: &mut Self::Type, _: &Metrics) -> RecycleResult<Self::Error> {
        if kept.is_spoiled || kept.session.is_closed() {
            return Err(RecycleError::message("it was left in an unknown state, or has ended"));
        }
        Ok(())
    }
}

/// Connections to PostgreSQL.
#[derive(Debug, Clone)]
pub(crate) struct Several(managed::Pool<Maker>);

impl Several {
    pub(crate) fn new(database: &postgres::Database, most: usize) -> Result<Self, Error> {
        let pool = managed::Pool::builder(Maker::new(database))
            .max_size(most.max(1))
            .runtime(deadpool::Runtime::Tokio1)
            .build()
            .map_err(|error| Error::internal(format!("no pool of connections: {error}")))?;
        Ok(Self(pool))
    }
}

impl Lends for Several {
    type Connection = postgres::Session;
    type Lent<'a> = managed::Object<Maker>;

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
