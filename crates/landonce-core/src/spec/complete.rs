//! `source.complete:` as written: one proof or several that a payload is whole.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{
    self, Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer,
    value::SeqAccessDeserializer,
};

/// What proves that a payload is complete. All that is listed must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum CompleteSpec {
    /// Nothing is declared.
    #[default]
    #[schemars(skip)]
    Undeclared,
    /// One proof (a word, or a map with one key or more).
    One(ProofSpec),
    /// Several.
    All(Vec<ProofSpec>),
}

/// A proof: a word, or a map.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum ProofSpec {
    /// A proof that needs no details.
    Word(ProofWord),
    /// Proofs with details. At least one.
    Map(Box<ProofMap>),
}

/// A proof that needs no details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProofWord {
    /// The JSON array or the FeatureCollection was closed.
    JsonClosed,
    /// The bytes are compressed, and every gzip member ended with its CRC and length (every zstd frame with its checksum).
    GzipTrailer,
    /// Parquet: the footer, which is written last, is there, and counts as many rows as were read.
    ParquetFooter,
}

/// Proofs with details.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProofMap {
    /// What ends the payload, and is no record.
    pub end_marker: Option<MarkerSpec>,
    /// How many records there should be. Exactly one of `field`, `trailer` and `file`.
    pub count: Option<CountSpec>,
    /// What the bytes' SHA-256 should be.
    pub checksum: Option<SideFileSpec>,
    /// A JSON file that lists files with their `sha256`, `bytes` or `records`; relative to the payload's folder.
    pub manifest: Option<String>,
}

/// What ends a payload.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum MarkerSpec {
    /// NDJSON and CSV: the last line, exactly.
    Line(String),
    /// NDJSON: the last line is an object whose field has this text.
    Record(MarkerRecordSpec),
}

/// The object that ends an NDJSON payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MarkerRecordSpec {
    /// The field, perhaps inside others (`meta.type`).
    pub field: String,
    /// Its text.
    pub equals: String,
}

/// Where the number of records stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CountSpec {
    /// A member of the FeatureCollection (`numberMatched`, `metadata.count`), or of the object that ends an NDJSON payload.
    pub field: Option<String>,
    /// NDJSON and CSV: the last line, with `{n}` for the number: `#rows={n}`.
    pub trailer: Option<String>,
    /// A file that holds the number; `{file}` is the payload's name: `{file}.count`.
    pub file: Option<String>,
}

/// A file beside the payload.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideFileSpec {
    /// Relative to the payload's folder; `{file}` is the payload's name: `{file}.sha256`.
    pub file: String,
}

impl CompleteSpec {
    /// The proofs, in the order written.
    pub fn into_proofs(self) -> Vec<ProofSpec> {
        match self {
            Self::Undeclared => Vec::new(),
            Self::One(proof) => vec![proof],
            Self::All(proofs) => proofs,
        }
    }
}

const EXPECTED: &str = "`json_closed`, `gzip_trailer`, {end_marker: …}, {count: …}, {checksum: …}, {manifest: …}, or a list of them";

impl<'de> Deserialize<'de> for CompleteSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = CompleteSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<CompleteSpec, E> {
                word(text).map(CompleteSpec::One)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CompleteSpec, A::Error> {
                let map = ProofMap::deserialize(MapAccessDeserializer::new(map))?;
                Ok(CompleteSpec::One(ProofSpec::Map(Box::new(map))))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<CompleteSpec, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(CompleteSpec::All)
            }
        }
        deserializer.deserialize_any(Written)
    }
}

impl<'de> Deserialize<'de> for ProofSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = ProofSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ProofSpec, E> {
                word(text)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ProofSpec, A::Error> {
                let map = ProofMap::deserialize(MapAccessDeserializer::new(map))?;
                Ok(ProofSpec::Map(Box::new(map)))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// A proof by its word. `deserialize_any` has lost serde's own message for an unknown one.
fn word<E: de::Error>(text: &str) -> Result<ProofSpec, E> {
    match text {
        "json_closed" => Ok(ProofSpec::Word(ProofWord::JsonClosed)),
        "gzip_trailer" => Ok(ProofSpec::Word(ProofWord::GzipTrailer)),
        "parquet_footer" => Ok(ProofSpec::Word(ProofWord::ParquetFooter)),
        "end_marker" | "count" | "checksum" | "manifest" => {
            Err(E::custom(format!("`{text}` needs its details: write `complete: {{{text}: …}}`")))
        }
        _ => Err(E::unknown_variant(text, &["json_closed", "gzip_trailer", "parquet_footer"])),
    }
}

impl<'de> Deserialize<'de> for MarkerSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = MarkerSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the last line's text (\"#EOF\") or {field: …, equals: …}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<MarkerSpec, E> {
                Ok(MarkerSpec::Line(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MarkerSpec, A::Error> {
                MarkerRecordSpec::deserialize(MapAccessDeserializer::new(map)).map(MarkerSpec::Record)
            }
        }
        deserializer.deserialize_any(Written)
    }
}
