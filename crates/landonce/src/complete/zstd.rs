//! Whether every frame of a zstd stream carries a checksum, which is optional there.
//!
//! Looked at only after the stream was decoded to its end, so the frames are known to be sound: their headers are followed from
//! block to block without decompressing them (RFC 8878, 3.1).

use std::io;

use crate::payload::Stored;

const MAGIC: u32 = 0xfd2f_b528;
const SKIPPABLE: u32 = 0x184d_2a50;

/// Whether there is a frame, and each has a checksum.
pub(super) fn all_are_checked(stored: &Stored, len: u64) -> io::Result<bool> {
    let mut at = 0;
    let mut is_any = false;
    while at < len {
        let magic = number(stored, at, 4)?;
        if magic & !0xf == SKIPPABLE {
            at += 8 + u64::from(number(stored, at + 4, 4)?);
            continue;
        }
        let descriptor = number(stored, at + 4, 1)?;
        let has_checksum = descriptor & 0b100 != 0;
        if magic != MAGIC || !has_checksum {
            return Ok(false);
        }
        at = behind_blocks(stored, at + 5 + rest_of_header(descriptor))? + 4;
        is_any = true;
    }
    Ok(is_any)
}

/// How long the header is behind its descriptor.
fn rest_of_header(descriptor: u32) -> u64 {
    let is_single = descriptor & 0b10_0000 != 0;
    let window = u64::from(!is_single);
    let dictionary = [0, 1, 2, 4][(descriptor & 0b11) as usize];
    let size = [u64::from(is_single), 2, 4, 8][(descriptor >> 6 & 0b11) as usize];
    window + dictionary + size
}

/// Where the last of the blocks that begin at `at` ends.
fn behind_blocks(stored: &Stored, mut at: u64) -> io::Result<u64> {
    loop {
        let header = number(stored, at, 3)?;
        let is_run = header >> 1 & 0b11 == 1; // one byte, repeated
        at += 3 + if is_run { 1 } else { u64::from(header >> 3) };
        if header & 1 == 1 {
            return Ok(at);
        }
    }
}

/// A little-endian number of up to four bytes.
fn number(stored: &Stored, at: u64, len: usize) -> io::Result<u32> {
    let mut bytes = [0; 4];
    stored.read_exact_at(&mut bytes[..len], at)?;
    Ok(u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use super::*;

    fn frame(text: &[u8], has_checksum: bool, tells_size: bool) -> Vec<u8> {
        let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(has_checksum).unwrap();
        if tells_size {
            encoder.set_pledged_src_size(Some(text.len() as u64)).unwrap();
        }
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn is_checked(bytes: Vec<u8>) -> bool {
        let len = bytes.len() as u64;
        all_are_checked(&Stored::Bytes(Arc::new(bytes)), len).unwrap()
    }

    #[test]
    fn every_frame_must_have_its_checksum() {
        let noise: Vec<u8> =
            (0..600_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        for text in [&b""[..], b"short", &vec![7; 900_000], &noise] {
            for tells_size in [false, true] {
                let with = frame(text, true, tells_size);
                let without = frame(text, false, tells_size);
                let skipped = [&0x184d_2a53_u32.to_le_bytes()[..], &[2, 0, 0, 0, 9, 9]].concat();
                assert!(is_checked(with.clone()));
                assert!(is_checked([&skipped, &with[..], &with, &skipped].concat()));
                assert!(!is_checked(without.clone()));
                assert!(!is_checked([&with[..], &without].concat()));
                assert!(!is_checked(skipped));
            }
        }
    }
}
