//! Who looks at a page, what they may look at and act on, and where they are.

use std::collections::BTreeSet;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};

use landonce::Code;

use super::told::{Flashes, Told};
use crate::app::App;
use crate::auth::May;
use crate::problem::Problem;

/// Somebody who has been let in, on a page.
#[derive(Clone)]
pub(super) struct Visitor {
    /// The token's name; `local` where no tokens are declared.
    pub(super) name: String,
    /// What a form must send back.
    pub(super) csrf: String,
    /// The server's address as the visitor's browser knows it, for commands to be copied.
    pub(super) origin: String,
    /// What the last action came to.
    pub(super) told: Option<Told>,
    /// What the browser sent, for what only the server's own rules can tell.
    pub(super) headers: HeaderMap,
    reads: Reach,
    operates: Reach,
}

/// The pipelines that something may be done with.
#[derive(Debug, Clone, Default)]
struct Reach {
    /// All of them, and what is no pipeline's.
    is_all: bool,
    names: BTreeSet<String>,
}

impl Reach {
    fn of(app: &App, headers: &HeaderMap, may: May) -> Result<Self, Problem> {
        let Err(refused) = app.allow(headers, may, None) else {
            return Ok(Self { is_all: true, names: BTreeSet::new() });
        };
        let names: BTreeSet<String> = app
            .pipelines()
            .map(|pipeline| pipeline.name().to_owned())
            .filter(|name| app.allow(headers, may, Some(name)).is_ok())
            .collect();
        if names.is_empty() { Err(refused) } else { Ok(Self { is_all: false, names }) }
    }

    fn has(&self, name: &str) -> bool {
        self.is_all || self.names.contains(name)
    }
}

impl Visitor {
    /// Whether what a pipeline has done may be looked at. A name that is no pipeline's (a program's own messages) needs the right to all.
    pub(super) fn may_read(&self, pipeline: &str) -> bool {
        self.reads.has(pipeline)
    }

    /// Whether everything may be looked at.
    pub(super) fn may_read_all(&self) -> bool {
        self.reads.is_all
    }

    /// Whether something may be done by hand.
    pub(super) fn may_operate(&self, pipeline: &str) -> bool {
        self.operates.has(pipeline)
    }

    /// Whether everything may be done by hand.
    pub(super) fn may_operate_all(&self) -> bool {
        self.operates.is_all
    }

    /// Refuses to show what is another's, in the words in which it refuses what isn't there.
    pub(super) fn check_read(&self, pipeline: &str) -> Result<(), Problem> {
        if self.may_read(pipeline) { Ok(()) } else { Err(not_found("There is no such thing here.")) }
    }
}

/// There is nothing at this address.
pub(super) fn not_found(detail: &str) -> Problem {
    Problem::of(StatusCode::NOT_FOUND, Code::L1025, detail)
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let headers = &parts.headers;
        let reads = Reach::of(app, headers, May::Read)?;
        let operates = Reach::of(app, headers, May::Operate).unwrap_or_default();
        let may_anything = reads.names.iter().next().map(String::as_str);
        let name = app.allow(headers, May::Read, may_anything)?.name;
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:8080");
        let told = parts
            .extensions
            .get::<Flashes>()
            .zip(parts.uri.query().and_then(told_id))
            .and_then(|(flashes, id)| flashes.told(id, &name));
        Ok(Self {
            csrf: app.csrf(headers).as_str().to_owned(),
            origin: origin(app, host),
            headers: headers.clone(),
            told,
            name,
            reads,
            operates,
        })
    }
}

fn told_id(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("told="))
}

/// Where the server is, as the visitor's browser knows it.
fn origin(app: &App, host: &str) -> String {
    let scheme = if app.config().is_https() { "https" } else { "http" };
    app.config().public_url().map_or_else(|| format!("{scheme}://{host}"), str::to_owned)
}

/// Whether a form was sent from one of our pages by somebody who may do that; who it was.
pub(super) fn check_form(
    app: &App,
    headers: &HeaderMap,
    token: &str,
    pipeline: Option<&str>,
) -> Result<String, Problem> {
    app.check_form(headers, token)?;
    Ok(app.allow(headers, May::Operate, pipeline)?.name)
}
