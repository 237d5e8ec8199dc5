//! The key of a record (F1, G1): SHA-256 over its identity, and nothing that depends on when, where or how it came.
//!
//! Same event, same key, on every machine and in every process; any identity field changed, another key.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use crate::canonical::{COPY_LABEL, DIGEST_LABEL, KEY_LABEL};
use crate::plan::KeyForm;
use crate::value::Value;

/// A record's key: the whole SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// The key of an encoded identity ([`crate::canonical`]).
    pub fn of(encoded: &[u8]) -> Self {
        Self(labelled(KEY_LABEL, encoded))
    }

    /// The plain SHA-256 of a text, without a label: what `sha256("a|b|c")` gives in any language (`joined`).
    pub fn of_joined(text: &[u8]) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// The key of the n-th copy of a record, counted from 1, where each copy is a row of its own (`repeats: keep`). The
    /// first one's is the record's own key.
    #[must_use]
    pub fn copy(self, nth: u32) -> Self {
        if nth <= 1 {
            return self;
        }
        let mut encoded = self.0.to_vec();
        encoded.extend_from_slice(&nth.to_be_bytes());
        Self(labelled(COPY_LABEL, &encoded))
    }

    /// The key as a UUID: RFC 9562 version 8 over the first sixteen bytes.
    pub fn to_uuid(self) -> uuid::Uuid {
        let mut first = [0; 16];
        first.copy_from_slice(&self.0[..16]);
        uuid::Uuid::new_v8(first)
    }

    /// The key in a column's form.
    pub fn to_value(self, form: KeyForm) -> Value<'static> {
        match form {
            KeyForm::Uuid => Value::Uuid(self.to_uuid().into_bytes()),
            KeyForm::Bytes => Value::Bytes(Cow::Owned(self.0.to_vec())),
            KeyForm::Hex => Value::Text(Cow::Owned(hex::encode(self.0))),
        }
    }

    /// The key as people read it: the UUID, or the hex digits.
    pub fn to_text(self, form: KeyForm) -> String {
        match form {
            KeyForm::Uuid => self.to_uuid().to_string(),
            KeyForm::Bytes | KeyForm::Hex => hex::encode(self.0),
        }
    }
}

/// The digest of an encoded content.
pub fn content_digest(encoded: &[u8]) -> [u8; 32] {
    labelled(DIGEST_LABEL, encoded)
}

fn labelled(label: &[u8], encoded: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(label);
    hash.update(encoded);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joined_key_is_the_plain_sha256() {
        // printf 'a|b|c' | sha256sum
        assert_eq!(
            Key::of_joined(b"a|b|c").to_text(KeyForm::Hex),
            "a52dd81bfd5e4e66d96b9f598382f6cbf8c5c3897654e6ae9055e03620fcf38e"
        );
    }

    #[test]
    fn copies_have_keys_of_their_own_and_the_first_is_the_record_itself() {
        let key = Key::of(b"x");
        assert_eq!(key.copy(1), key);
        assert_ne!(key.copy(2), key);
        assert_ne!(key.copy(2), key.copy(3));
        assert_eq!(key.copy(2), Key::of(b"x").copy(2));
    }

    #[test]
    fn a_uuid_key_says_that_it_is_version_8() {
        let uuid = Key::of(b"x").to_uuid();
        assert_eq!(uuid.get_version_num(), 8);
        assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
    }
}
