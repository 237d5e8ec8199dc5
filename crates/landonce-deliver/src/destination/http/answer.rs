//! What an answer means.
//!
//! | status | |
//! |---|---|
//! | 2xx | taken |
//! | 410 | never: the receiver says that it is gone for good |
//! | 429 | later, for all messages; `Retry-After` is kept to |
//! | 503 with `Retry-After` | later, for all messages |
//! | 3xx that isn't followed, other 4xx, 5xx | later, this message: a receiver or a declaration can be mended before its deadline |

use std::time::{Duration, SystemTime};

use hyper::header::{DATE, RETRY_AFTER};
use hyper::{HeaderMap, StatusCode};

use crate::destination::Answer;
use crate::veil::Veil;

/// How much of an answer's text is told, in characters.
const TOLD: usize = 200;
/// How much of it is looked at for that, in characters: space is shortened.
const LOOKED_AT: usize = 4 * TOLD;

/// What an answer that isn't 2xx means. `text` is what could be read of its body; where it repeats a secret it isn't told.
pub(super) fn of(
    status: StatusCode,
    headers: &HeaderMap,
    text: &[u8],
    veil: &Veil,
    now: SystemTime,
) -> Answer {
    let after = retry_after(headers, now);
    let told = told(status, headers, text, veil);
    match status {
        StatusCode::GONE => Answer::Never { told },
        StatusCode::TOO_MANY_REQUESTS => Answer::Later { told, after, is_for_all: true },
        StatusCode::SERVICE_UNAVAILABLE => Answer::Later { told, after, is_for_all: after.is_some() },
        _ => Answer::Later { told, after, is_for_all: false },
    }
}

fn told(status: StatusCode, headers: &HeaderMap, text: &[u8], veil: &Veil) -> String {
    let mut told = status.as_str().to_owned();
    if status.is_redirection() {
        let shown = "a redirect, which isn't followed; name the place that takes messages as `url`, or allow `redirects`";
        // Only where to, not the query, which may hold anything.
        let to = headers.get(hyper::header::LOCATION).filter(|to| !veil.hides(to.as_bytes(), TOLD));
        let to = to.and_then(|to| to.to_str().ok());
        let to = to.map(|to| to.split(['?', '#']).next().unwrap_or(to));
        told.push_str(&match to {
            Some(to) => format!(" to {}: {shown}", printable(to)),
            None => format!(": {shown}"),
        });
    }
    if veil.hides(text, 4 * LOOKED_AT) {
        told.push_str(": (the answer repeats a secret)");
        return told;
    }
    let text = printable(&String::from_utf8_lossy(text));
    if !text.is_empty() {
        told.push_str(": ");
        told.push_str(&text);
    }
    told
}

/// The beginning of a text, on one line, without what could change a terminal.
fn printable(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_whitespace() || c.is_control() { ' ' } else { c })
        .take(LOOKED_AT)
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TOLD).collect()
}

/// How long to wait: seconds, or until an HTTP date. What is neither counts as absent.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a very long time; the cap decides.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::from(u32::MAX))).min(LONG));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let from = |now: SystemTime| until.duration_since(now).unwrap_or_default();
    // By the receiver's clock, where it tells it; by ours if that is longer, so that no clock undercuts it.
    let theirs = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    Some(theirs.map(from).unwrap_or_default().max(from(now)).min(LONG))
}

const LONG: Duration = Duration::from_secs(u32::MAX as u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect::<HeaderMap>()
    }

    fn after(value: &str) -> Option<Duration> {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        retry_after(&headers(&[("retry-after", value)]), now)
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_rubbish_is_absent() {
        assert_eq!(after("120"), Some(Duration::from_mins(2)));
        assert_eq!(after("86400"), Some(Duration::from_hours(24)));
        assert_eq!(after("99999999999999999999999"), Some(LONG));
        for date in
            ["Sun, 06 Nov 1994 08:51:37 GMT", "Sunday, 06-Nov-94 08:51:37 GMT", "Sun Nov  6 08:51:37 1994"]
        {
            assert_eq!(after(date), Some(Duration::from_mins(2)), "{date}");
        }
        assert_eq!(after("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        for rubbish in ["", "soon", "-5", "1.5", "1h", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(after(rubbish), None, "{rubbish}");
        }
    }

    #[test]
    fn a_clock_that_is_wrong_does_not_undercut_what_was_asked() {
        let theirs =
            [("retry-after", "Sun, 06 Nov 1994 08:51:37 GMT"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT")];
        let ours = httpdate::parse_http_date("Sun, 06 Nov 1994 09:49:37 GMT").unwrap();
        assert_eq!(retry_after(&headers(&theirs), ours), Some(Duration::from_mins(2)));
    }

    #[test]
    fn an_answer_is_told_on_one_short_line() {
        let told = told(
            StatusCode::BAD_REQUEST,
            &HeaderMap::new(),
            format!("no\r\n \u{1b}[31m {}", "x".repeat(999)).as_bytes(),
            &Veil::default(),
        );
        assert!(told.starts_with("400: no [31m xxx") && told.chars().count() <= TOLD + 5, "{told}");
    }

    #[test]
    fn only_what_speaks_for_all_pauses_all() {
        let none = HeaderMap::new();
        let asked = headers(&[("retry-after", "5")]);
        for (status, headers, expected) in [
            (429, &none, true),
            (429, &asked, true),
            (503, &asked, true),
            (503, &none, false),
            (500, &asked, false),
            (404, &none, false),
            (302, &none, false),
        ] {
            let answer =
                of(StatusCode::from_u16(status).unwrap(), headers, b"", &Veil::default(), SystemTime::now());
            assert!(
                matches!(answer, Answer::Later { is_for_all, .. } if is_for_all == expected),
                "{status}: {answer:?}"
            );
        }
        assert!(matches!(
            of(StatusCode::GONE, &none, b"", &Veil::default(), SystemTime::now()),
            Answer::Never { .. }
        ));
    }
}
