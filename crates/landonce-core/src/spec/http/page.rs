//! How one page leads to the next, as it is declared.

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

/// How one page leads to the next: one of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageSpec {
    /// The answer names a cursor, which the next request gives back.
    #[serde(default)]
    pub cursor: Option<CursorSpec>,
    /// The answer has the next page's address.
    #[serde(default)]
    pub link: Option<LinkSpec>,
    /// Pages are numbered.
    #[serde(default)]
    pub number: Option<NumberSpec>,
    /// A page begins behind so many records.
    #[serde(default)]
    pub offset: Option<OffsetSpec>,
}

/// A cursor.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CursorSpec {
    /// The parameter that takes it.
    pub param: String,
    /// Where the body has it (`meta.next_cursor`): null, empty or absent on the last page.
    #[serde(default)]
    pub from: Option<String>,
    /// Or the field of a page's last record that is the cursor (`id`); goes with `more`.
    #[serde(default)]
    pub record: Option<String>,
    /// Where the body says whether there are more pages (`has_more`): true or false.
    #[serde(default)]
    pub more: Option<String>,
}

/// Where the next page's address is.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(untagged)]
pub enum LinkSpec {
    /// In the `Link` header (RFC 8288), under this relation: `next`.
    Relation(String),
    /// In the body.
    Map(LinkMap),
}

/// Where the body has the next page's address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkMap {
    /// Names with dots between (`links.next`); in a list of links `links[rel=next].href`. Null, empty or absent on the last page.
    pub from: String,
}

/// Numbered pages. The last one is known by `pages`, by `total`, or by the empty page behind it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberSpec {
    /// The parameter that takes the number.
    pub param: String,
    /// The first page's number; 1 when left out.
    #[serde(default)]
    pub start: Option<u64>,
    /// How many records a page is to have.
    #[serde(default)]
    pub size: Option<PageSizeSpec>,
    /// Where the body says how many pages there are (`meta.pages`).
    #[serde(default)]
    pub pages: Option<String>,
}

/// Pages that begin behind so many records. The last one is known by `total`, or by the empty page behind it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OffsetSpec {
    /// The parameter that takes the number of records before the page.
    pub param: String,
    /// How many records a page is to have.
    #[serde(default)]
    pub limit: Option<PageSizeSpec>,
}

/// How many records a page is to have. The API may give fewer: a short page isn't taken for the last one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageSizeSpec {
    /// The parameter that takes it.
    pub param: String,
    /// The number.
    pub value: u64,
}

impl<'de> Deserialize<'de> for LinkSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> Visitor<'de> for Written {
            type Value = LinkSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a relation of the `Link` header (`next`) or {from: links.next}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<LinkSpec, E> {
                Ok(LinkSpec::Relation(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LinkSpec, A::Error> {
                LinkMap::deserialize(MapAccessDeserializer::new(map)).map(LinkSpec::Map)
            }
        }
        deserializer.deserialize_any(Written)
    }
}
