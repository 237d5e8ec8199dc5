//! Who asks, and what they may do: a bearer token, or a browser's session that was begun with one. Where no tokens are declared the
//! server listens on loopback only, and whoever reaches it may do everything.
//!
//! A page asks [`App::allow`]; a form carries [`App::csrf`] and is checked by [`App::check_form`].

mod forms;
mod login;
mod sessions;

use axum::http::{HeaderMap, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use subtle::ConstantTimeEq as _;

use crate::app::App;
use crate::config::Token;
use crate::problem::Problem;

pub use forms::Csrf;
pub(crate) use forms::check_origin;
pub(crate) use login::{encoded, routes};
use sessions::Session;
pub(crate) use sessions::Sessions;

/// What a token may be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum May {
    /// Deliver batches to a pipeline.
    Write,
    /// Look at what happened.
    Read,
    /// Release, reject, retry, discard.
    Operate,
}

/// Somebody who has been let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The token's name, for the log of actions; `local` where no tokens are declared.
    pub name: String,
}

/// Who the headers belong to.
enum Known<'a> {
    /// No tokens are declared.
    Everybody,
    /// A program with a token.
    Bearer(&'a Token),
    /// A browser that has logged in.
    Session(&'a Token, Session),
}

impl Known<'_> {
    fn who(&self) -> Who {
        let name = match self {
            Self::Everybody => "local",
            Self::Bearer(token) | Self::Session(token, _) => token.name(),
        };
        Who { name: name.to_owned() }
    }
}

impl App {
    /// Whether these headers belong to somebody who may do that with a pipeline (`None`: with all of them).
    ///
    /// # Errors
    /// 401 without a token, or with one that isn't known; 403 when it isn't good for that.
    pub fn allow(&self, headers: &HeaderMap, may: May, pipeline: Option<&str>) -> Result<Who, Problem> {
        let known = self.known(headers)?;
        let is_allowed = match &known {
            Known::Everybody => true,
            Known::Bearer(token) | Known::Session(token, _) => token.is_for(may, pipeline),
        };
        if is_allowed { Ok(known.who()) } else { Err(forbidden(&known.who(), may, pipeline)) }
    }

    /// Whether these headers belong to somebody who may do one of these.
    pub(crate) fn allow_any(
        &self,
        headers: &HeaderMap,
        any: &[May],
        pipeline: Option<&str>,
    ) -> Result<Who, Problem> {
        let mut refused = None;
        for may in any {
            match self.allow(headers, *may, pipeline) {
                Ok(who) => return Ok(who),
                Err(problem) => refused = refused.or(Some(problem)),
            }
        }
        Err(refused.unwrap_or_else(unknown))
    }

    /// Whether they may look at this pipeline: what is left out of a list for somebody who may look at others only.
    pub fn may_see(&self, headers: &HeaderMap, pipeline: &str) -> bool {
        self.allow(headers, May::Read, Some(pipeline)).is_ok()
    }

    fn known(&self, headers: &HeaderMap) -> Result<Known<'_>, Problem> {
        if self.config().tokens().is_empty() {
            return Ok(Known::Everybody);
        }
        if headers.contains_key(header::AUTHORIZATION) {
            let token = bearer(headers).and_then(|given| self.token(given));
            return token.map(Known::Bearer).ok_or_else(|| {
                self.sessions().warn_of_wrong_token();
                unknown()
            });
        }
        let session = self.sessions().find(headers);
        let token = |session: &Session| self.config().tokens().get(session.token);
        session
            .and_then(|session| token(&session).map(|token| Known::Session(token, session)))
            .ok_or_else(unknown)
    }

    /// The token that was given. Every declared one is compared, all of it, so that the time tells nothing.
    fn token(&self, given: &str) -> Option<&Token> {
        self.token_at(given).and_then(|at| self.config().tokens().get(at))
    }

    fn token_at(&self, given: &str) -> Option<usize> {
        if given.is_empty() {
            return None;
        }
        let hash = Token::hash_of(given);
        let mut found = None;
        for (at, token) in self.config().tokens().iter().enumerate() {
            if bool::from(token.hash().ct_eq(&hash)) {
                found = Some(at);
            }
        }
        found
    }
}

/// The token of the one `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (all.next(), all.next()) else { return None };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unknown() -> Problem {
    Problem::stop(
        StatusCode::UNAUTHORIZED,
        "L1021",
        "who asks isn't known",
        "send `Authorization: Bearer TOKEN` with a token that the server's file declares",
    )
}

fn forbidden(who: &Who, may: May, pipeline: Option<&str>) -> Problem {
    let verb = match may {
        May::Write => "write",
        May::Read => "read",
        May::Operate => "operate",
    };
    let of = pipeline.map_or_else(|| "all pipelines".to_owned(), |name| format!("the pipeline `{name}`"));
    Problem::stop(
        StatusCode::FORBIDDEN,
        "L1022",
        "the token isn't good for that",
        format!(
            "the token `{}` may not {verb} {of}; its `may` and `pipelines` in the server's file say what it may",
            who.name
        ),
    )
}
