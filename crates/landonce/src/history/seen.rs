//! What the database says of an identity, on one connection: its row, its events, the batch of the row's run.

use landonce_core::identity::Key;
use landonce_core::pipeline::Pipeline as Declared;
use landonce_core::plan::{self, Guard, TablePlan};
use landonce_store::inbox::{Settled, subject};
use landonce_store::reads::{Reads, Rows};
use uuid::Uuid;

use super::asked::{Candidate, candidates};
use super::{Cell, Standing};
use crate::error::Error;
use crate::store::any_period;

/// How many events of one record are told.
const EVENTS: usize = 1000;
/// How many batches of the row's run are looked at.
const OF_RUN: usize = 20;

/// What was seen.
pub(crate) struct Seen {
    /// How records become rows of the table.
    pub(crate) plan: TablePlan,
    candidates: Vec<Candidate>,
    /// Which of the candidates it is.
    chosen: usize,
    /// A row or an event has shown that it is this one.
    pub(crate) is_certain: bool,
    rows: Option<Rows>,
    /// The events about it, oldest first.
    pub(crate) events: Vec<Settled>,
    /// There may be more of them.
    pub(crate) are_all_events: bool,
    /// The pipeline's batches that the row's run has landed.
    pub(crate) of_run: Vec<Settled>,
}

/// Looks.
pub(crate) async fn see<C: Reads>(
    session: &mut C,
    declared: &Declared,
    given: &[(String, String)],
) -> Result<Seen, Error> {
    let declared = any_period(declared)?;
    let shape = session.shape(&declared.target().table).await?;
    let plan = plan::resolve(&declared, shape.as_ref())?;
    let candidates = candidates(&declared, &plan, given)?;
    let mut seen = Seen {
        plan,
        candidates,
        chosen: 0,
        is_certain: false,
        rows: None,
        events: Vec::new(),
        are_all_events: true,
        of_run: Vec::new(),
    };
    for (at, candidate) in seen.candidates.iter().enumerate() {
        let rows = session.rows(&seen.plan, &candidate.equal, 1).await?.filter(|rows| !rows.rows.is_empty());
        let about = Uuid::from_bytes(subject(declared.name(), &candidate.key.0));
        let events = session.batches_about(about, EVENTS).await?;
        if rows.is_some() || !events.is_empty() {
            (seen.chosen, seen.is_certain) = (at, true);
            seen.are_all_events = events.len() < EVENTS;
            (seen.rows, seen.events) = (rows, events);
            seen.events.reverse();
            break;
        }
    }
    if let Some(run_id) = seen.standing().and_then(|row| row.run_id) {
        let of_run = session.batches_of_run(run_id, OF_RUN).await?;
        seen.of_run = of_run.into_iter().filter(|one| one.pipeline == declared.name()).collect();
    }
    Ok(seen)
}

impl Seen {
    /// The identity.
    pub(crate) fn candidate(&self) -> &Candidate {
        &self.candidates[self.chosen]
    }

    /// The keys that it may have: one, where anything has shown which.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        let all = if self.is_certain {
            std::slice::from_ref(&self.candidates[self.chosen])
        } else {
            self.candidates.as_slice()
        };
        all.iter().map(|one| one.key)
    }

    fn cell(&self, column: &str) -> Option<&str> {
        let rows = self.rows.as_ref()?;
        let at = rows.columns.iter().position(|name| name == column)?;
        Some(rows.rows.first()?.get(at)?.as_str())
    }

    /// The row as it is now.
    pub(crate) fn standing(&self) -> Option<Standing> {
        let rows = self.rows.as_ref()?;
        let row = rows.rows.first()?;
        let plain = |column: &Option<String>| {
            let json = self.cell(column.as_deref()?)?;
            (json != "null").then(|| json.trim_matches('"').to_owned())
        };
        Some(Standing {
            run_id: plain(&self.plan.run_id).and_then(|text| Uuid::try_parse(&text).ok()),
            revision: plain(&self.plan.revision).and_then(|text| text.parse().ok()),
            retired_at: plain(&self.plan.tombstone.as_ref().map(|tombstone| tombstone.at.clone())),
            columns: rows
                .columns
                .iter()
                .zip(row)
                .map(|(column, json)| Cell { column: column.clone(), json: json.clone() })
                .collect(),
        })
    }

    /// The digest that stands in the row, in hex, where the table has one.
    pub(crate) fn digest(&self) -> Option<String> {
        let Guard::Digest { column } = &self.plan.guard else { return None };
        let text: String = serde_json::from_str(self.cell(column)?).ok()?;
        text.strip_prefix("\\x").map(str::to_owned)
    }

    /// The plan's columns of the row, as a JSON array; of a row that isn't there, what the identity tells of them.
    pub(crate) fn row_json(&self) -> String {
        let own = &self.candidate().json;
        let values: Vec<&str> = self
            .plan
            .columns
            .iter()
            .zip(own)
            .map(|(column, own)| self.cell(&column.name).unwrap_or(own))
            .collect();
        format!("[{}]", values.join(","))
    }
}
