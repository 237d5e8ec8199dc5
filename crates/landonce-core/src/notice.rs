//! Notices: what a real change of a row becomes for others to hear of, as the pipeline's `notify:` says.
//!
//! A [`Teller`] is a pipeline held against a plan. It is given changes as the database tells them, and makes the messages: pure
//! text, a function of the change alone. No time and no run stands in a message, so that a change which is met again, by whichever
//! run, is the same message.

mod anew;
mod bound;
mod render;
mod row;

use uuid::Uuid;

use crate::canonical::Exclusions;
use crate::message;
use crate::pipeline::Pipeline;
use crate::plan::TablePlan;
use crate::spec::ChangeKind;

use bound::{Bound, Entity};
use row::{Row, quoted};

/// What really happened to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The hashed key as text ([`crate::plan::Match::Key`]); empty where columns are the key.
    pub key: String,
    /// The row's revision after the change; of a row that is gone, the last that it had.
    pub revision: i64,
    /// The old row as a JSON array of the plan's columns, in order; `None` for one that is new.
    pub old: Option<String>,
    /// The new row in the same form; `None` for one that is gone.
    pub new: Option<String>,
}

/// A message about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it is known by.
    pub id: Uuid,
    /// The topic.
    pub topic: String,
    /// The lane of its ordering key.
    pub lane: Uuid,
    /// The ordering key as text, where it isn't the entity.
    pub ordering: Option<String>,
    /// What it is about, as a JSON object.
    pub entity: String,
    /// What is sent: a JSON text.
    pub payload: String,
}

/// In which batch, and in which of its rounds, a change was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occasion<'a> {
    /// The batch's inbox key.
    pub batch: &'a [u8],
    /// The round, from 1.
    pub round: u64,
}

/// A pipeline's notifications over the columns of a plan.
#[derive(Debug, Clone)]
pub struct Teller {
    pipeline: String,
    columns: Vec<row::Column>,
    /// The names of the columns, and the same as JSON.
    plain_names: Vec<String>,
    names: Vec<String>,
    entity: Entity,
    except: Exclusions,
    /// Rows may go and come again, so that a revision is counted from 1 anew.
    begins_anew: bool,
    notices: Vec<Bound>,
}

impl Teller {
    /// A pipeline's notifications over a plan.
    ///
    /// # Errors
    /// What is wrong, in a sentence: a column that isn't there, with the nearest that is.
    pub fn new(pipeline: &Pipeline, plan: &TablePlan) -> Result<Self, String> {
        let entity = Entity::of(pipeline, plan);
        Ok(Self {
            pipeline: pipeline.name().to_owned(),
            columns: row::Column::all(plan),
            plain_names: plan.columns.iter().map(|column| column.name.clone()).collect(),
            names: plan.columns.iter().map(|column| quoted(&column.name)).collect(),
            notices: bound::all(pipeline, plan, &entity)?,
            entity,
            except: pipeline.digest_exclusions(),
            begins_anew: anew::may(pipeline, plan),
        })
    }

    /// What the messages about a row are about, as they have it: a JSON object. The row is a JSON array of the plan's columns, in order;
    /// `key` is its hashed key as text.
    ///
    /// # Errors
    /// When the row isn't what it should be.
    pub fn entity(&self, key: &str, row: &str) -> Result<String, String> {
        let mut tape = crate::json::Tape::default();
        Ok(self.entity.write(&Row::read(&mut tape, row, &self.columns)?, key))
    }

    /// The messages of a change, in the order in which the pipeline declares them; none where nobody asks for it.
    ///
    /// # Errors
    /// When the rows aren't what [`Change`] says they are.
    pub fn tell(&self, change: &Change, on: Occasion<'_>) -> Result<Vec<Notice>, String> {
        let (mut old_tape, mut new_tape) = (crate::json::Tape::default(), crate::json::Tape::default());
        let old =
            change.old.as_deref().map(|text| Row::read(&mut old_tape, text, &self.columns)).transpose()?;
        let new =
            change.new.as_deref().map(|text| Row::read(&mut new_tape, text, &self.columns)).transpose()?;
        let is_leaving = matches!(change.kind, ChangeKind::Retired | ChangeKind::Deleted);
        let (first, second) = if is_leaving { (&old, &new) } else { (&new, &old) };
        let Some(about) = first.as_ref().or(second.as_ref()) else {
            return Err("a change has neither an old nor a new row".to_owned());
        };
        let told = render::Told {
            teller: self,
            change,
            entity: self.entity.write(about, &change.key),
            changed: self.changed(old.as_ref(), new.as_ref()),
            old: old.as_ref(),
            new: new.as_ref(),
            about,
        };
        let mut notices = Vec::new();
        let mut mark = None;
        for notice in &self.notices {
            if !notice.is_asked_for(&told) {
                continue;
            }
            let mark = mark.get_or_insert_with(|| self.mark(&told, on));
            let ordering = notice.lane.ordering(about, &self.names);
            let lane = ordering.as_ref().unwrap_or(&told.entity);
            notices.push(Notice {
                id: message::id(&self.pipeline, &notice.topic, &told.entity, mark.as_slice()),
                lane: message::lane(&notice.topic, lane),
                topic: notice.topic.clone(),
                payload: told.payload(notice),
                entity: told.entity.clone(),
                ordering,
            });
        }
        Ok(notices)
    }

    /// The columns whose values differ; none where there is no old or no new row, and never one that changes per attempt.
    fn changed(&self, old: Option<&Row<'_>>, new: Option<&Row<'_>>) -> Vec<usize> {
        let (Some(old), Some(new)) = (old, new) else { return Vec::new() };
        (0..self.columns.len()).filter(|at| !self.columns[*at].is_volatile && old.differs(new, *at)).collect()
    }

    /// What tells this change of an entity from every other of its changes.
    fn mark(&self, told: &render::Told<'_>, on: Occasion<'_>) -> Vec<u8> {
        let change = told.change;
        anew::mark(
            change.kind,
            change.revision,
            &[told.old, told.new].map(|row| row.map(|row| row.content(&self.columns, &self.except))),
            self.begins_anew.then_some(on),
        )
    }
}

#[cfg(test)]
mod tests;
