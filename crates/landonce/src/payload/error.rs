//! What can be wrong with a payload's bytes before anything is made of them.

use std::io;
use std::path::{Path, PathBuf};

/// A payload that can't be opened, copied or trusted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// There is nothing at the path.
    #[error("no file at `{path}`: check the path", path = path.display())]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    /// The operating system doesn't let this process read the file.
    #[error("no permission to read `{path}`: let this user read the file and enter its folders", path = path.display())]
    Denied {
        /// The path as given.
        path: PathBuf,
    },
    /// The path is a folder.
    #[error("`{path}` is a folder: name a file in it, or a pattern such as `{path}/*`", path = path.display())]
    Folder {
        /// The path as given.
        path: PathBuf,
    },
    /// The path is a device or a socket.
    #[error("`{path}` is neither a file nor a pipe: copy it to a file, or pipe it in", path = path.display())]
    NotAFile {
        /// The path as given.
        path: PathBuf,
    },
    /// The file can't be opened for another reason.
    #[error("can't open `{path}`", path = path.display())]
    Open {
        /// The path as given.
        path: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// Reading failed half way.
    #[error("can't read `{name}` to its end")]
    Read {
        /// The path, or the name given.
        name: String,
        /// The operating system's words.
        source: io::Error,
    },
    /// The file was written to, replaced or removed between its hashing and the end of the run.
    #[error(
        "`{path}` changed while it was read ({what}): run again when its writer is done; a writer should fill another \
         name and rename it at the end",
        path = path.display()
    )]
    Changed {
        /// The path as given.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// There is no room for the copy of a pipe.
    #[error(
        "no space in `{dir}` for a copy of the input: make room, or choose another temporary folder (TMPDIR)",
        dir = dir.display()
    )]
    NoSpace {
        /// The folder of the temporary file.
        dir: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// The copy of a pipe can't be made for another reason.
    #[error("can't keep a copy of the input in `{dir}`", dir = dir.display())]
    Spool {
        /// The folder of the temporary file.
        dir: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
}

impl PayloadError {
    pub(crate) fn opening(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            io::ErrorKind::IsADirectory => Self::Folder { path },
            _ => Self::Open { path, source },
        }
    }

    pub(crate) fn spooling(dir: &Path, source: io::Error) -> Self {
        let dir = dir.to_owned();
        if is_no_space(&source) { Self::NoSpace { dir, source } } else { Self::Spool { dir, source } }
    }
}

/// Whether a write failed for want of room: a full disk, a quota, a limit on the size of files.
pub(crate) fn is_no_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
