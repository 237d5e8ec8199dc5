//! The audit as SARIF 2.1.0, for code hosts: rules, places, levels, what is allowed and why.

use std::path::Path;

use serde::Serialize;

use crate::allow;
use crate::finding::{Finding, Report};
use crate::rule::{self, Level};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    results: Vec<Outcome<'a>>,
    column_kind: &'static str,
    invocations: [Invocation; 1],
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    short_description: Message,
    full_description: Message,
    help: Message,
    default_configuration: Configuration,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<Safety>,
}

/// When a rule's fix is safe.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Safety {
    fix_is_safe_when: &'static str,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule_id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Message,
    locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression<'a>>,
    properties: Properties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Properties<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    fix: &'a str,
    is_fix_safe: bool,
}

#[derive(Serialize)]
struct Suppression<'a> {
    kind: &'static str,
    justification: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location<'a> {
    physical_location: Physical<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical<'a> {
    artifact_location: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region<'a>>,
}

#[derive(Serialize)]
struct Artifact {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region<'a> {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
    snippet: Snippet<'a>,
}

#[derive(Serialize)]
struct Snippet<'a> {
    text: std::borrow::Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
}

/// The report as SARIF. What could not be read is in it as notes; what is allowed is suppressed, with its reason.
pub fn sarif(report: &Report) -> String {
    let rules = descriptors();
    let mut results: Vec<Outcome<'_>> =
        report.findings.iter().map(|it| outcome(it, level(it.level), &rules)).collect();
    results.extend(report.unread.iter().map(|it| outcome(it, "note", &rules)));
    for allowed in &report.allowed {
        let mut it = outcome(&allowed.finding, level(allowed.finding.level), &rules);
        it.suppressions.push(Suppression { kind: "inSource", justification: &allowed.reason });
        results.push(it);
    }
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool { driver: Driver { name: "landonce", version: env!("CARGO_PKG_VERSION"), rules } },
            results,
            column_kind: "unicodeCodePoints",
            invocations: [Invocation { execution_successful: report.exit_code() != 2 }],
        }],
    };
    // Strings and numbers only: writing them can't fail.
    serde_json::to_string_pretty(&log).unwrap_or_default()
}

fn descriptors() -> Vec<Descriptor> {
    let mut found: Vec<Descriptor> = rule::all()
        .iter()
        .map(|it| descriptor(it.id, it.title, it.why, level(it.level), it.safe_fix))
        .collect();
    found.push(descriptor(
        allow::BAD.id,
        "a comment that allows without a reason",
        allow::BAD.why,
        "error",
        None,
    ));
    found.push(descriptor(
        allow::UNUSED.id,
        "a comment that allows nothing",
        allow::UNUSED.why,
        "warning",
        Some(allow::ALWAYS),
    ));
    found.push(descriptor(crate::UNREAD.id, "what could not be read", crate::UNREAD.why, "note", None));
    found
}

fn descriptor(
    id: &'static str,
    title: &str,
    why: &str,
    level: &'static str,
    safe_fix: Option<&'static str>,
) -> Descriptor {
    Descriptor {
        id,
        short_description: Message { text: title.to_owned() },
        full_description: Message { text: why.to_owned() },
        help: Message { text: format!("{why} See docs/reference/audit/{id}.md.") },
        default_configuration: Configuration { level },
        properties: safe_fix.map(|fix_is_safe_when| Safety { fix_is_safe_when }),
    }
}

fn outcome<'a>(finding: &'a Finding, level: &'static str, rules: &[Descriptor]) -> Outcome<'a> {
    let safe = if finding.is_fix_safe { " (the fix is safe)" } else { "" };
    let fix = if finding.fix.is_empty() { String::new() } else { format!(" Fix: {}{safe}", finding.fix) };
    let region = (!finding.source.is_empty()).then(|| Region {
        start_line: finding.line,
        start_column: finding.column,
        end_line: finding.end_line,
        end_column: finding.end_column,
        snippet: Snippet { text: finding.source.join("\n").into() },
    });
    Outcome {
        rule_id: finding.rule,
        rule_index: rules.iter().position(|it| it.id == finding.rule),
        level,
        message: Message { text: format!("{}{fix}", finding.message) },
        locations: [Location {
            physical_location: Physical { artifact_location: Artifact { uri: uri(&finding.file) }, region },
        }],
        suppressions: Vec::new(),
        properties: Properties { fix: &finding.fix, is_fix_safe: finding.is_fix_safe },
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
    }
}

/// A path as a URI reference: what isn't plain is escaped, byte by byte.
fn uri(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let mut out = if text.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in text.trim_start_matches("./").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte as char);
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uri_references() {
        assert_eq!(uri(Path::new("./a b/ü.py")), "a%20b/%C3%BC.py");
        assert_eq!(uri(Path::new("/x/y.sql")), "file:///x/y.sql");
    }
}
