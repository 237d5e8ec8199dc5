//! Deduplication: one look, and, to apply, one transaction in numbered steps.

use landonce_store::repair::{By, Constraint, Doubled, Keep, Known, Marked, Moved, Repair};
use landonce_store::seam::Access;

use super::act::{commit, head, move_and_remove};
use super::constraint::{constraint, has_columns};
use super::keep::{self, Decided};
use super::pointing::{note_triggers, reference, shown};
use super::report::{Added, ConstraintReport, Report, Status};
use super::script::Script;
use super::{Constrain, Dedupe, Options, refused};
use crate::error::Error;
use crate::failpoint;

/// What a look has found.
struct Look {
    report: Report,
    /// The references that have rows to move, by their place in the catalogue's list.
    moves: Vec<(usize, Moved)>,
    constraint: Option<Constraint>,
}

/// Looks, and acts if that is asked and there is something to do and nothing in the way.
pub(crate) async fn dedupe<C: Repair>(
    mut connection: C,
    dedupe: &Dedupe,
    options: &Options,
    access: Access,
) -> Result<Report, Error> {
    let Some(known) = connection.known(&dedupe.table).await? else {
        return Err(refused(format!("there is no table {}", dedupe.table)));
    };
    check(&known, dedupe)?;
    // 1. Begin: nobody else writes to the table, nor points at it, until the end.
    connection.begin_repair(&known, access, options.lock_timeout).await?;
    let done = in_transaction(&mut connection, &known, dedupe, options, access).await;
    match done {
        Ok(report) => Ok(report),
        Err(error) => {
            connection.rollback().await;
            Err(error)
        }
    }
}

async fn in_transaction<C: Repair>(
    connection: &mut C,
    known: &Known,
    dedupe: &Dedupe,
    options: &Options,
    access: Access,
) -> Result<Report, Error> {
    if connection.known(&known.table).await?.as_ref() != Some(known) {
        return Err(refused(format!(
            "{} was altered while the repair began; nothing was changed, run it again",
            known.table
        )));
    }
    // 2. Look: what is a copy of what, what points at it, what stands in the way.
    let mut look = look(connection, known, dedupe, options).await?;
    failpoint::at("repair_marked");
    if access == Access::ReadOnly || look.report.status != Status::Planned {
        connection.rollback().await;
        return Ok(look.report);
    }
    if !look.report.refusals.is_empty() {
        connection.rollback().await;
        look.report.status = Status::Refused;
        return Ok(look.report);
    }
    let is_inside = dedupe.constrain == Constrain::Inside || !known.can_index_beside;
    let script = change(connection, known, options, &look, is_inside).await?;
    // 6. Commit.
    look.report.script = commit(connection, options, script).await?;
    look.report.status = Status::Applied;
    if let Some(constraint) = &look.constraint {
        look.report.constraint.state = Added::Added;
        // 7. The constraint, beside writers: where they write another copy meanwhile, it can't be added.
        if !is_inside && let Err(error) = connection.constrain_after(known, constraint).await {
            look.report.constraint.state = Added::Failed;
            look.report.constraint.note = Some(format!(
                "{error}. The rows are repaired; if another copy was written meanwhile, stop whoever writes it and run this again, or \
                 with --constraint inside"
            ));
        }
    }
    Ok(look.report)
}

/// Steps 3 to 5: what is to be changed is written down, changed, and the script is on the disk.
async fn change<C: Repair>(
    connection: &mut C,
    known: &Known,
    options: &Options,
    look: &Look,
    is_inside: bool,
) -> Result<Option<Script>, Error> {
    let report = &look.report;
    let mut script = None;
    if report.duplicates > 0 {
        // 3. Write down the rows, and what points at them, before either is changed.
        let did = format!(
            "{} rows were deleted as copies by ({}); kept: {}",
            report.duplicates,
            report.key.join(", "),
            report.kept_by.rule
        );
        let head = head("dedupe", &did, options, known);
        let mut begun = Script::begin(&options.folder, &known.table.name, options.run_id, &head)?;
        connection
            .script_rows(known, &report.key, look.constraint.as_ref(), &mut |bytes| begun.write(bytes))
            .await?;
        // 4. Point the references at the rows that stay, then delete the others.
        move_and_remove(connection, known, options, &look.moves, report.duplicates, &mut begun).await?;
        failpoint::at("repair_changed");
        script = Some(begun);
    }
    if let Some(constraint) = look.constraint.as_ref().filter(|_| is_inside) {
        connection.constrain(known, constraint).await?;
    }
    // 5. The script is whole and on the disk before anything is committed.
    if let Some(script) = &mut script {
        script.finish(connection.script_end())?;
    }
    failpoint::at("repair_scripted");
    Ok(script)
}

fn check(known: &Known, dedupe: &Dedupe) -> Result<(), Error> {
    if dedupe.key.is_empty() {
        return Err(refused("no key: name the natural key's columns"));
    }
    has_columns(known, &dedupe.key, dedupe.keep.as_ref())?;
    for (at, name) in dedupe.key.iter().enumerate() {
        if dedupe.key[..at].contains(name) {
            return Err(refused(format!("`{name}` is in the key twice")));
        }
    }
    Ok(())
}

async fn look<C: Repair>(
    connection: &mut C,
    known: &Known,
    dedupe: &Dedupe,
    options: &Options,
) -> Result<Look, Error> {
    let Decided { keep, told, is_guess } = keep::decide(connection, known, dedupe.keep.as_ref()).await?;
    let (rows, null_keys) = connection.rows(known, &dedupe.key).await?;
    connection.mark(known, &Doubled { by: By::Columns(dedupe.key.clone()), keep: keep.clone() }).await?;
    let deciding = match &keep {
        Some(Keep::Earliest(column) | Keep::Latest(column)) => Some(column),
        None => None,
    };
    let compared: Vec<String> = known
        .columns
        .iter()
        .map(|column| &column.name)
        .filter(|name| {
            !dedupe.key.contains(name)
                && !known.primary_key.contains(name)
                && Some(*name) != deciding
                && !keep::is_provenance(name)
        })
        .cloned()
        .collect();
    let marked: Marked = connection.marked(known, &compared).await?;
    let groups = connection.groups(known, options.examples).await?;
    let mut report = Report {
        status: Status::Clean,
        table: known.table.to_string(),
        key: dedupe.key.clone(),
        rows,
        null_keys,
        groups: marked.groups,
        duplicates: marked.rows,
        differing: marked.differing,
        kept_by: told,
        first_groups: groups.into_iter().map(|group| shown(known, &dedupe.key, group)).collect(),
        references: Vec::new(),
        constraint: ConstraintReport { state: Added::NotAsked, name: None, note: None },
        notes: Vec::new(),
        refusals: Vec::new(),
        script: None,
    };
    if is_guess && marked.differing > 0 {
        report.refusals.push(format!(
            "{} rows differ from the row that would stay, and nothing tells which was first: say it with --keep earliest:COLUMN",
            marked.differing
        ));
    }
    let mut moves = Vec::new();
    if marked.rows > 0 {
        for at in 0..known.references.len() {
            let found = reference(connection, known, &dedupe.key, options, at, &mut report).await?;
            if found.rows > 0 {
                moves.push((at, found));
            }
        }
        note_triggers(known, &moves, &mut report);
    }
    let constraint = constraint(known, dedupe, null_keys, &mut report.constraint);
    if marked.rows > 0 || constraint.is_some() {
        report.status = Status::Planned;
    }
    Ok(Look { report, moves, constraint })
}
