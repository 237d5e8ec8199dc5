//! Who may look and who may act: buttons are absent for those who may not, and a form of theirs is refused all the same.

use hyper::Method;

use super::given::{Got, Site};

const TWO: [&str; 2] = [
    "pipeline: mine\nidentity: [id]\ntarget: {table: mine, columns: {id: text, n: integer}}\non_bad_record: {quarantine: {max: 100%}}",
    "pipeline: theirs\nidentity: [id]\ntarget: {table: theirs, columns: {id: text, n: integer}}\non_bad_record: {quarantine: {max: 100%}}",
];

/// Three people, and what each knows.
async fn guarded() -> (Site, [String; 3]) {
    let [(all, a), (reader, b), (one, c)] =
        std::array::from_fn(|_| landonce_server::config::Token::generate());
    let config = format!(
        "tokens:
  - {{name: boss, hash: '{a}', may: [write, read, operate]}}
  - {{name: reader, hash: '{b}', may: [read]}}
  - {{name: one, hash: '{c}', may: [read, operate], pipelines: [mine]}}"
    );
    let site = Site::empty(&config, &TWO).await;
    for (yaml, id) in TWO.iter().zip(["m", "t"]) {
        let pipeline = landonce::Pipeline::from_yaml(yaml).unwrap();
        let text = format!("{{\"id\":\"{id}\",\"n\":1}}\n{{\"id\":\"bad-{id}\",\"n\":\"x\"}}");
        pipeline
            .ingest(&site.store, &landonce::Batch::from_bytes("x.ndjson", text).with_id(id))
            .await
            .unwrap();
    }
    (site, [all, reader, one])
}

/// The cookie of a new session.
async fn log_in(site: &Site, token: &str) -> String {
    let answer = site.press("/login", &[("token", token), ("next", "/quarantine")]).await;
    assert_eq!((answer.status, answer.header("location")), (303, "/quarantine"), "{answer:?}");
    answer.header("set-cookie").split(';').next().unwrap().to_owned()
}

async fn look(site: &Site, cookie: &str, path: &str) -> Got {
    site.ask(Method::GET, path, &[("accept", "text/html"), ("cookie", cookie)], String::new()).await
}

#[tokio::test]
async fn a_stranger_is_led_to_the_login_and_back() {
    let (site, [boss, ..]) = guarded().await;
    let answer = site.look("/batches?pipeline=mine").await;
    assert_eq!(answer.status, 303);
    assert!(answer.header("location").starts_with("/login?next="), "{answer:?}");
    let login = site.page(answer.header("location")).await;
    assert!(login.text.contains("value=\"/batches?pipeline=mine\""), "{}", login.text);
    assert!(!login.text.contains("sqlite:"), "a stranger learns nothing of the store");
    let failed = site.press("/login", &[("token", "wrong"), ("next", "/")]).await;
    let failed = site.look(failed.header("location")).await;
    assert!(failed.text.contains("No such token"), "{failed:?}");
    let cookie = log_in(&site, &boss).await;
    let page = look(&site, &cookie, "/").await;
    assert!(page.text.contains("You are <b>boss</b>") && page.text.contains("Log out"), "{}", page.text);
}

#[tokio::test]
async fn whoever_may_only_read_has_no_buttons_and_is_refused() {
    let (site, [boss, reader, _]) = guarded().await;
    let [boss, reader] = [log_in(&site, &boss).await, log_in(&site, &reader).await];
    let list = look(&site, &reader, "/quarantine?pipeline=mine").await;
    assert!(!list.text.contains("Deliver all again") && list.text.contains("open"), "{}", list.text);
    let at = list.link("/quarantine/");
    let page = look(&site, &reader, &at).await;
    assert!(!page.text.contains("<textarea"), "{}", page.text);
    assert!(look(&site, &boss, &at).await.text.contains("<textarea"));

    let csrf = page.csrf();
    let fields = [("csrf", csrf.as_str()), ("text", r#"{"id":"bad-m","n":2}"#)];
    let answer = site.press_with(&format!("{at}/edit"), &fields, &[("cookie", &reader)]).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    assert!(site.store.actions(5).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_token_for_one_pipeline_sees_nothing_of_the_others() {
    let (site, [boss, _, one]) = guarded().await;
    let [boss, one] = [log_in(&site, &boss).await, log_in(&site, &one).await];
    for path in ["/", "/batches", "/quarantine", "/held", "/outbox", "/records", "/periods"] {
        let page = look(&site, &one, path).await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
        assert!(!page.text.contains("theirs"), "{path}: {}", page.text);
    }
    let theirs = look(&site, &boss, "/quarantine?pipeline=theirs").await.link("/quarantine/");
    for path in [
        "/batches?pipeline=theirs",
        "/batches/theirs/t",
        "/records/theirs?id=t",
        "/quarantine?pipeline=theirs",
        &theirs,
    ] {
        let page = look(&site, &one, path).await;
        assert_eq!(page.status, 404, "{path}: {page:?}");
    }
    assert_eq!(look(&site, &one, "/actions").await.status, 403);
    let csrf = look(&site, &one, "/quarantine").await.csrf();
    let fields = [("csrf", csrf.as_str()), ("pipeline", "theirs")];
    assert_eq!(site.press_with("/quarantine/retry", &fields, &[("cookie", &one)]).await.status, 403);
    let fields = [("csrf", csrf.as_str()), ("pipeline", "mine")];
    assert_eq!(site.press_with("/quarantine/retry", &fields, &[("cookie", &one)]).await.status, 303);
    assert_eq!(site.store.actions(5).await.unwrap()[0].who, "one");
}

#[tokio::test]
async fn what_an_action_came_to_is_told_to_nobody_else() {
    let (site, [boss, reader, _]) = guarded().await;
    let [boss, reader] = [log_in(&site, &boss).await, log_in(&site, &reader).await];
    let csrf = look(&site, &boss, "/quarantine").await.csrf();
    let fields = [("csrf", csrf.as_str()), ("pipeline", "mine")];
    let sent = site.press_with("/quarantine/retry", &fields, &[("cookie", &boss)]).await;
    let to = sent.header("location");
    assert!(look(&site, &boss, to).await.text.contains("0 of 1 open record landed."));
    assert!(
        look(&site, &boss, to).await.text.contains("0 of 1 open record landed."),
        "a reload tells it again"
    );
    assert!(!look(&site, &reader, to).await.text.contains("landed."));
}
