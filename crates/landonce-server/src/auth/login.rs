//! `POST /login` begins a browser's session with a token, `POST /logout` ends it. The page with the form is [`crate::page`]'s.

use std::time::Instant;

use axum::Router;
use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde::Deserialize;

use super::forms::check_origin;
use crate::app::App;
use crate::problem::Problem;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/login", post(login)).route("/logout", post(logout))
}

#[derive(Deserialize)]
struct Login {
    token: String,
    /// The page to go on with.
    #[serde(default)]
    next: String,
}

async fn login(
    State(app): State<App>,
    headers: HeaderMap,
    Form(form): Form<Login>,
) -> Result<Response, Problem> {
    check_origin(&headers, app.config().public_url())?;
    let next = ours(&form.next);
    let Some(token) = app.token_at(form.token.trim()) else {
        app.sessions().warn_of_wrong_token();
        let query = format!("/login?failed=1&next={}", encoded(next));
        return Ok((StatusCode::SEE_OTHER, [(header::LOCATION, query)]).into_response());
    };
    let cookie = app.sessions().begin(token, Instant::now());
    tracing::info!(who = app.config().tokens()[token].name(), "logged in");
    let location = next.to_owned();
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

#[derive(Deserialize)]
struct Logout {
    #[serde(default)]
    csrf: String,
}

async fn logout(
    State(app): State<App>,
    headers: HeaderMap,
    Form(form): Form<Logout>,
) -> Result<Response, Problem> {
    app.check_form(&headers, &form.csrf)?;
    let gone = app.sessions().end(&headers);
    let mut response = (StatusCode::SEE_OTHER, [(header::LOCATION, "/login")]).into_response();
    response.headers_mut().insert(header::SET_COOKIE, gone);
    Ok(response)
}

/// A path of ours, never another site's: `//evil.example` and `/\evil.example` are such to a browser.
fn ours(next: &str) -> &str {
    let is_path = next.starts_with('/')
        && !next.starts_with("//")
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_path { next } else { "/" }
}

/// A text as a query's value.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_leads_to_a_page_of_ours_only() {
        assert_eq!(ours("/batches?pipeline=a"), "/batches?pipeline=a");
        for other in
            ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\r\nSet-Cookie: b", "x"]
        {
            assert_eq!(ours(other), "/", "{other:?}");
        }
        assert_eq!(encoded("/a?b=c&d"), "/a%3Fb%3Dc%26d");
    }
}
