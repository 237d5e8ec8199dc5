//! Signatures of webhooks: made for what is sent, checked on what arrives.
//!
//! A [`Scheme`] says how a sender shows that a request is its own; one file each:
//!
//! - [`standard`]: Standard Webhooks, which is also what landonce signs with ([`sign`]);
//! - [`github`], [`stripe`], [`shopify`]: as those document it;
//! - [`hmac`]: any other HMAC of the body, declared;
//! - [`bearer`]: a token, which signs nothing.
//!
//! [`Scheme::secret`] reads a secret, [`Scheme::verify`] checks a request, and [`IdFrom`] says where the event's id is. Clocks and
//! connections are the caller's: what is checked is the body as it arrived, byte for byte, before anything reads it.

pub mod bearer;
mod event_id;
pub mod github;
mod headers;
pub mod hmac;
mod refusal;
mod secret;
pub mod shopify;
pub mod standard;
pub mod stripe;

pub use event_id::{IdFrom, LONGEST_ID, NoId};
pub use headers::Headers;
pub use hmac::Hmac;
pub use refusal::Refusal;
pub use secret::{BadSecret, Held};
pub use standard::{ID, SIGNATURE, Secret, TIMESTAMP, sign, verify};

/// How far a timestamp may be from now, in seconds either way, unless somebody says otherwise: what the official libraries of
/// Standard Webhooks and of Stripe take.
pub const TOLERANCE_SECS: u64 = 300;

/// How a sender shows that a request comes from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// [`standard`]: id, time and body are signed.
    Standard {
        /// How far the time may be from now, in seconds either way.
        tolerance_secs: u64,
    },
    /// [`github`]: the body is signed; there is no time.
    GitHub,
    /// [`stripe`]: time and body are signed.
    Stripe {
        /// How far the time may be from now, in seconds either way.
        tolerance_secs: u64,
    },
    /// [`shopify`]: the body is signed; there is no time.
    Shopify,
    /// [`hmac`]: as declared.
    Hmac(Hmac),
    /// [`bearer`]: a token; nothing is signed.
    Bearer,
}

impl Scheme {
    /// Reads a secret in the form in which this scheme's sender shows it: `whsec_` and base64 for Standard Webhooks, the token or
    /// `sha256:` and the hex of its hash for a bearer token, the text itself for all others (Stripe's with its `whsec_`).
    pub fn secret(&self, text: &str) -> Result<Held, BadSecret> {
        match self {
            Self::Standard { .. } => Secret::parse(text).map(Held::standard),
            Self::GitHub | Self::Stripe { .. } | Self::Shopify | Self::Hmac(_) => Held::text(text),
            Self::Bearer => bearer::held(text),
        }
    }

    /// Whether a request was made with one of the secrets, and not further from `now_secs` (Unix seconds) than the tolerance,
    /// where the scheme knows a time.
    ///
    /// Any of the secrets will do, so that one can be replaced; secrets of another scheme fit nothing. A header that the scheme
    /// needs must be there once. Signatures and tokens are compared in the same time wherever they differ.
    pub fn verify(
        &self,
        secrets: &[Held],
        headers: &Headers<'_>,
        body: &[u8],
        now_secs: i64,
    ) -> Result<(), Refusal> {
        match self {
            Self::Standard { tolerance_secs } => {
                standard::check(secrets, headers, body, now_secs, *tolerance_secs)
            }
            Self::GitHub => github::check(secrets, headers, body),
            Self::Stripe { tolerance_secs } => {
                stripe::check(secrets, headers, body, now_secs, *tolerance_secs)
            }
            Self::Shopify => shopify::RECIPE.check(secrets, headers, body, now_secs),
            Self::Hmac(recipe) => recipe.check(secrets, headers, body, now_secs),
            Self::Bearer => bearer::check(secrets, headers),
        }
    }

    /// Where this sender puts the event's id; `None` where it must be declared.
    pub fn event_id(&self) -> Option<IdFrom> {
        match self {
            Self::Standard { .. } => Some(IdFrom::Standard),
            Self::GitHub => Some(IdFrom::Header(github::ID.to_owned())),
            Self::Stripe { .. } => Some(IdFrom::Field(stripe::ID.to_owned())),
            Self::Shopify => Some(IdFrom::Header(shopify::ID.to_owned())),
            Self::Hmac(_) | Self::Bearer => None,
        }
    }

    /// Whether the signature covers that id. Where it doesn't (GitHub, Shopify), whoever has got hold of one signed request can
    /// send its body again under another id: the id tells a sender's repeats apart, it doesn't stop a thief.
    pub fn signs(&self, id: &IdFrom) -> bool {
        match (self, id) {
            (Self::Bearer, _) => false,
            (_, IdFrom::Field(_)) => true,
            (Self::Standard { .. }, IdFrom::Standard) => true,
            (_, IdFrom::Standard | IdFrom::Header(_)) => false,
        }
    }
}
