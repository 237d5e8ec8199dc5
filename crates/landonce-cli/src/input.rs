//! Where a batch's bytes come from: files, patterns, stdin.

use std::path::{Path, PathBuf};

use landonce::Batch;

use crate::blocking::blocking;
use crate::failure::Failure;

/// What stdin is called in messages and in the inbox.
const STDIN: &str = "stdin";

/// One batch's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// A file.
    File(PathBuf),
    /// Standard input, to its end.
    Stdin,
}

impl Input {
    /// What it is called.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => STDIN.to_owned(),
        }
    }

    /// Opens and hashes it, on a thread that may block, so that a signal is heard meanwhile.
    pub(crate) async fn open(&self) -> Result<Batch, Failure> {
        let input = self.clone();
        blocking(move || {
            Ok(match input {
                Self::File(path) => Batch::from_file(path)?,
                Self::Stdin => Batch::from_reader(STDIN, std::io::stdin().lock())?,
            })
        })
        .await
    }
}

/// The batches that were named, in the order given; a pattern's in the order of their names.
pub(crate) fn expand(named: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for path in named {
        if path.as_os_str() == "-" {
            if inputs.contains(&Input::Stdin) {
                return Err(Failure::usage("stdin (-) is named twice", "it can be read once only"));
            }
            inputs.push(Input::Stdin);
        } else if let Some(pattern) = pattern(path) {
            inputs.extend(matches(pattern)?.into_iter().map(Input::File));
        } else {
            inputs.push(Input::File(path.clone()));
        }
    }
    Ok(inputs)
}

/// A pattern, unless there is a file of just that name.
fn pattern(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.contains(['*', '?', '[']) && !path.exists())
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let help = "a pattern is like `schedule/*.ndjson.gz`; quote it, so that it reaches landonce as it is";
    let found = glob::glob(pattern).map_err(|error| Failure::usage(format!("`{pattern}`: {error}"), help))?;
    let mut files = Vec::new();
    for path in found {
        let path = path.map_err(|error| Failure::usage(format!("`{pattern}`: {error}"), help))?;
        if !path.is_dir() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Failure::usage(format!("no file matches `{pattern}`"), help));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_gives_files_in_name_order_and_no_folders() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.ndjson", "a.ndjson", "c.csv"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("d.ndjson")).unwrap();
        let found = expand(&[folder.path().join("*.ndjson")]).unwrap();
        let names: Vec<_> =
            found.iter().map(|input| input.name().rsplit('/').next().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.ndjson", "b.ndjson"]);
        assert!(expand(&[folder.path().join("*.parquet")]).is_err());
    }

    #[test]
    fn a_file_with_brackets_in_its_name_is_that_file() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("day[1].csv");
        std::fs::write(&odd, "").unwrap();
        assert_eq!(expand(std::slice::from_ref(&odd)).unwrap(), [Input::File(odd)]);
    }

    #[test]
    fn stdin_can_be_named_once() {
        assert_eq!(expand(&["-".into()]).unwrap(), [Input::Stdin]);
        assert!(expand(&["-".into(), "-".into()]).is_err());
    }
}
