//! What every answer gets: security headers, an id, a line in the log; and what becomes of panics and of refusals that aren't ours.

use std::any::Any;
use std::time::Instant;

use axum::body::{Body, HttpBody as _};
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use landonce::Code;
use std::net::SocketAddr;
use uuid::Uuid;

use crate::app::App;
use crate::auth::encoded;
use crate::problem::Problem;
use crate::telemetry::Told;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// `same-origin` and not `no-referrer`: with that a browser hides the origin of our own forms, too (`Origin: null`).
const HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// Adds what keeps browsers from being turned against us. What holds data isn't kept by anybody on the way, unless it says so itself.
pub(super) async fn secured(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if app.config().is_https() {
        let year = HeaderValue::from_static("max-age=31536000");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
    response
}

/// Counts a request and tells of it in the log, under an id that its answer has too.
pub(super) async fn told(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request.headers().get(&REQUEST_ID).filter(|id| is_sane(id)).cloned().unwrap_or_else(made);
    request.headers_mut().insert(REQUEST_ID.clone(), id.clone());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map_or("other", MatchedPath::as_str).to_owned();
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.to_string());
    let flight = InFlight::new(app.clone());
    let span = app.telemetry().request(&method, &route, request.uri().path(), request.headers());
    let mut response = next.run(request).await;
    drop(flight);
    let took = started.elapsed();
    let status = response.status().as_u16();
    // Whoever can make up methods could make up as many series.
    let known = matches!(method, Method::GET | Method::HEAD | Method::POST | Method::OPTIONS);
    app.figures().request(if known { method.as_str() } else { "other" }, &route, status, took);
    let code = response.extensions().get::<Problem>().map(|problem| {
        app.figures().problem(problem);
        problem.code.clone()
    });
    span.end(status, code.as_deref(), response.extensions().get::<Told>());
    tracing::info!(
        target: "landonce_server::access",
        request_id = id.to_str().unwrap_or_default(),
        method = %method,
        route,
        status,
        code,
        peer,
        took_ms = took.as_millis() as u64,
        "request"
    );
    response.headers_mut().insert(REQUEST_ID.clone(), id);
    response
}

/// One request in flight, also where its connection is dropped meanwhile.
struct InFlight(App);

impl InFlight {
    fn new(app: App) -> Self {
        app.figures().in_flight(1.0);
        Self(app)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.figures().in_flight(-1.0);
    }
}

fn is_sane(id: &HeaderValue) -> bool {
    let is_of_it = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    (1..=128).contains(&id.len()) && id.as_bytes().iter().all(is_of_it)
}

fn made() -> HeaderValue {
    // A UUID is a header's value.
    HeaderValue::try_from(Uuid::now_v7().to_string()).unwrap_or_else(|_| HeaderValue::from_static("-"))
}

/// A refusal of the framework's (a wrong method, a form that can't be read) is told like ours.
pub(super) async fn as_problem(response: Response) -> Response {
    let status = response.status();
    let is_ours = response.extensions().get::<Problem>().is_some()
        || response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| {
            kind.as_bytes().starts_with(b"text/html") || kind.as_bytes().starts_with(b"application/problem")
        });
    if !(status.is_client_error() || status.is_server_error()) || is_ours {
        return response;
    }
    let problem = match status {
        StatusCode::METHOD_NOT_ALLOWED => {
            Problem::of(status, Code::L1025, "there is something at this path, but not by this method")
        }
        StatusCode::NOT_FOUND => Problem::of(status, Code::L1025, "there is nothing at this path"),
        StatusCode::PAYLOAD_TOO_LARGE => Problem::of(status, Code::L1029, "the body is too long"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            Problem::of(status, Code::L1028, "the body isn't of the kind that this path takes")
        }
        status if status.is_client_error() => Problem::of(status, Code::L1027, "the request can't be read"),
        // An answer with its own words, or without any.
        _ if !response.body().is_end_stream() => return response,
        status => Problem::passing(status, Code::L1034, "the server failed unexpectedly", 5),
    };
    let allow = response.headers().get(header::ALLOW).cloned();
    let mut response = problem.into_response();
    if let Some(allow) = allow {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// A browser that isn't known is led to the login, and from there to where it wanted to go.
pub(super) async fn to_login(request: Request, next: Next) -> Response {
    let wants_page = *request.method() == Method::GET
        && !request.uri().path().starts_with("/v1/")
        && request
            .headers()
            .get(header::ACCEPT)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|accept| accept.contains("text/html"));
    let to = wants_page.then(|| request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned());
    let response = next.run(request).await;
    match to {
        Some(to) if response.status() == StatusCode::UNAUTHORIZED => {
            let location = format!("/login?next={}", encoded(&to));
            (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
        }
        _ => response,
    }
}

/// A panic is one request's failure.
#[expect(clippy::needless_pass_by_value, reason = "what the layer calls takes it so")]
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Response<Body> {
    let told = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let told = told.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(panic = told, "a request ended in a panic");
    Problem::passing(
        StatusCode::INTERNAL_SERVER_ERROR,
        Code::L1034,
        "the server failed unexpectedly; its log has more, under the request's id",
        5,
    )
    .into_response()
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::get;
    use tower::ServiceExt as _;
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_problem_that_tells_nothing_of_it() {
        async fn panics() -> &'static str {
            assert!(std::env::args().count() > 1_000_000, "s3kr3t");
            "unreachable"
        }
        let router = Router::<()>::new().route("/", get(panics)).layer(CatchPanicLayer::custom(panicked));
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        let problem = response.extensions().get::<Problem>().unwrap();
        assert_eq!((problem.status, problem.code.as_str()), (500, "L1034"));
        assert!(!problem.detail.contains("s3kr3t"));
    }
}
