//! The protocol's frames, as far as a proxy needs them: where each ends, and the few fields that tell what is going on.

use bytes::{BufMut, Bytes, BytesMut};

/// Sent instead of the four bytes of a protocol version.
pub(super) const CANCEL_REQUEST: u32 = 80_877_102;
pub(super) const SSL_REQUEST: u32 = 80_877_103;
pub(super) const GSSENC_REQUEST: u32 = 80_877_104;

/// A whole frame: a tag, a length, a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
    /// With the head.
    pub(super) len: usize,
}

/// The frame at the start of the bytes, once it is whole.
pub(super) fn first(bytes: &[u8]) -> Option<Frame<'_>> {
    let (&tag, rest) = bytes.split_first()?;
    let length = u32::from_be_bytes(*rest.first_chunk()?) as usize;
    let body = rest.get(4..length.max(4))?;
    Some(Frame { tag, body, len: 5 + body.len() })
}

/// The start-up packet at the start of the bytes, once it is whole: its code, and its length. It has no tag.
pub(super) fn startup(bytes: &[u8]) -> Option<(u32, usize)> {
    let length = u32::from_be_bytes(*bytes.first_chunk()?) as usize;
    let packet = bytes.get(..length.max(8))?;
    Some((u32::from_be_bytes(*packet[4..].first_chunk()?), packet.len()))
}

/// Takes a NUL-terminated text off the body.
pub(super) fn text(body: &mut &[u8]) -> String {
    let end = body.iter().position(|&byte| byte == 0).unwrap_or(body.len());
    let text = String::from_utf8_lossy(&body[..end]).into_owned();
    *body = body.get(end + 1..).unwrap_or_default();
    text
}

/// Whether a statement's text, or the last statement in it, is a COMMIT (END is the same).
pub(super) fn is_commit(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';').trim_end().to_ascii_lowercase();
    let last = text.rsplit(';').next().unwrap_or_default();
    let mut words = last.split_ascii_whitespace();
    match words.next() {
        Some("commit") => {}
        // Inside a longer text it may as well end a function's body.
        Some("end") if last.len() == text.len() => {}
        _ => return false,
    }
    words.all(|word| matches!(word, "work" | "transaction" | "and" | "no" | "chain"))
}

/// An `ErrorResponse` as a server that speaks Russian writes it. The message holds another SQLSTATE on purpose: whoever
/// reads messages instead of codes is misled.
pub(super) fn error_response(sqlstate: &str) -> Bytes {
    let fields: [(u8, &str); 5] = [
        (b'S', "ОШИБКА"),
        (b'V', "ERROR"),
        (b'C', sqlstate),
        (b'M', "прокси отказал в выполнении оператора (не 23505)"),
        (b'R', "landonce_testkit_proxy"),
    ];
    let mut body = BytesMut::new();
    for (kind, value) in fields {
        body.put_u8(kind);
        body.put_slice(value.as_bytes());
        body.put_u8(0);
    }
    body.put_u8(0);
    let mut frame = BytesMut::with_capacity(body.len() + 5);
    frame.put_u8(b'E');
    frame.put_u32(body.len() as u32 + 4);
    frame.put_slice(&body);
    frame.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_known_by_its_statement() {
        for text in [
            "COMMIT",
            " commit ; ",
            "Commit Work",
            "END",
            "COMMIT AND NO CHAIN",
            "INSERT INTO t VALUES (1); COMMIT;",
        ] {
            assert!(is_commit(text), "{text}");
        }
        for text in [
            "",
            ";",
            "COMMIT PREPARED 'x'",
            "DO $$ BEGIN NULL; END $$",
            "BEGIN NULL; END",
            "SELECT 'commit'",
            "ROLLBACK",
            "committed",
        ] {
            assert!(!is_commit(text), "{text}");
        }
    }

    #[test]
    fn a_frame_in_part_is_none_yet() {
        let whole = b"Q\0\0\0\x07ab\0rest";
        for end in 0..8 {
            assert!(first(&whole[..end]).is_none(), "{end}");
        }
        let frame = first(whole).unwrap();
        assert_eq!((frame.tag, frame.body, frame.len), (b'Q', &b"ab\0"[..], 8));
    }
}
