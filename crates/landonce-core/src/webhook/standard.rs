//! Standard Webhooks: made for what is sent, checked on what arrives.
//!
//! <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
//!
//! The headers are [`ID`], [`TIMESTAMP`] (Unix seconds) and [`SIGNATURE`]: a list of `v1,<base64>`, separated by spaces. Each is
//! the HMAC-SHA256 of `id.timestamp.body`, byte for byte. While a secret is being replaced there are two, and the receiver takes
//! a message when any fits any secret that it holds. Clocks and headers are the caller's.
//!
//! Svix, from which the standard comes, has its own names for the three, `svix-…`; these are taken where there is no [`ID`].

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::refusal::in_time;
use super::{BadSecret, Headers, Held, Refusal};

/// The header of the message's id: the same on every attempt.
pub const ID: &str = "webhook-id";
/// The header of the time of this attempt, in seconds since 1970-01-01T00:00:00Z.
pub const TIMESTAMP: &str = "webhook-timestamp";
/// The header of the signatures.
pub const SIGNATURE: &str = "webhook-signature";

/// The names of the three headers: one set or the other, never some of each.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) id: &'static str,
    timestamp: &'static str,
    signature: &'static str,
}

const NAMES: Names = Names { id: ID, timestamp: TIMESTAMP, signature: SIGNATURE };
const SVIX: Names = Names { id: "svix-id", timestamp: "svix-timestamp", signature: "svix-signature" };

impl Names {
    /// The set that counts in a request. The standard's own, unless only Svix's id is there.
    pub(super) fn of(headers: &Headers<'_>) -> &'static Self {
        if !headers.has(NAMES.id) && headers.has(SVIX.id) { &SVIX } else { &NAMES }
    }
}

/// Whether a header of that name is the id of a message, by the standard's name or by Svix's.
pub(crate) fn is_id(header: &str) -> bool {
    [NAMES, SVIX].iter().any(|names| names.id.eq_ignore_ascii_case(header))
}

const PREFIX: &str = "whsec_";
const VERSION: &str = "v1";
const FORM: &str = "`v1,<base64>`, or several with spaces between them";
/// Of a key, in bytes: what the standard asks for.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=BLOCK;
/// SHA-256's block. HMAC fills every key up to it with zeros.
const BLOCK: usize = 64;

/// A secret that sender and receiver share. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; BLOCK]);

impl Secret {
    /// From `whsec_` and the base64 of 24 to 64 bytes.
    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        let encoded = text.strip_prefix(PREFIX).ok_or(BadSecret::Prefix)?;
        // The decoder's own error would name a byte of the secret.
        let key = STANDARD.decode(encoded).map_err(|_| BadSecret::Base64)?;
        if !LENGTHS.contains(&key.len()) {
            return Err(BadSecret::Length);
        }
        let mut block = [0; BLOCK];
        block[..key.len()].copy_from_slice(&key);
        Ok(Self(block))
    }

    fn mac(&self, id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.0.into());
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        mac
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The header [`SIGNATURE`]: one signature per secret, in their order. The id must not contain a full stop.
pub fn sign(secrets: &[Secret], id: &str, timestamp_secs: i64, body: &[u8]) -> String {
    let timestamp = timestamp_secs.to_string();
    let mut header = String::new();
    for secret in secrets {
        if !header.is_empty() {
            header.push(' ');
        }
        header.push_str(VERSION);
        header.push(',');
        STANDARD.encode_string(secret.mac(id, &timestamp, body).finalize().into_bytes(), &mut header);
    }
    header
}

/// Whether a message is signed with one of the secrets and not further from now than the tolerance, in seconds either way.
/// `body` is what arrived, byte for byte; `timestamp` and `signatures` are the headers' texts.
///
/// Signatures of other versions are passed over. The comparison takes the same time wherever two signatures differ.
pub fn verify(
    secrets: &[Secret],
    id: &str,
    timestamp: &str,
    signatures: &str,
    body: &[u8],
    now_secs: i64,
    tolerance_secs: u64,
) -> Result<(), Refusal> {
    let message = Message { names: &NAMES, id, timestamp, signatures, body };
    fits(secrets.iter(), &message, now_secs, tolerance_secs)
}

/// What [`verify`] does, with the headers' texts from where they stand.
pub(super) fn check(
    secrets: &[Held],
    headers: &Headers<'_>,
    body: &[u8],
    now_secs: i64,
    tolerance_secs: u64,
) -> Result<(), Refusal> {
    let names = Names::of(headers);
    let [id, timestamp, signatures] =
        [headers.one(names.id)?, headers.one(names.timestamp)?, headers.one(names.signature)?];
    let message = Message { names, id, timestamp, signatures, body };
    fits(secrets.iter().filter_map(Held::as_standard), &message, now_secs, tolerance_secs)
}

struct Message<'m> {
    names: &'static Names,
    id: &'m str,
    timestamp: &'m str,
    signatures: &'m str,
    body: &'m [u8],
}

fn fits<'s>(
    mut secrets: impl Iterator<Item = &'s Secret>,
    message: &Message<'_>,
    now_secs: i64,
    tolerance_secs: u64,
) -> Result<(), Refusal> {
    let Message { names, id, timestamp, signatures, body } = *message;
    if id.is_empty() || id.contains('.') {
        return Err(Refusal::Id(names.id.to_owned()));
    }
    in_time(names.timestamp, timestamp, now_secs, tolerance_secs)?;
    let malformed = || Refusal::malformed(names.signature, FORM);
    let mut known = Vec::new();
    for one in signatures.split(' ') {
        let (version, signature) = one.split_once(',').ok_or_else(malformed)?;
        if version == VERSION {
            known.push(STANDARD.decode(signature).map_err(|_| malformed())?);
        }
    }
    if known.is_empty() {
        return Err(Refusal::NoKnownVersion(names.signature.to_owned()));
    }
    let is_signed = secrets.any(|secret| {
        let mac = secret.mac(id, timestamp, body);
        known.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
    });
    if is_signed { Ok(()) } else { Err(Refusal::Unsigned) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::{Scheme, TOLERANCE_SECS};

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const OTHER: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const AT: i64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const PUBLISHED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn secrets(texts: &[&str]) -> Vec<Secret> {
        texts.iter().map(|text| Secret::parse(text).unwrap()).collect()
    }

    fn check(signatures: &str) -> Result<(), Refusal> {
        verify(&secrets(&[SECRET]), ID, "1614265330", signatures, BODY, AT, TOLERANCE_SECS)
    }

    #[test]
    fn the_published_vector_is_made_and_taken() {
        assert_eq!(sign(&secrets(&[SECRET]), ID, AT, BODY), PUBLISHED);
        assert_eq!(check(PUBLISHED), Ok(()));
    }

    #[test]
    fn a_request_is_checked_by_its_headers_each_once() {
        let scheme = Scheme::Standard { tolerance_secs: 0 };
        let held = [scheme.secret(OTHER).unwrap(), scheme.secret(SECRET).unwrap()];
        let good =
            [("Webhook-Id", ID), ("Webhook-Timestamp", "1614265330"), ("Webhook-Signature", PUBLISHED)];
        let check = |held: &[Held], pairs: &[(&'static str, &'static str)]| {
            scheme.verify(held, &pairs.iter().copied().collect(), BODY, AT)
        };
        assert_eq!(check(&held, &good), Ok(()));
        assert_eq!(check(&held[..1], &good), Err(Refusal::Unsigned));
        assert_eq!(check(&[Scheme::GitHub.secret(SECRET).unwrap()], &good), Err(Refusal::Unsigned));
        for (at, name) in [super::ID, TIMESTAMP, SIGNATURE].into_iter().enumerate() {
            let mut pairs = good.to_vec();
            pairs.push(good[at]);
            assert_eq!(check(&held, &pairs), Err(Refusal::Repeated(name.to_owned())));
            pairs.retain(|pair| *pair != good[at]);
            assert_eq!(check(&held, &pairs), Err(Refusal::Missing(name.to_owned())));
        }
    }

    #[test]
    fn svix_has_its_own_names_and_no_two_sets_are_mixed() {
        let scheme = Scheme::Standard { tolerance_secs: 0 };
        let held = [scheme.secret(SECRET).unwrap()];
        let svix = [("Svix-Id", ID), ("Svix-Timestamp", "1614265330"), ("Svix-Signature", PUBLISHED)];
        let read = |pairs: &[(&'static str, &'static str)]| {
            let headers = pairs.iter().copied().collect();
            let id = scheme.event_id().unwrap().read(&headers, BODY).ok();
            (scheme.verify(&held, &headers, BODY, AT), id)
        };
        assert_eq!(read(&svix), (Ok(()), Some(ID.to_owned())));
        let missing = |name: &str| Err(Refusal::Missing(name.to_owned()));
        assert_eq!(read(&svix[..2]).0, missing("svix-signature"));
        // An id that nobody has signed, beside one that is.
        let other = [svix.as_slice(), &[("webhook-id", "msg_other")]].concat();
        assert_eq!(read(&other), (missing(TIMESTAMP), Some("msg_other".to_owned())));
        let both =
            [("webhook-id", ID), ("webhook-timestamp", "1614265330"), ("webhook-signature", PUBLISHED)];
        let both = [both.as_slice(), &[("svix-id", "msg_other")]].concat();
        assert_eq!(read(&both), (Ok(()), Some(ID.to_owned())));
    }

    #[test]
    fn while_a_secret_is_replaced_either_of_both_is_enough() {
        let both = sign(&secrets(&[OTHER, SECRET]), ID, AT, BODY);
        assert_eq!(both.split(' ').count(), 2);
        assert!(both.ends_with(PUBLISHED));
        for holder in [SECRET, OTHER] {
            assert_eq!(verify(&secrets(&[holder]), ID, "1614265330", &both, BODY, AT, 0), Ok(()));
        }
        assert_eq!(verify(&secrets(&[OTHER, SECRET]), ID, "1614265330", PUBLISHED, BODY, AT, 0), Ok(()));
        assert_eq!(
            verify(&secrets(&[OTHER]), ID, "1614265330", PUBLISHED, BODY, AT, 0),
            Err(Refusal::Unsigned)
        );
        assert_eq!(verify(&[], ID, "1614265330", PUBLISHED, BODY, AT, 0), Err(Refusal::Unsigned));
    }

    #[test]
    fn everything_that_is_signed_counts() {
        let held = secrets(&[SECRET]);
        for (id, timestamp, body) in [
            ("msg_other", "1614265330", BODY),
            (ID, "1614265331", BODY),
            (ID, "1614265330", br#"{"test":2432232314}"#.as_slice()),
            (ID, "1614265330", b""),
        ] {
            assert_eq!(verify(&held, id, timestamp, PUBLISHED, body, AT, 9), Err(Refusal::Unsigned), "{id}");
        }
    }

    #[test]
    fn the_tolerance_holds_both_ways_to_the_second() {
        let held = secrets(&[SECRET]);
        let at = |now| verify(&held, ID, "1614265330", PUBLISHED, BODY, now, 300);
        assert_eq!((at(AT + 300), at(AT - 300)), (Ok(()), Ok(())));
        assert_eq!(at(AT + 301), Err(Refusal::TooOld(301)));
        assert_eq!(at(AT - 301), Err(Refusal::TooNew(301)));
        assert_eq!(at(i64::MIN), Err(Refusal::TooNew(AT.abs_diff(i64::MIN))));
    }

    #[test]
    fn a_timestamp_is_plain_digits() {
        let held = secrets(&[SECRET]);
        for text in [
            "",
            "+1614265330",
            "-1",
            "01614265330",
            "1614265330.0",
            " 1614265330",
            "99999999999999999999",
            "١",
        ] {
            let checked = verify(&held, ID, text, PUBLISHED, BODY, AT, u64::MAX);
            assert_eq!(checked, Err(Refusal::Timestamp(TIMESTAMP.to_owned())), "{text:?}");
        }
    }

    #[test]
    fn two_messages_never_share_a_signature_by_a_full_stop() {
        let held = secrets(&[SECRET]);
        let signed = sign(&held, "a.1614265330", AT, b"x");
        let no_id = Err(Refusal::Id(super::ID.to_owned()));
        assert_eq!(signed, sign(&held, "a", AT, b"1614265330.x"), "that is why");
        assert_eq!(verify(&held, "a.1614265330", "1614265330", &signed, b"x", AT, 0), no_id);
        assert_eq!(verify(&held, "", "1614265330", &signed, b"x", AT, 0), no_id);
    }

    #[test]
    fn other_versions_are_passed_over_and_malformed_lists_refused() {
        assert_eq!(check(&format!("v2,AAAA v1a,hnO3f9T8 {PUBLISHED}")), Ok(()));
        assert_eq!(check(&PUBLISHED.replace("v1", "v2")), Err(Refusal::NoKnownVersion(SIGNATURE.to_owned())));
        for text in ["", "v1", " ", "v1,*", "v1,g0hM", "v1,", &format!("{PUBLISHED}  {PUBLISHED}")] {
            let refused = check(text);
            assert!(
                matches!(refused, Err(Refusal::Malformed { .. } | Refusal::Unsigned)),
                "{text:?}: {refused:?}"
            );
        }
        assert_eq!(check("v1,*"), Err(Refusal::malformed(SIGNATURE, FORM)));
        assert_eq!(check(PUBLISHED.trim_end_matches('=')), Err(Refusal::malformed(SIGNATURE, FORM)));
    }

    #[test]
    fn a_secret_is_never_shown_and_a_weak_one_refused() {
        assert_eq!(format!("{:?}", secrets(&[SECRET])), "[Secret(…)]");
        for (text, wrong) in [
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", BadSecret::Prefix),
            ("whsec_%%%", BadSecret::Base64),
            ("whsec_", BadSecret::Length),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa==", BadSecret::Base64),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLQ==", BadSecret::Length),
        ] {
            let error = Secret::parse(text).unwrap_err();
            assert_eq!(error, wrong, "{text}");
            assert!(!error.to_string().contains("MfKQ") && !format!("{error:?}").contains("MfKQ"));
        }
        assert!(Secret::parse(&format!("whsec_{}", STANDARD.encode([7; 64]))).is_ok());
        assert_eq!(Secret::parse(&format!("whsec_{}", STANDARD.encode([7; 65]))), Err(BadSecret::Length));
    }
}
