//! Endings: no records, seen once, at the end only, however the bytes come.

use proptest::prelude::*;

use crate::decode::tests::{Pieces, csv};
use crate::decode::{DecodeError, Ending, Format, Limits, Records, Seen};

fn eof() -> Ending {
    Ending { line: Some("#EOF".to_owned()), ..Ending::default() }
}

fn rows() -> Ending {
    Ending { count_line: Some(("#rows=".to_owned(), ";".to_owned())), ..Ending::default() }
}

fn member(path: &[&str]) -> Ending {
    Ending { member: Some(path.iter().map(|name| (*name).to_owned()).collect()), ..Ending::default() }
}

fn end_record() -> Ending {
    Ending { record: Some((vec!["type".to_owned()], "end".to_owned())), ..member(&["meta", "rows"]) }
}

/// How many records there were and what was seen, or the error; the same whatever the pieces.
fn read(text: &str, format: &Format, ending: &Ending) -> Result<(usize, Seen), DecodeError> {
    let limits = Limits { record: 100, ending: ending.clone(), ..Limits::default() };
    let in_pieces = |size: usize| {
        let stream = Box::new(Pieces { bytes: text.as_bytes().to_vec(), at: 0, sizes: vec![size], turn: 0 });
        let mut records = Records::over_stream(stream, format, &limits)?;
        let mut count = 0;
        while records.next()?.is_some() {
            count += 1;
        }
        Ok((count, records.finish().seen().clone()))
    };
    let whole: Result<_, DecodeError> = in_pieces(1 << 20);
    for size in [1, 3] {
        let again = in_pieces(size);
        assert_eq!(format!("{whole:?}"), format!("{again:?}"), "{text:?} in pieces of {size}");
    }
    whole
}

fn seen(text: &str, format: &Format, ending: &Ending) -> (usize, Seen) {
    read(text, format, ending).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn a_marker_is_no_record_and_its_line_is_known() {
    for (text, format, want) in [
        ("{}\n{}\n#EOF\n", Format::Ndjson, (2, Some(3))),
        ("{}\r\n{}\r\n#EOF\r\n\r\n \n", Format::Ndjson, (2, Some(3))),
        ("\u{feff}{}\n#EOF", Format::Ndjson, (1, Some(2))),
        ("{}\n#EOF\r", Format::Ndjson, (1, Some(2))),
        ("#EOF\n", Format::Ndjson, (0, Some(1))),
        ("", Format::Ndjson, (0, None)),
        ("{}\n", Format::Ndjson, (1, None)),
        ("{}\n#EO", Format::Ndjson, (2, None)),
        ("{}\n #EOF\n", Format::Ndjson, (2, None)),
        ("a\n1\n#EOF\n", csv(), (1, Some(3))),
        ("a\r\n\"1\r\n#EOF\"\r\n#EOF\r\n", csv(), (1, Some(4))),
        ("a\r1\r#EOF", csv(), (1, Some(3))),
        // A file without a row, and one without even a header.
        ("a\n#EOF\n", csv(), (0, Some(2))),
        ("#EOF\n", csv(), (0, Some(1))),
        ("a\n\"#EOF\"\n", csv(), (1, None)),
    ] {
        let (count, seen) = seen(text, &format, &eof());
        assert_eq!((count, seen.line), want, "{text:?}");
        assert!(seen.is_whole);
    }
}

#[test]
fn what_follows_a_marker_is_an_error() {
    for (text, format, ending, line) in [
        ("{}\n#EOF\n{}\n", Format::Ndjson, eof(), 3),
        ("{}\n#EOF\n\n#EOF\n", Format::Ndjson, eof(), 4),
        ("a\n1\n#EOF\na\n1\n#EOF\n", csv(), eof(), 4),
        ("{}\n#rows=1;\n{}\n#rows=1;\n", Format::Ndjson, rows(), 3),
        ("{}\n{\"type\":\"end\"}\n{}\n{\"type\":\"end\"}\n", Format::Ndjson, end_record(), 3),
    ] {
        let error = read(text, &format, &ending).unwrap_err().to_string();
        assert!(error.contains(&format!("line {line} follows the end marker on line")), "{text:?}: {error}");
    }
    let long = format!("#EOF\n{}\n", "x".repeat(200));
    assert!(read(&long, &Format::Ndjson, &eof()).is_err(), "too large a record is one too");
}

#[test]
fn several_things_may_end_a_payload_in_any_order() {
    let both = Ending { line: eof().line, ..rows() };
    for text in ["{}\n#rows=12;\n#EOF\n", "{}\n#EOF\n#rows=12;\n"] {
        let (count, seen) = seen(text, &Format::Ndjson, &both);
        assert_eq!((count, seen.count_line.as_deref(), seen.line.is_some()), (1, Some("12"), true));
    }
    for text in ["a\n#rows=;\n", "a\n#rows=-1;\n", "a\n#rows=1 ;\n", "a\n#rows=1\n"] {
        assert_eq!(seen(text, &csv(), &rows()).0, 1, "{text:?} is a row");
    }
}

#[test]
fn an_object_ends_ndjson_and_its_count_is_kept() {
    for (last, want) in [
        (r#"{"type":"end","meta":{"rows":12}}"#, Some("12")),
        (r#" { "meta" : {"a":[1], "rows" : "12" } , "t\u0079pe" : "en\u0064" } "#, Some("12")),
        (r#"{"type":"end","meta":{"rows":1,"rows":2}}"#, None),
        (r#"{"type":"end","meta":12}"#, None),
        (r#"{"type":"end"}"#, None),
    ] {
        let (count, seen) = seen(&format!("{{\"type\":\"row\"}}\n{last}"), &Format::Ndjson, &end_record());
        assert_eq!((count, seen.record, seen.member.as_deref()), (1, Some(2), want), "{last}");
    }
    for last in [r#"{"type":["end"]}"#, r#"{"a":{"type":"end"}}"#, r#"{"type":"end","type":"end"}"#, "[1]"] {
        assert_eq!(seen(last, &Format::Ndjson, &end_record()).1.record, None, "{last} is a record");
    }
}

#[test]
fn a_collections_member_is_kept_wherever_it_stands() {
    let around = |before: &str, behind: &str| {
        format!("{{{before}\"type\":\"FeatureCollection\",\"features\":[]{behind}}}")
    };
    let text = |text: String, path: &[&str]| seen(&text, &Format::GeoJson, &member(path)).1.member;
    assert_eq!(text(around("\"numberMatched\": 12,", ""), &["numberMatched"]).as_deref(), Some("12"));
    assert_eq!(text(around("", ",\"count\":\"12\""), &["count"]).as_deref(), Some("12"));
    assert_eq!(
        text(around("\"metadata\":{\"a\":[{}],\"count\":12},", ""), &["metadata", "count"]).as_deref(),
        Some("12")
    );
    assert_eq!(text(around("\"other\":12,", ""), &["count"]), None);
    assert_eq!(text(around("\"a\":{\"b\":1},", ""), &["a"]).as_deref(), Some("{\\\"b\\\":1}"));
    assert_eq!(text(around("\"a\":1,", ""), &[]), None);
    let twice = around("\"n\":1,", ",\"n\":1");
    assert!(read(&twice, &Format::GeoJson, &member(&["n"])).unwrap_err().to_string().contains("`n` twice"));
    // The member of a feature isn't the collection's.
    let inner = r#"{"type":"FeatureCollection","features":[{"type":"Feature","n":1,"properties":{},"geometry":null}]}"#;
    assert_eq!(text(inner.to_owned(), &["n"]), None);
}

proptest! {
    #[test]
    fn any_text_has_an_ending_or_none_never_a_panic(
        lines in proptest::collection::vec(
            prop::sample::select(vec![
                "", " ", "{}", "#EOF", "#EO", "#rows=2;", "#rows=x;", r#"{"type":"end","meta":{"rows":2}}"#,
                r#"{"type":"\u0065nd"}"#, r#"{"type":"#, "\"", "[", "\u{feff}",
            ]),
            0..6,
        ),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
    ) {
        let all = Ending { line: eof().line, count_line: rows().count_line, ..end_record() };
        let text = lines.join(end);
        for format in [Format::Ndjson, csv(), Format::Json, Format::GeoJson] {
            let plain = read(&text, &format, &Ending::default());
            // Whoever has an ending has at most its three lines less.
            if let (Ok((with, seen)), Ok((without, _))) = (read(&text, &format, &all), plain) {
                let ends = [seen.line.is_some(), seen.record.is_some(), seen.count_line.is_some()];
                let ends = ends.iter().filter(|is_there| **is_there).count();
                prop_assert!(with + ends >= without && with <= without, "{text:?}");
            }
        }
    }
}

#[test]
fn what_is_left_early_is_not_whole() {
    let payload = crate::payload::Payload::from_bytes("x", b"{}\n{}\n".to_vec());
    let mut records = payload.records(&Format::Ndjson, &Limits::default()).unwrap();
    records.next().unwrap();
    assert!(!records.finish().seen().is_whole);
}
