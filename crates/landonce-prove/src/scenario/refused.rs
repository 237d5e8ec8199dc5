//! `refused`: the server answers with a failure that passes, once; and with one that doesn't, for as long as it is tried.

mod refusal;

use super::heal::{Healed, heal, usual};
use super::moments::spread;
use super::outcome::{Outcome, Shown};
use super::stage::{Clean, Stage};
use super::stand::{Conditions, Leftovers, Stand, how};
use crate::class::Class;
use crate::command::Ended;
use crate::error::Result;
use crate::judge::{Draft, likely_statement, shortened};
use crate::wire::{At, Entry, Kind};
use refusal::Refusal;

/// How many writes in a row are refused with a failure that lasts. Whoever tries so often doesn't look at the code.
const PATIENCE: u64 = 12;
/// And how many at most, however many statements a run sends at once.
const MOST_REFUSALS: u64 = 2000;

/// The trials.
pub(crate) async fn run(stage: &Stage<'_>, clean: &Clean) -> Outcome {
    let mut outcome = Outcome::default();
    if !stage.has_wire() {
        outcome.because("SQLite has no wire, and no server that could refuse");
        return outcome;
    }
    let last = clean.writes();
    // Every code at the first write and at the last, which is the COMMIT; some also in between.
    let mut chance = stage.chance("refused");
    let middle = spread(last, 3, &mut chance);
    let mut moments = Vec::new();
    let kind = stage.source.kind();
    for &refusal in refusal::passing(kind) {
        for &write in &middle {
            let is_end = write == 1 || write == last;
            if is_end || refusal.is_everywhere {
                moments.push((refusal, write));
            }
        }
    }
    for (refusal, write) in moments {
        let text =
            clean.write(write).map_or(String::new(), |entry| format!(" ({})", shortened(&entry.text, 50)));
        let name = format!("{} at write {write} of {last}{text}", refusal.words());
        let id = format!("refused:{}:{write}", refusal.code);
        outcome.trial(stage, &id, &name, async || trial(stage, clean, refusal, write, &name).await).await;
    }
    let (lasting, _) = refusal::lasting(kind);
    let name = format!("{} at the first write, however often it is tried", lasting.words());
    outcome.trial(stage, "refused:lasting", &name, async || lasts(stage, clean, &name).await).await;
    outcome
}

async fn trial(
    stage: &Stage<'_>,
    clean: &Clean,
    refusal: Refusal,
    write: u64,
    name: &str,
) -> Result<(Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    let conditions = Conditions { faults: vec![refusal.fault(At::Write(write))], ..Conditions::default() };
    let going = stand.begin("faulted run", &conditions).await?;
    let armed = going.armed.clone();
    let ended = stand.finish(going).await?;
    let Some(refused) = armed.first().filter(|armed| armed.has_fired()).and_then(crate::wire::Armed::at)
    else {
        let why = "the run ended before that write came: it doesn't always do the same writes";
        return Ok((stand.give_back().await?, Shown::Unjudged(why.to_owned())));
    };
    stand.fault(name);
    let log = stand.logs.last().cloned().unwrap_or_default();
    let healed = heal(stage, clean, &mut stand, &ended).await?;
    let drafts = judge(name, refusal, &ended, &healed, clean, &log, &refused);
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

fn judge(
    fault: &str,
    refusal: Refusal,
    ended: &Ended,
    healed: &Healed,
    clean: &Clean,
    log: &[Entry],
    refused: &Entry,
) -> Vec<Draft> {
    let mut drafts = usual(fault, ended, healed, clean);
    let alone = retried_alone(log, refused);
    if let Some(wrong) = healed.at_once.as_ref().filter(|wrong| !wrong.is_data_right()) {
        let tables = wrong.tables();
        let (class, why) = if alone {
            (
                Class::StatementRetry,
                "One statement was tried again; what its transaction had done before was lost",
            )
        } else if wrong.missing.is_empty() && wrong.vanished.is_empty() {
            (Class::BlindReplay, "What had been done before the failure was done again")
        } else {
            (Class::FalseSuccess, "The error was swallowed")
        };
        drafts.push(
            Draft::new(
                class,
                format!("With {fault}, the command {}, and: {}. {why}.", how(ended), wrong.words()),
            )
            .statement(likely_statement(log, &tables).or_else(|| Some(shortened(&refused.text, 400))))
            .tables(tables),
        );
        return drafts;
    }
    if let Some(wrong) = healed.afterwards.as_ref().filter(|wrong| !wrong.is_data_right()) {
        let tables = wrong.tables();
        let class = super::killed::class(wrong, clean);
        drafts.push(
            Draft::new(
                class,
                format!("With {fault}, the command {}; then run again: {}.", how(ended), wrong.words()),
            )
            .statement(likely_statement(&healed.log, &tables))
            .tables(tables),
        );
        return drafts;
    }
    let in_failed = log.iter().filter(|entry| entry.sqlstate.as_deref() == Some("25P02")).count();
    if in_failed > 0 && alone {
        drafts.push(
            Draft::new(
                Class::StatementRetry,
                format!(
                    "With {fault}, the statement was tried again {in_failed} times inside its failed transaction, where \
                     nothing can succeed (25P02)."
                ),
            )
            .statement(Some(shortened(&refused.text, 400)))
            .remark(),
        );
    } else if !ended.is_success() && healed.stuck.is_none() && refusal.asks_again && !ended.is_timed_out {
        drafts.push(Draft::new(
            Class::NotRetried,
            format!(
                "With {fault}, the command {} instead of running its transaction again; the next run made it good.",
                how(ended)
            ),
        ));
    }
    drafts
}

/// Whether the refused statement was sent again without what came before it in its transaction.
fn retried_alone(log: &[Entry], refused: &Entry) -> bool {
    if !refused.is_in_transaction {
        return false;
    }
    let after: Vec<&Entry> = log
        .iter()
        .filter(|entry| entry.statement > refused.statement && entry.session == refused.session)
        .collect();
    let again = after.iter().position(|entry| entry.text == refused.text && entry.kind != Kind::Commit);
    let Some(again) = again else { return false };
    // The writes of the refused one's transaction that came before it.
    let before: Vec<&Entry> = log
        .iter()
        .filter(|entry| entry.session == refused.session && entry.statement < refused.statement)
        .rev()
        .take_while(|entry| !matches!(entry.kind, Kind::Begin | Kind::Commit | Kind::Rollback))
        .filter(|entry| entry.kind == Kind::Write)
        .collect();
    if before.is_empty() {
        return log.iter().any(|entry| entry.sqlstate.as_deref() == Some("25P02"));
    }
    before.iter().any(|write| after[..again].iter().all(|entry| entry.text != write.text))
}

async fn lasts(stage: &Stage<'_>, clean: &Clean, name: &str) -> Result<(Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    let (refusal, sqlstate) = refusal::lasting(stage.source.kind());
    // A pipeline of statements (executemany) meets one refusal for each of them in a single attempt.
    let first = clean.write(1).map_or("", |entry| entry.text.as_str());
    let usual = clean.log.iter().filter(|entry| entry.text == first).count().max(1);
    let refusals = (PATIENCE * usual as u64).min(MOST_REFUSALS);
    let faults = (1..=refusals).map(|write| refusal.fault(At::Write(write))).collect();
    let going = stand.begin("faulted run", &Conditions { faults, ..Conditions::default() }).await?;
    let ended = stand.finish(going).await?;
    stand.fault(name);
    let log = stand.logs.last().cloned().unwrap_or_default();
    let sent = log.iter().filter(|entry| entry.text == first).count();
    // Of a pipeline only the first is answered by the refusal; the server skips the others.
    let told =
        log.iter().filter(|entry| entry.sqlstate.as_deref() == Some(sqlstate) && entry.text == first).count();
    let mut drafts = Vec::new();
    // A loop over rows that goes on after a bad one sends as many as a clean run: whoever stops before, or sends them all
    // again, tries the same.
    if told >= 3 && (told < usual || sent >= 3 * usual) {
        let draft = Draft::new(
            Class::FutileRetry,
            format!(
                "A violated constraint ({}) can't pass by itself, and the write was tried {told} times; then the command {}.",
                refusal.code,
                how(&ended)
            ),
        )
        .statement(Some(shortened(first, 400)));
        drafts.push(if ended.is_timed_out { draft } else { draft.remark() });
    }
    if ended.is_success() {
        let left = stand.snapshot().await?;
        let wrong = super::heal::against_one(clean, &left)?;
        if !wrong.is_data_right() {
            let tables = wrong.tables();
            drafts.push(
                Draft::new(
                    Class::FalseSuccess,
                    format!(
                        "With {name}, the command {}, and: {}. The error was swallowed.",
                        how(&ended),
                        wrong.words()
                    ),
                )
                .statement(likely_statement(&log, &tables))
                .tables(tables),
            );
        }
    }
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}
