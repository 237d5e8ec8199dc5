//! What every repair does the same way: a script's head, references moved and rows deleted, the commit and what is said
//! when nobody answers it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use landonce_core::retry::Phase;
use landonce_store::repair::{Known, Moved, Repair};

use super::script::{Script, unwritten};
use super::{Options, refused};
use crate::error::Error;
use crate::failpoint;

/// Commits; only an answer tells whether it has happened. The script stays wherever it may have.
pub(super) async fn commit<C: Repair>(
    connection: &mut C,
    options: &Options,
    script: Option<Script>,
) -> Result<Option<PathBuf>, Error> {
    if let Some(at_commit) = &options.at_commit {
        at_commit();
    }
    match connection.commit().await {
        Ok(()) => {
            let kept = script.map(Script::keep);
            failpoint::at("repair_committed");
            Ok(kept)
        }
        Err(error) if error.phase == Phase::CommitUnanswered => {
            let kept = script.map(Script::keep);
            Err(error.while_doing(&unanswered(kept.as_deref())).into())
        }
        Err(error) => Err(error.into()),
    }
}

fn unanswered(script: Option<&Path>) -> String {
    let script =
        script.map_or(String::new(), |path| format!("; if it has, {} takes it back", path.display()));
    format!(
        "COMMIT was sent and no answer came: run the same command again, and it tells whether the repair has landed{script}"
    )
}

/// Writes down what points at the marked rows, points it at the rows that stay, and deletes the marked ones.
pub(super) async fn move_and_remove<C: Repair>(
    connection: &mut C,
    known: &Known,
    options: &Options,
    moves: &[(usize, Moved)],
    duplicates: u64,
    script: &mut Script,
) -> Result<(), Error> {
    for (at, moved) in moves {
        let mut part = script.part()?;
        connection.script_reference(known, *at, &mut |bytes| part.write_all(bytes)).await?;
        part.flush().map_err(|error| unwritten(&options.folder, error))?;
        let pointed = connection.repoint(known, *at).await?;
        if pointed != moved.rows {
            return Err(refused(format!(
                "{pointed} of {} rows of {} were pointed at the row that stays: a trigger or a rule keeps the others as they are; \
                 nothing was changed",
                moved.rows, known.references[*at].table
            )));
        }
    }
    let removed = connection.remove(known).await?;
    if removed != duplicates {
        return Err(refused(format!(
            "{removed} of {duplicates} rows of {} were deleted: a trigger or a rule keeps the others; nothing was changed",
            known.table
        )));
    }
    Ok(())
}

/// A script's head: what it takes back, and how it is run.
pub(super) fn head(what: &str, did: &str, options: &Options, known: &Known) -> String {
    let one_line = |text: &str| text.replace(['\n', '\r'], " ");
    let mut head = format!(
        "-- Takes back what `landonce repair {what}` did to {} (run {}).\n-- {}.\n\
         -- It changes nothing unless the table is as the repair left it. Run it once, with psql -f or sqlite3 … <.\n",
        one_line(&known.table.to_string()),
        options.run_id,
        one_line(did),
    );
    let mut triggers: Vec<&String> = known.triggers.iter().collect();
    triggers.extend(known.references.iter().flat_map(|reference| &reference.triggers));
    if !triggers.is_empty() {
        let names: Vec<String> = triggers.iter().map(|name| one_line(name)).collect();
        head.push_str(&format!("-- Triggers fire here as they did there: {}.\n", names.join(", ")));
    }
    head
}
