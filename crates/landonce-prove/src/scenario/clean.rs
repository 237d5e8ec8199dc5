//! The clean runs, before any fault: two in one clone (what a repeat does), one in another (what varies by itself).

use std::time::Duration;

use super::stage::{Clean, Stage};
use super::stand::{Conditions, Stand};
use crate::error::{Error, Result};
use crate::recorder::Recorder;
use crate::snapshot;

/// Long enough that a stamp to the second differs between two runs.
const APART: Duration = Duration::from_millis(1100);

/// Makes the clean runs, or says why the command can't be judged at all.
pub(crate) async fn observe(stage: &mut Stage<'_>) -> Result<Result<Clean, String>> {
    stage.say("two clean runs in one clone, one in another");
    let conditions = Conditions::default();

    let mut stand = Stand::new(stage).await?;
    let base = stand.snapshot().await?;
    let first = stand.run("first run", &conditions).await?;
    if !first.is_success() {
        return Ok(Err(format!(
            "the command fails on its own, without any fault: it {}; its last words: {}{}",
            super::stand::how(&first),
            first.last_words(),
            kept_calls(stage)
        )));
    }
    let one = stand.snapshot().await?;
    let has_written = one.differs_from(&base)?;
    let log = stand.logs.last().cloned().unwrap_or_default();
    if !has_written {
        let hint = if stage.has_wire() && log.is_empty() {
            "it never connected to the database that it was given (DATABASE_URL, PG*, {db}): does it have an address of \
             its own? Then it has written there, and to no clone"
        } else {
            "is there nothing to load, or does it write elsewhere?"
        };
        return Ok(Err(format!("a clean run wrote nothing to this database: {hint}")));
    }
    if stage.has_wire() && log.is_empty() {
        return Ok(Err("the database changed, but no statement came by way of the wire: the command reaches the server by \
                       another address than the one it is given"
            .to_owned()));
    }
    let has_state = stand.workplace.has_state()?;
    let second = stand.run("repeat", &conditions).await?;
    let two = stand.snapshot().await?;
    let first_started = first.took;
    let first_stand = stand.give_back().await?;

    // The other clone's run starts in another second than the first one's, whatever these took.
    tokio::time::sleep(APART.saturating_sub(first_started)).await;
    let mut stand = Stand::new(stage).await?;
    if stage.is_postgres() {
        // Generated ids that are used without a foreign key (copied into a text, another column) differ then, and are found to
        // vary, instead of being the same in both clones by chance.
        snapshot::postgres::advance_sequences(stand.clone()?.url(), 1000).await?;
    }
    let other_end = stand.run("first run", &conditions).await?;
    if !other_end.is_success() {
        return Ok(Err(format!(
            "the command succeeds in one clone and fails in another, without any fault: it {}; its last words: {}",
            super::stand::how(&other_end),
            other_end.last_words()
        )));
    }
    let other = stand.snapshot().await?;
    let other_stand = stand.give_back().await?;

    let content = snapshot::calibrate(&one, &other, &stage.plan.ignore)?;
    if let Some(what) = content.unmatched.first() {
        return Err(Error::new(format!(
            "--ignore {what} names no table or column that is there after a clean run; write TABLE.COLUMN or TABLE.*"
        )));
    }
    let written = snapshot::across(&base, &one, &content)?;
    if written.tables.is_empty() && written.appeared.is_empty() && written.vanished.is_empty() {
        return Ok(Err(
            "a clean run wrote nothing that can be compared: all of it is left out by --ignore, or differs \
                       between two clean runs"
                .to_owned(),
        ));
    }
    let repeat = snapshot::within(&one, &two, &content)?;
    if stage.has_wire() && log.iter().all(|entry| entry.write == 0) {
        stage.selects_write = true;
    }
    let per_run = crate::judge::names_per_run(&one, &other);
    let mut logs = first_stand.logs.into_iter();
    Ok(Ok(Clean {
        base,
        one,
        two,
        repeat,
        second,
        content,
        log: numbered(logs.next().unwrap_or_default(), stage.selects_write),
        second_log: numbered(logs.next().unwrap_or_default(), stage.selects_write),
        changes: first_stand.changes.into_iter().next().unwrap_or_default(),
        took: first.took.max(other_end.took),
        runs: first_stand.runs,
        timeline: first_stand.timeline,
        has_state,
        per_run,
        _files: vec![first_stand.snapshots, other_stand.snapshots],
    }))
}

/// What the command may have missed: the answers to calls that were kept from going out.
fn kept_calls(stage: &Stage<'_>) -> String {
    let calls = stage.sink.as_ref().filter(|_| !stage.plan.lets_calls_out).map(Recorder::calls);
    let kept: Vec<String> = calls
        .into_iter()
        .flatten()
        .filter(|call| !call.is_idempotent)
        .map(|call| format!("{} {}", call.method, call.url))
        .collect();
    if kept.is_empty() {
        return String::new();
    }
    format!(
        ". Its calls ({}) were kept from going out, and answered with an empty object: --let-calls-out lets them out, in \
         every run",
        crate::judge::list(&kept)
    )
}

/// The log with its writes numbered, where SELECTs count.
fn numbered(mut log: Vec<crate::wire::Entry>, selects_write: bool) -> Vec<crate::wire::Entry> {
    use crate::wire::Kind;
    if selects_write {
        let mut write = 0;
        for entry in &mut log {
            if matches!(entry.kind, Kind::Read | Kind::Write | Kind::Commit) {
                write += 1;
                entry.write = write;
            }
        }
    }
    log
}
