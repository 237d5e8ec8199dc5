//! What a request becomes: an id, and a record.

use std::borrow::Cow;

use thiserror::Error;

use super::{Added, AddedFrom, EventId, Hook};
use crate::bad_record::BadRecord;
use crate::json::{Json, Kind, Tape};
use crate::webhook::{Headers, NoId, Refusal};

/// An event as it is taken from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The sender's id; `None` where events are told apart by their content.
    pub id: Option<String>,
    /// The record: the body as it came, with the added fields in front.
    pub record: Vec<u8>,
}

/// Why a request is no event. Shows nothing of it but what the JSON reader says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoEvent {
    /// There is no id.
    #[error("{}", told(.0))]
    Id(NoId),
    /// The body isn't strict JSON.
    #[error("the body can't be read: {0}")]
    Body(BadRecord),
    /// It is JSON, but no object.
    #[error("the body is {0}, and one JSON object is due: one event a request")]
    NotAnObject(&'static str),
    /// The body has a field of the name of one that is to be added.
    #[error(
        "the body has a field `{0}` of its own, and the hook adds one of that name; the receiver has to choose another under `hook.fields`"
    )]
    Taken(String),
    /// A header that a field is to hold can't be read.
    #[error("the field `{field}` can't be added: {refusal}")]
    Header {
        /// The field.
        field: String,
        /// What is wrong with the header.
        refusal: Refusal,
    },
}

fn told(no: &NoId) -> String {
    match no {
        NoId::Header(refusal) => format!("{no}: {refusal}"),
        no => no.to_string(),
    }
}

impl Hook {
    /// Takes the event out of a request. For requests that are verified: it reads the body.
    ///
    /// # Errors
    /// When there is no id where the sender puts it, or the body isn't one object to which the fields can be added.
    pub fn take(&self, headers: &Headers<'_>, body: &[u8]) -> Result<Taken, NoEvent> {
        let mut tape = Tape::default();
        let root = tape.scan(body).map_err(NoEvent::Body)?;
        if root.kind() != Kind::Object {
            return Err(NoEvent::NotAnObject(root.kind().noun()));
        }
        let id = match &self.event_id {
            EventId::Sender(from) => Some(from.read(headers, body).map_err(NoEvent::Id)?),
            EventId::Content => None,
        };
        let record = self.record(root, headers, id.as_deref())?;
        Ok(Taken { id, record })
    }

    fn record(&self, root: Json<'_>, headers: &Headers<'_>, id: Option<&str>) -> Result<Vec<u8>, NoEvent> {
        // The rest stays byte for byte: what the sender wrote is what is stored.
        let rest = root.raw().strip_prefix('{').unwrap_or_default();
        let mut record = String::with_capacity(rest.len() + 128 * self.added.len() + 1);
        record.push('{');
        for added in &self.added {
            if root.member(&added.name).is_some() {
                return Err(NoEvent::Taken(added.name.clone()));
            }
            if record.len() > 1 {
                record.push(',');
            }
            record.push_str(&quoted(&added.name));
            record.push(':');
            record.push_str(&added.json(root, headers, id)?);
        }
        if record.len() > 1 && root.members().next().is_some() {
            record.push(',');
        }
        record.push_str(rest);
        Ok(record.into_bytes())
    }
}

impl Added {
    /// The field's value, as JSON.
    fn json<'r>(
        &self,
        root: Json<'r>,
        headers: &Headers<'r>,
        id: Option<&'r str>,
    ) -> Result<Cow<'r, str>, NoEvent> {
        const NULL: Cow<'static, str> = Cow::Borrowed("null");
        let text = |text: Option<&str>| text.map_or(NULL, |text| quoted(text).into());
        match &self.from {
            AddedFrom::EventId => Ok(text(id)),
            AddedFrom::Header(name) => match headers.one(name) {
                Ok(value) => Ok(text(Some(value))),
                Err(Refusal::Missing(_)) => Ok(NULL),
                Err(refusal) => Err(NoEvent::Header { field: self.name.clone(), refusal }),
            },
            // As it is written there: a number keeps its digits.
            AddedFrom::Field(path) => {
                let found = path.iter().try_fold(root, |value, name| value.member(name));
                Ok(found.map_or(NULL, |value| value.raw().into()))
            }
        }
    }
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
