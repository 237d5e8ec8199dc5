//! EWKB back into GeoJSON, for databases that can't read geometries: what `PostGIS`'s `ST_AsGeoJSON` makes of the same bytes.

use super::Kind;

const HAS_Z: u32 = 0x8000_0000;
const HAS_SRID: u32 = 0x2000_0000;
const TYPE: u32 = 0x0fff_ffff;
/// The deepest collection of collections that is read.
const MOST_DEPTH: u32 = 32;

/// The geometry as a GeoJSON object; `None` for bytes that aren't EWKB as landonce writes it (little-endian, two or three
/// dimensions).
pub fn to_geojson(ewkb: &[u8]) -> Option<String> {
    let mut reader = Reader { rest: ewkb, out: String::new() };
    reader.geometry(0)?;
    reader.rest.is_empty().then_some(reader.out)
}

struct Reader<'b> {
    rest: &'b [u8],
    out: String,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*first)
    }

    fn word(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// The type's number, and how many ordinates a position has.
    fn header(&mut self) -> Option<(usize, usize)> {
        if self.take()? != [1] {
            return None;
        }
        let word = self.word()?;
        if word & HAS_SRID != 0 {
            self.word()?;
        }
        Some(((word & TYPE) as usize, if word & HAS_Z != 0 { 3 } else { 2 }))
    }

    fn geometry(&mut self, depth: u32) -> Option<()> {
        let (of, width) = self.header()?;
        let name = Kind::ALL.get(of.checked_sub(1)?)?.name();
        if depth > MOST_DEPTH {
            return None;
        }
        self.out.push_str("{\"type\":\"");
        self.out.push_str(name);
        self.out.push_str(if of == 7 { "\",\"geometries\":" } else { "\",\"coordinates\":" });
        match of {
            7 => self.list(|reader| reader.geometry(depth + 1))?,
            4..=6 => self.list(|reader| {
                let (part, width) = reader.header()?;
                if part + 3 != of {
                    return None;
                }
                reader.coordinates(part, width)
            })?,
            _ => self.coordinates(of, width)?,
        }
        self.out.push('}');
        Some(())
    }

    /// What stands behind the header of a point, a line or a polygon.
    fn coordinates(&mut self, of: usize, width: usize) -> Option<()> {
        match of {
            1 => self.position(width),
            2 => self.list(|reader| reader.position(width)),
            _ => self.list(|reader| reader.list(|reader| reader.position(width))),
        }
    }

    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let count = self.word()?;
        self.out.push('[');
        for at in 0..count {
            if at > 0 {
                self.out.push(',');
            }
            item(self)?;
        }
        self.out.push(']');
        Some(())
    }

    /// A position; that of an empty point is no number.
    fn position(&mut self, width: usize) -> Option<()> {
        self.out.push('[');
        let from = self.out.len();
        for at in 0..width {
            let ordinate = f64::from_le_bytes(self.take()?);
            if ordinate.is_finite() {
                if at > 0 {
                    self.out.push(',');
                }
                // Never with an exponent: `{}` writes all digits out.
                self.out.push_str(&ordinate.to_string());
            } else {
                self.out.truncate(from);
            }
        }
        self.out.push(']');
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::to_ewkb;

    #[test]
    fn what_was_written_is_read_again() {
        for json in [
            r#"{"type":"Point","coordinates":[13.4050001,-52.5]}"#,
            r#"{"type":"Point","coordinates":[1,2,3.5]}"#,
            r#"{"type":"Point","coordinates":[]}"#,
            r#"{"type":"LineString","coordinates":[[0,0],[1,0.1]]}"#,
            r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]],[[0.1,0.1],[0.2,0.1],[0.2,0.2],[0.1,0.1]]]}"#,
            r#"{"type":"MultiPoint","coordinates":[[0,0],[1,1]]}"#,
            r#"{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[3,3]]]}"#,
            r#"{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}"#,
            r#"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"LineString","coordinates":[[0,0],[1,1]]}]}"#,
        ] {
            let bytes = to_ewkb(json, None, 4326).unwrap();
            assert_eq!(to_geojson(&bytes).as_deref(), Some(json));
            assert_eq!(to_geojson(&bytes[..bytes.len() - 1]), None);
            assert_eq!(to_geojson(&[&bytes[..], &[0]].concat()), None);
        }
        assert_eq!(to_geojson(b""), None);
        assert_eq!(to_geojson(&[0, 0, 0, 0, 1]), None);
    }
}
