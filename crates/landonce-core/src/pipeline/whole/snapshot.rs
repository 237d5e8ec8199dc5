//! `mode: snapshot`: what becomes of absent rows, and how far a payload may differ before its run is held.

use super::Whole;
use crate::bad_record::shorten;
use crate::pipeline::Pipeline;
use crate::pipeline::check::{Checked, fault};
use crate::spec::{AbsentSpec, PlausibleSpec, WriteSpec};

/// The rows of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct SnapshotOf {
    /// What becomes of those that the payload doesn't have.
    pub absent: AbsentRow,
    /// Only the rows in which these fields have these values are the source's own; all of the table's when there are none.
    pub owner: Vec<(String, String)>,
    /// How far a payload may differ from what is there.
    pub plausible: Plausible,
    /// Every version of a row is kept.
    pub has_history: bool,
}

/// What becomes of a row that a snapshot doesn't have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsentRow {
    /// It is marked, and restored when it comes again.
    Retire,
    /// It is deleted.
    Delete,
    /// It stays.
    Keep,
}

/// How far a payload may differ from what is there before its run is held. Shares are between 0 and 1; `None` is any.
#[derive(Debug, Clone, PartialEq)]
pub struct Plausible {
    /// The number of records against the median of the last loads, either way.
    pub rows: Option<f64>,
    /// Rows that change their content, of those that are there.
    pub changed: Option<f64>,
    /// Rows that go, of those that are there.
    pub retired: Option<f64>,
    /// Fields and the share of records that may have NULL there.
    pub nulls: Vec<(String, f64)>,
    /// Queries that must give true before the commit.
    pub assertions: Vec<String>,
}

/// The part of `write:` that a snapshot is declared by.
pub(in crate::pipeline) fn of_snapshot(spec: &WriteSpec) -> Checked<Whole> {
    let absent = match spec.absent {
        Some(AbsentSpec::Retire) => AbsentRow::Retire,
        Some(AbsentSpec::Delete) => AbsentRow::Delete,
        Some(AbsentSpec::Keep) => AbsentRow::Keep,
        Some(AbsentSpec::Replace) | None => {
            return fault(
                "write.absent",
                "`mode: snapshot` needs to know what becomes of a row that the payload doesn't have: `retire` (marked, and restored \
                 when it comes again), `delete` or `keep`",
            );
        }
    };
    for (key, is_given, why) in [
        ("write.version", spec.version.is_some(), "the newest snapshot is the source's state, whole"),
        ("write.delete_when", spec.delete_when.is_some(), "absence tells what is gone"),
        ("write.period", spec.period.is_some(), "a snapshot is the source's state, of no period"),
        (
            "write.allow_empty",
            spec.allow_empty,
            "an empty payload is held, and a person may release it (`landonce held`)",
        ),
    ] {
        if is_given {
            return fault(key, format!("doesn't go with `mode: snapshot`: {why}; leave it out"));
        }
    }
    let given = &spec.plausible;
    let plausible = Plausible {
        rows: share("write.plausible.rows", given.rows.as_deref().unwrap_or(USUAL))?,
        changed: share("write.plausible.changed", given.changed.as_deref().unwrap_or(USUAL))?,
        retired: share("write.plausible.retired", given.retired.as_deref().unwrap_or(USUAL))?,
        nulls: nulls(given)?,
        assertions: assertions(given)?,
    };
    Ok(Whole::Snapshot(SnapshotOf {
        absent,
        owner: spec.owner.0.clone(),
        plausible,
        has_history: spec.history,
    }))
}

/// How far a snapshot may differ when nobody says otherwise.
const USUAL: &str = "20%";

/// A share between 0 and 1; `None` for `any`.
fn share(key: &'static str, text: &str) -> Checked<Option<f64>> {
    if text.trim() == "any" {
        return Ok(None);
    }
    let share = text.trim().strip_suffix('%').and_then(|share| share.trim().parse::<f64>().ok());
    match share.filter(|share| share.is_finite() && *share >= 0.0) {
        Some(share) => Ok(Some(share / 100.0)),
        None => fault(key, format!("a share such as `20%`, or `any`, is due, not `{}`", shorten(text))),
    }
}

fn nulls(spec: &PlausibleSpec) -> Checked<Vec<(String, f64)>> {
    let mut nulls = Vec::new();
    for (field, text) in &spec.nulls {
        if let Some(share) = share("write.plausible.nulls", text)? {
            nulls.push((field.clone(), share));
        }
    }
    Ok(nulls)
}

/// Queries, never a word that would end the batch's transaction under it.
fn assertions(spec: &PlausibleSpec) -> Checked<Vec<String>> {
    for text in &spec.assert {
        let first = text.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
        let first = first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        if !["select", "with", "values"].iter().any(|word| first.eq_ignore_ascii_case(word)) {
            return fault(
                "write.plausible.assert",
                format!(
                    "a query that gives one true or false is due, such as `SELECT count(*) > 0 FROM …`, not `{}`",
                    shorten(text)
                ),
            );
        }
    }
    Ok(spec.assert.clone())
}

/// A snapshot that takes rows away must be proved whole (J5): absence from what is cut means nothing.
pub(super) fn across(pipeline: &Pipeline, of: &SnapshotOf) -> Checked<()> {
    // What is fetched is read to an end that is known, or the run fails.
    let has_proof = !pipeline.source.complete.is_empty() || pipeline.source.feed.is_fetched();
    if of.absent != AbsentRow::Keep && !has_proof {
        return fault(
            "write.absent",
            "a row is only missing from a payload that is known to be complete, so `retire` and `delete` need a proof: declare \
             `source.complete` (`json_closed`, `gzip_trailer`, an end marker, a count, a checksum), or `absent: keep`",
        );
    }
    for (field, _) in &of.plausible.nulls {
        let is_there = pipeline.target.columns.iter().any(|column| &column.field == field);
        if !is_there {
            return fault(
                "write.plausible.nulls",
                format!("`{field}` has no column; declare it under `target.columns`"),
            );
        }
    }
    Ok(())
}
