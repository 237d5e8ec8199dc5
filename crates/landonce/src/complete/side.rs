//! Files beside a payload that say something of it: a count, a checksum, a manifest.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use landonce_core::pipeline::SideFile;

use crate::batch::Batch;
use crate::error::Error;
use crate::payload::PayloadError;

/// The most that is read of one: a manifest may list some hundred thousand files.
const MOST: u64 = 64 << 20;

/// A side file's text.
pub(super) struct Side {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Side {
    /// Its name in messages.
    pub(super) fn shown(&self) -> String {
        format!("`{}`", self.path.display())
    }
}

/// Reads one. The inner error is a file that proves nothing (it isn't there, it isn't text), the outer one a file that this
/// process can't read.
pub(super) fn read(file: &SideFile, batch: &Batch) -> Result<Result<Side, String>, Error> {
    let path = match locate(file, batch.payload().path()) {
        Ok(path) => path,
        Err(why) => return Ok(Err(why)),
    };
    let shown = path.display();
    // Looked at before it is opened: opening a pipe would wait for its writer.
    let found = std::fs::metadata(&path)
        .and_then(|metadata| if metadata.is_file() { File::open(&path).map(Some) } else { Ok(None) });
    let opened = match found {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(Err(format!("`{shown}`, which is to prove it complete, is no plain file"))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Err(format!("`{shown}`, which is to prove it complete, isn't there")));
        }
        Err(error) => return Err(PayloadError::opening(&path, error).into()),
    };
    let mut bytes = Vec::new();
    opened
        .take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| PayloadError::Read { name: shown.to_string(), source })?;
    if bytes.len() as u64 > MOST {
        return Ok(Err(format!(
            "`{shown}` is larger than {} MiB: is it the file that proves it?",
            MOST >> 20
        )));
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Ok(Err(format!("`{shown}` isn't text in UTF-8")));
    };
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Ok(Side { path, text }))
}

/// Where it is: relative to the payload's own folder.
fn locate(file: &SideFile, payload: Option<&Path>) -> Result<PathBuf, String> {
    let Some(payload) = payload else {
        let path = Path::new(file.as_str());
        if path.is_absolute() && !file.needs_name() {
            return Ok(path.to_owned());
        }
        return Err(format!(
            "`{}` is looked for beside the payload, and this one has no place (it came through a pipe or from memory): deliver it \
             as a file",
            file.as_str()
        ));
    };
    let Some(name) = payload.file_name().and_then(|name| name.to_str()) else {
        return Err("a file beside it can't be named after it, since its own name isn't UTF-8".to_owned());
    };
    Ok(payload.parent().unwrap_or(Path::new("")).join(file.of(name)))
}
