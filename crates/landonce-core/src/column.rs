//! Columns and their types: what a pipeline declares, what a catalogue says, and the limits a value must fit.
//!
//! The spelling is the one users write in YAML (`decimal(20,8)`, `text[]`, `geometry(MultiPolygon,4326)`). What each
//! store makes of a type is the store's business.

use std::fmt;
use std::str::FromStr;

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// Any JSON scalar, stored as its canonical text. The type of an identity field that nobody declared.
    Scalar,
    /// Text, at most so many characters.
    Text {
        /// `varchar(n)`: the most characters; `None` is unlimited.
        max: Option<u32>,
    },
    /// A whole number of so many bits (16, 32 or 64), signed.
    Integer {
        /// 16, 32 or 64.
        bits: u8,
    },
    /// An exact decimal. Digits that don't fit are an error, never rounded.
    Decimal {
        /// `decimal(precision, scale)`; `None` is unlimited.
        limits: Option<(u16, i16)>,
    },
    /// An IEEE 754 double (or single, `bits: 32`): the nearest one to the decimal given.
    Float {
        /// 32 or 64.
        bits: u8,
    },
    /// true or false.
    Boolean,
    /// A civil date, 0001-01-01 to 9999-12-31.
    Date,
    /// An instant, to the microsecond. The text must carry its offset.
    Timestamptz,
    /// A civil date and time without a zone, to the microsecond. The text must not carry an offset.
    Timestamp,
    /// A UUID.
    Uuid,
    /// Bytes, from base64 text (RFC 4648, standard alphabet), or `\x` and hex.
    Bytes,
    /// Any JSON value.
    Json,
    /// A label of an enum type that exists in the database.
    Enum {
        /// The labels, when the catalogue has told them; empty when not known yet.
        labels: Vec<String>,
        /// The SQL name of the type, as given.
        name: String,
    },
    /// A one-dimensional array.
    Array(Box<Type>),
    /// A GeoJSON geometry, kept as EWKB with its SRID.
    Geometry {
        /// `Point`, `MultiPolygon` …; `None` takes any. A Polygon is accepted where a MultiPolygon is declared.
        kind: Option<String>,
        /// The spatial reference id; GeoJSON is 4326 by its definition (RFC 7946).
        srid: i32,
    },
}

impl Type {
    /// Unlimited text.
    pub const TEXT: Self = Self::Text { max: None };
    /// A 64-bit integer.
    pub const INTEGER: Self = Self::Integer { bits: 64 };
    /// An unlimited exact decimal.
    pub const DECIMAL: Self = Self::Decimal { limits: None };

    /// Whether values of the type have one order that every store agrees on, so that it can be a version.
    pub const fn is_ordered(&self) -> bool {
        matches!(
            self,
            Self::Integer { .. } | Self::Decimal { .. } | Self::Date | Self::Timestamptz | Self::Timestamp
        )
    }

    /// Whether values of the type may be part of an identity.
    pub const fn is_identity(&self) -> bool {
        !matches!(self, Self::Float { .. } | Self::Json | Self::Geometry { .. } | Self::Array(_))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar => f.write_str("scalar"),
            Self::Text { max: None } => f.write_str("text"),
            Self::Text { max: Some(n) } => write!(f, "varchar({n})"),
            Self::Integer { bits: 16 } => f.write_str("smallint"),
            Self::Integer { bits: 32 } => f.write_str("int"),
            Self::Integer { .. } => f.write_str("integer"),
            Self::Decimal { limits: None } => f.write_str("decimal"),
            Self::Decimal { limits: Some((p, s)) } => write!(f, "decimal({p},{s})"),
            Self::Float { bits: 32 } => f.write_str("real"),
            Self::Float { .. } => f.write_str("float"),
            Self::Boolean => f.write_str("boolean"),
            Self::Date => f.write_str("date"),
            Self::Timestamptz => f.write_str("timestamptz"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Uuid => f.write_str("uuid"),
            Self::Bytes => f.write_str("bytes"),
            Self::Json => f.write_str("json"),
            Self::Enum { name, .. } => write!(f, "enum({name})"),
            Self::Array(item) => write!(f, "{item}[]"),
            Self::Geometry { kind, srid } => {
                write!(f, "geometry({},{srid})", kind.as_deref().unwrap_or("Geometry"))
            }
        }
    }
}

/// A type's spelling that isn't known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown type `{0}`; known are text, varchar(n), smallint, int, integer, decimal, decimal(p,s), float, boolean, date, \
     timestamptz, timestamp, uuid, bytes, json, enum(name), geometry(kind,srid), and any of these with [] behind it"
)]
pub struct UnknownType(pub String);

impl FromStr for Type {
    type Err = UnknownType;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownType(text.to_owned());
        let spelled = text.trim();
        if let Some(item) = spelled.strip_suffix("[]") {
            let item: Self = item.parse().map_err(|_| unknown())?;
            if matches!(item, Self::Array(_) | Self::Scalar) {
                return Err(unknown());
            }
            return Ok(Self::Array(Box::new(item)));
        }
        let (name, args) = match spelled.split_once('(') {
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(unknown)?;
                (name.trim(), inner.split(',').map(str::trim).collect::<Vec<_>>())
            }
            None => (spelled, Vec::new()),
        };
        let lower = name.to_ascii_lowercase();
        Ok(match (lower.as_str(), args.as_slice()) {
            ("text" | "string", []) => Self::TEXT,
            ("varchar", [n]) => Self::Text { max: Some(n.parse().map_err(|_| unknown())?) },
            ("smallint", []) => Self::Integer { bits: 16 },
            ("int" | "int4", []) => Self::Integer { bits: 32 },
            ("integer" | "bigint" | "int8", []) => Self::INTEGER,
            ("decimal" | "numeric", []) => Self::DECIMAL,
            ("decimal" | "numeric", [p]) => {
                Self::Decimal { limits: Some((p.parse().map_err(|_| unknown())?, 0)) }
            }
            ("decimal" | "numeric", [p, s]) => {
                let p: u16 = p.parse().map_err(|_| unknown())?;
                let s: i16 = s.parse().map_err(|_| unknown())?;
                if p == 0 || p > 1000 {
                    return Err(unknown());
                }
                Self::Decimal { limits: Some((p, s)) }
            }
            ("float" | "double", []) => Self::Float { bits: 64 },
            ("real", []) => Self::Float { bits: 32 },
            ("boolean" | "bool", []) => Self::Boolean,
            ("date", []) => Self::Date,
            ("timestamptz", []) => Self::Timestamptz,
            ("timestamp", []) => Self::Timestamp,
            ("uuid", []) => Self::Uuid,
            ("bytes" | "bytea", []) => Self::Bytes,
            ("json" | "jsonb", []) => Self::Json,
            ("enum", [name]) if !name.is_empty() => {
                Self::Enum { labels: Vec::new(), name: (*name).to_owned() }
            }
            ("geometry", []) => Self::Geometry { kind: None, srid: 4326 },
            ("geometry", [kind]) => {
                Self::Geometry { kind: geometry_kind(kind).ok_or_else(unknown)?, srid: 4326 }
            }
            ("geometry", [kind, srid]) => Self::Geometry {
                kind: geometry_kind(kind).ok_or_else(unknown)?,
                srid: srid.parse().map_err(|_| unknown())?,
            },
            _ => return Err(unknown()),
        })
    }
}

/// The kinds of GeoJSON geometry, in their official spelling.
const GEOMETRY_KINDS: [&str; 7] =
    ["Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"];

/// `Some(None)` is "any kind"; `None` is not a kind.
#[expect(clippy::option_option, reason = "three answers: a kind, any kind, no kind; used once, above")]
fn geometry_kind(text: &str) -> Option<Option<String>> {
    if text.eq_ignore_ascii_case("geometry") {
        return Some(None);
    }
    GEOMETRY_KINDS.iter().find(|kind| kind.eq_ignore_ascii_case(text)).map(|kind| Some((*kind).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_round_trip() {
        for spelled in [
            "scalar",
            "text",
            "varchar(20)",
            "smallint",
            "int",
            "integer",
            "decimal",
            "decimal(20,8)",
            "float",
            "real",
            "boolean",
            "date",
            "timestamptz",
            "timestamp",
            "uuid",
            "bytes",
            "json",
            "enum(mood)",
            "text[]",
            "decimal(10,2)[]",
            "geometry(MultiPolygon,4326)",
            "geometry(Geometry,2249)",
        ] {
            if spelled == "scalar" {
                continue; // never written by a user
            }
            let parsed: Type = spelled.parse().unwrap();
            assert_eq!(parsed.to_string(), spelled);
        }
    }

    #[test]
    fn unknown_spellings_are_refused() {
        for spelled in
            ["", "scalar", "texte", "decimal(x)", "decimal(0,0)", "varchar", "text[][]", "geometry(Blob)"]
        {
            assert!(spelled.parse::<Type>().is_err(), "{spelled}");
        }
    }
}
