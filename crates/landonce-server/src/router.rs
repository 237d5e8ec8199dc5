//! Which request goes where, and what holds for all of them.

mod known;
mod layers;

use axum::http::StatusCode;
use axum::{Router, middleware};
use landonce::Code;
use tower_http::catch_panic::CatchPanicLayer;

use crate::app::App;
use crate::problem::Problem;
use crate::{auth, batches, hooks, ops, page};

/// All routes.
pub(crate) fn router(app: App) -> Router {
    // The last layer is the first that a request meets.
    Router::new()
        .merge(batches::routes())
        .merge(hooks::routes())
        .merge(ops::routes())
        .merge(page::routes())
        .merge(auth::routes())
        .fallback(|| async {
            Problem::of(StatusCode::NOT_FOUND, Code::L1025, "there is nothing at this path")
        })
        .layer(middleware::from_fn_with_state(app.clone(), known::check))
        .layer(middleware::map_response(layers::as_problem))
        .layer(middleware::from_fn(layers::to_login))
        .layer(CatchPanicLayer::custom(layers::panicked))
        // A browser gets a page of whatever is refused, wherever.
        .layer(middleware::from_fn(page::as_page))
        .layer(middleware::from_fn_with_state(app.clone(), layers::secured))
        .layer(middleware::from_fn_with_state(app.clone(), layers::told))
        .with_state(app)
}
