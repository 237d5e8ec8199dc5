//! An archive, and the verbs on it.

use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use object_store::path::Path as Object;
use object_store::{ObjectStore, ObjectStoreExt as _};

use crate::error::Error;
use crate::manifest::{self, Delivery, Manifest};
use crate::place::{self, Place};

/// How many manifests are read at a time.
const AT_ONCE: usize = 16;

/// A place where batches' bytes are kept. Cheap to clone.
#[derive(Clone)]
pub struct Archive {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) place: String,
    /// The folder, if it is one.
    pub(crate) root: Option<PathBuf>,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Archive").field(&self.place).finish()
    }
}

impl Archive {
    /// The archive at a place: a folder, `file:PATH`, or `s3://bucket/prefix` (settings and credentials from `AWS_…`
    /// variables). A folder that isn't there is [`Error::NoArchive`].
    pub fn open(url: &str) -> Result<Self, Error> {
        match Place::parse(url)? {
            Place::Folder(path) if !path.is_dir() => {
                Err(Error::NoArchive { place: path.display().to_string() })
            }
            Place::Folder(path) => {
                let (store, root) = place::folder(path)?;
                Ok(Self { store, place: path.display().to_string(), root: Some(root) })
            }
            Place::S3 { bucket, prefix } => {
                let store = place::s3(bucket, prefix)?;
                let place = format!("s3://{bucket}/{prefix}").trim_end_matches('/').to_owned();
                Ok(Self { store, place, root: None })
            }
        }
    }

    /// [`Archive::open`]; a folder that isn't there is made.
    pub fn open_or_make(url: &str) -> Result<Self, Error> {
        if let Place::Folder(path) = Place::parse(url)? {
            std::fs::create_dir_all(path).map_err(|error| Error::Store {
                place: path.display().to_string(),
                doing: "making the folder".into(),
                source: object_store::Error::Generic { store: "folder", source: error.into() },
            })?;
        }
        Self::open(url)
    }

    /// Where it is, without secrets.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Keeps a delivery's bytes, compressed unless they are already, and tells which batch they are. Comes back when they
    /// are safe: first the bytes, then the manifest, so that no manifest names what isn't there.
    ///
    /// May be repeated and run twice at once: equal bytes are one blob, whichever was first. Bytes that are kept already are
    /// read and checked, and a damaged blob is written anew. Bytes that aren't the announced ones are [`Error::Changed`],
    /// and nothing is kept.
    pub async fn keep(
        &self,
        delivery: Delivery,
        bytes: impl Read + Send + 'static,
    ) -> Result<Manifest, Error> {
        let blob = self.keep_blob(&delivery, bytes).await?;
        let path = manifest::path(&delivery.pipeline, &delivery.batch_id, &hex::encode(delivery.digest));
        // One that can't be read is written anew: what it said is said again.
        let before = self.manifest(&path).await.unwrap_or_default();
        let first = before.map_or(delivery.received_at, |before| before.first_received_at);
        let manifest = Manifest::new(&delivery, blob, first);
        let text = serde_json::to_vec_pretty(&manifest).map_err(|error| Error::Manifest {
            place: self.place.clone(),
            path: path.clone(),
            why: error.to_string(),
        })?;
        self.store
            .put(&self.object(&path)?, text.into())
            .await
            .map_err(|source| self.failed("writing a manifest", source))?;
        Ok(manifest)
    }

    /// The manifests of a batch: one for each content that was delivered under its id, the last delivered last.
    pub async fn of_batch(&self, pipeline: &str, batch_id: &str) -> Result<Vec<Manifest>, Error> {
        let all = self.manifests(&manifest::batch_folder(pipeline, batch_id)).await?;
        Ok(all.into_iter().filter(|one| one.pipeline == pipeline && one.batch_id == batch_id).collect())
    }

    /// A pipeline's manifests, in the order in which the batches were delivered, from the first moment and before the second.
    pub async fn list(
        &self,
        pipeline: &str,
        from: Option<Timestamp>,
        to: Option<Timestamp>,
    ) -> Result<Vec<Manifest>, Error> {
        let all = self.manifests(&manifest::folder(pipeline)).await?;
        Ok(all
            .into_iter()
            .filter(|one| one.pipeline == pipeline)
            .filter(|one| from.is_none_or(|from| one.received_at >= from))
            .filter(|one| to.is_none_or(|to| one.received_at < to))
            .collect())
    }

    /// Forgets which batch some bytes were. The bytes stay until [`Archive::sweep`] finds that nothing else needs them.
    pub async fn forget(&self, manifest: &Manifest) -> Result<(), Error> {
        let path = self.object(&manifest.path())?;
        match self.store.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(source) => Err(self.failed("forgetting a batch", source)),
        }
    }

    /// All manifests below a folder, by when they were received.
    pub(crate) async fn manifests(&self, folder: &str) -> Result<Vec<Manifest>, Error> {
        let prefix = self.object(folder)?;
        let objects: Vec<Object> = self
            .store
            .list(Some(&prefix))
            .map_ok(|object| object.location)
            .try_collect()
            .await
            .map_err(|source| self.failed("listing batches", source))?;
        let reads = objects.into_iter().map(|path| async move { self.manifest(path.as_ref()).await });
        let mut manifests: Vec<Manifest> = futures_util::stream::iter(reads)
            .buffer_unordered(AT_ONCE)
            // One that was forgotten meanwhile is no longer listed.
            .try_filter_map(async |read| Ok(read))
            .try_collect()
            .await?;
        manifests.sort_by(|a, b| {
            (a.received_at, &a.batch_id, &a.digest).cmp(&(b.received_at, &b.batch_id, &b.digest))
        });
        Ok(manifests)
    }

    /// One manifest, if it is there.
    async fn manifest(&self, path: &str) -> Result<Option<Manifest>, Error> {
        let bytes = match self.store.get(&self.object(path)?).await {
            Ok(found) => found.bytes().await,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(source) => Err(source),
        };
        let bytes = bytes.map_err(|source| self.failed("reading a manifest", source))?;
        let manifest = Manifest::parse(&bytes).map_err(|why| Error::Manifest {
            place: self.place.clone(),
            path: path.to_owned(),
            why,
        })?;
        Ok(Some(manifest))
    }

    /// An object by its path, whose parts are encoded already.
    pub(crate) fn object(&self, path: &str) -> Result<Object, Error> {
        Object::parse(path).map_err(|source| self.failed(format!("naming {path}"), source.into()))
    }

    pub(crate) fn failed(&self, doing: impl Into<String>, source: object_store::Error) -> Error {
        Error::Store { place: self.place.clone(), doing: doing.into(), source }
    }
}
