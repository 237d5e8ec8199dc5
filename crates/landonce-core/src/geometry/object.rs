//! The object level: a geometry's own members, each still as text. Leaves what is inside them to the walk.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Kind;
use crate::bad_record::{BadKind, BadRecord, shorten};

/// The members that mean something here. `null` counts as absent: neither is coordinates.
#[derive(Deserialize)]
pub(super) struct Object<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    coordinates: Option<&'a RawValue>,
    #[serde(borrow)]
    geometries: Option<&'a RawValue>,
    #[serde(borrow)]
    crs: Option<&'a RawValue>,
}

/// A named coordinate reference system, as `GeoJSON` had it before RFC 7946 and `PostGIS` still writes it.
#[derive(Deserialize)]
struct NamedCrs {
    properties: CrsName,
}

#[derive(Deserialize)]
struct CrsName {
    name: String,
}

impl<'a> Object<'a> {
    pub(super) fn read(json: &'a str) -> Result<Self, BadRecord> {
        let first = json.trim_start().bytes().next();
        if first != Some(b'{') {
            return Err(wrong_type(format!(
                "found {}; a GeoJSON geometry is an object with `type` and `coordinates`",
                found(first)
            )));
        }
        serde_json::from_str(json)
            .map_err(|error| BadRecord::new(BadKind::Syntax, "", format!("isn't well-formed JSON ({error})")))
    }

    /// The kind that `type` names.
    pub(super) fn kind(&self) -> Result<Kind, BadRecord> {
        let text = self.kind.map_or("null", RawValue::get);
        let given: Option<String> = serde_json::from_str(text).ok().flatten();
        let kind = given.as_deref().and_then(Kind::from_name);
        kind.ok_or_else(|| {
            let detail = match given.as_deref() {
                Some("Feature") => "found a `Feature`; give its `geometry`".to_owned(),
                Some(other) => format!(
                    "found `{}`; a kind of geometry is due: {}",
                    shorten(other),
                    Kind::ALL.map(Kind::name).join(", ")
                ),
                None => {
                    format!("found {}; the name of a kind of geometry is due", found(text.bytes().next()))
                }
            };
            wrong_type(detail).under("type")
        })
    }

    /// The text of the member that holds the content of such a kind. A fault's path is seen from inside that member.
    pub(super) fn content(&self, kind: Kind) -> Result<&'a str, BadRecord> {
        let member = if kind == Kind::GeometryCollection { self.geometries } else { self.coordinates };
        let text = member.map(RawValue::get);
        text.ok_or_else(|| wrong_type(format!("found none; a {} needs a list here", kind.name())))
    }

    /// Refuses a `crs` that isn't the one of the column.
    pub(super) fn check_crs(&self, srid: i32) -> Result<(), BadRecord> {
        let Some(raw) = self.crs else { return Ok(()) };
        let named = serde_json::from_str::<NamedCrs>(raw.get()).map(|crs| crs.properties.name);
        // `EPSG:2249`, `urn:ogc:def:crs:EPSG::2249`, and WGS 84's own name.
        let fits = named.as_ref().is_ok_and(|name| match name.rsplit(':').next() {
            Some("CRS84") => srid == 4326,
            last => last == Some(srid.to_string().as_str()),
        });
        if fits {
            return Ok(());
        }
        let given = named.unwrap_or_else(|_| raw.get().to_owned());
        Err(wrong_type(format!("found `{}`; the column's coordinates are in EPSG:{srid}", shorten(&given)))
            .under("crs"))
    }
}

/// A fault at the place where it was noticed; the path is put before it on the way out.
pub(super) fn wrong_type(detail: impl Into<String>) -> BadRecord {
    BadRecord::new(BadKind::WrongType, "", detail)
}

/// What a JSON value is, by its first byte, as a message names it.
pub(super) const fn found(first: Option<u8>) -> &'static str {
    match first {
        Some(b'"') => "a text",
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "nothing",
    }
}
