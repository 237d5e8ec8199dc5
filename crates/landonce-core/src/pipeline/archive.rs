//! The archive as meant: where each batch's source bytes are kept, and when they may be forgotten.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Pipeline, PipelineError, Proof, check};
use crate::spec::{ArchiveMap, ArchiveSpec};

/// How long a sender may deliver a batch again, unless the pipeline says otherwise.
const RETRY_WINDOW: Duration = Duration::from_hours(30 * 24);

/// Where each batch's source bytes are kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// The place as written: a folder or `s3://bucket/prefix`, `${NAME}` not yet put in.
    pub to: String,
    /// The folder that a relative place is relative to: the pipeline file's.
    pub base: PathBuf,
    /// How long bytes are kept; for ever without.
    pub keep_for: Option<Duration>,
    /// How long the sender may still deliver a batch again.
    pub retry_window: Duration,
}

impl Archive {
    /// Checks what was written.
    pub(super) fn new(spec: ArchiveSpec) -> Result<Self, PipelineError> {
        let map = match spec {
            ArchiveSpec::Place(to) => ArchiveMap { to, keep_for: None, retry_window: None },
            ArchiveSpec::Map(map) => map,
        };
        place(&map.to)?;
        let keep_for = map.keep_for.as_deref().map(|text| duration("archive.keep_for", text)).transpose()?;
        let retry_window = match map.retry_window.as_deref() {
            None => RETRY_WINDOW,
            Some(text) => duration("archive.retry_window", text)?,
        };
        if keep_for.is_some_and(|keep_for| keep_for < retry_window) {
            let window = map.retry_window.as_deref().unwrap_or("30d");
            return fault(
                "archive.keep_for",
                format!(
                    "`{}` is shorter than `retry_window` ({window}): bytes would be forgotten that the sender may still deliver \
                     again; keep them longer, or shorten `retry_window` to what the sender promises",
                    map.keep_for.unwrap_or_default()
                ),
            );
        }
        Ok(Self { to: map.to, base: PathBuf::new(), keep_for, retry_window })
    }

    /// The same archive, relative places being relative to this folder.
    pub(super) fn relative_to(&mut self, base: &Path) {
        base.clone_into(&mut self.base);
    }
}

impl Pipeline {
    /// The same pipeline, its archive's place relative to this folder (the pipeline file's).
    #[must_use]
    pub fn archived_relative_to(mut self, base: &Path) -> Self {
        if let Some(archive) = &mut self.archive {
            archive.relative_to(base);
        }
        self
    }

    /// The same pipeline under another name, into another table, and with nothing archived: what `replay --into` runs.
    pub fn into_scratch(mut self, name: String, table: &str) -> Result<Self, PipelineError> {
        self.target.table = check::table("--into", table)?;
        self.name = name;
        self.archive = None;
        Ok(self)
    }

    /// The same pipeline without the proofs that lie beside a payload: for bytes that were proven by them before.
    #[must_use]
    pub fn proven_by_files(mut self) -> Self {
        let lies_beside =
            |proof: &Proof| matches!(proof, Proof::CountFile(_) | Proof::Checksum(_) | Proof::Manifest(_));
        self.source.complete.retain(|proof| !lies_beside(proof));
        self
    }

    /// The same pipeline with nothing archived: for bytes that come out of the archive.
    #[must_use]
    pub fn unarchived(mut self) -> Self {
        self.archive = None;
        self
    }
}

fn fault<T>(key: &'static str, message: impl Into<String>) -> Result<T, PipelineError> {
    Err(PipelineError { key, message: message.into() })
}

/// Credentials have no place here, and are not repeated.
fn place(to: &str) -> Result<(), PipelineError> {
    if to.trim().is_empty() || to.contains('\0') {
        return fault("archive.to", "a folder or `s3://bucket/prefix` is due");
    }
    if to.contains("://") && to.contains('@') {
        return fault(
            "archive.to",
            "holds `@`: credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, never from a pipeline file",
        );
    }
    Ok(())
}

/// `90d`, `12w`, `36h`, `30m`: a whole number and one unit.
fn duration(key: &'static str, text: &str) -> Result<Duration, PipelineError> {
    let text = text.trim();
    let unit = |end: char| match end {
        'm' => Some(60),
        'h' => Some(3600),
        'd' => Some(24 * 3600),
        'w' => Some(7 * 24 * 3600),
        _ => None,
    };
    let seconds = text
        .chars()
        .last()
        .and_then(unit)
        .and_then(|unit: u64| text[..text.len() - 1].trim().parse::<u64>().ok()?.checked_mul(unit))
        // A thousand centuries: far from where times overflow.
        .filter(|seconds| *seconds > 0 && *seconds <= 100_000 * 366 * 24 * 3600);
    let Some(seconds) = seconds else {
        let shown: String = text.chars().take(40).collect();
        return fault(
            key,
            format!("a number and a unit are due (`90d`, `12w`, `36h`, `30m`), not `{shown}`"),
        );
    };
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    fn declared(archive: &str) -> Result<Archive, String> {
        let yaml = format!("pipeline: p\nidentity: [id]\ntarget: {{table: t}}\narchive: {archive}\n");
        let spec = Spec::parse(&yaml).map_err(|error| error.to_string())?;
        let pipeline = Pipeline::new(spec).map_err(|error| error.to_string())?;
        Ok(pipeline.archive().cloned().unwrap())
    }

    #[test]
    fn a_place_alone_keeps_everything() {
        let archive = declared("archive/").unwrap();
        assert_eq!((archive.to.as_str(), archive.keep_for), ("archive/", None));
        assert_eq!(archive.retry_window, Duration::from_hours(30 * 24));
        let long = declared("{to: 's3://bucket/p', keep_for: 12w, retry_window: 36h}").unwrap();
        assert_eq!(long.keep_for, Some(Duration::from_hours(84 * 24)));
        assert_eq!(long.retry_window, Duration::from_hours(36));
    }

    #[test]
    fn bytes_are_never_kept_for_less_than_the_sender_may_retry() {
        for archive in ["{to: a, keep_for: 7d}", "{to: a, keep_for: 7d, retry_window: 8d}"] {
            let told = declared(archive).unwrap_err();
            assert!(told.contains("shorter than `retry_window`"), "{told}");
        }
        assert!(declared("{to: a, keep_for: 30d}").is_ok());
    }

    #[test]
    fn what_is_no_duration_is_refused_with_what_is_one() {
        for text in ["90", "d", "-1d", "1.5d", "0d", "90 days", "99999999999999999999d", "9999999999w", "é"]
        {
            let told = declared(&format!("{{to: a, keep_for: '{text}'}}")).unwrap_err();
            assert!(told.contains("archive.keep_for: a number and a unit are due"), "{text}: {told}");
        }
    }

    #[test]
    fn credentials_in_the_place_are_refused_and_not_repeated() {
        let told = declared("s3://AKIA:sekret@bucket/p").unwrap_err();
        assert!(told.contains("AWS_SECRET_ACCESS_KEY") && !told.contains("sekret"), "{told}");
        assert!(declared("''").unwrap_err().contains("archive.to"));
        let unknown = declared("{to: a, keep_four: 1d}").unwrap_err();
        assert!(unknown.contains("keep_for"), "{unknown}");
    }
}
