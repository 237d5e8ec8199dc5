//! What runs have left in their folders: another machine, or the next container, would not have it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Byte code and the caches of programs: they change how fast a run is, not what it does.
const CACHES: &[&str] =
    &["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache", ".npm", ".jest_cache"];

/// A file with another time but the same size is read, if it isn't larger than this.
const READ: u64 = 16 << 20;

/// What was put into the folders of a trial, by its path there.
#[derive(Debug, Default)]
pub(super) struct Placed(BTreeMap<PathBuf, Seen>);

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    File { size: u64, modified: Option<SystemTime>, origin: PathBuf },
    Link(PathBuf),
}

impl Placed {
    /// Notes all that is in a folder now; its files have the same contents as those of `origin`.
    pub(super) fn note(&mut self, folder: &Path, origin: &Path) -> io::Result<()> {
        walk(folder, &mut |path, seen| {
            let origin = origin.join(path.strip_prefix(folder).unwrap_or(path));
            self.0.insert(path.to_owned(), seen.with_origin(origin));
        })
    }

    /// Notes one file.
    pub(super) fn note_file(&mut self, file: &Path, origin: &Path) -> io::Result<()> {
        let seen = look(&fs::symlink_metadata(file)?, file)?;
        self.0.insert(file.to_owned(), seen.with_origin(origin.to_owned()));
        Ok(())
    }

    /// Puts a link in a file's place, unless it was put there before.
    pub(super) fn link(&mut self, place: &Path, target: &Path) -> io::Result<()> {
        if self.0.get(place) == Some(&Seen::Link(target.to_owned())) {
            return Ok(());
        }
        match fs::remove_file(place) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match symlink(target, place) {
            // Its folder isn't in the copy, and so out of the command's reach.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            linked => linked?,
        }
        self.0.insert(place.to_owned(), Seen::Link(target.to_owned()));
        Ok(())
    }

    /// What is new, gone or changed in these folders.
    pub(super) fn changes(&self, folders: &[&Path]) -> io::Result<Vec<PathBuf>> {
        let mut changes = Vec::new();
        let mut found = 0;
        for folder in folders {
            walk(folder, &mut |path, now| {
                let before = self.0.get(path);
                found += usize::from(before.is_some());
                if !before.is_some_and(|before| before.is_still(&now, path)) {
                    changes.push(path.to_owned());
                }
            })?;
        }
        if found < self.0.len() {
            changes.extend(self.0.keys().filter(|path| fs::symlink_metadata(path).is_err()).cloned());
        }
        Ok(changes)
    }
}

impl Seen {
    fn with_origin(self, origin: PathBuf) -> Self {
        match self {
            Self::File { size, modified, .. } => Self::File { size, modified, origin },
            link @ Self::Link(_) => link,
        }
    }

    fn is_still(&self, now: &Self, path: &Path) -> bool {
        match (self, now) {
            (Self::Link(before), Self::Link(now)) => before == now,
            (Self::File { size: before, modified: then, origin }, Self::File { size: now, modified, .. }) => {
                before == now && (then == modified || (*now <= READ && have_equal_contents(origin, path)))
            }
            _ => false,
        }
    }
}

fn look(metadata: &fs::Metadata, path: &Path) -> io::Result<Seen> {
    Ok(if metadata.is_symlink() {
        Seen::Link(fs::read_link(path)?)
    } else {
        Seen::File { size: metadata.len(), modified: metadata.modified().ok(), origin: PathBuf::new() }
    })
}

/// Every file and link below a folder, links not followed; no caches, and no empty folders.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path, Seen)) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        // A run may have forbidden or removed a folder; what was placed in it is then missed.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let Ok(metadata) = entry.metadata() else { continue };
        if is_cache(&entry.file_name()) {
            continue;
        }
        if metadata.is_dir() {
            walk(&path, visit)?;
        } else if let Ok(seen) = look(&metadata, &path) {
            visit(&path, seen);
        }
    }
    Ok(())
}

fn is_cache(name: &OsStr) -> bool {
    CACHES.iter().any(|cache| name == *cache) || Path::new(name).extension() == Some(OsStr::new("pyc"))
}

fn have_equal_contents(one: &Path, other: &Path) -> bool {
    let read = |path: &Path| {
        let mut bytes = Vec::new();
        fs::File::open(path).and_then(|file| file.take(READ + 1).read_to_end(&mut bytes)).ok()?;
        Some(bytes)
    };
    read(one).is_some_and(|bytes| Some(bytes) == read(other))
}
