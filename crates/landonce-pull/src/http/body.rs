//! A body, read to its proved end: a cut one is a failure that passes, never an end.

use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap};
use tokio::time::timeout;

use crate::spool::Spool;

/// Where a body goes.
pub(super) enum Sink {
    /// Into memory, decompressed, up to so many bytes.
    Memory(Vec<u8>, u64),
    /// Into a spool, as it comes.
    File(Spool),
}

/// Why a body isn't there.
pub(super) enum Broken {
    /// It was cut, or stood still: it may come whole the next time.
    Cut(String),
    /// It isn't what can be read.
    Unreadable(String),
    /// The spool can't be written.
    NoSpool(io::Error),
}

impl Sink {
    /// Drops what an earlier attempt has left.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        match self {
            Self::Memory(bytes, _) => {
                bytes.clear();
                Ok(())
            }
            Self::File(spool) => spool.clear(),
        }
    }

    /// Reads a body to its end; `silence` is how long nothing may come.
    pub(super) async fn fill(
        &mut self,
        mut body: Incoming,
        headers: &HeaderMap,
        silence: Duration,
    ) -> Result<(), Broken> {
        loop {
            let frame = match timeout(silence, body.frame()).await {
                Err(_) => {
                    let told = format!("the answer stood still for {} s in its body", silence.as_secs_f64());
                    return Err(Broken::Cut(told));
                }
                Ok(None) => break,
                Ok(Some(Err(error))) => {
                    return Err(Broken::Cut(format!("the body was cut: {}", root(&error))));
                }
                Ok(Some(Ok(frame))) => frame,
            };
            let Some(bytes) = frame.data_ref() else { continue };
            match self {
                Self::Memory(held, most) => {
                    held.extend_from_slice(bytes);
                    if held.len() as u64 > *most {
                        return Err(too_large(*most));
                    }
                }
                Self::File(spool) => spool.write_all(bytes).map_err(Broken::NoSpool)?,
            }
        }
        self.decompress(headers)
    }

    fn decompress(&mut self, headers: &HeaderMap) -> Result<(), Broken> {
        match encoding(headers).as_str() {
            "" | "identity" => return Ok(()),
            "gzip" | "x-gzip" => {}
            other => {
                return Err(Broken::Unreadable(format!(
                    "it is encoded as `{other}`, and only gzip was offered"
                )));
            }
        }
        let cut = |error: io::Error| Broken::Cut(format!("its gzip stream is cut or damaged: {error}"));
        match self {
            Self::Memory(held, most) => {
                let mut plain = Vec::new();
                let mut decoder = MultiGzDecoder::new(held.as_slice()).take(*most + 1);
                decoder.read_to_end(&mut plain).map_err(cut)?;
                if plain.len() as u64 > *most {
                    return Err(too_large(*most));
                }
                *held = plain;
            }
            Self::File(spool) => {
                // It stays compressed, as files may be; only its trailer is asked for here, since a cut one can be read again.
                let reader = spool.reader().map_err(Broken::NoSpool)?;
                io::copy(&mut MultiGzDecoder::new(io::BufReader::new(reader)), &mut io::sink())
                    .map_err(cut)?;
            }
        }
        Ok(())
    }
}

/// Whether the answer says where its body ends, so that a cut can be told from an end.
pub(super) fn is_delimited(headers: &HeaderMap) -> bool {
    headers.contains_key(header::CONTENT_LENGTH)
        || headers.contains_key(header::TRANSFER_ENCODING)
        || encoding(headers).contains("gzip")
}

/// The innermost cause, which says most.
pub(super) fn root(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

fn encoding(headers: &HeaderMap) -> String {
    let encoding = headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    encoding.unwrap_or_default().trim().to_ascii_lowercase()
}

fn too_large(most: u64) -> Broken {
    Broken::Unreadable(format!(
        "it is longer than {most} bytes; ask for smaller pages, or allow more (`max_page`)"
    ))
}
