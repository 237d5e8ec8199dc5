//! The audit for terminals, for programs and for code hosts (SARIF 2.1.0).

mod sarif;
mod terminal;

pub use sarif::sarif;
pub use terminal::terminal;

use crate::finding::Report;

/// The report as JSON, as [`Report`] has it.
pub fn json(report: &Report) -> String {
    // No part of a report can fail to be written: paths that aren't UTF-8 are the one case, and they are shown lossily.
    serde_json::to_string_pretty(report)
        .unwrap_or_else(|error| format!("{{\"error\": {:?}}}", error.to_string()))
}
