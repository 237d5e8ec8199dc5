//! `together`: two runs at once, and one held at a chosen write until the other has passed it.

use std::time::Duration;

use super::heal::{against_one, is_per_run};
use super::moments::spread;
use super::outcome::{Outcome, Shown};
use super::stage::{Clean, Stage};
use super::stand::{Conditions, Going, Halt, Leftovers, Stand, how};
use crate::class::Class;
use crate::error::Result;
use crate::judge::{Draft, Wrong, is_named, likely_statement, shortened};
use crate::wire::{At, Entry, Fault, Kind};

/// How often it is looked whether the second run waits for the first.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A second run that moves nothing on its wire for so long, and for as long as a whole clean run takes (some need many seconds
/// before they connect), waits for something that can't be seen: a file's lock.
const STILL: Duration = Duration::from_secs(5);

/// The same where its file is watched, and a run takes no time to speak of.
const QUIET: Duration = Duration::from_secs(2);

/// How the two meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meeting {
    /// Started together, left to themselves: the n-th time.
    AtOnce(u64),
    /// The first is held before this write until the second is through.
    Held(u64),
    /// The first is stopped just after the n-th change of its file, where there is no wire.
    Changed(u64),
    /// The first is stopped at so many thousandths of its time, where there is neither.
    Stopped(u64),
}

/// The trials.
pub(crate) async fn run(stage: &Stage<'_>, clean: &Clean) -> Outcome {
    let mut outcome = Outcome::default();
    let mut chance = stage.chance("together");
    let mut meetings = vec![Meeting::AtOnce(1), Meeting::AtOnce(2)];
    let most = stage.plan.trials.saturating_sub(3).clamp(3, 5);
    if stage.has_wire() {
        meetings.extend(spread(clean.writes(), most, &mut chance).into_iter().map(Meeting::Held));
    } else if !clean.changes.is_empty() {
        let numbers = spread(clean.changes.len() as u64, most, &mut chance);
        meetings.extend(numbers.into_iter().map(Meeting::Changed));
    } else {
        meetings.extend(spread(1000, most, &mut chance).into_iter().map(Meeting::Stopped));
    }
    for meeting in meetings {
        let (id, name) = match meeting {
            Meeting::AtOnce(nth) => {
                (format!("together:at-once:{nth}"), "two runs started at once".to_owned())
            }
            Meeting::Held(write) => {
                let text = clean
                    .write(write)
                    .map_or(String::new(), |entry| format!(" ({})", shortened(&entry.text, 50)));
                let name = format!(
                    "one run held before write {write} of {}{text} until another has passed",
                    clean.writes()
                );
                (format!("together:held:{write}"), name)
            }
            Meeting::Changed(nth) => (
                format!("together:change:{nth}"),
                format!("one run stopped just after {} until another has passed", clean.change(nth)),
            ),
            Meeting::Stopped(share) => (
                format!("together:stopped:{share}"),
                format!(
                    "one run stopped at {}.{} % of its time until another has passed",
                    share / 10,
                    share % 10
                ),
            ),
        };
        outcome.trial(stage, &id, &name, async || trial(stage, clean, meeting, &name).await).await;
    }
    outcome
}

async fn trial(stage: &Stage<'_>, clean: &Clean, meeting: Meeting, name: &str) -> Result<(Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    let mut other = stand.second_workplace().await?;
    let faults = match meeting {
        Meeting::Held(write) => vec![Fault::Hold(At::Write(write))],
        Meeting::AtOnce(_) | Meeting::Changed(_) | Meeting::Stopped(_) => Vec::new(),
    };
    let halt = match meeting {
        Meeting::Changed(nth) => Some((nth, Halt::Pause)),
        _ => None,
    };
    let mut first = stand.begin("run A", &Conditions { faults, halt, ..Conditions::default() }).await?;
    match meeting {
        Meeting::AtOnce(_) => {}
        Meeting::Held(_) => {
            let armed = first.armed[0].clone();
            tokio::select! {
                () = armed.fired() => stand.fault(format!("run A is held: {name}")),
                ended = first.running.ended_within(stage.limit()) => { ended?; }
            }
        }
        Meeting::Changed(_) => {
            if let Some(watch) = &first.watch {
                tokio::select! {
                    () = watch.fired() => stand.fault(format!("run A is stopped: {name}")),
                    ended = first.running.ended_within(stage.limit()) => { ended?; }
                }
            }
        }
        Meeting::Stopped(share) => {
            first.running.ended_within(clean.took * share as u32 / 1000).await?;
            first.running.pause();
            stand.fault("run A is stopped");
        }
    }
    std::mem::swap(&mut stand.workplace, &mut other);
    let mut second = stand.begin("run B", &Conditions::default()).await?;
    if !matches!(meeting, Meeting::AtOnce(_)) {
        let why = until_passed(&stand, &mut second, stage, clean.took).await?;
        stand.fault(format!("run A goes on: {why}"));
        if let Some(armed) = first.armed.first() {
            armed.release();
        }
        first.running.resume();
    }
    let limit = stage.limit();
    let (first_ended, second_ended) = tokio::join!(first.running.ended(limit), second.running.ended(limit));
    let first_ended = stand.keep(first, first_ended?).await?;
    let second_ended = stand.keep(second, second_ended?).await?;
    let log: Vec<Entry> = stand.logs.iter().flatten().cloned().collect();

    let left = stand.snapshot().await?;
    let mut wrong = against_one(clean, &left)?;
    let failed: Vec<_> = [("A", &first_ended), ("B", &second_ended)]
        .into_iter()
        .filter(|(_, ended)| !ended.is_success())
        .collect();
    let mut drafts = Vec::new();
    for (which, ended) in &failed {
        if ended.is_timed_out {
            drafts.push(Draft::new(
                Class::Hangs,
                format!("Of two runs at once ({name}), run {which} never ended."),
            ));
        }
    }
    // What both have left, if both claim success; else what the re-run makes of it.
    if !failed.is_empty() {
        let ended = stand.run("clean re-run", &Conditions::default()).await?;
        let after = stand.snapshot().await?;
        wrong = against_one(clean, &after)?;
        if !ended.is_success() && !wrong.is_nothing() {
            drafts.push(Draft::new(
                Class::Stuck,
                format!(
                    "After two runs at once ({name}) the next run fails as well: it {}; its last words: {}",
                    how(&ended),
                    ended.last_words()
                ),
            ));
        }
    }
    drafts.extend(judge(name, &wrong, clean, &log));
    let lost = failed.iter().find(|(_, ended)| !ended.is_timed_out);
    if let (Some((which, ended)), true) = (lost, wrong.is_data_right()) {
        drafts.push(loser(name, which, ended, &log));
    }
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

/// Waits until the second run is through, or waits for the first one.
async fn until_passed(
    stand: &Stand<'_, '_>,
    second: &mut Going,
    stage: &Stage<'_>,
    usual: Duration,
) -> Result<&'static str> {
    let deadline = std::time::Instant::now() + stage.limit();
    loop {
        if second.running.ended_within(LOOK_EVERY).await?.is_some() {
            return Ok("run B is through");
        }
        if stand.clone()?.is_blocked().await? {
            return Ok("run B waits for a lock of it");
        }
        // Its own patience with a lock may be no longer than five seconds: where a stopped run has the file's, that is seen
        // by the other's having changed nothing in more time than a whole run takes.
        let (idle, patience) = match (&second.proxy, &second.watch) {
            (Some(proxy), _) => (proxy.idle_for(), STILL.max(usual)),
            (None, Some(watch)) => (watch.idle_for(), usual.saturating_mul(2).clamp(QUIET, STILL)),
            (None, None) => (second.started.elapsed(), STILL),
        };
        if idle > patience && second.started.elapsed() > patience {
            return Ok("run B does nothing more");
        }
        if std::time::Instant::now() > deadline {
            return Ok("run B takes too long");
        }
    }
}

fn judge(name: &str, wrong: &Wrong, clean: &Clean, log: &[Entry]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let left: Vec<String> = wrong.left.iter().filter(|name| !is_per_run(clean, name)).cloned().collect();
    if !left.is_empty() {
        drafts.push(Draft::new(
            Class::StagingLeft,
            format!("Two runs at once ({name}) leave something behind: {}.", crate::judge::list(&left)),
        ));
    }
    if wrong.is_data_right() {
        return drafts;
    }
    let tables = wrong.tables();
    let is_lost = !wrong.missing.is_empty() || !wrong.vanished.is_empty();
    let was_unsafe = tables.iter().all(|evidence| !clean.is_repeatable(&evidence.table));
    let (class, why) = match (is_lost, was_unsafe) {
        (true, _) => (Class::SharedStaging, "They got into each other's way, and rows were lost"),
        (false, false) if shares_staging(log, &tables) => {
            (Class::SharedStaging, "Both filled one staging table, and each took the other's rows along")
        }
        (false, false) if is_replaced(log, &tables) => {
            (Class::SharedStaging, "Both emptied the same place, and both filled it")
        }
        (false, true) if wrong.doubled.is_empty() && wrong.extra.is_empty() => {
            (Class::Accumulated, "Each changed the values once more, as any second run does")
        }
        (false, true) => (Class::Appended, "Each added its rows, as any second run does"),
        (false, false) => (Class::CheckThenInsert, "Both looked, both found nothing, and both wrote"),
    };
    drafts.push(
        Draft::new(class, format!("Two runs at once ({name}): {}. {why}.", wrong.words()))
            .statement(likely_statement(log, &tables))
            .tables(tables),
    );
    drafts
}

/// Whether each of these tables is written to by statements that begin with deleting from it, and nothing is read from it.
fn is_replaced(log: &[Entry], tables: &[crate::report::Evidence]) -> bool {
    tables.iter().all(|table| {
        let first = log.iter().find(|entry| {
            matches!(entry.kind, Kind::Write | Kind::Read)
                && is_named(&entry.text, table.table.rsplit('.').next().unwrap_or(&table.table))
        });
        first.is_some_and(|entry| {
            let verb = shortened(&entry.text, 20).to_lowercase();
            verb.starts_with("delete ") || verb.starts_with("truncate ")
        })
    })
}

/// Whether a table is emptied or made in the run, is no temporary one, and its rows go into one of these.
fn shares_staging(log: &[Entry], tables: &[crate::report::Evidence]) -> bool {
    let words = |text: &str| -> Vec<String> {
        let is_part = |c: char| c.is_alphanumeric() || "_.\"".contains(c);
        let all = text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty());
        all.map(|word| word.trim_matches('"').to_lowercase()).collect()
    };
    let bare = |name: &str| name.rsplit('.').next().unwrap_or(name).trim_matches('"').to_lowercase();
    let targets: Vec<String> = tables.iter().map(|evidence| bare(&evidence.table)).collect();
    let texts: Vec<Vec<String>> =
        log.iter().filter(|entry| entry.write > 0).map(|entry| words(&entry.text)).collect();
    let emptied = texts.iter().filter_map(|text| {
        let mut at = text.iter().map(String::as_str).filter(|word| {
            !matches!(
                *word,
                "table" | "from" | "only" | "if" | "exists" | "not" | "unlogged" | "restart" | "identity"
            )
        });
        let (verb, name) = (at.next()?, at.next()?);
        let is_emptied = match verb {
            "truncate" | "create" | "drop" => true,
            "delete" => !text.iter().any(|word| word == "where"),
            _ => false,
        };
        (is_emptied && !matches!(name, "temp" | "temporary")).then(|| bare(name))
    });
    let emptied: Vec<String> = emptied.collect();
    texts.iter().any(|text| {
        let has = |name: &String| text.iter().any(|word| bare(word) == *name);
        text.first().is_some_and(|verb| verb != "truncate" && verb != "create")
            && emptied.iter().any(has)
            && targets.iter().filter(|name| !emptied.contains(name)).any(has)
    })
}

/// One of the two failed, and all is well after the next run.
fn loser(name: &str, which: &str, ended: &crate::command::Ended, log: &[Entry]) -> Draft {
    let code = log.iter().rev().filter_map(|entry| entry.sqlstate.as_deref()).find(|code| *code != "25P02");
    // A table is there already, or is gone; of PostgreSQL, then of MySQL. 21000: rows of both runs in one staging table, so
    // that an upsert meets a key twice.
    let shared = matches!(code, Some("42P07" | "42P01" | "42701" | "21000" | "42S01" | "42S02" | "42S21"));
    let class = if shared { Class::SharedStaging } else { Class::NotRetried };
    let said = code.map_or(String::new(), |code| format!(" after {code}"));
    Draft::new(
        class,
        format!(
            "Of two runs at once ({name}), run {which} {}{said}; the next run made it good. Its last words: {}",
            how(ended),
            ended.last_words()
        ),
    )
    .remark()
}
