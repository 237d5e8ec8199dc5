//! Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>`, the HMAC-SHA256 of `t.body`.
//!
//! <https://docs.stripe.com/webhooks#verify-manually>: the header is a list of `name=value` with commas between them; `t` is the
//! time, each `v1` a signature, and everything else is passed over (`v0` is for test events). While a secret is rolled there is a `v1`
//! per secret. The key is the endpoint's secret as text, `whsec_` and all, unlike with Standard Webhooks. Stripe's libraries take
//! 300 seconds of tolerance.

use super::hmac::{Encoding, Hash, decode, fits};
use super::refusal::in_time;
use super::{Headers, Held, Refusal};

/// The body's field of the event's id, `evt_…`: the same on every attempt
/// (<https://docs.stripe.com/webhooks#handle-duplicate-events>). It is signed with the body.
pub const ID: &str = "id";
/// The header of time and signatures.
pub const SIGNATURE: &str = "Stripe-Signature";

const FORM: &str = "`t=<seconds>,v1=<64 hex digits>`, with one `t` and no spaces";

pub(super) fn check(
    secrets: &[Held],
    headers: &Headers<'_>,
    body: &[u8],
    now_secs: i64,
    tolerance_secs: u64,
) -> Result<(), Refusal> {
    let malformed = || Refusal::malformed(SIGNATURE, FORM);
    let mut timestamp = None;
    let mut signatures = Vec::new();
    for item in headers.one(SIGNATURE)?.split(',') {
        match item.split_once('=').ok_or_else(malformed)? {
            // With two times, it would be open which one is signed.
            ("t", _) if timestamp.is_some() => return Err(malformed()),
            ("t", value) => timestamp = Some(value),
            ("v1", value) => {
                signatures.push(decode(Encoding::Hex, Hash::Sha256, value).ok_or_else(malformed)?);
            }
            _ => {}
        }
    }
    let timestamp = timestamp.ok_or_else(malformed)?;
    in_time(SIGNATURE, timestamp, now_secs, tolerance_secs)?;
    if signatures.is_empty() {
        return Err(Refusal::NoKnownVersion(SIGNATURE.to_owned()));
    }
    let parts = [timestamp.as_bytes(), b".", body];
    if fits(Hash::Sha256, secrets, &parts, &signatures) { Ok(()) } else { Err(Refusal::Unsigned) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::{Scheme, TOLERANCE_SECS};

    const AT: i64 = 1_700_000_000;
    // printf '1700000000.{"id":"evt_1"}' | openssl dgst -sha256 -hmac 'whsec_test_secret'
    const COMPUTED: &str = "248a374f50f943a28b0f6ab50faf9a7e7e29b710fa26df9fb1618b9bf8ea9c9a";
    const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

    fn check_at(secrets: &[&str], header: &str, now_secs: i64) -> Result<(), Refusal> {
        let scheme = Scheme::Stripe { tolerance_secs: TOLERANCE_SECS };
        let held: Vec<_> = secrets.iter().map(|text| scheme.secret(text).unwrap()).collect();
        scheme.verify(
            &held,
            &[("stripe-signature", header)].into_iter().collect(),
            br#"{"id":"evt_1"}"#,
            now_secs,
        )
    }

    fn check(header: &str) -> Result<(), Refusal> {
        check_at(&["whsec_test_secret"], header, AT)
    }

    #[test]
    fn what_openssl_signs_is_taken_in_any_order_and_by_any_secret() {
        for header in [
            format!("t={AT},v1={COMPUTED}"),
            format!("t={AT},v1={ZEROS},v1={COMPUTED},v0=x"),
            format!("v1={COMPUTED},v2=,t={AT}"),
        ] {
            assert_eq!(check(&header), Ok(()), "{header}");
            assert_eq!(check_at(&["whsec_new", "whsec_test_secret"], &header, AT), Ok(()));
            assert_eq!(check_at(&["whsec_new"], &header, AT), Err(Refusal::Unsigned));
        }
    }

    #[test]
    fn a_test_events_version_is_no_signature() {
        let refused = check(&format!("t={AT},v0={COMPUTED},V1={COMPUTED}"));
        assert_eq!(refused, Err(Refusal::NoKnownVersion(SIGNATURE.to_owned())));
    }

    #[test]
    fn the_tolerance_holds_both_ways_to_the_second() {
        let header = format!("t={AT},v1={COMPUTED}");
        let at = |now| check_at(&["whsec_test_secret"], &header, now);
        assert_eq!((at(AT + 300), at(AT - 300)), (Ok(()), Ok(())));
        assert_eq!(at(AT + 301), Err(Refusal::TooOld(301)));
        assert_eq!(at(AT - 301), Err(Refusal::TooNew(301)));
        assert!(matches!(at(i64::MIN), Err(Refusal::TooNew(_))));
    }

    #[test]
    fn a_malformed_list_is_refused_though_one_signature_fits() {
        let good = format!("t={AT},v1={COMPUTED}");
        for header in [
            String::new(),
            format!("v1={COMPUTED}"),
            format!("{good},t={AT}"),
            format!("{good},"),
            format!("{good},v1"),
            format!("{good},v1="),
            format!("{good},v1={}", &COMPUTED[..62]),
            format!("{good},v1=0x"),
        ] {
            assert_eq!(check(&header), Err(Refusal::malformed(SIGNATURE, FORM)), "{header}");
        }
        for header in
            [format!("t=0{AT},v1={COMPUTED}"), format!("t=,v1={COMPUTED}"), format!("t=+{AT},v1={COMPUTED}")]
        {
            assert_eq!(check(&header), Err(Refusal::Timestamp(SIGNATURE.to_owned())), "{header}");
        }
        assert!(check(&good.replace(',', ", ")).is_err(), "an item has no spaces");
    }
}
