//! Whoever sends: what isn't the signed request to the last byte is refused, and a refusal shows nothing of it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac as Mac, KeyInit as _, Mac as _};
use landonce_core::webhook::hmac::{Encoding, Hash, Join, Timestamp};
use landonce_core::webhook::{Headers, Held, Hmac, Scheme, Secret, TOLERANCE_SECS, sign};
use proptest::prelude::*;
use proptest::sample::Index;
use sha2::{Sha256, Sha512};

const STANDARD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SECRET: &str = "a long and secret text";
const AT: i64 = 1_700_000_000;
const BODY: &[u8] = b"{}";
const SENDERS: usize = 6;
/// Those of them that write hex.
const HEX: [usize; 3] = [1, 2, 4];

fn mac(parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Mac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

fn mac_512(parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Mac::<Sha512>::new_from_slice(SECRET.as_bytes()).unwrap();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

fn declared(hash: Hash, encoding: Encoding, prefix: &'static str) -> Scheme {
    let join = Join::parse("v0:{timestamp}:{body}").unwrap();
    let timestamp = Some(Timestamp { header: "X-Time".into(), join, tolerance_secs: TOLERANCE_SECS });
    Scheme::Hmac(Hmac { header: "X-Signature".into(), hash, encoding, prefix: prefix.into(), timestamp })
}

/// A request that is signed by one of the senders, as each documents it: all of its headers count.
fn signed(sender: usize, id: &str, body: &[u8]) -> (Scheme, Vec<(&'static str, String)>) {
    let at = AT.to_string();
    let timed = [b"v0:", at.as_bytes(), b":", body];
    match sender {
        0 => {
            let secret = Secret::parse(STANDARD_SECRET).unwrap();
            let signature = sign(&[secret], id, AT, body);
            let headers = vec![
                ("webhook-id", id.to_owned()),
                ("webhook-timestamp", at),
                ("webhook-signature", signature),
            ];
            (Scheme::Standard { tolerance_secs: TOLERANCE_SECS }, headers)
        }
        1 => (Scheme::GitHub, vec![("X-Hub-Signature-256", format!("sha256={}", hex::encode(mac(&[body]))))]),
        2 => {
            let signature = hex::encode(mac(&[at.as_bytes(), b".", body]));
            let scheme = Scheme::Stripe { tolerance_secs: TOLERANCE_SECS };
            (scheme, vec![("Stripe-Signature", format!("t={at},v1={signature}"))])
        }
        3 => (Scheme::Shopify, vec![("X-Shopify-Hmac-Sha256", STANDARD.encode(mac(&[body])))]),
        4 => {
            let signature = format!("v0={}", hex::encode(mac(&timed)));
            (declared(Hash::Sha256, Encoding::Hex, "v0="), vec![("X-Time", at), ("X-Signature", signature)])
        }
        _ => {
            let signature = STANDARD.encode(mac_512(&timed));
            (declared(Hash::Sha512, Encoding::Base64, ""), vec![("X-Time", at), ("X-Signature", signature)])
        }
    }
}

fn held(scheme: &Scheme) -> Held {
    let text = if matches!(scheme, Scheme::Standard { .. }) { STANDARD_SECRET } else { SECRET };
    scheme.secret(text).unwrap()
}

fn view<'h>(headers: &'h [(&'static str, Vec<u8>)]) -> Headers<'h> {
    headers.iter().map(|(name, value)| (*name, value)).collect()
}

proptest! {
    #[test]
    fn whatever_byte_of_body_id_time_or_signature_is_another_the_request_is_refused(
        sender in 0..SENDERS,
        id in "[A-Za-z0-9_-]{1,40}",
        body in prop::collection::vec(any::<u8>(), 1..200),
        at in any::<Index>(),
        mask in 1..=u8::MAX,
    ) {
        let (scheme, headers) = signed(sender, &id, &body);
        let secrets = [held(&scheme)];
        let good: Vec<_> = headers.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
        prop_assert_eq!(scheme.verify(&secrets, &view(&good), &body, AT), Ok(()));

        let mut other = body.clone();
        let place = at.index(other.len());
        other[place] ^= mask;
        prop_assert!(scheme.verify(&secrets, &view(&good), &other, AT).is_err(), "body {place}");

        for which in 0..good.len() {
            let mut bad = good.clone();
            let value = &mut bad[which].1;
            let place = at.index(value.len());
            // A hex digit in its other case is the same signature.
            let is_hex = HEX.contains(&sender) && value[..place].contains(&b'=') && !value[place..].contains(&b'=');
            let was = value[place];
            value[place] ^= mask;
            if is_hex && was.eq_ignore_ascii_case(&value[place]) {
                continue;
            }
            let refused = scheme.verify(&secrets, &view(&bad), &body, AT);
            prop_assert!(refused.is_err(), "{} {place}", bad[which].0);
        }
    }

    #[test]
    fn a_body_that_is_cut_or_goes_on_is_refused(
        sender in 0..SENDERS,
        body in prop::collection::vec(any::<u8>(), 1..200),
        more in prop::collection::vec(any::<u8>(), 1..20),
        at in any::<Index>(),
    ) {
        let (scheme, headers) = signed(sender, "msg_1", &body);
        let headers: Headers<'_> = headers.iter().map(|(name, value)| (*name, value)).collect();
        let secrets = [held(&scheme)];
        for other in [&body[..at.index(body.len())], &[&body[..], &more].concat(), &[&more[..], &body].concat()] {
            prop_assert!(scheme.verify(&secrets, &headers, other, AT).is_err());
        }
    }

    #[test]
    fn only_the_tolerance_and_the_secrets_that_are_held_decide_about_a_good_request(
        sender in 0..SENDERS,
        others in prop::collection::vec("[a-z]{16,100}", 0..4),
        at in any::<Index>(),
        away in -900_i64..900,
    ) {
        let (scheme, headers) = signed(sender, "msg_1", BODY);
        let headers: Headers<'_> = headers.iter().map(|(name, value)| (*name, value)).collect();
        // Secrets of other schemes stand for others of this one where the text must have a form.
        let mut secrets: Vec<_> = others.iter().map(|text| Scheme::GitHub.secret(text).unwrap()).collect();
        prop_assert!(scheme.verify(&secrets, &headers, BODY, AT).is_err());
        secrets.insert(at.index(secrets.len() + 1), held(&scheme));
        let is_timeless = matches!(scheme, Scheme::GitHub | Scheme::Shopify);
        let is_taken = scheme.verify(&secrets, &headers, BODY, AT + away).is_ok();
        prop_assert_eq!(is_taken, is_timeless || away.unsigned_abs() <= TOLERANCE_SECS);
    }

    #[test]
    fn no_header_makes_it_panic_or_shows_itself_in_the_refusal(
        sender in 0..=SENDERS,
        value in prop_oneof!["[ -~]{8,60}", "(t=|v1,|v1=|sha256=|Bearer |,|=| |[0-9a-f]{2}){1,20}Zq7Zq7Zq7"],
    ) {
        let scheme = if sender == SENDERS { Scheme::Bearer } else { signed(sender, "msg_1", BODY).0 };
        let names = [
            "webhook-id", "webhook-timestamp", "webhook-signature", "X-Hub-Signature-256", "Stripe-Signature",
            "X-Shopify-Hmac-Sha256", "X-Time", "X-Signature", "Authorization",
        ];
        let headers: Headers<'_> = names.iter().map(|name| (*name, &value)).collect();
        let secrets = [Scheme::GitHub.secret(SECRET).unwrap()];
        let refused = scheme.verify(&secrets, &headers, BODY, AT).unwrap_err();
        let shown = format!("{refused} {refused:?}");
        prop_assert!(!shown.contains("Zq7") && !shown.contains(SECRET) && !shown.contains(&value), "{shown}");
    }
}
