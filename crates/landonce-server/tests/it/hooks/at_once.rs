//! Many senders, or one that sends many times, at the same moment (C43).

use futures_util::future::join_all;
use landonce_testkit::wait::within;

use super::scene::Scene;

const ALONE: &str = "
pipeline: events
identity: {sender_id: event}
target: {table: event, columns: {event: text, amount: integer}}
write: {mode: insert_once}
notify: [{topic: events}]
hook: {scheme: standard, secrets: ['${STANDARD}'], fields: {event: event_id}}
";

fn grouped() -> String {
    ALONE.replace("event_id}}", "event_id}, group: {most: 20}}")
}

async fn fifty_at_once(scene: &Scene, outbox: &str) {
    let mut senders = join_all((0..50).map(|_| scene.sender())).await;
    let posts = senders.iter_mut().map(|sender| sender.event("evt_1", "{\"amount\":7}"));
    let answers = within(60, "fifty answers", join_all(posts)).await;
    let count = |short: &str| answers.iter().filter(|answer| answer.short() == short).count();
    let told: Vec<_> = answers.iter().map(super::scene::Answer::short).collect();
    assert_eq!((count("200 processed"), count("200 duplicate")), (1, 49), "{told:?}");
    assert_eq!(answers.iter().filter(|answer| answer.is_replayed).count(), 49);
    assert_eq!(scene.column("SELECT amount FROM event").await, ["7"]);
    assert_eq!(scene.column(&format!("SELECT count(*) FROM {outbox}")).await, ["1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_clients_post_one_event_at_once_and_one_is_told_that_it_landed() {
    for yaml in [ALONE.to_owned(), grouped()] {
        fifty_at_once(&Scene::postgres(&yaml).await, "landonce.outbox").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_store_takes_one_event_from_fifty_clients_once_too() {
    for yaml in [ALONE.to_owned(), grouped()] {
        fifty_at_once(&Scene::sqlite(&yaml).await, "landonce_outbox").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_committers_that_meet_the_same_events_in_other_orders_never_fail_one() {
    let scene = Scene::postgres(&grouped()).await;
    let mut senders = join_all((0..40).map(|_| scene.sender())).await;
    let posts = senders.iter_mut().enumerate().map(|(at, sender)| async move {
        let mut told = Vec::new();
        for step in 0..10 {
            // Half of them count down.
            let number = if at % 2 == 0 { step } else { 9 - step };
            told.push(
                sender.event(&format!("evt_{number}"), &format!("{{\"amount\":{number}}}")).await.short(),
            );
        }
        told
    });
    let told: Vec<_> = within(120, "four hundred answers", join_all(posts)).await.concat();
    let count = |short: &str| told.iter().filter(|answer| *answer == short).count();
    assert_eq!((count("200 processed"), count("200 duplicate")), (10, 390), "{told:?}");
    assert_eq!(scene.column("SELECT amount FROM event ORDER BY amount").await.len(), 10);
}

#[tokio::test]
async fn a_sender_that_hangs_up_is_told_the_next_time_that_it_landed() {
    for yaml in [ALONE.to_owned(), grouped()] {
        let scene = Scene::postgres(&yaml).await;
        // Another transaction holds the id, so that the event can't land before its sender is gone.
        scene.execute("CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$; CREATE TRIGGER wait BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION wait()").await;
        let holder = scene.database().client().await;
        holder.batch_execute("SELECT pg_advisory_lock(7)").await.unwrap();
        let watcher = scene.database().client().await;
        {
            let mut sender = scene.sender().await;
            let post = sender.event("evt_1", "{\"amount\":7}");
            let waits = landonce_testkit::wait::until(30, "the event to wait for the lock", async || {
                let sql = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = \
                           (SELECT oid FROM pg_database WHERE datname = current_database())";
                (!watcher.query(sql, &[]).await.unwrap().is_empty()).then_some(())
            });
            tokio::select! {
                answer = post => panic!("answered before it could land: {}", answer.text),
                () = waits => {}
            }
        }
        holder.batch_execute("SELECT pg_advisory_unlock(7)").await.unwrap();
        landonce_testkit::wait::until(30, "the event to land", async || {
            (!watcher.query("SELECT 1 FROM event", &[]).await.unwrap().is_empty()).then_some(())
        })
        .await;
        assert_eq!(scene.sender().await.event("evt_1", "{\"amount\":7}").await.short(), "200 duplicate");
    }
}
