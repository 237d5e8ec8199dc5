//! Declared HMACs: published vectors, prefixes, joins with a time.

use super::*;
use crate::webhook::Scheme;

fn plain(hash: Hash, encoding: Encoding) -> Hmac {
    Hmac { header: "X-Signature".into(), hash, encoding, prefix: "".into(), timestamp: None }
}

fn timed(join: &str) -> Hmac {
    let join = Join::parse(join).unwrap();
    Hmac {
        prefix: "v0=".into(),
        timestamp: Some(Timestamp { header: "X-Time".into(), join, tolerance_secs: 300 }),
        ..plain(Hash::Sha256, Encoding::Hex)
    }
}

fn check(
    recipe: &Hmac,
    secret: &str,
    pairs: &[(&str, &str)],
    body: &[u8],
    now_secs: i64,
) -> Result<(), Refusal> {
    let scheme = Scheme::Hmac(recipe.clone());
    scheme.verify(&[scheme.secret(secret).unwrap()], &pairs.iter().copied().collect(), body, now_secs)
}

#[test]
fn the_vectors_of_rfc_4231_are_taken_in_hex_of_either_case_and_in_base64() {
    let body = b"what do ya want for nothing?";
    for (hash, hex) in [
        (Hash::Sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            Hash::Sha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
             caeab1a34d4a6b4b636e070a38bce737",
        ),
    ] {
        let base64 = STANDARD.encode(hex::decode(hex).unwrap());
        let upper = hex.to_uppercase();
        for (encoding, text) in [(Encoding::Hex, hex), (Encoding::Hex, &upper), (Encoding::Base64, &base64)] {
            let recipe = plain(hash, encoding);
            assert_eq!(check(&recipe, "Jefe", &[("x-signature", text)], body, 0), Ok(()), "{text}");
            assert_eq!(check(&recipe, "Jeff", &[("x-signature", text)], body, 0), Err(Refusal::Unsigned));
        }
    }
}

#[test]
fn slacks_published_vector_is_taken_within_its_time() {
    // https://docs.slack.dev/authentication/verifying-requests-from-slack
    let body =
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3\
        V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text\
        =&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfm\
        ibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let recipe = timed("v0:{timestamp}:{body}");
    let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
    let secret = "8f742231b10e8888abcd99yyyzzz85a5";
    let at =
        |time: &str, now| check(&recipe, secret, &[("x-time", time), ("x-signature", signature)], body, now);
    for now in [1_531_420_318, 1_531_420_618, 1_531_420_918] {
        assert_eq!(at("1531420618", now), Ok(()));
    }
    assert_eq!(at("1531420618", 1_531_420_919), Err(Refusal::TooOld(301)));
    assert_eq!(at("1531420618", 1_531_420_317), Err(Refusal::TooNew(301)));
    assert_eq!(at("1531420619", 1_531_420_618), Err(Refusal::Unsigned));
    assert_eq!(at("01531420618", 1_531_420_618), Err(Refusal::Timestamp("X-Time".to_owned())));
    let without = check(&recipe, secret, &[("x-signature", signature)], body, 1_531_420_618);
    assert_eq!(without, Err(Refusal::Missing("X-Time".to_owned())));
}

#[test]
fn a_signature_is_as_long_as_its_hash_and_has_its_prefix() {
    let recipe = Hmac { prefix: "sha512=".into(), ..plain(Hash::Sha512, Encoding::Hex) };
    let form = "`sha512=` and 128 hex digits";
    let short = format!("sha512={}", "0".repeat(64));
    for text in [short.as_str(), "sha512=", "", &"0".repeat(128), &format!("SHA512={}", "0".repeat(128))] {
        let refused = check(&recipe, "Jefe", &[("X-Signature", text)], b"", 0);
        assert_eq!(refused, Err(Refusal::malformed("X-Signature", form)), "{text}");
    }
}

#[test]
fn a_join_holds_each_slot_once_in_any_order() {
    let parts = |template: &str| Join::parse(template).map(|join| join.parts("12", b"b").concat());
    assert_eq!(parts("{timestamp}.{body}").unwrap(), b"12.b");
    assert_eq!(parts("<{body}|{timestamp}>").unwrap(), b"<b|12>");
    assert_eq!(parts("{timestamp}{body}").unwrap(), b"12b");
    for template in [
        "",
        "{body}",
        "{timestamp}",
        "{timestamp}{body}{body}",
        "{id}.{timestamp}.{body}",
        "{{timestamp}}{body}",
    ] {
        assert_eq!(parts(template), Err(BadJoin), "{template}");
    }
}

#[test]
fn a_digit_that_moves_between_time_and_body_is_out_of_time() {
    let recipe = timed("{timestamp}{body}");
    let key = [Held::text("Jefe").unwrap()];
    let mut mac = hmac::Hmac::<Sha256>::new_from_slice(b"Jefe").unwrap();
    mac.update(b"16142653305{}");
    let signature = hex::encode(mac.finalize().into_bytes());
    let bytes = vec![hex::decode(&signature).unwrap()];
    assert!(fits(Hash::Sha256, &key, &[b"16142653305", b"{}"], &bytes), "that is why");
    let header = format!("v0={signature}");
    let at = |time, body| {
        check(&recipe, "Jefe", &[("X-Time", time), ("X-Signature", &header)], body, 1_614_265_330)
    };
    assert_eq!(at("1614265330", b"5{}"), Ok(()));
    assert!(matches!(at("161426533", b"05{}"), Err(Refusal::TooOld(_))));
    assert!(matches!(at("16142653305", b"{}"), Err(Refusal::TooNew(_))));
}
