//! `notify:` as written: which changes of the target become messages, and what these say.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

/// Changes of the target's rows that become messages in the outbox, enqueued in the transaction of the change.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotifySpec {
    /// The topic: 1 to 200 of `a` to `z`, `0` to `9`, `.`, `_` and `-`. A destination takes whole topics.
    pub topic: String,
    /// What is told: `inserted`, `updated`, `retired`, `restored`, `deleted`; all of them when left out.
    #[serde(default)]
    pub on: Option<Vec<ChangeKind>>,
    /// An update is told only if one of these columns changed; any change when left out.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Columns and the values, one or several, that the row must have: the new row, for `retired` and `deleted` the old one.
    #[serde(default, rename = "where")]
    pub conditions: WhereSpec,
    /// What is delivered in order: messages of which these columns are equal, or `all` of the topic; those of one entity when
    /// left out.
    #[serde(default)]
    pub order_by: Option<OrderSpec>,
    /// What is sent: any YAML, in whose texts `{new.COLUMN}`, `{old.COLUMN}`, `{entity.COLUMN}`, `{new}`, `{old}`, `{entity}`,
    /// `{changed}`, `{kind}`, `{revision}`, `{topic}` and `{pipeline}` stand for what changed; `{{` and `}}` are braces. Everything
    /// there is about the change when left out.
    #[serde(default, deserialize_with = "something")]
    pub payload: Option<PayloadSpec>,
}

/// What happened to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It wasn't there.
    Inserted,
    /// Its content differs.
    Updated,
    /// It was marked as absent from a snapshot.
    Retired,
    /// It was so marked, and has come again.
    Restored,
    /// It is gone.
    Deleted,
}

impl ChangeKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Inserted, Self::Updated, Self::Retired, Self::Restored, Self::Deleted];

    /// As it is written and stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inserted => "inserted",
            Self::Updated => "updated",
            Self::Retired => "retired",
            Self::Restored => "restored",
            Self::Deleted => "deleted",
        }
    }
}

/// What makes messages wait for each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderSpec {
    /// All of the topic.
    All,
    /// Those of which these columns are equal.
    Columns(Vec<String>),
}

/// `where:` columns and the values that each may have, in the order written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WhereSpec(pub Vec<(String, Vec<ValueSpec>)>);

/// A value that a column may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSpec {
    /// None.
    Null,
    /// A text, a number or a truth value, as its text.
    Text(String),
}

/// `payload:` as written. Only texts that are values are templates; names are taken as they stand.
#[derive(Debug, Clone, PartialEq)]
pub enum PayloadSpec {
    /// Null, a truth value or a number, as JSON.
    Literal(String),
    /// A text with references.
    Text(String),
    /// A list.
    List(Vec<PayloadSpec>),
    /// A map, in the order written.
    Map(Vec<(String, PayloadSpec)>),
}

/// A key without a value would be one that isn't there, and everything of a row would be sent.
fn something<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PayloadSpec>, D::Error> {
    match PayloadSpec::deserialize(deserializer)? {
        PayloadSpec::Literal(text) if text == "null" => {
            Err(de::Error::custom("`payload` says nothing; leave it out to send the whole change"))
        }
        written => Ok(Some(written)),
    }
}

impl<'de> Deserialize<'de> for OrderSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = OrderSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of columns (`[crew_id]`), or `all`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OrderSpec, E> {
                if text == "all" {
                    return Ok(OrderSpec::All);
                }
                Err(E::custom(format!("`{text}`: a list of columns (`[{text}]`) or `all` is due")))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<OrderSpec, A::Error> {
                let mut columns = Vec::new();
                while let Some(column) = items.next_element()? {
                    columns.push(column);
                }
                Ok(OrderSpec::Columns(columns))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for WhereSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = WhereSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from columns to values, for example `{status: [cancelled, delayed]}`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WhereSpec, A::Error> {
                let mut all: Vec<(String, Vec<ValueSpec>)> = Vec::new();
                while let Some((column, values)) = map.next_entry::<String, Values>()? {
                    if all.iter().any(|(known, _)| *known == column) {
                        return Err(de::Error::custom(format!("`{column}` stands twice")));
                    }
                    all.push((column, values.0));
                }
                Ok(WhereSpec(all))
            }
        }
        deserializer.deserialize_map(Written)
    }
}

/// One value, or several.
struct Values(Vec<ValueSpec>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let one = |written| match written {
            PayloadSpec::Literal(text) if text == "null" => Ok(ValueSpec::Null),
            PayloadSpec::Literal(text) | PayloadSpec::Text(text) => Ok(ValueSpec::Text(text)),
            PayloadSpec::List(_) | PayloadSpec::Map(_) => {
                Err(de::Error::custom("a text, a number, true, false or null is due"))
            }
        };
        match PayloadSpec::deserialize(deserializer)? {
            PayloadSpec::List(items) => Ok(Self(items.into_iter().map(one).collect::<Result<_, _>>()?)),
            other => Ok(Self(vec![one(other)?])),
        }
    }
}

impl<'de> Deserialize<'de> for PayloadSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = PayloadSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true, false, null, a list or a map")
            }

            fn visit_unit<E: de::Error>(self) -> Result<PayloadSpec, E> {
                Ok(PayloadSpec::Literal("null".to_owned()))
            }

            fn visit_none<E: de::Error>(self) -> Result<PayloadSpec, E> {
                self.visit_unit()
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<PayloadSpec, D::Error> {
                PayloadSpec::deserialize(deserializer)
            }

            fn visit_bool<E: de::Error>(self, truth: bool) -> Result<PayloadSpec, E> {
                Ok(PayloadSpec::Literal(truth.to_string()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<PayloadSpec, E> {
                Ok(PayloadSpec::Literal(number.to_string()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<PayloadSpec, E> {
                Ok(PayloadSpec::Literal(number.to_string()))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<PayloadSpec, E> {
                if !number.is_finite() {
                    return Err(E::custom("JSON has no such number; write it as a text"));
                }
                Ok(PayloadSpec::Literal(number.to_string()))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PayloadSpec, E> {
                Ok(PayloadSpec::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<PayloadSpec, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    all.push(item);
                }
                Ok(PayloadSpec::List(all))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PayloadSpec, A::Error> {
                let mut all: Vec<(String, PayloadSpec)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, PayloadSpec>()? {
                    if all.iter().any(|(known, _)| *known == name) {
                        return Err(de::Error::custom(format!("`{name}` stands twice")));
                    }
                    all.push((name, value));
                }
                Ok(PayloadSpec::Map(all))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl JsonSchema for OrderSpec {
    fn schema_name() -> Cow<'static, str> {
        "Order".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "oneOf": [
                {"const": "all", "description": "All messages of the topic, one after the other."},
                {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "The columns of the ordering key."}
            ]
        })
    }
}

impl JsonSchema for WhereSpec {
    fn schema_name() -> Cow<'static, str> {
        "Where".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let value = ["string", "number", "boolean", "null"];
        json_schema!({
            "type": "object",
            "additionalProperties": {
                "oneOf": [{"type": value}, {"type": "array", "items": {"type": value}, "minItems": 1}]
            }
        })
    }
}

impl JsonSchema for PayloadSpec {
    fn schema_name() -> Cow<'static, str> {
        "Payload".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["object", "array", "string", "number", "boolean"]})
    }
}
