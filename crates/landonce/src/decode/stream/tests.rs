//! Compressed streams: whole, or an error that says where.

use std::io::Write;

use flate2::{Compression, GzBuilder};

use crate::decode::tests::{Got, decode, gzip};
use crate::decode::{DecodeError, Format};

const LINES: &[u8] = b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n";

fn read(bytes: &[u8]) -> (Vec<Got>, Option<DecodeError>) {
    decode("batch.ndjson.gz", bytes, &Format::Ndjson)
}

fn whole(bytes: &[u8]) -> usize {
    let (all, error) = read(bytes);
    assert!(error.is_none(), "{error:?}");
    all.len()
}

fn truncated(bytes: &[u8]) -> (u64, u64) {
    match read(bytes).1 {
        Some(DecodeError::Truncated { offset, records, .. }) => (offset, records),
        other => panic!("{other:?}"),
    }
}

fn corrupt(bytes: &[u8]) -> (u64, String) {
    match read(bytes).1 {
        Some(DecodeError::Corrupt { offset, detail, .. }) => (offset, detail),
        other => panic!("{other:?}"),
    }
}

/// A member whose header has every optional part.
fn gzip_with_long_header(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new()
        .filename("name")
        .comment("comment")
        .extra(vec![1, 2, 3])
        .write(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn members_are_read_whole_whatever_their_number() {
    let one = gzip(LINES);
    assert_eq!(whole(&one), 3);
    assert_eq!(whole(&joined(&[&one, &gzip_with_long_header(LINES), &one])), 9);
    // A member may be empty, and a record may go over the seam.
    assert_eq!(whole(&joined(&[&gzip(b""), &gzip(b"{\"a\":"), &gzip(b"1}\n"), &gzip(b"")])), 1);
    assert_eq!(whole(&gzip(b"")), 0);
}

#[test]
fn every_cut_of_one_member_is_truncated() {
    for member in [gzip(LINES), gzip_with_long_header(LINES), gzip(b"")] {
        for len in 0..member.len() {
            let (offset, _) = truncated(&member[..len]);
            assert_eq!(offset, len as u64);
        }
    }
}

#[test]
fn every_cut_of_a_second_member_is_truncated() {
    let first = gzip(LINES);
    for second in [gzip(LINES), gzip_with_long_header(LINES)] {
        for len in 1..second.len() {
            let bytes = joined(&[&first, &second[..len]]);
            let (offset, records) = truncated(&bytes);
            assert_eq!(offset, bytes.len() as u64);
            assert!(records >= 3);
        }
    }
}

#[test]
fn a_cut_before_the_trailer_tells_how_many_records_were_read() {
    let member = gzip(LINES);
    let error = read(&member[..member.len() - 4]).1.unwrap();
    let text = error.to_string();
    assert!(text.contains("truncated") && text.contains("after 3 complete records"), "{text}");
    assert!(text.contains(&format!("byte {}", member.len() - 4)), "{text}");
}

#[test]
fn a_cut_of_a_large_stream_gives_no_end_whatever_was_read_before() {
    let lines: Vec<u8> = (0..50_000).flat_map(|id| format!("{{\"id\":{id}}}\n").into_bytes()).collect();
    let member = gzip(&lines);
    assert_eq!(whole(&member), 50_000);
    for len in [member.len() / 2, member.len() - 8, member.len() - 1] {
        assert!(truncated(&member[..len]).1 > 10_000);
    }
}

#[test]
fn wrong_checksum_length_header_or_block_is_corrupt() {
    let member = gzip(LINES);
    let end = member.len();
    // CRC, length, magic, method, a reserved flag.
    for at in [end - 8, end - 4, end - 1, 2, 3] {
        let mut broken = member.clone();
        broken[at] ^= 0x80;
        corrupt(&broken);
    }
    let mut reserved = member.clone();
    reserved[10] = 0x07; // a block of the type that doesn't exist
    corrupt(&reserved);
}

#[test]
fn any_flipped_byte_behind_the_header_is_seen() {
    let member = gzip(LINES);
    for at in 10..member.len() {
        let mut broken = member.clone();
        broken[at] ^= 0x01;
        let (_, error) = read(&broken);
        assert!(
            matches!(error, Some(DecodeError::Corrupt { .. } | DecodeError::Truncated { .. })),
            "byte {at}: {error:?}"
        );
    }
}

#[test]
fn only_zeros_may_follow_the_last_member() {
    let member = gzip(LINES);
    assert_eq!(whole(&joined(&[&member, &[0; 3]])), 3);
    assert_eq!(whole(&joined(&[&member, &vec![0; 200_000]])), 3);
    let len = member.len() as u64;
    for (tail, at) in
        [(&b"rubbish"[..], len), (b"\n", len), (b"\0\0x", len + 2), (b"\x8b", len), (b"{\"a\":4}\n", len)]
    {
        assert_eq!(corrupt(&joined(&[&member, tail])).0, at, "{tail:?}");
    }
    corrupt(&joined(&[&member, &[0; 5], &member]));
    corrupt(&joined(&[&member, b"\x1frubbish behind"]));
    assert_eq!(truncated(&joined(&[&member, b"\x1f"])).1, 3);
}

#[test]
fn a_name_that_promises_compression_is_held_to_it() {
    for name in ["x.csv.gz", "x.NDJSON.GZ", "x.zst"] {
        for (bytes, is_cut) in [(&b""[..], true), (b"{}\n", false)] {
            match decode(name, bytes, &Format::Ndjson).1 {
                Some(DecodeError::Truncated { offset: 0, .. }) if is_cut => {}
                Some(DecodeError::Corrupt { .. }) if !is_cut => {}
                other => panic!("{name}, {bytes:?}: {other:?}"),
            }
        }
    }
    assert!(matches!(decode("x.gz", b"\x1f", &Format::Ndjson).1, Some(DecodeError::Truncated { .. })));
    assert!(matches!(
        decode("x.zst", b"\x28\xb5\x2f", &Format::Ndjson).1,
        Some(DecodeError::Truncated { .. })
    ));
    // No name, no promise: no bytes are no records.
    assert_eq!(whole_named("stdin", b""), 0);
    assert_eq!(whole_named("stdin", &gzip(LINES)), 3);
    assert_eq!(whole_named("misnamed.gz", &zstd(LINES)), 3);
}

#[test]
fn frames_are_read_whole_whatever_their_number() {
    let one = zstd(LINES);
    assert_eq!(whole_named("x.zst", &one), 3);
    assert_eq!(whole_named("x.zst", &joined(&[&one, &zstd(b""), &one])), 6);
    let skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
    assert_eq!(whole_named("x.zst", &joined(&[skippable, &one, skippable, &one])), 6);
}

#[test]
fn every_cut_of_a_frame_is_truncated() {
    let frame = zstd(LINES);
    for start in [&b""[..], &frame] {
        // A cut at a frame's end can't be seen: that is a whole stream.
        for len in usize::from(!start.is_empty())..frame.len() {
            let (_, error) = decode("x.zst", &joined(&[start, &frame[..len]]), &Format::Ndjson);
            assert!(matches!(error, Some(DecodeError::Truncated { .. })), "{len}: {error:?}");
        }
    }
}

#[test]
fn a_damaged_frame_and_trailing_bytes_are_corrupt() {
    let frame = zstd(LINES);
    let mut broken = frame.clone();
    *broken.last_mut().unwrap() ^= 1;
    for bytes in [broken, joined(&[&frame, b"rubbish!"]), joined(&[&frame, &[0; 8]])] {
        let (_, error) = decode("x.zst", &bytes, &Format::Ndjson);
        assert!(matches!(error, Some(DecodeError::Corrupt { .. })), "{error:?}");
    }
}

#[test]
fn gzip_and_zstd_in_one_stream_are_corrupt() {
    for bytes in [joined(&[&gzip(LINES), &zstd(LINES)]), joined(&[&zstd(LINES), &gzip(LINES)])] {
        let (_, error) = decode("x", &bytes, &Format::Ndjson);
        assert!(matches!(error, Some(DecodeError::Corrupt { .. })), "{error:?}");
    }
}

fn whole_named(name: &str, bytes: &[u8]) -> usize {
    let (all, error) = decode(name, bytes, &Format::Ndjson);
    assert!(error.is_none(), "{error:?}");
    all.len()
}
