//! `late`: the same run again at another time of day, in another time zone, and on a server whose clock has moved.

use std::ffi::OsString;
use std::time::Duration;

use super::outcome::{Outcome, Shown};
use super::stage::{Clean, Stage};
use super::stand::{Conditions, Leftovers, Stand, how};
use crate::class::Class;
use crate::clock;
use crate::error::{Error, Result};
use crate::judge::{Draft, Wrong, likely_statement};
use crate::snapshot;

/// Far enough for another day, month, quarter and year to have begun somewhere.
const AHEAD: Duration = Duration::from_hours(24 * 400 + 7);
/// A retry on the next day.
const NEXT_DAY: Duration = Duration::from_hours(25);

/// A way of being late.
#[derive(Debug, Clone, Copy)]
enum Lateness {
    Clock(Duration),
    Zone(&'static str),
    Server,
}

/// The trials.
pub(crate) async fn run(stage: &Stage<'_>, clean: &Clean) -> Outcome {
    let mut outcome = Outcome::default();
    let library = clock::library();
    let mut ways = Vec::new();
    if library.is_some() {
        ways.push(("late:day", "run again a day later", Lateness::Clock(NEXT_DAY)));
        ways.push(("late:year", "run again 400 days later", Lateness::Clock(AHEAD)));
    } else {
        outcome.because(
            "only time zones were tried: libfaketime isn't installed (Debian: apt install libfaketime), so the clock \
             could not be moved",
        );
    }
    ways.push((
        "late:zone-east",
        "run again in the zone Pacific/Kiritimati",
        Lateness::Zone("Pacific/Kiritimati"),
    ));
    ways.push(("late:zone-west", "run again in the zone Pacific/Niue", Lateness::Zone("Pacific/Niue")));
    if stage.is_postgres() && library.is_some() {
        ways.push(("late:server", "run again on a server whose clock is 400 days ahead", Lateness::Server));
    }
    for (id, name, way) in ways {
        let library = library.clone();
        outcome
            .trial(stage, id, name, async || trial(stage, clean, way, name, library.as_deref()).await)
            .await;
    }
    outcome
}

async fn trial(
    stage: &Stage<'_>,
    clean: &Clean,
    way: Lateness,
    name: &str,
    library: Option<&std::path::Path>,
) -> Result<(Leftovers, Shown)> {
    let mut stand = Stand::new(stage).await?;
    let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let mut late = Conditions::default();
    let mut first = Conditions::default();
    let mut server = None;
    match (way, library) {
        (Lateness::Clock(ahead), Some(library)) => late.environment = clock::environment(library, ahead),
        (Lateness::Zone(zone), _) => late.environment = vec![set("TZ", zone), set("PGTZ", zone)],
        (Lateness::Server, Some(_)) => {
            let url = stand.clone()?.url().to_owned();
            match clock::Server::start(major_version(&url).await?).await? {
                Ok(started) => {
                    let copy = started.copy_of(&url).await?;
                    first.database = Some(copy.clone());
                    late.database = Some(copy);
                    server = Some(started);
                }
                Err(why) => return Ok((stand.give_back().await?, Shown::Unjudged(why))),
            }
        }
        (_, None) => {
            let why = "libfaketime isn't installed";
            return Ok((stand.give_back().await?, Shown::Unjudged(why.to_owned())));
        }
    }
    let ended = stand.run("first run", &first).await?;
    if !ended.is_success() {
        let why = format!("the first run {} there; its last words: {}", how(&ended), ended.last_words());
        return Ok((stand.give_back().await?, Shown::Unjudged(why)));
    }
    if let (Some(server), Some(library)) = (&mut server, library) {
        server.set_ahead(AHEAD, library).await?;
    }
    stand.fault(name);
    let ended = stand.run("late run", &late).await?;
    let left = match &late.database {
        Some(url) => stand.snapshot_of(url).await?,
        None => stand.snapshot().await?,
    };
    let log = stand.logs.last().cloned().unwrap_or_default();
    // What any second run does is no fault of the clock's.
    let difference = snapshot::across(&clean.two, &left, &clean.content)?;
    let wrong = Wrong::of(&difference, &|name| super::heal::is_per_run(clean, name));
    drop(server);
    if !ended.is_success() && clean.second.is_success() {
        // A moved clock alone makes some programs fail (Python's time.sleep under libfaketime 0.9.10): no finding.
        let why = format!(
            "the late run {}, where a repeat at the usual time succeeds; its last words: {}",
            how(&ended),
            ended.last_words()
        );
        return Ok((stand.give_back().await?, Shown::Unjudged(why)));
    }
    if wrong.is_data_right() {
        return Ok((stand.give_back().await?, Shown::Judged(Vec::new())));
    }
    let tables = wrong.tables();
    let draft = Draft::new(
        Class::PeriodFromClock,
        format!(
            "{}, the same run on the same input leaves something else: {}. What it loads depends on when and where it runs.",
            capital(name),
            wrong.words()
        ),
    )
    .statement(likely_statement(&log, &tables))
    .tables(tables);
    Ok((stand.give_back().await?, Shown::Judged(vec![draft])))
}

async fn major_version(url: &str) -> Result<u32> {
    let failed = |error| Error::because("the server doesn't tell its version", error);
    let client = crate::wire::dial::connect(url).await?;
    let row =
        client.query_one("SELECT current_setting('server_version_num')::int", &[]).await.map_err(failed)?;
    Ok(row.get::<_, i32>(0).unsigned_abs() / 10_000)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
