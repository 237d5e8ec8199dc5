//! What isn't done and what can't be shown: a form from elsewhere, an address that leads nowhere, a store that is away.

use hyper::Method;
use landonce::{Pipeline, Store};

use super::given::Site;

const P: &str = "pipeline: p\nidentity: [id]\ntarget: {table: t, columns: {id: text, n: integer}}\non_bad_record: {quarantine: {max: 100%}}";

#[tokio::test]
async fn a_form_without_its_token_or_from_another_site_does_nothing() {
    let site = Site::empty("{}", &[P]).await;
    let pipeline = Pipeline::from_yaml(P).unwrap();
    pipeline
        .ingest(&site.store, &landonce::Batch::from_bytes("x.ndjson", r#"{"id":"a","n":"x"}"#))
        .await
        .unwrap();
    let page = site.page("/quarantine?pipeline=p").await;
    let csrf = page.csrf();
    let at = page.link("/quarantine/");
    let elsewhere = [("origin", "https://evil.example")];
    let cross = [("sec-fetch-site", "cross-site")];
    for path in ["/quarantine/retry", &format!("{at}/edit"), "/outbox/resume", "/outbox/redrive"] {
        let fields = |csrf| [("csrf", csrf), ("pipeline", "p"), ("topic", "t"), ("text", "{}")];
        for (token, headers) in
            [("", &[][..]), ("guess", &[]), (csrf.as_str(), &elsewhere), (csrf.as_str(), &cross)]
        {
            let answer = site.press_with(path, &fields(token), headers).await;
            assert_eq!(answer.status, 403, "{path} {token} {headers:?}: {answer:?}");
        }
        // A form is posted: an address alone does nothing.
        assert!(matches!(site.look(path).await.status, 404 | 405), "{path}");
    }
    assert!(site.store.actions(5).await.unwrap().is_empty());
    assert!(site.store.quarantine(None, 5).await.unwrap()[0].resolved_by.is_none());
}

#[tokio::test]
async fn a_browser_gets_a_page_of_a_failure_and_a_program_the_problem() {
    let site = Site::empty("{}", &[P]).await;
    for path in [
        "/nothing",
        "/batches/p/nothing",
        "/batches/q/x",
        "/periods/p",
        "/held/p/00",
        "/held/p/%3Cscript%3E",
        "/outbox/x",
        "/outbox/00000000-0000-7000-8000-000000000000",
        "/quarantine/zz",
        &format!("/quarantine/{}", "0".repeat(64)),
        "/records/nothing",
        "/batches?before=x",
        "/batches?before=2026-01-01T00:00:00Z~00",
        "/assets/page-0.css",
        "/v1/nothing",
    ] {
        let page = site.look(path).await;
        assert!(matches!(page.status, 404 | 400), "{path}: {page:?}");
        assert!(page.text.contains("<main") && page.text.contains("href=\"/\""), "{path}: {}", page.text);
        assert!(!page.text.contains("<script>"), "{path}");
        let problem = site.ask(Method::GET, path, &[("accept", "application/json")], String::new()).await;
        assert_eq!(
            (problem.status, problem.header("content-type")),
            (page.status, "application/problem+json"),
            "{path}"
        );
    }
    // What doesn't fit is told beside the form that asked for it.
    let asked = site.page("/records/p?id=%3Cscript%3Ealert(1)%3C/script%3E%00").await;
    assert!(!asked.text.contains("<script>alert"), "{}", asked.text);
}

#[tokio::test]
async fn a_store_that_is_away_is_told_as_passing() {
    // Nobody listens there: the port was given back.
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let store = Store::open(&format!("postgres://app:s3kr3t@{free}/shop")).unwrap();
    let site =
        Site::serve("{}", store, vec![Pipeline::from_yaml(P).unwrap()], tempfile::tempdir().unwrap()).await;
    for path in ["/", "/batches", "/held", "/quarantine", "/outbox", "/actions", "/records/p?id=1"] {
        let page = site.look(path).await;
        assert_eq!((page.status, page.header("retry-after")), (503, "5"), "{path}: {page:?}");
        assert!(page.text.contains("It passes by itself"), "{path}: {}", page.text);
        assert!(!page.text.contains("s3kr3t"), "{path}: {}", page.text);
    }
}

#[tokio::test]
async fn assets_are_kept_for_good_and_everything_else_is_not_kept() {
    let site = Site::empty("{}", &[P]).await;
    let page = site.page("/").await;
    assert_eq!(page.header("cache-control"), "no-store");
    assert!(page.header("content-security-policy").contains("default-src 'self'"), "{page:?}");
    for (beginning, kind) in
        [("/assets/page-", "text/css; charset=utf-8"), ("/assets/icon-", "image/svg+xml")]
    {
        let asset = site.page(&page.link(beginning)).await;
        assert_eq!(asset.header("content-type"), kind);
        assert!(asset.header("cache-control").contains("immutable"), "{asset:?}");
    }
}
