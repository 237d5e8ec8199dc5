//! Rows that are all new, straight into the target by COPY: half the work of any other way.
//!
//! It knows no conflict: a row that another writer has put meanwhile ends it, like one that the server refuses. Such a row
//! goes by way of `write.rs`'s statement, in its turn.

use landonce_core::plan::Absent;
use landonce_core::retry::Code;
use landonce_core::value::Value;
use tokio_postgres::Statement;
use uuid::Uuid;

use super::link::{Fault, Link};
use super::render::Render;
use super::rows::{Cut, Sealed};
use super::savepoint::Attempt;
use super::stage::Open;
use super::wire::{self, Wire};
use crate::error::{Error, Result};

/// The way, as far as it is open.
#[derive(Default)]
pub(super) struct Way {
    /// The batch has nothing to update.
    pub(super) is_insert_only: bool,
    /// Chunks that went this way, and chunks that were turned back.
    pub(super) went: u32,
    pub(super) turned_back: u32,
    statement: Option<Statement>,
}

impl Way {
    /// A COPY that fails is work for nothing: a few bad rows in a long batch may cost it, many in every chunk not.
    const fn is_worth_trying(&self) -> bool {
        self.is_insert_only && self.turned_back <= 2 + self.went / 4
    }
}

/// A chunk on its way straight into the target.
pub(super) struct Straight<'a, 'c> {
    link: &'a Link<'c>,
    doing: String,
    statement: Statement,
    sealed: &'a Sealed,
    cut: Cut,
    more: Vec<u8>,
    fields: i16,
    pub(super) inserted: u64,
}

impl<'a, 'c> Straight<'a, 'c> {
    /// The way for a chunk; `None` when it isn't open.
    pub(super) async fn open(
        link: &'a Link<'c>,
        open: &mut Open,
        sealed: &'a Sealed,
        run_id: Uuid,
    ) -> Result<Option<Self>> {
        let is_rounding = open.facts.columns.iter().any(|fact| fact.must_fit.is_some());
        if !open.facts.takes_copy || is_rounding || !open.straight.is_worth_trying() {
            return Ok(None);
        }
        let Some((more, fields)) = filled(open, run_id) else { return Ok(None) };
        let doing = format!("writing into {}", open.plan.table);
        let statement = if let Some(statement) = &open.straight.statement {
            statement.clone()
        } else {
            let sql = Render::new(&open.plan, &open.facts)?.copy_target();
            open.straight.statement.insert(link.prepare(&doing, &sql).await?).clone()
        };
        // The presence bits close a row; the target doesn't have them.
        let cut =
            if open.plan.absent == Absent::Keep { Cut { fields: 1, bytes: 12 } } else { Cut::default() };
        Ok(Some(Self { link, doing, statement, sealed, cut, more, fields, inserted: 0 }))
    }
}

/// The fields that landonce fills, the same for each row; `None` for a type that only a cast can make.
fn filled(open: &Open, run_id: Uuid) -> Option<(Vec<u8>, i16)> {
    let mut more = Vec::new();
    let mut fields = 0;
    if let Some(wire) = &open.facts.run_id {
        let value = match wire {
            Wire::Uuid => Value::Uuid(*run_id.as_bytes()),
            _ => Value::Text(run_id.to_string().into()),
        };
        wire::field(&mut more, wire, &value).ok()?;
        fields += 1;
    }
    if let Some(wire) = &open.facts.revision {
        wire::field(&mut more, wire, &Value::Integer(1)).ok()?;
        fields += 1;
    }
    Some((more, fields))
}

impl Attempt for Straight<'_, '_> {
    fn doing(&self) -> &str {
        &self.doing
    }

    fn prepare(&self) -> &'static str {
        ""
    }

    async fn attempt(&mut self, rows: std::ops::Range<usize>) -> Result<(), Fault> {
        let sent = rows.len() as u64;
        let pieces = self.sealed.widened(rows, self.cut, &self.more, self.fields);
        let taken = self.link.copy(&self.statement, pieces, &[]).await?;
        if taken < sent {
            // A trigger has skipped rows: the other way tells which.
            let code = Code::SqlState("23000".to_owned());
            return Err(Error { code, ..Error::refused("rows were skipped") }.into());
        }
        self.inserted += taken;
        Ok(())
    }
}
