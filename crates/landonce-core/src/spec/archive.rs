//! `archive:` as written: a place, or a place with how long bytes are kept there.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

/// Where each batch's source bytes are kept.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum ArchiveSpec {
    /// The place alone: everything is kept.
    Place(String),
    /// The longer form.
    Map(ArchiveMap),
}

/// The longer form of `archive`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveMap {
    /// A folder, relative to the pipeline file, or `s3://bucket/prefix`. `${NAME}` is taken from the environment; S3's
    /// credentials come from `AWS_…` variables only.
    pub to: String,
    /// How long bytes are kept before `landonce archive prune` may forget them (`90d`, `12w`, `36h`); for ever when left
    /// out. Never shorter than `retry_window`.
    #[serde(default)]
    pub keep_for: Option<String>,
    /// How long the sender may still deliver a batch again; 30 days when left out. Nothing younger is ever forgotten.
    #[serde(default)]
    pub retry_window: Option<String>,
}

impl<'de> Deserialize<'de> for ArchiveSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = ArchiveSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a place (`archive/`, `s3://bucket/prefix`) or {to: …, keep_for: 90d, retry_window: 30d}",
                )
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ArchiveSpec, E> {
                Ok(ArchiveSpec::Place(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ArchiveSpec, A::Error> {
                ArchiveMap::deserialize(MapAccessDeserializer::new(map)).map(ArchiveSpec::Map)
            }
        }
        deserializer.deserialize_any(Written)
    }
}
