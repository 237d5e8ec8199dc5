//! What stands before a datum: a zero byte and the id of its schema; in Protobuf, which message of the schema it is.

use landonce_core::bad_record::BadRecord;

use super::bad;

/// Deeper than any schema nests its messages.
const MOST_INDEXES: i64 = 64;

/// The schema's id, and what is behind it.
pub(super) fn split(bytes: &[u8]) -> Result<(u32, &[u8]), BadRecord> {
    match bytes {
        [0, a, b, c, d, datum @ ..] => Ok((u32::from_be_bytes([*a, *b, *c, *d]), datum)),
        [0, ..] | [] => {
            Err(bad("a zero byte and the four bytes of a schema's id are due in front, and there are fewer"))
        }
        [first, ..] => Err(bad(format!(
            "it begins with the byte {first}, and not with the zero byte that a registry's serializers put in front"
        ))),
    }
}

/// The message's indexes, from the file inwards, and what is behind them. Zero alone stands for the first message.
pub(super) fn indexes(bytes: &[u8]) -> Result<(Vec<usize>, &[u8]), BadRecord> {
    let (count, mut rest) = varint(bytes)?;
    if count == 0 {
        return Ok((vec![0], rest));
    }
    if !(1..=MOST_INDEXES).contains(&count) {
        return Err(bad(format!("{count} indexes of messages")));
    }
    let mut indexes = Vec::new();
    for _ in 0..count {
        let (index, behind) = varint(rest)?;
        indexes.push(usize::try_from(index).map_err(|_| bad(format!("the message's index is {index}")))?);
        rest = behind;
    }
    Ok((indexes, rest))
}

/// A zigzag number, as Avro's `long` is written, too.
pub(super) fn varint(bytes: &[u8]) -> Result<(i64, &[u8]), BadRecord> {
    let mut value = 0_u64;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if at == 9 && bits > 1 {
            break;
        }
        value |= bits << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(((value >> 1) as i64 ^ -((value & 1) as i64), &bytes[at + 1..]));
        }
    }
    Err(bad("a number doesn't end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_zigzag_and_end() {
        for (bytes, want) in [
            (&[0_u8][..], 0),
            (&[1], -1),
            (&[2], 1),
            (&[0xac, 0x02], 150),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MIN),
            (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], i64::MAX),
        ] {
            assert_eq!(varint(bytes).unwrap(), (want, &[][..]));
        }
        for bytes in [&[][..], &[0x80], &[0xff; 9], &[0xff; 11]] {
            varint(bytes).unwrap_err();
        }
    }

    #[test]
    fn a_head_is_whole_or_refused() {
        assert_eq!(split(&[0, 0, 0, 1, 2, 9]).unwrap(), (258, &[9][..]));
        assert!(split(&[0, 0, 0]).unwrap_err().detail.contains("fewer"));
        assert!(split(b"{}").unwrap_err().detail.contains("byte 123"));
    }

    #[test]
    fn indexes_lead_to_a_message() {
        assert_eq!(indexes(&[0, 7]).unwrap(), (vec![0], &[7][..]));
        assert_eq!(indexes(&[4, 2, 0, 7]).unwrap(), (vec![1, 0], &[7][..]));
        indexes(&[3]).unwrap_err();
        indexes(&[2, 1]).unwrap_err();
        indexes(&[0xfe, 0x7f]).unwrap_err();
    }
}
