//! What every trial needs to know: the plan, the source of clones, and what clean runs do.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use tempfile::TempDir;

use crate::command::Ended;
use crate::database::{Kind, Source};
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::report::Run;
use crate::snapshot::{Content, Difference, Snapshot};
use crate::watch::Change;
use crate::wire::Entry;

/// How a proof tells what it is doing.
pub(crate) type Progress<'a> = &'a mut (dyn FnMut(&str) + Send);

/// What the trials share.
pub(crate) struct Stage<'a> {
    /// What the user asks for.
    pub(crate) plan: &'a Plan,
    /// Where clones come from.
    pub(crate) source: &'a Source,
    progress: Mutex<Progress<'a>>,
    /// Known once the clean runs are through.
    pub(crate) clean: Option<Clean>,
    /// No write was seen in the statements, though something was written: SELECTs do it, by calling functions.
    pub(crate) selects_write: bool,
    /// Where the command's calls to the outside go, so that nobody is told of a proof; `{hook}` is always there.
    pub(crate) sink: Option<Recorder>,
}

/// What clean runs do.
pub(crate) struct Clean {
    /// Before any run.
    pub(crate) base: Snapshot,
    /// After one.
    pub(crate) one: Snapshot,
    /// After a second one on the same input.
    pub(crate) two: Snapshot,
    /// From `one` to `two`.
    pub(crate) repeat: Difference,
    /// How the second ended.
    pub(crate) second: Ended,
    /// Which columns count.
    pub(crate) content: Content,
    /// The statements of the first run.
    pub(crate) log: Vec<Entry>,
    /// The statements of the second.
    pub(crate) second_log: Vec<Entry>,
    /// What the first run changed in its file, where that is watched.
    pub(crate) changes: Vec<Change>,
    /// How long one takes.
    pub(crate) took: Duration,
    /// The runs in the first clone, and what happened, for the report.
    pub(crate) runs: Vec<Run>,
    /// See `runs`.
    pub(crate) timeline: Vec<crate::report::Moment>,
    /// Whether the command leaves files in its folder.
    pub(crate) has_state: bool,
    /// Names of tables and objects that every run makes anew.
    pub(crate) per_run: Vec<String>,
    /// Keeps the files of the snapshots.
    pub(crate) _files: Vec<TempDir>,
}

impl<'a> Stage<'a> {
    /// Before the clean runs.
    pub(crate) fn new(plan: &'a Plan, source: &'a Source, progress: Progress<'a>) -> Self {
        Self { plan, source, progress: Mutex::new(progress), clean: None, selects_write: false, sink: None }
    }

    /// Tells what is going on.
    pub(crate) fn say(&self, line: &str) {
        // A panic in the teller is the teller's own.
        (self.progress.lock().unwrap_or_else(PoisonError::into_inner))(line);
    }

    /// How long one run may take.
    pub(crate) fn limit(&self) -> Duration {
        self.plan.timeout.unwrap_or_else(|| match &self.clean {
            Some(clean) => clean.took * 10 + Duration::from_secs(20),
            None => Duration::from_mins(30),
        })
    }

    /// Whether SELECTs count as writes.
    pub(crate) fn counts_selects(&self) -> bool {
        self.selects_write
    }

    /// Whether faults can be put on the wire.
    pub(crate) fn has_wire(&self) -> bool {
        self.source.kind() != Kind::Sqlite
    }

    /// Whether sequences can be moved there, and a library tells its server the time: PostgreSQL alone.
    pub(crate) fn is_postgres(&self) -> bool {
        self.source.kind() == Kind::Postgres
    }

    /// Chances of this proof, the same for the same seed; `salt` keeps scenarios independent of one another.
    pub(crate) fn chance(&self, salt: &str) -> StdRng {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.plan.seed.to_be_bytes());
        for (at, byte) in salt.bytes().enumerate() {
            seed[8 + at % 24] ^= byte;
        }
        StdRng::from_seed(seed)
    }
}

impl Clean {
    /// How many writes a clean run makes.
    pub(crate) fn writes(&self) -> u64 {
        self.log.iter().map(|entry| entry.write).max().unwrap_or(0)
    }

    /// The statement of the n-th write.
    pub(crate) fn write(&self, nth: u64) -> Option<&Entry> {
        self.log.iter().find(|entry| entry.write == nth)
    }

    /// "change 3 of 9 of its file (the file written)".
    pub(crate) fn change(&self, nth: u64) -> String {
        let what = self.changes.get(nth as usize - 1).map_or("", |change| change.words());
        format!("change {nth} of {} of its file ({what})", self.changes.len())
    }

    /// Whether a repeat left this table's content as it was.
    pub(crate) fn is_repeatable(&self, table: &str) -> bool {
        let is_log = crate::judge::is_run_log(table);
        self.repeat.tables.get(table).is_none_or(|table| {
            (table.added == 0 || is_log) && table.removed == 0 && table.changed == 0 && table.restamped == 0
        })
    }

    /// Whether a repeat left all content as it was.
    pub(crate) fn is_all_repeatable(&self) -> bool {
        self.second.is_success()
            && self.repeat.appeared.is_empty()
            && self.repeat.vanished.is_empty()
            && self.repeat.tables.keys().all(|table| self.is_repeatable(table))
    }
}
