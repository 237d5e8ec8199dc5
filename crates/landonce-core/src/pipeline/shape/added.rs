//! The fields that a record gets beside its own: from the message, its headers, its key, its envelope.

use std::borrow::Cow;

use super::cloudevents::Event;
use super::write::quoted;
use super::{Message, text};
use crate::bad_record::{BadKind, BadRecord};
use crate::json::Json;
use crate::time;

/// A field that is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) from: From,
}

/// What it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum From {
    Topic,
    Partition,
    Offset,
    Timestamp,
    Key,
    Header(String),
    Path(Vec<String>),
    Attribute(String),
}

/// What there is to take from, beside the value.
pub(super) struct Seen<'m, 't> {
    pub(super) message: &'m Message<'m>,
    pub(super) key: Option<&'m Json<'t>>,
    pub(super) event: Option<&'m Event<'t>>,
    pub(super) key_is_text: bool,
}

const NULL: Cow<'static, str> = Cow::Borrowed("null");

impl Field {
    /// It can be told of a message without a value.
    pub(super) fn is_outside(&self) -> bool {
        !matches!(self.from, From::Path(_))
    }

    /// The value, as JSON.
    pub(super) fn value<'t>(
        &self,
        seen: &Seen<'_, 't>,
        whole: Option<Json<'t>>,
    ) -> Result<Cow<'t, str>, BadRecord> {
        let message = seen.message;
        Ok(match &self.from {
            From::Topic => quoted(message.topic).into(),
            From::Partition => quoted(message.part).into(),
            From::Offset => message.offset.to_string().into(),
            From::Timestamp => match message.timestamp_ms {
                None => NULL,
                Some(ms) => instant(ms)?.into(),
            },
            From::Key => match (seen.key, message.key) {
                (Some(key), _) => key.raw().into(),
                (None, Some(bytes)) if seen.key_is_text => quoted(text(bytes, "key")?).into(),
                (None, _) => NULL,
            },
            From::Header(name) => match message.header(name) {
                None => NULL,
                Some(bytes) => quoted(text(bytes, &format!("header {name}"))?).into(),
            },
            From::Path(path) => {
                let found =
                    whole.and_then(|whole| path.iter().try_fold(whole, |value, name| value.member(name)));
                found.map_or(NULL, |value| value.raw().into())
            }
            From::Attribute(name) => match seen.event {
                None => NULL,
                Some(event) => event.attribute(message, name)?.unwrap_or(NULL),
            },
        })
    }
}

/// Milliseconds since 1970 as the JSON of an instant.
fn instant(ms: i64) -> Result<String, BadRecord> {
    let fits = ms.checked_mul(1000).filter(|_| (-62_135_596_800_000..253_402_300_800_000).contains(&ms));
    let Some(micros) = fits else {
        let detail = format!("{ms} ms lie outside the years 1 to 9999");
        return Err(BadRecord::new(BadKind::OutOfRange, "timestamp", detail));
    };
    let mut text = String::from("\"");
    time::write_timestamptz(micros, &mut text);
    text.push('"');
    Ok(text)
}
