//! The user's command: a folder of its own, the database in its environment, and its end, however it comes.
//!
//! A trial has one [`Workplace`]: a copy of the user's folder, a HOME of links, a TMPDIR; each run of the trial is
//! [`Workplace::start`]ed in it. What this can't keep apart: files that a command names by absolute paths of its own (not in
//! its arguments or variables), packages that are installed "editable", and what it writes into folders that are linked.

mod arguments;
mod environment;
mod folder;
mod home;
mod leftover;
mod output;
mod process;
mod state;
mod strays;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::database::sqlite_path;
use crate::error::{Error, Result};
use arguments::Moved;
use environment::Folders;
pub(crate) use leftover::remove as remove_leftovers;
use output::Secrets;
pub use process::{Ended, Running};
use state::Placed;

/// What the names of our temporary folders begin with; no copy takes them along.
const PREFIX: &str = "landonce-prove-";

/// A fresh folder in which runs of one trial work, as the user's own folder is. Removed when dropped.
#[derive(Debug)]
pub struct Workplace {
    root: TempDir,
    moved: Moved,
    home: PathBuf,
    temporary: PathBuf,
    state: PathBuf,
    input: PathBuf,
    placed: Mutex<Placed>,
    /// Locked for as long as the trial lasts: a later proof removes the folder of one that was killed.
    _lock: Option<fs::File>,
}

/// What a run is told.
#[derive(Clone, Default)]
pub struct Setting {
    /// The database's URL as the command shall see it: by way of the proxy.
    pub url: String,
    /// The user's own database's URL, if it is known: where an argument or a variable has it, it gets `url` instead.
    pub source_url: Option<String>,
    /// The input file, if there is one: replaces `{input}`.
    pub input: Option<PathBuf>,
    /// The user's own input file. Where the command has no `{input}`, an argument that names it (also behind `--file=` or
    /// `@`) becomes `input`.
    pub original_input: Option<PathBuf>,
    /// A URL that takes webhooks: replaces `{hook}`.
    pub hook: Option<String>,
    /// More variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables to take away.
    pub without: Vec<OsString>,
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // URLs and variables hold passwords.
        f.debug_struct("Setting").field("input", &self.input).finish_non_exhaustive()
    }
}

impl Workplace {
    /// A copy of this folder (version control, virtual environments and package folders as links, see `command/folder.rs`),
    /// a HOME of links without the folders in which tools keep the state of runs (`command/home.rs`), its own TMPDIR and
    /// XDG_STATE_HOME.
    ///
    /// Fails where the folder can't be read or is larger than 1 GiB or 100,000 files.
    pub async fn new(from: &Path) -> Result<Self> {
        let from = from.to_owned();
        tokio::task::spawn_blocking(move || Self::make(&from))
            .await
            .map_err(|error| Error::because("a trial's folder can't be made", error))?
    }

    fn make(from: &Path) -> Result<Self> {
        let unreadable =
            |error| Error::because(format!("cannot read the command's folder {}", from.display()), error);
        let original = from.canonicalize().map_err(unreadable)?;
        let root = tempfile::Builder::new().prefix(PREFIX).tempdir().map_err(temporary)?;
        let lock = leftover::lock(root.path());
        let top = root.path().canonicalize().map_err(temporary)?;
        // A folder's name may be part of what a command does with it.
        let name = original.file_name().unwrap_or(OsStr::new("work"));
        let place = Self {
            moved: Moved { from: spellings(from, &original), to: top.join("folder").join(name) },
            home: top.join("home"),
            temporary: top.join("tmp"),
            state: top.join("state"),
            input: top.join("input"),
            placed: Mutex::new(Placed::default()),
            _lock: lock,
            root,
        };
        for folder in [&place.moved.to, &place.home, &place.temporary, &place.state, &place.input] {
            fs::create_dir_all(folder).map_err(temporary)?;
        }
        folder::copy(&original, &place.moved.to)?;
        if let Some(real) = home::real() {
            home::fill(&place.home, &real, &original, &place.moved.to)?;
        }
        {
            let mut placed = place.placed.lock().unwrap_or_else(PoisonError::into_inner);
            placed.note(&place.moved.to, &original).map_err(temporary)?;
            placed.note(&place.home, &place.home).map_err(temporary)?;
        }
        Ok(place)
    }

    /// The copy of the user's folder.
    pub fn folder(&self) -> &Path {
        &self.moved.to
    }

    /// Whether runs have left or changed files in the folder or HOME: another machine would not have them.
    pub fn has_state(&self) -> Result<bool> {
        Ok(!self.state()?.is_empty())
    }

    /// The files that runs have left, changed or removed in the folder, HOME, TMPDIR, XDG_STATE_HOME or beside the input,
    /// from the trial's own root on. Byte code and caches don't count.
    pub fn state(&self) -> Result<Vec<PathBuf>> {
        let placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        let folders = [&self.moved.to, &self.home, &self.temporary, &self.state, &self.input];
        let changes = placed
            .changes(&folders.map(PathBuf::as_path))
            .map_err(|error| Error::because("cannot tell what a run has left in its folder", error))?;
        let root = self.input.parent().unwrap_or(Path::new(""));
        Ok(changes.iter().map(|path| path.strip_prefix(root).unwrap_or(path).to_owned()).collect())
    }

    /// Puts a file's contents under its base name into the trial's input folder, and says where. What was there under this
    /// name is replaced.
    pub fn place_input(&self, base_name: &OsStr, contents: &Path) -> Result<PathBuf> {
        let file = self.input.join(base_name);
        let failed = |error| {
            Error::because(format!("cannot copy the input {} for a trial", contents.display()), error)
        };
        // A run may have made it read-only, or a link.
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::copy(contents, &file).map_err(failed)?;
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        placed.note_file(&file, contents).map_err(failed)?;
        Ok(file)
    }

    /// A command may know its input or its SQLite file by heart: where the user's own lies in the folder, its copy becomes a
    /// link to the trial's. Once only: what a run has moved away stays away for the next.
    fn link_files(&self, setting: &Setting) -> Result<()> {
        let source = setting.source_url.as_deref().and_then(sqlite_path);
        let files =
            [(source, sqlite_path(&setting.url)), (setting.original_input.clone(), setting.input.clone())];
        for (original, file) in files {
            let (Some(original), Some(file)) = (original, file) else { continue };
            let Some(copy) = self.moved.copy_of(&original) else { continue };
            let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
            placed
                .link(&copy, &file)
                .map_err(|error| Error::because(format!("cannot link {}", copy.display()), error))?;
        }
        Ok(())
    }

    /// Starts the command: `{db}` (the URL; SQLite: the file's path), `{url}`, `{input}`, `{hook}`, `{host}`, `{port}`,
    /// `{user}`, `{password}`, `{database}` replaced in its arguments; DATABASE_URL and PG* (or MYSQL_*) set; its own
    /// process group; nothing to read. No shell is asked.
    ///
    /// Fails where the program can't be found or a placeholder has no value.
    #[expect(clippy::unused_async, reason = "processes of tokio are started in its runtime only")]
    pub async fn start(&self, command: &[String], setting: &Setting) -> Result<Running> {
        let folders = Folders {
            work: &self.moved.to,
            home: &self.home,
            temporary: &self.temporary,
            state: &self.state,
        };
        self.link_files(setting)?;
        let words = arguments::filled(command, setting, &self.moved)?;
        let variables = environment::variables(setting, &folders, &self.moved)?;
        let secrets =
            Secrets::of([Some(setting.url.as_str()), setting.source_url.as_deref()].into_iter().flatten());
        process::start(&words, &self.moved.to, &variables, secrets)
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // In a folder that nobody may write into nothing can be removed. What is left then is left: a drop can't fail.
        if fs::remove_dir_all(self.root.path()).is_err() {
            folder::make_writable(self.root.path());
        }
    }
}

/// How the folder may be spelled in arguments and variables: without links first, as given, and as the shell knows it.
fn spellings(given: &Path, original: &Path) -> Vec<PathBuf> {
    let mut spellings = vec![original.to_owned()];
    let shells = std::env::var_os("PWD").map(PathBuf::from);
    for path in [std::path::absolute(given).ok(), shells].into_iter().flatten() {
        if !spellings.contains(&path) && path.canonicalize().is_ok_and(|path| path == original) {
            spellings.push(path);
        }
    }
    spellings
}

fn temporary(error: std::io::Error) -> Error {
    Error::because("cannot make a trial's folder in the system's temporary folder (TMPDIR)", error)
}
