//! What a run does to a SQLite file, as seen from outside: there is no wire to count writes on, but the system tells of every
//! change of the file, its journal and its WAL.
//!
//! A *change* is a step that is the same in every run of the same command: pages are written in any number of pieces, so
//! equal steps in a row count once. A transaction with a rollback journal is four of them (journal made, journal written,
//! file written, journal removed); one in a WAL is one, found by `wal.rs` in the WAL itself, however its pages come.
//!
//! Whoever is told of a change is told a moment later, so what is done at it ([`Watch::at`]) comes just after it.

mod wal;

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use tokio::sync::watch;

use crate::error::{Error, Result};
use wal::Wal;

/// One step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The file was made, or another put into its place.
    Made,
    /// Pages of the file were written.
    Written,
    /// The rollback journal was made: a transaction begins to write.
    JournalMade,
    /// What was there before was put into the journal.
    JournalWritten,
    /// The journal was removed: the transaction is committed, or rolled back.
    JournalRemoved,
    /// A transaction was committed in the WAL.
    Committed,
}

impl Change {
    /// In words, behind "change 3 of 9 of its file".
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Made => "the file made",
            Self::Written => "the file written",
            Self::JournalMade => "the journal made",
            Self::JournalWritten => "the journal written",
            Self::JournalRemoved => "the journal removed, which commits",
            Self::Committed => "a commit in the WAL",
        }
    }
}

/// Watches one file from a thread of its own. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    notices: Arc<OwnedFd>,
    folder: i32,
}

/// What is to be done at a change.
type Act = Box<dyn FnOnce() + Send>;

struct Shared {
    state: Mutex<State>,
    fired: watch::Sender<bool>,
}

struct State {
    changes: Vec<Change>,
    last: Instant,
    armed: Option<(u64, Act)>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Watch {
    /// Watches a file that needn't be there yet; its folder is.
    ///
    /// Fails where the system gives no more watches.
    pub(crate) fn start(file: &Path) -> Result<Self> {
        let failed = |error| Error::because(format!("cannot watch {}", file.display()), error);
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
            return Err(Error::new("cannot watch a file without a name"));
        };
        let notices = Arc::new(inotify::init(CreateFlags::CLOEXEC).map_err(failed)?);
        let wanted = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::DELETE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM;
        let folder_watch = inotify::add_watch(&notices, folder, wanted).map_err(failed)?;
        let state = State { changes: Vec::new(), last: Instant::now(), armed: None };
        let shared = Arc::new(Shared { state: Mutex::new(state), fired: watch::Sender::new(false) });
        let (its, from, name) = (Arc::clone(&shared), Arc::clone(&notices), name.to_owned());
        let mut wal = Wal::beside(file);
        // What an earlier run has left there is none of this one's.
        wal.new_commits();
        std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || listen(&from, &name, &mut wal, &its))
            .map_err(|error| Error::because("cannot start a thread that watches a file", error))?;
        Ok(Self { shared, notices, folder: folder_watch })
    }

    /// Does something at the n-th change, from the thread that sees it; at once, if that has already come.
    pub(crate) fn at(&self, nth: u64, act: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state();
        state.armed = Some((nth, Box::new(act)));
        self.shared.act(&mut state);
    }

    /// Waits until that has been done; for ever, if the change doesn't come.
    pub(crate) async fn fired(&self) {
        // The sender lives as long as we do.
        let _ = self.shared.fired.subscribe().wait_for(|fired| *fired).await;
    }

    /// Whether that has been done.
    pub(crate) fn has_fired(&self) -> bool {
        *self.shared.fired.borrow()
    }

    /// Every change so far.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.shared.state().changes.clone()
    }

    /// For how long there has been none.
    pub(crate) fn idle_for(&self) -> Duration {
        self.shared.state().last.elapsed()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The thread is told of its watch's end, and comes to its own. One whose folder has gone has been told.
        let _ = inotify::remove_watch(&self.notices, self.folder);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing under it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, change: Change) {
        let mut state = self.state();
        state.last = Instant::now();
        if change == Change::Committed || state.changes.last() != Some(&change) {
            state.changes.push(change);
            self.act(&mut state);
        }
    }

    fn act(&self, state: &mut State) {
        let count = state.changes.len() as u64;
        if let Some((_, act)) = state.armed.take_if(|(nth, _)| *nth <= count) {
            act();
            self.fired.send_replace(true);
        }
    }
}

/// Reads notices until the watch is removed.
fn listen(notices: &OwnedFd, name: &OsStr, wal: &mut Wal, shared: &Shared) {
    let mut buffer = [MaybeUninit::uninit(); 16 << 10];
    let mut reader = inotify::Reader::new(notices, &mut buffer);
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(rustix::io::Errno::INTR) => continue,
            // Nothing more will be told.
            Err(_) => return,
        };
        let flags = event.events();
        if flags.contains(ReadFlags::IGNORED) {
            return;
        }
        let about = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
        let Some(end) = about.and_then(|about| about.as_bytes().strip_prefix(name.as_bytes())) else {
            continue;
        };
        let is_made = flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        let is_removed = flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
        match end {
            b"" if is_made => shared.add(Change::Made),
            b"" if !is_removed => shared.add(Change::Written),
            b"-journal" if is_made => shared.add(Change::JournalMade),
            b"-journal" if is_removed => shared.add(Change::JournalRemoved),
            b"-journal" => shared.add(Change::JournalWritten),
            b"-wal" if !is_removed => {
                for _ in 0..wal.new_commits() {
                    shared.add(Change::Committed);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
