//! A cut file is what a broken transport leaves: torn, empty, or shorter and seemingly whole.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

use landonce_prove::input::{Cut, cut};

/// A file of this name, cut; its bytes, if it could be.
fn cut_file(name: &str, contents: &[u8], how: Cut) -> Option<Vec<u8>> {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = from.path().join(name);
    fs::write(&file, contents).unwrap();
    let result = cut(&file, how, to.path()).unwrap();
    assert_eq!(fs::read(&file).unwrap(), contents, "the user's file is left alone");
    let Some(result) = result else {
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0, "what can't be cut leaves nothing");
        return None;
    };
    assert_eq!(result, to.path().join(name));
    Some(fs::read(result).unwrap())
}

/// So many records of ndjson, some of them longer than a buffer's share.
fn ndjson(count: usize) -> String {
    (0..count).map(|id| format!("{{\"id\": {id}, \"text\": \"{}\"}}\n", "x".repeat(id % 97))).collect()
}

fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(contents).unwrap();
    out.finish().unwrap()
}

fn gunzip(contents: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(contents).read_to_end(&mut plain).unwrap();
    plain
}

/// Asserts that it is whole records from the start, about half of them.
fn assert_half_of(whole: &str, part: &[u8]) {
    let part = std::str::from_utf8(part).unwrap();
    assert!(whole.starts_with(part) && part.ends_with('\n'));
    let percent = part.len() * 100 / whole.len();
    assert!((40..=60).contains(&percent), "{percent} %");
}

#[test]
fn the_middle_tears_a_record() {
    let text = ndjson(1000);
    let part = cut_file("day.ndjson", text.as_bytes(), Cut::Middle).unwrap();
    assert!(text.as_bytes().starts_with(&part));
    assert!(part.len().abs_diff(text.len() / 2) < 10);
    // Half of the bytes would end with a record.
    assert_eq!(cut_file("day.csv", b"id\n1234\n1\n123\n", Cut::Middle).unwrap(), b"id\n1234\n1\n1");
    assert_eq!(cut_file("day.csv", b"1", Cut::Middle), None);
}

#[test]
fn the_middle_of_a_packed_file_can_not_be_unpacked() {
    let packed = gzip(ndjson(1000).as_bytes());
    let part = cut_file("day.ndjson.gz", &packed, Cut::Middle).unwrap();
    assert!(packed.starts_with(&part));
    assert!(flate2::read::GzDecoder::new(&part[..]).read_to_end(&mut Vec::new()).is_err());
}

#[test]
fn nothing_is_an_empty_file() {
    assert_eq!(cut_file("day.parquet", b"PAR1\0\0PAR1", Cut::Nothing).unwrap(), b"");
    assert_eq!(cut_file("day.ndjson", b"", Cut::Nothing), None);
}

#[test]
fn lines_are_cut_at_a_record_across_buffers() {
    let text = ndjson(20_000);
    assert!(text.len() > 1_000_000);
    assert_half_of(&text, &cut_file("day.ndjson", text.as_bytes(), Cut::Record).unwrap());
    assert_half_of(&text, &cut_file("day", text.as_bytes(), Cut::Record).unwrap());
}

#[test]
fn a_packed_file_is_whole_again_after_a_cut_at_a_record() {
    let text = ndjson(1000);
    // Two members, as `cat a.gz b.gz` makes them.
    let mut packed = gzip(&text.as_bytes()[..500]);
    packed.extend(gzip(&text.as_bytes()[500..]));
    assert_half_of(&text, &gunzip(&cut_file("day.ndjson.gz", &packed, Cut::Record).unwrap()));

    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let part = cut_file("day.ndjson.zst", &packed, Cut::Record).unwrap();
    assert_half_of(&text, &zstd::decode_all(&part[..]).unwrap());

    let part = cut_file("day.CSV.GZ", &gzip(b"id,name\n1,\"a\nb\"\n2,c\n3,d\n"), Cut::Record).unwrap();
    assert_eq!(gunzip(&part), b"id,name\n1,\"a\nb\"\n");
}

#[test]
fn a_json_array_is_shorter_and_valid() {
    let records: Vec<_> = (0..100).map(|id| serde_json::json!({"id": id, "tags": ["a,b", "]"]})).collect();
    let text = serde_json::to_string_pretty(&records).unwrap();
    let part = cut_file("day.json", text.as_bytes(), Cut::Record).unwrap();
    let part: Vec<serde_json::Value> = serde_json::from_slice(&part).unwrap();
    assert!((40..=60).contains(&part.len()));
    assert_eq!(records[..part.len()], part[..]);
}

#[test]
fn records_of_unknown_formats_are_not_guessed() {
    assert_eq!(cut_file("day.parquet", b"PAR1\n\n\n\nPAR1", Cut::Record), None);
    assert_eq!(cut_file("day.xml", b"<a>\n<b/>\n</a>\n", Cut::Record), None);
    // UTF-16 under a name that promises lines.
    assert_eq!(cut_file("day.csv", b"a\0\n\0b\0\n\0c\0\n\0", Cut::Record), None);
}

#[test]
fn a_file_is_never_cut_in_its_own_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("day.ndjson");
    fs::write(&file, "1\n2\n").unwrap();
    let error = cut(&file, Cut::Nothing, folder.path()).unwrap_err();
    assert!(error.to_string().contains("another folder"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"1\n2\n");
    assert!(cut(&PathBuf::from("missing.ndjson"), Cut::Nothing, folder.path()).is_err());
}
