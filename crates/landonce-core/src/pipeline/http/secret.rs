//! What is secret comes from the environment, and is written into no file.

use std::collections::BTreeMap;

use crate::bad_record::shorten;
use crate::pipeline::check::{Checked, fault};

/// Headers whose value is a secret, wherever it is sent.
pub const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token"];
/// Headers that are ours to set.
const OUR_HEADERS: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "accept-encoding",
    "range",
    "user-agent",
    "if-none-match",
    "if-modified-since",
];
/// Parameters whose value is a secret.
const SECRET_PARAMS: [&str; 9] = [
    "api_key",
    "apikey",
    "api-key",
    "access_token",
    "token",
    "auth_token",
    "password",
    "secret",
    "client_secret",
];
const ADVICE: &str =
    "a secret isn't written into a file; put it into an environment variable, and write ${NAME} here";

/// The name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable(String);

impl Variable {
    /// From `${NAME}`, nothing before it, nothing behind it.
    pub(super) fn parse(key: &'static str, text: &str) -> Checked<Self> {
        let name = text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let is_name = |name: &&str| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        };
        match name.filter(is_name) {
            Some(name) => Ok(Self(name.to_owned())),
            // The text may be the secret itself: it isn't repeated.
            None => fault(key, ADVICE),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

pub(super) fn headers(spec: &BTreeMap<String, String>) -> Checked<Vec<(String, String)>> {
    const KEY: &str = "source.http.headers";
    let mut headers = Vec::new();
    for (name, value) in spec {
        let name = name.trim().to_ascii_lowercase();
        if OUR_HEADERS.contains(&name.as_str()) {
            return fault(KEY, format!("`{name}` is set by landonce itself"));
        }
        if SECRET_HEADERS.contains(&name.as_str()) && !value.contains("${") {
            return fault(KEY, format!("`{name}`: {ADVICE}"));
        }
        headers.push((name, value.clone()));
    }
    Ok(headers)
}

/// The address as far as it can be judged before variables are put in.
pub(super) fn check_url(key: &'static str, url: &str) -> Checked<()> {
    let is_known = ["https://", "http://", "${"].iter().any(|start| url.starts_with(start));
    if !is_known {
        return fault(
            key,
            format!("`{}` must begin with `https://` (or `http://`) and a host", shorten(url)),
        );
    }
    let (place, params) = url.split_once('?').unwrap_or((url, ""));
    let authority = place.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(rest));
    if authority.contains('@') {
        return fault(key, "holds a user or a password; give them under `auth.basic`");
    }
    for pair in params.split('&') {
        let name = pair.split('=').next().unwrap_or_default();
        if SECRET_PARAMS.contains(&name.to_ascii_lowercase().as_str()) {
            return fault(
                key,
                format!("has `{name}`, which is a secret; give it under `auth.query`, as ${{NAME}}"),
            );
        }
    }
    if url.contains('#') {
        return fault(key, "has a `#`, behind which nothing is sent; leave it out");
    }
    Ok(())
}
