//! Who asks, and what they may do.

use axum::http::HeaderMap;

use crate::app::App;
use crate::problem::Problem;

/// What a token may be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl App {
    /// Whether these headers belong to somebody who may do that with a pipeline (`None`: with all of them).
    #[expect(dead_code, reason = "the routes that ask are being added")]
    pub(crate) fn allow(
        &self,
        headers: &HeaderMap,
        may: May,
        pipeline: Option<&str>,
    ) -> Result<Who, Problem> {
        let _ = (headers, may, pipeline);
        Ok(Who { name: "local".to_owned() })
    }
}
