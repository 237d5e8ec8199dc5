//! What the first decompressed bytes say before any record is framed: a byte order mark, or that this is no text at all.

use super::DecodeError;
use super::window::Window;

/// First bytes of formats that are often sent by mistake, and what they are.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "compressed twice (gzip inside): decompress it once"),
    (b"\x28\xb5\x2f\xfd", "compressed twice (zstd inside): decompress it once"),
    (b"PK\x03\x04", "a zip archive or an Excel file: unpack it, or save it as CSV"),
    (b"BZh", "bzip2: decompress it, or send gzip or zstd"),
    (b"\xfd7zXZ\x00", "xz: decompress it, or send gzip or zstd"),
    (b"\x04\x22\x4d\x18", "lz4: decompress it, or send gzip or zstd"),
    (b"PAR1\x15", "Parquet: say so (`source.format: parquet`), or name it `.parquet`"),
    (b"\xff\xfe", "UTF-16: convert it to UTF-8 (`iconv -f UTF-16 -t UTF-8`)"),
    (b"\xfe\xff", "UTF-16: convert it to UTF-8 (`iconv -f UTF-16 -t UTF-8`)"),
    (b"\x1e", "a JSON text sequence (RFC 7464): take out the record separators (`tr -d '\\036'`)"),
];

/// Refuses what is no text in UTF-8, and skips a UTF-8 byte order mark.
pub(super) fn check_start(window: &mut Window) -> Result<(), DecodeError> {
    let head = window.at_least(10)?;
    if head.starts_with(b"\xef\xbb\xbf") {
        window.consume(3);
        return Ok(());
    }
    // A CSV column may well be called BZh; the magic number of the first block behind it tells.
    let is_bzip2 = head.get(4..).is_some_and(|block| block.starts_with(b"1AY&SY"));
    match FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((b"BZh", _)) if !is_bzip2 => Ok(()),
        Some((_, what)) => Err(DecodeError::Unsupported { detail: format!("it is {what}") }),
        None => Ok(()),
    }
}
