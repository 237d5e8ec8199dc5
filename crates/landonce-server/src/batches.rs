//! Batches over HTTP: `POST /v1/pipelines/{name}/batches`.

use axum::Router;

use crate::app::App;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
}
