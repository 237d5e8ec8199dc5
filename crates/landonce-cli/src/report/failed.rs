//! A failure, told: `error[L0401]: message`, its causes, what to do; and the same as JSON.

use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::{plain, say};
use crate::failure::Failure;

/// A failure in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorReport {
    code: Option<&'static str>,
    kind: &'static str,
    message: String,
    help: Vec<String>,
    records: Vec<RecordReport>,
}

/// One bad record in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct RecordReport {
    number: u64,
    kind: &'static str,
    field: String,
    detail: String,
}

impl RecordReport {
    pub(crate) fn new(located: &landonce::error::Located) -> Self {
        Self {
            number: located.number,
            kind: located.bad.kind.as_str(),
            field: located.bad.field.clone(),
            detail: located.bad.detail.clone(),
        }
    }

    /// For people: one line.
    pub(crate) fn line(&self) -> String {
        let field = if self.field.is_empty() { String::new() } else { format!("`{}`: ", self.field) };
        plain::line(&format!("record {}: {}: {field}{}", self.number, self.kind, self.detail)).into_owned()
    }
}

impl ErrorReport {
    pub(crate) fn new(failure: &Failure) -> Self {
        let records = match failure {
            Failure::Library { error, .. } => error.bad_records().iter().map(RecordReport::new).collect(),
            Failure::Usage { .. } | Failure::Stream(_) | Failure::Tool { .. } | Failure::System { .. } => {
                Vec::new()
            }
        };
        let help = failure.help().into_iter().map(String::from).collect();
        let mut message = failure.message();
        for cause in failure.causes() {
            message = format!("{message}: {cause}");
        }
        Self { code: failure.code(), kind: failure.kind(), message, help, records }
    }

    /// For people: the message's first line, behind the name of the file that it is about; the whole of it is on stderr.
    pub(crate) fn headline(&self, source: &str) -> String {
        let first = self.message.lines().next().unwrap_or_default();
        let first = first.strip_prefix(source).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(first);
        let code = self.code.map(|code| format!("[{code}]")).unwrap_or_default();
        format!("error{code}: {}", plain::line(first))
    }
}

/// The whole output of a command that failed before there was anything else to say.
#[derive(Debug, Serialize)]
pub(super) struct Only {
    status: &'static str,
    error: ErrorReport,
}

impl Only {
    pub(super) fn new(failure: &Failure) -> Self {
        Self { status: "failed", error: ErrorReport::new(failure) }
    }
}

/// Tells a failure on stderr.
pub(crate) fn tell(failure: &Failure) {
    let code = failure.code().map(|code| format!("[{code}]")).unwrap_or_default();
    let mut text = format!("{}: {}\n", format!("error{code}").red().bold(), plain::text(&failure.message()));
    for cause in failure.causes() {
        text.push_str(&format!("  = cause: {}\n", plain::text(&cause)));
    }
    for help in failure.help() {
        text.push_str(&format!("  = help: {}\n", plain::text(&help)));
    }
    say(&text);
}
