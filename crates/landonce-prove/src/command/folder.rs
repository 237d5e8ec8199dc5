//! A copy of the folder that the user works in: what a run may change is copied, what only takes room is linked.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Metadata};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Folders that are linked instead of copied: version control, installed packages, caches of builds. They are large, found
/// by name wherever they lie, and no place for what a run remembers.
pub(super) const LINKED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    ".venv",
    "__pypackages__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".ruff_cache",
    ".gradle",
];

/// In a folder that is linked whatever its name: a virtual environment, or a cache that says so (Cargo's `target`). A
/// `target` without one is copied: dbt keeps the state of runs in its own.
const MARKS: &[&str] = &["pyvenv.cfg", "CACHEDIR.TAG"];

/// The largest folder that is copied for every trial.
const MOST_BYTES: u64 = 1 << 30;
const MOST_FILES: u64 = 100_000;

/// Copies a folder's contents into another that exists. Special files (sockets, pipes) are left out.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut entries = Vec::new();
    let mut size = Size { bytes: 0, files: 0, most_bytes: MOST_BYTES, most_files: MOST_FILES };
    list(from, Path::new(""), &mut entries, &mut size)?;
    for entry in &entries {
        entry.put(from, to).map_err(|error| {
            Error::because(format!("cannot copy {} for a trial", from.join(&entry.path).display()), error)
        })?;
    }
    // Last, and the innermost first: a folder that nobody may write into could not be filled.
    for entry in entries.iter().rev() {
        if let Kind::Folder(permissions) = &entry.kind {
            let folder = to.join(&entry.path);
            fs::set_permissions(&folder, permissions.clone()).map_err(|error| {
                Error::because(format!("cannot set the permissions of {}", folder.display()), error)
            })?;
        }
    }
    Ok(())
}

/// Lets us remove what is below a folder.
pub(super) fn make_writable(folder: &Path) {
    // Best effort: whoever can't be helped stays, and the caller can't fail.
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

struct Entry {
    /// In the folder.
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    Folder(fs::Permissions),
    File(Metadata),
    Link(PathBuf),
    /// A folder that is linked to.
    Elsewhere,
}

struct Size {
    bytes: u64,
    files: u64,
    most_bytes: u64,
    most_files: u64,
}

impl Size {
    fn add(&mut self, bytes: u64, root: &Path) -> Result<()> {
        self.files += 1;
        self.bytes += bytes;
        if self.bytes > self.most_bytes || self.files > self.most_files {
            return Err(Error::new(format!(
                "{} is too large to be copied for every trial (more than 1 GiB or 100,000 files); name the folder that the \
                 command needs with `--folder`, or run from a smaller one",
                root.display()
            )));
        }
        Ok(())
    }
}

fn list(root: &Path, inside: &Path, entries: &mut Vec<Entry>, size: &mut Size) -> Result<()> {
    let folder = root.join(inside);
    let unreadable = |error| Error::because(format!("cannot read the folder {}", folder.display()), error);
    for found in fs::read_dir(&folder).map_err(unreadable)? {
        let found = found.map_err(unreadable)?;
        let path = inside.join(found.file_name());
        if found.file_name().as_encoded_bytes().starts_with(super::PREFIX.as_bytes()) {
            continue;
        }
        // What has gone since the folder was listed was never there.
        let Ok(metadata) = found.metadata() else { continue };
        let kind = if metadata.is_symlink() {
            let Ok(target) = fs::read_link(found.path()) else { continue };
            size.add(0, root)?;
            Kind::Link(target)
        } else if metadata.is_dir() && is_linked(&found.file_name(), &found.path()) {
            Kind::Elsewhere
        } else if metadata.is_dir() {
            size.add(0, root)?;
            Kind::Folder(metadata.permissions())
        } else if metadata.is_file() {
            size.add(metadata.len(), root)?;
            Kind::File(metadata)
        } else {
            continue;
        };
        let is_folder = matches!(kind, Kind::Folder(_));
        entries.push(Entry { path: path.clone(), kind });
        if is_folder {
            list(root, &path, entries, size)?;
        }
    }
    Ok(())
}

fn is_linked(name: &OsStr, folder: &Path) -> bool {
    LINKED.iter().any(|linked| name == *linked) || MARKS.iter().any(|mark| folder.join(mark).is_file())
}

impl Entry {
    fn put(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (source, copy) = (from.join(&self.path), to.join(&self.path));
        match &self.kind {
            Kind::Folder(_) => fs::create_dir(&copy),
            Kind::Elsewhere => symlink(&source, &copy),
            Kind::Link(target) => symlink(retargeted(target, &self.path, from, to), &copy),
            Kind::File(metadata) => {
                match fs::copy(&source, &copy) {
                    Ok(_) => {}
                    // Neither could the command read it, nor miss what has gone.
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
                        ) =>
                    {
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                }
                keep_times(&copy, metadata)
            }
        }
    }
}

/// Programs compare times: a byte code file with its source, an output with its input.
fn keep_times(copy: &Path, metadata: &Metadata) -> io::Result<()> {
    let times = FileTimes::new().set_modified(metadata.modified()?);
    let mode = metadata.permissions();
    if mode.readonly() {
        fs::set_permissions(copy, fs::Permissions::from_mode(mode.mode() | 0o200))?;
    }
    File::options().append(true).open(copy)?.set_times(times)?;
    if mode.readonly() { fs::set_permissions(copy, mode) } else { Ok(()) }
}

/// A link within the folder stays one within the copy; one that leads out leads to the same place.
fn retargeted(target: &Path, link: &Path, from: &Path, to: &Path) -> PathBuf {
    if target.is_absolute() {
        return match target.strip_prefix(from) {
            Ok(inside) => to.join(inside),
            Err(_) => target.to_owned(),
        };
    }
    let mut depth = link.components().count() - 1;
    for part in target.components() {
        match part {
            std::path::Component::ParentDir if depth == 0 => {
                return from.join(link.parent().unwrap_or(Path::new(""))).join(target);
            }
            std::path::Component::ParentDir => depth -= 1,
            std::path::Component::Normal(_) => depth += 1,
            _ => {}
        }
    }
    target.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_within_the_copy_or_lead_to_the_same_place() {
        let retargeted = |target: &str, link: &str| {
            super::retargeted(Path::new(target), Path::new(link), Path::new("/u/p"), Path::new("/t/p"))
        };
        assert_eq!(retargeted("../b", "a/link"), Path::new("../b"));
        assert_eq!(retargeted("../b", "link"), Path::new("/u/p/../b"));
        assert_eq!(retargeted("/u/p/b", "link"), Path::new("/t/p/b"));
        assert_eq!(retargeted("/etc/b", "link"), Path::new("/etc/b"));
    }

    #[test]
    fn a_folder_that_is_too_large_is_refused_before_anything_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), "12345").unwrap();
        }
        let refusal = |most_bytes, most_files| {
            let mut size = Size { bytes: 0, files: 0, most_bytes, most_files };
            list(folder.path(), Path::new(""), &mut Vec::new(), &mut size)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(refusal(15, 3), None);
        assert!(refusal(14, 3).unwrap().contains("--folder"));
        assert!(refusal(15, 2).unwrap().contains("--folder"));
    }
}
