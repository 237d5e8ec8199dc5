//! The protocol's frames, as far as a proxy needs them: heads, the few fields that tell what is going on, and the frames
//! that a refusal is made of.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use postgres_protocol::message::frontend as message;

/// Sent instead of the four bytes of a protocol version.
pub(super) const CANCEL_REQUEST: u32 = 80_877_102;
pub(super) const SSL_REQUEST: u32 = 80_877_103;
pub(super) const GSSENC_REQUEST: u32 = 80_877_104;

/// The tag and the length of a frame.
pub(super) const HEAD: usize = 5;

/// What a start-up packet may be long, as in PostgreSQL.
const LONGEST_STARTUP: usize = 10_000;

/// A frame's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) tag: u8,
    /// Without the head.
    pub(super) body: usize,
}

/// The head at the start of the bytes, once it is whole.
pub(super) fn head(bytes: &[u8]) -> io::Result<Option<Head>> {
    let Some([tag, length @ ..]) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    let body = length.checked_sub(4).ok_or_else(|| broken("a frame shorter than its head"))?;
    Ok(Some(Head { tag: *tag, body }))
}

/// The start-up packet at the start of the bytes, once it is whole: its code, and its length. It has no tag.
pub(super) fn startup(bytes: &[u8]) -> io::Result<Option<(u32, usize)>> {
    let Some(length) = bytes.first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    if !(8..=LONGEST_STARTUP).contains(&length) {
        return Err(broken("not a start-up packet of PostgreSQL"));
    }
    let Some(packet) = bytes.get(..length) else { return Ok(None) };
    let code = packet[4..].first_chunk().copied().unwrap_or_default();
    Ok(Some((u32::from_be_bytes(code), length)))
}

/// The database that a start-up packet asks for: without a word of it, the one that bears the user's name.
pub(super) fn wanted_database(packet: &[u8]) -> &[u8] {
    let mut rest = packet.get(8..).unwrap_or_default();
    let (mut user, mut database) = (&[][..], &[][..]);
    while rest.first().is_some_and(|&byte| byte != 0) {
        let (name, value) = (text(&mut rest), text(&mut rest));
        match name {
            b"user" => user = value,
            b"database" => database = value,
            _ => {}
        }
    }
    if database.is_empty() { user } else { database }
}

/// The answer to a client that asks for another database than the proxy leads to.
pub(super) fn turned_away(wanted: &[u8], ours: &str) -> Bytes {
    let wanted = String::from_utf8_lossy(wanted);
    let message = format!(
        "landonce prove lets the command into its clone only, and not into the database \"{wanted}\""
    );
    let hint = format!("Take the database's name from DATABASE_URL or PGDATABASE: here it is \"{ours}\".");
    error([(b'S', "FATAL"), (b'V', "FATAL"), (b'C', "3D000"), (b'M', &message), (b'H', &hint)])
}

/// Whether a client begins with TLS at once, without asking (`sslnegotiation=direct`): a handshake record.
pub(super) fn is_tls(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x16, 0x03])
}

fn broken(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Takes a NUL-terminated text off the body.
pub(super) fn text<'a>(body: &mut &'a [u8]) -> &'a [u8] {
    let end = body.iter().position(|&byte| byte == 0).unwrap_or(body.len());
    let text = &body[..end];
    *body = body.get(end + 1..).unwrap_or_default();
    text
}

/// An `ErrorResponse`'s SQLSTATE.
pub(super) fn sqlstate(body: &[u8]) -> String {
    field(body, b'C').map(|code| String::from_utf8_lossy(code).into_owned()).unwrap_or_default()
}

/// Whether the connection ends with this `ErrorResponse`.
pub(super) fn is_fatal(body: &[u8]) -> bool {
    // `V` is never translated, unlike `S`; servers have sent it since 9.6.
    field(body, b'V').or_else(|| field(body, b'S')).is_some_and(|level| matches!(level, b"FATAL" | b"PANIC"))
}

fn field(mut body: &[u8], wanted: u8) -> Option<&[u8]> {
    loop {
        let (&kind, mut rest) = body.split_first()?;
        if kind == 0 {
            return None;
        }
        let value = text(&mut rest);
        if kind == wanted {
            return Some(value);
        }
        body = rest;
    }
}

/// An `ErrorResponse` in PostgreSQL's own words for this SQLSTATE.
pub(super) fn error_response(sqlstate: &str, is_commit: bool) -> Bytes {
    let message = match sqlstate {
        "40001" if is_commit => {
            "could not serialize access due to read/write dependencies among transactions"
        }
        "40001" => "could not serialize access due to concurrent update",
        "40P01" => "deadlock detected",
        "57014" => "canceling statement due to statement timeout",
        "55P03" => "canceling statement due to lock timeout",
        "53300" => "sorry, too many clients already",
        _ => "the server refused the statement",
    };
    error([(b'S', "ERROR"), (b'V', "ERROR"), (b'C', sqlstate), (b'M', message)])
}

fn error<const FIELDS: usize>(fields: [(u8, &str); FIELDS]) -> Bytes {
    let mut body = BytesMut::new();
    for (kind, value) in fields {
        body.put_u8(kind);
        body.put_slice(value.as_bytes());
        body.put_u8(0);
    }
    body.put_u8(0);
    framed(b'E', &body)
}

/// A client's frames that fail on any server, in any state of a transaction: a portal that nobody has made, or, for a
/// simple query, an error raised.
pub(super) fn failing(is_simple: bool) -> Bytes {
    if is_simple {
        return query("DO 'BEGIN RAISE EXCEPTION ''refused by landonce prove''; END'");
    }
    // A name without a NUL can't fail to be written.
    built(|buffer| {
        let _ = message::execute("refused by landonce prove", 0, buffer);
    })
}

/// A simple query.
pub(super) fn query(text: &str) -> Bytes {
    built(|buffer| {
        let _ = message::query(text, buffer);
    })
}

/// An `AuthenticationSASL` without the mechanisms that are bound to TLS: the client's side has none, and libpq takes
/// such an offer for an attack. `None` when there is nothing to take out.
pub(super) fn without_channel_binding(body: &[u8]) -> Option<Bytes> {
    let (code, mut mechanisms) = body.split_first_chunk::<4>()?;
    if u32::from_be_bytes(*code) != 10 {
        return None;
    }
    let (mut kept, mut is_changed) = (BytesMut::from(&code[..]), false);
    while let [first, ..] = mechanisms
        && *first != 0
    {
        let name = text(&mut mechanisms);
        if name.ends_with(b"-PLUS") {
            is_changed = true;
        } else {
            kept.put_slice(name);
            kept.put_u8(0);
        }
    }
    kept.put_u8(0);
    is_changed.then(|| framed(b'R', &kept))
}

fn framed(tag: u8, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(body.len() + HEAD);
    frame.put_u8(tag);
    frame.put_u32(body.len() as u32 + 4);
    frame.put_slice(body);
    frame.freeze()
}

fn built(write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut buffer = BytesMut::new();
    write(&mut buffer);
    buffer.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_in_part_is_none_yet_and_a_broken_one_an_error() {
        assert_eq!(head(b"Q\0\0\0").unwrap(), None);
        assert_eq!(head(b"Q\0\0\0\x07ab\0rest").unwrap(), Some(Head { tag: b'Q', body: 3 }));
        assert!(head(b"Q\0\0\0\x03").is_err());
        assert!(startup(b"\x16\x03\x01\x02\0").is_err());
        assert!(is_tls(b"\x16\x03\x01\x02\0"));
    }

    #[test]
    fn an_error_of_ours_is_read_as_one_of_the_servers() {
        let frame = error_response("40P01", false);
        let body = &frame[HEAD..];
        assert_eq!(head(&frame).unwrap(), Some(Head { tag: b'E', body: body.len() }));
        assert_eq!(sqlstate(body), "40P01");
        assert!(!is_fatal(body));
        assert!(is_fatal(b"SFATAL\0VFATAL\0C57P01\0\0"));
        assert!(!is_fatal("SFEHLER\0VERROR\0C57014\0\0".as_bytes()));
    }

    #[test]
    fn mechanisms_bound_to_tls_are_not_offered_on() {
        let offer = b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
        let changed = without_channel_binding(offer).unwrap();
        assert_eq!(&changed[HEAD..], b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        assert_eq!(without_channel_binding(&changed[HEAD..]), None);
        assert_eq!(without_channel_binding(b"\0\0\0\x05salt"), None);
    }
}
