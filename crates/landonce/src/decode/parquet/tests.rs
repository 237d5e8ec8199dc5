//! Files that another writer (pyarrow) has made: every value comes exactly, and a file that is cut or damaged gives no end.

use landonce_core::bad_record::BadKind;

use crate::decode::{DecodeError, Format, Limits};
use crate::payload::Payload;

fn file(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/parquet/{name}.parquet", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The texts of all records, or why there are none; and the texts, read again by their addresses.
fn decode(bytes: Vec<u8>, limits: &Limits) -> Result<Vec<String>, DecodeError> {
    let payload = Payload::from_bytes("x.parquet", bytes);
    let mut records = payload.records(&Format::Parquet, limits)?;
    let (mut found, mut places) = (Vec::new(), Vec::new());
    while let Some(item) = records.next()? {
        places.push((item.offset, item.len));
        let text = String::from_utf8_lossy(item.raw).into_owned();
        found.push(match item.text {
            Ok(good) => {
                assert_eq!(good, item.raw);
                text
            }
            Err(bad) => format!("{bad:?} {text}"),
        });
    }
    let texts = records.finish();
    assert!(texts.seen().is_whole);
    let mut again = Vec::new();
    for (text, (offset, len)) in found.iter().zip(places) {
        texts.read(offset, len, &mut again).unwrap();
        assert!(text.ends_with(std::str::from_utf8(&again).unwrap()), "{text}");
    }
    Ok(found)
}

fn good(name: &str) -> Vec<String> {
    decode(file(name), &Limits::default()).unwrap()
}

#[test]
fn every_type_comes_exactly() {
    let found = good("types");
    let nines = "9".repeat(76);
    let want = [
        format!(
            r#"{{"id":9007199254740993,"u64":18446744073709551615,"u32":4294967295,"i8":-128,"f64":0.1,"f32":0.1,"nan":"NaN","yes":true,"d9":-1234567.89,"d38":123456789012345678901234567890.12345678,"d76":{nines},"text":"tab\t\"q\" é","word":"one","bytes":"AP8Q","day":"2026-03-01","at_ms":"2026-03-01T12:30:00.005000Z","at_us":"2026-03-01T12:30:00.123456Z","at_ns":"2026-03-01T12:30:00.123456789Z","civil":"2026-03-29T02:30:00","clock":"23:59:59.123456789","clock_ms":"01:02:03.004000","uuid":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11","list":[1.50,null],"deep":[[1,2],[],null],"pair":{{"a":1,"at":"2026-03-01T00:00:00Z"}},"map":{{"x":9007199254740993,"y\"":null}},"doc":{{"n": 1.10}}}}"#
        ),
        format!(
            r#"{{"id":-9223372036854775808,"u64":0,"u32":null,"i8":127,"f64":1e300,"f32":null,"nan":"-Infinity","yes":false,"d9":0.05,"d38":-0.00000001,"d76":-{nines},"text":"","word":null,"bytes":null,"day":"0001-01-01","at_ms":"1969-12-31T23:59:59.999000Z","at_us":null,"at_ns":"2026-03-01T12:30:00Z","civil":"9999-12-31T23:59:59.999999","clock":"00:00:00","clock_ms":null,"uuid":null,"list":[],"deep":null,"pair":null,"map":{{}},"doc":null}}"#
        ),
    ];
    assert_eq!(found, want);
}

#[test]
fn rows_come_in_order_over_groups_and_pages() {
    let found = good("many");
    assert_eq!(found.len(), 2000);
    for (at, text) in found.iter().enumerate() {
        let head = format!("{{\"id\":{at},\"name\":\"name {}\",\"at\":\"1970-01-01T00:00:0", at % 7);
        assert!(text.starts_with(&head), "{text}");
    }
    assert!(found[1999].ends_with("01.999000Z\"}"), "{}", found[1999]);
}

#[test]
fn int96_keeps_its_nanoseconds() {
    assert_eq!(
        good("int96"),
        [
            r#"{"id":1,"at":"2026-03-01T12:30:00.123456789Z"}"#,
            r#"{"id":2,"at":null}"#,
            r#"{"id":3,"at":"1969-12-31T23:59:59.999999999Z"}"#,
        ]
    );
}

#[test]
fn what_a_record_cannot_hold_is_bad_and_told_with_its_field() {
    let payload = Payload::from_bytes("x.parquet", file("bad"));
    let mut records = payload.records(&Format::Parquet, &Limits::default()).unwrap();
    assert!(records.next().unwrap().unwrap().text.is_ok());
    let item = records.next().unwrap().unwrap();
    let bad = item.text.unwrap_err();
    assert_eq!((bad.kind, bad.field.as_str()), (BadKind::Syntax, "doc"));
    assert_eq!(item.raw, br#"{"id":2,"doc":null,"day":null}"#);
    assert!(records.next().unwrap().is_none());
    let limits = Limits { record: 20, ..Limits::default() };
    assert!(decode(file("bad"), &limits).unwrap()[0].contains("TooLarge"));
    let limits = Limits { decoded: 10_000, ..Limits::default() };
    assert!(matches!(decode(file("many"), &limits), Err(DecodeError::OverLimit { .. })));
}

#[test]
fn a_file_that_is_cut_anywhere_gives_no_record_and_no_end() {
    let whole = file("types");
    for cut in (0..whole.len()).step_by(7) {
        let error = decode(whole[..cut].to_vec(), &Limits::default()).unwrap_err();
        assert!(matches!(error, DecodeError::Incomplete { .. }), "{cut}: {error:?}");
    }
}

#[test]
fn a_damaged_file_is_an_error_or_the_same_rows() {
    let whole = file("int96");
    let right = good("int96");
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        // A crash of the decoder's thread fails the batch, too; what must never be is an end with fewer or more rows.
        let ended = std::panic::catch_unwind(|| decode(bytes, &Limits::default()));
        if let Ok(Ok(found)) = ended {
            assert_eq!(found.len(), right.len(), "byte {at}");
        }
    }
}

#[test]
fn what_is_no_parquet_says_so() {
    let told = |bytes: &[u8]| decode(bytes.to_vec(), &Limits::default()).unwrap_err().to_string();
    assert!(told(b"{\"id\":1}\n{\"id\":2}\n").contains("doesn't begin with `PAR1`"));
    assert!(told(b"PAREsomethingencryptedPARE").contains("encrypted"));
    assert!(told(b"").contains("at least 12 bytes"));
    let zipped = Payload::from_bytes("x", b"\x1f\x8b\x08".to_vec());
    assert!(
        zipped
            .records(&Format::Parquet, &Limits::default())
            .unwrap_err()
            .to_string()
            .contains("decompress it")
    );
}
