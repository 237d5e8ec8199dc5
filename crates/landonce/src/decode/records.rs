//! Records: the framers of all formats behind one lending iterator, with an address for every record.

use std::path::PathBuf;

use landonce_core::bad_record::BadRecord;

use super::bad::KEPT;
use super::csv::Csv;
use super::ending::{Ending, Seen};
use super::geojson::GeoJson;
use super::json::Json;
use super::messages;
use super::ndjson::Ndjson;
use super::spool::{Spool, Texts};
use super::stream::{self, Stream};
use super::window::{Raw, Window};
use super::{DecodeError, Format, sniff};
use crate::payload::{Compression, Payload, Stored};

/// What decoding may use, and what it is to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest record in bytes, as it stands in the payload and as JSON. 16 MiB by default.
    pub record: u32,
    /// The most records. No bound by default.
    pub records: u64,
    /// The most bytes of the payload when it is decompressed. No bound by default.
    pub decoded: u64,
    /// Where the temporary file for decoded records is made, if one is needed; the default temporary folder otherwise.
    pub spool_dir: Option<PathBuf>,
    /// What to look for beside the records.
    pub ending: Ending,
    /// Columns without which a CSV header that no row follows is another file's.
    pub columns: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            record: 16 * 1024 * 1024,
            records: u64::MAX,
            decoded: u64::MAX,
            spool_dir: None,
            ending: Ending::default(),
            columns: Vec::new(),
        }
    }
}

/// One record, framed. Good until the next call of [`Records::next`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its number for messages, from 1: the line on which it begins (NDJSON, CSV), its index otherwise.
    pub number: u64,
    /// Where [`Texts::read`] finds it again. Grows strictly from record to record.
    pub offset: u64,
    /// How long it is there.
    pub len: u32,
    /// The text of one JSON object, or so it should be: neither UTF-8 nor JSON is checked (framing found no fault). For CSV
    /// and GeoJSON it is rendered from the payload's bytes.
    pub text: Result<&'a [u8], BadRecord>,
    /// The record's own bytes in the payload (decompressed), without its line end; of one that is too large the first 64 KiB.
    pub raw: &'a [u8],
}

/// What a framer has found. Rendered text is in the buffer that the framer was given.
pub(super) struct Frame {
    pub(super) number: u64,
    /// Where it begins, in the decompressed bytes.
    pub(super) offset: u64,
    pub(super) raw: Raw,
    pub(super) bad: Option<BadRecord>,
    pub(super) is_rendered: bool,
}

enum Framer {
    Ndjson(Ndjson),
    Json(Json),
    GeoJson(GeoJson),
    Csv(Box<Csv>),
    Messages(messages::Framer),
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::Parquet>),
}

/// Which bytes the addresses are into.
enum Space {
    /// The payload's own.
    Payload(Stored),
    /// The spool's.
    Spool(Spool),
}

/// The records of a payload, one after the other. Only `Ok(None)` says that there are no more and that the payload is
/// whole; whoever stops before it knows neither.
pub struct Records {
    window: Window,
    framer: Framer,
    space: Space,
    rendered: Vec<u8>,
    count: u64,
    most: u64,
    format: &'static str,
    is_ended: bool,
    is_failed: bool,
}

impl Payload {
    /// The records, from the first. May be called again for the next attempt.
    ///
    /// Reads the beginning, so a wrong file (an empty `.gz`, UTF-16, a CSV without a usable header) fails here already.
    pub fn records(&self, format: &Format, limits: &Limits) -> Result<Records, DecodeError> {
        if *format == Format::Parquet {
            return parquet(self, limits);
        }
        let is_in_payload = self.compression() == Compression::None
            && matches!(format, Format::Ndjson | Format::Json | Format::Messages);
        let space = if is_in_payload {
            Space::Payload(self.stored().clone())
        } else {
            Space::Spool(Spool::in_dir(limits.spool_dir.clone().unwrap_or_else(std::env::temp_dir)))
        };
        Records::over(stream::capped(stream::open(self)?, limits.decoded), space, format, limits)
    }

    /// The first decompressed bytes, at most 64 KiB: what [`Format::guess`] looks at. A stream that breaks within them gives
    /// what came before; [`Records`] will tell.
    pub fn first_bytes(&self) -> Result<Vec<u8>, DecodeError> {
        let mut window = Window::over(stream::open(self)?);
        match window.at_least(KEPT).map(drop) {
            Ok(()) | Err(DecodeError::Truncated { .. } | DecodeError::Corrupt { .. }) => {}
            Err(other) => return Err(other),
        }
        let head = window.rest();
        Ok(head[..head.len().min(KEPT)].to_vec())
    }
}

#[cfg(feature = "parquet")]
fn parquet(payload: &Payload, limits: &Limits) -> Result<Records, DecodeError> {
    let rows = super::parquet::Parquet::new(payload, limits.record, limits.decoded)?;
    let dir = limits.spool_dir.clone().unwrap_or_else(std::env::temp_dir);
    // Rows are found from the file's end, not in the order of its bytes: there is nothing to look through.
    let window = Window::over(stream::nothing());
    let space = Space::Spool(Spool::in_dir(dir));
    Ok(Records::with(window, Framer::Parquet(Box::new(rows)), space, &Format::Parquet, limits))
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Payload, _: &Limits) -> Result<Records, DecodeError> {
    let detail = "it is Parquet, and this landonce was built without (`--features parquet`): write it out as NDJSON or CSV";
    Err(DecodeError::Unsupported { detail: detail.to_owned() })
}

impl Records {
    fn over(
        stream: Box<dyn Stream>,
        space: Space,
        format: &Format,
        limits: &Limits,
    ) -> Result<Self, DecodeError> {
        let (limit, ending) = (limits.record, &limits.ending);
        let mut window = Window::over(stream);
        sniff::check_start(&mut window)?;
        let framer = match format {
            Format::Ndjson => Framer::Ndjson(Ndjson::new(limit, ending)),
            Format::Json => Framer::Json(Json::new(limit)),
            Format::GeoJson => Framer::GeoJson(GeoJson::new(limit, ending)),
            Format::Csv(options) => Framer::Csv(Box::new(Csv::new(options, &mut window, limits)?)),
            Format::Messages => Framer::Messages(messages::Framer::new(&mut window, limit)?),
            Format::Parquet => {
                return Err(DecodeError::Unsupported { detail: "Parquet is no stream".to_owned() });
            }
        };
        Ok(Self::with(window, framer, space, format, limits))
    }

    fn with(window: Window, framer: Framer, space: Space, format: &Format, limits: &Limits) -> Self {
        Self {
            window,
            framer,
            space,
            rendered: Vec::new(),
            count: 0,
            most: limits.records,
            format: format.as_str(),
            is_ended: false,
            is_failed: false,
        }
    }

    /// Records over any stream, spooled: for tests, whose streams deliver as awkwardly as they can.
    #[cfg(test)]
    pub(super) fn over_stream(
        stream: Box<dyn Stream>,
        format: &Format,
        limits: &Limits,
    ) -> Result<Self, DecodeError> {
        Self::over(stream, Space::Spool(Spool::in_dir(std::env::temp_dir())), format, limits)
    }

    /// The next record, good or bad; `Ok(None)` once the payload has been read to its proved end. After an error there are
    /// only errors.
    #[expect(clippy::should_implement_trait, reason = "items borrow from the records: no Iterator can lend")]
    pub fn next(&mut self) -> Result<Option<Item<'_>>, DecodeError> {
        if self.is_failed {
            return Err(DecodeError::Failed);
        }
        let (frame, offset, len) = match self.advance() {
            Ok(Some(found)) => found,
            Ok(None) => {
                self.is_ended = true;
                return Ok(None);
            }
            Err(error) => {
                self.is_failed = true;
                return Err(error.after(self.count));
            }
        };
        self.count += 1;
        if self.count > self.most {
            self.is_failed = true;
            return Err(DecodeError::OverLimit { what: "records", most: self.most });
        }
        let raw = match &self.framer {
            // A row has no text of its own.
            #[cfg(feature = "parquet")]
            Framer::Parquet(_) => self.rendered.as_slice(),
            _ => self.window.raw(&frame.raw),
        };
        let text = match frame.bad {
            Some(bad) => Err(bad),
            None if frame.is_rendered => Ok(self.rendered.as_slice()),
            None => Ok(raw),
        };
        Ok(Some(Item { number: frame.number, offset, len, text, raw }))
    }

    /// Frames a record and gives it its address.
    fn advance(&mut self) -> Result<Option<(Frame, u64, u32)>, DecodeError> {
        let found = match &mut self.framer {
            Framer::Ndjson(lines) => lines.next(&mut self.window)?,
            Framer::Json(elements) => elements.next(&mut self.window)?,
            Framer::GeoJson(features) => features.next(&mut self.window, &mut self.rendered)?,
            Framer::Csv(rows) => rows.next(&mut self.window, &mut self.rendered)?,
            Framer::Messages(messages) => messages.next(&mut self.window)?,
            #[cfg(feature = "parquet")]
            Framer::Parquet(rows) => rows.next(&mut self.window, &mut self.rendered)?,
        };
        let Some(frame) = found else { return Ok(None) };
        // A bad record is addressed by its own bytes, so that it too can be read again.
        let text = match &self.framer {
            #[cfg(feature = "parquet")]
            Framer::Parquet(_) => &self.rendered,
            _ if frame.is_rendered && frame.bad.is_none() => &self.rendered,
            _ => self.window.raw(&frame.raw),
        };
        let len = text.len() as u32;
        let offset = match &mut self.space {
            Space::Payload(_) => frame.offset,
            Space::Spool(spool) => spool.append(text)?,
        };
        Ok(Some((frame, offset, len)))
    }

    /// Ends the decoding; what was decoded so far can be read again by its addresses, and what was seen is told.
    pub fn finish(self) -> Texts {
        let seen = match &self.framer {
            Framer::Ndjson(lines) => lines.seen(),
            Framer::Json(_) | Framer::Messages(_) => Seen::default(),
            Framer::GeoJson(features) => features.seen(),
            Framer::Csv(rows) => rows.seen(),
            #[cfg(feature = "parquet")]
            Framer::Parquet(_) => Seen::default(),
        };
        let seen = Seen { is_whole: self.is_ended, format: self.format, ..seen };
        match self.space {
            Space::Payload(stored) => Texts::in_payload(stored, seen),
            Space::Spool(spool) => spool.into_texts(seen),
        }
    }
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("count", &self.count).finish_non_exhaustive()
    }
}
