//! Why a command could not do what was asked: the library's errors, and the few that are the command line's own.

use std::borrow::Cow;
use std::io;

use landonce::Kind;

/// Why a command could not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense together.
    Usage {
        /// What is wrong.
        message: String,
        /// What to do.
        help: String,
    },
    /// The library said so.
    Library {
        /// Its error.
        error: landonce::Error,
        /// What the data says about what was meant.
        hint: Option<String>,
    },
    /// A stream could not be consumed any further.
    Stream(landonce_stream::Error),
    /// A proof or an audit could not be made, nothing delivered, nothing fetched.
    Tool {
        /// `prove`, `audit`, `deliver` or `source`.
        kind: &'static str,
        /// Its code, if it has one.
        code: Option<landonce::Code>,
        /// Its error.
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system said so.
    System {
        /// What was being done.
        what: String,
        /// The system's words.
        source: io::Error,
    },
}

impl Failure {
    /// Arguments that make no sense together, and what would.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    /// A refusal of the system's.
    pub(crate) fn system(what: impl Into<String>, source: io::Error) -> Self {
        Self::System { what: what.into(), source }
    }

    /// The message: what failed, where, why.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Usage { message, .. } => message.clone(),
            Self::Library { error, .. } => error.to_string(),
            Self::Stream(error) => error.to_string(),
            Self::Tool { error, .. } => error.to_string(),
            Self::System { what, source } => format!("{what}: {source}"),
        }
    }

    /// The causes that the message doesn't tell by itself.
    pub(crate) fn causes(&self) -> Vec<String> {
        let error: &dyn std::error::Error = match self {
            Self::Library { error, .. } => error,
            Self::Stream(error) => error,
            Self::Tool { error, .. } => error.as_ref(),
            Self::Usage { .. } | Self::System { .. } => return Vec::new(),
        };
        let mut told = error.to_string();
        let mut causes = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            // Drivers put words of their own before the database's: the database's decide whether it is told already.
            if !told.contains(text.rsplit(": ").next().unwrap_or(&text)) {
                causes.push(text.clone());
                told.push_str(&text);
            }
            next = cause.source();
        }
        causes
    }

    /// What to do.
    pub(crate) fn help(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Usage { help, .. } => vec![help.into()],
            Self::Library { error, hint } => {
                let page = format!("landonce explain {}", error.code());
                hint.iter().map(Into::into).chain([page.into()]).collect()
            }
            Self::Stream(error) => vec![format!("landonce explain {}", error.code()).into()],
            Self::Tool { code: Some(code), .. } => vec![format!("landonce explain {code}").into()],
            Self::Tool { .. } | Self::System { .. } => Vec::new(),
        }
    }

    /// The same failure, with what the data says about what was meant.
    #[must_use]
    pub(crate) fn with_hint(mut self, hinted: impl FnOnce(&landonce::Error) -> Option<String>) -> Self {
        if let Self::Library { error, hint } = &mut self {
            *hint = hinted(error);
        }
        self
    }

    /// The code with a page of its own, if there is one.
    pub(crate) fn code(&self) -> Option<&'static str> {
        match self {
            Self::Library { error, .. } => Some(error.code().as_str()),
            Self::Stream(error) => Some(error.code().as_str()),
            Self::Tool { code, .. } => code.map(landonce::Code::as_str),
            Self::Usage { .. } | Self::System { .. } => None,
        }
    }

    /// The kind's spelling in JSON.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Usage { .. } => "usage",
            Self::System { .. } => "system",
            Self::Stream(_) => "stream",
            Self::Tool { kind, .. } => kind,
            Self::Library { error, .. } => match error.kind() {
                Kind::Pipeline => "pipeline",
                Kind::Target => "target",
                Kind::Payload => "payload",
                Kind::BadRecords => "bad_records",
                Kind::BatchMismatch => "batch_mismatch",
                Kind::InProgress => "in_progress",
                Kind::Fenced => "fenced",
                Kind::Connect => "connect",
                Kind::Database => "database",
                Kind::Exhausted => "exhausted",
                Kind::NoSpace => "no_space",
                Kind::Unresolved => "unresolved",
                Kind::Repair => "repair",
                Kind::Interrupted => "interrupted",
                Kind::Archive => "archive",
                Kind::Internal => "internal",
                _ => "other",
            },
        }
    }
}

impl From<landonce::Error> for Failure {
    fn from(error: landonce::Error) -> Self {
        Self::Library { error, hint: None }
    }
}

impl From<landonce_stream::Error> for Failure {
    fn from(error: landonce_stream::Error) -> Self {
        match error {
            landonce_stream::Error::Landing(error) => error.into(),
            error => Self::Stream(error),
        }
    }
}

impl From<landonce_deliver::Error> for Failure {
    fn from(error: landonce_deliver::Error) -> Self {
        match error {
            landonce_deliver::Error::Store(error) => error.into(),
            error => Self::Tool { kind: "deliver", code: None, error: error.into() },
        }
    }
}

impl From<landonce_pull::Error> for Failure {
    fn from(error: landonce_pull::Error) -> Self {
        match error {
            landonce_pull::Error::Landing(error) => error.into(),
            error => Self::Tool { kind: "source", code: Some(error.code()), error: error.into() },
        }
    }
}

impl From<landonce_prove::Error> for Failure {
    fn from(error: landonce_prove::Error) -> Self {
        Self::Tool { kind: "prove", code: None, error: error.into() }
    }
}

impl From<landonce_audit::Error> for Failure {
    fn from(error: landonce_audit::Error) -> Self {
        Self::Tool { kind: "audit", code: None, error: error.into() }
    }
}
