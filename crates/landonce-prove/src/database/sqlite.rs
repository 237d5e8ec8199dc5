//! SQLite: clones are copies of the file, each in a folder of its own under the file's own name.
//!
//! The source is read by SQLite's backup, so that what is only in its WAL yet comes along and nobody is disturbed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;

use super::{LOOK_EVERY, PATIENCE};
use crate::error::{Error, Result};

/// Pages that a backup copies before others get a turn.
const PAGES: i32 = 1000;

#[derive(Debug)]
pub(super) struct Source {
    folder: TempDir,
    place: String,
    base: PathBuf,
    base_url: String,
    next: AtomicU32,
}

#[derive(Debug)]
pub(super) struct Clone {
    /// Holds the file alone.
    folder: PathBuf,
    file: PathBuf,
    url: String,
}

/// The file that a URL names: `sqlite:PATH`, `sqlite://PATH`, or a path alone; `None` for anything else.
///
/// `sqlite:////a` is `/a`. `sqlite:///a` is `/a` too, unless only `a` is there: SQLAlchemy reads it so.
pub(crate) fn path_of(url: &str) -> Option<PathBuf> {
    let Some(rest) = url.strip_prefix("sqlite:") else {
        let is_path = !url.contains("://") && !url.contains('=') && !url.is_empty();
        return is_path.then(|| PathBuf::from(url));
    };
    let rest = rest.split_once('?').map_or(rest, |(path, _)| path);
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let path = match path.strip_prefix('/') {
        Some(inner) if rest.starts_with("///") && inner.starts_with('/') => inner,
        Some(inner) if rest.starts_with("///") && !Path::new(path).exists() && Path::new(inner).exists() => {
            inner
        }
        _ => path,
    };
    (!path.is_empty() && path != ":memory:").then(|| PathBuf::from(path))
}

impl Source {
    pub(super) async fn open(url: &str) -> Result<Self> {
        let file =
            path_of(url).ok_or_else(|| Error::new("the SQLite URL names no file: write sqlite:PATH"))?;
        blocking(move || {
            let file = std::path::absolute(&file)
                .map_err(|error| Error::because(format!("cannot find {}", file.display()), error))?;
            let folder = tempfile::Builder::new().prefix("landonce-prove-").tempdir().map_err(temporary)?;
            let top = folder.path().canonicalize().map_err(temporary)?;
            let name = file.file_name().ok_or_else(|| Error::new("the SQLite URL names no file"))?;
            let base = top.join("base").join(name);
            fs::create_dir(top.join("base")).map_err(temporary)?;
            copy(&file, &base)?;
            let source = Self {
                place: format!("sqlite:{}", file.display()),
                base_url: url_of(&base),
                base,
                next: AtomicU32::new(1),
                folder,
            };
            Ok(source)
        })
        .await
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(super) async fn fresh(&self) -> Result<Clone> {
        let number = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let base = self.base.clone();
        blocking(move || {
            let name = base.file_name().unwrap_or_default();
            let folder = base.ancestors().nth(2).unwrap_or(Path::new("")).join(number);
            fs::create_dir(&folder).map_err(temporary)?;
            let file = folder.join(name);
            settle(&base, true)?;
            copy(&base, &file)?;
            Ok(Clone { url: url_of(&file), folder, file })
        })
        .await
    }

    pub(super) fn close(self) -> Result<()> {
        self.folder
            .close()
            .map_err(|error| Error::because("cannot remove the copies of the SQLite file", error))
    }
}

impl Clone {
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn path(&self) -> &Path {
        &self.file
    }

    pub(super) async fn settle(&self) -> Result<()> {
        let file = self.file.clone();
        blocking(move || settle(&file, false)).await
    }

    pub(super) fn discard(self) -> Result<()> {
        fs::remove_dir_all(&self.folder).map_err(|error| {
            Error::because(format!("cannot remove the clone {}", self.folder.display()), error)
        })
    }
}

/// As SQLAlchemy reads an absolute path; everyone else takes `//` at its start for `/`.
fn url_of(file: &Path) -> String {
    format!("sqlite:///{}", file.display())
}

/// Copies a database of one moment; a file that isn't there is copied by making none.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        let said = error.to_string();
        Error::because(format!("cannot copy the SQLite database {}: {said}", from.display()), error)
    };
    match fs::metadata(from) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error.into())),
        Ok(metadata) if metadata.len() == 0 => {
            return fs::write(to, "").map_err(|error| failed(error.into()));
        }
        Ok(_) => {}
    }
    back_up(from, to, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .or_else(|error| match error.sqlite_error_code() {
            // A crash has left a journal: only a writer may roll it back. A copy of both files is undone instead.
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => back_up_a_copy(from, to),
            _ => Err(error),
        })
        .map_err(|error| failed(error.into()))
}

fn back_up(from: &Path, to: &Path, how: OpenFlags) -> rusqlite::Result<()> {
    let from = Connection::open_with_flags(from, how | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let mut to = Connection::open(to)?;
    let started = Instant::now();
    let backup = Backup::new(&from, &mut to)?;
    loop {
        match backup.step(PAGES)? {
            StepResult::Done => return Ok(()),
            StepResult::Busy | StepResult::Locked if started.elapsed() > PATIENCE => {
                return Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(5), None));
            }
            StepResult::Busy | StepResult::Locked => std::thread::sleep(LOOK_EVERY),
            _ => {}
        }
    }
}

fn back_up_a_copy(from: &Path, to: &Path) -> rusqlite::Result<()> {
    let unreadable = |error: std::io::Error| {
        rusqlite::Error::ToSqlConversionFailure(format!("its journal: {error}").into())
    };
    let folder = tempfile::Builder::new().prefix("landonce-prove-").tempdir().map_err(unreadable)?;
    let copy = folder.path().join("copy");
    for end in ["", "-journal", "-wal"] {
        let with_end = |path: &Path| {
            let mut path = path.as_os_str().to_owned();
            path.push(end);
            PathBuf::from(path)
        };
        if with_end(from).exists() {
            fs::copy(with_end(from), with_end(&copy)).map_err(unreadable)?;
        }
    }
    back_up(&copy, to, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

/// Waits until the file can be written to; a base is also left without a WAL.
fn settle(file: &Path, is_base: bool) -> Result<()> {
    // To open it would make it.
    if !file.exists() {
        return Ok(());
    }
    let settled = || {
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(PATIENCE + Duration::from_secs(20))?;
        connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?;
        if is_base {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok::<_, rusqlite::Error>(())
    };
    settled().map_err(|error| {
        let said = error.to_string();
        Error::because(format!("the SQLite file {} is still in use: {said}", file.display()), error)
    })
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::because("work on a SQLite file was given up", error))?
}

fn temporary(error: std::io::Error) -> Error {
    Error::because("cannot make a folder for copies in the system's temporary folder (TMPDIR)", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_in_several_ways() {
        for (url, path) in [
            ("sqlite:a.db", "a.db"),
            ("sqlite:/t/a.db", "/t/a.db"),
            ("sqlite://a/b.db", "a/b.db"),
            ("sqlite:///t/a.db", "/t/a.db"),
            ("sqlite:////t/a.db", "/t/a.db"),
            ("sqlite:a.db?mode=ro", "a.db"),
            ("x/a.db", "x/a.db"),
            // SQLAlchemy's: it is there in the folder of these tests, and not at the root.
            ("sqlite:///Cargo.toml", "Cargo.toml"),
        ] {
            assert_eq!(path_of(url).as_deref(), Some(Path::new(path)), "{url}");
        }
        assert_eq!(path_of("sqlite::memory:"), None);
        assert_eq!(path_of("postgres://h/x"), None);
        assert_eq!(path_of(&url_of(Path::new("/t/a.db"))).as_deref(), Some(Path::new("/t/a.db")));
    }
}
