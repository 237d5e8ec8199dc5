//! The stage: a batch's keys and digests first, told apart before any row is sent.
//!
//! Staged records are sorted once and walked once, in key order: neighbours of one identity are folded (`fold.rs`), and
//! each that is left is looked up in the target. What needs doing is remembered in that order. Its state between the
//! verbs is [`Open`]; the SQL is `render.rs`'s, and writing is `write.rs`'s.

use std::collections::HashMap;

use landonce_core::column::Type;
use landonce_core::plan::{Match, StageColumn, TablePlan};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, params, params_from_iter};
use uuid::Uuid;

use super::catalog::{self, Facts};
use super::errors::during;
use super::fold::{Fold, Rule};
use super::render::{self, Render, class};
use super::rows::{BoundRows, Cells, bind, place};
use super::{functions, notices};
use crate::error::{Error, Result};
use crate::seam::{Access, Class, Classified, Folded, Place, Refused, Survey, Todo};

/// A stage that is open.
pub(super) struct Open {
    pub(super) plan: TablePlan,
    pub(super) facts: Facts,
    /// How many staged records carry the mark that their identity may have come before.
    may_repeat: u64,
    told: Option<Told>,
    /// The last record given by [`Open::next_rows`].
    given: i64,
    /// What records given to be written need, by their offsets; they leave when their rows come.
    classes: HashMap<u64, Class>,
    pub(super) write: String,
    pub(super) look: String,
    pub(super) notices: notices::State,
}

/// What one walk over the stage has found.
#[derive(Default)]
struct Told {
    folded: Folded,
    classified: Classified,
}

impl Open {
    /// Makes the stage.
    pub(super) fn new(connection: &Connection, plan: &TablePlan, access: Access) -> Result<Self> {
        let doing = format!("making the stage for {}", plan.table);
        let facts = match catalog::load(connection, &plan.table)? {
            Some(catalog) => catalog.facts(connection, plan)?,
            None if plan.create && access == Access::ReadOnly => Facts::made(plan, false),
            None => {
                return Err(Error::refused(format!("table {} is not there; create it first", plan.table)));
            }
        };
        functions::register(connection)?;
        let render = Render::new(plan, &facts)?;
        // A caller's transaction may have seen a stage of ours that nobody closed.
        let sql = format!("{}{}", render::drop_stage(), render.create_stage());
        connection.execute_batch(&sql).map_err(during(&doing))?;
        let (write, look) = (render.write(), render.look(&plan.row_columns()));
        let plan = plan.clone();
        Ok(Self {
            plan,
            facts,
            may_repeat: 0,
            told: None,
            given: 0,
            classes: HashMap::new(),
            write,
            look,
            notices: notices::State::default(),
        })
    }

    pub(super) fn render(&self) -> Result<Render<'_>> {
        Render::new(&self.plan, &self.facts)
    }

    /// Adds staged records. SQLite refuses none: the stage takes every value.
    pub(super) fn stage(&mut self, connection: &Connection, rows: &BoundRows) -> Result<Vec<Refused>> {
        let doing = "staging";
        self.may_repeat += rows.may_repeat;
        let mut insert = connection.prepare_cached(&self.render()?.stage()).map_err(during(doing))?;
        rows.each_by_key(|cells| {
            bind(&mut insert, cells).and_then(|()| insert.raw_execute()).map_err(during(doing))?;
            Ok(())
        })
    }

    /// Leaves one record per identity, and tells those apart: both are done in one walk.
    pub(super) fn fold(&mut self, connection: &Connection) -> Result<Folded> {
        let told = self.told(connection)?;
        Ok(std::mem::take(&mut told.folded))
    }

    /// How many records of each class there are.
    pub(super) fn classify(&mut self, connection: &Connection) -> Result<Classified> {
        Ok(self.told(connection)?.classified)
    }

    fn told(&mut self, connection: &Connection) -> Result<&mut Told> {
        let told = match self.told.take() {
            Some(told) => told,
            None => self.walk(connection)?,
        };
        Ok(self.told.insert(told))
    }

    fn walk(&self, connection: &Connection) -> Result<Told> {
        let doing = format!("comparing the batch with {}", self.plan.table);
        let columns = render::kept_columns(&self.plan);
        let rule = Rule::new(&self.plan);
        let render = self.render()?;
        let mut walk = Walk::new(connection, self, &render, &columns).map_err(during(&doing))?;
        let mut same = match render.same_identity() {
            Some(sql) => Some(connection.prepare_cached(&sql).map_err(during(&doing))?),
            None => None,
        };
        // Without a mark nothing repeats, unless equality is the database's to say: then no mark can tell.
        let may_repeat = self.may_repeat > 0 || matches!(self.plan.matching, Match::Columns(_));
        let mut folded = Folded::default();
        let mut steps = || {
            let mut scan = connection.prepare_cached(&walk.scan)?;
            let mut staged = scan.raw_query();
            let mut kept = Cells::default();
            // Conflicts with the record that is kept so far.
            let mut conflicts = Vec::new();
            while let Some(row) = staged.next()? {
                let next: Vec<ValueRef<'_>> =
                    (0..=columns.len()).map(|at| row.get_ref(at)).collect::<Result<_, _>>()?;
                if !may_repeat {
                    walk.tell(&next)?;
                    continue;
                }
                let held: Vec<ValueRef<'_>> = kept.iter().collect();
                let repeats = !held.is_empty()
                    && match &mut same {
                        Some(same) => is_same_identity(same, rule.identity(&held), rule.identity(&next))?,
                        None => rule.identity(&held) == rule.identity(&next),
                    };
                match repeats.then(|| rule.fold(&held, &next)) {
                    Some(Fold::Drop) => {
                        folded.duplicates += 1;
                        continue;
                    }
                    Some(Fold::Conflict) => {
                        conflicts.push(place(&next));
                        continue;
                    }
                    Some(Fold::Replace { is_newer }) => {
                        folded.duplicates += 1;
                        if is_newer {
                            // They differ from a record that is superseded like themselves.
                            folded.duplicates += conflicts.len() as u64;
                            conflicts.clear();
                        }
                    }
                    None => {
                        folded.conflicts.append(&mut conflicts);
                        walk.tell(&held)?;
                    }
                }
                kept.clear();
                for cell in next {
                    kept.push(cell);
                }
            }
            folded.conflicts.append(&mut conflicts);
            walk.tell(&kept.iter().collect::<Vec<_>>())
        };
        steps().map_err(during(&doing))?;
        Ok(Told { folded, classified: walk.classified })
    }

    pub(super) fn walked(&self) -> Result<()> {
        self.told
            .as_ref()
            .map(|_| ())
            .ok_or_else(|| Error::refused("the batch has not been compared with the target yet"))
    }

    /// The next records that need something, in key order.
    pub(super) fn next_rows(&mut self, connection: &Connection, most: usize) -> Result<Vec<Todo>> {
        self.walked()?;
        let read = || {
            let mut next = connection.prepare_cached(&render::next())?;
            let given = next.query_map(params![self.given, most.max(1) as i64], |row| {
                let class = match row.get(1)? {
                    class::NEW => Class::New,
                    class::CHANGED => Class::Changed,
                    _ => Class::Conflict,
                };
                Ok((row.get(0)?, Todo { class, place: place_at(row, 2)? }))
            })?;
            given.collect::<rusqlite::Result<Vec<(i64, Todo)>>>()
        };
        let given = read().map_err(during("reading what needs to be written"))?;
        self.given = given.last().map_or(self.given, |(id, _)| *id);
        let written = given.iter().filter(|(_, todo)| todo.class != Class::Conflict);
        self.classes.extend(written.map(|(_, todo)| (todo.place.offset, todo.class)));
        Ok(given.into_iter().map(|(_, todo)| todo).collect())
    }

    /// What a record given by [`Open::next_rows`] needs; `None` for one that wasn't, or that has been written.
    pub(super) fn class_of(&mut self, place: Place) -> Option<Class> {
        self.classes.remove(&place.offset)
    }

    /// Deletes or retires what the batch's delete records name.
    pub(super) fn delete(&self, connection: &Connection, run_id: Uuid) -> Result<u64> {
        if !self.plan.has_deletes {
            return Ok(0);
        }
        let render = self.render()?;
        let retire = render.retire();
        let run_id = run_id.hyphenated().to_string();
        let is_told = self.plan.tombstone.as_ref().is_some_and(|tombstone| tombstone.by.is_some());
        let steps = || {
            let mut delete = connection.prepare_cached(&retire.unwrap_or_else(|| render.delete()))?;
            let mut again = match render.retire_again() {
                Some(sql) => Some(connection.prepare_cached(&sql)?),
                None => None,
            };
            let mut named = connection.prepare_cached(&render.deletes())?;
            let count = named.column_count();
            let mut rows = named.raw_query();
            let mut deleted = 0;
            while let Some(row) = rows.next()? {
                let identity = (0..count).map(|at| row.get_ref(at)).collect::<Result<Vec<_>, _>>()?;
                bind(&mut delete, &identity)?;
                if is_told {
                    delete.raw_bind_parameter(count + 1, &run_id)?;
                }
                let taken = delete.raw_execute()? as u64;
                deleted += taken;
                if let Some(again) = again.as_mut().filter(|_| taken == 0) {
                    bind(again, &identity)?;
                    again.raw_execute()?;
                }
            }
            Ok(deleted)
        };
        steps().map_err(during(&format!("deleting from {}", self.plan.table)))
    }

    /// How many rows the run speaks for and the batch doesn't have.
    pub(super) fn missing(&self, connection: &Connection) -> Result<u64> {
        let Some(sql) = self.render()?.count_missing().filter(|_| self.facts.is_there) else { return Ok(0) };
        let doing = format!("looking for rows of {} that the batch doesn't have", self.plan.table);
        let counted = connection.query_row(&sql, params_from_iter(self.owner()), |row| row.get::<_, i64>(0));
        counted.map(|count| count as u64).map_err(during(&doing))
    }

    /// Deletes or retires them.
    pub(super) fn remove_missing(&self, connection: &Connection, run_id: Uuid) -> Result<u64> {
        let Some(sql) = self.render()?.remove_missing() else { return Ok(0) };
        let doing = format!("taking away rows of {} that the batch doesn't have", self.plan.table);
        let run_id = run_id.hyphenated().to_string();
        let is_told = self.plan.tombstone.as_ref().is_some_and(|tombstone| tombstone.by.is_some());
        let params = self.owner().chain(is_told.then_some(run_id.as_str()));
        let taken = connection.execute(&sql, params_from_iter(params));
        taken.map(|count| count as u64).map_err(during(&doing))
    }

    /// Brings the history up to the target.
    pub(super) fn keep_history(&self, connection: &Connection) -> Result<()> {
        let Some(steps) = self.render()?.keep_history()? else { return Ok(()) };
        let doing = format!("keeping the history of {}", self.plan.table);
        for sql in steps {
            connection.execute(&sql, []).map_err(during(&doing))?;
        }
        Ok(())
    }

    /// What is there of what the run speaks for.
    pub(super) fn survey(&self, connection: &Connection) -> Result<Survey> {
        let render = self.render()?;
        let Some(sql) = render.survey().or_else(|| render.returning()).filter(|_| self.facts.is_there) else {
            return Ok(Survey::default());
        };
        let read = |row: &rusqlite::Row<'_>| {
            let (standing, returning): (i64, i64) = (row.get(0)?, row.get(1)?);
            Ok(Survey { standing: standing as u64, returning: returning as u64 })
        };
        let doing = format!("counting rows of {}", self.plan.table);
        connection.query_row(&sql, params_from_iter(self.owner()), read).map_err(during(&doing))
    }

    /// As the columns hold them: a boolean is 1 or 0, and the texts of numbers become numbers by the column's affinity.
    pub(super) fn owner(&self) -> impl Iterator<Item = &str> {
        let owned = self.plan.scope.iter().flat_map(|scope| &scope.owner);
        owned.map(|owned| match (&self.plan.columns[owned.column].ty, owned.value.as_str()) {
            (Type::Boolean, "true") => "1",
            (Type::Boolean, "false") => "0",
            (_, value) => value,
        })
    }
}

/// Drops the temporary tables.
pub(super) fn close(connection: &Connection) -> Result<()> {
    connection.execute_batch(&render::drop_stage()).map_err(during("dropping the stage"))
}

/// Asks a query of the user's for one boolean.
pub(super) fn holds(connection: &Connection, query: &str) -> Result<bool> {
    let ask = || {
        let mut statement = connection.prepare(query)?;
        if !statement.readonly() {
            return Ok(None);
        }
        let mut rows = statement.query([])?;
        let Some(row) = rows.next()? else { return Ok(Some(false)) };
        let holds: Option<bool> = row.get(0)?;
        Ok(Some(holds.unwrap_or(false)))
    };
    let doing = "asking an assertion (`write.plausible.assert`)";
    ask().map_err(during(doing))?.ok_or_else(|| Error::refused(format!("{doing}: it writes; a query is due")))
}

/// The statements of a walk, and its counts.
struct Walk<'c> {
    scan: String,
    /// `None` when the target has no rows.
    look: Option<CachedStatement<'c>>,
    remember: CachedStatement<'c>,
    is_delete: Option<usize>,
    digest: Option<usize>,
    classified: Classified,
}

impl<'c> Walk<'c> {
    fn new(
        connection: &'c Connection,
        open: &Open,
        render: &Render<'_>,
        columns: &[StageColumn],
    ) -> rusqlite::Result<Self> {
        let has_rows =
            open.facts.is_there && connection.query_row(&render.has_rows(), [], |row| row.get(0))?;
        // One cell further on: the row id comes first.
        let at = |column| columns.iter().position(|has| *has == column).map(|at| at + 1);
        Ok(Self {
            scan: render.scan(),
            look: has_rows.then(|| connection.prepare_cached(&render.look(columns))).transpose()?,
            remember: connection.prepare_cached(&render::remember())?,
            is_delete: at(StageColumn::IsDelete),
            digest: at(StageColumn::Digest).filter(|_| open.plan.sender_id),
            classified: Classified::default(),
        })
    }

    /// Tells a record apart: its row id, then its cells. Nothing to tell before the first.
    fn tell(&mut self, record: &[ValueRef<'_>]) -> rusqlite::Result<()> {
        let Some((staged, cells)) = record.split_first() else { return Ok(()) };
        let there = match &mut self.look {
            Some(look) => look_at(look, cells)?,
            None => None,
        };
        let is_delete = self.is_delete.is_some_and(|at| record[at] == ValueRef::Integer(1));
        let class = match there {
            Some(class) => class,
            None if is_delete => class::UNCHANGED,
            None => class::NEW,
        };
        let found = &mut self.classified;
        let count = match class {
            class::NEW => &mut found.new,
            class::CHANGED => &mut found.changed,
            class::CONFLICT => &mut found.conflicts,
            class::STALE => &mut found.stale,
            class::DELETE => &mut found.deletes,
            _ => &mut found.unchanged,
        };
        *count += 1;
        if matches!(class, class::UNCHANGED | class::STALE) {
            return Ok(());
        }
        let digest = self.digest.map_or(ValueRef::Null, |at| record[at]);
        let Place { number, offset, len } = place(cells);
        let integer = |value: u64| ValueRef::Integer(value as i64);
        let remembered = [
            ValueRef::Integer(class),
            integer(number),
            integer(offset),
            integer(len.into()),
            *staged,
            digest,
        ];
        bind(&mut self.remember, &remembered)?;
        self.remember.raw_execute()?;
        Ok(())
    }
}

/// A record's class against the row that is there; `None` when there is none.
pub(super) fn look_at(
    look: &mut CachedStatement<'_>,
    cells: &[ValueRef<'_>],
) -> rusqlite::Result<Option<i64>> {
    bind(look, cells)?;
    look.raw_query().next()?.map(|row| row.get(0)).transpose()
}

fn is_same_identity(
    same: &mut CachedStatement<'_>,
    a: &[ValueRef<'_>],
    b: &[ValueRef<'_>],
) -> rusqlite::Result<bool> {
    bind(same, &[a, b].concat())?;
    same.raw_query().next()?.map_or(Ok(false), |row| row.get(0))
}

/// A place in three columns.
pub(super) fn place_at(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Place> {
    let integer = |at| row.get::<_, i64>(at);
    Ok(Place { number: integer(at)? as u64, offset: integer(at + 1)? as u64, len: integer(at + 2)? as u32 })
}
