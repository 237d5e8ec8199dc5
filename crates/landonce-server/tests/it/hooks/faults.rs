//! When the store is away, or its answer is lost: the sender is told to come again, and what came twice is there once.

use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::proxy::Fault;
use landonce_testkit::wait::until;
use tokio_postgres::Client;

use super::scene::Scene;

const ALONE: &str = "
pipeline: events
identity: {sender_id: event}
target: {table: event, columns: {event: text, amount: integer}}
write: {mode: insert_once}
hook: {scheme: standard, secrets: ['${STANDARD}'], fields: {event: event_id}}
";

fn both() -> [String; 2] {
    [ALONE.to_owned(), ALONE.replace("event_id}}", "event_id}, group: {}}")]
}

/// Lets anybody connect to the scene's database, or nobody.
async fn let_in(scene: &Scene, operator: &Client, is_open: bool) {
    let name = scene.database().name();
    operator.batch_execute(&format!("ALTER DATABASE \"{name}\" ALLOW_CONNECTIONS {is_open}")).await.unwrap();
}

async fn outside() -> (TestDatabase, Client) {
    let elsewhere = postgres::database().await;
    let operator = elsewhere.client().await;
    (elsewhere, operator)
}

async fn is_taken_at_last(scene: &Scene, id: &str) {
    until(60, "an event to land", async || {
        let answer = scene.sender().await.event(id, "{\"amount\":1}").await;
        if answer.status == 503 {
            return None;
        }
        assert!(answer.status == 200, "{}", answer.text);
        Some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_away_at_the_start_is_tried_again_by_the_events_that_come() {
    for yaml in both() {
        let scene = Scene::unopened(&yaml).await;
        // From the database itself nobody can shut it.
        let (_elsewhere, operator) = outside().await;
        let_in(&scene, &operator, false).await;
        let answer = scene.sender().await.event("a", "{\"amount\":1}").await;
        assert_eq!((answer.short().as_str(), &answer.body["retry"]), ("503 L0601", &"same_key".into()));
        assert!(answer.retry_after.is_some() && !scene.hooks.are_open());
        assert_eq!(scene.look("/readyz").await, 503);
        let_in(&scene, &operator, true).await;
        is_taken_at_last(&scene, "a").await;
        assert!(scene.hooks.are_open());
        assert_eq!(scene.sender().await.event("a", "{\"amount\":1}").await.short(), "200 duplicate");
    }
}

#[tokio::test]
async fn a_server_is_ready_when_its_hooks_are_connected() {
    let scene = Scene::unopened(ALONE).await;
    assert!(!scene.hooks.are_open());
    assert_eq!(scene.look("/readyz").await, 200);
    assert!(scene.hooks.are_open());
    // A table that the pipeline doesn't fit takes no event.
    let misfit = Scene::unopened(ALONE).await;
    misfit.execute("CREATE TABLE event (event integer)").await;
    let (status, told) = misfit.read("/readyz").await;
    assert_eq!(status, 503);
    // The table is what must be looked at, not the way to the store.
    assert!(told.contains("\"L0201\"") && told.contains("table `event`"), "{told}");
    assert!(!told.contains("can't be reached"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_goes_and_comes_back_loses_no_event() {
    for yaml in both() {
        let scene = Scene::postgres(&yaml).await;
        assert_eq!(scene.sender().await.event("a", "{\"amount\":1}").await.short(), "200 processed");
        // From the database itself nobody can shut it.
        let (_elsewhere, operator) = outside().await;
        let_in(&scene, &operator, false).await;
        let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
        operator.query(all, &[&scene.database().name()]).await.unwrap();
        let answer = scene.sender().await.event("b", "{\"amount\":1}").await;
        assert_eq!((answer.status, &answer.body["retry"]), (503, &"same_key".into()), "{}", answer.text);
        let_in(&scene, &operator, true).await;
        is_taken_at_last(&scene, "b").await;
        assert_eq!(scene.column("SELECT event FROM event ORDER BY event").await, ["a", "b"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_commit_that_is_lost_is_resolved_before_the_sender_is_told() {
    for yaml in both() {
        let (scene, proxy) = Scene::through_proxy(&yaml).await;
        assert_eq!(scene.sender().await.event("a", "{\"amount\":1}").await.short(), "200 processed");
        // An event alone is one statement, which commits itself.
        let cut = proxy.arm(Fault::CutAfterStatement("INSERT INTO landonce.inbox".to_owned()));
        let answer = scene.sender().await.event("b", "{\"amount\":1}").await;
        assert_eq!(cut.fired(), 1);
        assert_eq!(answer.short(), "200 processed");
        assert_eq!(answer.body["commit"], "recovered");
        assert_eq!(scene.sender().await.event("b", "{\"amount\":1}").await.short(), "200 duplicate");
        assert_eq!(scene.column("SELECT event FROM event ORDER BY event").await, ["a", "b"]);
    }
}
