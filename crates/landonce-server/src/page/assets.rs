//! The pages' one stylesheet and one script, in the binary. Their addresses hold a digest of their content, so that browsers keep them
//! for good and never use an old one with a new page.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

const CSS: &str = include_str!("assets/page.css");
const JS: &str = include_str!("assets/page.js");
const ICON: &str = include_str!("assets/icon.svg");

/// Where the stylesheet is.
pub(super) static CSS_AT: LazyLock<String> = LazyLock::new(|| at("page", "css", CSS));
/// Where the script is.
pub(super) static JS_AT: LazyLock<String> = LazyLock::new(|| at("page", "js", JS));
/// Where the icon is.
pub(super) static ICON_AT: LazyLock<String> = LazyLock::new(|| at("icon", "svg", ICON));

fn at(name: &str, ending: &str, content: &str) -> String {
    let digest = Sha256::digest(content.as_bytes());
    format!("/assets/{name}-{}.{ending}", hex::encode(&digest[..6]))
}

/// `GET /assets/{file}`
pub(super) async fn file(Path(name): Path<String>) -> Response {
    let known: [(&LazyLock<String>, &str, &str); 3] = [
        (&CSS_AT, CSS, "text/css; charset=utf-8"),
        (&JS_AT, JS, "text/javascript; charset=utf-8"),
        (&ICON_AT, ICON, "image/svg+xml"),
    ];
    let Some((_, content, kind)) =
        known.into_iter().find(|(at, ..)| at.strip_prefix("/assets/") == Some(name.as_str()))
    else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let headers =
        [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, content).into_response()
}
