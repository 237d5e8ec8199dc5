//! Claims about both ways out. The hex is what `PostGIS` 3.3 gives for `ST_AsEWKB(ST_SetSRID(ST_GeomFromGeoJSON(…), 4326))`.

use super::*;
use crate::bad_record::BadKind;

const SQUARE: &str = "[[0,0],[4,0],[4,4],[0,0]]";

fn geometry(kind: &str, content: &str) -> String {
    let member = if kind == "GeometryCollection" { "geometries" } else { "coordinates" };
    format!("{{\"type\":\"{kind}\",\"{member}\":{content}}}")
}

fn hex_of(json: &str, kind: Option<&str>) -> String {
    hex::encode(to_ewkb(json, kind, 4326).unwrap())
}

#[test]
fn every_kind_is_the_bytes_that_postgis_writes() {
    for (kind, content, want) in [
        ("Point", "[-71.11,42.37]", "0101000020e6100000d7a3703d0ac751c08fc2f5285c2f4540"),
        ("Point", "[-71.11,42.37,5]", "01010000a0e6100000d7a3703d0ac751c08fc2f5285c2f45400000000000001440"),
        (
            "LineString",
            "[[0,1],[2,3]]",
            "0102000020e6100000020000000000000000000000000000000000f03f00000000000000400000000000000840",
        ),
        (
            "Polygon",
            "[[[0,0],[4,0],[4,4],[0,0]],[[1,1],[2,1],[2,2],[1,1]]]",
            "0103000020e610000002000000040000000000000000000000000000000000000000000000000010400000000000000000000000000000104000000000000010400000000000000000000000000000000004000000000000000000f03f000000000000f03f0000000000000040000000000000f03f00000000000000400000000000000040000000000000f03f000000000000f03f",
        ),
        (
            "MultiPoint",
            "[[0,1],[2,3]]",
            "0104000020e61000000200000001010000000000000000000000000000000000f03f010100000000000000000000400000000000000840",
        ),
        (
            "MultiLineString",
            "[[[0,1],[2,3]],[[4,5],[6,7]]]",
            "0105000020e6100000020000000102000000020000000000000000000000000000000000f03f000000000000004000000000000008400102000000020000000000000000001040000000000000144000000000000018400000000000001c40",
        ),
        (
            "MultiPolygon",
            "[[],[[[0,0,1],[4,0,1],[4,4,1],[0,0,1]]]]",
            "01060000a0e6100000020000000103000080000000000103000080010000000400000000000000000000000000000000000000000000000000f03f00000000000010400000000000000000000000000000f03f00000000000010400000000000001040000000000000f03f00000000000000000000000000000000000000000000f03f",
        ),
        (
            "GeometryCollection",
            r#"[{"type":"Point","coordinates":[1,2]},{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,1],[2,3]]}]}]"#,
            "0107000020e6100000020000000101000000000000000000f03f00000000000000400107000000010000000102000000020000000000000000000000000000000000f03f00000000000000400000000000000840",
        ),
    ] {
        assert_eq!(hex_of(&geometry(kind, content), None), want, "{kind} {content}");
        assert_eq!(hex_of(&geometry(kind, content), Some(kind)), want, "{kind} {content}");
    }
}

#[test]
fn empty_coordinates_are_an_empty_geometry() {
    for (kind, content, want) in [
        ("Point", "[]", "0101000020e6100000000000000000f87f000000000000f87f"),
        ("LineString", "[]", "0102000020e610000000000000"),
        ("Polygon", "[ ]", "0103000020e610000000000000"),
        ("MultiPolygon", "[]", "0106000020e610000000000000"),
        ("GeometryCollection", "[]", "0107000020e610000000000000"),
        (
            "GeometryCollection",
            r#"[{"type":"Point","coordinates":[]},{"type":"Point","coordinates":[1,2,3]}]"#,
            "01070000a0e6100000020000000101000080000000000000f87f000000000000f87f000000000000f87f0101000080000000000000f03f00000000000000400000000000000840",
        ),
    ] {
        assert_eq!(hex_of(&geometry(kind, content), None), want, "{kind} {content}");
    }
}

#[test]
fn a_single_kind_becomes_the_only_part_of_its_declared_multi_kind() {
    for (kind, content, wrapped) in [
        ("Point", "[1,2]", "[[1,2]]"),
        ("LineString", "[[0,1],[2,3]]", "[[[0,1],[2,3]]]"),
        ("Polygon", "[[[0,0],[4,0],[4,4],[0,0]]]", "[[[[0,0],[4,0],[4,4],[0,0]]]]"),
        ("Point", "[]", "[]"),
        ("Polygon", "[]", "[]"),
    ] {
        let multi = format!("Multi{kind}");
        assert_eq!(hex_of(&geometry(kind, content), Some(&multi)), hex_of(&geometry(&multi, wrapped), None));
    }
}

#[test]
fn members_may_stand_in_any_order_and_others_are_passed_over() {
    let json =
        "\n{ \"bbox\" : [[[[1]]]], \"coordinates\" :\t[ -7.111e1 , 4237E-2 ] , \"type\" : \"P\\u006fint\" }";
    assert_eq!(hex_of(json, None), "0101000020e6100000d7a3703d0ac751c08fc2f5285c2f4540");
    assert_eq!(round(json, 6).unwrap(), r#"{"type":"Point","coordinates":[-71.11,42.37]}"#);
}

#[test]
fn an_unknown_srid_is_not_written_and_negative_zero_is_zero() {
    let want = to_ewkb(&geometry("Point", "[0,0]"), None, 0).unwrap();
    assert_eq!(hex::encode(&want), "010100000000000000000000000000000000000000");
    assert_eq!(to_ewkb(&geometry("Point", "[-0,-0.0e5]"), None, 0).unwrap(), want);
}

#[test]
fn what_a_database_would_refuse_is_refused_with_its_path() {
    let deep = |levels: usize| {
        let inner = geometry("Point", "[1,2]");
        (0..levels).fold(inner, |inner, _| geometry("GeometryCollection", &format!("[{inner}]")))
    };
    assert!(to_ewkb(&deep(16), None, 4326).is_ok());
    let too_deep = to_ewkb(&deep(17), None, 4326).unwrap_err();
    assert_eq!((too_deep.kind, too_deep.field), (BadKind::TooDeep, ["geometries"; 17].join("[0].")));

    for (kind, content, path, want) in [
        ("Point", "[1]", "coordinates", "found a list of 1; a position has 2 or 3 numbers"),
        ("Point", "[1,2,3,4]", "coordinates", "found more than 3 numbers"),
        ("Point", "[1,\"2\"]", "coordinates[1]", "found a text; a number is due"),
        ("Point", "[1,null]", "coordinates[1]", "found null"),
        ("Point", "[[1,2]]", "coordinates[0]", "found a list; a number is due"),
        ("Point", "{}", "coordinates", "found an object; a position is due"),
        ("Point", "null", "coordinates", "found none; a Point needs a list here"),
        ("LineString", "[[0,1]]", "coordinates", "found 1 position; a line has none, or at least 2"),
        (
            "LineString",
            "[[0,1],[2,3,4]]",
            "coordinates[1]",
            "found 3 numbers where the positions before have 2",
        ),
        ("LineString", "[0,1]", "coordinates[0]", "found a number; a position is due"),
        ("Polygon", "[[]]", "coordinates[0]", "found 0 positions; a ring has at least 4"),
        ("Polygon", "[[[0,0],[4,0],[0,0]]]", "coordinates[0]", "found 3 positions"),
        (
            "Polygon",
            "[[[0,0],[4,0],[4,4],[0,1]]]",
            "coordinates[0]",
            "begins at [0.0, 0.0] and ends at [0.0, 1.0]",
        ),
        ("Polygon", "[[[0,0,1],[4,0,1],[4,4,1],[0,0,2]]]", "coordinates[0]", "ends at [0.0, 0.0, 2.0]"),
        ("Polygon", "[true]", "coordinates[0]", "found true or false; a list is due"),
        ("MultiPoint", "[[]]", "coordinates[0]", "found a list of 0"),
        ("MultiLineString", "[[[0,0],[1,1]],[[0,1]]]", "coordinates[1]", "found 1 position"),
        ("GeometryCollection", "{}", "geometries", "found an object; a list of geometries is due"),
        ("GeometryCollection", "[null]", "geometries[0]", "found null; a GeoJSON geometry is an object"),
        (
            "GeometryCollection",
            r#"[{"type":"Point","coordinates":[1,2]},{"type":"MultiPoint","coordinates":[[1,2,3]]}]"#,
            "geometries[1].coordinates[0]",
            "found 3 numbers",
        ),
    ] {
        for bad in [
            to_ewkb(&geometry(kind, content), None, 4326).unwrap_err(),
            round(&geometry(kind, content), 6).unwrap_err(),
        ] {
            assert_eq!((bad.kind, bad.field.as_str()), (BadKind::WrongType, path), "{kind} {content}");
            assert!(bad.detail.contains(want), "{kind} {content}: {}", bad.detail);
        }
    }
    let ring = format!("[[{SQUARE}],[{SQUARE},[[0,0],[4,0],[\"4\",4],[0,0]]]]");
    assert_eq!(round(&geometry("MultiPolygon", &ring), 6).unwrap_err().field, "coordinates[1][1][2][0]");
}

#[test]
fn a_number_beyond_a_double_is_out_of_range() {
    for text in ["[1,1e309]", "[1,-1e99999999999]"] {
        let bad = to_ewkb(&geometry("Point", text), None, 4326).unwrap_err();
        assert_eq!((bad.kind, bad.field.as_str()), (BadKind::OutOfRange, "coordinates[1]"), "{text}");
        assert_eq!(round(&geometry("Point", text), 6).unwrap_err(), bad);
    }
    let bad = round(&geometry("Point", "[1e-20000,1]"), 6).unwrap_err();
    assert_eq!((bad.kind, bad.field.as_str()), (BadKind::OutOfRange, "coordinates[0]"));
}

#[test]
fn what_is_not_a_geometry_says_what_it_is() {
    for (json, path, want) in [
        ("\"POINT(1 2)\"", "", "found a text; a GeoJSON geometry is an object"),
        ("[1,2]", "", "found a list"),
        ("{}", "type", "found null; the name of a kind of geometry is due"),
        (r#"{"type":7}"#, "type", "found a number"),
        (
            r#"{"type":"polygon","coordinates":[]}"#,
            "type",
            "found `polygon`; a kind of geometry is due: Point, ",
        ),
        (r#"{"type":"Feature","geometry":null}"#, "type", "give its `geometry`"),
    ] {
        let bad = to_ewkb(json, None, 4326).unwrap_err();
        assert_eq!((bad.kind, bad.field.as_str()), (BadKind::WrongType, path), "{json}");
        assert!(bad.detail.contains(want), "{json}: {}", bad.detail);
    }
    assert_eq!(
        to_ewkb(r#"{"type":"Point","coordinates":[1,2"#, None, 4326).unwrap_err().kind,
        BadKind::Syntax
    );
}

#[test]
fn another_kind_than_the_declared_names_both() {
    for (kind, wanted) in
        [("MultiPolygon", "Polygon"), ("Point", "MultiPolygon"), ("Polygon", "GeometryCollection")]
    {
        let bad = to_ewkb(&geometry(kind, "[]"), Some(wanted), 4326).unwrap_err();
        assert_eq!((bad.kind, bad.field.as_str()), (BadKind::WrongType, "type"));
        assert_eq!(bad.detail, format!("found a `{kind}`; the column takes a `{wanted}`"));
    }
}

#[test]
fn a_crs_that_is_not_the_columns_is_refused() {
    let with = |crs: &str| format!(r#"{{"type":"Point","crs":{crs},"coordinates":[1,2]}}"#);
    let named = |name: &str| with(&format!(r#"{{"type":"name","properties":{{"name":"{name}"}}}}"#));
    for fits in ["EPSG:4326", "urn:ogc:def:crs:EPSG::4326", "urn:ogc:def:crs:OGC:1.3:CRS84"] {
        assert!(to_ewkb(&named(fits), None, 4326).is_ok(), "{fits}");
    }
    assert!(to_ewkb(&with("null"), None, 4326).is_ok());
    for other in [named("EPSG:2249"), named("EPSG:14326"), with("{\"type\":\"link\"}")] {
        let bad = to_ewkb(&other, None, 4326).unwrap_err();
        assert_eq!((bad.kind, bad.field.as_str()), (BadKind::WrongType, "crs"));
        assert!(bad.detail.ends_with("the column's coordinates are in EPSG:4326"), "{}", bad.detail);
    }
}

#[test]
fn two_exports_of_one_polygon_have_one_text() {
    let want = r#"{"type":"Polygon","coordinates":[[[-71,0],[-71.147965,42.39925],[0.1,100],[-71,0]]]}"#;
    for json in [
        r#"{"type":"Polygon","coordinates":[[[-71.14796456778615,42.39924990339887],[-71.0,-0.0000001],[1e-1,1E2],[-71.14796456778615,42.39924990339887]]]}"#,
        r#"{"coordinates": [[[-71.147964567786, 42.3992499033], [-7.1e1, 0], [0.10000000000000001, 100.0],
            [-71.147964567786, 42.3992499033]]], "type": "Polygon", "bbox": [0, 0, 1, 1]}"#,
    ] {
        assert_eq!(round(json, 6).unwrap(), want);
    }
}

#[test]
fn rounding_never_changes_the_number_of_positions() {
    let line = r#"{"type":"LineString","coordinates":[[0.11,0.11,1.25],[0.12,0.12,1.35],[0.13,0.13,9]]}"#;
    assert_eq!(
        round(line, 1).unwrap(),
        r#"{"type":"LineString","coordinates":[[0.1,0.1,1.2],[0.1,0.1,1.4],[0.1,0.1,9]]}"#
    );
}

#[test]
fn canonical_text_is_its_own_canonical_text() {
    for json in [
        r#"{"type":"Point","coordinates":[]}"#,
        r#"{"type":"MultiPoint","coordinates":[[1,2],[3,4.5]]}"#,
        r#"{"type":"MultiPolygon","coordinates":[[],[[[0,0],[4,0],[4,4],[0,0]],[[1,1],[2,1],[2,2],[1,1]]]]}"#,
        r#"{"type":"GeometryCollection","geometries":[{"type":"GeometryCollection","geometries":[]},{"type":"Point","coordinates":[1,2]},{"type":"MultiLineString","coordinates":[[],[[0,0],[1,1]]]}]}"#,
    ] {
        assert_eq!(round(json, 6).unwrap(), json);
    }
}
