//! Bounded fuzzing of everything that reads bytes: `fuzz SECONDS [SEED] [CORPUS_FOLDER…]`.
//!
//! Each target takes mutated seeds and checks more than "no panic": what the scanner accepts, serde_json accepts; one value
//! respelled has one canonical form; a decoder that says "whole" has read every byte. A finding prints the target, the
//! seed and the input as hex, and ends with exit code 1; it then becomes a test.

#![expect(clippy::print_stdout, clippy::unnecessary_wraps, reason = "a tool for a terminal")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use landonce::Batch;
use landonce::decode::{CsvOptions, Format, Limits};
use landonce::payload::Payload;
use landonce_core::canonical::{Exclusions, put_json};
use landonce_core::json::{Json, Kind, Tape};
use landonce_core::number::Decimal;
use landonce_core::pipeline::Pipeline;
use landonce_core::plan;
use landonce_core::record::{RecordReader, Wanted};
use landonce_core::spec::Spec;
use landonce_core::{geometry, time};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

type Target = (&'static str, fn(&[u8]) -> Result<(), String>);

const TARGETS: [Target; 10] = [
    ("scan", scan),
    ("canonical", canonical),
    ("record", record),
    ("ndjson", |bytes| decode(bytes, &Format::Ndjson)),
    ("json", |bytes| decode(bytes, &Format::Json)),
    ("geojson", |bytes| decode(bytes, &Format::GeoJson)),
    ("csv", |bytes| decode(bytes, &Format::Csv(CsvOptions::default()))),
    ("messages", |bytes| decode(&[b"landonce messages 1\n".as_slice(), bytes].concat(), &Format::Messages)),
    ("config", config),
    ("scalars", scalars),
];

const SEEDS: [&str; 14] = [
    r#"{"id":1,"at":"2024-06-01T00:00:00Z","n":-1.50e+3,"s":"a\u00e9\ud83d\ude00\\\"","t":[true,null,{"x":[]}]}"#,
    "{\"id\":1}\n{\"id\":2,\"v\":\"\\u0000\"}\r\n\n{\"id\":3}",
    r#"[{"id":1},{"id":2,"a":[1,2,[3]]}, {"id":"x"}]"#,
    r#"{"type":"FeatureCollection","features":[{"type":"Feature","id":7,"properties":{"a":1},"geometry":{"type":"Point","coordinates":[1,2]}}]}"#,
    "id,name,note\r\n1,\"a \"\"b\"\"\",\"two\nlines\"\n2,x,\n",
    "\u{feff}\"id,x\";b\n1;2\n",
    "pipeline: p\nidentity: [id]\ntarget: {table: t, columns: {at: timestamptz, m: 'decimal(20,8)'}}\nwrite: {version: at}\n",
    "pipeline: p\nidentity: {hash_of: all, except: [a.b]}\ntarget: {table: s.t}\non_bad_record: {quarantine: {max: 1%}}\n",
    r#"{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0.0000001],[1,1],[0,0]]]]}"#,
    "2013-03-10T02:30:00.123456-05:00",
    "-123456789012345678901234567890.00100e-17",
    r#"{"id":18446744073709551616,"at":"0001-01-01T00:00:00+23:59"}"#,
    r#"{"a":1,"\u0061":2}"#,
    "[[[[[[[[[[[[]]]]]]]]]]]]",
];

const TOKENS: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "\n",
    "\r\n",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "null",
    "true",
    "1e999",
    "-0",
    "\"\"",
    "0",
    ".",
    "e",
    "\u{0}",
    "identity: ",
    "&a [*a]",
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(60);
    let seed: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or_else(rand::random);
    let mut corpus: Vec<Vec<u8>> = SEEDS.iter().map(|text| text.as_bytes().to_vec()).collect();
    for folder in arguments {
        let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        corpus.extend(
            files.filter_map(|file| std::fs::read(file.path()).ok()).filter(|bytes| bytes.len() < 1 << 16),
        );
    }
    let mut rng = StdRng::seed_from_u64(seed);
    let mut runs = 0_u64;
    let mut is_sound = true;
    for (name, target) in TARGETS {
        let until = Instant::now() + Duration::from_secs(seconds) / TARGETS.len() as u32;
        while Instant::now() < until {
            let input = mutate(&corpus, &mut rng);
            runs += 1;
            let told = catch_unwind(AssertUnwindSafe(|| target(&input)));
            let fault = match told {
                Ok(Ok(())) => continue,
                Ok(Err(fault)) => fault,
                Err(_) => "a panic".to_owned(),
            };
            is_sound = false;
            println!(
                "{name} (seed {seed}): {fault}\n  text {:?}\n  hex {}",
                String::from_utf8_lossy(&input),
                hex::encode(&input)
            );
            break;
        }
    }
    println!("{runs} inputs, seed {seed}");
    std::process::exit(i32::from(!is_sound));
}

fn mutate(corpus: &[Vec<u8>], rng: &mut StdRng) -> Vec<u8> {
    let mut bytes = corpus[rng.random_range(0..corpus.len())].clone();
    for _ in 0..rng.random_range(0..6) {
        let at = rng.random_range(0..=bytes.len());
        match rng.random_range(0..6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => {
                bytes.truncate(at);
            }
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            3 => {
                let other = &corpus[rng.random_range(0..corpus.len())];
                let from = rng.random_range(0..=other.len());
                let to = rng.random_range(from..=other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                let token = TOKENS[rng.random_range(0..TOKENS.len())];
                bytes.splice(at..at, token.bytes());
            }
        }
    }
    bytes
}

fn scan(bytes: &[u8]) -> Result<(), String> {
    let mut tape = Tape::default();
    let ours = tape.scan(bytes).map(|_| ());
    let theirs = serde_json::from_slice::<serde::de::IgnoredAny>(bytes);
    match (ours, theirs) {
        (Ok(()), Err(error)) => Err(format!("taken, though it isn't JSON: {error}")),
        _ => Ok(()),
    }
}

/// A value spelled again (names reversed, white space, escapes) has the same canonical form.
fn canonical(bytes: &[u8]) -> Result<(), String> {
    let (mut one, mut two) = (Tape::default(), Tape::default());
    let Ok(json) = one.scan(bytes) else { return Ok(()) };
    let mut first = Vec::new();
    if put_json(&mut first, json, &Exclusions::default()).is_err() {
        return Ok(());
    }
    let mut respelled = String::new();
    respell(json, &mut respelled);
    let again = two.scan(respelled.as_bytes()).map_err(|bad| format!("{respelled}: {bad}"))?;
    let mut second = Vec::new();
    put_json(&mut second, again, &Exclusions::default()).map_err(|bad| bad.to_string())?;
    if first == second { Ok(()) } else { Err(format!("two canonical forms; respelled {respelled}")) }
}

fn respell(json: Json<'_>, out: &mut String) {
    match json.kind() {
        Kind::Array => {
            out.push_str("[ ");
            for (at, item) in json.items().enumerate() {
                out.push_str(if at > 0 { " , " } else { "" });
                respell(item, out);
            }
            out.push(']');
        }
        Kind::Object => {
            let members: Vec<_> = json.members().collect();
            out.push('{');
            for (at, (name, value)) in members.iter().rev().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                respell(*name, out);
                out.push_str(" :\t");
                respell(*value, out);
            }
            out.push('}');
        }
        Kind::Plain | Kind::Escaped => {
            out.push('"');
            let text = json.string().unwrap_or_default();
            for unit in text.encode_utf16() {
                out.push_str(&format!("\\u{unit:04X}"));
            }
            out.push('"');
        }
        Kind::Number => out.push_str(
            &Decimal::parse(json.span()).map_or_else(|| json.span().to_owned(), |number| number.to_plain()),
        ),
        _ => out.push_str(json.span()),
    }
}

fn record(bytes: &[u8]) -> Result<(), String> {
    const YAML: &str = "pipeline: p\nidentity: [id]\ntarget: {table: t, columns: {at: timestamptz, n: 'decimal(20,8)', g: geometry, f: float, u: uuid, a: 'integer[]'}}";
    let declared = Spec::parse(YAML)
        .map_err(|error| error.to_string())
        .and_then(|spec| Pipeline::new(spec).map_err(|error| error.to_string()))?;
    let plan = plan::resolve(&declared, None).map_err(|error| error.to_string())?;
    for is_lexical in [false, true] {
        let mut reader = RecordReader::new(&declared, &plan, is_lexical);
        let first = reader.read(bytes, Wanted::Identity).map(|row| (row.key, row.digest)).ok();
        let second = reader.read(bytes, Wanted::Row).map(|row| (row.key, row.digest)).ok();
        if first != second {
            return Err("a record reads differently the second time".into());
        }
    }
    Ok(())
}

/// Every record is found again at its address.
fn decode(bytes: &[u8], format: &Format) -> Result<(), String> {
    let payload = Payload::from_bytes("fuzz", bytes.to_vec());
    let Ok(mut records) = payload.records(format, &Limits::default()) else { return Ok(()) };
    let mut seen = Vec::new();
    let mut has_bad = false;
    let mut last = None;
    loop {
        match records.next() {
            Ok(Some(item)) => {
                if last.is_some_and(|last| item.offset <= last) {
                    return Err("offsets don't grow".into());
                }
                last = Some(item.offset);
                match item.text {
                    Ok(text) => seen.push((item.offset, item.len, text.to_vec())),
                    Err(_) => has_bad = true,
                }
            }
            Ok(None) => break,
            Err(_) => return Ok(()),
        }
    }
    if *format == Format::Json && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err() {
        // Framing leaves a record's own faults to the scanner; but one of them must then refuse it.
        let mut tape = Tape::default();
        if !has_bad
            && seen.iter().all(|(_, _, text)| tape.scan(text).is_ok())
            && !seen.is_empty()
            && !bytes.starts_with("\u{feff}".as_bytes())
        {
            return Err("taken whole, though it isn't JSON".into());
        }
    }
    let texts = records.finish();
    let mut again = Vec::new();
    for (offset, len, text) in seen {
        texts.read(offset, len, &mut again).map_err(|error| error.to_string())?;
        if again != text {
            return Err(format!("another text at {offset}"));
        }
    }
    let _ = Batch::from_bytes("fuzz", bytes.to_vec());
    Ok(())
}

fn config(bytes: &[u8]) -> Result<(), String> {
    if let Ok(spec) = Spec::parse(&String::from_utf8_lossy(bytes))
        && let Ok(pipeline) = Pipeline::new(spec)
    {
        let _ = plan::resolve(&pipeline, None);
    }
    Ok(())
}

fn scalars(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    if let Some(number) = Decimal::parse(&text) {
        let plain = number.to_plain();
        if Decimal::parse(&plain).as_ref() != Some(&number) {
            return Err(format!("{text} and {plain} are two numbers"));
        }
    }
    if let Ok(micros) = time::timestamptz(&text) {
        let mut out = String::new();
        time::write_timestamptz(micros, &mut out);
        if time::timestamptz(&out) != Ok(micros) {
            return Err(format!("{text} and {out} are two instants"));
        }
    }
    let mut tape = Tape::default();
    if tape.scan(bytes).is_ok() {
        let _ = geometry::to_ewkb(&text, None, 4326);
        let _ = geometry::round(&text, 6);
    }
    Ok(())
}
