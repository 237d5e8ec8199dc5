//! A token in `Authorization: Bearer <token>`, for senders that can't sign.
//!
//! RFC 6750, section 2.1 (<https://www.rfc-editor.org/rfc/rfc6750#section-2.1>). Whoever sees the token can send what he likes:
//! neither body nor time are signed, so it stands and falls with TLS. What is held is the token's SHA-256, also in a
//! configuration if one likes; that is enough for a token that is long and random, which is why short ones are refused.

use hmac::digest::{CtOutput, Digest as _};
use sha2::Sha256;

use super::secret::without_spaces;
use super::{BadSecret, Headers, Held, Refusal};

/// The header of the token.
pub const HEADER: &str = "Authorization";

const SCHEME: &str = "Bearer";
const HASHED: &str = "sha256:";
/// Of a token, in characters.
const SHORTEST: usize = 16;

/// A token, or `sha256:` and the hex of its SHA-256.
pub(super) fn held(text: &str) -> Result<Held, BadSecret> {
    without_spaces(text)?;
    if let Some(written) = text.strip_prefix(HASHED) {
        let mut digest = [0; 32];
        hex::decode_to_slice(written, &mut digest).map_err(|_| BadSecret::TokenHash)?;
        return Ok(Held::token(digest));
    }
    if text.len() < SHORTEST || !is_token(text) {
        return Err(BadSecret::Token);
    }
    Ok(Held::token(Sha256::digest(text).into()))
}

pub(super) fn check(secrets: &[Held], headers: &Headers<'_>) -> Result<(), Refusal> {
    let token = headers
        .one(HEADER)?
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME))
        .map(|(_, token)| token.trim_start_matches(' '))
        .filter(|token| is_token(token))
        .ok_or_else(|| Refusal::malformed(HEADER, "`Bearer` and a token"))?;
    let came = CtOutput::<Sha256>::new(Sha256::digest(token));
    // Every one is looked at, so that the time doesn't tell which of them fits.
    let is_held = secrets
        .iter()
        .filter_map(Held::as_token)
        .fold(false, |is_held, digest| is_held | (came == CtOutput::new((*digest).into())));
    if is_held { Ok(()) } else { Err(Refusal::UnknownToken) }
}

/// RFC 6750's `b64token`.
fn is_token(text: &str) -> bool {
    let token = text.trim_end_matches('=');
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::Scheme;

    const TOKEN: &str = "c0ffee-c0ffee-c0ffee==";

    fn check(secrets: &[&str], value: &str) -> Result<(), Refusal> {
        let held: Vec<_> = secrets.iter().map(|text| Scheme::Bearer.secret(text).unwrap()).collect();
        Scheme::Bearer.verify(&held, &[("authorization", value)].into_iter().collect(), b"", 0)
    }

    #[test]
    fn any_token_that_is_held_is_taken_and_its_hash_is_enough_to_hold() {
        let hash = format!("sha256:{}", hex::encode(Sha256::digest(TOKEN)));
        for secrets in [&[TOKEN][..], &["another-token-another", TOKEN], &[&hash]] {
            for value in [format!("Bearer {TOKEN}"), format!("bearer   {TOKEN}"), format!(" BEARER {TOKEN} ")]
            {
                assert_eq!(check(secrets, &value), Ok(()), "{value:?}");
            }
            for token in [&hash[7..], &TOKEN[1..], &TOKEN.to_uppercase(), "another-token"] {
                assert_eq!(check(secrets, &format!("Bearer {token}")), Err(Refusal::UnknownToken), "{token}");
            }
            assert!(check(secrets, &format!("Bearer {hash}")).is_err(), "who knows the hash knows no token");
        }
        assert_eq!(check(&[], &format!("Bearer {TOKEN}")), Err(Refusal::UnknownToken));
    }

    #[test]
    fn other_credentials_are_refused_without_showing_them() {
        for value in [
            "",
            "Bearer",
            "Bearer ",
            TOKEN,
            "Basic Yzpj",
            "Bearer:c0ffee",
            "Bearer c0ffee c0ffee",
            "Bearer =",
            "Bearer\tc0ffee",
            "Bearer c0ffee, Bearer c0ffee",
        ] {
            let refused = check(&[TOKEN], value).unwrap_err();
            assert_eq!(refused, Refusal::malformed(HEADER, "`Bearer` and a token"), "{value:?}");
            assert!(!format!("{refused} {refused:?}").contains("c0ffee"));
        }
        let headers = [("Authorization", "Bearer x"), ("authorization", "Bearer x")].into_iter().collect();
        let refused = Scheme::Bearer.verify(&[], &headers, b"", 0);
        assert_eq!(refused, Err(Refusal::Repeated(HEADER.to_owned())));
    }

    #[test]
    fn a_token_that_can_be_guessed_or_not_be_sent_is_no_secret() {
        for (text, wrong) in [
            ("", BadSecret::Empty),
            ("c0ffee-c0ffee-c0ffee\n", BadSecret::Spaces),
            ("c0ffee-c0ffee-1", BadSecret::Token),
            ("c0ffee c0ffee c0ffee", BadSecret::Token),
            ("c0ffee-c0ffee-c0ffeé", BadSecret::Token),
            ("sha256:", BadSecret::TokenHash),
            ("sha256:c0ffee", BadSecret::TokenHash),
        ] {
            let error = Scheme::Bearer.secret(text).unwrap_err();
            assert_eq!(error, wrong, "{text:?}");
            assert!(!error.to_string().contains("c0ffee"));
        }
    }
}
