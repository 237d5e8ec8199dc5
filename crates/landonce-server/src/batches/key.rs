//! The batch's id as the sender says it: in `Idempotency-Key`, in a header of its own, or in the query. Where several say one they
//! must agree; where one can't be read nothing is guessed.

use axum::http::{HeaderMap, HeaderName, StatusCode};
use landonce::Code;

use crate::config::BatchIdFrom;
use crate::problem::Problem;

/// The longest key, in bytes.
const LONGEST: usize = 255;

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The id that the sender gives the batch, if it gives one.
pub(super) fn of(
    headers: &HeaderMap,
    from: &BatchIdFrom,
    query: Option<&str>,
) -> Result<Option<String>, Problem> {
    let standard = header(headers, &IDEMPOTENCY_KEY)?.map(structured).transpose()?;
    let own = match &from.header {
        Some(name) => header(headers, name)?.map(|text| plain(name.as_str(), text)).transpose()?,
        None => None,
    };
    let query = query.map(|text| plain(&from.query, text)).transpose()?;
    let mut said = [standard, own, query].into_iter().flatten();
    let Some(first) = said.next() else { return Ok(None) };
    if said.any(|other| other != first) {
        return Err(fault("two keys say different things; send one"));
    }
    Ok(Some(first))
}

fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Problem> {
    let mut all = headers.get_all(name).iter();
    let Some(value) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(fault(format!("`{name}` stands there twice")));
    }
    value.to_str().map(Some).map_err(|_| fault(format!("`{name}` isn't plain ASCII")))
}

/// A string of RFC 8941 in its quotes, as the draft of the header has it, or a single word, as most senders write it.
fn structured(text: &str) -> Result<String, Problem> {
    let text = text.trim_matches([' ', '\t']);
    let key = match text.strip_prefix('"') {
        Some(rest) => quoted(rest).ok_or_else(|| {
            fault("`Idempotency-Key` isn't one string in quotes; inside, only \\\" and \\\\ are escaped")
        })?,
        None if text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte)) => {
            text.to_owned()
        }
        None => {
            return Err(fault(
                "`Idempotency-Key` is neither a string in quotes nor a single word without quotes, commas and semicolons",
            ));
        }
    };
    sized("Idempotency-Key", key)
}

/// What follows the first quote, up to the last one, which must be the end.
fn quoted(rest: &str) -> Option<String> {
    let mut key = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => return chars.next().is_none().then_some(key),
            '\\' => key.push(chars.next().filter(|c| matches!(c, '"' | '\\'))?),
            c if (' '..='~').contains(&c) => key.push(c),
            _ => return None,
        }
    }
}

fn plain(name: &str, text: &str) -> Result<String, Problem> {
    if text.chars().any(char::is_control) {
        return Err(fault(format!("`{name}` holds a control character")));
    }
    sized(name, text.to_owned())
}

fn sized(name: &str, key: String) -> Result<String, Problem> {
    match key.len() {
        0 => Err(fault(format!("`{name}` is empty"))),
        len if len > LONGEST => Err(fault(format!("`{name}` has {len} bytes; {LONGEST} are the most"))),
        _ => Ok(key),
    }
}

fn fault(told: impl Into<String>) -> Problem {
    Problem::of(StatusCode::BAD_REQUEST, Code::L1026, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(header: Option<&'static str>) -> BatchIdFrom {
        BatchIdFrom { header: header.map(HeaderName::from_static), query: "batch_id".to_owned() }
    }

    fn key(text: &str) -> Result<Option<String>, String> {
        let mut headers = HeaderMap::new();
        headers.insert(&IDEMPOTENCY_KEY, text.parse().unwrap());
        of(&headers, &from(None), None).map_err(|problem| problem.detail)
    }

    #[test]
    fn a_string_and_a_word_are_keys() {
        for (text, is) in [
            ("\"2026-06-01\"", "2026-06-01"),
            ("2026-06-01", "2026-06-01"),
            ("  \"a b\" ", "a b"),
            (r#""a \"b\" \\""#, r#"a "b" \"#),
            ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ] {
            assert_eq!(key(text), Ok(Some(is.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let long = format!("\"{}\"", "a".repeat(256));
        for text in ["", "\"\"", "\"a", "a\"", "\"a\"b", "\"a\";p=1", "a, b", "a,b", r#""\a""#, "a b", &long]
        {
            assert!(key(text).is_err(), "{text}");
        }
        assert!(key(&format!("\"{}\"", "a".repeat(255))).is_ok());
        let mut twice = HeaderMap::new();
        twice.append(&IDEMPOTENCY_KEY, "a".parse().unwrap());
        twice.append(&IDEMPOTENCY_KEY, "a".parse().unwrap());
        assert!(of(&twice, &from(None), None).unwrap_err().detail.contains("twice"));
    }

    #[test]
    fn several_places_must_agree() {
        let mut headers = HeaderMap::new();
        assert_eq!(of(&headers, &from(None), None), Ok(None));
        assert_eq!(of(&headers, &from(None), Some("a")), Ok(Some("a".to_owned())));
        headers.insert("x-batch", "a".parse().unwrap());
        assert_eq!(of(&headers, &from(None), None), Ok(None), "not declared, not read");
        assert_eq!(of(&headers, &from(Some("x-batch")), Some("a")), Ok(Some("a".to_owned())));
        assert!(of(&headers, &from(Some("x-batch")), Some("b")).unwrap_err().detail.contains("different"));
        assert!(of(&headers, &from(None), Some("a\nb")).is_err());
        assert!(of(&headers, &from(None), Some("")).is_err());
    }
}
