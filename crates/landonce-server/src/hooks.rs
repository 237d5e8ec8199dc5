//! Webhooks: `POST /v1/hooks/{name}`, one event a request.

use axum::Router;

use crate::app::App;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
}
