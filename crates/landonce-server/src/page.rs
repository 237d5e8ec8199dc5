//! Pages for people: what has landed, what waits for them, and why a row is as it is.
//!
//! Rendered here whole, one file a page; a page works without its script and without its stylesheet. All that is anybody's text is
//! escaped by `maud`, and `show::text` makes visible what can't be seen. An action is a form's POST: checked to be from a page of
//! ours, done by the library's own verbs, written down, and told on the page that the browser is sent to.

mod actions;
mod assets;
mod batches;
mod chart;
mod held;
mod lately;
mod layout;
mod link;
mod login;
mod outbox;
mod overview;
mod periods;
mod quarantine;
mod reads;
mod record;
mod records;
mod refused;
mod show;
mod told;
mod visitor;

use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::app::App;

pub(crate) use lately::Lately;
pub(crate) use refused::as_page;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(overview::page))
        .route("/batches", get(batches::list))
        .route("/batches/{pipeline}/{id}", get(batches::one))
        .route("/batch", get(batches::by_query))
        .route("/periods", get(periods::list))
        .route("/periods/{pipeline}", get(periods::one))
        .route("/held", get(held::list))
        .route("/held/{pipeline}/{digest}", get(held::one))
        .route("/held/{pipeline}/{digest}/release", post(held::release))
        .route("/held/{pipeline}/{digest}/reject", post(held::reject))
        .route("/outbox", get(outbox::list))
        .route("/outbox/resume", post(outbox::resume))
        .route("/outbox/redrive", post(outbox::redrive_topic))
        .route("/outbox/{id}", get(outbox::one))
        .route("/outbox/{id}/act", post(outbox::act))
        .route("/quarantine", get(quarantine::list))
        .route("/quarantine/retry", post(quarantine::retry))
        .route("/quarantine/{id}", get(quarantine::one))
        .route("/quarantine/{id}/edit", post(quarantine::edit))
        .route("/records", get(records::list))
        .route("/records/{pipeline}", get(records::one))
        .route("/actions", get(actions::page))
        .route("/login", get(login::page))
        .route("/assets/{file}", get(assets::file))
        .layer(Extension(told::Flashes::default()))
}
