//! A folder of one's own, and bytes to keep in it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use landonce_archive::{Archive, Delivery, Error, Form, Manifest};
use sha2::{Digest as _, Sha256};

/// An archive in a temporary folder.
pub(crate) struct Given {
    pub(crate) archive: Archive,
    folder: tempfile::TempDir,
}

impl Given {
    pub(crate) fn folder() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("archive");
        Self { archive: Archive::open_or_make(place.to_str().unwrap()).unwrap(), folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("archive")
    }

    /// All files below a folder of the archive, by their names.
    pub(crate) fn files(&self, below: &str) -> Vec<PathBuf> {
        files(&self.path().join(below))
    }

    pub(crate) fn only_blob(&self) -> PathBuf {
        let blobs = self.files("blobs");
        assert_eq!(blobs.len(), 1, "{blobs:?}");
        blobs[0].clone()
    }
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_790_000_000 + second).unwrap()
}

/// A delivery of these bytes.
pub(crate) fn delivery(batch_id: &str, bytes: &[u8]) -> Delivery {
    Delivery {
        pipeline: "flights/ü".into(),
        batch_id: batch_id.into(),
        digest: Sha256::digest(bytes).into(),
        length: bytes.len() as u64,
        source: "events.ndjson".into(),
        run_id: uuid::Uuid::from_u128(7),
        received_at: at(0),
        form: Form::Delivered,
        period: None,
    }
}

pub(crate) async fn keep(archive: &Archive, batch_id: &str, bytes: &[u8]) -> Manifest {
    archive.keep(delivery(batch_id, bytes), std::io::Cursor::new(bytes.to_vec())).await.unwrap()
}

pub(crate) async fn restored(archive: &Archive, manifest: &Manifest) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    archive.open_verified(manifest).await?.read_to_end(&mut bytes).unwrap();
    Ok(bytes)
}

/// Bytes that no compressor makes smaller.
pub(crate) fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(length);
    out
}
