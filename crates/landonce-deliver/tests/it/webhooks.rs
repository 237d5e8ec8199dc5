//! A receiver by its URL: what it is sent, and what each of its answers means.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use landonce_deliver::destination::http::Http;
use landonce_deliver::destination::{Answer, Destination as _};
use landonce_deliver::spec::Spec;
use landonce_testkit::receiver::{Certificates, Receiver, Reply, Setup};

use crate::parcels::{answer, parcel, with_environment};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OLD: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The destination that `http:` with these keys makes; files are in `base`.
fn http_in(base: &Path, url: &str, keys: &str) -> Http {
    let yaml = format!(
        "destinations:\n  d:\n    topics: [t]\n    http:\n      url: {url}\n{}",
        keys.lines().map(|line| format!("      {line}\n")).collect::<String>()
    );
    let spec = Spec::parse(&yaml).unwrap();
    let variables = [("TOKEN", "t0ken-s3kr3t"), ("SECRET", SECRET), ("OLD", OLD)];
    with_environment(&variables, |environment| {
        Http::new(spec.destinations["d"].http.as_ref().unwrap(), 4, base, environment).unwrap()
    })
}

/// As [`http_in`], to this machine.
fn http(url: &str, keys: &str) -> Http {
    http_in(Path::new(""), url, &format!("allow_private: [127.0.0.0/8]\ntimeout: 2s\n{keys}"))
}

async fn send(http: &Http) -> Answer {
    http.send(&[parcel(1, r#"{"a":1}"#)]).await.remove(0)
}

#[tokio::test]
async fn every_attempt_has_the_same_id_and_a_signature_of_its_own() {
    let receiver =
        Receiver::start(Setup { secrets: vec![SECRET.into(), OLD.into()], ..Setup::default() }).await;
    let http = http(
        &format!("{}hooks?x=1", receiver.url()),
        "sign: ['${SECRET}', '${OLD}']\nbearer: ${TOKEN}\nheaders: {x-team: ops, x-key: 'k-${TOKEN}'}",
    );
    receiver.script([Reply::status(500), Reply::status(204)]);
    assert_eq!(answer(&send(&http).await).0, "later");
    assert_eq!(send(&http).await, Answer::Taken { told: "204".into() });
    let got = receiver.received();
    let id = parcel(1, "").id.to_string();
    for one in &got {
        assert!(one.is_signed(), "{:?}", one.signature);
        assert_eq!(one.header("webhook-signature").unwrap().split(' ').count(), 2, "one by each secret");
        assert_eq!((one.method.as_str(), one.path.as_str()), ("POST", "/hooks?x=1"));
        assert_eq!(&one.body[..], br#"{"a":1}"#);
        for (name, value) in [
            ("webhook-id", id.as_str()),
            ("idempotency-key", &id),
            ("content-type", "application/json"),
            ("authorization", "Bearer t0ken-s3kr3t"),
            ("x-team", "ops"),
            ("x-key", "k-t0ken-s3kr3t"),
            ("user-agent", concat!("landonce/", env!("CARGO_PKG_VERSION"))),
        ] {
            assert_eq!(one.header(name), Some(value), "{name}");
        }
    }
    assert_eq!(receiver.connections(), 1, "a connection is used again");
}

#[tokio::test]
async fn each_status_means_something() {
    let receiver = Receiver::start(Setup::default()).await;
    let http = http(receiver.url(), "");
    for (status, means) in [
        (200, "taken"),
        (202, "taken"),
        (400, "later"),
        (401, "later"),
        (403, "later"),
        (404, "later"),
        (408, "later"),
        (410, "never"),
        (413, "later"),
        (422, "later"),
        (425, "later"),
        (429, "later for all"),
        (500, "later"),
        (502, "later"),
        (503, "later"),
        (301, "later"),
        (303, "later"),
    ] {
        receiver.script([Reply::status(status).body("because")]);
        let answered = send(&http).await;
        let (meant, told) = answer(&answered);
        assert_eq!(meant, means, "{status}");
        assert!(told.starts_with(&status.to_string()), "{told}");
        assert!(means == "taken" || told.ends_with("because"), "{told}");
    }
}

#[tokio::test]
async fn what_is_asked_for_is_heard() {
    let receiver = Receiver::start(Setup::default()).await;
    let http = http(receiver.url(), "");
    let date = httpdate_in(Duration::from_mins(2));
    for (status, text, from, to) in
        [(429, "120", 120, 120), (503, "86400", 86_400, 86_400), (429, date.as_str(), 118, 121)]
    {
        receiver.script([Reply::status(status).retry_after(text)]);
        let Answer::Later { after: Some(after), is_for_all: true, .. } = send(&http).await else {
            panic!("{status} {text}")
        };
        assert!((from..=to).contains(&after.as_secs()), "{text}: {after:?}");
    }
    receiver.script([Reply::status(429).retry_after("soon"), Reply::status(503).retry_after("soon")]);
    assert!(matches!(send(&http).await, Answer::Later { after: None, is_for_all: true, .. }));
    assert!(matches!(send(&http).await, Answer::Later { after: None, is_for_all: false, .. }));
}

fn httpdate_in(ahead: Duration) -> String {
    let at = jiff::Timestamp::try_from(SystemTime::now() + ahead).unwrap();
    jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).unwrap()
}

#[tokio::test]
async fn a_receiver_that_says_nothing_is_given_up_in_time() {
    let receiver = Receiver::start(Setup::default()).await;
    let http = http_in(Path::new(""), receiver.url(), "allow_private: true\ntimeout: 300ms");
    receiver.script([Reply::Hang]);
    let began = Instant::now();
    let answered = send(&http).await;
    assert_eq!(answer(&answered), ("later", "no answer within 0.3 s"));
    assert!(began.elapsed() < Duration::from_secs(2));
    receiver.script([Reply::CloseBeforeAnswer]);
    let answered = send(&http).await;
    assert!(matches!(answer(&answered), ("later", told) if told.starts_with("no answer:")), "{answered:?}");
}

#[tokio::test]
async fn a_message_is_taken_when_the_head_says_so_whatever_the_body_does() {
    let receiver = Receiver::start(Setup::default()).await;
    let http = http(receiver.url(), "max_answer: 1kB");
    for reply in [
        Reply::CutAfterHead,
        Reply::Slow { bytes: 100, every: Duration::from_secs(1) },
        Reply::Huge { bytes: 100_000_000_000 },
    ] {
        let began = Instant::now();
        receiver.script([reply.clone()]);
        assert_eq!(send(&http).await, Answer::Taken { told: "200".into() }, "{reply:?}");
        assert!(began.elapsed() < Duration::from_secs(5), "{reply:?}: {:?}", began.elapsed());
    }
    assert_eq!(receiver.count_by_id().values().sum::<usize>(), 3);
}

#[tokio::test]
async fn an_answer_that_repeats_a_secret_is_told_without_it() {
    let receiver = Receiver::start(Setup::default()).await;
    let http = http(receiver.url(), "bearer: ${TOKEN}\nsign: ['${SECRET}']");
    receiver.script([Reply::status(401).body(&format!("bad token t0ken-s3kr3t, not {SECRET}"))]);
    assert_eq!(answer(&send(&http).await), ("later", "401: (the answer repeats a secret)"));
    // Where the text is shown to, or read to, and in other forms.
    let across = format!("{} t0ken-s3kr3t", "x".repeat(193));
    let bearer = "got QmVhcmVyIHQwa2VuLXMza3IzdA==, want another";
    for body in [across.as_str(), "t%30ken%2Ds3kr3t", bearer, &SECRET[6..], "74306B656E2D73336B723374"] {
        receiver.script([Reply::status(401).body(body)]);
        assert_eq!(answer(&send(&http).await).1, "401: (the answer repeats a secret)", "{body}");
    }
    receiver.script([Reply::redirect(307, "/login/t0ken-s3kr3t")]);
    let answered = send(&http).await;
    assert!(answer(&answered).1.starts_with("307: a redirect"), "{answered:?}");
    let short = crate::webhooks::http(receiver.url(), "bearer: ${TOKEN}\nmax_answer: 20B");
    receiver.script([Reply::status(401).body("bad token: t0ken-s3kr3t")]);
    assert_eq!(answer(&send(&short).await).1, "401: (the answer repeats a secret)", "cut while it is read");

    let http = crate::webhooks::http(&format!("'{}hooks/${{TOKEN}}'", receiver.url()), "");
    receiver.script([Reply::status(404).body("Cannot POST /hooks/t0ken-s3kr3t")]);
    assert_eq!(answer(&send(&http).await), ("later", "404: (the answer repeats a secret)"));
    receiver.script([Reply::status(404).body("no such token: t0ken-s3kr3t")]);
    assert_eq!(answer(&send(&http).await).1, "404: (the answer repeats a secret)");
    assert_eq!(receiver.received().last().unwrap().path, "/hooks/t0ken-s3kr3t");
}

#[tokio::test]
async fn addresses_that_are_not_public_are_not_connected_to_in_any_spelling() {
    let receiver = Receiver::start(Setup::default()).await;
    let port = receiver.url().trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
    for host in [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "2130706433",
        "0x7f.1",
        "0",
    ] {
        let http = http_in(Path::new(""), &format!("'http://{host}:{port}/'"), "connect: 2s");
        let answered = send(&http).await;
        let (meant, told) = answer(&answered);
        assert_eq!(meant, "later for all");
        assert!(told.contains("isn't connected to") && told.contains("allow_private"), "{host}: {told}");
    }
    let other = http_in(Path::new(""), receiver.url(), "allow_private: [10.0.0.0/8]");
    assert_eq!(answer(&send(&other).await).0, "later for all");
    assert_eq!(receiver.connections(), 0);
    let allowed = http_in(Path::new(""), &format!("http://localhost:{port}/"), "allow_private: true");
    assert_eq!(answer(&send(&allowed).await).0, "taken");
}

#[tokio::test]
async fn nobody_at_home_is_about_all_messages() {
    let receiver = Receiver::start(Setup::default()).await;
    let url = receiver.url().to_owned();
    drop(receiver);
    let answered = send(&http(&url, "")).await;
    assert!(
        matches!(answer(&answered), ("later for all", told) if told.starts_with("can't connect to 127.0.0.1:"))
    );
    let answered = send(&http("https://no-such-host.invalid/", "")).await;
    assert!(
        matches!(answer(&answered), ("later for all", told) if told.starts_with("`no-such-host.invalid` can't be resolved")),
        "{answered:?}"
    );
}

#[tokio::test]
async fn redirects_are_a_failure_unless_they_are_allowed() {
    let (first, second) = (Receiver::start(Setup::default()).await, Receiver::start(Setup::default()).await);
    let elsewhere = format!("{}there?token=1", second.url());
    first.script([Reply::redirect(307, &elsewhere)]);
    let answered = send(&http(first.url(), "")).await;
    let (meant, told) = answer(&answered);
    assert_eq!(meant, "later");
    assert!(told.starts_with("307 to http://127.0.0.1:") && told.contains("`redirects`"), "{told}");
    assert!(!told.contains("token=1") && second.received().is_empty());

    let keys = "redirects: 2\nbearer: ${TOKEN}\nheaders: {x-key: '${TOKEN}'}\nsign: ['${SECRET}']";
    first.script([Reply::redirect(308, "/again"), Reply::redirect(307, &elsewhere)]);
    assert_eq!(answer(&send(&http(first.url(), keys)).await).0, "taken");
    let again = &first.received()[2];
    assert_eq!((again.path.as_str(), again.header("authorization")), ("/again", Some("Bearer t0ken-s3kr3t")));
    let there = &second.received()[0];
    assert_eq!((there.method.as_str(), there.path.as_str()), ("POST", "/there?token=1"));
    assert_eq!(&there.body[..], br#"{"a":1}"#);
    assert_eq!(
        (there.header("authorization"), there.header("x-key")),
        (None, None),
        "secrets go to no other host"
    );
    assert!(there.header("webhook-signature").is_some());

    first.script([Reply::redirect(307, "/1"), Reply::redirect(307, "/2"), Reply::redirect(307, "/3")]);
    assert_eq!(answer(&send(&http(first.url(), "redirects: 2")).await).0, "later", "no more than so many");
    first.script([Reply::redirect(303, "/x")]);
    assert_eq!(answer(&send(&http(first.url(), "redirects: 2")).await).0, "later", "that would be a GET");
}

#[tokio::test]
async fn every_hop_of_a_redirect_is_guarded() {
    let receiver = Receiver::start(Setup::default()).await;
    receiver.script([Reply::redirect(307, "http://169.254.169.254/latest/meta-data")]);
    let answered = send(&http(receiver.url(), "redirects: 5")).await;
    assert!(
        matches!(answer(&answered), ("later for all", told) if told.contains("169.254.169.254") && told.contains("link-local"))
    );
}

#[tokio::test]
async fn tls_is_checked_and_a_redirect_never_leaves_it() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::new(false);
    std::fs::write(folder.path().join("ca.pem"), certificates.authority_pem()).unwrap();
    let plain = Receiver::start(Setup::default()).await;
    let receiver = Receiver::start(Setup { tls: Some(certificates), ..Setup::default() }).await;
    let with = |url: &str, keys: &str| http_in(folder.path(), url, &format!("allow_private: true\n{keys}"));

    let answered = send(&with(receiver.url(), "")).await;
    assert!(
        matches!(answer(&answered), ("later for all", told) if told.starts_with("TLS: ") && told.contains("`ca`")),
        "{answered:?}"
    );
    assert!(receiver.received().is_empty());
    assert_eq!(answer(&send(&with(receiver.url(), "ca: ca.pem")).await).0, "taken");
    // Another name than the certificate's: 127.0.0.2 is this machine too.
    let other = receiver.url().replace("127.0.0.1", "127.0.0.2");
    if std::net::TcpStream::connect(other.trim_start_matches("https://").trim_end_matches('/')).is_ok() {
        let answered = send(&with(&other, "ca: ca.pem")).await;
        assert!(
            matches!(answer(&answered), ("later for all", told) if told.contains("another host")),
            "{answered:?}"
        );
    }
    let answered = send(&with(&plain.url().replace("http:", "https:"), "ca: ca.pem")).await;
    assert!(
        matches!(answer(&answered), ("later for all", told) if told.starts_with("TLS: ")),
        "{answered:?}"
    );
    receiver.script([Reply::redirect(307, plain.url())]);
    assert_eq!(answer(&send(&with(receiver.url(), "ca: ca.pem\nredirects: 3")).await).0, "later");
    assert!(plain.received().is_empty());
}

#[tokio::test]
async fn a_client_certificate_is_shown_where_one_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::new(true);
    let (certificate, key) = certificates.client_pem();
    for (name, text) in [("ca.pem", certificates.authority_pem()), ("c.pem", certificate), ("k.pem", key)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let receiver = Receiver::start(Setup { tls: Some(certificates.clone()), ..Setup::default() }).await;
    let with = |keys: &str| {
        http_in(folder.path(), receiver.url(), &format!("allow_private: true\nca: ca.pem\n{keys}"))
    };
    assert_eq!(answer(&send(&with("client: {cert: c.pem, key: k.pem}")).await).0, "taken");
    let answered = send(&with("")).await;
    assert!(matches!(answer(&answered), ("later for all", told) if told.contains("client")), "{answered:?}");
}
