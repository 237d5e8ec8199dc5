//! A secret as it is held to check what arrives.

use std::fmt;

use thiserror::Error;

use super::Secret;

/// A secret of one scheme, read by [`super::Scheme::secret`]. It is never shown.
#[derive(Clone)]
pub struct Held(Kind);

#[derive(Clone)]
enum Kind {
    Standard(Secret),
    Text(Box<[u8]>),
    /// The SHA-256 of a token: the token itself isn't kept.
    Token([u8; 32]),
}

impl Held {
    pub(super) fn standard(secret: Secret) -> Self {
        Self(Kind::Standard(secret))
    }

    pub(super) fn token(digest: [u8; 32]) -> Self {
        Self(Kind::Token(digest))
    }

    /// A secret whose bytes are the key, as they are.
    pub(super) fn text(text: &str) -> Result<Self, BadSecret> {
        without_spaces(text)?;
        Ok(Self(Kind::Text(text.as_bytes().into())))
    }

    pub(super) fn as_standard(&self) -> Option<&Secret> {
        if let Kind::Standard(secret) = &self.0 { Some(secret) } else { None }
    }

    pub(super) fn as_text(&self) -> Option<&[u8]> {
        if let Kind::Text(key) = &self.0 { Some(key) } else { None }
    }

    pub(super) fn as_token(&self) -> Option<&[u8; 32]> {
        if let Kind::Token(digest) = &self.0 { Some(digest) } else { None }
    }
}

/// An empty key would let anybody sign, and white space at an end is a file's or a shell's, never the sender's.
pub(super) fn without_spaces(text: &str) -> Result<(), BadSecret> {
    if text.is_empty() {
        Err(BadSecret::Empty)
    } else if text.trim() != text {
        Err(BadSecret::Spaces)
    } else {
        Ok(())
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held(…)")
    }
}

/// Why a text is no secret. Says nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadSecret {
    /// It begins with something else.
    #[error("a webhook secret begins with `whsec_`")]
    Prefix,
    /// The rest isn't base64.
    #[error("what follows `whsec_` in a webhook secret must be base64, with its padding")]
    Base64,
    /// Too short to be safe, or longer than the standard says.
    #[error("a webhook secret holds 24 to 64 random bytes; make one with `openssl rand -base64 32`")]
    Length,
    /// There is nothing.
    #[error("a webhook secret must not be empty; is its variable set?")]
    Empty,
    /// It can be guessed from a single signature.
    #[error(
        "a webhook secret of fewer than 8 characters can be guessed; is its variable set to the sender's secret?"
    )]
    Short,
    /// White space at an end.
    #[error("a webhook secret must not begin or end with white space; does its file end with a line break?")]
    Spaces,
    /// A bearer token that no request could carry, or that can be guessed.
    #[error(
        "a bearer token is at least 16 letters, digits and `-._~+/`, with `=` at its end at most; make one with `openssl rand -hex 32`"
    )]
    Token,
    /// What follows `sha256:` isn't a hash.
    #[error("what follows `sha256:` must be the 64 hex digits of the token's SHA-256")]
    TokenHash,
}

#[cfg(test)]
mod tests {
    use crate::webhook::{BadSecret, Scheme, TOLERANCE_SECS};

    #[test]
    fn a_text_secret_is_taken_as_it_is_and_never_shown() {
        for scheme in [Scheme::GitHub, Scheme::Stripe { tolerance_secs: TOLERANCE_SECS }, Scheme::Shopify] {
            let held = scheme.secret("whsec_test secret").unwrap();
            assert_eq!(held.as_text(), Some(b"whsec_test secret".as_slice()));
            assert_eq!(format!("{held:?}"), "Held(…)");
            assert_eq!(scheme.secret("").unwrap_err(), BadSecret::Empty);
            for text in ["hunter2\n", " hunter2", "\u{a0}hunter2"] {
                let error = scheme.secret(text).unwrap_err();
                assert_eq!(error, BadSecret::Spaces);
                assert!(!error.to_string().contains("hunter2"));
            }
        }
    }
}
