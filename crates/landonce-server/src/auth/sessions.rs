//! Sessions of browsers: in memory, each under a random id of which only the hash is kept.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, header};
use rand::Rng as _;
use sha2::{Digest, Sha256};

use super::forms::Csrf;

/// How long a session lasts from its login.
const LASTING: Duration = Duration::from_hours(12);
/// How many there are at most; beyond, the oldest ends.
const MOST: usize = 1000;
/// How often a wrong token is told of in the log.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// Somebody's session.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// Which of the declared tokens it was begun with.
    pub(super) token: usize,
    pub(super) csrf: Csrf,
    ends_at: Instant,
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<[u8; 32], Session>>,
    everybody: Csrf,
    is_https: bool,
    warned: Mutex<Warned>,
}

#[derive(Debug, Default)]
struct Warned {
    last: Option<Instant>,
    since: u64,
}

impl Sessions {
    pub(crate) fn new(is_https: bool) -> Self {
        Self { by_id: Mutex::default(), everybody: Csrf(random()), is_https, warned: Mutex::default() }
    }

    /// What forms carry where there are no tokens, and so no sessions.
    pub(super) fn csrf_of_everybody(&self) -> &Csrf {
        &self.everybody
    }

    /// Begins a session; the cookie for the browser.
    pub(super) fn begin(&self, token: usize, now: Instant) -> HeaderValue {
        let id = random();
        let session = Session { token, csrf: Csrf(random()), ends_at: now + LASTING };
        let mut all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| session.ends_at > now);
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, session)| session.ends_at).map(|(id, _)| *id)
        {
            all.remove(&oldest);
        }
        all.insert(hash(&id), session);
        self.cookie(&id, LASTING.as_secs())
    }

    /// Ends the session of these headers; the cookie that takes the browser's away.
    pub(super) fn end(&self, headers: &HeaderMap) -> HeaderValue {
        if let Some(id) = self.id(headers) {
            self.by_id.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(id));
        }
        self.cookie("", 0)
    }

    /// The session of these headers.
    pub(super) fn find(&self, headers: &HeaderMap) -> Option<Session> {
        self.find_at(headers, Instant::now())
    }

    fn find_at(&self, headers: &HeaderMap, now: Instant) -> Option<Session> {
        let id = self.id(headers)?;
        // Looked up by the hash: the time of a look-up tells nothing of an id that isn't known.
        let all = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&hash(id)).filter(|session| session.ends_at > now).cloned()
    }

    /// Tells of a wrong token, now and then: whoever tries many doesn't fill the log.
    pub(super) fn warn_of_wrong_token(&self) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        warned.since += 1;
        if warned.last.is_none_or(|last| last.elapsed() >= WARN_EVERY) {
            tracing::warn!(count = warned.since, "requests with a token that isn't known");
            *warned = Warned { last: Some(Instant::now()), since: 0 };
        }
    }

    /// With this prefix a browser takes the cookie only over https, for this host and all paths.
    fn name(&self) -> &'static str {
        if self.is_https { "__Host-landonce" } else { "landonce" }
    }

    fn id<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find_map(|(name, value)| (name == self.name()).then_some(value))
    }

    fn cookie(&self, id: &str, seconds: u64) -> HeaderValue {
        let secure = if self.is_https { "; Secure" } else { "" };
        let text =
            format!("{}={id}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}", self.name());
        // Hex digits and our own words are always a header's value.
        HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

fn random() -> String {
    let mut bytes = [0; 32];
    rand::rng().fill_bytes(&mut bytes);
    hex::encode(bytes)
}

fn hash(id: &str) -> [u8; 32] {
    Sha256::digest(id.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(cookie: &HeaderValue) -> HeaderMap {
        let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::try_from(format!("a=b; {pair}")).unwrap())])
    }

    #[test]
    fn a_session_ends_with_its_time_or_its_logout() {
        let sessions = Sessions::new(false);
        let now = Instant::now();
        let headers = sent(&sessions.begin(3, now));
        assert_eq!(sessions.find_at(&headers, now).unwrap().token, 3);
        assert!(sessions.find_at(&headers, now + LASTING).is_none());
        let gone = sessions.end(&headers);
        assert!(gone.to_str().unwrap().contains("Max-Age=0"));
        assert!(sessions.find_at(&headers, now).is_none());
    }

    #[test]
    fn the_oldest_session_ends_where_there_are_too_many() {
        let sessions = Sessions::new(true);
        let now = Instant::now();
        let first = sent(&sessions.begin(0, now));
        let second = sent(&sessions.begin(0, now + Duration::from_secs(1)));
        for _ in 2..=MOST {
            sessions.begin(0, now + Duration::from_secs(2));
        }
        assert!(sessions.find_at(&first, now).is_none() && sessions.find_at(&second, now).is_some());
    }

    #[test]
    fn a_cookie_is_for_this_server_and_no_script() {
        let cookie = Sessions::new(true).begin(0, Instant::now());
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.starts_with("__Host-landonce="));
        for word in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
            assert!(cookie.contains(word), "{cookie}");
        }
    }
}
