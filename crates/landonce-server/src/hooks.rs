//! Webhooks: `POST /v1/hooks/{name}`, one event a request.
//!
//! A request is read whole, up to a limit; its signature is checked over the bytes as they came, before anything looks into them;
//! then it becomes an event (`landonce_core::pipeline::Hook::take`), which lands through its pipeline's `door`. What is refused
//! before that writes nothing anywhere.

mod answer;
mod body;
mod door;
mod group;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use landonce::events::{Event, Width};
use landonce::{Error, Pipeline, Store};
use landonce_core::pipeline::NoSecret;
use landonce_core::webhook::Headers;

use crate::app::App;
use crate::problem::Problem;
use answer::Landed;
pub(crate) use answer::Report;
use door::Door;

/// The connections of all hooks whose events have a transaction each. So many commits at once share the disk's flushes as well as
/// twice as many do, and PostgreSQL has a hundred unless somebody gives it more.
const CONNECTIONS: usize = 32;
/// Of one hook.
const FEWEST: usize = 4;

/// The routes.
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v1/hooks/{name}", post(receive))
}

/// Unix seconds, now. Signed times are compared with it.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The hooks of a server: its pipelines that declare one, with their secrets and their ways into the store.
#[derive(Clone)]
pub struct Hooks {
    clock: Clock,
    doors: BTreeMap<String, Arc<Door>>,
}

/// A hook that can't be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pipeline `{pipeline}`: hook.secrets: {source}")]
pub struct BadHook {
    /// Its pipeline.
    pub pipeline: String,
    /// What is wrong with its secrets.
    pub source: NoSecret,
}

impl Default for Hooks {
    /// None.
    fn default() -> Self {
        Self { clock: Arc::new(system_secs), doors: BTreeMap::new() }
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.doors.keys()).finish()
    }
}

impl Hooks {
    /// The hooks that the pipelines declare, with the secrets of this environment. Connects to nothing.
    ///
    /// # Errors
    /// The first secret that isn't there, or isn't one of its scheme.
    pub fn new<'p>(
        store: &Store,
        pipelines: impl IntoIterator<Item = &'p Pipeline>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, BadHook> {
        let mut hooks = Self::default();
        let declared =
            pipelines.into_iter().filter_map(|pipeline| Some((pipeline, pipeline.declared().hook()?)));
        let declared: Vec<_> = declared.collect();
        let alone = declared.iter().filter(|(_, hook)| hook.group().is_none()).count();
        let width = Width { connections: (CONNECTIONS / alone.max(1)).max(FEWEST) };
        for (pipeline, hook) in declared {
            let secrets = hook
                .hold(&environment)
                .map_err(|source| BadHook { pipeline: pipeline.name().to_owned(), source })?;
            let door = Door::new(store, pipeline, hook, secrets, width);
            hooks.doors.insert(pipeline.name().to_owned(), Arc::new(door));
        }
        Ok(hooks)
    }

    /// With another clock than the system's.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Connects all of them, so that the first event need not wait. An event of one that isn't connected tries again.
    ///
    /// # Errors
    /// The first failure: the store is away, or a pipeline doesn't fit its target.
    pub async fn open(&self) -> Result<(), Error> {
        for door in self.doors.values() {
            door.open().await?;
        }
        Ok(())
    }

    /// Whether all of them are connected.
    pub fn are_open(&self) -> bool {
        self.doors.values().all(|door| door.is_open())
    }
}

/// A clock before 1970 is no clock: 0 is out of time for every sender.
fn system_secs() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or(0)
}

async fn receive(
    State(app): State<App>,
    name: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    let hooks = app.hooks();
    let found = name.ok().and_then(|Path(name)| hooks.doors.get(&name));
    let Some(door) = found else { return answer::no_hook().into_response() };
    match take(&app, door, &hooks.clock, request).await {
        Ok(landed) => landed.into_response(),
        Err(refused) => refused.into_response(),
    }
}

async fn take(
    app: &App,
    door: &Arc<Door>,
    clock: &Clock,
    request: Request,
) -> Result<Landed, answer::Refused> {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let body = body::read(&parts.headers, body, app.config().limits().hook_body).await?;
    let headers = headers(&parts.headers);
    let hook = door.hook();
    // 1. Whose is it? Only the bytes are looked at.
    hook.scheme()
        .verify(door.secrets(), &headers, &body, clock())
        .map_err(|refusal| answer::unverified(door.name(), hook.scheme(), &refusal))?;
    // 2. Is it an event?
    body::is_plain_json(&parts.headers)?;
    let taken = hook.take(&headers, &body).map_err(|no| answer::no_event(door.name(), &no))?;
    // 3. Then it lands, whether or not its sender waits for the answer.
    let event = Event { id: taken.id, body: taken.record, source: format!("POST /v1/hooks/{}", door.name()) };
    match door.land(event).await {
        Ok(receipt) => {
            app.figures().landed(door.name(), receipt.status, &receipt.outcome, started.elapsed());
            app.has_landed(door.pipeline());
            Ok(Landed { pipeline: door.name().to_owned(), receipt })
        }
        Err(problem) => {
            app.figures().failed(door.name(), &problem.code);
            Err(problem.into())
        }
    }
}

fn headers(map: &HeaderMap) -> Headers<'_> {
    map.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect()
}

impl From<Problem> for answer::Refused {
    fn from(problem: Problem) -> Self {
        Self { problem, challenge: None }
    }
}
