//! Whatever a sender writes is a text, wherever he writes it.

use super::scene::{GITHUB_SECRET, Scene, github_signature};

const NASTY: [&str; 7] = [
    "'; DROP TABLE event; --",
    "\"; DELETE FROM event; --",
    "$$); SELECT pg_terminate_backend(pg_backend_pid()); --",
    "\\'); DROP TABLE landonce_inbox; --",
    "{{7*7}} ${PATH} :event %s %n",
    "<script>alert(1)</script>",
    "../../etc/passwd",
];

const YAML: &str = "
pipeline: github
identity: {sender_id: delivery}
target: {table: event, columns: {delivery: text, kind: text, said: text}}
write: {mode: insert_once}
hook: {scheme: github, secrets: ['${GITHUB}'], fields: {delivery: event_id, kind: {header: X-Kind}}}
";

#[tokio::test]
async fn sql_in_every_field_and_header_lands_as_it_is_written() {
    for scene in [Scene::postgres(YAML).await, Scene::sqlite(YAML).await] {
        for (at, nasty) in NASTY.iter().enumerate() {
            let id = format!("{at}{nasty}");
            let body = serde_json::json!({"said": nasty, (*nasty): {(*nasty): nasty}}).to_string();
            let signature = github_signature(GITHUB_SECRET, &body);
            let headers = [
                ("content-type", "application/json"),
                ("x-github-delivery", id.as_str()),
                ("x-hub-signature-256", &signature),
                ("x-kind", nasty),
                ("user-agent", nasty),
                ("x-forwarded-for", nasty),
            ];
            assert_eq!(scene.post(&headers, &body).await.short(), "200 processed", "{nasty}");
            assert_eq!(scene.post(&headers, &body).await.short(), "200 duplicate", "{nasty}");
        }
        for (column, want) in [("said", NASTY.map(str::to_owned)), ("kind", NASTY.map(str::to_owned))] {
            let sql = format!("SELECT {column} FROM event ORDER BY delivery");
            assert_eq!(scene.column(&sql).await, want);
        }
    }
}
