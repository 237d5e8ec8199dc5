//! Events that share a transaction share nothing else: each has its own answer and its own failure.

use futures_util::future::join_all;
use landonce_testkit::wait::within;

use super::scene::Scene;

const GROUPED: &str = "
pipeline: events
identity: {sender_id: event}
target: {table: event, columns: {event: text, amount: integer}}
write: {mode: insert_once}
hook: {scheme: standard, secrets: ['${STANDARD}'], fields: {event: event_id}, group: {most: 64}}
";
const BAD: [usize; 3] = [17, 101, 160];

async fn two_hundred_of_which_three_are_bad(scene: &Scene) {
    let mut senders = join_all((0..200).map(|_| scene.sender())).await;
    let posts = senders.iter_mut().enumerate().map(|(at, sender)| async move {
        let amount = if BAD.contains(&at) { "\"much\"".to_owned() } else { at.to_string() };
        sender.event(&format!("evt_{at}"), &format!("{{\"amount\":{amount}}}")).await
    });
    let answers = within(120, "two hundred answers", join_all(posts)).await;
    for (at, answer) in answers.iter().enumerate() {
        let want = if BAD.contains(&at) { "422 L0401" } else { "200 processed" };
        assert_eq!(answer.short(), want, "{at}: {}", answer.text);
        if want == "200 processed" {
            assert_eq!(answer.body["event_id"], format!("evt_{at}"));
            assert_eq!((&answer.body["read"], &answer.body["inserted"]), (&1.into(), &1.into()));
        }
    }
    let rows = scene.column("SELECT event FROM event").await;
    assert_eq!(rows.len(), 197);
    // What failed may come again, mended.
    let mended = scene.sender().await.event("evt_17", "{\"amount\":17}").await;
    assert_eq!(mended.short(), "200 processed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hundred_events_the_three_bad_ones_fail_alone() {
    two_hundred_of_which_three_are_bad(&Scene::postgres(GROUPED).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_an_embedded_store_the_bad_ones_fail_alone_too() {
    two_hundred_of_which_three_are_bad(&Scene::sqlite(GROUPED).await).await;
}

async fn forty_of_which_the_table_refuses_one(rule: &str, code: &str) {
    let scene = Scene::postgres(GROUPED).await;
    scene.execute(rule).await;
    let mut senders = join_all((0..40).map(|_| scene.sender())).await;
    let posts = senders.iter_mut().enumerate().map(|(at, sender)| async move {
        sender.event(&format!("evt_{at}"), &format!("{{\"amount\":{at}}}")).await
    });
    let answers = within(60, "forty answers", join_all(posts)).await;
    for (at, answer) in answers.iter().enumerate() {
        let want = if at == 13 { format!("422 {code}") } else { "200 processed".to_owned() };
        assert_eq!(answer.short(), want, "{at}: {}", answer.text);
    }
    assert_eq!(scene.column("SELECT event FROM event").await.len(), 39);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_the_table_refuses_takes_no_other_with_it() {
    forty_of_which_the_table_refuses_one("ALTER TABLE event ADD CHECK (amount <> 13)", "L0401").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_is_refused_at_the_commit_takes_no_other_with_it() {
    let rule = "CREATE TABLE known (amount bigint PRIMARY KEY);
        INSERT INTO known SELECT n FROM generate_series(0, 39) n WHERE n <> 13;
        ALTER TABLE event ADD FOREIGN KEY (amount) REFERENCES known DEFERRABLE INITIALLY DEFERRED";
    forty_of_which_the_table_refuses_one(rule, "L0602").await;
}
