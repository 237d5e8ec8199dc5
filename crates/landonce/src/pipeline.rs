//! A pipeline as the library's users hold it: from YAML, from a file, or built in code; then `ingest`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use landonce_core::period::Period;
use landonce_core::pipeline::{Pipeline as Declared, PipelineError};
use landonce_core::spec::Spec;

use crate::batch::Batch;
use crate::derive::{Checked, Derivation, Deriving};
use crate::environment::variable;
use crate::error::{Error, Repr};
use crate::ingest::{Options, Preview};
use crate::receipt::Receipt;
use crate::store::{Pending, Store};

/// A declared pipeline, checked and ready. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Pipeline {
    declared: Arc<Declared>,
    store_url: Option<String>,
    base: PathBuf,
}

impl Pipeline {
    /// From a pipeline file. The source's glob is relative to the file's folder.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let yaml = std::fs::read_to_string(path)
            .map_err(|error| Error::declaration(format!("{}: {error}", path.display())))?;
        let mut pipeline = Self::parse(&yaml, &path.display().to_string())?;
        pipeline.base = path.parent().map(Path::to_owned).unwrap_or_default();
        pipeline.declared = Arc::new(pipeline.declared.as_ref().clone().archived_relative_to(&pipeline.base));
        Ok(pipeline)
    }

    /// From a pipeline file's text.
    pub fn from_yaml(yaml: &str) -> Result<Self, Error> {
        Self::parse(yaml, "pipeline")
    }

    /// From a [`Spec`] made in code.
    pub fn from_spec(spec: Spec) -> Result<Self, Error> {
        Self::resolve(spec, "pipeline")
    }

    fn parse(yaml: &str, path: &str) -> Result<Self, Error> {
        let spec = Spec::parse(yaml).map_err(|source| Repr::Spec { path: path.to_owned(), source })?;
        Self::resolve(spec, path)
    }

    fn resolve(spec: Spec, path: &str) -> Result<Self, Error> {
        let store_url = spec.store.clone();
        let declared =
            Declared::new(spec).map_err(|source| Repr::Pipeline { path: path.to_owned(), source })?;
        Ok(Self { declared: Arc::new(declared), store_url, base: PathBuf::new() })
    }

    /// What was declared.
    pub fn declared(&self) -> &Declared {
        &self.declared
    }

    pub(crate) fn declared_shared(&self) -> &Arc<Declared> {
        &self.declared
    }

    /// The pipeline's name.
    pub fn name(&self) -> &str {
        self.declared.name()
    }

    /// The pipeline of one period's run (H4): of a label, an instant at which a period starts, or an ISO interval
    /// (`2026-03-01/2026-03-02`, an orchestrator's data interval). It stands in every `{period.…}` of the source.
    ///
    /// # Errors
    /// When the pipeline isn't loaded by periods, or the text is no period of its calendar.
    pub fn in_period(&self, text: &str) -> Result<Self, Error> {
        self.bound(self.declared.in_period(text))
    }

    /// [`Pipeline::in_period`] of a period that is known already.
    ///
    /// # Errors
    /// As for [`Pipeline::in_period`].
    pub fn of(&self, period: &Period) -> Result<Self, Error> {
        self.bound(self.declared.of(period))
    }

    /// The same pipeline for the messages of a stream: they come in pieces of any size, so that a share of bad records says nothing of a
    /// piece, and a declared format isn't theirs.
    #[must_use]
    pub fn of_stream(&self) -> Self {
        Self { declared: Arc::new(self.declared.as_ref().clone().of_events()), ..self.clone() }
    }

    fn bound(&self, declared: Result<Declared, PipelineError>) -> Result<Self, Error> {
        let declared = declared.map_err(|source| Repr::Pipeline { path: self.name().to_owned(), source })?;
        Ok(Self { declared: Arc::new(declared), ..self.clone() })
    }

    /// The folder that its paths are relative to: that of its file.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// A text of the declaration with `${NAME}` taken from the environment; `key` is what an error calls it.
    ///
    /// # Errors
    /// When a variable isn't set. The error names the variable, and never a value.
    pub fn expanded(key: &str, text: &str) -> Result<String, Error> {
        expand(key, text)
    }

    /// The store that the pipeline names, with `${NAME}` taken from the environment.
    pub fn store_url(&self) -> Result<Option<String>, Error> {
        self.store_url.as_deref().map(|url| expand("store", url)).transpose()
    }

    /// The files of the source's glob, in name order: each is a batch of its own. An error when there is none.
    pub fn source_files(&self) -> Result<Vec<PathBuf>, Error> {
        let Some(pattern) = &self.declared.source().file else {
            if self.declared.source().feed.is_stream() {
                return Err(Error::declaration("the pipeline reads a stream: `landonce consume` lands it"));
            }
            return Err(Error::declaration(
                "the pipeline names no `source.file`; name one, or give a file on the command line",
            ));
        };
        self.check_period()?;
        let pattern = self.base.join(pattern);
        let pattern = pattern.to_string_lossy();
        let malformed =
            |error: &dyn std::fmt::Display| Error::declaration(format!("source.file `{pattern}`: {error}"));
        let mut files = Vec::new();
        for found in glob::glob(&pattern).map_err(|error| malformed(&error))? {
            let found = found.map_err(|error| malformed(&error))?;
            if !found.is_dir() {
                files.push(found);
            }
        }
        if files.is_empty() {
            return Err(Error::declaration(format!(
                "source.file `{pattern}`: no such file; check the path (it is relative to the pipeline file)"
            )));
        }
        files.sort();
        if let (Some(period), [first, second, ..]) = (self.declared.period(), files.as_slice()) {
            return Err(Error::declaration(format!(
                "source.file `{pattern}`: {} files for the period {period} ({}, {} …), and each would overwrite the one before: a \
                 period's payload is one file",
                files.len(),
                first.display(),
                second.display()
            )));
        }
        Ok(files)
    }

    /// Refuses to go on without a period where the pipeline is loaded by periods.
    ///
    /// # Errors
    /// When it is, and none is given.
    pub fn check_period(&self) -> Result<(), Error> {
        let (Some(calendar), None) = (self.declared.calendar(), self.declared.period()) else {
            return Ok(());
        };
        Err(Error::declaration(format!(
            "`{}` is loaded by periods of a {every}; say which (`--period {}`)",
            self.name(),
            calendar.every().example(),
            every = calendar.every(),
        )))
    }

    /// The folder that relative paths of the pipeline file are relative to; empty for one that came from no file.
    pub fn folder(&self) -> &Path {
        &self.base
    }

    /// Lands a batch: in one transaction, retried as a whole, once.
    pub async fn ingest(&self, store: &Store, batch: &Batch) -> Result<Receipt, Error> {
        self.ingest_with(store, batch, &Options::default()).await
    }

    /// [`Pipeline::ingest`], with options.
    pub async fn ingest_with(
        &self,
        store: &Store,
        batch: &Batch,
        options: &Options,
    ) -> Result<Receipt, Error> {
        store.ingest(&self.declared, batch, options).await
    }

    /// Lands a batch inside your own open transaction: nothing is committed, nothing retried; what you do in the same
    /// transaction stands or falls with it. `transaction` is a `tokio_postgres::Transaction` or a
    /// `rusqlite::Transaction`; landonce's tables must be there ([`Store::migrate`]).
    pub async fn ingest_in<T: crate::store::CallersTransaction>(
        &self,
        transaction: &mut T,
        batch: &Batch,
        options: &Options,
    ) -> Result<Receipt, Error> {
        transaction.ingest(&self.declared, batch, options).await
    }

    /// Computes the periods of the derived tables that batches have marked as due. Whatever fails, the marks are left, and the
    /// next call finishes.
    pub fn derive<'a>(&'a self, store: &'a Store) -> Pending<'a, Vec<Derivation>> {
        Box::pin(async move { self.derive_with(store, &Deriving::default()).await })
    }

    /// [`Pipeline::derive`], with options.
    pub fn derive_with<'a>(
        &'a self,
        store: &'a Store,
        options: &'a Deriving,
    ) -> Pending<'a, Vec<Derivation>> {
        store.derive(&self.declared, options)
    }

    /// Proves that the derived tables are equal to their queries over their bases, period by period; or says where they aren't.
    /// Writes nothing.
    pub fn check_derived<'a>(&'a self, store: &'a Store) -> Pending<'a, Vec<Checked>> {
        store.check_derived(&self.declared)
    }

    /// What a run would do: counts and the first `samples` changes. Writes nothing, not even in landonce's own tables; the
    /// database itself is told to refuse writes.
    pub async fn preview(&self, store: &Store, batch: &Batch, samples: usize) -> Result<Preview, Error> {
        store.preview(&self.declared, batch, samples).await
    }
}

/// Puts environment variables into `${NAME}`. `key` is where the text stands; the error names it and the variable, never a value.
///
/// # Errors
/// When a variable isn't set, or a `${` isn't closed.
pub fn expand(key: &str, text: &str) -> Result<String, Error> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let inside = &rest[at + 2..];
        let end = inside
            .find('}')
            .ok_or_else(|| Error::declaration(format!("{key}: `${{` isn't closed by `}}`")))?;
        let name = &inside[..end];
        let value = variable(name).ok_or_else(|| {
            Error::declaration(format!("{key}: the environment variable `{name}` isn't set"))
        })?;
        out.push_str(&value);
        rest = &inside[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_variable_is_named() {
        assert!(
            expand("store", "postgres://u:${LANDONCE_NO_SUCH}@h/d")
                .unwrap_err()
                .to_string()
                .contains("`LANDONCE_NO_SUCH` isn't set")
        );
        assert_eq!(expand("store", "sqlite:x.db").unwrap(), "sqlite:x.db");
        assert!(expand("store", "a${b").is_err());
    }

    #[test]
    fn a_file_without_a_match_is_an_error_not_an_empty_run() {
        let pipeline = Pipeline::from_yaml(
            "pipeline: p\nidentity: [id]\ntarget: {table: t}\nsource: {file: 'no/such/*.x'}",
        )
        .unwrap();
        assert!(pipeline.source_files().unwrap_err().to_string().contains("no such file"));
    }
}
