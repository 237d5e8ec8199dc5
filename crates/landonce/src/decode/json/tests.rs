//! Arrays of records, and what is none.

use landonce_core::bad_record::BadKind;

use crate::decode::tests::{decode, decode_in_pieces, error, good};
use crate::decode::{DecodeError, Format};

fn elements(text: &str) -> Vec<(u64, String)> {
    good(text, &Format::Json)
}

fn element(number: u64, text: &str) -> (u64, String) {
    (number, text.to_owned())
}

#[test]
fn elements_keep_their_spelling() {
    let text = "\u{feff} [ {\"a\" : [1,{\"b\":\"]}\\\"\"}]} ,\r\n{}\n,\t{\"c\":1e400}] \n ";
    assert_eq!(
        elements(text),
        [element(1, "{\"a\" : [1,{\"b\":\"]}\\\"\"}]}"), element(2, "{}"), element(3, "{\"c\":1e400}")]
    );
    assert_eq!(elements("[]"), []);
    assert_eq!(elements("[ \n ]"), []);
}

#[test]
fn a_single_object_is_one_record() {
    assert_eq!(elements("\n{\"a\":[1]}\n"), [element(1, "{\"a\":[1]}")]);
    let lines = error("{}\n{}\n", &Format::Json);
    assert!(lines.to_string().contains("format: ndjson"), "{lines}");
}

#[test]
fn elements_that_are_no_objects_are_bad_records() {
    let (all, error) = decode("x", br#"[{}, 1, "a", null, [{}], nonsense, -1e5x, {}]"#, &Format::Json);
    assert!(error.is_none(), "{error:?}");
    let kinds: Vec<_> = all.iter().map(|got| got.text.as_ref().err().copied()).collect();
    let bad = Some(BadKind::Syntax);
    assert_eq!(kinds, [None, bad, bad, bad, bad, bad, bad, None]);
    assert_eq!(all[2].raw, br#""a""#);
    assert_eq!(all[7].number, 8);
}

#[test]
fn an_array_that_is_not_closed_is_incomplete() {
    for text in [
        "",
        " ",
        "\u{feff}",
        "[",
        "[ ",
        "[{}",
        "[{},",
        "[{",
        "[{\"a",
        "[{\"a\\",
        "[1",
        "[\"",
        "{",
        "{\"a\":[}",
    ] {
        match error(text, &Format::Json) {
            DecodeError::Incomplete { .. } => {}
            DecodeError::Malformed { .. } if text.ends_with("[}") => {}
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

#[test]
fn the_open_element_and_its_place_are_named() {
    let error = error("[{\"a\":1},\n {\"a\":", &Format::Json);
    let DecodeError::Incomplete { detail, records } = &error else { panic!("{error:?}") };
    assert!(detail.contains("element 2") && detail.contains("byte 11"), "{detail}");
    assert_eq!(*records, 1);
}

#[test]
fn stray_commas_brackets_and_text_are_errors() {
    for text in [
        "[,]",
        "[{},]",
        "[{},,{}]",
        "[,{}]",
        "[{} {}]",
        "[{}{}]",
        "[1 2]",
        "[1\"a\"]",
        "[{}]]",
        "[{}] x",
        "[{}],",
        "[{\"a\":1]",
        "[{]}]",
        "[[}]",
        "[:]",
        "x",
        "\"a\"",
        "1",
        "null",
        "]",
        "}",
        "[\"a\":1]",
        "[{}}]",
        "[1}]",
    ] {
        let error = error(text, &Format::Json);
        assert!(matches!(error, DecodeError::Malformed { .. }), "{text:?}: {error:?}");
    }
    let DecodeError::Malformed { offset, records, .. } = error("[{}, {} , ,{}]", &Format::Json) else {
        panic!()
    };
    assert_eq!((offset, records), (10, 2));
}

#[test]
fn depth_is_a_bad_record_and_costs_nothing() {
    let deep = |depth: usize| format!("[{}1{}]", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert!(decode("x", deep(128).as_bytes(), &Format::Json).0[0].text.is_ok());
    assert_eq!(decode("x", deep(129).as_bytes(), &Format::Json).0[0].text, Err(BadKind::TooDeep));
    let (all, error) =
        decode("x", format!("{},{{}}]", &deep(500_000).trim_end_matches(']')).as_bytes(), &Format::Json);
    assert!(error.is_none());
    assert_eq!(all[0].text, Err(BadKind::TooDeep));
    assert!(all[1].text.is_ok());
}

#[test]
fn elements_longer_than_the_buffer_are_whole() {
    let long = format!("{{\"a\":\"{}\\\"{}\"}}", "]".repeat(400_000), "x".repeat(700_000));
    let text = format!("[{{}},{long} , {{}}]");
    for sizes in [&[usize::MAX][..], &[99_991], &[262_144]] {
        let (all, error) = decode_in_pieces(text.as_bytes(), sizes, &Format::Json, 16 << 20);
        assert!(error.is_none());
        assert_eq!(all[1].text.as_ref().unwrap(), &long);
        assert_eq!(all.len(), 3);
    }
}
