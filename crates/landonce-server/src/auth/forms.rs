//! Forms: that one was filled in on a page of ours, by the person whose session it is.

use axum::http::{HeaderMap, StatusCode, header};
use subtle::ConstantTimeEq as _;

use super::{Known, Who};
use crate::app::App;
use crate::problem::Problem;

/// What a form carries in its hidden field `csrf`: only a page of ours could put it there.
#[derive(Clone, PartialEq, Eq)]
pub struct Csrf(pub(super) String);

impl Csrf {
    /// The field's value.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Csrf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Csrf(…)")
    }
}

impl App {
    /// What a form on a page for these headers is to carry.
    pub fn csrf(&self, headers: &HeaderMap) -> Csrf {
        match self.known(headers) {
            Ok(Known::Session(_, session)) => session.csrf,
            // No other site can read it where there are no sessions: requests under other names are refused, and there is no CORS.
            _ => self.sessions().csrf_of_everybody().clone(),
        }
    }

    /// Whether a form with this field was filled in on a page of ours, by whom. What they may do is [`App::allow`]'s to say.
    ///
    /// # Errors
    /// 401 without a session; 403 when the form comes from elsewhere, or from a page of an earlier session.
    pub fn check_form(&self, headers: &HeaderMap, csrf: &str) -> Result<Who, Problem> {
        check_origin(headers, self.config().public_url())?;
        let known = self.known(headers)?;
        let due = match &known {
            // A browser doesn't send a bearer token by itself.
            Known::Bearer(_) => return Ok(known.who()),
            Known::Session(_, session) => &session.csrf,
            Known::Everybody => self.sessions().csrf_of_everybody(),
        };
        if bool::from(due.0.as_bytes().ct_eq(csrf.as_bytes())) {
            Ok(known.who())
        } else {
            Err(elsewhere("the page is from an earlier session: load it again, and repeat what you did"))
        }
    }
}

/// Refuses what a browser sends on behalf of another site: what it says of where a request comes from can't be made up by a page.
pub(crate) fn check_origin(headers: &HeaderMap, public_url: Option<&str>) -> Result<(), Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return Err(elsewhere("another site's page has sent this request"));
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let host = text("host").unwrap_or_default();
    let is_ours = public_url == Some(origin)
        || origin
            .split_once("://")
            .is_some_and(|(_, from)| !host.is_empty() && from.eq_ignore_ascii_case(host));
    if is_ours { Ok(()) } else { Err(elsewhere("another site's page has sent this request")) }
}

fn elsewhere(told: &str) -> Problem {
    Problem::stop(StatusCode::FORBIDDEN, "L1023", "the request comes from elsewhere", told)
}
