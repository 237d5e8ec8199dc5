//! `truncated`: after a full first run, the input comes cut: to nothing, at a record's end, in the middle.

use std::collections::BTreeSet;

use super::outcome::{Outcome, Shown};
use super::stage::{Clean, Stage};
use super::stand::{Conditions, Leftovers, Stand, how};
use crate::class::Class;
use crate::error::{Error, Result};
use crate::input::{self, Cut};
use crate::judge::{Draft, likely_statement, list};
use crate::report::Evidence;
use crate::snapshot::{self, Difference};

/// The one that can tear a record comes last: what the others show to be bookkeeping is no torn record then.
const CUTS: [(Cut, &str, &str); 3] = [
    (Cut::Nothing, "nothing", "the input cut to nothing"),
    (Cut::Record, "record", "the input cut at a record's end"),
    (Cut::Middle, "middle", "the input cut in the middle"),
];

/// The trials.
pub(crate) async fn run(stage: &Stage<'_>, clean: &Clean) -> Outcome {
    let mut outcome = Outcome::default();
    if stage.plan.input.is_none() {
        outcome.because("it needs --input FILE: the file that the command reads");
        return outcome;
    }
    let mut books = BTreeSet::new();
    for (cut, id, name) in CUTS {
        let id = format!("truncated:{id}");
        outcome.trial(stage, &id, name, async || trial(stage, clean, cut, name, &mut books).await).await;
    }
    outcome
}

async fn trial(
    stage: &Stage<'_>,
    clean: &Clean,
    cut: Cut,
    name: &str,
    books: &mut BTreeSet<String>,
) -> Result<(Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    let file = stage.plan.input.as_ref().ok_or_else(|| Error::new("there is no input to cut"))?;
    let folder = tempfile::tempdir()
        .map_err(|error| Error::because("can't make a folder for the cut input", error))?;
    let Some(short) = input::cut(file, cut, folder.path())? else {
        let why = "the input is too short, or of a form that can't be cut so";
        return Ok((stand.give_back().await?, Shown::Unjudged(why.to_owned())));
    };
    stand.run("first run", &Conditions::default()).await?;
    let before = stand.snapshot().await?;
    stand.fault(name);
    let conditions = Conditions { input: Some(short), ..Conditions::default() };
    let ended = stand.run("run on the cut input", &conditions).await?;
    let after = stand.snapshot().await?;
    let difference = snapshot::within(&before, &after, &clean.content)?;
    let log = stand.logs.last().cloned().unwrap_or_default();
    if cut != Cut::Middle {
        // Cut between records, the input holds none that the whole doesn't: what is new is a record of the delivery.
        let is_touched = |rows: &snapshot::TableDifference| rows.added > rows.doubled;
        let touched = difference.tables.iter().filter(|(_, rows)| is_touched(rows));
        books.extend(touched.map(|(table, _)| table.clone()));
    }
    let drafts = judge(name, &how(&ended), &difference, clean, &log, cut == Cut::Middle, books);
    Ok((stand.give_back().await?, Shown::Judged(drafts)))
}

fn judge(
    name: &str,
    how: &str,
    difference: &Difference,
    clean: &Clean,
    log: &[crate::wire::Entry],
    may_tear: bool,
    books: &BTreeSet<String>,
) -> Vec<Draft> {
    let (mut absent, mut torn): (Vec<Evidence>, Vec<Evidence>) = (Vec::new(), Vec::new());
    for (table, rows) in &difference.tables {
        let evidence = crate::judge::figures(table, rows);
        // What any second run does is told by `twice`.
        let usual = clean.repeat.tables.get(table);
        let was = |of: fn(&snapshot::TableDifference) -> u64| usual.map_or(0, of);
        let gone = rows.removed.saturating_sub(rows.changed);
        if gone > was(|usual| usual.removed.saturating_sub(usual.changed)) {
            absent.push(evidence.clone());
        }
        // A column that varies by itself is set where it wasn't: rows are marked as absent with the time of it.
        if rows.restamped > was(|usual| usual.restamped) {
            absent.push(evidence.clone());
        }
        let tears = may_tear && !books.contains(table);
        if rows.changed > 0 && was(|usual| usual.changed) == 0 {
            // Many rows are marked as absent, or hold less than before; one with another value is half a record, or the
            // books' own.
            if rows.changed > 1 {
                absent.push(evidence.clone());
            } else if tears {
                torn.push(evidence.clone());
            }
        }
        let new = rows.added.saturating_sub(rows.changed);
        if tears && new > rows.doubled.min(new) {
            torn.push(evidence);
        }
    }
    absent.dedup_by(|one, other| one.table == other.table);
    torn.dedup_by(|one, other| one.table == other.table);
    let mut drafts = Vec::new();
    let words = |tables: &[Evidence], say: fn(&Evidence) -> String| -> String {
        list(&tables.iter().map(say).collect::<Vec<_>>())
    };
    if !absent.is_empty() || !difference.vanished.is_empty() {
        let mut said = words(&absent, |t| {
            if t.removed > t.changed {
                format!("{} rows gone from {} ({} → {})", t.removed - t.changed, t.table, t.expected, t.found)
            } else {
                let rows = if t.changed > 0 { format!("{} rows", t.changed) } else { "rows".to_owned() };
                format!("{rows} of {} changed in {}", t.table, list(&t.columns))
            }
        });
        if !difference.vanished.is_empty() {
            said = format!("{} dropped", list(&difference.vanished));
        }
        // What stands in staging is the last load's, and a shorter one leaves less there: worth a look, and no loss.
        let is_staging = absent.iter().all(|t| crate::judge::is_staging(&t.table))
            && difference.vanished.iter().all(|table| crate::judge::is_staging(table));
        let why = if is_staging {
            "By its name that is staging, which holds what the last run has read; if anything else reads it, half of it is missing."
        } else {
            "What wasn't in the cut file was taken for deleted."
        };
        let draft =
            Draft::new(Class::DeleteByAbsence, format!("With {name}, the command {how}: {said}. {why}"))
                .statement(likely_statement(log, &absent))
                .tables(absent);
        drafts.push(if is_staging { draft.remark() } else { draft });
    }
    if !torn.is_empty() {
        let said = words(&torn, |t| {
            format!(
                "{} rows in {} that the whole input doesn't give",
                (t.added - t.changed) + t.changed,
                t.table
            )
        });
        drafts.push(
            Draft::new(Class::TornRecord, format!("With {name}, the command {how}: {said}."))
                .statement(likely_statement(log, &torn))
                .tables(torn),
        );
    }
    drafts
}
