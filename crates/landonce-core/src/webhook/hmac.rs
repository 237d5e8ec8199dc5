//! Any HMAC of the body in a header, as declared: for the senders that have no file of their own.
//!
//! HMAC is RFC 2104 (<https://www.rfc-editor.org/rfc/rfc2104>), with SHA-256 or SHA-512. Slack, for one
//! (<https://docs.slack.dev/authentication/verifying-requests-from-slack>), is the header `X-Slack-Signature`, hex, the prefix
//! `v0=`, and the timestamp of `X-Slack-Request-Timestamp` joined as `v0:{timestamp}:{body}`.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{EagerHash, KeyInit as _, Mac as _};
use sha2::{Sha256, Sha512};
use thiserror::Error;

use super::refusal::in_time;
use super::{Headers, Held, Refusal};

/// How a sender signs: which header, which HMAC, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hmac {
    /// The header of the signature; its case doesn't matter.
    pub header: Cow<'static, str>,
    /// The hash below the HMAC.
    pub hash: Hash,
    /// How the signature is written.
    pub encoding: Encoding,
    /// What stands before the signature, such as `sha256=`; may be empty. Its case matters.
    pub prefix: Cow<'static, str>,
    /// Where the time of signing is, when it is signed with the body. Without it a stolen request is good for ever.
    pub timestamp: Option<Timestamp>,
}

/// A hash that an HMAC stands on. SHA-1 and MD5 aren't offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// 32 bytes.
    Sha256,
    /// 64 bytes.
    Sha512,
}

/// How a signature is written in its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Two digits a byte, in either case.
    Hex,
    /// RFC 4648, section 4, with its padding.
    Base64,
}

/// A time that is signed with the body: Unix seconds in plain digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timestamp {
    /// Its header; the case of the name doesn't matter.
    pub header: Cow<'static, str>,
    /// What is signed.
    pub join: Join,
    /// How far it may be from now, in seconds either way. Keep it far below a year: see [`Join`].
    pub tolerance_secs: u64,
}

/// What is signed: time and body with fixed text around them, such as `{timestamp}.{body}`.
///
/// Without text between the two, `12` and `3…` sign like `1` and `23…`. Moving a digit makes a time ten times smaller or larger,
/// which no tolerance below a year takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    before: String,
    between: String,
    after: String,
    is_body_first: bool,
}

/// Why a text isn't a [`Join`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "what is signed must hold `{{timestamp}}` and `{{body}}` once each, and no other braces, such as `{{timestamp}}.{{body}}`"
)]
pub struct BadJoin;

const TIME_SLOT: &str = "{timestamp}";
const BODY_SLOT: &str = "{body}";

impl Join {
    /// From a text with `{timestamp}` and `{body}` in it, once each.
    pub fn parse(template: &str) -> Result<Self, BadJoin> {
        let time_at = template.find(TIME_SLOT).ok_or(BadJoin)?;
        let body_at = template.find(BODY_SLOT).ok_or(BadJoin)?;
        let is_body_first = body_at < time_at;
        let (first, second) = if is_body_first { (BODY_SLOT, TIME_SLOT) } else { (TIME_SLOT, BODY_SLOT) };
        let (before, rest) = template.split_once(first).ok_or(BadJoin)?;
        let (between, after) = rest.split_once(second).ok_or(BadJoin)?;
        if [before, between, after].iter().any(|text| text.contains(['{', '}'])) {
            return Err(BadJoin);
        }
        Ok(Self { before: before.into(), between: between.into(), after: after.into(), is_body_first })
    }

    fn parts<'p>(&'p self, timestamp: &'p str, body: &'p [u8]) -> [&'p [u8]; 5] {
        let time = timestamp.as_bytes();
        let (first, second) = if self.is_body_first { (body, time) } else { (time, body) };
        [self.before.as_bytes(), first, self.between.as_bytes(), second, self.after.as_bytes()]
    }
}

impl Hash {
    const fn bytes(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

impl Hmac {
    pub(super) fn check(
        &self,
        secrets: &[Held],
        headers: &Headers<'_>,
        body: &[u8],
        now_secs: i64,
    ) -> Result<(), Refusal> {
        let text = headers.one(&self.header)?;
        let signature = text
            .strip_prefix(&*self.prefix)
            .and_then(|signature| decode(self.encoding, self.hash, signature))
            .ok_or_else(|| Refusal::malformed(&self.header, self.form()))?;
        let signatures = [signature];
        let is_signed = match &self.timestamp {
            None => fits(self.hash, secrets, &[body], &signatures),
            Some(time) => {
                let timestamp = headers.one(&time.header)?;
                in_time(&time.header, timestamp, now_secs, time.tolerance_secs)?;
                fits(self.hash, secrets, &time.join.parts(timestamp, body), &signatures)
            }
        };
        if is_signed { Ok(()) } else { Err(Refusal::Unsigned) }
    }

    fn form(&self) -> String {
        let bytes = self.hash.bytes();
        let written = match self.encoding {
            Encoding::Hex => format!("{} hex digits", 2 * bytes),
            Encoding::Base64 => format!("the base64 of {bytes} bytes"),
        };
        if self.prefix.is_empty() { written } else { format!("`{}` and {written}", self.prefix) }
    }
}

/// The bytes of a signature; `None` when it isn't written like one, or isn't as long as one: a shorter one is never compared.
pub(super) fn decode(encoding: Encoding, hash: Hash, text: &str) -> Option<Vec<u8>> {
    let decoded = match encoding {
        Encoding::Hex => hex::decode(text).ok(),
        Encoding::Base64 => STANDARD.decode(text).ok(),
    };
    decoded.filter(|signature| signature.len() == hash.bytes())
}

/// Whether any of the signatures is what any of the secrets makes of the parts, one after another.
pub(super) fn fits(hash: Hash, secrets: &[Held], parts: &[&[u8]], signatures: &[Vec<u8>]) -> bool {
    let mut keys = secrets.iter().filter_map(Held::as_text);
    match hash {
        Hash::Sha256 => keys.any(|key| fits_key::<Sha256>(key, parts, signatures)),
        Hash::Sha512 => keys.any(|key| fits_key::<Sha512>(key, parts, signatures)),
    }
}

fn fits_key<D: EagerHash>(key: &[u8], parts: &[&[u8]], signatures: &[Vec<u8>]) -> bool
where
    hmac::Hmac<D>: Clone,
{
    // HMAC takes keys of every length.
    let Ok(mut mac) = hmac::Hmac::<D>::new_from_slice(key) else { return false };
    for part in parts {
        mac.update(part);
    }
    signatures.iter().any(|signature| mac.clone().verify_slice(signature).is_ok())
}

#[cfg(test)]
mod tests;
