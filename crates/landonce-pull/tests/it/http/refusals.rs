//! What won't pass is told at once; what is secret goes to the declared place only, and is told nowhere.

use landonce_testkit::receiver::{Certificates, Received, Receiver, Reply, Setup};

use super::{Does, QUICK, Server, duties, list, roster};
use crate::given::{Target, counts};

/// Set for this process by its tests' own folder of secrets.
fn secret(name: &str, value: &str) -> String {
    let folder = tempfile::tempdir().unwrap().keep();
    let path = folder.join(name);
    std::fs::write(&path, format!("{value}\n")).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn a_refusal_is_told_at_once_with_its_words_and_without_secrets() {
    let token = "s3kr3t/t0ken";
    for status in [400, 401, 403, 404, 410, 422] {
        let server = Server::start(move |_, _| Does::status(status, &format!("no: {token} is unknown")));
        let error = Target::sqlite().fetch(&roster(&server.url("/r"), "", "")).await.unwrap_err();
        assert_eq!((error.code().as_str(), server.asked().len()), ("L1122", 1));
        assert!(error.to_string().contains(&format!("status {status}: no: ")), "{error}");
        assert!(error.to_string().contains(&server.url("/r")), "{error}");
    }
}

#[tokio::test]
async fn credentials_are_sent_as_declared_and_told_nowhere() {
    let token = "s3kr3t/t0ken&x";
    let place = secret("token", token);
    // Each `NAME_FILE` of a process is what secrets are handed to it by; the tests run in one that has this one set.
    let run = |http: &str, url: &str| {
        super::roster(url, &http.replace("${TOKEN}", "${LANDONCE_TEST_PULL_TOKEN}"), "")
    };
    let program = std::env::current_exe().unwrap();
    if std::env::var_os("LANDONCE_TEST_PULL_TOKEN_FILE").is_none() {
        let status = tokio::process::Command::new(program)
            .args(["--exact", "http::refusals::credentials_are_sent_as_declared_and_told_nowhere"])
            .env("LANDONCE_TEST_PULL_TOKEN_FILE", place)
            .status()
            .await
            .unwrap();
        assert!(status.success());
        return;
    }
    for (http, header, query) in [
        ("auth: {bearer: '${TOKEN}'}", "Bearer s3kr3t/t0ken&x", None),
        ("auth: {basic: {user: ann, password: '${TOKEN}'}}", "Basic YW5uOnMza3IzdC90MGtlbiZ4", None),
        ("headers: {Authorization: 'Key ${TOKEN}'}", "Key s3kr3t/t0ken&x", None),
        ("auth: {query: {key: '${TOKEN}'}}", "", Some("s3kr3t/t0ken&x")),
    ] {
        let server = Server::start(move |asked, _| {
            let shown = asked.header("authorization").unwrap_or_default().to_owned();
            Does::status(403, &format!("{shown} {} is no good", asked.target))
        });
        let error =
            Target::sqlite().fetch(&run(http, &server.url("/r?day=1"))).await.unwrap_err().to_string();
        let asked = &server.asked()[0];
        assert_eq!(asked.header("authorization").unwrap_or_default(), header);
        assert_eq!(asked.param("key").as_deref(), query);
        assert_eq!(asked.param("day").as_deref(), Some("1"));
        for form in ["s3kr3t", "czNrcjN0", "MzdC90MGtlb"] {
            assert!(!error.contains(form), "{error}");
        }
        assert!(error.contains("is no good"), "{error}");
    }
}

#[tokio::test]
async fn a_variable_that_is_not_set_is_named() {
    let pipeline = roster("http://127.0.0.1:1/", "auth: {bearer: '${LANDONCE_NO_SUCH}'}", "");
    let error = Target::sqlite().fetch(&pipeline).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "source.http.auth.bearer: the environment variable `LANDONCE_NO_SUCH` isn't set, or is empty"
    );
}

#[tokio::test]
async fn redirects_are_followed_at_home_and_not_to_another_host() {
    let body = list(&duties(0..3));
    let there = body.clone();
    let other = Server::start(move |_, _| Does::json(there.clone()));
    let elsewhere = other.url("/there");
    let server = Server::start(move |asked, _| match asked.target.as_str() {
        "/moved" => Does::status(302, "").with("location", "/here?x=1"),
        "/here?x=1" => Does::json(body.clone()),
        "/round" => Does::status(307, "").with("location", "/round"),
        "/away" => Does::status(302, "").with("location", elsewhere.clone()),
        "/next-away" => Does::json("[]").with("link", format!("<{elsewhere}>; rel=next")),
        other => panic!("{other}"),
    });
    let own = "headers: {x-team: crew}";
    let fetch = async |path: &str, http: &str| {
        Target::sqlite().fetch(&roster(&server.url(path), &format!("{own}{http}"), "")).await
    };
    fetch("/moved", "").await.unwrap();
    let error = fetch("/away", "").await.unwrap_err();
    assert!(error.to_string().contains("another host isn't followed"), "{error}");
    assert!(fetch("/moved", ", redirects: none").await.unwrap_err().to_string().contains("status 302"));
    assert!(fetch("/round", "").await.unwrap_err().to_string().contains("redirects more than"));
    let error = fetch("/next-away", ", page: {link: next}").await.unwrap_err();
    assert!(error.to_string().contains("the next page is at another place"), "{error}");
    assert!(other.asked().is_empty(), "nothing was sent there");

    fetch("/away", ", redirects: any").await.unwrap();
    let asked = other.asked();
    assert_eq!(asked[0].header("x-team"), None, "what is ours stays here");
    assert_eq!(server.asked()[0].header("x-team"), Some("crew"));
}

#[tokio::test]
async fn a_page_beyond_the_limit_is_refused() {
    let server = Server::start(|_, _| Does::json(format!("{{\"items\":[{}]}}", duties(0..100).join(","))));
    let error = Target::sqlite()
        .fetch(&roster(&server.url("/r"), "records: items, max_page: 1000", ""))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("longer than 1000 bytes"), "{error}");
}

#[tokio::test]
async fn a_certificate_is_trusted_when_its_authority_is_named_and_refused_at_once_otherwise() {
    let certificates = Certificates::new(false);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ca.pem"), certificates.authority_pem()).unwrap();
    let rows = list(&duties(0..3));
    let plan = move |_: &Received, _| Some(Reply::status(200).body(&rows));
    let setup = Setup { tls: Some(certificates), plan: Some(Box::new(plan)), ..Setup::default() };
    let receiver = Receiver::start(setup).await;
    let yaml = |tls: &str| {
        let path = folder.path().join("roster.yaml");
        let text = format!(
            "pipeline: roster\nidentity: [duty_id]\ntarget: {{table: roster}}\nsource: {{http: {{url: '{}', {QUICK}{tls}}}}}\n",
            receiver.url()
        );
        std::fs::write(&path, text).unwrap();
        landonce::Pipeline::from_file(path).unwrap()
    };
    let target = Target::sqlite();
    let error = target.fetch(&yaml("")).await.unwrap_err();
    assert_eq!(error.code().as_str(), "L1122");
    assert!(error.to_string().contains("`tls.ca`"), "{error}");
    assert_eq!(counts(&target.fetch(&yaml(", tls: {ca: ca.pem}")).await.unwrap()), [3, 3, 0, 0]);
    let error = target.fetch(&yaml(", tls: {ca: none.pem}")).await.unwrap_err();
    assert!(error.to_string().starts_with("source.http.tls.ca: "), "{error}");
}
