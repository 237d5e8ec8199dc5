//! Shopify: `X-Shopify-Hmac-Sha256`, the base64 of the HMAC-SHA256 of the body; no time is signed.
//!
//! <https://shopify.dev/docs/apps/build/webhooks/verify-deliveries>: the key is the app's client secret as text, the body is what
//! arrived. While a client secret is replaced, hold both.

use std::borrow::Cow;

use super::hmac::{Encoding, Hash, Hmac};

/// The header of the webhook's id: what Shopify says to recognise a repeated delivery by
/// (<https://shopify.dev/docs/apps/build/webhooks/verify-deliveries>). It isn't signed.
///
/// [`EVENT_ID`], which an older page recommends (<https://shopify.dev/docs/apps/build/webhooks/ignore-duplicates>), isn't the
/// preset: it names what happened in the shop, and one such event makes several webhooks, by topic and by subscription. Known by
/// it, another topic's webhook would pass for a repeat and be lost. Known by this one, two subscriptions to one topic at worst
/// make two rows that can be seen.
pub const ID: &str = "X-Shopify-Webhook-Id";
/// The header of the id of what happened in the shop. To be declared at an endpoint that takes one topic by several subscriptions.
pub const EVENT_ID: &str = "X-Shopify-Event-Id";
/// The header of the signature.
pub const SIGNATURE: &str = "X-Shopify-Hmac-Sha256";

pub(super) const RECIPE: Hmac = Hmac {
    header: Cow::Borrowed(SIGNATURE),
    hash: Hash::Sha256,
    encoding: Encoding::Base64,
    prefix: Cow::Borrowed(""),
    timestamp: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::{Refusal, Scheme};

    // printf '{"id":820982911946154508}' | openssl dgst -sha256 -hmac 'hush' -binary | base64
    const COMPUTED: &str = "qBvrsZF7RfB1iS6BX6IHqJTp5L911P7intnPeTPsH0I=";

    fn check(secrets: &[&str], signature: &str) -> Result<(), Refusal> {
        let held: Vec<_> = secrets.iter().map(|text| Scheme::Shopify.secret(text).unwrap()).collect();
        let headers = [("X-Shopify-Hmac-SHA256", signature)].into_iter().collect();
        Scheme::Shopify.verify(&held, &headers, br#"{"id":820982911946154508}"#, 0)
    }

    #[test]
    fn what_openssl_signs_is_taken_by_any_secret_that_is_held() {
        assert_eq!(check(&["hush"], COMPUTED), Ok(()));
        assert_eq!(check(&["new", "hush"], COMPUTED), Ok(()));
        assert_eq!(check(&["new"], COMPUTED), Err(Refusal::Unsigned));
    }

    #[test]
    fn a_signature_is_padded_base64_of_the_whole_length() {
        let form = "the base64 of 32 bytes";
        let hex = "00".repeat(32);
        for text in ["", "*", "AAAA", COMPUTED.trim_end_matches('='), &hex, &format!("{COMPUTED},{COMPUTED}")]
        {
            assert_eq!(check(&["hush"], text), Err(Refusal::malformed(SIGNATURE, form)), "{text:?}");
        }
    }
}
