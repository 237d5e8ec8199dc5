//! Why bytes can't be kept, or not be given back.

use std::io;

/// Why bytes can't be kept, or not be given back. No message holds a credential.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The place makes no sense.
    #[error("archive: {0}")]
    Place(String),
    /// There is no archive at the place.
    #[error(
        "there is no archive at `{place}`: nothing has been kept there yet, or the folder has moved or isn't mounted"
    )]
    NoArchive {
        /// The folder.
        place: String,
    },
    /// The folder or the object store refused, or didn't answer.
    #[error("the archive at `{place}`: {doing}: {source}")]
    Store {
        /// Where.
        place: String,
        /// What was being done.
        doing: String,
        /// The store's words.
        source: object_store::Error,
    },
    /// The bytes to be kept can't be read.
    #[error("the payload can't be read to be archived: {0}")]
    Payload(io::Error),
    /// The bytes to be kept aren't those that were announced.
    #[error(
        "the payload has changed while it was archived: it was SHA-256 {announced} ({announced_length} bytes), now {read} \
         ({length} bytes); nothing was kept"
    )]
    Changed {
        /// The digest announced.
        announced: String,
        /// The length announced.
        announced_length: u64,
        /// The digest of what was read.
        read: String,
        /// Its length.
        length: u64,
    },
    /// The bytes kept aren't those that were delivered.
    #[error(transparent)]
    Damaged(Box<Damage>),
    /// The bytes are gone.
    #[error(
        "the archived bytes of batch `{batch_id}` are gone: there is no {blob} in `{place}` (SHA-256 {delivered})"
    )]
    Gone {
        /// The batch.
        batch_id: String,
        /// The object.
        blob: String,
        /// The archive.
        place: String,
        /// The digest of the bytes delivered.
        delivered: String,
    },
    /// A manifest can't be understood.
    #[error("the archive at `{place}`: the manifest {path} can't be understood: {why}")]
    Manifest {
        /// The archive.
        place: String,
        /// The object.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The temporary file for bytes on their way out can't be written.
    #[error("archived bytes can't be unpacked into a temporary file: {0}")]
    Temporary(io::Error),
    /// A thread of the archive's ended without a word.
    #[error("the archive's thread ended without a word")]
    Thread,
}

/// Bytes that aren't those that were delivered.
#[derive(Debug, thiserror::Error)]
#[error(
    "the archived bytes of batch `{batch_id}` are damaged ({blob} in `{place}`): delivered were SHA-256 {delivered} \
     ({delivered_length} bytes), there is {found} ({length} bytes){}; none of it was used",
    .fault.as_ref().map(|fault| format!(" and then: {fault}")).unwrap_or_default()
)]
pub struct Damage {
    /// The batch.
    pub batch_id: String,
    /// The object.
    pub blob: String,
    /// The archive.
    pub place: String,
    /// The digest of the bytes delivered.
    pub delivered: String,
    /// Their number.
    pub delivered_length: u64,
    /// The digest of what could be read.
    pub found: String,
    /// Its length.
    pub length: u64,
    /// Why no more could be read.
    pub fault: Option<String>,
}

impl Error {
    /// Whether the archived bytes themselves are at fault: changed, cut or gone.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_) | Self::Gone { .. } | Self::Manifest { .. })
    }

    /// Whether a disk is full.
    pub fn is_no_space(&self) -> bool {
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = next {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                let is_full = matches!(
                    error.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
                );
                if is_full {
                    return true;
                }
            }
            next = error.source();
        }
        matches!(self, Self::Temporary(error) if error.kind() == io::ErrorKind::StorageFull)
    }
}
