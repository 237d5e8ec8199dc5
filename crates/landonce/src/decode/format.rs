//! Formats: their names, and how one is guessed.

use super::CsvOptions;
use super::json::{Members, unescape};
use super::window::is_white;
use crate::payload::Compression;

/// What a payload's text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Ndjson,
    /// One array of JSON objects (or a single object).
    Json,
    /// A GeoJSON FeatureCollection.
    GeoJson,
    /// Comma-separated values.
    Csv(CsvOptions),
    /// Apache Parquet.
    Parquet,
    /// Messages of a stream or a fetch, as landonce writes them ([`crate::payload::Messages`]).
    Messages,
}

impl Format {
    /// The name in pipelines and messages.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Ndjson => "ndjson",
            Self::Json => "json",
            Self::GeoJson => "geojson",
            Self::Csv(_) => "csv",
            Self::Parquet => "parquet",
            Self::Messages => "messages",
        }
    }

    /// Guesses by a name's ending (under `.gz` or `.zst`), and for `.json` by the first decompressed bytes
    /// ([`crate::payload::Payload::first_bytes`]). `None` for an ending that isn't known.
    pub fn guess(name: &str, first_bytes: &[u8]) -> Option<Self> {
        let plain = Compression::promised(name).map_or(name, |(_, plain)| plain);
        let (_, ending) = plain.rsplit_once('.')?;
        Some(match ending.to_ascii_lowercase().as_str() {
            "ndjson" | "jsonl" => Self::Ndjson,
            "geojson" => Self::GeoJson,
            "csv" => Self::Csv(CsvOptions::default()),
            "tsv" => Self::Csv(CsvOptions { delimiter: b'\t', ..CsvOptions::default() }),
            "parquet" => Self::Parquet,
            "json" => guess_json(first_bytes),
            _ => return None,
        })
    }
}

/// What the first bytes of a `.json` file are.
fn guess_json(first: &[u8]) -> Format {
    let mut text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first);
    while let [white, rest @ ..] = text
        && is_white(*white)
    {
        text = rest;
    }
    if text.starts_with(b"[") {
        return Format::Json;
    }
    let Some(mut members) = Members::of(text) else { return Format::Ndjson };
    while let Ok(Some(quoted)) = members.name() {
        let name = unescape(quoted);
        // The type may stand behind the features, and these may go on beyond what we see.
        if *name == *b"features" && members.peek() == Some(b'[') {
            return Format::GeoJson;
        }
        match members.value() {
            Ok(value) if *name == *b"type" && *unescape(value) == *b"FeatureCollection" => {
                return Format::GeoJson;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    // An object that goes on over lines is one document; else it is a line of many.
    if text[..members.position()].contains(&b'\n') { Format::Json } else { Format::Ndjson }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_tell_under_a_compression() {
        let tsv = Format::Csv(CsvOptions { delimiter: b'\t', ..CsvOptions::default() });
        for (name, want) in [
            ("a.ndjson", Format::Ndjson),
            ("a.jsonl", Format::Ndjson),
            ("a.NDJSON.GZ", Format::Ndjson),
            ("a.geojson.zst", Format::GeoJson),
            ("dir.csv/a.csv.gz", Format::Csv(CsvOptions::default())),
            ("a.2026-01-01.tsv", tsv),
        ] {
            assert_eq!(Format::guess(name, b""), Some(want), "{name}");
        }
        assert_eq!(Format::guess("a.PARQUET", b""), Some(Format::Parquet));
        for name in ["stdin", "a.gz", "csv", ""] {
            assert_eq!(Format::guess(name, b"[]"), None, "{name}");
        }
    }

    #[test]
    fn first_bytes_tell_what_a_json_file_is() {
        for (first, want) in [
            ("[{}]", "json"),
            (" \n[", "json"),
            ("\u{feff}[", "json"),
            (r#"{"type":"FeatureCollection","features":[]}"#, "geojson"),
            (r#"{ "t\u0079pe" : "FeatureCollection" "#, "geojson"),
            (r#"{"name":"x","crs":{"a":[1]},"features":[{"type":"Feature","#, "geojson"),
            (r#"{"type":"Feature","features":1}"#, "ndjson"),
            (r#"{"a":{"type":"FeatureCollection"}}"#, "ndjson"),
            ("{\"a\":1}\n{\"a\":2}\n", "ndjson"),
            (r#"{"a":"a line longer than the first bytes"#, "ndjson"),
            ("{\n  \"a\": 1\n}\n", "json"),
            ("{\"a\":1,\n\"b\":{\n", "json"),
            ("", "ndjson"),
            ("nonsense", "ndjson"),
        ] {
            assert_eq!(Format::guess("x.json", first.as_bytes()).unwrap().as_str(), want, "{first}");
        }
    }
}
