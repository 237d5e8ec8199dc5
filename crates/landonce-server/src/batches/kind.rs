//! What a body is, by its headers, next to what the pipeline declares.

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use landonce::Code;
use landonce::payload::Payload;
use landonce_core::spec::FormatSpec;

use super::spool::Spooled;
use crate::auth::Who;
use crate::problem::Problem;

/// What a `Content-Type` says of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Ndjson,
    /// JSON of any framing.
    Json,
    Geojson,
    Csv,
    Tsv,
}

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// The ending that a file of this kind would have: what the library tells the format by where the pipeline doesn't declare it.
    ending: &'static str,
    compression: &'static str,
    /// Neither the sender nor the pipeline says what it is.
    is_guess: bool,
}

impl Kind {
    /// Of a request for a pipeline that declares this format, or none.
    pub(super) fn of(headers: &HeaderMap, declared: Option<FormatSpec>) -> Result<Self, Problem> {
        let said = said(headers)?;
        let ending = match (declared, said) {
            (None, Said::Nothing) => "json",
            (Some(FormatSpec::Ndjson), Said::Nothing | Said::Ndjson | Said::Json) => "ndjson",
            (Some(FormatSpec::Json), Said::Nothing | Said::Json) => "json",
            (Some(FormatSpec::Geojson), Said::Nothing | Said::Json | Said::Geojson) => "geojson",
            (Some(FormatSpec::Csv), Said::Nothing | Said::Csv) => "csv",
            (Some(FormatSpec::Csv), Said::Tsv) => "tsv",
            (Some(FormatSpec::Parquet), Said::Nothing) => "parquet",
            (Some(declared), _) => {
                let format = match declared {
                    FormatSpec::Ndjson => "NDJSON",
                    FormatSpec::Json => "JSON",
                    FormatSpec::Geojson => "GeoJSON",
                    FormatSpec::Csv => "CSV",
                    FormatSpec::Parquet => "Parquet",
                };
                return Err(fault(format!(
                    "the pipeline declares {format}, and the body's `Content-Type` says otherwise"
                )));
            }
            (None, Said::Ndjson) => "ndjson",
            (None, Said::Json) => "json",
            (None, Said::Geojson) => "geojson",
            (None, Said::Csv) => "csv",
            (None, Said::Tsv) => "tsv",
        };
        let is_guess = declared.is_none() && said == Said::Nothing;
        Ok(Self { ending, compression: compression(headers)?, is_guess })
    }

    /// The payload, under a name that tells its kind.
    pub(super) async fn payload(self, who: &Who, spooled: Spooled) -> Result<Payload, Problem> {
        let name = format!("http: {}.{}{}", who.name, self.ending, self.compression);
        let is_guess = self.is_guess;
        let looked = tokio::task::spawn_blocking(move || {
            let payload = spooled.payload(name)?;
            let is_known = !is_guess || looks_like_json(&payload);
            Ok::<_, Problem>((payload, is_known))
        });
        let (payload, is_known) = looked.await.map_err(|failed| super::landing::broken(&failed))??;
        if is_known {
            return Ok(payload);
        }
        Err(fault(
            "can't tell what the body is: neither `Content-Type` nor the pipeline's `source.format` says it, and it doesn't begin like \
             JSON",
        ))
    }
}

/// Whether it begins like JSON. What breaks while it is decompressed is told when it is read.
fn looks_like_json(payload: &Payload) -> bool {
    let Ok(head) = payload.first_bytes() else { return true };
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
    text.starts_with(b"{") || text.starts_with(b"[")
}

fn said(headers: &HeaderMap) -> Result<Said, Problem> {
    let Some(text) = one(headers, &header::CONTENT_TYPE)? else { return Ok(Said::Nothing) };
    let mut parts = text.split(';');
    let kind = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    for parameter in parts {
        let Some((name, value)) = parameter.split_once('=') else { continue };
        let value = value.trim().trim_matches('"').to_ascii_lowercase();
        if name.trim().eq_ignore_ascii_case("charset")
            && !matches!(value.as_str(), "utf-8" | "utf8" | "us-ascii")
        {
            return Err(fault("the body must be text in UTF-8"));
        }
    }
    Ok(match kind.as_str() {
        // What curl and browsers say where nobody told them.
        ""
        | "application/octet-stream"
        | "text/plain"
        | "application/x-www-form-urlencoded"
        | "application/gzip"
        | "application/zstd" => Said::Nothing,
        "application/x-ndjson"
        | "application/ndjson"
        | "application/jsonl"
        | "application/x-jsonlines"
        | "application/jsonlines"
        | "application/json-lines" => Said::Ndjson,
        "application/json" | "text/json" => Said::Json,
        "application/geo+json" | "application/vnd.geo+json" => Said::Geojson,
        "text/csv" | "application/csv" => Said::Csv,
        "text/tab-separated-values" => Said::Tsv,
        _ => {
            return Err(fault(
                "this `Content-Type` isn't read; known are application/x-ndjson, application/json, application/geo+json, text/csv",
            ));
        }
    })
}

/// The ending of a file that is compressed as the body says it is. Without a word of it the bytes tell.
fn compression(headers: &HeaderMap) -> Result<&'static str, Problem> {
    let Some(text) = one(headers, &header::CONTENT_ENCODING)? else { return Ok("") };
    match text.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(""),
        "gzip" | "x-gzip" => Ok(".gz"),
        "zstd" => Ok(".zst"),
        _ => Err(fault("this `Content-Encoding` isn't read; known are gzip and zstd, once")),
    }
}

fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Problem> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            value.to_str().map(Some).map_err(|_| fault(format!("`{name}` isn't plain ASCII")))
        }
        (Some(_), Some(_)) => Err(fault(format!("`{name}` stands there twice"))),
    }
}

fn fault(told: impl Into<String>) -> Problem {
    Problem::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::L1028, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, declared: Option<FormatSpec>) -> Result<&'static str, u16> {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, kind.parse().unwrap())]);
        Kind::of(&headers, declared).map(|kind| kind.ending).map_err(|problem| problem.status)
    }

    #[test]
    fn the_content_type_tells_where_the_pipeline_does_not() {
        assert_eq!(of("application/x-ndjson", None), Ok("ndjson"));
        assert_eq!(of("text/csv; charset=UTF-8", None), Ok("csv"));
        assert_eq!(of("application/json", Some(FormatSpec::Ndjson)), Ok("ndjson"));
        assert_eq!(of("application/x-www-form-urlencoded", Some(FormatSpec::Csv)), Ok("csv"));
    }

    #[test]
    fn a_content_type_that_contradicts_or_is_not_read_is_refused() {
        assert_eq!(of("text/csv", Some(FormatSpec::Ndjson)), Err(415));
        assert_eq!(of("application/xml", None), Err(415));
        assert_eq!(of("text/csv; charset=iso-8859-1", None), Err(415));
        let br = HeaderMap::from_iter([(header::CONTENT_ENCODING, "br".parse().unwrap())]);
        assert_eq!(Kind::of(&br, None).unwrap_err().status, 415);
    }
}
