//! Repairs on a store of either kind.

use landonce_store::seam::Access;

use super::{Backend, Pending, Store, blocking};
use crate::repair;

impl Store {
    pub(crate) fn dedupe<'a>(
        &'a self,
        dedupe: &'a repair::Dedupe,
        options: &'a repair::Options,
        access: Access,
    ) -> Pending<'a, repair::Report> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => {
                    repair::dedupe(database.connect().await?, dedupe, options, access).await
                }
                Backend::Sqlite(database) => {
                    let (database, dedupe, options) = (database.clone(), dedupe.clone(), options.clone());
                    blocking(move || async move {
                        repair::dedupe(database.open(access)?, &dedupe, &options, access).await
                    })
                    .await
                }
            }
        })
    }

    pub(crate) fn rekey<'a>(
        &'a self,
        keys: &'a repair::Keys,
        options: &'a repair::Options,
        access: Access,
    ) -> Pending<'a, repair::KeysReport> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => {
                    repair::rekey(database.connect().await?, keys, options, access).await
                }
                Backend::Sqlite(database) => {
                    let (database, keys, options) = (database.clone(), keys.clone(), options.clone());
                    blocking(move || async move {
                        repair::rekey(database.open(access)?, &keys, &options, access).await
                    })
                    .await
                }
            }
        })
    }

    pub(crate) fn lost<'a>(
        &'a self,
        lost: &'a repair::Lost,
        options: &'a repair::Options,
        access: Access,
    ) -> Pending<'a, repair::LostReport> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => {
                    repair::lost(database.connect().await?, lost, options, access).await
                }
                Backend::Sqlite(database) => {
                    let (database, lost, options) = (database.clone(), lost.clone(), options.clone());
                    blocking(move || async move {
                        repair::lost(database.open(access)?, &lost, &options, access).await
                    })
                    .await
                }
            }
        })
    }

    pub(crate) fn notices<'a>(
        &'a self,
        notices: &'a repair::Notices,
        options: &'a repair::Options,
        access: Access,
    ) -> Pending<'a, repair::NoticesReport> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => {
                    repair::notices(database.connect().await?, notices, options, access).await
                }
                Backend::Sqlite(database) => {
                    let (database, notices, options) = (database.clone(), notices.clone(), options.clone());
                    blocking(move || async move {
                        repair::notices(database.open(access)?, &notices, &options, access).await
                    })
                    .await
                }
            }
        })
    }
}
