//! The positions of a store of any kind.

use landonce_store::position::{Part, Position, Taken};
use landonce_store::seam::{Access, Connection as _};

use super::on::ask;
use super::{Pending, Store};

impl Store {
    /// Takes a part of a source over, and says where to go on: whoever had it before can move it no more. landonce's own tables are
    /// made where they aren't there.
    pub fn take_part<'a>(&'a self, part: &'a Part, owner: &'a str) -> Pending<'a, Taken> {
        let owner = owner.to_owned();
        ask!(self, Access::Write, [part, owner], |mut session| {
            session.migrate().await?;
            Ok(session.take_part(part, owner).await?)
        })
    }

    /// Puts a part's position somewhere else, by a person's word (`None`: as if nothing had been landed); whoever has it loses it.
    pub fn put_position<'a>(
        &'a self,
        part: &'a Part,
        next: Option<&'a str>,
        owner: &'a str,
    ) -> Pending<'a, ()> {
        let (owner, next) = (owner.to_owned(), next.map(str::to_owned));
        ask!(self, Access::Write, [part, owner, next], |mut session| {
            session.migrate().await?;
            Ok(session.put_position(part, next.as_deref(), owner).await?)
        })
    }

    /// The parts that have been taken, by pipeline, source and part. None where there are no tables of landonce's yet.
    pub fn positions<'a>(&'a self, pipeline: Option<&'a str>) -> Pending<'a, Vec<Position>> {
        let pipeline = pipeline.map(str::to_owned);
        ask!(self, Access::ReadOnly, [pipeline], |mut session| Ok(session
            .positions(pipeline.as_deref())
            .await?))
    }
}
