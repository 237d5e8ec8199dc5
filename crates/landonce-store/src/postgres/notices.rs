//! Notifications: rows remembered before they are written, and what has really happened to them.
//!
//! The SQL is `render/notices.rs`'s.

use landonce_core::notice::Change;
use landonce_core::retry::Code;
use landonce_core::spec::ChangeKind;
use tokio_postgres::Row;
use uuid::Uuid;

use super::joined::Joined;
use super::render::{self, kind};
use crate::error::{Error, Result};
use crate::seam::{Look, Notices};

/// How many remembered rows make statistics worth their round trip.
const WORTH_ANALYZING: u64 = 500;

/// What is known between the verbs, of one stage.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The table for remembered rows is there.
    is_made: bool,
    remembered: u64,
    /// The cursor over the changes.
    cursor: Cursor,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    #[default]
    Unopened,
    Open,
    Done,
}

impl State {
    pub(super) fn is_open(&self) -> bool {
        self.cursor == Cursor::Open
    }
}

impl Notices for Joined<'_> {
    async fn remember(&mut self, look: Look) -> Result<u64> {
        self.writing().await?;
        let (link, open) = self.open()?;
        let render = open.render()?;
        let Some(sql) = render.remember(look, open.is_all_new()?) else { return Ok(0) };
        let doing = format!("remembering rows of {}", open.plan.table);
        if !open.notices.is_made {
            link.batch(&doing, &render.create_old()).await?;
        }
        let owner = if look == Look::Missing { open.owner() } else { Vec::new() };
        let remembered = link.execute(&doing, &sql, &owner).await?;
        open.notices.is_made = true;
        open.notices.remembered += remembered;
        Ok(remembered)
    }

    async fn changes(&mut self, run_id: Uuid, most: usize) -> Result<Vec<Change>> {
        self.writing().await?;
        let (link, open) = self.open()?;
        let doing = format!("reading what has changed in {}", open.plan.table);
        if open.plan.run_id.is_none() || open.plan.revision.is_none() {
            return Err(Error::refused(format!("{doing}: there is no column for the run or the revision")));
        }
        if open.notices.cursor == Cursor::Unopened {
            let has_old = open.notices.remembered > 0;
            if open.notices.remembered >= WORTH_ANALYZING {
                link.batch(&doing, &open.render()?.analyze_old()).await?;
            }
            let run = run_id.hyphenated().to_string();
            let sql = open.render()?.open_changes(&run, open.is_all_new()?, has_old);
            link.batch(&doing, &sql).await?;
            open.notices.cursor = Cursor::Open;
        }
        if open.notices.cursor == Cursor::Done {
            return Ok(Vec::new());
        }
        let most = most.max(1);
        let rows = link.collect(&doing, &render::fetch_changes(most), change).await?;
        if rows.len() < most {
            link.batch(&doing, &render::close_changes()).await?;
            open.notices.cursor = Cursor::Done;
        }
        rows.into_iter().map(|change| change.ok_or_else(|| unseen(&doing))).collect()
    }
}

/// `None` for a row whose content before can't be known.
fn change(row: &Row) -> Option<Change> {
    let kind = match row.get::<_, i16>(0) {
        kind::INSERTED => ChangeKind::Inserted,
        kind::UPDATED => ChangeKind::Updated,
        kind::RETIRED => ChangeKind::Retired,
        kind::RESTORED => ChangeKind::Restored,
        kind::DELETED => ChangeKind::Deleted,
        _ => return None,
    };
    Some(Change { kind, key: row.get(1), revision: row.get(2), old: row.get(3), new: row.get(4) })
}

/// To be run again, as after a serialization failure: by then the row is there, and what it was is known.
fn unseen(doing: &str) -> Error {
    let message = format!("{doing}: another writer has put a row between the look and the write");
    Error { code: Code::SqlState("40001".to_owned()), ..Error::refused(message) }
}
