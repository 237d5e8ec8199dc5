//! The positions of a store of either kind.

use landonce_store::position::{Part, Position, Taken};
use landonce_store::seam::Connection;

use super::{Backend, Pending, Store, blocking};
use crate::error::Error;

impl Store {
    /// Takes a part of a source over, and says where to go on: whoever had it before can move it no more. landonce's own tables are
    /// made where they aren't there.
    pub fn take_part<'a>(&'a self, part: &'a Part, owner: &'a str) -> Pending<'a, Taken> {
        async fn take<C: Connection>(mut connection: C, part: &Part, owner: &str) -> Result<Taken, Error> {
            connection.migrate().await?;
            Ok(connection.take_part(part, owner).await?)
        }
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => take(database.connect().await?, part, owner).await,
                Backend::Sqlite(database) => {
                    let (database, part, owner) = (database.clone(), part.clone(), owner.to_owned());
                    blocking(move || async move { take(database.connect()?, &part, &owner).await }).await
                }
            }
        })
    }

    /// Puts a part's position somewhere else, by a person's word (`None`: as if nothing had been landed); whoever has it loses it.
    pub fn put_position<'a>(
        &'a self,
        part: &'a Part,
        next: Option<&'a str>,
        owner: &'a str,
    ) -> Pending<'a, ()> {
        async fn put<C: Connection>(
            mut connection: C,
            part: &Part,
            next: Option<&str>,
            owner: &str,
        ) -> Result<(), Error> {
            connection.migrate().await?;
            Ok(connection.put_position(part, next, owner).await?)
        }
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => put(database.connect().await?, part, next, owner).await,
                Backend::Sqlite(database) => {
                    let (database, part, owner) = (database.clone(), part.clone(), owner.to_owned());
                    let next = next.map(str::to_owned);
                    blocking(
                        move || async move { put(database.connect()?, &part, next.as_deref(), &owner).await },
                    )
                    .await
                }
            }
        })
    }

    /// The parts that have been taken, by pipeline, source and part. None where there are no tables of landonce's yet.
    pub fn positions<'a>(&'a self, pipeline: Option<&'a str>) -> Pending<'a, Vec<Position>> {
        Box::pin(async move {
            match &self.0 {
                Backend::Postgres(database) => Ok(database.connect().await?.positions(pipeline).await?),
                Backend::Sqlite(database) => {
                    let (database, pipeline) = (database.clone(), pipeline.map(str::to_owned));
                    blocking(move || async move {
                        Ok(database.connect_read_only()?.positions(pipeline.as_deref()).await?)
                    })
                    .await
                }
            }
        })
    }
}
