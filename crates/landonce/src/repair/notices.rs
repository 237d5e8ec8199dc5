//! Notices that should not have gone out: found in the outbox, and corrected by one message per recipient that names them all.
//!
//! Two kinds are found. A notice was *sent twice* when the one sent before it about the same subject said the same (A to B to A
//! is three different things). It was *sent in error* when it is about a row that the table hasn't got, and nobody was told of
//! the row's end: after copies were deleted, say. A correction's id is made of the ids that it names, and what it names is
//! marked in its transaction, so that nothing is corrected twice.

use std::collections::BTreeMap;

use landonce_core::message;
use landonce_store::outbox::Message;
use landonce_store::repair::notices::{Correct, Search, Wrong};
use landonce_store::seam::Access;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;

use super::report::Status;
use super::{Notices, Options, refused};
use crate::error::Error;
use crate::failpoint;

/// Who enqueues corrections.
const PRODUCER: &str = "landonce repair notices";

/// What was found, and what was done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoticesReport {
    /// What became of it.
    pub status: Status,
    /// The topic.
    pub topic: String,
    /// Notices that said what the one before had said.
    pub twice: u64,
    /// Notices about rows that aren't there.
    pub in_error: u64,
    /// Notices about something that isn't told by the table's columns, so that nothing is said of them.
    pub not_judged: u64,
    /// One for each recipient.
    pub corrections: Vec<Correction>,
}

/// A correction, as it is or would be enqueued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Correction {
    /// Its id: of the ids that it names.
    pub id: String,
    /// Who is told.
    pub recipient: Option<String>,
    /// How many notices it names.
    pub names: u64,
    /// The first of them.
    pub first: Vec<CorrectedNotice>,
}

/// A notice that a correction names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CorrectedNotice {
    /// Its id.
    pub id: String,
    /// What it is about, as JSON.
    #[serde(serialize_with = "as_it_is")]
    pub entity: String,
    /// What it said had happened.
    pub kind: String,
    /// When its receiver took it.
    pub sent_at: String,
    /// `sent_twice` or `no_such_row`.
    pub reason: &'static str,
    /// The notice that had said the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
}

/// Looks, and enqueues corrections if that is asked.
pub(crate) async fn notices<C: Correct>(
    mut connection: C,
    notices: &Notices,
    options: &Options,
    access: Access,
) -> Result<NoticesReport, Error> {
    if !connection.has_outbox().await? {
        return Err(refused("there is no outbox here: nothing was ever enqueued in this database"));
    }
    if access == Access::Write {
        connection.migrate().await?;
    }
    connection.begin(access).await?;
    let done = in_transaction(&mut connection, notices, options, access).await;
    match done {
        Ok(report) if report.status == Status::Applied => {
            if let Some(at_commit) = &options.at_commit {
                at_commit();
            }
            connection.commit().await?;
            Ok(report)
        }
        done => {
            connection.rollback().await;
            done
        }
    }
}

async fn in_transaction<C: Correct>(
    connection: &mut C,
    notices: &Notices,
    options: &Options,
    access: Access,
) -> Result<NoticesReport, Error> {
    let search = &notices.search;
    if access == Access::Write {
        connection.alone(&search.topic).await?;
    }
    let twice = connection.twice(search).await?;
    let (mut baseless, mut not_judged) = (Vec::new(), 0);
    if let Some(pipeline) = &notices.pipeline {
        let table = &pipeline.declared().target().table;
        (baseless, not_judged) = connection.baseless(search, pipeline.name(), table).await?;
        // What is wrong for both reasons is named once.
        let known: std::collections::HashSet<_> = twice.iter().map(|wrong| wrong.id).collect();
        baseless.retain(|wrong| !known.contains(&wrong.id));
    }
    let (count_twice, in_error) = (twice.len() as u64, baseless.len() as u64);
    let mut recipients: BTreeMap<Option<String>, Vec<Wrong>> = BTreeMap::new();
    for wrong in twice.into_iter().chain(baseless) {
        recipients.entry(wrong.recipient.clone()).or_default().push(wrong);
    }
    let mut corrections = Vec::new();
    for (recipient, mut named) in recipients {
        named.sort_by_key(|wrong| wrong.seq);
        let correction = correction(search, recipient.as_deref(), &named)?;
        if access == Access::Write {
            let ids: Vec<_> = named.iter().map(|wrong| wrong.id).collect();
            connection.correct(&correction, &ids).await?;
            failpoint::at("repair_changed");
        }
        corrections.push(Correction {
            id: correction.id.to_string(),
            recipient,
            names: named.len() as u64,
            first: named.iter().take(options.examples).map(shown).collect(),
        });
    }
    let status = match (corrections.is_empty(), access) {
        (true, _) => Status::Clean,
        (false, Access::ReadOnly) => Status::Planned,
        (false, Access::Write) => Status::Applied,
    };
    Ok(NoticesReport {
        status,
        topic: search.topic.clone(),
        twice: count_twice,
        in_error,
        not_judged,
        corrections,
    })
}

/// The message that names them all. It says nothing of when or by whom it was made: the same notices give the same message.
fn correction(search: &Search, recipient: Option<&str>, named: &[Wrong]) -> Result<Message, Error> {
    let topic = &search.topic;
    let entity = json!({ "topic": topic, "recipient": recipient }).to_string();
    let mut change = Vec::with_capacity(named.len() * 16);
    for wrong in named {
        change.extend_from_slice(wrong.id.as_bytes());
    }
    let notices: Vec<CorrectedNotice> = named.iter().map(shown).collect();
    let kind = "correction";
    let payload = Payload { r#type: format!("{topic}.{kind}"), topic, kind, recipient, notices };
    let payload = serde_json::to_string(&payload).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Message {
        id: message::id(PRODUCER, topic, &entity, &change),
        producer: PRODUCER.to_owned(),
        topic: topic.clone(),
        lane: message::lane(topic, &entity),
        ordering: None,
        entity,
        kind: kind.to_owned(),
        payload,
        run_id: None,
    })
}

/// What a receiver gets.
#[derive(Serialize)]
struct Payload<'a> {
    r#type: String,
    topic: &'a str,
    kind: &'a str,
    recipient: Option<&'a str>,
    notices: Vec<CorrectedNotice>,
}

/// A JSON text inside JSON, digit by digit; one that isn't JSON is a text.
fn as_it_is<S: Serializer>(json: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match serde_json::from_str::<&RawValue>(json) {
        Ok(raw) => raw.serialize(serializer),
        Err(_) => serializer.serialize_str(json),
    }
}

fn shown(wrong: &Wrong) -> CorrectedNotice {
    CorrectedNotice {
        id: wrong.id.to_string(),
        entity: wrong.entity.clone(),
        kind: wrong.kind.clone(),
        sent_at: wrong.sent_at.clone(),
        reason: if wrong.repeats.is_some() { "sent_twice" } else { "no_such_row" },
        repeats: wrong.repeats.map(|id| id.to_string()),
    }
}
