//! Canonical bytes made readable: every tag, length and content, in the order in which they are hashed.

/// One encoded value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Encoded<'b> {
    /// Its tag.
    pub(super) tag: u8,
    /// Its content.
    pub(super) content: &'b [u8],
    /// All of it.
    pub(super) whole: &'b [u8],
}

/// The values that are encoded one after the other. Stops at the first byte that is none.
pub(super) fn values(bytes: &[u8]) -> impl Iterator<Item = Encoded<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&tag, behind) = rest.split_first()?;
        let (length, content) = behind.split_first_chunk::<4>()?;
        let length = u32::from_be_bytes(*length) as usize;
        let content = content.get(..length)?;
        let whole = &rest[..5 + length];
        rest = &rest[5 + length..];
        Some(Encoded { tag, content, whole })
    })
}

/// The members of one encoded object: each name, and its value.
pub(super) fn members(object: &[u8]) -> Vec<(String, Encoded<'_>)> {
    let Some(object) = values(object).next() else { return Vec::new() };
    let mut inside = values(object.content);
    let mut members = Vec::new();
    while let (Some(name), Some(value)) = (inside.next(), inside.next()) {
        members.push((String::from_utf8_lossy(name.content).into_owned(), value));
    }
    members
}

/// The members of one encoded object: the bytes of each, name and value.
pub(super) fn member_bytes(object: &[u8]) -> Vec<&[u8]> {
    let Some(object) = values(object).next() else { return Vec::new() };
    let mut inside = values(object.content);
    let mut members = Vec::new();
    let mut start = 0;
    while let (Some(name), Some(value)) = (inside.next(), inside.next()) {
        let end = start + name.whole.len() + value.whole.len();
        members.push(&object.content[start..end]);
        start = end;
    }
    members
}

/// Encoded values as people read them: `s 2 "AA" n 4 12e1`. The lengths are in bytes.
pub(super) fn readable(bytes: &[u8]) -> String {
    let mut out = String::new();
    for value in values(bytes) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push(char::from(value.tag));
        out.push_str(&format!(" {}", value.content.len()));
        let content = match value.tag {
            b'z' | b'm' => continue,
            b's' => quoted(value.content),
            b'x' => hex::encode(value.content),
            b'a' => format!("[{}]", readable(value.content)),
            b'o' => format!("{{{}}}", readable(value.content)),
            _ => String::from_utf8_lossy(value.content).into_owned(),
        };
        out.push(' ');
        out.push_str(&content);
    }
    out
}

/// A text in quotes, with everything escaped that can't be seen.
pub(super) fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        // An apostrophe would be escaped too, which only disturbs; a combining accent, which would hide, is.
        if c == '\'' { out.push(c) } else { out.extend(c.escape_debug()) }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use landonce_core::canonical::{Exclusions, put_json};
    use landonce_core::json::Tape;

    use super::*;

    fn encoded(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        put_json(&mut out, Tape::default().scan(text.as_bytes()).unwrap(), &Exclusions::default()).unwrap();
        out
    }

    #[test]
    fn every_byte_is_accounted_for() {
        assert_eq!(
            readable(&encoded(r#"{"b":[1,null,true],"a":"x\n\"y'é"}"#)),
            r#"o 51 {s 1 "a" s 7 "x\n\"y'é" s 1 "b" a 22 [n 3 1e0 z 0 b 4 true]}"#
        );
    }

    #[test]
    fn an_accent_of_its_own_is_seen() {
        assert_eq!(readable(&encoded("\"e\\u0301\"")), r#"s 3 "e\u{301}""#);
    }

    #[test]
    fn members_are_told_apart() {
        let object = encoded(r#"{"a":1,"b":{"c":2}}"#);
        let names: Vec<_> =
            members(&object).into_iter().map(|(name, value)| (name, readable(value.whole))).collect();
        assert_eq!(
            names,
            [("a".into(), "n 3 1e0".into()), ("b".into(), "o 14 {s 1 \"c\" n 3 2e0}".to_owned())]
        );
    }

    #[test]
    fn cut_bytes_end_the_values_and_never_panic() {
        let whole = encoded(r#"{"a":"long enough"}"#);
        for end in 0..whole.len() {
            assert_eq!(values(&whole[..end]).count(), 0, "{end}");
        }
    }
}
