//! What became of derived tables, for `run` and for `derive`.

use landonce::derive::{Checked, Derivation, DerivedPeriod, Difference, Differing};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{ErrorReport, plain};
use crate::failure::Failure;

/// How many periods are listed for people.
const SHOWN: usize = 10;
/// How many differing rows of a period are.
const ROWS: usize = 3;

/// The derived tables of a command. The fields and their order are a promise (`docs/reference/cli.md`).
#[derive(Debug, Serialize)]
pub(crate) struct DerivedReport {
    derived: Vec<TableReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    derive_error: Option<ErrorReport>,
}

/// An object with the derived tables' fields behind its own.
#[derive(Debug, Serialize)]
pub(crate) struct WithDerived<'a, T> {
    #[serde(flatten)]
    pub(crate) told: T,
    #[serde(flatten)]
    pub(crate) derived: Option<&'a DerivedReport>,
}

#[derive(Debug, Serialize)]
struct TableReport {
    table: String,
    periods: Vec<PeriodReport>,
}

#[derive(Debug, Serialize)]
struct PeriodReport {
    period: String,
    rows: u64,
    inserted: u64,
    updated: u64,
    deleted: u64,
}

impl DerivedReport {
    /// What was computed.
    pub(crate) fn new(tables: &[Derivation]) -> Self {
        let period = |period: &DerivedPeriod| PeriodReport {
            period: period.label.clone(),
            rows: period.rows,
            inserted: period.inserted,
            updated: period.updated,
            deleted: period.deleted,
        };
        let table = |table: &Derivation| TableReport {
            table: table.table.clone(),
            periods: table.periods.iter().map(period).collect(),
        };
        Self { derived: tables.iter().map(table).collect(), derive_error: None }
    }

    /// That it failed; what was not computed stays due.
    pub(crate) fn failed(failure: &Failure) -> Self {
        Self { derived: Vec::new(), derive_error: Some(ErrorReport::new(failure)) }
    }

    /// For people: a line for each table that had something due.
    pub(crate) fn lines(&self) -> String {
        let line = |table: &TableReport| {
            let sum = |of: fn(&PeriodReport) -> u64| table.periods.iter().map(of).sum::<u64>();
            let counts: Vec<String> = [
                ("inserted", sum(|period| period.inserted)),
                ("updated", sum(|period| period.updated)),
                ("deleted", sum(|period| period.deleted)),
            ]
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
            let counts = if counts.is_empty() { "no row differed".to_owned() } else { counts.join(", ") };
            format!(
                "  derived   {}: {}: {counts}\n",
                plain::line(&table.table),
                periods(table.periods.len() as u64)
            )
        };
        self.derived.iter().filter(|table| !table.periods.is_empty()).map(line).collect()
    }

    /// Whether nothing was due.
    pub(crate) fn is_empty(&self) -> bool {
        self.derived.iter().all(|table| table.periods.is_empty())
    }
}

/// Whether the derived tables are equal to their queries.
#[derive(Debug, Serialize)]
pub(crate) struct CheckReport {
    status: &'static str,
    tables: Vec<CheckedTable>,
}

#[derive(Debug, Serialize)]
struct CheckedTable {
    table: String,
    columns: Vec<String>,
    periods: u64,
    differing: Vec<DifferingPeriod>,
}

#[derive(Debug, Serialize)]
struct DifferingPeriod {
    period: String,
    is_due: bool,
    count: u64,
    rows: Vec<RowReport>,
}

/// A row that the query and the table don't agree on: arrays, as the database wrote them, so that no digit is lost.
#[derive(Debug, Serialize)]
struct RowReport {
    expected: Option<Box<RawValue>>,
    found: Option<Box<RawValue>>,
}

impl RowReport {
    fn new(difference: Difference) -> Self {
        let raw = |row: Option<String>| row.and_then(|row| RawValue::from_string(row).ok());
        Self { expected: raw(difference.expected), found: raw(difference.found) }
    }
}

impl CheckReport {
    pub(crate) fn new(tables: Vec<Checked>) -> Self {
        let period = |period: Differing| DifferingPeriod {
            period: period.label,
            is_due: period.is_due,
            count: period.count,
            rows: period.samples.into_iter().map(RowReport::new).collect(),
        };
        let tables: Vec<CheckedTable> = tables
            .into_iter()
            .map(|table| CheckedTable {
                table: table.table,
                columns: table.columns,
                periods: table.periods,
                differing: table.differing.into_iter().map(period).collect(),
            })
            .collect();
        let is_equal = tables.iter().all(|table| table.differing.is_empty());
        Self { status: if is_equal { "equal" } else { "differs" }, tables }
    }

    pub(crate) fn is_equal(&self) -> bool {
        self.status == "equal"
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        for table in &self.tables {
            let name = plain::line(&table.table);
            if table.differing.is_empty() {
                out.push_str(&format!("equal    {name}: {}\n", periods(table.periods)));
                continue;
            }
            out.push_str(&format!(
                "differs  {name}: {} of {}; rows as ({})\n",
                table.differing.len(),
                periods(table.periods),
                plain::line(&table.columns.join(", "))
            ));
            for period in table.differing.iter().take(SHOWN) {
                let due = if period.is_due { ", due: `landonce derive` computes it" } else { "" };
                let noun = if period.count == 1 { "row" } else { "rows" };
                out.push_str(&format!("  {}  {} {noun}{due}\n", period.period, period.count));
                for row in period.rows.iter().take(ROWS) {
                    let told = |row: Option<&RawValue>| {
                        row.map_or_else(|| "no row".to_owned(), |row| plain::line(row.get()).into_owned())
                    };
                    out.push_str(&format!(
                        "    the query {}, the table {}\n",
                        told(row.expected.as_deref()),
                        told(row.found.as_deref())
                    ));
                }
            }
            let more = table.differing.len().saturating_sub(SHOWN);
            if more > 0 {
                out.push_str(&format!("  … and {more} more; --output json has all\n"));
            }
        }
        out
    }
}

fn periods(count: u64) -> String {
    if count == 1 { "1 period".to_owned() } else { format!("{count} periods") }
}
