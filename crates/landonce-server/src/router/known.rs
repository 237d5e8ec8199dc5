//! Whether a request comes by a name that the server answers to, and from where it may come.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use landonce::Code;

use crate::app::App;
use crate::auth::check_origin;
use crate::problem::Problem;

/// Refuses what comes under another's name, or is sent by another site's page. Probes of health come by whatever name.
pub(super) async fn check(State(app): State<App>, request: Request, next: Next) -> Result<Response, Problem> {
    if !matches!(request.uri().path(), "/livez" | "/readyz") {
        check_host(&app, request.headers())?;
    }
    // Looking changes nothing, and what it finds another site's page can't read.
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        check_origin(request.headers(), app.config().public_url())?;
    }
    Ok(next.run(request).await)
}

fn check_host(app: &App, headers: &HeaderMap) -> Result<(), Problem> {
    let mut all = headers.get_all(header::HOST).iter();
    let host = match (all.next(), all.next()) {
        (Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        _ => None,
    };
    let Some(host) = host else {
        return Err(Problem::of(StatusCode::BAD_REQUEST, Code::L1024, "the request has no single `Host`"));
    };
    let name = host.host().trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    // An address can't be made to point elsewhere.
    let is_known = name.parse::<IpAddr>().is_ok()
        || name == "localhost"
        || name.ends_with(".localhost")
        || app.config().hosts().contains(&name);
    if is_known {
        return Ok(());
    }
    Err(Problem::of(
        StatusCode::MISDIRECTED_REQUEST,
        Code::L1024,
        "the server doesn't answer to this name; declare it (`hosts` in its file), or reach it by its own",
    ))
}
