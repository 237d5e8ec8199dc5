//! GeoJSON: the features of one FeatureCollection (RFC 7946), each made a flat object.
//!
//! The collection's members come in any order, so what they say may come after the features; an error then fails the batch,
//! which has written nothing yet that stays.

mod crs;
mod feature;
#[cfg(test)]
mod tests;

use super::DecodeError;
use super::bad::{KEPT, too_large};
use super::ending::{self, Ending, Seen};
use super::json::{Elements, expect_end, fault, frame, unescape};
use super::records::Frame;
use super::window::Window;

const GEOJSON: &str = "GeoJSON";

/// Frames and flattens features.
pub(super) struct GeoJson {
    state: State,
    limit: u32,
    has_type: bool,
    has_crs: bool,
    has_features: bool,
    /// The member that is asked for, by its path.
    wanted: Option<Vec<String>>,
    has_wanted: bool,
    seen: Seen,
}

enum State {
    Start,
    /// Behind `{`: a name or the end.
    Opened,
    /// Behind a member: a comma or the end.
    Behind,
    Features(Elements),
    End,
}

impl GeoJson {
    /// At the beginning of a text.
    pub(super) fn new(limit: u32, ending: &Ending) -> Self {
        Self {
            state: State::Start,
            limit,
            has_type: false,
            has_crs: false,
            has_features: false,
            wanted: ending.member.clone(),
            has_wanted: false,
            seen: Seen::default(),
        }
    }

    /// What was seen beside the features.
    pub(super) fn seen(&self) -> Seen {
        self.seen.clone()
    }

    /// The next feature, its flat object in `out`.
    pub(super) fn next(
        &mut self,
        window: &mut Window,
        out: &mut Vec<u8>,
    ) -> Result<Option<Frame>, DecodeError> {
        loop {
            match &mut self.state {
                State::Start => match window.skip_white()? {
                    Some(b'{') => {
                        window.consume(1);
                        self.state = State::Opened;
                    }
                    Some(_) => return Err(malformed(window, "a FeatureCollection object is expected")),
                    None => return Err(DecodeError::incomplete("the payload is empty, which is no GeoJSON")),
                },
                State::Opened | State::Behind => self.member(window)?,
                State::Features(features) => match features.next(window, self.limit)? {
                    Some((number, framed)) => {
                        let raw = window.raw(&framed.raw);
                        let bad = fault(&framed, self.limit)
                            .or_else(|| feature::flatten(raw, out).err())
                            .or_else(|| {
                                (out.len() > self.limit as usize)
                                    .then(|| too_large(out.len() as u64, self.limit))
                            });
                        let (offset, raw) = (framed.offset, framed.raw);
                        return Ok(Some(Frame { number, offset, raw, bad, is_rendered: true }));
                    }
                    None => self.state = State::Behind,
                },
                State::End => {
                    return expect_end(window, GEOJSON, "the FeatureCollection").map(|()| None);
                }
            }
        }
    }

    /// Reads one member of the collection up to where its features begin, or the collection's end.
    fn member(&mut self, window: &mut Window) -> Result<(), DecodeError> {
        let mut next = peek(window)?;
        match (&self.state, next) {
            (_, b'}') => {
                self.check_members(window)?;
                window.consume(1);
                self.state = State::End;
                return Ok(());
            }
            (State::Opened, _) => {}
            (_, b',') => {
                window.consume(1);
                next = peek(window)?;
            }
            _ => return Err(malformed(window, "a comma or a closing brace is expected")),
        }
        if next != b'"' {
            return Err(malformed(window, "a member's name is expected"));
        }
        let name = frame(window, KEPT as u32, GEOJSON, || "a member's name".to_owned())?;
        let name = unescape(window.raw(&name.raw)).into_owned();
        if peek(window)? != b':' {
            return Err(malformed(window, "a colon is expected behind a member's name"));
        }
        window.consume(1);
        let next = peek(window)?;
        self.state = State::Behind;
        match name.as_slice() {
            b"features" => {
                once(&mut self.has_features, window, "features")?;
                if next != b'[' {
                    return Err(malformed(window, "`features` must be an array"));
                }
                self.state = State::Features(Elements::open(window, GEOJSON, "feature"));
            }
            b"type" => {
                once(&mut self.has_type, window, "type")?;
                let value = short_value(window, "type")?;
                let name = unescape(&value);
                if *name != *b"FeatureCollection" {
                    let found = String::from_utf8_lossy(&name);
                    let found = landonce_core::bad_record::shorten(&found);
                    let detail = format!("the type must be FeatureCollection, it is {found}");
                    return Err(malformed(window, detail));
                }
            }
            b"crs" => {
                once(&mut self.has_crs, window, "crs")?;
                let value = short_value(window, "crs")?;
                crs::check(&value).map_err(|detail| malformed(window, detail))?;
            }
            name if self
                .wanted
                .as_ref()
                .is_some_and(|path| path.first().is_some_and(|first| first.as_bytes() == name)) =>
            {
                let shown = String::from_utf8_lossy(name);
                once(&mut self.has_wanted, window, &shown)?;
                let value = short_value(window, &shown)?;
                let inner = self.wanted.as_deref().unwrap_or_default().get(1..).unwrap_or_default();
                self.seen.member = ending::member(&value, inner).map(ending::text);
            }
            _ => {
                frame(window, 0, GEOJSON, || format!("the member `{}`", String::from_utf8_lossy(&name)))?;
            }
        }
        Ok(())
    }

    fn check_members(&self, window: &Window) -> Result<(), DecodeError> {
        if !self.has_type {
            return Err(malformed(window, "the object has no `type`, so it is no FeatureCollection"));
        }
        if !self.has_features {
            return Err(malformed(window, "the FeatureCollection has no `features`"));
        }
        Ok(())
    }
}

fn malformed(window: &Window, detail: impl Into<String>) -> DecodeError {
    DecodeError::malformed(GEOJSON, window.offset(), detail)
}

fn peek(window: &mut Window) -> Result<u8, DecodeError> {
    let never = "the FeatureCollection is never closed";
    window.skip_white()?.ok_or_else(|| DecodeError::incomplete(never))
}

fn once(seen: &mut bool, window: &Window, name: &str) -> Result<(), DecodeError> {
    if std::mem::replace(seen, true) {
        return Err(malformed(window, format!("the FeatureCollection has `{name}` twice")));
    }
    Ok(())
}

/// A member's whole value, which is expected to be short.
fn short_value(window: &mut Window, name: &str) -> Result<Vec<u8>, DecodeError> {
    let framed = frame(window, KEPT as u32, GEOJSON, || format!("the member `{name}`"))?;
    if framed.len > KEPT as u64 {
        return Err(malformed(window, format!("`{name}` is {} bytes long", framed.len)));
    }
    Ok(window.raw(&framed.raw).to_vec())
}
