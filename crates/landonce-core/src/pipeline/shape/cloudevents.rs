//! CloudEvents 1.0, by its bindings for Kafka and NATS: structured (the value is the event) and binary (the value is the data, the
//! attributes are headers).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::write::quoted;
use super::{Message, text};
use crate::bad_record::{BadKind, BadRecord, shorten};
use crate::json::{Json, Kind};

/// What an event must have, beside its version.
const REQUIRED: [&str; 3] = ["id", "source", "type"];
/// What the headers of attributes begin with, in Kafka and in NATS.
const PREFIXES: [&str; 2] = ["ce_", "ce-"];

/// An event that has been found in order.
pub(super) struct Event<'t> {
    /// In binary mode the attributes are headers.
    pub(super) is_binary: bool,
    /// The data; `None` where binary mode has no value, or where the data were text in base64.
    pub(super) data: Option<Json<'t>>,
    whole: Option<Json<'t>>,
}

/// Whether the value is the event itself.
pub(super) fn is_structured(message: &Message<'_>) -> bool {
    content_type(message).is_some_and(|found| found.starts_with("application/cloudevents"))
        || header(message, "specversion").is_none()
}

fn content_type(message: &Message<'_>) -> Option<String> {
    message.header("content-type").map(|bytes| String::from_utf8_lossy(bytes).trim().to_ascii_lowercase())
}

fn header<'a>(message: &Message<'a>, attribute: &str) -> Option<&'a [u8]> {
    PREFIXES.iter().find_map(|prefix| message.header(&format!("{prefix}{attribute}")))
}

/// Opens an event. Data in base64 (and none at all) become `data`, as the text of their JSON.
pub(super) fn open<'t>(
    message: &Message<'_>,
    value: Option<Json<'t>>,
    data: &mut Vec<u8>,
) -> Result<Event<'t>, BadRecord> {
    let is_binary = !is_structured(message);
    let event = Event { is_binary, data: value.filter(|_| is_binary), whole: value.filter(|_| !is_binary) };
    if !is_binary {
        if let Some(found) = content_type(message)
            && found.starts_with("application/cloudevents")
        {
            let name = found.split(';').next().unwrap_or_default().trim();
            if name == "application/cloudevents-batch+json" {
                return Err(refused("a batch of events in one message; one event a message is due"));
            }
            if name != "application/cloudevents+json" {
                return Err(refused(&format!(
                    "`{}` isn't read; application/cloudevents+json is",
                    shorten(name)
                )));
            }
        }
        let Some(whole) = value else {
            return Ok(Event { is_binary: true, ..event }); // a tombstone
        };
        if whole.kind() != Kind::Object {
            return Err(refused(&format!("found {}, a CloudEvent is due", whole.kind().noun())));
        }
    }
    match event.text(message, "specversion")? {
        Some(version) if version == "1.0" => {}
        Some(version) => {
            return Err(refused(&format!("`specversion` is `{}`; 1.0 is read", shorten(&version))));
        }
        None => return Err(refused("it is no CloudEvent: `specversion` is absent")),
    }
    for name in REQUIRED {
        if event.text(message, name)?.is_none_or(|text| text.is_empty()) {
            let detail = "a CloudEvent has it, and it isn't empty";
            return Err(BadRecord::new(BadKind::Syntax, name, detail));
        }
    }
    let Some(whole) = event.whole else { return Ok(event) };
    match (whole.member("data"), whole.member("data_base64")) {
        (Some(_), Some(_)) => Err(refused("`data` and `data_base64` at once")),
        (Some(json), None) if json.kind() != Kind::Null => Ok(Event { data: Some(json), ..event }),
        (_, Some(encoded)) => {
            let bytes = encoded.string().and_then(|text| STANDARD.decode(text.as_bytes()).ok());
            *data =
                bytes.ok_or_else(|| BadRecord::new(BadKind::Encoding, "data_base64", "it isn't base64"))?;
            Ok(event)
        }
        (_, None) => {
            data.extend_from_slice(b"{}"); // an event may be all attributes
            Ok(event)
        }
    }
}

impl Event<'_> {
    /// An attribute, as JSON.
    pub(super) fn attribute(
        &self,
        message: &Message<'_>,
        name: &str,
    ) -> Result<Option<Cow<'static, str>>, BadRecord> {
        if let Some(whole) = self.whole {
            let found = whole.member(name).filter(|value| value.kind() != Kind::Null);
            return Ok(found.map(|value| value.raw().to_owned().into()));
        }
        let found = header(message, name).map(|bytes| text(bytes, &format!("ce_{name}"))).transpose()?;
        // Kafka's binding: in binary mode the content type of the data is its header of that name.
        let found = match (found, name) {
            (None, "datacontenttype") => {
                message.header("content-type").map(|bytes| text(bytes, name)).transpose()?
            }
            (found, _) => found,
        };
        Ok(found.map(|found| quoted(found).into()))
    }

    fn text(&self, message: &Message<'_>, name: &str) -> Result<Option<String>, BadRecord> {
        let Some(whole) = self.whole else {
            return Ok(header(message, name).map(|bytes| text(bytes, name)).transpose()?.map(str::to_owned));
        };
        let Some(value) = whole.member(name) else { return Ok(None) };
        let text = value.string().ok_or_else(|| {
            BadRecord::new(
                BadKind::WrongType,
                name,
                format!("found {}, a string is due", value.kind().noun()),
            )
        })?;
        Ok(Some(text.into_owned()))
    }
}

fn refused(detail: &str) -> BadRecord {
    BadRecord::new(BadKind::Syntax, "", detail)
}
