//! How long to wait before a page is asked for again: never less than was asked for, never in lockstep, never beyond the deadline.

use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use hyper::header::{DATE, RETRY_AFTER};
use landonce_core::pipeline::http::Retry;
use rand::RngExt as _;

/// How much a wait is stretched at most, as a share of it.
const SHARE: f64 = 0.2;

/// The wait behind the n-th attempt, of which `left` remains; `None` when there is to be no other one.
pub(super) fn behind(
    retry: &Retry,
    attempt: u32,
    asked: Option<Duration>,
    left: Duration,
) -> Option<Duration> {
    if attempt >= retry.attempts {
        return None;
    }
    let doubled = retry.first.saturating_mul(1_u32 << attempt.saturating_sub(1).min(30));
    let wait = doubled.min(retry.most.max(retry.first)).max(asked.unwrap_or_default());
    // By chance somewhat longer: those that failed together don't come back together.
    let stretched = wait + wait.mul_f64(SHARE * rand::rng().random_range(0.0..=1.0));
    (wait < left).then_some(stretched.min(left))
}

/// What `Retry-After` asks for: seconds, or until an HTTP date. What is neither counts as absent.
pub(super) fn asked(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a very long time; the deadline decides.
        return Some(Duration::from_secs(u64::from(text.parse().unwrap_or(u32::MAX))));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let from = |now: SystemTime| until.duration_since(now).unwrap_or_default();
    // By the source's clock, where it tells it; by ours if that is longer, so that no clock undercuts it.
    let theirs = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    Some(theirs.map(from).unwrap_or_default().max(from(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    fn retry() -> Retry {
        Retry { attempts: 8, first: Duration::from_secs(1), most: Duration::from_mins(1) }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        for (attempt, from, to) in [(1, 1.0, 1.2), (2, 2.0, 2.4), (7, 60.0, 72.0)] {
            let wait = behind(&retry(), attempt, None, HOUR).unwrap().as_secs_f64();
            assert!((from..=to).contains(&wait), "{attempt}: {wait}");
        }
        assert_eq!(behind(&retry(), 8, None, HOUR), None);
    }

    #[test]
    fn what_is_asked_for_is_kept_to_and_the_deadline_ends_it() {
        let asked = Some(Duration::from_mins(5));
        let wait = behind(&retry(), 1, asked, HOUR).unwrap();
        assert!(wait >= Duration::from_mins(5) && wait <= Duration::from_mins(6), "{wait:?}");
        assert_eq!(behind(&retry(), 1, asked, Duration::from_mins(4)), None, "it would be over by then");
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let headers = |pairs: &[(&'static str, String)]| {
            pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
        };
        let of = |pairs: &[(&'static str, String)]| asked(&headers(pairs), now);
        let date = |after: u64| httpdate::fmt_http_date(now + Duration::from_secs(after));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("retry-after", "17".into())]), Some(Duration::from_secs(17)));
        assert_eq!(of(&[("retry-after", date(30))]), Some(Duration::from_secs(30)));
        // Their clock is ten seconds behind ours: then it is forty by theirs.
        let theirs = httpdate::fmt_http_date(now - Duration::from_secs(10));
        assert_eq!(of(&[("retry-after", date(30)), ("date", theirs)]), Some(Duration::from_secs(40)));
        assert_eq!(of(&[("retry-after", "soon".into())]), None);
        assert_eq!(of(&[("retry-after", "-1".into())]), None);
    }
}
