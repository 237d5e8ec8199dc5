//! `identity:` as written: a list of fields, or one of three longer forms.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{
    self, Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer,
    value::SeqAccessDeserializer,
};

/// What makes two records the same.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum IdentitySpec {
    /// The natural key's fields, in order.
    List(Vec<String>),
    /// The longer form.
    Map(IdentityMap),
}

/// The longer form of `identity`. Exactly one of `fields`, `sender_id` and `hash_of` is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IdentityMap {
    /// The natural key's fields, in order.
    pub fields: Option<Vec<String>>,
    /// The field that holds the sender's event id, for senders that guarantee the same id on every retry.
    pub sender_id: Option<String>,
    /// `all` fields, or a list of them: the identity is the content itself.
    pub hash_of: Option<IdentityFields>,
    /// With `hash_of`: fields that change per attempt.
    pub except: Vec<String>,
    /// With `fields`: the key is the plain SHA-256 of the fields' texts with this separator between them, as many
    /// pipelines compute it today. A part that holds the separator is a bad record.
    pub joined: Option<String>,
    /// The key column's form; `uuid` when left out (or the table's own columns, when the table exists without a key column).
    #[serde(rename = "as")]
    pub form: Option<KeyFormSpec>,
    /// What is done to text fields of the identity before they are compared and stored.
    pub normalize: Vec<Normalize>,
    /// What a null or absent field means; `refuse` when left out.
    pub null_key: NullKey,
    /// Texts of identity fields that stand for no identity (`---`, `N/A`): such a record is a bad one, as with null.
    pub nulls: Vec<String>,
    /// With `hash_of`, in modes that speak for a whole period or source: what a record means that comes again in the same
    /// payload, equal in everything.
    pub repeats: Option<Repeats>,
}

/// What a record means that comes again in one payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Repeats {
    /// It is the same one again.
    Fold,
    /// It is one more: two equal lines are two rows.
    Keep,
}

/// `hash_of`: all fields, or some.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum IdentityFields {
    /// Every field of the record.
    All(AllFields),
    /// These fields.
    List(Vec<String>),
}

/// The word `all`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AllFields {
    /// Every field.
    All,
}

/// The key column's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyFormSpec {
    /// Sixteen bytes: RFC 9562 version 8.
    Uuid,
    /// All 32 bytes of the SHA-256.
    Bytes,
    /// 64 hex digits.
    Hex,
    /// No hash: the natural key's own columns under their unique constraint.
    Columns,
}

/// A step done to text before it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// Unicode white space at both ends goes.
    Trim,
    /// Unicode normalisation form C.
    Nfc,
    /// Unicode lower case.
    Lowercase,
}

/// What a null or absent identity field means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NullKey {
    /// A bad record.
    #[default]
    Refuse,
    /// A value like any other: null is one, absent another.
    AsValue,
}

impl<'de> Deserialize<'de> for IdentitySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = IdentitySpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of fields ([flight_id, instant_utc]), {sender_id: id}, {hash_of: all, except: […]} or {fields: […]}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<IdentitySpec, E> {
                Err(E::custom(format!(
                    "a list of fields is due here: write `identity: [{text}]`, or `identity: {{sender_id: {text}}}` if the sender \
                     guarantees that id"
                )))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<IdentitySpec, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(IdentitySpec::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<IdentitySpec, A::Error> {
                IdentityMap::deserialize(MapAccessDeserializer::new(map)).map(IdentitySpec::Map)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for IdentityFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = IdentityFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`all` or a list of fields")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<IdentityFields, E> {
                match text {
                    "all" => Ok(IdentityFields::All(AllFields::All)),
                    _ => Err(E::custom(format!(
                        "`all` or a list of fields is due here: write `hash_of: [{text}]`"
                    ))),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<IdentityFields, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(IdentityFields::List)
            }
        }
        deserializer.deserialize_any(Written)
    }
}
