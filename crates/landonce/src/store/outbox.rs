//! The outbox of a store of either kind.

use super::{Backend, Store};
use crate::outbox::Outbox;

impl Store {
    /// Its outbox. Nothing is connected yet, and only the verbs that look don't make the file of an SQLite database.
    pub fn outbox(&self) -> Outbox {
        match &self.0 {
            Backend::Postgres(database) => Outbox::on_postgres(database.clone()),
            Backend::Sqlite(database) => Outbox::on_sqlite(database.clone()),
        }
    }
}
