//! Which request goes where.

use axum::Router;

use crate::app::App;
use crate::{batches, hooks, ops, page};

/// All routes.
pub(crate) fn router(app: App) -> Router {
    Router::new()
        .merge(batches::routes())
        .merge(hooks::routes())
        .merge(ops::routes())
        .merge(page::routes())
        .with_state(app)
}
