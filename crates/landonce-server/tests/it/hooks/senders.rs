//! Each sender's own requests are taken, also twice and out of order; what anybody has changed isn't.

use super::scene::{
    GITHUB_SECRET, NOW, STANDARD_SECRET, STRIPE_SECRET, Scene, TOKEN, base64_signature, github_signature,
    recorded, standard, stripe_signature,
};

const GITHUB: &str = "
pipeline: github
identity: {sender_id: delivery}
target: {table: github_event, columns: {delivery: uuid, event: text, action: text}}
write: {mode: insert_once}
hook: {scheme: github, secrets: ['${OTHER}', '${GITHUB}'], fields: {delivery: event_id, event: {header: X-GitHub-Event}}}
";
const STRIPE: &str = "
pipeline: stripe
identity: {sender_id: id}
target: {table: stripe_event, columns: {id: text, type: text, created: integer}}
write: {mode: insert_once}
hook: {scheme: stripe, secrets: ['${STRIPE}'], tolerance: 24h}
";

/// Posts all of them from the last to the first, then all from the first to the last.
async fn there_and_back(scene: &Scene, fixture: &str) -> Vec<String> {
    let recorded = recorded(fixture);
    let mut sender = scene.sender().await;
    let mut answers = Vec::new();
    for delivery in recorded.iter().rev().chain(&recorded) {
        answers.push(sender.post(&delivery.headers(), &delivery.body).await.short());
    }
    answers
}

fn first_then_again(count: usize) -> Vec<&'static str> {
    let mut want = vec!["200 processed"; count];
    want.resize(2 * count, "200 duplicate");
    want
}

#[tokio::test]
async fn githubs_deliveries_land_once_by_their_delivery_id_and_keep_its_headers() {
    for scene in [Scene::postgres(GITHUB).await, Scene::sqlite(GITHUB).await] {
        let fixture = include_str!("../../fixtures/github.ndjson");
        let count = fixture.lines().count();
        assert_eq!(there_and_back(&scene, fixture).await, first_then_again(count));
        let rows = scene.column("SELECT event FROM github_event ORDER BY event").await;
        assert_eq!(rows.len(), count, "two of the bodies are equal, and are two deliveries");
        assert!(rows.contains(&"sponsorship".to_owned()), "{rows:?}");
        let delivery = "X-GitHub-Delivery";
        for recorded in recorded(fixture) {
            let id = &recorded.headers.iter().find(|(name, _)| name == delivery).unwrap().1;
            let event = &recorded.headers.iter().find(|(name, _)| name == "X-GitHub-Event").unwrap().1;
            let sql = format!("SELECT event FROM github_event WHERE delivery = '{id}'");
            assert_eq!(scene.column(&sql).await, std::slice::from_ref(event));
        }
    }
}

#[tokio::test]
async fn stripes_events_land_once_by_their_signed_id() {
    for scene in [Scene::postgres(STRIPE).await, Scene::sqlite(STRIPE).await] {
        let fixture = include_str!("../../fixtures/stripe.ndjson");
        let count = fixture.lines().count();
        assert_eq!(there_and_back(&scene, fixture).await, first_then_again(count));
        assert_eq!(scene.column("SELECT id FROM stripe_event").await.len(), count);
    }
}

#[tokio::test]
async fn the_published_vector_of_standard_webhooks_is_taken() {
    let yaml = "
pipeline: standard
identity: {sender_id: event}
target: {table: event, columns: {event: text, test: integer}}
hook: {scheme: standard, secrets: ['${STANDARD}'], fields: {event: event_id}}
";
    let scene = Scene::sqlite(yaml).await;
    scene.at(1_614_265_330);
    let headers = [
        ("content-type", "application/json"),
        ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
        ("webhook-timestamp", "1614265330"),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
    ];
    let answer = scene.post(&headers, r#"{"test": 2432232314}"#).await;
    assert_eq!(answer.short(), "200 processed");
    assert_eq!(answer.body["event_id"], "msg_p5jXN8AQM9LWM0D4loKWxJek");
    assert_eq!(answer.body["inserted"], 1);
    assert_eq!(scene.column("SELECT event FROM event").await, ["msg_p5jXN8AQM9LWM0D4loKWxJek"]);
}

#[tokio::test]
async fn shopify_a_declared_hmac_and_a_token_are_taken() {
    let declared = |hook: &str| {
        format!(
            "pipeline: p\nidentity: {{sender_id: by}}\ntarget: {{table: event, columns: {{by: text}}}}\nhook: {hook}\n"
        )
    };
    let body = r#"{"a":1}"#;
    let shopify = base64_signature("another secret", body);
    let slack = format!(
        "v0={}",
        hex::encode(super::scene::hmac_sha256("another secret", &format!("v0:{NOW}:{body}")))
    );
    let bearer = format!("Bearer {TOKEN}");
    let at = NOW.to_string();
    for (hook, headers) in [
        (
            "{scheme: shopify, secrets: ['${OTHER}'], fields: {by: event_id}}",
            vec![("X-Shopify-Hmac-Sha256", shopify.as_str()), ("X-Shopify-Webhook-Id", "w-1")],
        ),
        (
            "{scheme: {hmac: {header: X-Slack-Signature, prefix: v0=, timestamp: X-Slack-Request-Timestamp, signs: 'v0:{timestamp}:{body}'}}, \
             secrets: ['${OTHER}'], event_id: {header: X-Id}, fields: {by: event_id}}",
            vec![("X-Slack-Signature", slack.as_str()), ("X-Slack-Request-Timestamp", &at), ("X-Id", "w-1")],
        ),
        (
            "{scheme: bearer, secrets: ['${TOKEN}'], event_id: {header: X-Id}, fields: {by: event_id}}",
            vec![("Authorization", bearer.as_str()), ("X-Id", "w-1")],
        ),
    ] {
        let scene = Scene::sqlite(&declared(hook)).await;
        let mut headers = headers;
        headers.push(("content-type", "application/json"));
        assert_eq!(scene.post(&headers, body).await.short(), "200 processed", "{hook}");
        let again = scene.post(&headers, body).await;
        assert_eq!((again.short().as_str(), again.is_replayed), ("200 duplicate", true), "{hook}");
        headers[0].1 = "nothing";
        assert_eq!(scene.post(&headers, body).await.short(), "401 L1001", "{hook}");
        assert_eq!(scene.column("SELECT by FROM event").await, ["w-1"]);
    }
}

#[tokio::test]
async fn a_request_that_is_not_its_senders_leaves_no_trace() {
    let scene = Scene::postgres(GITHUB).await;
    let before = scene.dump().await;
    let body = r#"{"action":"opened"}"#;
    let good = github_signature(GITHUB_SECRET, body);
    let wrong = github_signature("a forger's secret", body);
    let json = ("content-type", "application/json");
    let id = ("x-github-delivery", "80749884-9709-5d51-a927-b3334383d0f4");
    for (headers, body) in [
        (vec![json, id], body),
        (vec![json, id, ("x-hub-signature-256", wrong.as_str())], body),
        (vec![json, id, ("x-hub-signature-256", &good)], r#"{"action":"openee"}"#),
        (vec![json, id, ("x-hub-signature-256", &good)], r#"{"action":"opened"} "#),
        (vec![json, id, ("x-hub-signature-256", &good), ("x-hub-signature-256", &good)], body),
        (vec![json, id, ("x-hub-signature-256", &good[..70])], body),
        (vec![json, id, ("x-hub-signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59")], body),
        // What can't be read is refused by its signature too, not by its form.
        (vec![id, ("x-hub-signature-256", &wrong)], "no JSON"),
    ] {
        let answer = scene.post(&headers, body).await;
        assert_eq!(answer.short(), "401 L1001", "{headers:?}");
        assert_eq!(answer.body["retry"], "stop");
        assert!(!answer.text.contains(&good[7..20]) && !answer.text.contains("SHA"), "{}", answer.text);
    }
    before.assert_same(&scene.dump().await);
    // A ping is an event like another.
    let good = [json, id, ("x-hub-signature-256", good.as_str()), ("x-github-event", "ping")];
    assert_eq!(scene.post(&good, body).await.short(), "200 processed");
    assert_eq!(scene.column("SELECT event FROM github_event").await, ["ping"]);
}

#[tokio::test]
async fn a_signed_time_is_taken_up_to_the_tolerance_on_both_sides() {
    let yaml = STRIPE.replace("24h", "1m");
    let scene = Scene::sqlite(&yaml).await;
    let body = r#"{"id":"evt_1","type":"charge.succeeded","created":1}"#;
    let signature = stripe_signature(STRIPE_SECRET, NOW, body);
    let headers = [("content-type", "application/json"), ("stripe-signature", signature.as_str())];
    for (now, want) in [
        (NOW - 61, "401 L1002"),
        (NOW + 61, "401 L1002"),
        (NOW + 60, "200 processed"),
        (NOW - 60, "200 duplicate"),
    ] {
        scene.at(now);
        assert_eq!(scene.post(&headers, body).await.short(), want, "{}", now - NOW);
    }
}

#[tokio::test]
async fn while_a_secret_is_replaced_both_are_taken_and_two_signatures_as_well() {
    let yaml = "
pipeline: standard
identity: {sender_id: event}
target: {table: event, columns: {event: text}}
hook: {scheme: standard, secrets: ['${OTHER_STANDARD}', '${STANDARD}'], fields: {event: event_id}}
";
    let scene = Scene::sqlite(yaml).await;
    let other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    let third = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for (id, secrets, want) in [
        ("a", vec![STANDARD_SECRET], "200 processed"),
        ("b", vec![other], "200 processed"),
        ("c", vec![third, STANDARD_SECRET], "200 processed"),
        ("d", vec![third], "401 L1001"),
    ] {
        let mut headers = standard(secrets[0], id, NOW, "{}");
        for secret in &secrets[1..] {
            let more = standard(secret, id, NOW, "{}").pop().unwrap().1;
            headers[3].1 = format!("{} {more}", headers[3].1);
        }
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(scene.post(&headers, "{}").await.short(), want, "{id}");
    }
    assert_eq!(scene.column("SELECT event FROM event ORDER BY event").await, ["a", "b", "c"]);
}
