//! `GeoJSON` geometry (RFC 7946): to the EWKB that `PostGIS` takes, and to one canonical text for digests.
//!
//! The text is walked once, without a tree. What a database would refuse (an open ring, mixed dimensions) is refused
//! here with its path, because there it would fail the whole batch; nothing is closed, dropped or turned around to
//! fit. Whether the JSON is well formed and its names unique has been checked before; topology (self-intersection,
//! winding) and the range of longitudes are left to the database.

mod ewkb;
mod object;
mod rounding;
mod text;
mod walk;

#[cfg(test)]
mod tests;

use crate::bad_record::BadRecord;

pub use text::to_geojson;

/// A geometry as little-endian EWKB with its SRID, for a column of `kind` (`None` takes any).
///
/// Where a Multi kind is declared, its single kind is taken too and becomes the only part. Three numbers in every
/// position make the geometry three-dimensional. Empty coordinates make an empty geometry. An SRID of 0 is "unknown"
/// and isn't written. Other members (`bbox` …) are passed over, but a `crs` that names another system than `srid` is
/// an error: its coordinates would land elsewhere.
///
/// # Errors
/// [`WrongType`](crate::bad_record::BadKind::WrongType) for what isn't a geometry or not of the kind,
/// [`OutOfRange`](crate::bad_record::BadKind::OutOfRange) for a number beyond a double,
/// [`TooDeep`](crate::bad_record::BadKind::TooDeep) for more than 16 collections in each other. The field is the path
/// inside the geometry (`coordinates[0][3][1]`).
pub fn to_ewkb(json: &str, kind: Option<&str>, srid: i32) -> Result<Vec<u8>, BadRecord> {
    let mut writer = ewkb::Writer::new(srid, json.len() / 2);
    let has_z = walk::Walk::new(&mut writer, Some(srid)).outermost(json, kind)?;
    Ok(writer.finish(has_z))
}

/// The geometry's canonical text, each coordinate rounded half to even to `digits` places behind the point.
///
/// The rounding is exact, on the decimal text. Two exports of one polygon with other trailing digits, white space,
/// exponents or order of members give one text: `{"type":"…","coordinates":[…]}`. The number of positions never
/// changes, also where neighbours become equal.
///
/// # Errors
/// As for [`to_ewkb`].
pub fn round(json: &str, digits: u8) -> Result<String, BadRecord> {
    let mut writer = rounding::Writer::new(digits, json.len());
    walk::Walk::new(&mut writer, None).outermost(json, None)?;
    Ok(writer.finish())
}

/// The seven kinds; the numbers are WKB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Point = 1,
    LineString = 2,
    Polygon = 3,
    MultiPoint = 4,
    MultiLineString = 5,
    MultiPolygon = 6,
    GeometryCollection = 7,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Point,
        Self::LineString,
        Self::Polygon,
        Self::MultiPoint,
        Self::MultiLineString,
        Self::MultiPolygon,
        Self::GeometryCollection,
    ];

    /// The name in RFC 7946, where upper and lower case matter.
    const fn name(self) -> &'static str {
        match self {
            Self::Point => "Point",
            Self::LineString => "LineString",
            Self::Polygon => "Polygon",
            Self::MultiPoint => "MultiPoint",
            Self::MultiLineString => "MultiLineString",
            Self::MultiPolygon => "MultiPolygon",
            Self::GeometryCollection => "GeometryCollection",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The member that holds the content.
    const fn member(self) -> &'static str {
        if matches!(self, Self::GeometryCollection) { "geometries" } else { "coordinates" }
    }

    /// The kind whose parts are of this kind.
    const fn multi(self) -> Option<Self> {
        match self {
            Self::Point => Some(Self::MultiPoint),
            Self::LineString => Some(Self::MultiLineString),
            Self::Polygon => Some(Self::MultiPolygon),
            _ => None,
        }
    }
}

/// One number of a position: as written, and as the nearest double, which is finite.
#[derive(Debug, Clone, Copy, Default)]
struct Ordinate<'a> {
    text: &'a str,
    value: f64,
}

/// What a walk tells as it passes through a geometry.
trait Sink {
    /// A geometry begins: the outermost, or one of a collection.
    fn begin(&mut self, kind: Kind);
    /// A part of a Multi geometry begins; its content follows.
    fn part(&mut self, kind: Kind);
    /// A list begins: of positions, rings, parts or geometries.
    fn open(&mut self);
    /// The innermost list ends, having had so many items.
    fn close(&mut self, items: usize);
    /// A position of two or three numbers. A fault has an empty path.
    fn position(&mut self, ordinates: &[Ordinate<'_>]) -> Result<(), BadRecord>;
    /// A point without a position.
    fn empty_point(&mut self);
    /// The geometry that began last ends.
    fn end(&mut self);
}
