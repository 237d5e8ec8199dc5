//! A body on its way into a temporary file: bounded, hashed while it is written, gone with the request.

use std::fs::File;
use std::io::Write as _;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt as _;
use landonce::Code;
use landonce::payload::Payload;
use sha2::{Digest, Sha256};

use super::desk::Room;
use super::landing::{broken, stopping};
use crate::app::App;
use crate::listen::Cut;
use crate::problem::Problem;

/// How much of a body is in memory; a shorter one never comes to the disk.
const PIECE: usize = 256 * 1024;

/// A body that has arrived.
#[derive(Debug)]
pub(super) struct Spooled {
    /// What came before the last piece, if it was too much for one.
    file: Option<Hashed>,
    rest: Vec<u8>,
    /// Given back with the file.
    room: Room,
}

#[derive(Debug)]
struct Hashed {
    file: File,
    hash: Sha256,
}

impl Hashed {
    fn new() -> Result<Self, Problem> {
        Ok(Self { file: tempfile::tempfile().map_err(|error| no_room(&error))?, hash: Sha256::new() })
    }

    fn write(mut self, piece: &[u8]) -> Result<Self, Problem> {
        self.hash.update(piece);
        self.file.write_all(piece).map_err(|error| no_room(&error))?;
        Ok(self)
    }
}

impl Spooled {
    /// Whether not a single byte came.
    pub(super) fn is_empty(&self) -> bool {
        self.file.is_none() && self.rest.is_empty()
    }

    /// The payload. Blocks.
    pub(super) fn payload(self, name: String) -> Result<Payload, Problem> {
        let Some(hashed) = self.file else { return Ok(Payload::from_bytes(name, self.rest)) };
        let hashed = hashed.write(&self.rest)?;
        let digest = hashed.hash.finalize().into();
        let payload = Payload::from_spool(name, hashed.file, digest);
        payload.map_err(|error| {
            Problem::passing(StatusCode::INSUFFICIENT_STORAGE, Code::L0604, error.to_string(), 60)
        })
    }

    /// The room that it takes, to be kept as long as the payload is.
    pub(super) fn take_room(&mut self) -> Room {
        std::mem::take(&mut self.room)
    }
}

/// Reads a body to its end.
pub(super) async fn read(app: &App, headers: &HeaderMap, body: Body) -> Result<Spooled, Problem> {
    let most = app.config().limits().body;
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > most) {
        return Err(too_long(most));
    }
    let mut body = body;
    let mut spooled = Spooled { file: None, rest: Vec::new(), room: app.desk().room() };
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(cut)?.into_data() else { continue };
        length += data.len() as u64;
        if length > most {
            return Err(too_long(most));
        }
        if spooled.rest.len() + data.len() > PIECE {
            spooled.room.more((spooled.rest.len() + data.len()) as u64)?;
            let piece = std::mem::take(&mut spooled.rest);
            let file = spooled.file.take();
            let written = tokio::task::spawn_blocking(move || {
                let hashed = match file {
                    Some(hashed) => hashed,
                    None => Hashed::new()?,
                };
                let mut piece = piece;
                let hashed = hashed.write(&piece)?.write(&data)?;
                piece.clear();
                Ok::<_, Problem>((hashed, piece))
            });
            let (hashed, piece) = written.await.map_err(|failed| broken(&failed))??;
            spooled.file = Some(hashed);
            spooled.rest = piece;
        } else {
            spooled.rest.extend_from_slice(&data);
        }
    }
    Ok(spooled)
}

fn too_long(most: u64) -> Problem {
    Problem::of(
        StatusCode::PAYLOAD_TOO_LARGE,
        Code::L1029,
        format!("the body has more than {most} bytes, the most that is taken"),
    )
}

/// Why a body ended before its end.
fn cut(error: axum::Error) -> Problem {
    let error = error.into_inner();
    match error.downcast_ref::<Cut>() {
        Some(cut @ Cut::Stopping) => stopping(&cut.to_string()),
        _ => Problem::passing(StatusCode::REQUEST_TIMEOUT, Code::L1030, error.to_string(), 1),
    }
}

fn no_room(error: &std::io::Error) -> Problem {
    let dir = std::env::temp_dir();
    let told = format!("the body can't be kept in `{}`: {error}", dir.display());
    Problem::passing(StatusCode::INSUFFICIENT_STORAGE, Code::L0604, told, 60)
}
