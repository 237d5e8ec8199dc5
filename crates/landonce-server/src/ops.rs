//! For machines that watch: health, figures, and the pages of codes that problems point at.

use std::str::FromStr as _;
use std::sync::LazyLock;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use landonce::{Code, Kind};

use crate::app::App;
use crate::auth::May;
use crate::problem::Problem;

/// How long the store has to answer a probe.
const PATIENCE: Duration = Duration::from_secs(2);

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi))
        .route("/problems/{code}", get(problem))
}

/// Whether requests may be sent here: the store answers, and the server isn't stopping.
async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    let not = |told: &str, code| Problem::passing(StatusCode::SERVICE_UNAVAILABLE, code, told, 2);
    if app.drain().is_draining() {
        return Err(not("the server is stopping", Code::L1033));
    }
    let look = async {
        app.store().batches(1).await?;
        // A hook that isn't connected yet is, from here on.
        app.hooks().open().await
    };
    match tokio::time::timeout(PATIENCE, look).await {
        Ok(Ok(())) => Ok("ready\n"),
        Ok(Err(error)) => {
            tracing::warn!(%error, "not ready");
            Err(match error.kind() {
                // Where the store is stands in the log: anybody may ask.
                Kind::Connect | Kind::Exhausted => not("the store can't be reached", Code::L0601),
                // A hook that doesn't fit its table. Nobody would look for that where the store is away.
                Kind::Target | Kind::Pipeline => {
                    let told = error.to_string();
                    not(told.lines().next().unwrap_or_default(), error.code())
                }
                _ => not("the store answers and refuses; this server's log says why", error.code()),
            })
        }
        Err(_) => Err(not("the store doesn't answer", Code::L0601)),
    }
}

async fn metrics(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    app.allow(&headers, May::Read, None)?;
    let asked = tokio::time::timeout(PATIENCE, ask(&app)).await;
    let is_up = match asked {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the store's figures");
            false
        }
        Err(_) => false,
    };
    app.figures().store_is_up(is_up);
    let kind = (header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
    Ok(([kind], app.figures().text()).into_response())
}

/// Asks the store for what it alone knows.
async fn ask(app: &App) -> Result<(), landonce::Error> {
    let store = app.store();
    if store.has_outbox().await? {
        for depth in store.outbox().depth().await? {
            app.figures().outbox(&depth);
        }
    }
    let backlog = store.backlog().await?;
    for pipeline in app.pipelines() {
        let waits = backlog.iter().find(|one| one.pipeline == pipeline.name());
        app.figures().backlog(pipeline.name(), &waits.cloned().unwrap_or_default());
    }
    Ok(())
}

/// The description of the API. Anybody may read it: it is the same for every server of this version.
async fn openapi() -> Response {
    static DOCUMENT: LazyLock<String> = LazyLock::new(crate::openapi::document);
    let kind = (header::CONTENT_TYPE, "application/json");
    ([kind], DOCUMENT.as_str()).into_response()
}

/// The page of a code, as `landonce explain` prints it.
async fn problem(Path(code): Path<String>) -> Result<Response, Problem> {
    let code = Code::from_str(&code)
        .map_err(|()| Problem::of(StatusCode::NOT_FOUND, Code::L1025, "there is no such code"))?;
    let kind = (header::CONTENT_TYPE, "text/markdown; charset=utf-8");
    Ok(([kind], format!("{}\n", code.page())).into_response())
}
