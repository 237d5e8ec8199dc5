//! A failure as a person's browser gets it: a page in the look of the others. Programs get the problem as it is.

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use maud::html;

use super::layout::{Page, Place};
use super::show::{Tone, long, shape, text};
use crate::problem::{Problem, Retry};

/// Makes pages of problems for whoever asks for HTML. A problem goes along with its page: the log and the figures tell of it.
pub(crate) async fn as_page(request: Request, next: Next) -> Response {
    let is_for_people = wants_html(request.headers());
    let response = next.run(request).await;
    match response.extensions().get::<Problem>() {
        Some(problem) if is_for_people => {
            let mut page = page(problem);
            page.extensions_mut().insert(problem.clone());
            for name in [header::RETRY_AFTER, header::ALLOW, header::WWW_AUTHENTICATE] {
                if let Some(value) = response.headers().get(&name) {
                    page.headers_mut().insert(name, value.clone());
                }
            }
            page
        }
        _ => response,
    }
}

fn wants_html(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")))
}

fn page(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let (title, detail) = (sentence(&problem.title), sentence(&problem.detail));
    let next = match (status, problem.retry) {
        (StatusCode::NOT_FOUND, _) => "Check the address, or begin at the overview.",
        (StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED, _) => {
            "Log in with a token that may, or ask whoever runs this server."
        }
        (_, Retry::SameKey) => "It passes by itself: load the page again in a few seconds.",
        (_, Retry::Stop) => "Go back and load the page again; if it stays, the server's log says more.",
    };
    let tone = if status.is_server_error() { Tone::Bad } else { Tone::Warn };
    let body = html! {
        div class={ "told " (tone.class()) } {
            (shape(tone))
            div { @if !detail.is_empty() { p { (long(&detail, 600)) } } p class="soft" { (next) } }
        }
        div class="acts" {
            a class="button" href="/" { "Overview" }
            @if matches!(problem.status, 401 | 403) { a class="button" href="/login" { "Log in" } }
        }
        p class="soft small" { (problem.status) " · " a href=(problem.about) { code { (text(&problem.code)) } } }
    };
    Page::new(Place::Nowhere, &title, body).bare(status)
}

/// A message begins in small letters, and a sentence doesn't.
fn sentence(told: &str) -> String {
    let mut told = told.to_owned();
    if let Some(first) = told.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    told
}
