//! A HOME for one trial: links to everything in the real one, without the folders in which tools keep the state of runs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// What a HOME of a trial begins without. Everything else is there: credentials, configuration, installed tools, caches.
pub(super) const WITHOUT: &[&str] = &[
    // dlt: the working folders of pipelines with their incremental state. Its configuration beside them stays.
    ".dlt/pipelines",
    // Singer taps and targets: bookmarks.
    ".singer",
    // Meltano outside a project: its database of runs and their state.
    ".meltano",
    // The XDG base directory specification: state that is no configuration and no cache.
    ".local/state",
    // Prefect: its database of runs, and results that a re-run takes instead of working.
    ".prefect/prefect.db",
    ".prefect/storage",
    // Airflow: its database of runs, where nothing else is configured.
    "airflow/airflow.db",
    // Dagster: runs and cursors of sensors.
    ".dagster",
];

/// Fills an empty folder as the trial's HOME. Where the user's folder lies in the real HOME, its copy is found there.
pub(super) fn fill(home: &Path, real: &Path, original: &Path, copy: &Path) -> Result<()> {
    let home_of = Home { original, copy };
    home_of
        .link(home, real, Path::new(""))
        .map_err(|error| Error::because(format!("cannot make a HOME of links to {}", real.display()), error))
}

struct Home<'a> {
    original: &'a Path,
    copy: &'a Path,
}

impl Home<'_> {
    fn link(&self, into: &Path, real: &Path, inside: &Path) -> io::Result<()> {
        for name in names(real)? {
            let (from, to, path) = (real.join(&name), into.join(&name), inside.join(&name));
            let is_folder = || from.is_dir();
            if WITHOUT.iter().any(|without| path == Path::new(without)) {
                continue;
            }
            if from == self.original {
                symlink(self.copy, &to)?;
            } else if (self.original.starts_with(&from)
                || WITHOUT.iter().any(|without| Path::new(without).starts_with(&path)))
                && is_folder()
            {
                fs::create_dir(&to)?;
                self.link(&to, &from, &path)?;
            } else {
                symlink(&from, &to)?;
            }
        }
        Ok(())
    }
}

/// The names in a folder; none where there is no folder or it can't be read.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name())).collect(),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// The real HOME, if there is one.
pub(super) fn real() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os("HOME")?);
    // Links in it would make the user's folder look as if it lay elsewhere.
    home.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_left_out_and_the_rest_is_linked() {
        let real = tempfile::tempdir().unwrap();
        let home = tempfile::tempdir().unwrap();
        for folder in
            [".dlt/pipelines/p", ".config/tool", ".local/state/t", ".local/bin", "work/proj", "work/other"]
        {
            fs::create_dir_all(real.path().join(folder)).unwrap();
        }
        fs::write(real.path().join(".dlt/secrets.toml"), "s").unwrap();
        let copy = tempfile::tempdir().unwrap();
        fs::write(copy.path().join("here"), "").unwrap();
        fill(home.path(), real.path(), &real.path().join("work/proj"), copy.path()).unwrap();

        let is_there = |path: &str| home.path().join(path).exists();
        assert!(is_there(".config/tool") && is_there(".local/bin") && is_there(".dlt/secrets.toml"));
        assert!(is_there("work/other") && is_there("work/proj/here"));
        assert!(!is_there(".dlt/pipelines") && !is_there(".local/state"));
        // What a tool makes there now is not in the real HOME.
        fs::create_dir(home.path().join(".dlt/pipelines")).unwrap();
        assert!(!real.path().join(".dlt/pipelines/q").exists());
        assert!(!fs::symlink_metadata(home.path().join(".dlt")).unwrap().is_symlink());
    }
}
