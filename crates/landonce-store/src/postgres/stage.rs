//! The stage: a batch's keys and digests first, told apart by the database before any row is sent.
//!
//! Its state between the verbs is [`Open`]. The SQL is `render/`'s, the rows' bytes are `rows.rs`'s, and writing is
//! `write.rs`'s.

use landonce_core::plan::{Match, PlanColumn, TablePlan};
use tokio_postgres::types::{ToSql, Type as Pg};
use tokio_postgres::{Row, Statement};
use uuid::Uuid;

use super::link::{Fault, Link};
use super::render::{self, Facts, OLD, ROWS, Render, STAGE, TODO, class};
use super::rows::{CopyRows, Sealed};
use super::savepoint::{self, Attempt};
use super::{catalog, facts, notices, straight, write};
use crate::error::{Error, Result};
use crate::seam::{Access, Class, Classified, Folded, Place, Refused, SameContent, Survey, Todo};

/// How many staged records make statistics worth their round trip: the planner assumes about as many without any.
const WORTH_ANALYZING: u64 = 500;

/// A stage that is open.
pub(super) struct Open {
    pub(super) plan: TablePlan,
    pub(super) facts: Facts,
    copy: Option<Statement>,
    /// Staged records that are left: not refused, not folded.
    staged: u64,
    may_repeat: u64,
    is_todo_made: bool,
    sorted: Option<Sorted>,
    cursor: Cursor,
    pub(super) straight: straight::Way,
    pub(super) by_rows: Option<write::ByRows>,
    pub(super) notices: notices::State,
}

/// What [`Open::classify`] found, as far as the verbs behind it care.
#[derive(Debug, Clone, Copy)]
struct Sorted {
    /// The target has no row: everything but deletes is new, and nothing was written down.
    is_all_new: bool,
    /// Records for [`Open::next_rows`] to give.
    to_give: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    Closed,
    Open,
    Done,
}

impl Open {
    /// Makes the stage; for a plan that only looks, the transaction is read-only from here on.
    pub(super) async fn new(
        link: &Link<'_>,
        plan: &TablePlan,
        access: Access,
        is_joined: bool,
    ) -> Result<Self> {
        let doing = format!("making the stage for {}", plan.table);
        let catalog = catalog::load(link, &plan.table).await?;
        if catalog.is_none() && !(plan.create && access == Access::ReadOnly) {
            return Err(Error::refused(format!("table {} is not there; create it first", plan.table)));
        }
        let mut facts = match &catalog {
            Some(catalog) => facts::of(plan, catalog)?,
            None => facts::made(plan),
        };
        let render = Render::new(plan, &facts)?;
        let mut statements = Vec::new();
        if is_joined {
            // The caller's transaction may have seen a stage of ours that nobody closed.
            statements.push(drop_tables());
        }
        statements.push(render.create_stage()?);
        if access == Access::ReadOnly {
            statements.push(render.create_todo());
            if catalog.is_none() {
                statements.push(render.create_rows()?);
            }
            // From here on the server itself refuses to write to anything but temporary tables.
            statements.push("SET TRANSACTION READ ONLY".to_owned());
        }
        link.batch(&doing, &statements.join(";\n")).await?;
        if catalog.is_none() {
            facts::complete(plan, &mut facts, link).await?;
        }
        Ok(Self {
            plan: plan.clone(),
            facts,
            copy: None,
            staged: 0,
            may_repeat: 0,
            is_todo_made: access == Access::ReadOnly,
            sorted: None,
            cursor: Cursor::Closed,
            straight: straight::Way::default(),
            by_rows: None,
            notices: notices::State::default(),
        })
    }

    pub(super) fn render(&self) -> Result<Render<'_>> {
        Render::new(&self.plan, &self.facts)
    }

    /// Sends staged rows; those that the server refuses are found and left out.
    pub(super) async fn stage(&mut self, link: &Link<'_>, rows: CopyRows) -> Result<Vec<Refused>> {
        let sealed = rows.seal()?;
        let statement = if let Some(statement) = &self.copy {
            statement.clone()
        } else {
            let sql = self.render()?.copy_stage();
            self.copy.insert(link.prepare("staging", &sql).await?).clone()
        };
        let mut staging = Staging { link, columns: &self.plan.columns, statement, sealed: &sealed, taken: 0 };
        let refused = savepoint::all_but_refused(link, 0..sealed.len(), &mut staging).await?;
        self.staged += staging.taken;
        self.may_repeat += sealed.may_repeat;
        Ok(refused.into_iter().map(|(row, error)| savepoint::refused(sealed.place(row), error)).collect())
    }

    /// Leaves one staged record per identity.
    pub(super) async fn fold(&mut self, link: &Link<'_>) -> Result<Folded> {
        let doing = "folding repeated identities";
        let render = self.render()?;
        let repeats = match self.plan.matching {
            Match::Key { .. } => self.may_repeat > 0,
            // What is equal is the database's to say there (citext, collations): no mark of ours can tell.
            Match::Columns(_) => self.staged > 1 && link.one(doing, &render.repeats(), &[]).await?.get(0),
        };
        if !repeats {
            return Ok(Folded::default());
        }
        let row = link.one(doing, &render.fold(), &[]).await?;
        let duplicates: i64 = row.get(0);
        let conflicts = places(&row, 1);
        let folded = Folded { duplicates: duplicates as u64, conflicts };
        self.staged -= folded.duplicates + folded.conflicts.len() as u64;
        Ok(folded)
    }

    /// Tells the staged records apart against the target.
    pub(super) async fn classify(&mut self, link: &Link<'_>) -> Result<Classified> {
        let doing = format!("comparing the batch with {}", self.plan.table);
        let render = self.render()?;
        let has_rows = match render.has_rows() {
            _ if self.staged == 0 => false,
            Some(sql) => link.one(&doing, &sql, &[]).await?.get(0),
            None => self.facts.relation.is_some(),
        };
        let mut found = Classified::default();
        if has_rows {
            if self.staged >= WORTH_ANALYZING {
                link.batch(&doing, &render.analyze()).await?;
            }
            let listed = link.execute(&doing, &render.classify(self.is_todo_made), &[]).await?;
            let counts =
                if listed == 0 { Vec::new() } else { link.query(&doing, &render::count_todo(), &[]).await? };
            for row in counts {
                let (class, count): (i16, i64) = (row.get(0), row.get(1));
                let count = count as u64;
                match class {
                    class::NEW => found.new = count,
                    class::CHANGED => found.changed = count,
                    class::CONFLICT => found.conflicts = count,
                    class::STALE => found.stale = count,
                    _ => found.deletes = count,
                }
            }
            let listed = found.new + found.changed + found.conflicts + found.stale + found.deletes;
            found.unchanged = self.staged.saturating_sub(listed);
            self.is_todo_made = true;
        } else {
            if let Some(sql) = render.count_deletes().filter(|_| self.staged > 0) {
                let deletes: i64 = link.one(&doing, &sql, &[]).await?.get(0);
                found.unchanged = deletes as u64;
            }
            found.new = self.staged - found.unchanged;
        }
        self.straight.is_insert_only = found.changed == 0;
        let to_give = found.new + found.changed + found.conflicts;
        self.sorted = Some(Sorted { is_all_new: !has_rows, to_give });
        self.cursor = if to_give == 0 { Cursor::Done } else { Cursor::Closed };
        Ok(found)
    }

    fn sorted(&self) -> Result<Sorted> {
        self.sorted.ok_or_else(|| Error::refused("the batch has not been compared with the target yet"))
    }

    /// The target had no row when the batch was compared with it.
    pub(super) fn is_all_new(&self) -> Result<bool> {
        Ok(self.sorted()?.is_all_new)
    }

    /// The next records that need something, in key order.
    pub(super) async fn next_rows(&mut self, link: &Link<'_>, most: usize) -> Result<Vec<Todo>> {
        let doing = "reading what needs to be written";
        let sorted = self.sorted()?;
        if self.cursor == Cursor::Closed {
            link.batch(doing, &self.render()?.open_cursor(sorted.is_all_new)).await?;
            self.cursor = Cursor::Open;
        }
        if self.cursor == Cursor::Done {
            return Ok(Vec::new());
        }
        let rows = link.collect(doing, &render::fetch(most.max(1)), todo).await?;
        if rows.len() < most {
            link.batch(doing, &render::close_cursor()).await?;
            self.cursor = Cursor::Done;
        }
        Ok(rows)
    }

    /// Content of new records that is there under another id.
    pub(super) async fn same_content(&self, link: &Link<'_>, samples: usize) -> Result<SameContent> {
        let sorted = self.sorted()?;
        if !self.plan.sender_id || sorted.to_give == 0 {
            return Ok(SameContent::default());
        }
        let sql = self.render()?.same_content(sorted.is_all_new);
        // One row is asked for in any case: it carries the count.
        let most = samples.max(1) as i64;
        let rows =
            link.query("looking for equal content under other ids", &sql, &[(&most, Pg::INT8)]).await?;
        let count = rows.first().map_or(0, |row| row.get::<_, i64>(0) as u64);
        let sample = |row: &Row| (place(row, 1), row.get::<_, Option<String>>(4).unwrap_or_default());
        Ok(SameContent { count, samples: rows.iter().take(samples).map(sample).collect() })
    }

    /// Deletes or retires what the batch's delete records name.
    pub(super) async fn delete(&self, link: &Link<'_>, run_id: Uuid) -> Result<u64> {
        if !self.plan.has_deletes {
            return Ok(0);
        }
        if let Some(sql) = self.render()?.retire() {
            let run_id = run_id.hyphenated().to_string();
            let is_told = self.plan.tombstone.as_ref().is_some_and(|tombstone| tombstone.by.is_some());
            let params: &[(&(dyn ToSql + Sync), Pg)] = if is_told { &[(&run_id, Pg::TEXT)] } else { &[] };
            let row = link.one(&format!("retiring rows of {}", self.plan.table), &sql, params).await?;
            return Ok(row.get::<_, i64>(0) as u64);
        }
        link.execute(&format!("deleting from {}", self.plan.table), &self.render()?.delete(), &[]).await
    }

    /// How many rows the run speaks for and the batch doesn't have.
    pub(super) async fn missing(&self, link: &Link<'_>) -> Result<u64> {
        self.sorted()?;
        let Some(sql) = self.render()?.count_missing() else { return Ok(0) };
        if self.facts.relation.is_none() {
            return Ok(0);
        }
        let doing = format!("looking for rows of {} that the batch doesn't have", self.plan.table);
        let count: i64 = link.one(&doing, &sql, &self.owner()).await?.get(0);
        Ok(count as u64)
    }

    /// Deletes or retires them.
    pub(super) async fn remove_missing(&self, link: &Link<'_>, run_id: Uuid) -> Result<u64> {
        self.sorted()?;
        let Some(sql) = self.render()?.remove_missing() else { return Ok(0) };
        let doing = format!("taking away rows of {} that the batch doesn't have", self.plan.table);
        let run_id = run_id.hyphenated().to_string();
        let mut params = self.owner();
        if self.plan.tombstone.as_ref().is_some_and(|tombstone| tombstone.by.is_some()) {
            params.push((&run_id, Pg::TEXT));
        }
        link.execute(&doing, &sql, &params).await
    }

    /// Brings the history up to the target.
    pub(super) async fn keep_history(&self, link: &Link<'_>) -> Result<()> {
        let Some([close, open]) = self.render()?.keep_history()? else { return Ok(()) };
        let doing = format!("keeping the history of {}", self.plan.table);
        link.execute(&doing, &close, &[]).await?;
        link.execute(&doing, &open, &[]).await?;
        Ok(())
    }

    /// What is there of what the run speaks for.
    pub(super) async fn survey(&self, link: &Link<'_>) -> Result<Survey> {
        let is_all_new = self.sorted()?.is_all_new;
        let render = self.render()?;
        let sql = render.survey().or_else(|| render.returning().filter(|_| !is_all_new));
        let Some(sql) = sql.filter(|_| self.facts.relation.is_some()) else { return Ok(Survey::default()) };
        let row = link.one(&format!("counting rows of {}", self.plan.table), &sql, &self.owner()).await?;
        let (standing, returning): (i64, i64) = (row.get(0), row.get(1));
        Ok(Survey { standing: standing as u64, returning: returning as u64 })
    }

    pub(super) fn owner(&self) -> Vec<(&(dyn ToSql + Sync), Pg)> {
        let scope = self.plan.scope.iter();
        scope.flat_map(|scope| &scope.owner).map(|owned| (&owned.value as _, Pg::TEXT)).collect()
    }

    /// Drops the temporary tables. The COPY statements go with `self`, before whatever ends the transaction.
    pub(super) async fn close(self, link: &Link<'_>) -> Result<()> {
        let doing = "dropping the stage";
        if self.cursor == Cursor::Open {
            link.batch(doing, &render::close_cursor()).await?;
        }
        if self.notices.is_open() {
            link.batch(doing, &render::close_changes()).await?;
        }
        link.batch(doing, &drop_tables()).await
    }
}

fn drop_tables() -> String {
    format!("DROP TABLE IF EXISTS {STAGE}, {TODO}, {ROWS}, {OLD}")
}

/// Staged rows in one COPY.
struct Staging<'a, 'c> {
    link: &'a Link<'c>,
    columns: &'a [PlanColumn],
    statement: Statement,
    sealed: &'a Sealed,
    taken: u64,
}

impl Attempt for Staging<'_, '_> {
    fn doing(&self) -> &'static str {
        "staging"
    }

    fn prepare(&self) -> &'static str {
        ""
    }

    async fn attempt(&mut self, rows: std::ops::Range<usize>) -> Result<(), Fault> {
        let taken = rows.len() as u64;
        self.link.copy(&self.statement, self.sealed.pieces(rows), self.columns).await?;
        self.taken += taken;
        Ok(())
    }
}

fn todo(row: &Row) -> Todo {
    let class = match row.get::<_, i16>(0) {
        class::NEW => Class::New,
        class::CHANGED => Class::Changed,
        _ => Class::Conflict,
    };
    Todo { class, place: place(row, 1) }
}

/// A place in three columns.
fn place(row: &Row, at: usize) -> Place {
    let (number, offset, len): (i64, i64, i32) = (row.get(at), row.get(at + 1), row.get(at + 2));
    Place { number: number as u64, offset: offset as u64, len: len as u32 }
}

/// Places in three columns of arrays, NULL for none.
pub(super) fn places(row: &Row, at: usize) -> Vec<Place> {
    let numbers: Vec<i64> = row.get::<_, Option<_>>(at).unwrap_or_default();
    let offsets: Vec<i64> = row.get::<_, Option<_>>(at + 1).unwrap_or_default();
    let lengths: Vec<i32> = row.get::<_, Option<_>>(at + 2).unwrap_or_default();
    let place = |((number, offset), len): ((i64, i64), i32)| Place {
        number: number as u64,
        offset: offset as u64,
        len: len as u32,
    };
    numbers.into_iter().zip(offsets).zip(lengths).map(place).collect()
}

/// Asks a query of the user's for one boolean. What it writes, if it does, is refused by the server.
pub(super) async fn holds(link: &Link<'_>, query: &str) -> Result<bool> {
    let doing = "asking an assertion (`write.plausible.assert`)";
    link.batch(doing, "SAVEPOINT landonce_ask; SET LOCAL transaction_read_only = on").await?;
    let rows = link.query(doing, query, &[]).await?;
    link.batch(doing, "ROLLBACK TO SAVEPOINT landonce_ask; RELEASE SAVEPOINT landonce_ask").await?;
    let Some(row) = rows.first() else { return Ok(false) };
    match row.try_get::<_, Option<bool>>(0) {
        Ok(holds) => Ok(holds.unwrap_or(false)),
        Err(_) => Err(Error::refused(format!("{doing}: its first column isn't a boolean"))),
    }
}
