//! Keys anew: every row's key as the pipeline declares it now, checked against the key that it has.

mod made;
mod spelling;

use landonce_core::pipeline::IdentityFrom;
use landonce_store::repair::{By, Constraint, Doubled, KeyColumn, Known, Moved, Rekey};
use landonce_store::seam::Access;

use super::act::{commit, head, move_and_remove};
use super::constraint::{has_columns, name};
use super::keep::{self, Decided};
use super::pointing::{note_triggers, reference, shown};
use super::report::{Added, ConstraintReport, KeysReport, Report, Status, Unverified};
use super::script::Script;
use super::{Keys, Options, refused};
use crate::error::Error;
use crate::failpoint;
use made::{Maker, place, places, stored};

struct Look {
    report: KeysReport,
    column: KeyColumn,
    moves: Vec<(usize, Moved)>,
    constraint: Option<Constraint>,
}

/// Looks, and acts if that is asked and there is something to do and nothing in the way.
pub(crate) async fn rekey<C: Rekey>(
    mut connection: C,
    keys: &Keys,
    options: &Options,
    access: Access,
) -> Result<KeysReport, Error> {
    let (new, old) = (keys.pipeline.declared(), keys.old.declared());
    let table = &new.target().table;
    if old.target().table != *table {
        return Err(refused(format!(
            "the pipelines are of two tables, {table} and {}: keys are given anew in one",
            old.target().table
        )));
    }
    let (Some(shape), Some(known)) = (connection.shape(table).await?, connection.known(table).await?) else {
        return Err(refused(format!("there is no table {table}")));
    };
    has_columns(&known, &[], keys.keep.as_ref())?;
    let (old, new) = (Maker::new(old, &shape)?, Maker::new(new, &shape)?);
    if let IdentityFrom::Fields { joined: Some(_), .. } = keys.pipeline.declared().identity().from
        && !new.respelled().is_empty()
    {
        return Err(refused(format!(
            "a joined key is of the texts that senders write, and {} no longer has them: what a delivery's key will be can't be told \
             from the table. Declare the identity without `joined`",
            new.respelled().join(", ")
        )));
    }
    connection.begin_repair(&known, access, options.lock_timeout).await?;
    let done = in_transaction(&mut connection, &known, keys, (old, new), options, access).await;
    if done.is_err() {
        connection.rollback().await;
    }
    done
}

async fn in_transaction<C: Rekey>(
    connection: &mut C,
    known: &Known,
    keys: &Keys,
    makers: (Maker, Maker),
    options: &Options,
    access: Access,
) -> Result<KeysReport, Error> {
    if connection.known(&known.table).await?.as_ref() != Some(known) {
        return Err(refused(format!(
            "{} was altered while the repair began; nothing was changed, run it again",
            known.table
        )));
    }
    let mut look = look(connection, known, keys, makers, options).await?;
    failpoint::at("repair_marked");
    if access == Access::ReadOnly || look.report.rows.status != Status::Planned {
        connection.rollback().await;
        return Ok(look.report);
    }
    if !look.report.rows.refusals.is_empty() {
        connection.rollback().await;
        look.report.rows.status = Status::Refused;
        return Ok(look.report);
    }
    let script = change(connection, known, options, &look).await?;
    look.report.rows.script = commit(connection, options, script).await?;
    look.report.rows.status = Status::Applied;
    if look.constraint.is_some() {
        look.report.rows.constraint.state = Added::Added;
    }
    Ok(look.report)
}

/// Written down, changed, and the script on the disk. Taken back in this order: the keys, the rows, what points at them.
async fn change<C: Rekey>(
    connection: &mut C,
    known: &Known,
    options: &Options,
    look: &Look,
) -> Result<Option<Script>, Error> {
    let report = &look.report.rows;
    let mut script = None;
    if look.report.changed > 0 || report.duplicates > 0 {
        let did = format!(
            "{} rows got another key in {}, and {} were deleted because another row got the same one",
            look.report.changed, look.report.new_column, report.duplicates
        );
        let head = head("keys", &did, options, known);
        let mut begun = Script::begin(&options.folder, &known.table.name, options.run_id, &head)?;
        connection
            .script_keys(known, &look.column, look.constraint.as_ref(), &mut |bytes| begun.write(bytes))
            .await?;
        if report.duplicates > 0 {
            connection.script_rows(known, &[], None, &mut |bytes| begun.write(bytes)).await?;
            move_and_remove(connection, known, options, &look.moves, report.duplicates, &mut begun).await?;
        }
        let written = connection.write_keys(known, &look.column).await?;
        if written != look.report.changed {
            return Err(refused(format!(
                "{written} of {} rows of {} got their new key: a trigger or a rule keeps the others; nothing was changed",
                look.report.changed, known.table
            )));
        }
        failpoint::at("repair_changed");
        script = Some(begun);
    }
    if let Some(constraint) = &look.constraint {
        connection.constrain(known, constraint).await?;
    }
    if let Some(script) = &mut script {
        script.finish(connection.script_end())?;
    }
    failpoint::at("repair_scripted");
    Ok(script)
}

async fn look<C: Rekey>(
    connection: &mut C,
    known: &Known,
    keys: &Keys,
    (mut old, mut new): (Maker, Maker),
    options: &Options,
) -> Result<Look, Error> {
    let tally = tally(connection, known, &mut old, &mut new, options.examples).await?;
    let Decided { keep, told, is_guess } = keep::decide(connection, known, keys.keep.as_ref()).await?;
    connection.mark(known, &Doubled { by: By::NewKey, keep }).await?;
    let column = KeyColumn { name: new.column.clone(), form: new.form, is_there: new.is_there };
    let compared: Vec<String> = known
        .columns
        .iter()
        .map(|column| &column.name)
        .filter(|name| {
            **name != old.column
                && **name != new.column
                && !known.primary_key.contains(name)
                && !keep::is_provenance(name)
        })
        .cloned()
        .collect();
    let marked = connection.marked(known, &compared).await?;
    let groups = connection.groups(known, options.examples).await?;
    let key = vec![old.column.clone()];
    let mut report = Report {
        status: Status::Clean,
        table: known.table.to_string(),
        key: key.clone(),
        rows: tally.rows,
        null_keys: 0,
        groups: marked.groups,
        duplicates: marked.rows,
        differing: marked.differing,
        kept_by: told,
        first_groups: groups.into_iter().map(|group| shown(known, &key, group)).collect(),
        references: Vec::new(),
        constraint: ConstraintReport { state: Added::NotAsked, name: None, note: None },
        notes: Vec::new(),
        refusals: Vec::new(),
        script: None,
    };
    let mut moves = Vec::new();
    if marked.rows > 0 {
        for at in 0..known.references.len() {
            let found = reference(connection, known, &[], options, at, &mut report).await?;
            if found.rows > 0 {
                moves.push((at, found));
            }
        }
        note_triggers(known, &moves, &mut report);
    }
    let changed = connection.changed_keys(known, &column).await?;
    let constraint = constraint(known, &column, &mut report);
    if changed > 0 || marked.rows > 0 || tally.unkeyed > 0 || constraint.is_some() {
        report.status = Status::Planned;
    }
    let mut report = KeysReport {
        old_column: old.column.clone(),
        new_column: new.column.clone(),
        is_new_column: !new.is_there,
        changed,
        unverified: tally.unverified,
        first_unverified: tally.first_unverified,
        unkeyed: tally.unkeyed,
        first_unkeyed: tally.first_unkeyed,
        rows: report,
    };
    refuse(&mut report, known, keys, &old, &moves, is_guess && marked.differing > 0);
    note(&mut report, known, &new);
    Ok(Look { report, column, moves, constraint })
}

/// What was found of the rows, one by one.
#[derive(Default)]
struct Tally {
    rows: u64,
    unverified: u64,
    first_unverified: Vec<Unverified>,
    unkeyed: u64,
    first_unkeyed: Vec<Unverified>,
}

/// Makes every row's new key, and checks its old one.
async fn tally<C: Rekey>(
    connection: &mut C,
    known: &Known,
    old: &mut Maker,
    new: &mut Maker,
    most: usize,
) -> Result<Tally, Error> {
    let mut reads = vec![stored(old, known)?];
    let (old_places, new_places) = (places(old, &mut reads), places(new, &mut reads));
    // Where a row's new key is to stand, if it is there.
    let taken = if new.is_there { Some(place(stored(new, known)?, &mut reads)) } else { None };
    let mut tally = Tally::default();
    let mut make = |values: &[Option<String>]| {
        let of = |places: &[usize]| places.iter().map(|&at| &values[at]).collect::<Vec<_>>();
        tally.rows += 1;
        let stored = values[0].clone();
        let key = new.key(&of(&new_places));
        // A row that has its new key already was repaired before, or written since.
        let has_new =
            taken.is_some_and(|at| values[at].is_some() && key.as_ref().ok() == values[at].as_ref());
        if !has_new {
            let was = old.key_like(&of(&old_places), stored.as_ref());
            if was.as_ref().ok() != stored.as_ref() {
                tally.unverified += 1;
                if tally.first_unverified.len() < most {
                    let made = was.unwrap_or_else(|why| why);
                    tally.first_unverified.push(Unverified { stored: stored.clone(), made });
                }
            }
        }
        let unmade = |why| {
            tally.unkeyed += 1;
            if tally.first_unkeyed.len() < most {
                tally.first_unkeyed.push(Unverified { stored, made: why });
            }
        };
        key.map_err(unmade).ok()
    };
    connection.give_keys(known, &reads, &mut make).await?;
    Ok(tally)
}

fn constraint(known: &Known, column: &KeyColumn, report: &mut Report) -> Option<Constraint> {
    let columns = vec![column.name.clone()];
    if let Some(unique) = known.unique.iter().find(|unique| unique.columns == columns) {
        report.constraint.state = Added::Present;
        report.constraint.name = Some(unique.name.clone());
        return None;
    }
    let name = name(known, &columns);
    report.constraint.state = Added::Missing;
    report.constraint.name = Some(name.clone());
    Some(Constraint { name, columns, guards_nulls: false })
}

/// What stands in the way.
fn refuse(
    report: &mut KeysReport,
    known: &Known,
    keys: &Keys,
    old: &Maker,
    moves: &[(usize, Moved)],
    is_guess: bool,
) {
    let mut refusals = Vec::new();
    if report.unkeyed > 0 {
        refusals.push(format!("no new key can be made of {} rows: correct or remove them", report.unkeyed));
    }
    if report.unverified > 0 && !keys.force {
        let lost = old.respelled();
        let is_joined =
            matches!(keys.old.declared().identity().from, IdentityFrom::Fields { joined: Some(_), .. });
        let why = if is_joined && !lost.is_empty() {
            format!(
                " (a joined key is of the texts that senders wrote; of {} common spellings in UTC were tried)",
                lost.join(", ")
            )
        } else {
            String::new()
        };
        refusals.push(format!(
            "the key of {} rows isn't what {} makes of them{why}: correct the old declaration, or give them new keys all the same with \
             --force",
            report.unverified,
            keys.old.name()
        ));
    }
    if report.rows.duplicates > 0 && !keys.dedupe {
        refusals.push(format!(
            "{} rows get a key that another row gets too: they are one event under two old keys; --dedupe keeps one of each",
            report.rows.duplicates
        ));
    }
    if is_guess && keys.dedupe {
        refusals.push("nothing tells which row was first: say it with --keep earliest:COLUMN".to_owned());
    }
    if moves.iter().any(|(at, _)| known.references[*at].is_own) {
        refusals.push(format!(
            "rows of {} point at copies in the same table: repair those first, by their natural key, with `landonce repair dedupe`",
            known.table
        ));
    }
    for reference in &known.references {
        if report.changed > 0 && !report.is_new_column && reference.referenced.contains(&report.new_column) {
            if reference.follows_updates {
                report.rows.notes.push(format!("{} follows by itself (ON UPDATE CASCADE)", reference.table));
            } else {
                refusals.push(format!(
                    "{} ({}) points at {}: make that foreign key ON UPDATE CASCADE first, or take the new keys into another column",
                    reference.table, reference.name, report.new_column
                ));
            }
        }
    }
    report.rows.refusals.extend(refusals);
}

fn note(report: &mut KeysReport, known: &Known, new: &Maker) {
    let untyped = new.untyped();
    if !untyped.is_empty() {
        report.rows.notes.push(format!(
            "{} has no declared type, so its text is taken for a string: where senders write a number or true, declare the column's \
             type, or their next delivery has another key",
            untyped.join(", ")
        ));
    }
    if report.is_new_column {
        report.rows.notes.push(format!(
            "{} takes no NULL: whoever writes to the table without landonce can't insert any more",
            report.new_column
        ));
    }
    if report.old_column != report.new_column {
        let is_due =
            known.columns.iter().any(|column| column.name == report.old_column && !column.is_nullable);
        let drop = if is_due {
            "it takes no NULL, so landonce can insert nothing until it is dropped or takes one"
        } else {
            "drop it when nothing reads it any more"
        };
        report.rows.notes.push(format!("{} stays as it is: {drop}", report.old_column));
    }
}
