//! `hook:` as written: how a sender's webhooks come in.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A sender's webhooks: `POST /v1/hooks/PIPELINE` of `landonce serve`, one event a request.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookSpec {
    /// How the sender shows that a request is its own.
    pub scheme: SchemeSpec,
    /// The secrets, each as `${NAME}` from the environment. Any of them will do, so that one can be replaced.
    pub secrets: Vec<String>,
    /// How far a signed time may be from now, either way (`5m`, which it is when left out); for schemes with a time.
    #[serde(default)]
    pub tolerance: Option<String>,
    /// Where the event's id is: what a repeat is recognised by. Where the scheme's sender puts it, when left out; `content` for
    /// senders without one.
    #[serde(default)]
    pub event_id: Option<EventIdSpec>,
    /// Fields that are added to the record, at its top level: `{delivery: event_id, event: {header: X-GitHub-Event}, amount: {field:
    /// data.object.amount}}`.
    #[serde(default)]
    pub fields: BTreeMap<String, HookFieldSpec>,
    /// Requests that arrive together share a transaction, each with its own answer and its own failure; one transaction each
    /// when left out.
    #[serde(default)]
    pub group: Option<GroupSpec>,
}

/// A scheme of signatures.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemeSpec {
    /// Standard Webhooks.
    Standard,
    /// GitHub: `X-Hub-Signature-256`.
    Github,
    /// Stripe: `Stripe-Signature`.
    Stripe,
    /// Shopify: `X-Shopify-Hmac-Sha256`.
    Shopify,
    /// A token in `Authorization: Bearer …`; nothing is signed.
    Bearer,
    /// Any HMAC of the body in a header.
    Hmac(HmacSpec),
}

/// An HMAC of the body.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HmacSpec {
    /// The header of the signature.
    pub header: String,
    /// The hash; `sha256` when left out.
    #[serde(default)]
    pub hash: HashSpec,
    /// How the signature is written; `hex` when left out.
    #[serde(default)]
    pub encoding: EncodingSpec,
    /// What stands before it, such as `sha256=`.
    #[serde(default)]
    pub prefix: String,
    /// The header of the time of signing (Unix seconds), where it is signed with the body.
    #[serde(default)]
    pub timestamp: Option<String>,
    /// What is signed, with `timestamp`: `{timestamp}.{body}` when left out.
    #[serde(default)]
    pub signs: Option<String>,
}

/// A hash below an HMAC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HashSpec {
    /// 32 bytes.
    #[default]
    Sha256,
    /// 64 bytes.
    Sha512,
}

/// How a signature is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EncodingSpec {
    /// Two digits a byte.
    #[default]
    Hex,
    /// RFC 4648.
    Base64,
}

/// Where an event's id is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EventIdSpec {
    /// In a header.
    Header(String),
    /// In a member of the body, or deeper in it (`data.object.id`): a string, or a whole number.
    Field(String),
    /// Nowhere: events of equal content, less the `volatile` fields, are one.
    Content,
}

/// What a field that is added holds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookFieldSpec {
    /// The event's id.
    EventId,
    /// A header's value, null where it isn't sent.
    Header(String),
    /// What lies deeper in the body, the names joined by points: `data.object.amount`. As it is written there, null where there is
    /// no such thing.
    Field(String),
}

/// Requests that share a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupSpec {
    /// The most events in one transaction; 256 when left out.
    #[serde(default)]
    pub most: Option<u16>,
}
