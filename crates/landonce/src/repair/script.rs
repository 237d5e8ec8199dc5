//! The script that takes a repair back: written beside, whole on the disk before the repair is committed.
//!
//! Until it is whole it has another name, and it goes when the repair doesn't come to its end.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::refused;
use crate::error::{Error, Repr};
use crate::payload::{PayloadError, is_no_space};

/// A script on its way.
#[derive(Debug)]
pub(super) struct Script {
    path: PathBuf,
    partial: PathBuf,
    file: Option<BufWriter<File>>,
    folder: PathBuf,
    /// Parts that are written in the order of the repair, and run in the opposite one.
    undone: Vec<File>,
    /// It is left on the disk whatever happens.
    is_kept: bool,
}

impl Script {
    /// Begins one for a table. Fails where it can't be written, before anything is changed.
    pub(super) fn begin(folder: &Path, table: &str, run_id: Uuid, head: &str) -> Result<Self, Error> {
        let plain: String = table
            .chars()
            .map(|c| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' })
            .collect();
        let path = folder.join(format!("repair-{plain}-{run_id}.sql"));
        let partial = folder.join(format!("repair-{plain}-{run_id}.sql.partial"));
        if path.exists() {
            return Err(refused(format!(
                "{}: is there already; a repair's script is never overwritten",
                path.display()
            )));
        }
        let file = OpenOptions::new().write(true).create_new(true).open(&partial);
        let file = file.map_err(|error| unwritten(&partial, error))?;
        let mut script = Self {
            path,
            partial,
            file: Some(BufWriter::with_capacity(256 * 1024, file)),
            folder: folder.to_owned(),
            undone: Vec::new(),
            is_kept: false,
        };
        script.write(head.as_bytes()).map_err(|error| unwritten(&script.path, error))?;
        Ok(script)
    }

    /// Writes on.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    /// A part that is to run before all parts that were made so until now.
    pub(super) fn part(&mut self) -> Result<BufWriter<File>, Error> {
        let made = || {
            let file = tempfile::tempfile_in(&self.folder)?;
            Ok((file.try_clone()?, file))
        };
        let (kept, file) = made().map_err(|error| unwritten(&self.path, error))?;
        self.undone.push(kept);
        Ok(BufWriter::new(file))
    }

    /// Ends it: whole, under its own name, on the disk.
    pub(super) fn finish(&mut self, end: &str) -> Result<(), Error> {
        let mut end_it = || {
            let Some(mut file) = self.file.take() else { return Ok(()) };
            for part in self.undone.iter_mut().rev() {
                part.rewind()?;
                io::copy(part, &mut file)?;
            }
            file.write_all(end.as_bytes())?;
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.sync_all()?;
            // Linking fails where the name is taken, and renaming would not.
            std::fs::hard_link(&self.partial, &self.path).or_else(|error| {
                if self.path.exists() { Err(error) } else { std::fs::rename(&self.partial, &self.path) }
            })?;
            let _ = std::fs::remove_file(&self.partial);
            // The name is on the disk when its folder is.
            sync_folder(&self.folder)
        };
        end_it().map_err(|error| unwritten(&self.path, error))
    }

    /// Leaves it on the disk: what it takes back is done, or may be.
    pub(super) fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.path.clone()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_file(&self.partial);
            if self.file.is_none() {
                let _ = std::fs::remove_file(&self.path);
            }
        }
    }
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn unwritten(path: &Path, error: io::Error) -> Error {
    if is_no_space(&error) {
        return Error::from(Repr::Payload(PayloadError::NoSpace {
            dir: path.parent().unwrap_or(path).to_owned(),
            source: error,
        }));
    }
    refused(format!("can't write the script {}: {error}; nothing was changed", path.display()))
}
