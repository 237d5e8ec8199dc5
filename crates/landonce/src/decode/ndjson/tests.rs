//! Lines, and what is none.

use crate::decode::Format;
use crate::decode::tests::{decode, decode_in_pieces, good};

fn lines(text: &str) -> Vec<(u64, String)> {
    good(text, &Format::Ndjson)
}

fn line(number: u64, text: &str) -> (u64, String) {
    (number, text.to_owned())
}

#[test]
fn line_ends_of_either_kind_and_none_at_the_end() {
    assert_eq!(
        lines("{\"a\":1}\n{\"a\":2}\r\n{\"a\":3}"),
        [line(1, r#"{"a":1}"#), line(2, r#"{"a":2}"#), line(3, r#"{"a":3}"#)]
    );
}

#[test]
fn blank_lines_are_skipped_and_counted() {
    assert_eq!(lines("\n \t\r\n{}\n\n\r\n{} \n  "), [line(3, "{}"), line(6, "{} ")]);
    assert_eq!(lines(""), []);
    assert_eq!(lines("\n\n"), []);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_only() {
    assert_eq!(lines("\u{feff}{}\n\u{feff}{}\n"), [line(1, "{}"), line(2, "\u{feff}{}")]);
}

#[test]
fn unicode_line_separators_are_text() {
    let text = "{\"a\":\"\u{2028}\u{2029}\u{85}\u{b}\u{c}\"}";
    assert_eq!(lines(&format!("{text}\n{text}")), [line(1, text), line(2, text)]);
    // A lone carriage return ends no line either.
    assert_eq!(lines("{}\r{}\n"), [line(1, "{}\r{}")]);
}

#[test]
fn what_is_in_a_line_is_left_to_the_scanner() {
    assert_eq!(lines("nonsense\n\u{1e}{}\n"), [line(1, "nonsense"), line(2, "\u{1e}{}")]);
    let (all, error) = decode("x", b"\xff\xff\n\0\n", &Format::Ndjson);
    assert!(error.is_none());
    assert_eq!([&all[0].raw[..], &all[1].raw[..]], [&b"\xff\xff"[..], b"\0"]);
}

#[test]
fn a_line_longer_than_the_buffer_is_whole() {
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(3_000_000));
    let text = format!("{{}}\n{long}\n{{}}\n");
    for sizes in [&[usize::MAX][..], &[100_003]] {
        let (all, error) = decode_in_pieces(text.as_bytes(), sizes, &Format::Ndjson, 16 << 20);
        assert!(error.is_none());
        assert_eq!(all.len(), 3);
        assert_eq!(all[1].text.as_ref().unwrap(), &long);
        assert_eq!(all[2].number, 3);
    }
}

#[test]
fn a_long_line_without_end_is_bad_not_endless() {
    let (all, error) = decode_in_pieces(&vec![b'x'; 300_000], &[4096], &Format::Ndjson, 1000);
    assert!(error.is_none());
    assert!(all[0].detail.contains("is 300000 bytes long"), "{}", all[0].detail);
    assert_eq!(all.len(), 1);
}
