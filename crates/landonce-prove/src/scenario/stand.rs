//! The apparatus of one trial: a fresh clone, a fresh folder, the wire in between, and a record of what happened.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::stage::Stage;
use crate::command::{Ended, Running, Setting, Workplace};
use crate::database::{Clone as Database, Kind};
use crate::error::{Error, Result};
use crate::recorder::Recorder;
use crate::report::{Moment, Run};
use crate::snapshot::Snapshot;
use crate::watch::{Change, Watch};
use crate::wire::{Armed, Entry, Fault, Proxy, Wire};

/// What is different about one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conditions {
    /// Faults of the wire.
    pub(crate) faults: Vec<Fault>,
    /// What happens at the n-th change of a watched file.
    pub(crate) halt: Option<(u64, Halt)>,
    /// More variables.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Another input than the plan's.
    pub(crate) input: Option<PathBuf>,
    /// A URL for webhooks.
    pub(crate) hook: Option<String>,
    /// Another database than the stand's clone: its URL.
    pub(crate) database: Option<String>,
}

/// What becomes of the process at a change of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// SIGKILL.
    Kill,
    /// SIGSTOP.
    Pause,
}

/// One trial's apparatus.
pub(crate) struct Stand<'s, 'p> {
    stage: &'s Stage<'p>,
    /// The clone; `None` once it is given back.
    clone: Option<Database>,
    /// The folder in which the command works.
    pub(crate) workplace: Workplace,
    snapshots: TempDir,
    taken: usize,
    began: Instant,
    /// What happened so far.
    pub(crate) timeline: Vec<Moment>,
    /// The runs so far.
    pub(crate) runs: Vec<Run>,
    /// The statements of each run.
    pub(crate) logs: Vec<Vec<Entry>>,
    /// What each run changed in the file that was watched.
    pub(crate) changes: Vec<Vec<Change>>,
}

/// A run that is going on.
pub(crate) struct Going {
    role: String,
    /// The wire, where there is one.
    pub(crate) proxy: Option<Wire>,
    /// The faults, in the order of the conditions.
    pub(crate) armed: Vec<Armed>,
    /// The watch over its file, where there is one.
    pub(crate) watch: Option<Watch>,
    /// The process.
    pub(crate) running: Running,
    /// When it was started.
    pub(crate) started: Instant,
}

impl<'s, 'p> Stand<'s, 'p> {
    /// A new clone and a new folder.
    pub(crate) async fn new(stage: &'s Stage<'p>) -> Result<Self> {
        let workplace = Workplace::new(&stage.plan.folder).await?;
        let snapshots =
            TempDir::new().map_err(|error| Error::because("can't make a folder for snapshots", error))?;
        Ok(Self {
            clone: Some(stage.source.fresh().await?),
            stage,
            workplace,
            snapshots,
            taken: 0,
            began: Instant::now(),
            timeline: Vec::new(),
            runs: Vec::new(),
            logs: Vec::new(),
            changes: Vec::new(),
        })
    }

    /// The same clone, for a run on another machine: a new folder.
    pub(crate) async fn elsewhere(&mut self) -> Result<()> {
        self.workplace = Workplace::new(&self.stage.plan.folder).await?;
        self.note("from here on in a fresh folder, as on another machine");
        Ok(())
    }

    /// A folder for a second run beside the first one's.
    pub(crate) async fn second_workplace(&self) -> Result<Workplace> {
        Workplace::new(&self.stage.plan.folder).await
    }

    /// The clone.
    pub(crate) fn clone(&self) -> Result<&Database> {
        self.clone.as_ref().ok_or_else(|| Error::new("the trial's database has been given back"))
    }

    /// Writes down what happens.
    pub(crate) fn note(&mut self, what: impl Into<String>) {
        self.moment(what.into(), false);
    }

    /// Writes down a fault of ours.
    pub(crate) fn fault(&mut self, what: impl Into<String>) {
        self.moment(what.into(), true);
    }

    fn moment(&mut self, what: String, is_fault: bool) {
        self.timeline.push(Moment { at: self.began.elapsed().as_millis() as u64, what, is_fault });
    }

    /// Starts a run.
    pub(crate) async fn begin(&mut self, role: &str, conditions: &Conditions) -> Result<Going> {
        let direct = match &conditions.database {
            Some(url) => url.clone(),
            None => self.clone()?.url().to_owned(),
        };
        let proxy = match self.stage.source.kind() {
            Kind::Postgres => Some(Wire::Postgres(Proxy::start(&direct).await?)),
            #[cfg(feature = "mysql")]
            Kind::Mysql => Some(Wire::Mysql(crate::wire::mysql::Proxy::start(&direct).await?)),
            #[cfg(not(feature = "mysql"))]
            Kind::Mysql => None,
            Kind::Sqlite => None,
        };
        if let Some(proxy) = &proxy {
            proxy.count_selects_as_writes(self.stage.counts_selects());
        }
        let armed = match &proxy {
            Some(proxy) => conditions.faults.iter().map(|fault| proxy.arm(fault.clone())).collect(),
            None => Vec::new(),
        };
        let original = self.stage.plan.input.clone();
        let input = match (&original, &conditions.input) {
            (Some(original), other) => {
                let name = original
                    .file_name()
                    .ok_or_else(|| Error::new(format!("--input {} names no file", original.display())))?;
                Some(self.workplace.place_input(name, other.as_ref().unwrap_or(original))?)
            }
            (None, _) => None,
        };
        // A run that isn't there to be listened to: its calls go nowhere.
        let sink = self.stage.sink.as_ref().filter(|_| conditions.hook.is_none());
        let mut environment = match sink {
            Some(sink) if !self.stage.plan.lets_calls_out => sink.environment(),
            _ => Vec::new(),
        };
        environment.extend(conditions.environment.iter().cloned());
        let setting = Setting {
            source_url: Some(self.stage.plan.database.clone()),
            url: proxy.as_ref().map_or(direct, |proxy| proxy.url().to_owned()),
            original_input: original,
            input,
            hook: conditions.hook.clone().or_else(|| sink.map(Recorder::hook_url)),
            environment,
            without: Vec::new(),
        };
        // Where nothing can be watched, nothing is known of changes, and moments are shares of time.
        let watch = self.clone()?.path().and_then(|file| Watch::start(file).ok());
        let running = self.workplace.start(&self.stage.plan.command, &setting).await?;
        if let (Some(watch), Some(group), Some((nth, halt))) = (&watch, running.group(), conditions.halt) {
            watch.at(nth, move || match halt {
                Halt::Kill => group.kill(),
                Halt::Pause => group.pause(),
            });
        }
        self.note(format!("{role} starts"));
        Ok(Going { role: role.to_owned(), proxy, armed, watch, running, started: Instant::now() })
    }

    /// Waits for a run's end and writes it down.
    pub(crate) async fn finish(&mut self, mut going: Going) -> Result<Ended> {
        let ended = going.running.ended(self.stage.limit()).await?;
        self.keep(going, ended).await
    }

    /// Writes down a run that has ended.
    pub(crate) async fn keep(&mut self, going: Going, ended: Ended) -> Result<Ended> {
        let log = going.proxy.as_ref().map(Wire::log);
        let is_tls_demanded = going.proxy.as_ref().is_some_and(Wire::is_tls_demanded);
        // What is still on its way is over with the proxy; the server may take a moment to see it.
        drop(going.proxy);
        // Nobody else is told of what we do to the file.
        let changes = going.watch.as_ref().map(Watch::changes).unwrap_or_default();
        drop(going.watch);
        self.clone()?.settle().await?;
        self.note(format!("{} {}", going.role, how(&ended)));
        if is_tls_demanded && !ended.is_success() {
            return Err(Error::new(
                "the command insists on TLS, and the wire to the clone has none: give it sslmode=disable \
                 (PGSSLMODE=disable is set; a URL of its own may say otherwise; MySQL's and MariaDB's clients: \
                 --skip-ssl)",
            ));
        }
        self.runs.push(Run {
            role: going.role,
            ended: ended.clone(),
            writes: log.as_ref().map(|log| log.iter().filter(|entry| entry.write > 0).count() as u64),
        });
        self.logs.push(log.unwrap_or_default());
        self.changes.push(changes);
        Ok(ended)
    }

    /// A whole run.
    pub(crate) async fn run(&mut self, role: &str, conditions: &Conditions) -> Result<Ended> {
        let going = self.begin(role, conditions).await?;
        self.finish(going).await
    }

    /// Kills a run as a machine dies: the process, and its connections.
    pub(crate) async fn kill(&mut self, mut going: Going) -> Result<Ended> {
        going.running.kill();
        if let Some(proxy) = &going.proxy {
            proxy.cut();
        }
        let ended = going.running.ended(Duration::from_secs(20)).await?;
        self.keep(going, ended).await
    }

    /// Reads the clone.
    pub(crate) async fn snapshot(&mut self) -> Result<Snapshot> {
        let folder = self.snapshot_folder()?;
        self.clone()?.snapshot(&folder).await
    }

    /// Reads another PostgreSQL database in the clone's place.
    pub(crate) async fn snapshot_of(&mut self, url: &str) -> Result<Snapshot> {
        let folder = self.snapshot_folder()?;
        crate::snapshot::postgres::read(url, &folder).await
    }

    fn snapshot_folder(&mut self) -> Result<PathBuf> {
        let folder = self.snapshots.path().join(self.taken.to_string());
        self.taken += 1;
        std::fs::create_dir(&folder)
            .map_err(|error| Error::because("can't make a folder for a snapshot", error))?;
        Ok(folder)
    }

    /// Gives the clone back, keeps the snapshots' files for as long as the returned folder lives.
    pub(crate) async fn give_back(mut self) -> Result<Leftovers> {
        if let Some(clone) = self.clone.take() {
            clone.discard().await?;
        }
        Ok(Leftovers {
            snapshots: self.snapshots,
            timeline: self.timeline,
            runs: self.runs,
            logs: self.logs,
            changes: self.changes,
        })
    }
}

/// What remains of a trial.
pub(crate) struct Leftovers {
    /// The files of its snapshots.
    pub(crate) snapshots: TempDir,
    /// What happened.
    pub(crate) timeline: Vec<Moment>,
    /// The runs.
    pub(crate) runs: Vec<Run>,
    /// The statements of each run.
    pub(crate) logs: Vec<Vec<Entry>>,
    /// What each run changed in the file that was watched.
    pub(crate) changes: Vec<Vec<Change>>,
}

/// How a run ended, in words.
pub(crate) fn how(ended: &Ended) -> String {
    match (ended.is_timed_out, ended.code, ended.signal) {
        (true, _, _) => format!("is ended after {:.0} s: it takes too long", ended.took.as_secs_f64()),
        (_, Some(0), _) => "ends with success".to_owned(),
        (_, Some(code), _) => format!("ends with exit code {code}"),
        (_, None, Some(signal)) => format!("is ended by signal {signal}"),
        (_, None, None) => "ends".to_owned(),
    }
}

impl Ended {
    /// Its last words, for a message: the last lines of stderr, else of stdout.
    pub(crate) fn last_words(&self) -> String {
        let said = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }
}
