//! Reads SQL, dbt models, program code and live schemas, and finds what isn't safe to retry. It reads only.
//!
//! In the order in which a file goes through:
//!
//! - [`mod@file`] walks the paths and knows a file's language.
//! - [`sql`] parses statements by dialect; `code/` reads one host language a file into the steps of [`code`]: which
//!   statements run, in which loops, transactions and handlers, beside which calls.
//! - [`schema`] knows the tables: from the DDL among the files, or from a live database.
//! - `rules/` has one file a rule, each a function of the above; [`rule`] is the contract, and the list.
//! - [`finding`] is what comes out; `report/` writes it for terminals, JSON and SARIF; `allow` silences one.

mod allow;
pub mod code;
mod error;
pub mod file;
pub mod finding;
mod judge;
mod read;
pub mod report;
pub mod rule;
mod rules;
pub mod schema;
pub mod sql;
mod words;

use std::path::PathBuf;

pub use error::Error;
pub use finding::{Finding, Report};

/// What to read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// A live database whose schema is read as well (`postgres://…` or a SQLite file).
    pub database: Option<String>,
    /// Only these rules; all where empty.
    pub only: Vec<String>,
    /// Rules that don't run.
    pub skip: Vec<String>,
}

/// Reads everything and applies every rule. Findings come sorted by file and place.
///
/// Fails when a path isn't there, a rule isn't known, or the database can't be read. The files are read on threads of its own,
/// while the caller waits.
pub async fn audit(options: &Options) -> Result<Report, Error> {
    let rules = choose(options)?;
    let files = file::walk(&options.paths)?;
    let (units, mut unread) = read::files(&files);
    let mut schema = schema::collect(&units);
    let mut report = Report { version: 1, files: units.len(), ..Report::default() };
    let mut place = String::new();
    if let Some(url) = &options.database {
        let mut live = schema::Schema::default();
        place = schema::read_live(url, &mut live).await?;
        report.tables = live.each().count();
        schema.take_live(live);
    }
    report.statements = units.iter().flat_map(code::Unit::uses).map(|it| it.statements.len()).sum();
    judge::judge(&units, &schema, &place, &rules, &mut report);
    report.unread.append(&mut unread);
    report.unread.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    Ok(report)
}

/// What could not be read.
pub(crate) const UNREAD: finding::Meta = finding::Meta {
    id: "could-not-read",
    why: "What isn't read can't be judged: it may hold any of the faults that the rules look for.",
};

/// The rules that run.
fn choose(options: &Options) -> Result<Vec<&'static rule::Rule>, Error> {
    for name in options.only.iter().chain(&options.skip) {
        if !rule::all().iter().any(|it| it.id == *name) {
            let known: Vec<&str> = rule::all().iter().map(|it| it.id).collect();
            return Err(Error::new(format!("there is no rule `{name}`; there are: {}", known.join(", "))));
        }
    }
    let chosen = rule::all().iter().copied().filter(|it| {
        (options.only.is_empty() || options.only.iter().any(|name| name == it.id))
            && !options.skip.iter().any(|name| name == it.id)
    });
    Ok(chosen.collect())
}
