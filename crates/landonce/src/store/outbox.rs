//! The outbox of a store of either kind.

use landonce_store::repair::notices::Correct as _;

use super::{Backend, Pending, Store, blocking};
use crate::outbox::Outbox;

impl Store {
    /// Whether there is an outbox. Makes nothing, not even the file of an SQLite database.
    pub fn has_outbox(&self) -> Pending<'_, bool> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => Ok(database.connect().await?.has_outbox().await?),
                Backend::Sqlite(database) => {
                    let database = database.clone();
                    blocking(move || async move { Ok(database.connect_read_only()?.has_outbox().await?) })
                        .await
                }
            }
        })
    }

    /// Its outbox. Nothing is connected yet, and only the verbs that look don't make the file of an SQLite database.
    pub fn outbox(&self) -> Outbox {
        match &self.0 {
            Backend::Postgres(database) => Outbox::on_postgres(database.clone()),
            Backend::Sqlite(database) => Outbox::on_sqlite(database.clone()),
        }
    }
}
