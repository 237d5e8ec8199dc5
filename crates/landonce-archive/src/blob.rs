//! Blobs: bytes under the name of their SHA-256, compressed on their way in, in bounded memory.
//!
//! A blob appears whole or not at all: a small one is put in one request, a large one in parts that become an object at the
//! end; in a folder both are a rename. Before that end the digest of what was read is held against the announced one.

use std::io::{self, Read, Write as _};

use bytes::Bytes;
use object_store::path::Path as Object;
use object_store::{MultipartUpload, ObjectStoreExt as _, PutPayload};
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};

use crate::archive::Archive;
use crate::error::Error;
use crate::manifest::Delivery;
use crate::restore::Expected;

/// How much compressed text one part has, except the last: S3 wants 5 MiB at least, and takes 10,000 parts.
const PART: usize = 8 << 20;
/// How much is read at a time.
const CHUNK: usize = 128 << 10;
/// A level that keeps up with the disk.
const LEVEL: i32 = 3;

/// What a blob is named after and how it is packed.
pub(crate) fn name(digest: &str, is_raw: bool, generation: u32) -> String {
    let ending = if is_raw { "raw" } else { "zst" };
    let generation = if generation == 0 { String::new() } else { format!(".{generation}") };
    format!("blobs/{}/{digest}{generation}.{ending}", &digest[..2])
}

/// Whether a blob holds the bytes as they are.
pub(crate) fn is_raw(blob: &str) -> bool {
    blob.rsplit_once('.').is_some_and(|(_, ending)| ending == "raw")
}

/// The mark on a blob that is about to be deleted: its name is never used again, so that no delivery can come to need it.
pub(crate) fn mark(blob: &str) -> Object {
    Object::from_iter(["condemned", blob.rsplit('/').next().unwrap_or(blob)])
}

/// Whether bytes are compressed by gzip or Zstandard already.
fn is_compressed(head: &[u8]) -> bool {
    matches!(head, [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// What was read.
struct Packed {
    digest: [u8; 32],
    length: u64,
}

impl Archive {
    /// Keeps the bytes, or finds them kept and whole. Returns the blob's name.
    pub(crate) async fn keep_blob(
        &self,
        delivery: &Delivery,
        mut bytes: impl Read + Send + 'static,
    ) -> Result<String, Error> {
        let head = head(&mut bytes).map_err(Error::Payload)?;
        let is_raw = is_compressed(&head);
        let digest = hex::encode(delivery.digest);
        let mut generation = 0;
        let blob = loop {
            let blob = name(&digest, is_raw, generation);
            if !self.is_there(&mark(&blob)).await? {
                break blob;
            }
            generation += 1;
        };
        let expected = Expected { batch_id: delivery.batch_id.clone(), digest, length: delivery.length };
        match self.check(&blob, &expected).await {
            Ok(()) => return Ok(blob),
            // Bytes that arrive again mend what has gone bad meanwhile.
            Err(error) if error.is_damage() => {}
            Err(error) => return Err(error),
        }
        self.put(&blob, delivery, io::Cursor::new(head).chain(bytes), is_raw).await?;
        Ok(blob)
    }

    pub(crate) async fn is_there(&self, object: &Object) -> Result<bool, Error> {
        match self.store.head(object).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(source) => Err(self.failed("looking for a blob", source)),
        }
    }

    async fn put(
        &self,
        blob: &str,
        delivery: &Delivery,
        bytes: impl Read + Send + 'static,
        is_raw: bool,
    ) -> Result<(), Error> {
        let (parts, mut packed_parts) = mpsc::channel::<Bytes>(1);
        let (done, ended) = oneshot::channel();
        std::thread::spawn(move || {
            let packed = if is_raw { copy(bytes, &parts) } else { compress(bytes, &parts) };
            drop(parts);
            let _ = done.send(packed); // nobody listens when the upload has failed
        });
        let object = self.object(blob)?;
        let failed = |source| self.failed("keeping bytes", source);
        let mut upload: Option<Box<dyn MultipartUpload>> = None;
        let mut waiting: Option<Bytes> = None;
        let kept: Result<(), Error> = async {
            while let Some(part) = packed_parts.recv().await {
                if let Some(before) = waiting.replace(part) {
                    let upload = match &mut upload {
                        Some(upload) => upload,
                        none => none.insert(self.store.put_multipart(&object).await.map_err(failed)?),
                    };
                    upload.put_part(PutPayload::from_bytes(before)).await.map_err(failed)?;
                }
            }
            let packed = ended.await.map_err(|_| Error::Thread)?.map_err(Error::Payload)?;
            if (packed.digest, packed.length) != (delivery.digest, delivery.length) {
                return Err(Error::Changed {
                    announced: hex::encode(delivery.digest),
                    announced_length: delivery.length,
                    read: hex::encode(packed.digest),
                    length: packed.length,
                });
            }
            let last = PutPayload::from_bytes(waiting.take().unwrap_or_default());
            match &mut upload {
                Some(upload) => {
                    upload.put_part(last).await.map_err(failed)?;
                    upload.complete().await.map_err(failed)?;
                }
                None => {
                    self.store.put(&object, last).await.map_err(failed)?;
                }
            }
            Ok(())
        }
        .await;
        if kept.is_err()
            && let Some(upload) = &mut upload
        {
            let _ = upload.abort().await; // parts without an object: the error that led here is the one to tell
        }
        kept
    }
}

/// The first bytes, enough to know gzip and Zstandard by.
fn head(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    from.take(4).read_to_end(&mut head)?;
    Ok(head)
}

/// Reads all bytes, and gives each chunk on.
fn read(mut from: impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<Packed> {
    let mut hash = Sha256::new();
    let mut length = 0;
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(Packed { digest: hash.finalize().into(), length }),
            Ok(read) => read,
            Err(again) if again.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&buffer[..read]);
        length += read as u64;
        each(&buffer[..read])?;
    }
}

fn send(parts: &mpsc::Sender<Bytes>, part: Vec<u8>) -> io::Result<()> {
    parts.blocking_send(part.into()).map_err(|_| io::Error::other("nobody takes the parts any more"))
}

fn compress(from: impl Read, parts: &mpsc::Sender<Bytes>) -> io::Result<Packed> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
    let packed = read(from, |chunk| {
        encoder.write_all(chunk)?;
        if encoder.get_ref().len() >= PART {
            send(parts, std::mem::take(encoder.get_mut()))?;
        }
        Ok(())
    })?;
    send(parts, encoder.finish()?)?;
    Ok(packed)
}

fn copy(from: impl Read, parts: &mpsc::Sender<Bytes>) -> io::Result<Packed> {
    let mut part = Vec::new();
    let packed = read(from, |chunk| {
        part.extend_from_slice(chunk);
        if part.len() >= PART {
            send(parts, std::mem::take(&mut part))?;
        }
        Ok(())
    })?;
    send(parts, part)?;
    Ok(packed)
}
