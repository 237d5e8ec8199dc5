//! The connection that is kept open between an outbox's verbs.

use landonce_store::seam::Access;
use landonce_store::{postgres, sqlite};

use crate::ingest::Server;

/// A store's kept connection.
#[derive(Debug)]
pub(super) enum Kept {
    Postgres(Lasting<postgres::Database>),
    Sqlite(Sqlite),
}

/// On a server.
pub(super) struct Lasting<D: Server> {
    database: D,
    session: Option<D::Connection>,
}

impl<D: Server> Lasting<D> {
    pub(super) fn new(database: D) -> Self {
        Self { database, session: None }
    }

    /// The session; a new one when there is none, or when it is gone.
    pub(super) async fn session(&mut self) -> landonce_store::Result<&mut D::Connection> {
        let kept = self.session.take().filter(|session| !D::is_gone(session));
        let session = match kept {
            Some(session) => session,
            None => self.database.open(Access::Write).await?,
        };
        Ok(self.session.insert(session))
    }

    /// What has failed isn't trusted with the next verb.
    pub(super) fn let_go(&mut self) {
        self.session = None;
    }
}

impl<D: Server> std::fmt::Debug for Lasting<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lasting").field("is_open", &self.session.is_some()).finish_non_exhaustive()
    }
}

/// On SQLite: moved to a thread that may block, and back.
#[derive(Debug)]
pub(super) struct Sqlite {
    database: sqlite::Database,
    session: Option<sqlite::Session>,
    /// A session that only looks, for one verb: a file that isn't there must not be made for it, and may be there the next time.
    looking: Option<sqlite::Session>,
}

impl Sqlite {
    pub(super) fn new(database: sqlite::Database) -> Self {
        Self { database, session: None, looking: None }
    }

    /// Takes the session away. Should the thread end without giving it back, the next verb connects anew.
    pub(super) fn take(&mut self) -> Self {
        Self { database: self.database.clone(), session: self.session.take(), looking: None }
    }

    /// A session for so much.
    pub(super) fn session(&mut self, access: Access) -> landonce_store::Result<&mut sqlite::Session> {
        if access == Access::ReadOnly && self.session.is_none() {
            return Ok(self.looking.insert(self.database.connect_read_only()?));
        }
        let session = match self.session.take() {
            Some(session) => session,
            None => self.database.connect()?,
        };
        Ok(self.session.insert(session))
    }

    pub(super) fn let_go(&mut self) {
        self.session = None;
    }
}
