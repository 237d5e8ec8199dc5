//! Blobs that nothing needs any more, deleted without ever taking one that a delivery is about to need.
//!
//! Between "no manifest names this blob" and "delete it" a delivery of the same bytes could find the blob, and name it. So
//! a blob is condemned first and deleted a day later: a condemned name is never used for a new delivery (equal bytes get
//! the next name), and a delivery that had looked before the mark was set has written its manifest long before the day is
//! over. Marks stay for ever; they are empty objects.

use std::collections::BTreeSet;
use std::time::UNIX_EPOCH;

use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use object_store::path::Path as Object;
use object_store::{ObjectStoreExt as _, PutPayload};

use crate::archive::Archive;
use crate::blob;
use crate::error::Error;

/// How long after its mark a blob is deleted: longer than keeping any payload takes.
const AFTER: i64 = 24 * 3600;

/// What a sweep has done, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Blobs that nothing needs, marked now, deleted by a sweep a day later.
    pub condemned: Vec<String>,
    /// Blobs that were marked a day ago or more, deleted now.
    pub deleted: Vec<String>,
    /// How many bytes those took.
    pub freed: u64,
    /// Halves of files that killed processes have left in the folder, deleted now.
    pub halves: u64,
}

impl Archive {
    /// Looks for blobs that no manifest of any pipeline names: marks them, and deletes those marked at least a day ago.
    /// Writes nothing unless `is_applied`. A manifest that can't be read is an error: nobody knows what it needs.
    pub async fn sweep(&self, now: Timestamp, is_applied: bool) -> Result<Swept, Error> {
        let failed = |source| self.failed("looking for blobs that nothing needs", source);
        // The order must hold: a blob or mark that comes later isn't looked at, a manifest that comes later needs none of
        // what is deleted here.
        let blobs: Vec<(String, u64)> = self
            .store
            .list(Some(&Object::from("blobs")))
            .map_ok(|object| (object.location.to_string(), object.size))
            .try_collect()
            .await
            .map_err(failed)?;
        let marks: Vec<(String, i64)> = self
            .store
            .list(Some(&Object::from("condemned")))
            .map_ok(|object| (object.location.to_string(), object.last_modified.timestamp()))
            .try_collect()
            .await
            .map_err(failed)?;
        let needed: BTreeSet<String> =
            self.manifests("batches").await?.into_iter().map(|manifest| manifest.blob).collect();

        let mut swept = Swept::default();
        for (name, size) in blobs {
            if needed.contains(&name) {
                continue;
            }
            let mark = blob::mark(&name);
            match marks.iter().find(|(marked, _)| *marked == mark.as_ref()) {
                None => {
                    if is_applied {
                        self.store.put(&mark, PutPayload::new()).await.map_err(failed)?;
                    }
                    swept.condemned.push(name);
                }
                Some((_, marked_at)) if now.as_second() - marked_at >= AFTER => {
                    if is_applied {
                        match self.store.delete(&self.object(&name)?).await {
                            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                            Err(source) => return Err(failed(source)),
                        }
                    }
                    swept.deleted.push(name);
                    swept.freed += size;
                }
                Some(_) => {}
            }
        }
        swept.halves = self.halves(now, is_applied)?;
        Ok(swept)
    }

    /// Files that a killed process was writing (`NAME#1`): never read by anybody, and gone after a day. A bucket has none;
    /// its unfinished uploads are the business of a lifecycle rule.
    fn halves(&self, now: Timestamp, is_applied: bool) -> Result<u64, Error> {
        let Some(root) = &self.root else { return Ok(0) };
        let mut count = 0;
        let mut folders = vec![root.join("blobs"), root.join("batches"), root.join("condemned")];
        while let Some(folder) = folders.pop() {
            let failed = |error: std::io::Error| {
                let source = object_store::Error::Generic { store: "folder", source: error.into() };
                self.failed("looking for halves", source)
            };
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            for entry in entries {
                let entry = entry.map_err(failed)?;
                let metadata = entry.metadata().map_err(failed)?;
                if metadata.is_dir() {
                    folders.push(entry.path());
                } else if is_half(&entry.file_name().to_string_lossy())
                    && now.as_second() - seconds(metadata.modified().map_err(failed)?) >= AFTER
                {
                    if is_applied {
                        std::fs::remove_file(entry.path()).map_err(failed)?;
                    }
                    count += 1;
                }
            }
        }
        Ok(count)
    }
}

/// Seconds since 1970; 0 for a file that claims to be older.
fn seconds(moment: std::time::SystemTime) -> i64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

/// The names under which `object_store` writes a file before it becomes the file.
fn is_half(name: &str) -> bool {
    name.rsplit_once('#')
        .is_some_and(|(_, end)| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()))
}
