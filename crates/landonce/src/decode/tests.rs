//! What holds for every format: addresses, whole payloads only, and no dependence on how bytes are delivered.

use std::io::Write;

use landonce_core::bad_record::BadKind;
use proptest::prelude::*;

use super::records::{Item, Limits, Records};
use super::stream::Stream;
use super::{CsvOptions, DecodeError, Format};
use crate::payload::Payload;

/// A record as the tests look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Got {
    pub(super) number: u64,
    pub(super) text: Result<String, BadKind>,
    pub(super) raw: Vec<u8>,
    pub(super) detail: String,
}

/// All records up to the end or the error, each read again by its address.
pub(super) fn gather(mut records: Records) -> (Vec<Got>, Option<DecodeError>) {
    let mut all = Vec::new();
    let mut places = Vec::new();
    let error = loop {
        match records.next() {
            Ok(Some(Item { number, offset, len, text, raw })) => {
                let stands: &[u8] = text.as_ref().map_or(raw, |text| text);
                places.push((offset, len, stands.to_vec()));
                let detail = text.as_ref().err().map(ToString::to_string).unwrap_or_default();
                let text =
                    text.map(|text| String::from_utf8_lossy(text).into_owned()).map_err(|bad| bad.kind);
                all.push(Got { number, text, raw: raw.to_vec(), detail });
            }
            Ok(None) => {
                assert!(matches!(records.next(), Ok(None)), "an end stays an end");
                break None;
            }
            Err(error) => {
                assert!(
                    matches!(records.next(), Err(DecodeError::Failed)),
                    "an error is never followed by an end"
                );
                break Some(error);
            }
        }
    };
    assert!(places.is_sorted_by(|one, next| one.0 < next.0), "offsets grow strictly");
    let texts = records.finish();
    let mut again = Vec::new();
    for (offset, len, stands) in places.iter().rev() {
        texts.read(*offset, *len, &mut again).unwrap();
        assert_eq!(&again, stands, "an address finds the same bytes");
    }
    (all, error)
}

/// The records of bytes under a name.
pub(super) fn decode(name: &str, bytes: &[u8], format: &Format) -> (Vec<Got>, Option<DecodeError>) {
    match Payload::from_bytes(name, bytes.to_vec()).records(format, &Limits::default()) {
        Ok(records) => gather(records),
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// The records of a whole text; each must be good.
pub(super) fn good(text: &str, format: &Format) -> Vec<(u64, String)> {
    let (all, error) = decode("x", text.as_bytes(), format);
    assert!(error.is_none(), "{text:?}: {error:?}");
    all.into_iter().map(|got| (got.number, got.text.unwrap())).collect()
}

/// The error that a text ends with.
pub(super) fn error(text: &str, format: &Format) -> DecodeError {
    let (all, error) = decode("x", text.as_bytes(), format);
    error.unwrap_or_else(|| panic!("{text:?} was taken: {all:?}"))
}

/// Delivers bytes in pieces of the given sizes, in turn.
pub(super) struct Pieces {
    pub(super) bytes: Vec<u8>,
    pub(super) at: usize,
    pub(super) sizes: Vec<usize>,
    pub(super) turn: usize,
}

impl Stream for Pieces {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, DecodeError> {
        let size = self.sizes[self.turn % self.sizes.len()];
        self.turn += 1;
        let len = size.min(into.len()).min(self.bytes.len() - self.at);
        into[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

/// The same as [`decode`], delivered in pieces.
pub(super) fn decode_in_pieces(
    bytes: &[u8],
    sizes: &[usize],
    format: &Format,
    record: u32,
) -> (Vec<Got>, Option<DecodeError>) {
    let stream = Pieces { bytes: bytes.to_vec(), at: 0, sizes: sizes.to_vec(), turn: 0 };
    let limits = Limits { record, ..Limits::default() };
    match Records::over_stream(Box::new(stream), format, &limits) {
        Ok(records) => gather(records),
        Err(error) => (Vec::new(), Some(error)),
    }
}

pub(super) fn csv() -> Format {
    Format::Csv(CsvOptions::default())
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn addresses_of_plain_json_are_into_the_file_itself() {
    for (format, text) in
        [(Format::Ndjson, "\n{\"a\":1}\r\n{\"b\":2}"), (Format::Json, "[\n{\"a\":1},{\"b\":2}]")]
    {
        let payload = Payload::from_bytes("x", text.into());
        let mut records = payload.records(&format, &Limits::default()).unwrap();
        while let Some(item) = records.next().unwrap() {
            let at = item.offset as usize;
            assert_eq!(&text.as_bytes()[at..at + item.len as usize], item.text.unwrap());
        }
    }
}

#[test]
fn a_payload_is_decoded_as_often_as_wanted() {
    let payload = Payload::from_bytes("x.gz", gzip(b"{\"a\":1}\n{\"a\":2}\n"));
    let first = gather(payload.records(&Format::Ndjson, &Limits::default()).unwrap()).0;
    let second = gather(payload.records(&Format::Ndjson, &Limits::default()).unwrap()).0;
    assert_eq!(first, second);
    assert_eq!(first.len(), 2);
}

#[test]
fn texts_are_read_by_many_threads_at_once() {
    let lines: String =
        (0..20_000).map(|at| format!("{{\"id\":{at},\"text\":\"some more text\"}}\n")).collect();
    let payload = Payload::from_bytes("x.gz", gzip(lines.as_bytes()));
    let mut records = payload.records(&Format::Ndjson, &Limits::default()).unwrap();
    let mut places = Vec::new();
    while let Some(item) = records.next().unwrap() {
        places.push((item.offset, item.len));
    }
    let texts = records.finish();
    std::thread::scope(|scope| {
        for start in 0..2 {
            let (texts, places) = (&texts, &places);
            scope.spawn(move || {
                let mut text = Vec::new();
                for (at, &(offset, len)) in places.iter().enumerate().skip(start).step_by(7) {
                    texts.read(offset, len, &mut text).unwrap();
                    assert_eq!(text, format!("{{\"id\":{at},\"text\":\"some more text\"}}").as_bytes());
                }
            });
        }
    });
    let mut text = Vec::new();
    assert!(texts.read(u64::MAX, 1, &mut text).is_err());
}

#[test]
fn records_and_texts_go_to_other_threads() {
    fn goes<T: Send>() {}
    fn is_shared<T: Send + Sync>() {}
    goes::<Records>();
    is_shared::<super::Texts>();
    is_shared::<Payload>();
    is_shared::<DecodeError>();
}

#[test]
fn first_bytes_are_decompressed_and_few() {
    let payload = Payload::from_bytes("x.json.gz", gzip(&vec![b' '; 1 << 20]));
    assert_eq!(payload.first_bytes().unwrap(), vec![b' '; 64 * 1024]);
    assert_eq!(Payload::from_bytes("x", b"[]".to_vec()).first_bytes().unwrap(), b"[]");
    let whole = gzip(b"[{}]");
    let cut = Payload::from_bytes("x.json.gz", whole[..whole.len() - 4].to_vec());
    assert_eq!(cut.first_bytes().unwrap(), b"[{}]", "to guess by; reading it is an error");
}

#[test]
fn what_is_no_utf8_text_is_refused_with_what_it_is() {
    for (bytes, want) in [
        (&b"\xff\xfe{\0}\0"[..], "UTF-16"),
        (b"\xfe\xff\0{\0}", "UTF-16"),
        (b"PK\x03\x04xxxx", "zip"),
        (b"BZh91AY&SYxx", "bzip2"),
        (b"\xfd7zXZ\0\0", "xz"),
        (b"PAR1\x15\x04", "Parquet"),
        (b"\x1e{}\n", "RFC 7464"),
    ] {
        for format in [Format::Ndjson, Format::Json, Format::GeoJson, csv()] {
            let (all, error) = decode("x", bytes, &format);
            let error = error.unwrap();
            assert!(matches!(error, DecodeError::Unsupported { .. }), "{error:?}");
            assert!(error.to_string().contains(want), "{error}");
            assert!(all.is_empty());
        }
    }
    let twice = decode("x.gz", &gzip(&gzip(b"{}\n")), &Format::Ndjson).1.unwrap();
    assert!(twice.to_string().contains("compressed twice"), "{twice}");
}

#[test]
fn columns_called_like_file_formats_are_columns() {
    assert_eq!(good("PAR1,BZh9\n1,2\n", &csv()), [(2, r#"{"PAR1":"1","BZh9":"2"}"#.to_owned())]);
    assert_eq!(good("BZh\n1\n", &csv()), [(2, r#"{"BZh":"1"}"#.to_owned())]);
}

/// A name, the bytes and the format of a payload with three records and one of 100 KiB in the middle.
fn with_a_long_one() -> Vec<(Vec<u8>, Format)> {
    let long = "x".repeat(100 * 1024);
    let ndjson = format!("{{\"a\":\"1\"}}\n{{\"a\":\"{long}\"}}\n{{\"a\":\"3\"}}\n");
    let json = format!("[{{\"a\":\"1\"}},{{\"a\":\"{long}\"}},{{\"a\":\"3\"}}]");
    let row = format!("a\n1\n\"{long}\n\"\"\"\n3\n");
    let features = ["1", &long, "3"].map(|text| {
        format!("{{\"type\":\"Feature\",\"properties\":{{\"a\":\"{text}\"}},\"geometry\":null}}")
    });
    let geojson = format!("{{\"type\":\"FeatureCollection\",\"features\":[{}]}}", features.join(","));
    vec![
        (ndjson.into(), Format::Ndjson),
        (json.into(), Format::Json),
        (row.into(), csv()),
        (geojson.into(), Format::GeoJson),
    ]
}

#[test]
fn a_record_beyond_the_limit_is_bad_and_decoding_goes_on_behind_it() {
    for (bytes, format) in with_a_long_one() {
        for limit in [1000, 80 * 1024] {
            for sizes in [&[1 << 20][..], &[7], &[65_537], &[1, 200_000]] {
                let (all, error) = decode_in_pieces(&bytes, sizes, &format, limit);
                assert!(error.is_none(), "{error:?}");
                let [first, long, last] = all.as_slice() else { panic!("{} records", all.len()) };
                assert!(first.text.is_ok() && last.text.is_ok());
                assert_eq!(long.text, Err(BadKind::TooLarge));
                assert_eq!(long.raw.len(), 64 * 1024, "the first 64 KiB, however the bytes were delivered");
                assert!(long.detail.contains(&format!("the limit is {limit}")), "{}", long.detail);
                assert!(
                    long.detail.contains("1024") || long.detail.contains("bytes long"),
                    "{}",
                    long.detail
                );
            }
            let (payload, limits) =
                (Payload::from_bytes("x", bytes.clone()), Limits { record: limit, ..Limits::default() });
            let (all, error) = gather(payload.records(&format, &limits).unwrap());
            assert!(error.is_none() && all.len() == 3 && all[1].raw.len() == 64 * 1024);
        }
    }
}

#[test]
fn the_length_of_a_record_beyond_the_limit_is_told_exactly() {
    for (line, want) in [("x".repeat(100_000), 100_000), (format!("{}\r", "x".repeat(99_999)), 99_999)] {
        let text = format!("{line}\n{{}}\n");
        let (all, _) = decode_in_pieces(text.as_bytes(), &[1000], &Format::Ndjson, 5000);
        assert!(all[0].detail.contains(&format!("is {want} bytes long")), "{}", all[0].detail);
        assert_eq!(all[1].number, 2);
    }
}

#[test]
fn a_record_of_just_the_limit_is_good() {
    let line = format!("{{\"a\":\"{}\"}}", "x".repeat(92));
    assert_eq!(line.len(), 100);
    for (text, format) in [
        (format!("{line}\r\n"), Format::Ndjson),
        (line.clone(), Format::Ndjson),
        (format!("[{line}]"), Format::Json),
    ] {
        assert!(decode_in_pieces(text.as_bytes(), &[3], &format, 100).0[0].text.is_ok());
        assert_eq!(decode_in_pieces(text.as_bytes(), &[3], &format, 99).0[0].text, Err(BadKind::TooLarge));
    }
}

#[test]
fn a_file_cut_down_while_it_is_decoded_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.ndjson");
    std::fs::write(&path, "{\"a\":1}\n".repeat(100_000)).unwrap();
    let payload = Payload::open(&path).unwrap();
    let records = payload.records(&Format::Ndjson, &Limits::default()).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(400_000).unwrap();
    let (all, error) = (gather_numbers(records), payload.check_unchanged());
    assert!(matches!(all.1, Some(DecodeError::Read { .. })), "{:?}", all.1);
    assert!(error.is_err());
}

/// Numbers only: the addresses of a file that was cut down lead nowhere.
fn gather_numbers(mut records: Records) -> (Vec<u64>, Option<DecodeError>) {
    let mut numbers = Vec::new();
    loop {
        match records.next() {
            Ok(Some(item)) => numbers.push(item.number),
            Ok(None) => return (numbers, None),
            Err(error) => return (numbers, Some(error)),
        }
    }
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[ -~\n\r\u{2028}é\"\\\\{}\\[\\],:]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map("[a-z\"\\\\]{0,4}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

fn objects() -> impl Strategy<Value = Vec<serde_json::Value>> {
    let object = prop::collection::btree_map("[a-c{}\"]{0,3}", json_value(), 0..4)
        .prop_map(|map| serde_json::Value::Object(map.into_iter().collect()));
    prop::collection::vec(object, 0..12)
}

proptest! {
    #[test]
    fn json_records_come_back_whatever_the_pieces(
        objects in objects(),
        sizes in prop::collection::vec(1_usize..40, 1..8),
        is_pretty: bool,
    ) {
        let array = if is_pretty { serde_json::to_string_pretty(&objects) } else { serde_json::to_string(&objects) };
        let lines: String = objects.iter().map(|object| format!("{object}\n")).collect();
        for (text, format) in [(array.unwrap(), Format::Json), (lines, Format::Ndjson)] {
            let (all, error) = decode_in_pieces(text.as_bytes(), &sizes, &format, 1 << 20);
            prop_assert!(error.is_none(), "{:?}", error);
            let back: Vec<serde_json::Value> =
                all.iter().map(|got| serde_json::from_str(got.text.as_ref().unwrap()).unwrap()).collect();
            prop_assert_eq!(&back, &objects);
        }
    }

    #[test]
    fn a_cut_json_array_is_never_whole(objects in objects(), at in any::<prop::sample::Index>()) {
        let text = serde_json::to_string(&objects).unwrap();
        let cut = &text.as_bytes()[..at.index(text.len())];
        let (_, error) = decode_in_pieces(cut, &[5], &Format::Json, 1 << 20);
        prop_assert!(matches!(error, Some(DecodeError::Incomplete { .. })), "{:?}", error);
    }

    #[test]
    fn a_cut_gzip_is_never_whole(lines in prop::collection::vec("[a-z]{0,30}", 0..40), at in any::<prop::sample::Index>()) {
        let whole = gzip(lines.join("\n").as_bytes());
        let cut = &whole[..at.index(whole.len())];
        let (_, error) = decode("x.ndjson.gz", cut, &Format::Ndjson);
        prop_assert!(matches!(error, Some(DecodeError::Truncated { .. })), "{:?}", error);
    }

    #[test]
    fn any_bytes_are_records_or_an_error_never_a_panic(
        bytes in prop::collection::vec(prop_oneof![Just(b'{'), Just(b'}'), Just(b'['), Just(b']'), Just(b'"'), Just(b','), Just(b':'), Just(b'\\'), Just(b'\n'), Just(b'\r'), Just(b'a'), Just(b' '), any::<u8>()], 0..60),
        sizes in prop::collection::vec(1_usize..9, 1..5),
    ) {
        for format in [Format::Ndjson, Format::Json, Format::GeoJson, csv()] {
            let pieces = decode_in_pieces(&bytes, &sizes, &format, 16);
            let whole = decode_in_pieces(&bytes, &[1 << 20], &format, 16);
            prop_assert_eq!(pieces.0, whole.0);
            prop_assert_eq!(pieces.1.map(|error| error.to_string()), whole.1.map(|error| error.to_string()));
        }
    }
}

#[test]
fn more_records_or_bytes_than_are_taken_are_an_error_and_just_as_many_are_not() {
    let payload = Payload::from_bytes("x", b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n".to_vec());
    let bounded = |records, decoded| {
        let limits = Limits { records, decoded, ..Limits::default() };
        payload.records(&Format::Ndjson, &limits).map(gather_numbers)
    };
    for fine in [(3, u64::MAX), (u64::MAX, 24)] {
        let (all, error) = bounded(fine.0, fine.1).unwrap();
        assert!(error.is_none() && all.len() == 3, "{error:?}");
    }
    let (all, error) = bounded(2, u64::MAX).unwrap();
    assert!(matches!(error, Some(DecodeError::OverLimit { what: "records", most: 2 })), "{error:?}");
    assert_eq!(all.len(), 2);
    let told = match bounded(u64::MAX, 23) {
        Err(error) => error,
        Ok((_, error)) => error.unwrap(),
    };
    assert!(matches!(told, DecodeError::OverLimit { most: 23, .. }), "{told:?}");
}
