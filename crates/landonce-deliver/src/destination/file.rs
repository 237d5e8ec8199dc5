//! A log file: one JSON line a message, appended under an exclusive lock, on the disk before the message counts as taken.
//!
//! The file may be renamed under us, as `logrotate` does: whoever has the lock looks whether the path still names the file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use landonce_store::outbox::Parcel;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Destination, Sending, line};
use crate::environment::Environment;
use crate::error::Fault;

/// How many messages one write and one fsync are for.
const AT_ONCE: usize = 500;
/// How long another writer may hold the lock.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A log file that gets one JSON line a message: `id`, `topic`, `kind`, `entity`, `payload`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSpec {
    /// The file, relative to this one. `${NAME}` is taken from the environment. Its folder must be there.
    pub path: String,
}

impl FileSpec {
    /// The destination. `folder` is that of the file that names it.
    ///
    /// # Errors
    /// A path that can't be one.
    pub fn open(&self, folder: &Path, environment: Environment<'_>) -> Result<LogFile, Fault> {
        let path = environment.expand("path", &self.path)?;
        if path.is_empty() {
            return Err(Fault::new("path", "it names no file"));
        }
        Ok(LogFile { path: folder.join(path) })
    }
}

/// A log file.
#[derive(Debug, Clone)]
pub struct LogFile {
    path: PathBuf,
}

impl Destination for LogFile {
    fn takes(&self) -> usize {
        AT_ONCE
    }

    fn send<'a>(&'a self, parcels: &'a [Parcel]) -> Sending<'a> {
        Box::pin(async move {
            let mut lines = Vec::new();
            let formed: Vec<Result<(), Answer>> =
                parcels.iter().map(|parcel| line::append(parcel, &mut lines)).collect();
            let path = self.path.clone();
            let written = if lines.is_empty() {
                Ok(())
            } else {
                let written = tokio::task::spawn_blocking(move || append(&path, &lines)).await;
                written.unwrap_or_else(|ended| Err(io::Error::other(ended)))
            };
            let answer = match written {
                Ok(()) => Answer::Taken { told: "written".to_owned() },
                Err(error) => Answer::later_for_all(format!("{}: {error}", self.path.display())),
            };
            formed.into_iter().map(|formed| formed.err().unwrap_or_else(|| answer.clone())).collect()
        })
    }
}

/// Appends the lines: all of them, or none.
fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = locked(path)?;
    // Only now: others have written before we had the lock.
    let before = file.metadata()?.len();
    let written =
        put(&mut file, before, lines).and_then(|()| if before == 0 { sync_folder(path) } else { Ok(()) });
    if written.is_err() {
        // The disk is full, say. Half a batch that nobody was told of would come again behind a line that is torn. Should this fail
        // too, the torn line is ended by whoever writes next.
        let _ = file.set_len(before).and_then(|()| file.sync_all());
    }
    written
}

fn put(file: &mut File, before: u64, lines: &[u8]) -> io::Result<()> {
    if before > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(before - 1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            // A crash has torn the last line: what follows isn't glued to it.
            file.write_all(b"\n")?;
        }
    }
    file.write_all(lines)?;
    file.sync_all()
}

/// A new file is on the disk when its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// The file that the path names, locked for us alone.
fn locked(path: &Path) -> io::Result<File> {
    let begun = Instant::now();
    loop {
        // A pipe or a device would be opened, too, and can be neither locked nor cut.
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Err(io::Error::other("it is no regular file; name another path"));
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        match file.try_lock() {
            Ok(()) if is_still(&file, path)? => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_EVERY),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if begun.elapsed() > PATIENCE {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("another process has held its lock for {} s", PATIENCE.as_secs()),
            ));
        }
    }
}

/// The path names this file, and not another one that has taken its place since.
fn is_still(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_renamed_or_replaced_is_not_the_one_that_the_path_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let file = File::create(&path).unwrap();
        assert!(is_still(&file, &path).unwrap());
        std::fs::rename(&path, folder.path().join("g")).unwrap();
        assert!(!is_still(&file, &path).unwrap());
        File::create(&path).unwrap();
        assert!(!is_still(&file, &path).unwrap());
    }
}
