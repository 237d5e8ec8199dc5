//! A verified request that is no event is refused with what to do, and leaves no trace either.

use super::scene::{GITHUB_SECRET, NOW, STANDARD_SECRET, Scene, github_signature, standard};

const EVENTS: &str = "
pipeline: events
identity: {sender_id: event}
target: {table: event, columns: {event: text, amount: integer}}
write: {mode: insert_once}
hook: {scheme: standard, secrets: ['${STANDARD}'], fields: {event: event_id}}
";

#[tokio::test]
async fn one_id_is_one_content_for_ever() {
    for scene in [Scene::postgres(EVENTS).await, Scene::sqlite(EVENTS).await] {
        let mut sender = scene.sender().await;
        assert_eq!(sender.event("a", r#"{"amount":1}"#).await.short(), "200 processed");
        let other = sender.event("a", r#"{"amount":2}"#).await;
        assert_eq!((other.short().as_str(), &other.body["retry"]), ("422 L0501", &"stop".into()));
        assert_eq!(sender.event("a", r#"{"amount":1}"#).await.short(), "200 duplicate");
        assert_eq!(scene.column("SELECT amount FROM event").await, ["1"]);
    }
}

#[tokio::test]
async fn what_is_no_event_is_refused_with_a_code_of_its_own() {
    let scene = Scene::sqlite(EVENTS).await;
    let before = scene.dump().await;
    for (body, want) in [
        ("", "422 L1004"),
        ("{", "422 L1004"),
        ("[]", "422 L1004"),
        ("{\"amount\":1}{\"amount\":2}", "422 L1004"),
        ("{\"amount\":1}\n{\"amount\":2}", "422 L1004"),
        ("{\"amount\":1,\"amount\":2}", "422 L1004"),
        ("{\"event\":\"mine\"}", "422 L1004"),
        ("{\"amount\":\"much\"}", "422 L0401"),
        ("{\"amount\":9223372036854775808}", "422 L0401"),
    ] {
        let answer = scene.sender().await.event("a", body).await;
        assert_eq!((answer.short().as_str(), &answer.body["retry"]), (want, &"stop".into()), "{body}");
    }
    let deep = format!("{{\"amount\":1,\"deep\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(scene.sender().await.event("a", &deep).await.short(), "422 L1004");
    before.assert_same(&scene.dump().await);
    assert_eq!(scene.sender().await.event("a", "{\"amount\":1}").await.short(), "200 processed");
}

#[tokio::test]
async fn other_forms_than_plain_json_are_refused_with_what_to_set() {
    let scene = Scene::sqlite(EVENTS).await;
    let before = scene.dump().await;
    let body = "{\"amount\":1}";
    for (name, value, want) in [
        ("content-type", "application/x-www-form-urlencoded", "on GitHub: Settings, Webhooks, Content type"),
        ("content-type", "text/plain", "with `Content-Type: application/json`"),
        ("content-encoding", "gzip", "without `Content-Encoding`"),
    ] {
        let mut headers = standard(STANDARD_SECRET, "a", NOW, body);
        headers.retain(|(has, _)| *has != name);
        headers.push((name, value.to_owned()));
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = scene.post(&headers, body).await;
        assert_eq!(answer.short(), "415 L1005", "{value}");
        assert!(answer.body["detail"].as_str().unwrap().contains(want), "{}", answer.text);
    }
    before.assert_same(&scene.dump().await);
}

#[tokio::test]
async fn an_event_without_an_id_is_refused() {
    let yaml = "
pipeline: github
identity: {hash_of: all}
target: {table: event}
hook: {scheme: github, secrets: ['${GITHUB}']}
";
    let scene = Scene::sqlite(yaml).await;
    let before = scene.dump().await;
    let signature = github_signature(GITHUB_SECRET, "{}");
    let long = "a".repeat(256);
    let signed = [("content-type", "application/json"), ("x-hub-signature-256", signature.as_str())];
    for ids in [vec![], vec![""], vec!["a", "b"], vec![long.as_str()]] {
        let headers: Vec<_> =
            signed.iter().copied().chain(ids.iter().map(|id| ("x-github-delivery", *id))).collect();
        assert_eq!(scene.post(&headers, "{}").await.short(), "422 L1003", "{}", ids.len());
    }
    before.assert_same(&scene.dump().await);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_one_at_it_lands() {
    let scene = Scene::sqlite(EVENTS).await;
    let fill = |bytes: usize| format!("{{\"amount\":1,\"fill\":\"{}\"}}", "a".repeat(bytes - 22));
    let mut sender = scene.sender().await;
    assert_eq!(sender.event("at", &fill(1 << 20)).await.short(), "200 processed");
    assert_eq!(scene.sender().await.event("over", &fill((1 << 20) + 1)).await.short(), "413 L1006");
    assert_eq!(scene.column("SELECT event FROM event").await, ["at"]);
}

#[tokio::test]
async fn only_pipelines_with_a_hook_take_any() {
    let scene = Scene::sqlite(EVENTS).await;
    let mut sender = scene.sender().await;
    for path in ["/v1/hooks/other", "/v1/hooks/..%2fevents", "/v1/hooks/events'%20OR%201=1", "/v1/hooks/%ff"]
    {
        path.clone_into(sender.path_mut());
        assert_eq!(sender.event("a", "{}").await.short(), "404 L1008", "{path}");
    }
}

#[tokio::test]
async fn a_rule_of_the_table_stops_the_sender() {
    let scene = Scene::postgres(EVENTS).await;
    scene.execute("ALTER TABLE event ADD CONSTRAINT not_that_much CHECK (amount < 100)").await;
    let before = scene.dump().await;
    let answer = scene.sender().await.event("a", "{\"amount\":100}").await;
    assert_eq!((answer.short().as_str(), &answer.body["retry"]), ("422 L0401", &"stop".into()));
    assert!(answer.text.contains("not_that_much"), "{}", answer.text);
    before.assert_same(&scene.dump().await);
}

#[tokio::test]
async fn batches_and_events_of_a_pipeline_share_their_ids() {
    let scene = Scene::sqlite(EVENTS).await;
    let mut batches = scene.sender().await;
    "/v1/pipelines/events/batches".clone_into(batches.path_mut());
    let batch = "{\"event\":\"x\",\"amount\":1}\n";
    assert_eq!(batches.post(&[("idempotency-key", "a")], batch).await.short(), "200 processed");
    let event = scene.sender().await.event("a", "{\"amount\":2}").await;
    assert_eq!(event.short(), "422 L0501", "{}", event.text);
    assert_eq!(scene.sender().await.event("b", "{\"amount\":2}").await.short(), "200 processed");
    let second = batches.post(&[("idempotency-key", "b")], batch).await;
    assert_eq!(second.short(), "422 L0501", "{}", second.text);
    assert_eq!(scene.column("SELECT event FROM event ORDER BY event").await, ["b", "x"]);
}
