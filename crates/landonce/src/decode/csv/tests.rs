//! Rows, quotes, lines and headers.

use csv_core::{ReadRecordResult, Reader};
use landonce_core::bad_record::BadKind;
use proptest::prelude::*;

use super::CsvOptions;
use crate::decode::tests::{csv, decode, decode_in_pieces, error, good};
use crate::decode::{DecodeError, Format, Limits};
use crate::payload::Payload;

fn rows(text: &str) -> Vec<(u64, String)> {
    good(text, &csv())
}

fn row(line: u64, text: &str) -> (u64, String) {
    (line, text.to_owned())
}

fn header_error(text: &str) -> String {
    match error(text, &csv()) {
        DecodeError::Header { detail } => detail,
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn rows_become_objects_of_strings() {
    assert_eq!(
        rows("id,name\n1,a b\n2,\n"),
        [row(2, r#"{"id":"1","name":"a b"}"#), row(3, r#"{"id":"2","name":""}"#)]
    );
    assert_eq!(rows("id,x\n1,\"\""), [row(2, r#"{"id":"1","x":""}"#)]);
    assert_eq!(rows(" id ,\"x \"\n 1 , y "), [row(2, r#"{" id ":" 1 ","x ":" y "}"#)], "nothing is trimmed");
}

#[test]
fn a_mark_a_quoted_header_and_line_ends_of_all_kinds() {
    let with = "\u{feff}\"id,x\",b\r\n1,\"two\r\nlines\"\r\n\r\n2,c";
    let want = [row(2, r#"{"id,x":"1","b":"two\r\nlines"}"#), row(5, r#"{"id,x":"2","b":"c"}"#)];
    assert_eq!(rows(with), want);
    assert_eq!(rows(with.trim_start_matches('\u{feff}')), want);
}

#[test]
fn lines_are_counted_through_quotes_and_empty_lines() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["", "a,b", "", "1,\"x", "", "y\"", "2,z", "", "3,\"", "\""].join(end);
        let lines: Vec<u64> = rows(&text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [4, 7, 9], "{text:?}");
    }
}

#[test]
fn quotes_are_doubled_inside_quotes_and_text_elsewhere() {
    assert_eq!(
        rows("a,b\n\"say \"\"hi\"\"\",5\" pipe\n\"\"\"\",\"\"\"\"\"\"\n"),
        [row(2, r#"{"a":"say \"hi\"","b":"5\" pipe"}"#), row(3, r#"{"a":"\"","b":"\"\""}"#)]
    );
    assert_eq!(rows("a\n \"x\"\n"), [row(2, r#"{"a":" \"x\""}"#)]);
}

#[test]
fn what_json_must_escape_is_escaped() {
    assert_eq!(
        rows("a\n\"\t\\\u{1}\u{0}\u{1f}\u{7f}é\n\"\n"),
        [row(2, "{\"a\":\"\\t\\\\\\u0001\\u0000\\u001f\u{7f}é\\n\"}")]
    );
    assert_eq!(rows("\"a\"\"b\\\"\n1\n"), [row(2, r#"{"a\"b\\":"1"}"#)]);
}

#[test]
fn text_behind_a_closing_quote_is_a_bad_record() {
    let (all, error) = decode("x", b"a,b\n\"x\"y,1\n1,\"p\" \n2,q\n", &csv());
    assert!(error.is_none());
    let found: Vec<_> = all.iter().map(|got| (got.number, got.text.as_ref().err().copied())).collect();
    assert_eq!(found, [(2, Some(BadKind::Syntax)), (3, Some(BadKind::Syntax)), (4, None)]);
    assert!(all[0].detail.contains("line 2"), "{}", all[0].detail);
    assert_eq!(all[0].raw, b"\"x\"y,1");
}

#[test]
fn ragged_rows_are_bad_records_that_count() {
    let (all, error) = decode("x", b"a,b,c\n1,2\n1,2,3,4\n1,2,3\n,,\n", &csv());
    assert!(error.is_none());
    assert_eq!(all[0].text, Err(BadKind::RaggedRow));
    assert!(all[0].detail.contains("has 2 fields, the header has 3"), "{}", all[0].detail);
    assert!(all[1].detail.contains("has 4 fields"), "{}", all[1].detail);
    assert_eq!(all[1].raw, b"1,2,3,4");
    assert!(all[2].text.is_ok() && all[3].text.is_ok());
}

#[test]
fn an_unclosed_quote_is_incomplete_and_its_line_is_named() {
    for (text, line) in [
        ("a,b\n1,\"x", 2),
        ("a,b\n1,\"x\n2,y\n3,z\n", 2),
        ("a,b\n1,\"x\"\n2,\"y\"\"", 3),
        ("a,b\n1,\"", 2),
        ("a,\"b", 1),
        ("a,b\r\n\"p\r\nq\",\"x\r\n", 3),
        ("a,b\n\"x\"y,\"z", 2),
    ] {
        let error = error(text, &csv());
        let DecodeError::Incomplete { detail, .. } = &error else { panic!("{text:?}: {error:?}") };
        assert!(detail.contains(&format!("opens on line {line} ")), "{text:?}: {detail}");
    }
    for whole in ["a,b\n1,\"x\"", "a,b\n1,\"\"\"\"", "a,b\n1,x\"", "a,b\n1,\"\""] {
        assert_eq!(rows(whole).len(), 1, "{whole:?}");
    }
}

#[test]
fn an_unclosed_quote_beyond_the_limit_is_still_incomplete() {
    let text = format!("a\n1\n\"{}", "x,\n".repeat(100_000));
    let (all, error) = decode_in_pieces(text.as_bytes(), &[4099], &csv(), 1000);
    assert_eq!(all.len(), 1);
    assert!(matches!(error, Some(DecodeError::Incomplete { records: 1, .. })), "{error:?}");
    assert!(error.unwrap().to_string().contains("line 3"));
}

#[test]
fn headers_that_cannot_name_columns_are_refused() {
    assert!(header_error("a,b,a\n1,2,3\n").contains("columns 1 and 3 are both named `a`"));
    assert!(header_error("a,,c\n").contains("column 2 of 3 has no name"));
    assert!(header_error(",,\n1,2,3\n").contains("names no column"));
    assert!(header_error("\"a\"x,b\n").contains("closing quote"));
    let (_, latin) = decode("x", b"caf\xe9,b\n1,2\n", &csv());
    assert!(latin.unwrap().to_string().contains("UTF-8"));
}

#[test]
fn a_delimiter_at_every_line_end_makes_no_column() {
    assert_eq!(rows("a,b,,\n1,2,,\n,,,\n"), [row(2, r#"{"a":"1","b":"2"}"#), row(3, r#"{"a":"","b":""}"#)]);
    let (all, _) = decode("x", b"a,b,\n1,2,x\n1,2\n", &csv());
    assert_eq!(all[0].text, Err(BadKind::RaggedRow));
    assert!(all[0].detail.contains("field 3 isn't empty"), "{}", all[0].detail);
    assert_eq!(all[1].text, Err(BadKind::RaggedRow));
}

#[test]
fn a_text_without_rows_has_no_records() {
    for text in ["", "\u{feff}", "\n", "\r\n\r\n", "a,b", "a,b\n", "a,b\n\n"] {
        assert_eq!(rows(text), [], "{text:?}");
    }
}

#[test]
fn a_given_header_makes_the_first_row_a_record() {
    let options = CsvOptions { header: Some(vec!["a".into(), "b".into()]), ..CsvOptions::default() };
    assert_eq!(good("1,2\n", &Format::Csv(options)), [row(1, r#"{"a":"1","b":"2"}"#)]);
    for names in [vec![], vec!["a".to_owned(), "a".to_owned()], vec!["a".to_owned(), String::new()]] {
        let options = CsvOptions { header: Some(names), ..CsvOptions::default() };
        assert!(matches!(error("1,2\n", &Format::Csv(options)), DecodeError::Header { .. }));
    }
}

#[test]
fn the_delimiter_is_the_one_given() {
    let options = |delimiter| Format::Csv(CsvOptions { delimiter, ..CsvOptions::default() });
    assert_eq!(good("a;b\n1,5;\";\"\n", &options(b';')), [row(2, r#"{"a":"1,5","b":";"}"#)]);
    assert_eq!(good("a\tb\n\"x\"\t\"y\"\n", &options(b'\t')), [row(2, r#"{"a":"x","b":"y"}"#)]);
    for delimiter in [b'"', b'\n', b'\r', 0, 0xff] {
        assert!(matches!(error("a\n", &options(delimiter)), DecodeError::Option { .. }), "{delimiter}");
    }
}

#[test]
fn texts_that_mean_null_are_null() {
    let options =
        CsvOptions { nulls: vec!["NA".into(), "\\N".into(), String::new()], ..CsvOptions::default() };
    assert_eq!(
        good("a,b,c,d\nNA,\\N,,NAN\n\"NA\",na, NA,\"\"\n", &Format::Csv(options)),
        [
            row(2, r#"{"a":null,"b":null,"c":null,"d":"NAN"}"#),
            row(3, r#"{"a":null,"b":"na","c":" NA","d":null}"#)
        ]
    );
}

#[test]
fn bytes_that_are_no_utf8_name_the_field() {
    let (all, error) = decode("x", b"id,name\n1,caf\xe9\n2,caf\xc3\xa9\n", &csv());
    assert!(error.is_none());
    assert_eq!(all[0].text, Err(BadKind::Encoding));
    assert!(all[0].detail.contains("`name`"), "{}", all[0].detail);
    assert_eq!(all[0].raw, b"1,caf\xe9");
    assert!(all[1].text.is_ok());
}

#[test]
fn a_mark_in_the_middle_is_text() {
    assert_eq!(
        rows("a\n\u{feff}1\n\u{feff}\u{feff}\n"),
        [row(2, "{\"a\":\"\u{feff}1\"}"), row(3, "{\"a\":\"\u{feff}\u{feff}\"}")]
    );
}

#[test]
fn a_row_that_grows_beyond_the_limit_as_json_is_too_large() {
    // `{"a":"…"}` of 8 bytes and 15 that are escaped: 98 of 100 bytes.
    for (text, is_good) in [
        ("\u{1}".repeat(15), true),
        ("\u{1}".repeat(16), false),
        ("\"\"".repeat(46), true),
        ("\"\"".repeat(47), false),
    ] {
        let rows = format!("a\n\"{text}\"\n1\n");
        let (all, error) = decode_in_pieces(rows.as_bytes(), &[64], &csv(), 100);
        assert!(error.is_none());
        assert_eq!(all[0].text.is_ok(), is_good, "{text:?}: {}", all[0].detail);
        assert!(is_good || all[0].text == Err(BadKind::TooLarge));
        assert!(all[1].text.is_ok());
    }
}

/// All rows of a text as csv-core alone reads it.
fn oracle(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let mut reader = Reader::new();
    let (mut rows, mut at) = (Vec::new(), 0);
    loop {
        let (mut out, mut ends) = (vec![0; text.len() + 1], vec![0; text.len() + 2]);
        let (mut written, mut count) = (0, 0);
        loop {
            let (result, read, more, more_ends) =
                reader.read_record(&text[at..], &mut out[written..], &mut ends[count..]);
            at += read;
            written += more;
            count += more_ends;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::Record => break,
                ReadRecordResult::End => return rows,
                other => panic!("{other:?}"),
            }
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        rows.push(starts.zip(&ends[..count]).map(|(start, &end)| out[start..end].to_vec()).collect());
    }
}

proptest! {
    #[test]
    fn fields_come_back_whatever_they_hold_and_whatever_the_pieces(
        rows in prop::collection::vec(prop::collection::vec("[a,\"\n\r é\u{0}\\\\]{0,6}", 3), 0..12),
        sizes in prop::collection::vec(1_usize..20, 1..6),
        end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
        has_last_end: bool,
    ) {
        let quote = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
        let mut lines = vec!["a,b,c".to_owned()];
        lines.extend(rows.iter().map(|row| row.iter().map(quote).collect::<Vec<_>>().join(",")));
        let text = lines.join(end) + if has_last_end { end } else { "" };
        let (all, error) = decode_in_pieces(text.as_bytes(), &sizes, &csv(), 1 << 20);
        prop_assert!(error.is_none(), "{:?}", error);
        let back: Vec<Vec<String>> = all
            .iter()
            .map(|got| {
                let object: serde_json::Value = serde_json::from_str(got.text.as_ref().unwrap()).unwrap();
                ["a", "b", "c"].iter().map(|name| object[name].as_str().unwrap().to_owned()).collect()
            })
            .collect();
        prop_assert_eq!(back, rows);
    }

    #[test]
    fn rows_begin_and_end_where_csv_core_says(text in "[ab,\"\n\r]{0,40}", sizes in prop::collection::vec(1_usize..7, 1..4)) {
        let options = CsvOptions { header: Some(vec!["x".into()]), ..CsvOptions::default() };
        let (all, error) = decode_in_pieces(text.as_bytes(), &sizes, &Format::Csv(options), 1000);
        let expected = oracle(text.as_bytes());
        // An unclosed quote is the one thing that csv-core doesn't see.
        match error {
            None => prop_assert_eq!(all.len(), expected.len()),
            Some(DecodeError::Incomplete { .. }) => prop_assert_eq!(all.len() + 1, expected.len()),
            Some(other) => prop_assert!(false, "{:?}", other),
        }
        for (got, fields) in all.iter().zip(&expected) {
            match &got.text {
                Ok(text) => {
                    let object: serde_json::Value = serde_json::from_str(text).unwrap();
                    prop_assert_eq!(fields.len(), 1);
                    prop_assert_eq!(object["x"].as_str().unwrap().as_bytes(), &fields[0]);
                }
                Err(BadKind::RaggedRow) => prop_assert!(fields.len() != 1),
                Err(kind) => prop_assert_eq!(*kind, BadKind::Syntax),
            }
        }
    }
}

#[test]
fn a_header_without_the_identity_that_no_row_follows_is_another_files() {
    let limits = Limits { columns: vec!["id".to_owned()], ..Limits::default() };
    let read = |text: &str| {
        let payload = Payload::from_bytes("x.csv", text.as_bytes().to_vec());
        let mut records = payload.records(&Format::Csv(CsvOptions::default()), &limits)?;
        records.next().map(|found| found.is_some())
    };
    assert!(matches!(read("{\"id\":1}\n"), Err(DecodeError::Header { .. })));
    assert!(matches!(read("name,v"), Err(DecodeError::Header { .. })));
    assert!(!read("v,id\n").unwrap(), "an empty table");
    assert!(read("name,v\n1,2\n").unwrap(), "its rows are bad by themselves");
    assert!(!read("").unwrap());
}
