//! Events as they are read: key, digest and values, before any SQL. One that is bad fails here, by itself.

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::identity::Key;
use landonce_core::pipeline::{IdentityFrom, Pipeline};
use landonce_core::plan::{KeyForm, Match, TablePlan};
use landonce_core::record::{RecordReader, Row, Wanted};
use landonce_core::value::Value;
use landonce_store::inbox::{self, Claim};
use landonce_store::seam::Place;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::error::{Error, Located, Repr};
use crate::events::Event;
use crate::ingest::build;

/// An event that is ready to land.
#[derive(Debug)]
pub(super) struct Ready {
    /// Which of the events given it is.
    pub(super) at: usize,
    pub(super) claim: Claim,
    pub(super) key: Key,
    /// The SHA-256 of its body on one line, as it is claimed where it can't be read.
    pub(super) bytes: [u8; 32],
    /// The values of [`TablePlan::row_columns`].
    pub(super) values: Vec<Value<'static>>,
}

/// A body on one line. Line ends are white space between a JSON text's parts, and no part of anything inside.
pub(super) fn line(body: &[u8]) -> Vec<u8> {
    body.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

/// Reads events of one pipeline for one plan.
pub(super) struct Reader<'p> {
    pipeline: &'p Pipeline,
    plan: &'p TablePlan,
    records: RecordReader,
}

impl<'p> Reader<'p> {
    pub(super) fn new(pipeline: &'p Pipeline, plan: &'p TablePlan) -> Self {
        let records = RecordReader::new(pipeline, plan, false).keyed().digesting();
        Self { pipeline, plan, records }
    }

    /// Reads the event. Its run is named here, once for all attempts.
    pub(super) fn read(&mut self, at: usize, event: &Event, run_id: Uuid) -> Result<Ready, BadRecord> {
        let most = self.pipeline.source().max_record;
        if event.body.len() as u64 > most {
            return Err(BadRecord::new(
                BadKind::TooLarge,
                "",
                format!("{} bytes, and {most} are allowed (`source.max_record`)", event.body.len()),
            ));
        }
        let mut row = self.records.read(&event.body, Wanted::Row)?;
        let (Some(key), Some(content)) = (row.key, row.digest) else {
            return Err(BadRecord::new(BadKind::AbsentKey, "", "the record has no identity"));
        };
        let digest = if row.is_delete { as_delete(&content) } else { content };
        let is_sender_id = matches!(self.pipeline.identity().from, IdentityFrom::SenderId(_));
        let batch_id = event.id.clone().unwrap_or_else(|| {
            // The digest leaves the sender's id out (G3), and two events that differ in it are two.
            hex::encode(if is_sender_id { of_key(&key, &digest) } else { digest })
        });
        let claim = Claim {
            pipeline: self.pipeline.name().to_owned(),
            batch_id,
            digest,
            run_id,
            source: event.source.clone(),
            subject: Some(inbox::subject(self.pipeline.name(), &key.0)),
        };
        let bytes = Sha256::digest(line(&event.body)).into();
        Ok(Ready { at, claim, key, bytes, values: values(self.plan, &mut row) })
    }
}

/// The failure of an event that is bad, in the words of a batch's.
pub(super) fn bad(event: &Event, bad: BadRecord) -> Error {
    let found = vec![Located { number: 1, bad }];
    Repr::BadRecords { source_name: event.source.clone(), found, total: 1 }.into()
}

fn values(plan: &TablePlan, row: &mut Row<'_>) -> Vec<Value<'static>> {
    let form = match plan.matching {
        Match::Key { form, .. } => form,
        Match::Columns(_) => KeyForm::Bytes,
    };
    let nowhere = Place { number: 1, offset: 0, len: 0 };
    let columns = plan.row_columns().into_iter();
    columns.map(|column| build::value(column, row, form, nowhere).into_owned()).collect()
}

/// A put and a delete of one content are two things.
fn as_delete(content: &[u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update(b"delete").chain_update(content).finalize().into()
}

fn of_key(key: &Key, digest: &[u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update(key.0).chain_update(digest).finalize().into()
}
