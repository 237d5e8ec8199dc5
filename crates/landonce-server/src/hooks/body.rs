//! A request's body: whole, up to a limit, and of a form that can be an event.

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use landonce::Code;

use crate::problem::Problem;

/// The bytes as they came, `most` at the most.
pub(super) async fn read(headers: &HeaderMap, body: Body, most: usize) -> Result<Bytes, Problem> {
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|bytes| bytes > most as u64) {
        return Err(too_large(most));
    }
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(most)),
        Err(_) => Err(Problem::passing(
            StatusCode::BAD_REQUEST,
            Code::L1009,
            "the connection ended within the body; nothing was written",
            1,
        )),
    }
}

fn too_large(most: usize) -> Problem {
    let detail = format!("a webhook may have {most} bytes here; nothing was written");
    Problem::of(StatusCode::PAYLOAD_TOO_LARGE, Code::L1006, detail)
}

/// Whether the bytes may be read as JSON: no other type, and nothing packed. (What was signed are the bytes as they are, and unpacking
/// bytes is for those who may send them without limit.)
pub(super) fn is_plain_json(headers: &HeaderMap) -> Result<(), Problem> {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    if !encodings.all(|value| value.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(unsupported(
            "a webhook's body can't be compressed: send it as it is, without `Content-Encoding`",
        ));
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let given = types.next().and_then(|value| value.to_str().ok()).filter(|_| types.next().is_none());
    let given =
        given.and_then(|value| value.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
    match given.as_str() {
        "application/json" => Ok(()),
        other if other.starts_with("application/") && other.ends_with("+json") => Ok(()),
        "application/x-www-form-urlencoded" => Err(unsupported(
            "a form isn't taken: set the webhook's content type to `application/json` (on GitHub: Settings, Webhooks, Content type)",
        )),
        _ => Err(unsupported("one JSON object is due, with `Content-Type: application/json`")),
    }
}

fn unsupported(detail: &str) -> Problem {
    Problem::of(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::L1005, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pairs: &[(header::HeaderName, &'static str)]) -> Option<u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, header::HeaderValue::from_static(value));
        }
        is_plain_json(&headers).err().map(|problem| problem.status)
    }

    #[test]
    fn json_in_all_its_names_is_taken_and_nothing_else() {
        use header::{CONTENT_ENCODING, CONTENT_TYPE};
        for json in ["application/json", "Application/JSON; charset=utf-8", "application/cloudevents+json"] {
            assert_eq!(told(&[(CONTENT_TYPE, json)]), None, "{json}");
            assert_eq!(told(&[(CONTENT_TYPE, json), (CONTENT_ENCODING, "identity")]), None);
            assert_eq!(told(&[(CONTENT_TYPE, json), (CONTENT_ENCODING, "gzip")]), Some(415));
        }
        for other in
            ["", "text/plain", "application/x-www-form-urlencoded", "text/x+json", "application/jsonp"]
        {
            assert_eq!(told(&[(CONTENT_TYPE, other)]), Some(415), "{other}");
        }
        assert_eq!(told(&[]), Some(415));
        assert_eq!(told(&[(CONTENT_TYPE, "application/json"), (CONTENT_TYPE, "text/plain")]), Some(415));
    }
}
