//! Pages for people: what has landed, what waits for them, and why a row is as it is.

use axum::Router;

use crate::app::App;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
}
