//! A row as a JSON object of strings.

use landonce_core::bad_record::{BadKind, BadRecord, shorten};

use super::header::Header;
use super::split::Splitter;

/// Puts the object of a row into `out`.
pub(super) fn row(
    header: &Header,
    fields: &Splitter,
    nulls: &[Vec<u8>],
    limit: u32,
    out: &mut Vec<u8>,
) -> Result<(), BadRecord> {
    if fields.len() != header.width() {
        let detail = format!("has {} fields, the header has {}", fields.len(), header.width());
        return Err(BadRecord::new(BadKind::RaggedRow, "", detail));
    }
    out.clear();
    out.push(b'{');
    let mut fields = fields.fields();
    for (at, (key, field)) in header.keys().iter().zip(&mut fields).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key);
        // Escapes can make six bytes of one: look before they take six times the memory.
        let longest = out.len() + 6 * field.len() + 3;
        if longest > limit as usize && out.len() + spelled(field) + 3 > limit as usize {
            return Err(beyond(limit));
        }
        if nulls.iter().any(|null| null == field) {
            out.extend_from_slice(b"null");
        } else if let Err(error) = std::str::from_utf8(field) {
            let shown = shorten(&String::from_utf8_lossy(field));
            let detail =
                format!("isn't UTF-8 at its byte {}: `{shown}`; convert the file", error.valid_up_to() + 1);
            return Err(BadRecord::new(BadKind::Encoding, &header.names()[at], detail));
        } else {
            string(field, out);
        }
    }
    for (at, field) in fields.enumerate() {
        if !field.is_empty() && nulls.iter().all(|null| null != field) {
            let detail = format!(
                "field {} isn't empty, but the header has no name there",
                header.names().len() + at + 1
            );
            return Err(BadRecord::new(BadKind::RaggedRow, "", detail));
        }
    }
    out.push(b'}');
    Ok(())
}

fn beyond(limit: u32) -> BadRecord {
    let detail = format!(
        "is longer than the limit of {limit} bytes as JSON: split it, or raise the limit (`max_record`)"
    );
    BadRecord::new(BadKind::TooLarge, "", detail)
}

/// How long a text is as JSON, without its quotes.
fn spelled(text: &[u8]) -> usize {
    text.iter()
        .map(|&byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
            0..0x20 => 6,
            _ => 1,
        })
        .sum()
}

/// Appends a JSON string. Only what JSON demands is escaped; U+0000 too, for the scanner to report.
pub(super) fn string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    // Without an early exit the compiler makes one wide pass of it, and most fields need no more.
    if text.iter().fold(false, |any, &byte| any | is_escaped(byte)) {
        escaped(text, out);
    } else {
        out.extend_from_slice(text);
    }
    out.push(b'"');
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn escaped(text: &[u8], out: &mut Vec<u8>) {
    let mut plain = 0;
    for (at, &byte) in text.iter().enumerate() {
        if !is_escaped(byte) {
            continue;
        }
        out.extend_from_slice(&text[plain..at]);
        plain = at + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&digits);
            }
        }
    }
    out.extend_from_slice(&text[plain..]);
}
