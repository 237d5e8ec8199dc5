//! Signatures of webhooks are those of the standard's own library, either way.

use landonce_core::webhook::{ID, SIGNATURE, Secret, TIMESTAMP, sign, verify};
use proptest::prelude::*;
use standardwebhooks::Webhook;

const SECRETS: [&str; 2] = [
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazmT7GxvyEWsY0vb6iPWk7EPDbtwdyhZpnPXiDm4fSXhVDmDs9uFsQ==",
];

/// The official library reads the clock itself, so the test must, too.
#[expect(clippy::disallowed_methods, reason = "the other side's clock")]
fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs().cast_signed()
}

fn headers(id: &str, at: i64, signatures: &str) -> http::HeaderMap {
    [(ID, id), (TIMESTAMP, &at.to_string()), (SIGNATURE, signatures)]
        .into_iter()
        .map(|(name, value)| (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap()))
        .collect()
}

proptest! {
    #[test]
    fn what_is_signed_here_is_taken_by_the_official_library_and_the_other_way_round(
        body in "(?s).{0,300}",
        id in "[A-Za-z0-9_-]{1,40}",
        which in 0..2_usize,
    ) {
        let at = now();
        let ours = SECRETS.map(|text| Secret::parse(text).unwrap());
        let theirs = Webhook::new(SECRETS[which]).unwrap();
        // Both secrets sign, as while one replaces the other.
        let signed = sign(&ours, &id, at, body.as_bytes());
        prop_assert!(theirs.verify(body.as_bytes(), &headers(&id, at, &signed)).is_ok());
        let signed = theirs.sign(&id, at, body.as_bytes()).unwrap();
        let verified = verify(&ours, &id, &at.to_string(), &signed, body.as_bytes(), at, 0);
        prop_assert_eq!(verified, Ok(()));
        let other = &ours[1 - which..2 - which];
        prop_assert!(verify(other, &id, &at.to_string(), &signed, body.as_bytes(), at, 0).is_err());
    }
}
