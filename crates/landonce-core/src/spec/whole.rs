//! `write:` of the modes in which a run speaks for more than its records: for a period, for what a source owns.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};

use crate::period::Every;

/// Which rows are a period's: those whose field lies in it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeriodSpec {
    /// The field. Its column is `date`, `timestamptz`, or `timestamp` (read as the zone's own time).
    pub field: String,
    /// How long a period is.
    pub every: Every,
    /// The time zone whose days (hours, weeks, months) they are, by its IANA name: `Europe/Berlin`, `UTC`.
    pub tz: String,
}

/// How far a snapshot may differ from what is there. A share is written `20%`; `any` switches a test off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlausibleSpec {
    /// How far the number of records may be from the median of the last loads, either way; `20%` when left out.
    pub rows: Option<String>,
    /// Which share of the rows that are there may change their content; `20%` when left out.
    pub changed: Option<String>,
    /// Which share of the rows that are there may be retired or deleted; `20%` when left out.
    pub retired: Option<String>,
    /// Columns, and which share of the payload's records may have NULL there: `{zoning_code: 5%}`.
    pub nulls: BTreeMap<String, String>,
    /// Queries that must each give one row with one true, asked once the rows are written and before they are committed.
    pub assert: Vec<String>,
}

/// `owner:` fields and the text of the value that each has in all rows of the source, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerSpec(pub Vec<(String, String)>);

impl JsonSchema for OwnerSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OwnerSpec".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": { "type": ["string", "integer", "boolean"] },
        })
    }
}

impl<'de> Deserialize<'de> for OwnerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = OwnerSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of fields to their values, for example `{source: shop-7}`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OwnerSpec, A::Error> {
                let mut fields: Vec<(String, String)> = Vec::new();
                while let Some((field, value)) = map.next_entry::<String, Plain>()? {
                    if fields.iter().any(|(known, _)| *known == field) {
                        return Err(de::Error::custom(format!("`{field}` stands twice")));
                    }
                    fields.push((field, value.0));
                }
                Ok(OwnerSpec(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// A value with one spelling: a text, a whole number, true or false.
struct Plain(String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;

        impl Visitor<'_> for Scalar {
            type Value = Plain;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a whole number, true or false")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Plain, E> {
                Ok(Plain(text.to_owned()))
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Plain, E> {
                Ok(Plain(value.to_string()))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Plain, E> {
                Ok(Plain(value.to_string()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Plain, E> {
                Ok(Plain(value.to_string()))
            }
        }

        deserializer.deserialize_any(Scalar)
    }
}
