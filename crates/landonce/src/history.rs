//! History: why a row is as it is (`landonce why`). Every delivery of one identity that can be known, oldest first, each with what was
//! decided and how that is known; and, in words, what can't be known.
//!
//! Nothing is recorded for this beside what is there anyway: the row's own run and revision, the inbox, the archive's bytes, the
//! quarantine, the outbox. What a batch of many records decided about one of them is in none of these: it is decided again here, by
//! the rules of the write modes over the archived bytes in the order in which they landed (`history/decide.rs`), and held against the
//! counts that the inbox keeps and the row as it is.

mod archived;
mod asked;
mod content;
mod decide;
mod report;
mod seen;
mod show;

use landonce_core::notice::Teller;
use landonce_core::plan::{KeyForm, Match};
use landonce_store::outbox::Which;

use crate::error::Error;
use crate::pipeline::Pipeline;
use crate::store::{Pending, Store};
use archived::Archived;
use asked::IdentityReader;
use decide::Walk;
pub use report::{Cell, Decision, Delivery, Field, History, Kept, KnownBy, Message, Standing};
pub(crate) use seen::{Seen, see};

/// How many quarantine entries are looked through.
const KEPT: usize = 10_000;
/// How many messages are told.
const MESSAGES: usize = 100;

impl Pipeline {
    /// Why the row of an identity is as it is. The identity is given as its fields' texts, each read as the pipeline's columns say; a
    /// field without a type is taken as a text and, where it looks like one, as a JSON number or boolean: whichever is there.
    ///
    /// Writes nothing. Reads the newest archived batches, up to a thousand of them or a gibibyte.
    ///
    /// # Errors
    /// When a field of the identity is missing, isn't one, or can't be read as its type; when the store or the archive can't be reached.
    pub fn history<'a>(&'a self, store: &'a Store, identity: &'a [(String, String)]) -> Pending<'a, History> {
        Box::pin(async move {
            let seen = store.seen(self, identity).await?;
            let mut archived = if self.declared().archive().is_some() {
                archived::read(self, store, &seen).await?
            } else {
                Archived::none(self.name())
            };
            let mut kept = store.quarantine(Some(self.name()), KEPT).await?;
            let mut unknown = std::mem::take(&mut archived.unknown);
            if kept.len() == KEPT {
                unknown
                    .push(format!("Of the quarantine, the newest {KEPT} open records were looked through."));
            }
            if !seen.are_all_events {
                unknown.push(format!("Of its events, the newest {} are listed.", seen.events.len()));
            }
            let mut reader = IdentityReader::new(self.declared(), &seen.plan, true);
            kept.retain(|entry| {
                reader.key_of(&entry.raw).is_some_and(|key| seen.keys().any(|one| one == key))
            });
            let key = archived.key.filter(|_| !seen.is_certain).unwrap_or(seen.candidate().key);
            let row = seen.standing();
            let mut walk = Walk::new(self.declared(), &seen.plan);
            let mut deliveries = walk.over(&archived, &seen.events);
            standing_run(&mut deliveries, &seen, row.as_ref(), &mut unknown);
            walk.check(row.as_ref(), seen.digest().as_deref(), &deliveries, &mut unknown);
            let messages = match entity(self, &seen, &key.to_text(form(&seen)))? {
                Some(entity) => {
                    let which = Which { entity: Some(entity), ..Which::default() };
                    store.outbox().messages(&which, MESSAGES).await?
                }
                None => Vec::new(),
            };
            unknown.push(
                "A delivery that was skipped because its batch had landed before writes nothing, so none is listed.".to_owned(),
            );
            Ok(History {
                pipeline: self.name().to_owned(),
                table: seen.plan.table.to_string(),
                identity: identity
                    .iter()
                    .map(|(field, text)| Field { field: field.clone(), text: text.clone() })
                    .collect(),
                key: key.to_text(KeyForm::Hex),
                key_uuid: key.to_uuid(),
                row,
                deliveries,
                kept: kept.into_iter().map(Kept::from).collect(),
                messages: messages
                    .into_iter()
                    .filter(|entry| entry.message.producer == self.name())
                    .map(Message::from)
                    .collect(),
                unknown,
            })
        })
    }
}

fn form(seen: &Seen) -> KeyForm {
    match seen.plan.matching {
        Match::Key { form, .. } => form,
        Match::Columns(_) => KeyForm::Uuid,
    }
}

/// What the identity's messages are about; `None` where nothing is told.
fn entity(pipeline: &Pipeline, seen: &Seen, key: &str) -> Result<Option<String>, Error> {
    if pipeline.declared().notifications().is_empty() {
        return Ok(None);
    }
    let teller = Teller::new(pipeline.declared(), &seen.plan).map_err(Error::declaration)?;
    teller.entity(key, &seen.row_json()).map(Some).map_err(Error::internal)
}

/// The batch of the run that the row names, where nothing else has told of it.
fn standing_run(
    deliveries: &mut Vec<Delivery>,
    seen: &Seen,
    row: Option<&Standing>,
    unknown: &mut Vec<String>,
) {
    let Some((row, run_id)) = row.and_then(|row| Some((row, row.run_id?))) else { return };
    if !deliveries.iter().any(|delivery| delivery.run_id == run_id) {
        if let [settled] = seen.of_run.as_slice() {
            let by_revision = match row.revision {
                _ if row.retired_at.is_some() => Some(Decision::Retired),
                Some(1) => Some(Decision::Inserted),
                Some(_) => Some(Decision::Updated),
                None => None,
            };
            deliveries.push(Delivery {
                decided: Decision::of_all(&settled.outcome).or(by_revision),
                ..Delivery::of(settled, KnownBy::Run)
            });
            // Of one moment by their runs, whose ids tell the time more finely.
            deliveries.sort_by(|one, other| (&one.at, one.run_id).cmp(&(&other.at, other.run_id)));
        } else {
            unknown.push(match seen.of_run.len() {
                0 => format!(
                    "The row was last changed by run {run_id}, of which the inbox of this pipeline knows no batch: another program, or \
                     another pipeline, has written it."
                ),
                some => format!("The row was last changed by run {run_id}, which landed {some} batches; which of them it was isn't known."),
            });
        }
    }
    let last = deliveries
        .iter_mut()
        .rev()
        .find(|delivery| delivery.run_id == run_id && delivery.decided.is_none_or(Decision::is_change));
    if let Some(last) = last {
        last.is_standing = true;
    }
}
