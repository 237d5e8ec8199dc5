//! `GET /login`: the form that begins a session. What is sent there is [`crate::auth`]'s.

use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use maud::html;
use serde::Deserialize;

use super::layout::{Page, Place};
use super::show::{Tone, shape};

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    next: Option<String>,
    failed: Option<String>,
}

/// `GET /login`
pub(super) async fn page(Query(asked): Query<Asked>) -> Response {
    let body = html! {
        div class="narrow stack" {
            @if asked.failed.is_some() {
                div class="told bad" role="alert" { (shape(Tone::Bad)) p { "No such token. Copy it whole, without spaces around it." } }
            }
            form class="sheet pad stack" method="post" action="/login" {
                input type="hidden" name="next" value=(asked.next.as_deref().unwrap_or("/"));
                div class="field" {
                    label for="token" { "Token" }
                    input id="token" name="token" type="password" autocomplete="current-password" required autofocus;
                }
                div class="acts" { button class="main" { "Log in" } }
                p class="soft small" { "A token that may read or operate, as the server's file declares it. " code { "landonce serve token" } " makes one." }
            }
        }
    };
    Page::new(Place::Nowhere, "Log in", body).bare(StatusCode::OK)
}
