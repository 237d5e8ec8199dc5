//! Packets: three bytes of length, a number, a payload.

use bytes::{BufMut, Bytes, BytesMut};

/// Bytes before a payload.
pub(super) const HEAD: usize = 4;

/// TLS, compression (two kinds), attributes before a query's text.
const DECLINED: u32 = 0x0800 | 0x20 | 1 << 26 | 1 << 27;

/// Takes a whole packet off the buffer, head included, once it is there.
pub(super) fn take(buffer: &mut BytesMut) -> Option<Bytes> {
    let head = buffer.first_chunk::<HEAD>()?;
    let length = HEAD + u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    (buffer.len() >= length).then(|| buffer.split_to(length).freeze())
}

/// Whether the packet is as long as one can be: then the next one goes on with it.
pub(super) fn is_continued(packet: &[u8]) -> bool {
    packet.starts_with(&[0xff, 0xff, 0xff])
}

/// A packet of this number.
pub(super) fn framed(number: u8, payload: &[u8]) -> Bytes {
    let mut packet = BytesMut::with_capacity(HEAD + payload.len());
    packet.put_uint_le(payload.len() as u64, 3);
    packet.put_u8(number);
    packet.put_slice(payload);
    packet.freeze()
}

/// Whether a greeting is MariaDB's.
pub(super) fn is_mariadb(greeting: &[u8]) -> bool {
    greeting.windows(7).any(|part| part == b"MariaDB")
}

/// A server's greeting without what would hide the commands. Anything else is left as it is.
pub(super) fn plain_greeting(packet: &Bytes) -> Bytes {
    let mut plain = BytesMut::from(&packet[..]);
    let Some(payload) = plain.get_mut(HEAD..) else { return packet.clone() };
    if payload.first() != Some(&10) {
        return packet.clone();
    }
    let Some(version) = payload.iter().position(|&byte| byte == 0) else { return packet.clone() };
    // The session's number, half a scramble, a zero.
    let low = version + 1 + 4 + 8 + 1;
    for (at, shift) in [(low, 0), (low + 1, 8), (low + 5, 16), (low + 6, 24)] {
        if let Some(byte) = payload.get_mut(at) {
            *byte &= !((DECLINED >> shift) as u8);
        }
    }
    plain.freeze()
}

/// What the first packet of an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Done: rows affected, and whether what comes next is in a transaction.
    Done { rows: u64, is_in_transaction: bool },
    /// An error, with its SQLSTATE.
    Failed([u8; 5]),
    /// The server asks for a file of the client's.
    WantsFile,
    /// Rows follow, or what a command of another kind gets.
    Other,
}

/// Reads the first packet that answers a command.
pub(super) fn answer(packet: &[u8]) -> Answer {
    let payload = packet.get(HEAD..).unwrap_or_default();
    match payload {
        [0, rest @ ..] => {
            let Some((rows, rest)) = number(rest) else { return Answer::Other };
            let Some((_, rest)) = number(rest) else { return Answer::Other };
            let status = rest.first_chunk::<2>().map_or(2, |status| u16::from_le_bytes(*status));
            // A transaction is open, or each statement would open one.
            Answer::Done { rows, is_in_transaction: status & 1 != 0 || status & 2 == 0 }
        }
        [0xff, _, _, b'#', rest @ ..] => Answer::Failed(rest.first_chunk().copied().unwrap_or(*b"HY000")),
        [0xff, ..] => Answer::Failed(*b"HY000"),
        [0xfb, ..] => Answer::WantsFile,
        _ => Answer::Other,
    }
}

/// A number of one, three, four or nine bytes.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let length = match first {
        0..=0xfa => return Some((u64::from(first), rest)),
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return None,
    };
    let (number, rest) = rest.split_at_checked(length)?;
    Some((number.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_packet_tells_how_a_command_went() {
        let done = |status| [7, 0, 0, 1, 0, 5, 0, status, 0, 0, 0];
        assert_eq!(answer(&done(2)), Answer::Done { rows: 5, is_in_transaction: false });
        assert_eq!(answer(&done(3)), Answer::Done { rows: 5, is_in_transaction: true });
        assert_eq!(answer(&done(0)), Answer::Done { rows: 5, is_in_transaction: true });
        assert_eq!(answer(b"\x09\0\0\x01\xff\xbd\x04#40001"), Answer::Failed(*b"40001"));
        assert_eq!(answer(b"\x01\0\0\x01\x02"), Answer::Other);
    }

    #[test]
    fn a_greeting_offers_neither_tls_nor_compression() {
        let mut greeting = b"\x2d\0\0\0\x0a11.8\0\x01\0\0\0scramble\0".to_vec();
        greeting.extend([0xff, 0xff, 45, 2, 0, 0xff, 0xff, 21]);
        let plain = plain_greeting(&Bytes::from(greeting.clone()));
        let at = greeting.len() - 8;
        assert_eq!(plain[at..], [0xdf, 0xf7, 45, 2, 0, 0xff, 0xf3, 21]);
        assert_eq!(plain[..at], greeting[..at]);
    }

    #[test]
    fn a_packet_of_ours_is_one() {
        let mut buffer = BytesMut::from(&framed(1, b"ab")[..]);
        assert_eq!(take(&mut buffer).unwrap(), &b"\x02\0\0\x01ab"[..]);
    }

    #[test]
    fn a_packet_is_taken_when_it_is_whole() {
        let mut buffer = BytesMut::from(&b"\x02\0\0\0\x03"[..]);
        assert_eq!(take(&mut buffer), None);
        buffer.extend_from_slice(b"x\x01");
        assert_eq!(take(&mut buffer).unwrap(), &b"\x02\0\0\0\x03x"[..]);
        assert_eq!(&buffer[..], b"\x01");
    }
}
