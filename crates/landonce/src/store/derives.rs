//! Derived tables on a store of either kind.

use std::sync::Arc;

use landonce_core::pipeline::Pipeline as Declared;

use super::{Backend, Pending, Store, blocking};
use crate::derive::{self, Checked, Derivation, Deriving};

impl Store {
    pub(crate) fn derive<'a>(
        &'a self,
        pipeline: &'a Arc<Declared>,
        options: &'a Deriving,
    ) -> Pending<'a, Vec<Derivation>> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => derive::derive(database, pipeline, options).await,
                Backend::Sqlite(database) => {
                    let (database, pipeline) = (database.clone(), Arc::clone(pipeline));
                    let options = options.clone();
                    blocking(move || async move { derive::derive(&database, &pipeline, &options).await })
                        .await
                }
            }
        })
    }

    pub(crate) fn check_derived<'a>(&'a self, pipeline: &'a Arc<Declared>) -> Pending<'a, Vec<Checked>> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => derive::check(database.connect().await?, pipeline).await,
                Backend::Sqlite(database) => {
                    let (database, pipeline) = (database.clone(), Arc::clone(pipeline));
                    blocking(
                        move || async move { derive::check(database.connect_read_only()?, &pipeline).await },
                    )
                    .await
                }
            }
        })
    }
}
