//! The archive: each batch's source bytes, as they were delivered, kept until they may be forgotten.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::io::Read as _;
//!
//! use landonce_archive::{Archive, Delivery, Form};
//! use sha2::{Digest as _, Sha256};
//!
//! # let folder = tempfile::tempdir()?;
//! # let place = folder.path().join("archive").display().to_string();
//! let archive = Archive::open_or_make(&place)?; // or s3://bucket/prefix, with the feature `s3`
//! let bytes = b"{\"id\":1}\n";
//! let delivery = Delivery {
//!     pipeline: "orders".into(),
//!     batch_id: "2026-11-30".into(),
//!     digest: Sha256::digest(bytes).into(),
//!     length: bytes.len() as u64,
//!     source: "orders.ndjson".into(),
//!     run_id: uuid::Uuid::now_v7(),
//!     received_at: jiff::Timestamp::now(),
//!     form: Form::Delivered,
//!     period: None,
//! };
//! archive.keep(delivery, &bytes[..]).await?;
//!
//! let kept = archive.of_batch("orders", "2026-11-30").await?;
//! let mut again = Vec::new();
//! archive.open_verified(&kept[0]).await?.read_to_end(&mut again)?; // checked before the first byte is given out
//! assert_eq!(again, bytes);
//! # Ok(())
//! # }
//! ```
//!
//! Two kinds of objects: a *blob* holds bytes and is named after their SHA-256, so that equal bytes are kept once; a
//! *manifest* tells which batch of which pipeline they were. The modules in the order in which bytes meet them:
//! `place` (a folder or S3), `blob` (kept, compressed), `manifest`, `restore` (read again, and checked), `sweep` (blobs that
//! nothing needs any more).
//!
//! What it leaves to others: when bytes may be forgotten (the engine asks the inbox), and what they mean.

mod archive;
mod blob;
mod error;
mod manifest;
mod place;
mod restore;
mod sweep;

pub use archive::Archive;
pub use error::{Damage, Error};
pub use manifest::{Delivery, Form, Manifest};
pub use sweep::Swept;
