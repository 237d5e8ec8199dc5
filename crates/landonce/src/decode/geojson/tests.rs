//! Feature collections, in every order of their members, and features that are none.

use landonce_core::bad_record::BadKind;

use crate::decode::tests::{Got, decode, decode_in_pieces, error, good};
use crate::decode::{DecodeError, Format};

fn collection(features: &str) -> String {
    format!(r#"{{"type":"FeatureCollection","features":[{features}]}}"#)
}

fn one(feature: &str) -> Got {
    let (mut all, error) = decode("x", collection(feature).as_bytes(), &Format::GeoJson);
    assert!(error.is_none(), "{feature}: {error:?}");
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn flat(feature: &str) -> String {
    one(feature).text.unwrap()
}

fn bad(feature: &str) -> (BadKind, String) {
    let got = one(feature);
    assert_eq!(got.raw, feature.as_bytes(), "a bad feature is kept whole");
    (got.text.unwrap_err(), got.detail)
}

const POINT: &str = r#"{"type":"Point","coordinates":[-71.10, 42.0]}"#;

#[test]
fn a_feature_becomes_a_flat_object_in_its_own_spelling() {
    assert_eq!(
        flat(&format!(
            r#"{{ "type" : "Feature", "id": 7, "bbox":[1,2], "properties" : {{ "a" : 1.0, "b":{{"c":[]}} }}, "geometry" :{POINT} }}"#
        )),
        format!(r#"{{"a" : 1.0, "b":{{"c":[]}},"geometry":{POINT},"feature_id":7}}"#)
    );
    let empty = r#"{"geometry":null,"properties":{ },"type":"Feature"}"#;
    assert_eq!(flat(empty), r#"{"geometry":null}"#);
    let null = r#"{"type":"Feature","id":"x","properties":null,"geometry":null}"#;
    assert_eq!(flat(null), r#"{"geometry":null,"feature_id":"x"}"#);
}

#[test]
fn an_id_gives_way_to_a_property_of_that_name() {
    let feature = r#"{"type":"Feature","id":7,"properties":{"feature\u005fid":8},"geometry":null}"#;
    assert_eq!(flat(feature), r#"{"feature\u005fid":8,"geometry":null}"#);
    let null = r#"{"type":"Feature","id":null,"properties":{"a":1},"geometry":null}"#;
    assert_eq!(flat(null), r#"{"a":1,"geometry":null}"#);
}

#[test]
fn structural_faults_are_bad_records_that_name_the_member() {
    for (feature, kind, field) in [
        ("1", BadKind::Syntax, "object"),
        ("[]", BadKind::Syntax, "object"),
        ("{}", BadKind::Syntax, "type"),
        (r#"{"type":"Point","properties":{},"geometry":null}"#, BadKind::Syntax, "type"),
        (r#"{"type":["Feature"],"properties":{},"geometry":null}"#, BadKind::Syntax, "type"),
        (r#"{"type":"Feature","geometry":null}"#, BadKind::Syntax, "properties"),
        (r#"{"type":"Feature","properties":{}}"#, BadKind::Syntax, "geometry"),
        (r#"{"type":"Feature","properties":[],"geometry":null}"#, BadKind::Syntax, "properties"),
        (r#"{"type":"Feature","properties":{"a":1,},"geometry":null}"#, BadKind::Syntax, "properties"),
        (r#"{"type":"Feature","properties":{"a"},"geometry":null}"#, BadKind::Syntax, "properties"),
        (r#"{"type":"Feature","properties":{,"a":1},"geometry":null}"#, BadKind::Syntax, "properties"),
        (r#"{"type":"Feature","properties":{"a":},"geometry":null}"#, BadKind::Syntax, "properties"),
        (r#"{"type":"Feature","properties":{},"geometry":null,}"#, BadKind::Syntax, "name"),
        (r#"{"type":"Feature" "properties":{},"geometry":null}"#, BadKind::Syntax, "comma"),
        (r#"{"type":"Feature","id":true,"properties":{},"geometry":null}"#, BadKind::Syntax, "id"),
        (r#"{"type":"Feature","id":{},"properties":{},"geometry":null}"#, BadKind::Syntax, "id"),
        (
            r#"{"type":"Feature","properties":{"geometry":1},"geometry":null}"#,
            BadKind::DuplicateName,
            "geometry",
        ),
        (
            r#"{"type":"Feature","properties":{"geom\u0065try":1},"geometry":null}"#,
            BadKind::DuplicateName,
            "geometry",
        ),
        (
            r#"{"type":"Feature","properties":{},"geometry":null,"geom\u0065try":1}"#,
            BadKind::DuplicateName,
            "geometry",
        ),
        (r#"{"type":"Feature","properties":{},"geometry":null,"x":1,"x":1}"#, BadKind::DuplicateName, "`x`"),
        (
            r#"{"type":"Feature","properties":{},"geometry":null,"type":"Feature"}"#,
            BadKind::DuplicateName,
            "type",
        ),
    ] {
        let (found, detail) = bad(feature);
        assert_eq!(found, kind, "{feature}");
        assert!(detail.contains(field), "{feature}: {detail}");
    }
}

#[test]
fn a_bad_feature_leaves_the_others_and_has_its_index() {
    let whole = r#"{"type":"Feature","properties":{"a":1},"geometry":null}"#;
    let (all, error) = decode("x", collection(&format!("{whole},{{}},{whole}")).as_bytes(), &Format::GeoJson);
    assert!(error.is_none());
    assert_eq!(
        all.iter().map(|got| (got.number, got.text.is_ok())).collect::<Vec<_>>(),
        [(1, true), (2, false), (3, true)]
    );
}

#[test]
fn members_of_the_collection_come_in_any_order() {
    let feature = r#"{"type":"Feature","properties":{"a":1},"geometry":null}"#;
    let crs = r#""crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}}"#;
    for text in [
        format!(r#"{{"features":[{feature}],"type":"FeatureCollection"}}"#),
        format!(
            r#"{{"name":"features","bbox":[1,[2]],{crs},"type":"FeatureCollection","features":[{feature}]}}"#
        ),
        format!(
            "\u{feff}\n{{ \"features\" :\n[ {feature} ] ,\t{crs} , \"type\" : \"FeatureCollection\" , \"x\":1}}\n "
        ),
        format!(r#"{{"fe\u0061tures":[{feature}],"type":"Feature\u0043ollection"}}"#),
    ] {
        assert_eq!(good(&text, &Format::GeoJson).len(), 1, "{text}");
    }
    assert_eq!(good(r#"{"type":"FeatureCollection","features":[]}"#, &Format::GeoJson), []);
}

#[test]
fn members_that_are_not_wanted_are_read_over_whatever_their_size() {
    let text = format!(r#"{{"big":"{}","type":"FeatureCollection","features":[]}}"#, "x".repeat(1_000_000));
    let (all, error) = decode_in_pieces(text.as_bytes(), &[70_001], &Format::GeoJson, 1000);
    assert!(error.is_none() && all.is_empty());
}

#[test]
fn a_collection_that_is_cut_is_incomplete() {
    let feature = r#"{"type":"Feature","properties":{"a":1},"geometry":null}"#;
    let text = format!(r#"{{"name":"n","features":[{feature}],"type":"FeatureCollection"}}"#);
    for len in 0..text.len() {
        let (_, error) = decode("x", &text.as_bytes()[..len], &Format::GeoJson);
        assert!(matches!(error, Some(DecodeError::Incomplete { .. })), "{len}: {error:?}");
    }
}

#[test]
fn what_is_no_collection_is_an_error() {
    for (text, want) in [
        ("[]", "FeatureCollection object"),
        (r#"{"type":"Feature","properties":{},"geometry":null}"#, "it is Feature"),
        (r#"{"features":[]}"#, "no `type`"),
        (r#"{"type":"FeatureCollection"}"#, "no `features`"),
        ("{}", "no `type`"),
        (r#"{"type":"FeatureCollection","features":{}}"#, "must be an array"),
        (r#"{"type":"FeatureCollection","features":[],"features":[]}"#, "`features` twice"),
        (r#"{"type":"FeatureCollection","type":"FeatureCollection","features":[]}"#, "`type` twice"),
        (r#"{"type":"FeatureCollection","features":[]} {}"#, "text follows"),
        (r#"{"type":"FeatureCollection","features":[],}"#, "name is expected"),
        (r#"{"type":"FeatureCollection" "features":[]}"#, "comma"),
        (r#"{"type" "FeatureCollection"}"#, "colon"),
        (r#"{"type":}"#, "out of place"),
        (r#"{"x":1]"#, "comma or a closing brace"),
        (
            r#"{"type":"FeatureCollection","features":[],"crs":{"properties":{"name":"EPSG:2249"}}}"#,
            "EPSG:2249",
        ),
    ] {
        let error = error(text, &Format::GeoJson);
        assert!(matches!(error, DecodeError::Malformed { .. }), "{text}: {error:?}");
        assert!(error.to_string().contains(want), "{text}: {error}");
    }
}
