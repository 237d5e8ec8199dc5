//! For machines that watch: health, figures, the description of the API.

use axum::Router;
use axum::routing::get;

use crate::app::App;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/livez", get(|| async { "ok\n" }))
}
