//! Bytes out of the archive: read once from end to end, held against their digest, and only then given out.

use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};

use bytes::{Buf as _, Bytes};
use futures_util::StreamExt as _;
use object_store::ObjectStoreExt as _;
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};

use crate::archive::Archive;
use crate::blob;
use crate::error::{Damage, Error};
use crate::manifest::Manifest;

/// How much is unpacked at a time.
const CHUNK: usize = 128 << 10;

/// What a blob's bytes must be.
pub(crate) struct Expected {
    pub(crate) batch_id: String,
    pub(crate) digest: String,
    pub(crate) length: u64,
}

/// What a blob's bytes are, up to its end or to where it can't be unpacked.
struct Found {
    digest: String,
    length: u64,
    fault: Option<String>,
}

/// Why unpacking stopped before anything could be said about the bytes.
enum Stopped {
    /// The archive gave no more; its own error tells why.
    NoMore,
    /// The bytes could not be written where they should go.
    Into(io::Error),
}

impl Archive {
    /// A batch's bytes, in a temporary file without a name, at its beginning. They are checked before this returns:
    /// bytes that were changed, cut or lost are an error that names both digests, never part of a payload.
    pub async fn open_verified(&self, manifest: &Manifest) -> Result<File, Error> {
        let mut file = tempfile::tempfile().map_err(Error::Temporary)?;
        let mut into = file.try_clone().map_err(Error::Temporary)?;
        self.unpack(&manifest.blob, &expected(manifest), move |bytes| into.write_all(bytes)).await?;
        file.rewind().map_err(Error::Temporary)?;
        Ok(file)
    }

    /// Reads a batch's bytes and checks them, for nothing else.
    pub async fn verify(&self, manifest: &Manifest) -> Result<(), Error> {
        self.check(&manifest.blob, &expected(manifest)).await
    }

    pub(crate) async fn check(&self, blob: &str, expected: &Expected) -> Result<(), Error> {
        self.unpack(blob, expected, |_| Ok(())).await
    }

    async fn unpack(
        &self,
        blob: &str,
        expected: &Expected,
        into: impl FnMut(&[u8]) -> io::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let failed = |source| self.failed(format!("reading {blob}"), source);
        let path = self.object(blob)?;
        let mut stream = match self.store.get(&path).await {
            Ok(found) => found.into_stream(),
            Err(object_store::Error::NotFound { .. }) => {
                return Err(Error::Gone {
                    batch_id: expected.batch_id.clone(),
                    blob: blob.to_owned(),
                    place: self.place.clone(),
                    delivered: expected.digest.clone(),
                });
            }
            Err(source) => return Err(failed(source)),
        };
        let (chunks, packed) = mpsc::channel::<Option<Bytes>>(2);
        let (done, ended) = oneshot::channel();
        let (is_raw, length) = (blob::is_raw(blob), expected.length);
        std::thread::spawn(move || {
            let _ = done.send(unpack(Chunks::new(packed), is_raw, length, into));
        });
        let mut broken = None;
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|source| broken = Some(source)).ok();
            let is_last = chunk.is_none();
            // Nobody takes more when enough is known to say that the bytes are wrong.
            if chunks.send(chunk).await.is_err() || is_last {
                break;
            }
        }
        drop(chunks);
        let found = ended.await.map_err(|_| Error::Thread)?;
        if let Some(source) = broken {
            return Err(failed(source));
        }
        match found {
            Ok(found) if found.digest == expected.digest && found.fault.is_none() => Ok(()),
            Ok(found) => Err(Error::Damaged(Box::new(Damage {
                batch_id: expected.batch_id.clone(),
                blob: blob.to_owned(),
                place: self.place.clone(),
                delivered: expected.digest.clone(),
                delivered_length: expected.length,
                found: found.digest,
                length: found.length,
                fault: found.fault,
            }))),
            Err(Stopped::Into(error)) => Err(Error::Temporary(error)),
            Err(Stopped::NoMore) => Err(Error::Thread),
        }
    }
}

fn expected(manifest: &Manifest) -> Expected {
    Expected { batch_id: manifest.batch_id.clone(), digest: manifest.digest.clone(), length: manifest.length }
}

/// Unpacks to the end, or to the first byte that can't be right.
fn unpack(
    chunks: Chunks,
    is_raw: bool,
    length: u64,
    mut into: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<Found, Stopped> {
    let mut bytes: Box<dyn Read> = if is_raw {
        Box::new(chunks)
    } else {
        match zstd::stream::read::Decoder::new(chunks) {
            Ok(decoder) => Box::new(decoder),
            Err(error) => return Err(Stopped::Into(error)),
        }
    };
    let mut hash = Sha256::new();
    let mut found = Found { digest: String::new(), length: 0, fault: None };
    let mut buffer = vec![0; CHUNK];
    loop {
        match bytes.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                hash.update(&buffer[..read]);
                found.length += read as u64;
                if found.length > length {
                    // A blob may be made to unpack without end.
                    found.fault = Some("there are more bytes than were delivered".into());
                    break;
                }
                into(&buffer[..read]).map_err(Stopped::Into)?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_no_more(&error) => return Err(Stopped::NoMore),
            Err(error) => {
                found.fault = Some(error.to_string());
                break;
            }
        }
    }
    found.digest = hex::encode(hash.finalize());
    Ok(found)
}

/// The archive's answer, chunk by chunk, as a reader. `None` says that the answer broke off.
struct Chunks {
    receiver: mpsc::Receiver<Option<Bytes>>,
    current: Bytes,
}

/// What a reader says when the answer broke off: not the blob's fault.
#[derive(Debug, thiserror::Error)]
#[error("the archive's answer broke off")]
struct BrokenOff;

fn is_no_more(error: &io::Error) -> bool {
    error.get_ref().and_then(|inner| inner.downcast_ref::<BrokenOff>()).is_some()
}

impl Chunks {
    fn new(receiver: mpsc::Receiver<Option<Bytes>>) -> Self {
        Self { receiver, current: Bytes::new() }
    }
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.receiver.blocking_recv() {
                Some(Some(chunk)) => self.current = chunk,
                Some(None) => return Err(io::Error::other(BrokenOff)),
                None => return Ok(0),
            }
        }
        let read = self.current.len().min(into.len());
        self.current.copy_to_slice(&mut into[..read]);
        Ok(read)
    }
}
