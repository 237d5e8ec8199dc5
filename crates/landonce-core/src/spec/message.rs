//! `source.message` as written: how a message of a stream becomes a record.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

/// How a message becomes a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageSpec {
    /// What the value is wrapped in; `none` when left out: the value is the record.
    #[serde(default)]
    pub envelope: EnvelopeSpec,
    /// How the value is written; `json` when left out.
    #[serde(default)]
    pub value: CodecSpec,
    /// How the key is read, and which fields it gives: `json` or `text` gives the identity's, `{as: text, field: id}` the field `id`.
    /// `ignore` when left out; with `envelope: debezium` the identity's, written as the value is.
    #[serde(default)]
    pub key: Option<KeySpec>,
    /// Fields that are added to the record, at its top level: `{topic: topic, trace: {header: traceparent}, lsn: {field: source.lsn}}`.
    #[serde(default)]
    pub fields: BTreeMap<String, MessageFieldSpec>,
    /// What a message without a value (a tombstone) is: `delete` where the key gives the identity, when left out, else `bad`. With
    /// `envelope: debezium`, `ignore` where the key doesn't say what is deleted.
    #[serde(default)]
    pub tombstone: Option<TombstoneSpec>,
    /// Where schemas are, for `avro` and `protobuf`.
    #[serde(default)]
    pub registry: Option<RegistrySpec>,
}

/// What a value is wrapped in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnvelopeSpec {
    /// Nothing: the value is the record.
    #[default]
    None,
    /// CloudEvents 1.0, structured or binary: the event's data are the record, `ce_id` and `ce_source` are added.
    Cloudevents,
    /// Debezium's change events: `after` is the record, or `before` is deleted.
    Debezium,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CodecSpec {
    /// JSON text.
    #[default]
    Json,
    /// Avro, behind a zero byte and the id of its schema in the registry.
    Avro,
    /// Protobuf, behind a zero byte, the id of its schema in the registry, and which message of it.
    Protobuf,
}

/// How a key is read, and what it gives.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum KeySpec {
    /// It gives the identity: its one field, or those of an object's members that are the identity's.
    Word(KeyCodecSpec),
    /// It gives the fields that are named.
    Map(KeyMap),
}

/// How a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyCodecSpec {
    /// JSON text.
    Json,
    /// Any text in UTF-8.
    Text,
    /// Avro, as values.
    Avro,
    /// Protobuf, as values.
    Protobuf,
    /// It says nothing.
    Ignore,
}

/// The longer form of `key`. One of `field` and `fields`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyMap {
    /// How it is written.
    #[serde(rename = "as")]
    pub codec: KeyCodecSpec,
    /// The field that the whole key is.
    #[serde(default)]
    pub field: Option<String>,
    /// Fields, and where each lies in the key: `{order_id: id}`, `{order_id: order.id}`.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
}

/// What a field that is added holds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageFieldSpec {
    /// The topic or subject.
    Topic,
    /// The partition, a text.
    Partition,
    /// The message's number in its partition or stream.
    Offset,
    /// When it was sent, or appended: RFC 3339 in UTC, null where the broker doesn't say.
    Timestamp,
    /// The key, as `key` says that it is written; a text with `ignore`. Null where there is none.
    Key,
    /// A header's value, the last one of that name; null where it isn't sent.
    Header(String),
    /// What lies in the value, the names joined by points: `source.lsn`. With an envelope of Debezium, in the envelope; with
    /// CloudEvents, in the data. As it is written there, null where there is no such thing.
    Field(String),
    /// With `envelope: cloudevents`: an attribute of the event, null where it has none. `id` and `source` are added as `ce_id` and
    /// `ce_source` unless they are here.
    Attribute(String),
}

/// What a message without a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TombstoneSpec {
    /// The row of its key is deleted (or retired, `write.deleted`).
    Delete,
    /// It says nothing.
    Ignore,
    /// A bad record.
    Bad,
}

/// A schema registry with Confluent's API.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegistrySpec {
    /// Its address: `https://registry.example`, perhaps with a path.
    pub url: String,
    /// The user's name, `${NAME}` from the environment.
    #[serde(default)]
    pub user: Option<String>,
    /// The password, `${NAME}` from the environment.
    #[serde(default)]
    pub password: Option<String>,
}

impl<'de> Deserialize<'de> for KeySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = KeySpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`json`, `text`, `avro`, `protobuf`, `ignore`, or {as: json, field: id} or {as: json, fields: {order_id: id}}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<KeySpec, E> {
                let word = match text {
                    "json" => KeyCodecSpec::Json,
                    "text" => KeyCodecSpec::Text,
                    "avro" => KeyCodecSpec::Avro,
                    "protobuf" => KeyCodecSpec::Protobuf,
                    "ignore" => KeyCodecSpec::Ignore,
                    other => {
                        return Err(E::unknown_variant(
                            other,
                            &["json", "text", "avro", "protobuf", "ignore"],
                        ));
                    }
                };
                Ok(KeySpec::Word(word))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<KeySpec, A::Error> {
                KeyMap::deserialize(MapAccessDeserializer::new(map)).map(KeySpec::Map)
            }
        }
        deserializer.deserialize_any(Written)
    }
}
