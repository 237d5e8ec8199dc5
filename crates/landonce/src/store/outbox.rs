//! The outbox of a store of any kind.

use landonce_store::repair::notices::Correct as _;
use landonce_store::seam::Access;

use super::on::ask;
use super::{Backend, Pending, Store};
use crate::outbox::Outbox;

impl Store {
    /// Whether there is an outbox. Makes nothing, not even the file of an SQLite database.
    pub fn has_outbox(&self) -> Pending<'_, bool> {
        ask!(self, Access::ReadOnly, [], |mut session| Ok(session.has_outbox().await?))
    }

    /// Its outbox. Nothing is connected yet, and only the verbs that look don't make the file of an SQLite database.
    pub fn outbox(&self) -> Outbox {
        match &self.0 {
            Backend::Postgres(database) => Outbox::on_postgres(database.clone()),
            Backend::Sqlite(database) => Outbox::on_sqlite(database.clone()),
        }
    }
}
