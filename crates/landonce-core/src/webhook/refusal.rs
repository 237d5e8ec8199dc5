//! Why a request isn't taken, and the checks of time that all schemes share.

use thiserror::Error;

/// Why a request isn't taken. Names headers and says what they must be; it shows neither a secret, nor a signature or token that
/// came, nor what the right one would be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A header that the scheme needs isn't there.
    #[error("the header `{0}` is missing")]
    Missing(String),
    /// A header is there more than once.
    #[error("the header `{0}` is there more than once; it must be there once")]
    Repeated(String),
    /// A header isn't what the scheme says.
    #[error("the header `{header}` must be {form}")]
    Malformed {
        /// Its name, as declared.
        header: String,
        /// What it must be.
        form: String,
    },
    /// Only GitHub's old signature is there.
    #[error(
        "there is only the header `X-Hub-Signature`, whose SHA-1 isn't taken; GitHub sends `X-Hub-Signature-256` beside it, so look \
         for what drops it on the way"
    )]
    OnlySha1,
    /// The id is empty, or holds a full stop: with that, two messages could share a signature. Names the header.
    #[error("the header `{0}` is empty or contains a full stop")]
    Id(String),
    /// The timestamp isn't a whole number of seconds in plain digits. Names the header.
    #[error("the time in the header `{0}` must be Unix seconds in plain digits")]
    Timestamp(String),
    /// The message is too old: it may be a replay.
    #[error("the message was signed {0} s ago, longer than is allowed; is a clock wrong?")]
    TooOld(u64),
    /// The message comes from the future.
    #[error("the message was signed {0} s in the future, further than is allowed; is a clock wrong?")]
    TooNew(u64),
    /// No signature is of a version that is known here. Names the header.
    #[error("the header `{0}` has no signature of version `v1`")]
    NoKnownVersion(String),
    /// No signature fits any secret.
    #[error("no signature fits: the secret is another one, or the body isn't what was signed")]
    Unsigned,
    /// The token is none of those that are held.
    #[error("the token is none of those that are taken here")]
    UnknownToken,
}

impl Refusal {
    pub(super) fn malformed(header: &str, form: impl Into<String>) -> Self {
        Self::Malformed { header: header.to_owned(), form: form.into() }
    }
}

/// Whether the timestamp of that header is no further from now than the tolerance, to the second.
pub(super) fn in_time(
    header: &str,
    timestamp: &str,
    now_secs: i64,
    tolerance_secs: u64,
) -> Result<(), Refusal> {
    let signed_at = seconds(timestamp).ok_or_else(|| Refusal::Timestamp(header.to_owned()))?;
    let apart = signed_at.abs_diff(now_secs);
    if apart <= tolerance_secs {
        Ok(())
    } else if signed_at < now_secs {
        Err(Refusal::TooOld(apart))
    } else {
        Err(Refusal::TooNew(apart))
    }
}

/// Plain digits only: what is signed is the text, so that there must be one text per number.
fn seconds(text: &str) -> Option<i64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if is_plain { text.parse().ok() } else { None }
}
