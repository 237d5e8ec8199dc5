//! The old `crs` member: harmless where it names WGS 84, which RFC 7946 fixes; anything else would put every geometry in the
//! wrong place.

use landonce_core::bad_record::shorten;
use serde_json::Value;

/// Checks that a `crs` value names WGS 84 in one of its usual spellings, or nothing (`null`).
pub(super) fn check(text: &[u8]) -> Result<(), String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| format!("`crs` isn't JSON ({error})"))?;
    let properties = &value["properties"];
    let is_wgs84 = match (&value, &properties["name"], &properties["code"]) {
        (Value::Null, ..) => true,
        (_, Value::String(name), _) => names_wgs84(name),
        (_, _, code) => code.as_u64() == Some(4326) || code.as_str() == Some("4326"),
    };
    if is_wgs84 {
        return Ok(());
    }
    let shown = properties["name"].as_str().map_or_else(|| value.to_string(), str::to_owned);
    Err(format!(
        "`crs` names {}: GeoJSON is longitude and latitude in WGS 84 (RFC 7946); reproject it (`ogr2ogr -t_srs EPSG:4326`)",
        shorten(&shown)
    ))
}

/// `urn:ogc:def:crs:OGC:1.3:CRS84`, `urn:ogc:def:crs:EPSG::4326`, `EPSG:4326`, `http://www.opengis.net/def/crs/EPSG/0/4326` …
fn names_wgs84(name: &str) -> bool {
    let last = name.rsplit([':', '/', '#']).next().unwrap_or(name);
    last.eq_ignore_ascii_case("CRS84") || (last == "4326" && name.to_ascii_uppercase().contains("EPSG"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> String {
        format!(r#"{{"type":"name","properties":{{"name":"{name}"}}}}"#)
    }

    #[test]
    fn the_spellings_of_wgs84_pass() {
        for name in [
            "urn:ogc:def:crs:OGC:1.3:CRS84",
            "urn:ogc:def:crs:OGC::CRS84",
            "urn:ogc:def:crs:EPSG::4326",
            "EPSG:4326",
            "http://www.opengis.net/def/crs/EPSG/0/4326",
        ] {
            assert_eq!(check(named(name).as_bytes()), Ok(()), "{name}");
        }
        assert_eq!(check(b"null"), Ok(()));
        assert_eq!(check(br#"{"type":"EPSG","properties":{"code":4326}}"#), Ok(()));
    }

    #[test]
    fn every_other_system_is_refused_by_its_name() {
        for name in ["EPSG:2249", "urn:ogc:def:crs:EPSG::3857", "urn:ogc:def:crs:EPSG::44326", "4326m"] {
            let error = check(named(name).as_bytes()).unwrap_err();
            assert!(error.contains(name) && error.contains("reproject"), "{error}");
        }
        for other in [&br#"{"type":"link","properties":{"href":"x"}}"#[..], b"7", b"{}", b"{"] {
            assert!(check(other).is_err());
        }
    }
}
