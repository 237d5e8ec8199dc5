//! Lost rows: loads that fell short of the ones before them and took rows away, and how those come back.
//!
//! Rows that such a load has retired are in the table still, under its run: they are brought back as they are. Rows that it
//! has deleted are only in payloads: a full one is landed through the one write path, given or out of the archive.

mod loads;
mod payload;
mod report;

use landonce_core::pipeline::{IdentityFrom, Pipeline as Declared, Whole};
use landonce_core::plan::{self, From, Match, TablePlan};
use landonce_store::repair::Known;
use landonce_store::repair::lost::{Marks, Restore};
use landonce_store::seam::Access;
use uuid::Uuid;

use super::act::{commit, head};
use super::report::{Cell, Status};
use super::script::Script;
use super::{Lost, Options, refused};
use crate::error::Error;
use crate::failpoint;
use crate::store::any_period;
use loads::{Short, Since, short};

pub use payload::FullPayload;
pub(super) use payload::land;
pub use report::{BeforeLoad, LostLoad, LostReport};

/// Looks, and brings retired rows back if that is asked.
pub(crate) async fn lost<C: Restore>(
    mut connection: C,
    lost: &Lost,
    options: &Options,
    access: Access,
) -> Result<LostReport, Error> {
    let declared = lost.pipeline.declared();
    let table = &declared.target().table;
    if declared.whole().is_none() {
        return Err(refused(format!(
            "loads of `{}` take no rows away, so none are lost by them: `mode` is neither `snapshot` nor `overwrite_period`",
            declared.name()
        )));
    }
    let (Some(shape), Some(known)) = (connection.shape(table).await?, connection.known(table).await?) else {
        return Err(refused(format!("there is no table {table}")));
    };
    let plan = plan::resolve(&any_period(declared)?, Some(&shape))?;
    connection.begin_repair(&known, access, options.lock_timeout).await?;
    let done = in_transaction(&mut connection, &known, &plan, lost, options, access).await;
    if done.is_err() {
        connection.rollback().await;
    }
    done
}

async fn in_transaction<C: Restore>(
    connection: &mut C,
    known: &Known,
    plan: &TablePlan,
    lost: &Lost,
    options: &Options,
    access: Access,
) -> Result<LostReport, Error> {
    if connection.known(&known.table).await?.as_ref() != Some(known) {
        return Err(refused(format!(
            "{} was altered while the repair began; nothing was changed, run it again",
            known.table
        )));
    }
    if let Some(tombstone) = plan.tombstone.as_ref().filter(|tombstone| tombstone.by.is_none()) {
        return Err(refused(format!(
            "{} marks retired rows in `{}` and has no column that says by which run (`target.managed.retired_by`), so that those of one \
             load can't be told from others; give a full payload to `landonce run` instead, and release it if it is held",
            known.table, tombstone.at
        )));
    }
    let marks = marks(lost.pipeline.declared(), plan);
    let mut report = look(connection, known, plan, marks.as_ref(), lost, options).await?;
    failpoint::at("repair_marked");
    if access == Access::ReadOnly || report.status == Status::Clean {
        connection.rollback().await;
        return Ok(report);
    }
    let runs: Vec<Uuid> =
        report.findings.iter().filter(|load| load.lost > 0).map(|load| load.run_id).collect();
    let Some(marks) = marks.filter(|_| !runs.is_empty()) else {
        connection.rollback().await;
        report.status = Status::Refused;
        report.refusals.push(
            "the rows were deleted, and the table can't bring them back: give a full payload (--from FILE), or take the one of the load \
             before out of the archive (--from-archive)"
                .to_owned(),
        );
        return Ok(report);
    };
    let due: u64 = report.findings.iter().map(|load| load.lost).sum();
    let script = change(connection, known, &marks, &runs, due, options).await?;
    report.script = commit(connection, options, Some(script)).await?;
    report.status = Status::Applied;
    report.restored = due;
    Ok(report)
}

/// Written down, changed, and the script on the disk.
async fn change<C: Restore>(
    connection: &mut C,
    known: &Known,
    marks: &Marks,
    runs: &[Uuid],
    due: u64,
    options: &Options,
) -> Result<Script, Error> {
    // Nothing is deleted and nothing pointed elsewhere.
    let named = Known { triggers: Vec::new(), references: Vec::new(), ..known.clone() };
    let by: Vec<String> = runs.iter().map(Uuid::to_string).collect();
    let head = head(
        "lost",
        &format!("{due} rows that were retired by {} were brought back", by.join(", ")),
        options,
        &named,
    );
    let mut script = Script::begin(&options.folder, &known.table.name, options.run_id, &head)?;
    connection.script_retired(known, marks, runs, &mut |bytes| script.write(bytes)).await?;
    let restored = connection.restore(known, marks, runs).await?;
    if restored != due {
        return Err(refused(format!(
            "{restored} of {due} rows of {} were brought back: a trigger or a rule keeps the others; nothing was changed",
            known.table
        )));
    }
    failpoint::at("repair_changed");
    script.finish(connection.script_end())?;
    failpoint::at("repair_scripted");
    Ok(script)
}

async fn look<C: Restore>(
    connection: &mut C,
    known: &Known,
    plan: &TablePlan,
    marks: Option<&Marks>,
    lost: &Lost,
    options: &Options,
) -> Result<LostReport, Error> {
    let declared = lost.pipeline.declared();
    let landed = connection.landed(declared.name()).await?;
    let Short { loads, has_named } = short(&landed, lost.share, lost.load);
    if let Some(run) = lost.load.filter(|_| !has_named) {
        return Err(refused(format!("no load of `{}` has the run {run}", declared.name())));
    }
    let mut report = LostReport {
        status: Status::Clean,
        pipeline: declared.name().to_owned(),
        table: known.table.to_string(),
        share: lost.share,
        loads: landed.len() as u64,
        findings: Vec::new(),
        made_up_for: 0,
        restored: 0,
        landed: None,
        notes: Vec::new(),
        refusals: Vec::new(),
        script: None,
    };
    for (mut load, since) in loads {
        // What a full load since doesn't have either is rightly gone, unless somebody names the load.
        if let Some(marks) = marks.filter(|_| since == Since::NoFull || lost.load.is_some()) {
            let (count, first) = connection.retired(known, marks, load.run_id, options.examples).await?;
            load.lost = count;
            load.first_rows = first.into_iter().map(|row| cells(&marks.shown, row)).collect();
        }
        if load.lost > 0 || (since == Since::NoFull && (load.removed > 0 || marks.is_none())) {
            report.findings.push(load);
        } else {
            report.made_up_for += 1;
        }
    }
    if !report.findings.is_empty() {
        report.status = Status::Planned;
        notes(declared, plan, marks, &mut report);
    }
    Ok(report)
}

fn notes(declared: &Declared, plan: &TablePlan, marks: Option<&Marks>, report: &mut LostReport) {
    let mut note = |text: &str| report.notes.push(text.to_owned());
    if marks.is_none() && plan.tombstone.is_some() {
        note(
            "the table has no column that says which run has retired a row, so these rows can't be told from others",
        );
    }
    if report.findings.iter().any(|load| load.removed > 0) {
        note(
            "deleted rows can't be listed: they are in the payload of the load before, or in a later full one",
        );
    }
    if let Some(Whole::Snapshot(of)) = declared.whole()
        && of.has_history
    {
        note(
            "the history gets the versions of rows that are brought back with the next load that changes something",
        );
    }
}

/// How the table marks rows, if it says by which run.
fn marks(declared: &Declared, plan: &TablePlan) -> Option<Marks> {
    let tombstone = plan.tombstone.as_ref()?;
    let identity: Vec<String> = match &plan.matching {
        Match::Key { column, .. } => vec![column.clone()],
        Match::Columns(columns) => columns.iter().map(|&at| plan.columns[at].name.clone()).collect(),
    };
    let fields: &[String] = match &declared.identity().from {
        IdentityFrom::Fields { names, .. } => names,
        IdentityFrom::SenderId(name) => std::slice::from_ref(name),
        IdentityFrom::Content(_) => &[],
    };
    let is_field = |from: &From| matches!(from, From::Field(name) if fields.contains(name));
    let mut shown: Vec<String> = plan
        .columns
        .iter()
        .filter(|column| is_field(&column.from))
        .map(|column| column.name.clone())
        .collect();
    if shown.len() < fields.len() || shown.is_empty() {
        shown.clone_from(&identity);
    }
    Some(Marks {
        at: tombstone.at.clone(),
        by: tombstone.by.clone()?,
        by_type: tombstone.by_type.clone().unwrap_or_else(|| "uuid".to_owned()),
        revision: plan.revision.clone(),
        identity,
        shown,
    })
}

fn cells(names: &[String], values: Vec<Option<String>>) -> Vec<Cell> {
    names.iter().zip(values).map(|(column, value)| Cell { column: column.clone(), value }).collect()
}
