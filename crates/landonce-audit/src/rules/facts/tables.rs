//! Tables by name: which are staging, which files are migrations or tests, and which keys a table has.

use std::path::Path;

use sqlparser::ast::{ObjectName, ObjectNamePart};

use crate::code::Unit;
use crate::file::Language;
use crate::schema::{Column, Table};

/// A table's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// As it is written.
    pub(crate) written: String,
    /// Lower case, without quotes, with the schema if that is given.
    pub(crate) full: String,
    /// The last part of it.
    pub(crate) bare: String,
}

impl Name {
    pub(crate) fn of(name: &ObjectName) -> Self {
        let parts: Vec<String> = name
            .0
            .iter()
            .map(|part| match part {
                ObjectNamePart::Identifier(ident) => ident.value.to_ascii_lowercase(),
                other @ ObjectNamePart::Function(_) => other.to_string().to_ascii_lowercase(),
            })
            .collect();
        let full = parts.join(".");
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
        let unquoted = name.to_string().replace('"', "");
        let written = if unquoted.chars().all(is_plain) { unquoted } else { name.to_string() };
        Self { written, full, bare: parts.last().cloned().unwrap_or_default() }
    }

    pub(crate) fn text(written: &str) -> Self {
        let full = written.to_ascii_lowercase().replace(['"', '`', '[', ']'], "");
        let bare = full.rsplit('.').next().unwrap_or_default().to_owned();
        Self { written: written.to_owned(), full, bare }
    }

    /// Whether both can be the same table: a schema that is given on one side only doesn't tell them apart.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.full == other.full
            || (self.bare == other.bare && (self.full == self.bare || other.full == other.bare))
    }
}

/// Names that people give to tables which live for one run.
pub(crate) fn is_staging_name(name: &Name) -> bool {
    const WORDS: [&str; 8] = ["tmp", "temp", "stg", "stage", "staging", "staged", "scratch", "incoming"];
    let is_word = |part: &str| WORDS.contains(&part);
    if name.bare.starts_with('#') || name.full.starts_with("pg_temp") {
        return true;
    }
    if let Some((schema, _)) = name.full.rsplit_once('.')
        && schema.split(['.', '_']).any(is_word)
    {
        return true;
    }
    let mut parts = name.bare.split('_').filter(|part| !part.is_empty());
    let first = parts.next().unwrap_or_default();
    let last = parts.next_back().unwrap_or_default();
    is_word(first) || is_word(last)
}

/// Names that people give to the table in which a transaction claims what it is about to do.
pub(crate) fn is_inbox_name(name: &Name) -> bool {
    [
        "inbox",
        "processed",
        "dedup",
        "seen",
        "idempot",
        "claim",
        "applied",
        "ledger",
        "consumed",
        "loaded_",
        "load_log",
    ]
    .iter()
    .any(|word| name.bare.contains(word))
        || ["batches", "loads", "imports", "offsets", "consumer_offsets"].contains(&name.bare.as_str())
}

/// Tables in which a tool for migrations keeps its ledger: what is written there is asked for before.
pub(crate) fn is_ledger_name(name: &Name) -> bool {
    ["migration", "schema_version", "schemaversion", "schema_history", "alembic_version", "changelog"]
        .iter()
        .any(|word| name.bare.contains(word))
}

/// Tables of what went wrong: another attempt's error is another row by right.
pub(crate) fn is_error_log(name: &Name) -> bool {
    ["error", "errors", "failure", "failures", "attempt", "attempts"]
        .iter()
        .any(|word| name.bare.rsplit('_').next() == Some(word))
}

/// Columns that say until when, or since when, somebody is alive or holds something.
pub(crate) fn is_lease(column: &str) -> bool {
    [
        "last_seen",
        "last_active",
        "last_ping",
        "last_beat",
        "heartbeat",
        "keepalive",
        "expire",
        "lease",
        "locked",
        "lock_until",
        "claimed_until",
        "visible_at",
        "alive",
    ]
    .iter()
    .any(|word| column.contains(word))
}

/// Whether a file holds tests: what it writes is thrown away.
pub(crate) fn is_test(path: &Path) -> bool {
    let is_folder = path.parent().is_some_and(|folder| {
        folder.components().any(|part| {
            matches!(
                part.as_os_str().to_str(),
                Some(
                    "tests"
                        | "test"
                        | "__tests__"
                        | "testdata"
                        | "testing"
                        | "spec"
                        | "e2e"
                        | "unit_tests"
                        | "benches"
                )
            )
        })
    });
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    is_folder
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem.ends_with("Test")
        || matches!(stem, "conftest" | "tests" | "test")
        || name.contains(".test.")
        || name.contains(".spec.")
}

/// Whether a file is run once by a tool that keeps its own ledger of what it has run.
pub(crate) fn is_migration(unit: &Unit) -> bool {
    let path = &unit.path;
    let is_folder = path.parent().is_some_and(|folder| {
        folder.components().any(|part| {
            part.as_os_str().to_str().is_some_and(|part| {
                let part = part.to_ascii_lowercase();
                part.contains("migration")
                    || part == "migrate"
                    || part == "versions"
                    || part == "alembic"
                    || part == "upgrades"
            })
        })
    });
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_flyway = unit.language == Language::Sql
        && name.starts_with(['V', 'U'])
        && name.contains("__")
        && name[1..].starts_with(|first: char| first.is_ascii_digit());
    let is_numbered = unit.language == Language::Sql
        && (name.ends_with(".up.sql") || name.ends_with(".down.sql") || unit.text.contains("-- +goose"));
    is_folder || is_flyway || is_numbered
}

/// The keys that say what a row is about: no part of them is made up when the row is written.
pub(crate) fn natural_keys(table: &Table) -> Vec<&[String]> {
    let is_made_up = |name: &String| {
        table
            .columns
            .iter()
            .any(|column| column.name == *name && (column.is_generated || is_clock_default(column)))
    };
    std::iter::once(&table.primary_key)
        .chain(table.unique.iter().map(|unique| &unique.columns))
        .filter(|columns| !columns.is_empty() && !columns.iter().any(is_made_up))
        .map(Vec::as_slice)
        .collect()
}

/// Whether a column is filled with the clock when nothing is given.
pub(crate) fn is_clock_default(column: &Column) -> bool {
    column.default.as_deref().is_some_and(|default| {
        let default = default.to_ascii_lowercase();
        ["now(", "current_", "clock_timestamp", "localtime", "getdate", "sysdate", "'now'"]
            .iter()
            .any(|word| default.contains(word))
    })
}

/// Columns that could be a key, for a fix that names real columns.
pub(crate) fn likely_key(columns: &[String]) -> Vec<String> {
    let is_key = |name: &&String| {
        let name = name.as_str();
        name.ends_with("_id")
            || name.ends_with("_key")
            || name.ends_with("_no")
            || name.ends_with("_code")
            || name.ends_with("_number")
            || name == "id"
            || name == "key"
            || name == "sku"
            || name == "code"
            || name == "day"
    };
    let made = ["run_id", "batch_id", "load_id", "job_id"];
    let found: Vec<String> =
        columns.iter().filter(is_key).filter(|name| !made.contains(&name.as_str())).cloned().collect();
    if found.is_empty() { vec!["the columns that identify a row".to_owned()] } else { found }
}
