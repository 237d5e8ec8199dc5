//! Where a sender puts the id of an event: what a repeat is recognised by.

use thiserror::Error;

use super::standard::Names;
use super::{Headers, Refusal};
use crate::bad_record::BadRecord;
use crate::json::{Json, Kind, Tape};

/// The longest id that is taken, in bytes.
pub const LONGEST_ID: usize = 255;

/// Where the event's id is. Preset by [`super::Scheme::event_id`]; a pipeline may declare another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdFrom {
    /// In the id's header of Standard Webhooks: of the set of names that the signature is taken from.
    Standard,
    /// In a header; the case of its name doesn't matter.
    Header(String),
    /// In a member of the body, which is a JSON object, or deeper in it: names joined by points. A string, or a whole number as it is
    /// written; `1` and `"1"` are one id.
    Field(String),
}

/// Why there is no id. Shows nothing of the request but what the JSON reader says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoId {
    /// The header isn't there once.
    #[error("the event's id can't be read")]
    Header(#[source] Refusal),
    /// The body isn't strict JSON.
    #[error("the event's id can't be read from the body: {0}")]
    Body(BadRecord),
    /// The body has no such member, or isn't an object.
    #[error("the event's id is missing: the body has no field `{0}`")]
    NoField(String),
    /// It is of another kind.
    #[error("the event's id in the field `{0}` must be a string or a whole number")]
    Kind(String),
    /// It is empty, or longer than [`LONGEST_ID`].
    #[error("the event's id must have 1 to {LONGEST_ID} bytes")]
    Length,
}

impl IdFrom {
    /// The event's id. For requests that are verified: it reads the body.
    pub fn read(&self, headers: &Headers<'_>, body: &[u8]) -> Result<String, NoId> {
        let id = match self {
            Self::Standard => headers.one(Names::of(headers).id).map_err(NoId::Header)?.to_owned(),
            Self::Header(name) => headers.one(name).map_err(NoId::Header)?.to_owned(),
            Self::Field(name) => field(name, body)?,
        };
        if (1..=LONGEST_ID).contains(&id.len()) { Ok(id) } else { Err(NoId::Length) }
    }
}

fn field(name: &str, body: &[u8]) -> Result<String, NoId> {
    let mut tape = Tape::default();
    let root = tape.scan(body).map_err(NoId::Body)?;
    let found = name.split('.').try_fold(root, Json::member);
    let value = found.ok_or_else(|| NoId::NoField(name.to_owned()))?;
    match value.kind() {
        Kind::Plain | Kind::Escaped => value.string().map(Into::into),
        // `1.0` and `1e0` would be other ids than `1`.
        Kind::Number => Some(value.span().to_owned()).filter(|text| !text.contains(['.', 'e', 'E'])),
        _ => None,
    }
    .ok_or_else(|| NoId::Kind(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::{Scheme, TOLERANCE_SECS, github, shopify};

    #[test]
    fn every_sender_has_its_place_and_only_signed_ones_say_so() {
        let standard = Scheme::Standard { tolerance_secs: TOLERANCE_SECS };
        let stripe = Scheme::Stripe { tolerance_secs: TOLERANCE_SECS };
        let headers = [
            ("webhook-id", "msg_1"),
            ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
            ("x-shopify-webhook-id", "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043"),
            ("x-shopify-event-id", "98880550-7158-44d4-b7cd-2c97c8a091b5"),
        ]
        .into_iter()
        .collect();
        for (scheme, id, is_signed) in [
            (standard, "msg_1", true),
            (Scheme::GitHub, "72d3162e-cc78-11e3-81ab-4c9367dc0958", false),
            (stripe, "evt_1", true),
            (Scheme::Shopify, "b54557e4-bdd9-4b37-8a5f-bf7d70bcd043", false),
        ] {
            let from = scheme.event_id().unwrap();
            let body = br#"{"data": {"id": "no"}, "id": "evt_1"}"#;
            assert_eq!(from.read(&headers, body).as_deref(), Ok(id), "{scheme:?}");
            assert_eq!(scheme.signs(&from), is_signed, "{scheme:?}");
            assert!(!scheme.signs(&IdFrom::Header("x-other".to_owned())));
        }
        assert_eq!(Scheme::Bearer.event_id(), None);
        assert!(!Scheme::Bearer.signs(&IdFrom::Field("id".to_owned())));
        assert!(Scheme::GitHub.signs(&IdFrom::Field("id".to_owned())));
        let declared = IdFrom::Header(shopify::EVENT_ID.to_owned());
        assert_eq!(declared.read(&headers, b"").as_deref(), Ok("98880550-7158-44d4-b7cd-2c97c8a091b5"));
    }

    #[test]
    fn a_field_is_a_string_or_a_whole_number_as_written() {
        let read = |body: &str| IdFrom::Field("id".to_owned()).read(&Headers::default(), body.as_bytes());
        assert_eq!(read(r#"{"id": "a\u0062"}"#).as_deref(), Ok("ab"));
        assert_eq!(read(r#"{"id": 820982911946154508123}"#).as_deref(), Ok("820982911946154508123"));
        for body in [r#"{"id": null}"#, r#"{"id": 1.0}"#, r#"{"id": 1e3}"#, r#"{"id": {"id": 1}}"#] {
            assert_eq!(read(body), Err(NoId::Kind("id".to_owned())), "{body}");
        }
        for body in [r#"{"ID": "a"}"#, "[]", "1", r#"{"data": {"id": 1}}"#] {
            assert_eq!(read(body), Err(NoId::NoField("id".to_owned())), "{body}");
        }
        assert_eq!(read(r#"{"id": ""}"#), Err(NoId::Length));
        assert_eq!(read(&format!(r#"{{"id": "{}"}}"#, "a".repeat(256))), Err(NoId::Length));
        assert!(read(&format!(r#"{{"id": "{}"}}"#, "a".repeat(255))).is_ok());
        for body in ["", "id=1", r#"{"id": 1, "id": 2}"#] {
            assert!(matches!(read(body), Err(NoId::Body(_))), "{body}");
        }
    }

    #[test]
    fn a_field_may_lie_deeper_in_the_body() {
        let read = |body: &str| IdFrom::Field("a.b.c".to_owned()).read(&Headers::default(), body.as_bytes());
        assert_eq!(read(r#"{"c": 1, "a": {"c": 2, "b": {"c": "three"}}}"#).as_deref(), Ok("three"));
        assert_eq!(read(r#"{"a": {"b": {"c": {}}}}"#), Err(NoId::Kind("a.b.c".to_owned())));
        for body in [r#"{"a.b.c": 1}"#, r#"{"a": {"b": 1}}"#, r#"{"a": [{"b": {"c": 1}}]}"#, r#"{"a": null}"#]
        {
            assert_eq!(read(body), Err(NoId::NoField("a.b.c".to_owned())), "{body}");
        }
    }

    #[test]
    fn a_header_must_be_there_once_and_hold_something() {
        let read = |pairs: &[(&'static str, &'static str)]| {
            Scheme::GitHub.event_id().unwrap().read(&pairs.iter().copied().collect(), b"")
        };
        assert_eq!(read(&[]), Err(NoId::Header(Refusal::Missing(github::ID.to_owned()))));
        let twice = read(&[("X-GitHub-Delivery", "a"), ("x-github-delivery", "b")]);
        assert_eq!(twice, Err(NoId::Header(Refusal::Repeated(github::ID.to_owned()))));
        assert_eq!(read(&[("X-GitHub-Delivery", "  ")]), Err(NoId::Length));
    }
}
