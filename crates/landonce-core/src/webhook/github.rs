//! GitHub: `X-Hub-Signature-256: sha256=<hex>`, the HMAC-SHA256 of the body; no time is signed.
//!
//! <https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries>: the secret's text is the key, the digest is
//! hex and begins with `sha256=`. `X-Hub-Signature`, with SHA-1, is there for old receivers only and isn't taken here. The body
//! is what arrived, also when the webhook's content type is `application/x-www-form-urlencoded`.

use std::borrow::Cow;

use super::hmac::{Encoding, Hash, Hmac};
use super::{Headers, Held, Refusal};

/// The header of the event's id, a GUID that stays when somebody asks for a redelivery
/// (<https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers>). It isn't signed.
pub const ID: &str = "X-GitHub-Delivery";
/// The header of the signature.
pub const SIGNATURE: &str = "X-Hub-Signature-256";

const SHA1: &str = "X-Hub-Signature";

const RECIPE: Hmac = Hmac {
    header: Cow::Borrowed(SIGNATURE),
    hash: Hash::Sha256,
    encoding: Encoding::Hex,
    prefix: Cow::Borrowed("sha256="),
    timestamp: None,
};

pub(super) fn check(secrets: &[Held], headers: &Headers<'_>, body: &[u8]) -> Result<(), Refusal> {
    if !headers.has(SIGNATURE) && headers.has(SHA1) {
        return Err(Refusal::OnlySha1);
    }
    RECIPE.check(secrets, headers, body, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::Scheme;

    const PUBLISHED: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn check(secrets: &[&str], headers: &[(&str, &str)]) -> Result<(), Refusal> {
        let held: Vec<_> = secrets.iter().map(|text| Scheme::GitHub.secret(text).unwrap()).collect();
        Scheme::GitHub.verify(&held, &headers.iter().copied().collect(), b"Hello, World!", 0)
    }

    #[test]
    fn the_published_vector_is_taken_whatever_the_case_of_the_header() {
        for name in ["X-Hub-Signature-256", "x-hub-signature-256"] {
            assert_eq!(check(&["It's a Secret to Everybody"], &[(name, PUBLISHED)]), Ok(()));
        }
        let rotated = ["another", "It's a Secret to Everybody"];
        assert_eq!(check(&rotated, &[(SIGNATURE, PUBLISHED)]), Ok(()));
        assert_eq!(check(&rotated[..1], &[(SIGNATURE, PUBLISHED)]), Err(Refusal::Unsigned));
        assert_eq!(check(&[], &[(SIGNATURE, PUBLISHED)]), Err(Refusal::Unsigned));
    }

    #[test]
    fn sha1_is_refused_by_either_header() {
        // The HMAC-SHA1 of the published secret and body.
        let sha1 = "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59";
        assert_eq!(
            check(&["It's a Secret to Everybody"], &[("X-Hub-Signature", sha1)]),
            Err(Refusal::OnlySha1)
        );
        let form = "`sha256=` and 64 hex digits";
        for text in
            [sha1, "", "sha256=", "757107ea", &PUBLISHED[7..], &PUBLISHED[..70], &format!("{PUBLISHED}00")]
        {
            let refused = check(&["It's a Secret to Everybody"], &[(SIGNATURE, text)]);
            assert_eq!(refused, Err(Refusal::malformed(SIGNATURE, form)), "{text:?}");
        }
        assert_eq!(check(&["x"], &[]), Err(Refusal::Missing(SIGNATURE.to_owned())));
        let both = [("X-Hub-Signature", sha1), (SIGNATURE, PUBLISHED)];
        assert_eq!(check(&["It's a Secret to Everybody"], &both), Ok(()), "what GitHub sends");
    }

    #[test]
    fn two_signature_headers_are_refused_even_when_one_fits() {
        let twice = [(SIGNATURE, PUBLISHED), ("x-hub-signature-256", PUBLISHED)];
        assert_eq!(
            check(&["It's a Secret to Everybody"], &twice),
            Err(Refusal::Repeated(SIGNATURE.to_owned()))
        );
        let spaced = format!(" {PUBLISHED}\t");
        assert_eq!(check(&["It's a Secret to Everybody"], &[(SIGNATURE, &spaced)]), Ok(()));
        let inside = PUBLISHED.replace('=', "= ");
        assert!(check(&["It's a Secret to Everybody"], &[(SIGNATURE, &inside)]).is_err());
    }
}
