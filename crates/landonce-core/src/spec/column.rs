//! `columns:` as written: a name, and a type or a small object; in the order written.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

use crate::column::Type;

/// A declared column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its type.
    pub ty: Type,
    /// The field it takes, when that has another name.
    pub field: Option<String>,
    /// Geometry: the decimal places that count as content (other digits are export noise).
    pub round: Option<u8>,
}

/// The declared columns, in the order written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ColumnsSpec(pub Vec<(String, ColumnSpec)>);

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    #[serde(rename = "type")]
    ty: String,
    #[serde(default)]
    field: Option<String>,
    #[serde(default)]
    round: Option<u8>,
}

impl<'de> Deserialize<'de> for ColumnSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = ColumnSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a type (`timestamptz`) or {type: …, field: …, round: …}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ColumnSpec, E> {
                Ok(ColumnSpec { ty: text.parse().map_err(E::custom)?, field: None, round: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ColumnSpec, A::Error> {
                let long = Long::deserialize(MapAccessDeserializer::new(map))?;
                let ty: Type = long.ty.parse().map_err(de::Error::custom)?;
                if long.round.is_some() && !matches!(ty, Type::Geometry { .. }) {
                    return Err(de::Error::custom("`round` is for geometry columns"));
                }
                Ok(ColumnSpec { ty, field: long.field, round: long.round })
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for ColumnsSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = ColumnsSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from column to type, for example {instant_utc: timestamptz}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ColumnsSpec, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(ColumnsSpec(all))
            }
        }
        deserializer.deserialize_map(Written)
    }
}

impl JsonSchema for ColumnsSpec {
    fn schema_name() -> Cow<'static, str> {
        "Columns".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "additionalProperties": {
                "oneOf": [
                    {"type": "string", "description": "The column's type: text, integer, decimal(20,8), timestamptz, text[] …"},
                    {
                        "type": "object",
                        "properties": {
                            "type": {"type": "string", "description": "The column's type."},
                            "field": {"type": "string", "description": "The field it takes, when that has another name."},
                            "round": {
                                "type": "integer", "minimum": 0, "maximum": 15,
                                "description": "Geometry: the decimal places that count as content."
                            }
                        },
                        "required": ["type"],
                        "additionalProperties": false
                    }
                ]
            }
        })
    }
}
