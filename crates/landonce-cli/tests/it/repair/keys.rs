//! Keys anew: from a plain SHA-256 of joined texts to the typed key, and back.

use landonce_testkit::fixture::Events;

use super::Scene;

const OLD: &str = "
pipeline: events
identity: {fields: [flight_id, event_kind, instant_utc], joined: '|', as: hex}
target: {table: duty_event, columns: {flight_id: text, event_kind: text, instant_utc: timestamptz}, managed: {key: event_key}}
";

/// The typed key, as hex in the same column, or as it is by default in one of its own.
fn pipeline(is_same_column: bool) -> String {
    let (form, managed) =
        if is_same_column { (", as: hex", ", managed: {key: event_key}") } else { ("", "") };
    format!(
        "pipeline: events-anew\nidentity: {{fields: [flight_id, event_kind, instant_utc]{form}}}\ntarget: {{table: duty_event, columns: \
         {{flight_id: text, event_kind: text, instant_utc: timestamptz}}{managed}}}\n"
    )
}

/// Both stores, with the events delivered by the old pipeline.
async fn scenes(count: u64) -> [Scene; 2] {
    let scenes = [Scene::sqlite("").await, Scene::postgres("").await];
    for scene in &scenes {
        let mut events = Vec::new();
        Events::new(5, count).write_to(&mut events).unwrap();
        scene.folder.write("events.ndjson", events);
        scene.folder.write("old.yaml", OLD);
        scene.folder.write("same.yaml", pipeline(true));
        scene.folder.write("new.yaml", pipeline(false));
        deliver(scene, "old.yaml");
    }
    scenes
}

fn deliver(scene: &Scene, pipeline: &str) -> serde_json::Value {
    let args = ["run", pipeline, "--input", "events.ndjson", "--store", &scene.store(), "--output", "json"];
    let ran = scene.folder.run(&args);
    assert_eq!(ran.code, 0, "{ran}");
    ran.json()
}

const SAME: [&str; 4] = ["keys", "same.yaml", "--old", "old.yaml"];
const NEW: [&str; 4] = ["keys", "new.yaml", "--old", "old.yaml"];

#[tokio::test]
async fn a_redelivery_finds_the_rows_under_their_new_keys() {
    for scene in scenes(60).await {
        scene
            .round_trip(&SAME, async |scene| {
                let planned = scene.folder.run(&[
                    "plan",
                    "same.yaml",
                    "--input",
                    "events.ndjson",
                    "--store",
                    &scene.store(),
                    "--output",
                    "json",
                ]);
                assert!(planned.stdout.contains("\"unchanged\": 60"), "{planned}");
            })
            .await;
    }
}

#[tokio::test]
async fn a_column_of_their_own_is_added_and_taken_away() {
    for scene in scenes(60).await {
        scene
            .round_trip(&NEW, async |scene| {
                let planned = scene.folder.run(&[
                    "plan",
                    "new.yaml",
                    "--input",
                    "events.ndjson",
                    "--store",
                    &scene.store(),
                    "--output",
                    "json",
                ]);
                assert!(planned.stdout.contains("\"unchanged\": 60"), "{planned}");
            })
            .await;
    }
}

#[tokio::test]
async fn an_event_under_an_old_and_a_new_key_is_one_again() {
    for scene in scenes(60).await {
        // The pipeline's declaration was changed without the table: everything landed a second time.
        deliver(&scene, "same.yaml");
        assert_eq!(scene.value("SELECT count(*) FROM duty_event").await, "120");
        let before = scene.state().await;
        let refused = scene.repair(&[&SAME[..], &["--apply"]].concat());
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stdout.contains("--dedupe keeps one of each"), "{refused}");
        scene.assert_state(&before).await;
        let args = [&SAME[..], &["--dedupe"]].concat();
        scene
            .round_trip(&args, async |scene| {
                assert_eq!(scene.value("SELECT count(*) FROM duty_event").await, "60");
                // The first run's rows stay.
                assert_eq!(scene.value("SELECT count(DISTINCT landonce_run_id) FROM duty_event").await, "1");
            })
            .await;
    }
}

#[tokio::test]
async fn old_keys_that_are_not_what_they_should_be_are_listed() {
    for scene in scenes(20).await {
        scene.sql("UPDATE duty_event SET event_key = 'by hand' WHERE event_key = (SELECT min(event_key) FROM duty_event)").await;
        let before = scene.state().await;
        let refused = scene.repair(&[&SAME[..], &["--apply"]].concat());
        assert_eq!(refused.code, 2, "{refused}");
        assert!(
            refused.stdout.contains("by hand is stored") && refused.stdout.contains("--force"),
            "{refused}"
        );
        scene.assert_state(&before).await;
        let json = scene.repair(&[&SAME[..], &["--output", "json"]].concat());
        assert_eq!((json.code, json.json()["unverified"].clone()), (1, 1.into()));
        scene.round_trip(&[&SAME[..], &["--force"]].concat(), async |_| {}).await;
    }
}

#[tokio::test]
async fn what_can_not_be_keyed_anew_is_told() {
    for scene in scenes(3).await {
        scene.folder.write("other.yaml", OLD.replace("duty_event", "other"));
        scene
            .folder
            .write("content.yaml", "pipeline: c\nidentity: {hash_of: all}\ntarget: {table: duty_event}\n");
        scene.folder.write("joined.yaml", OLD.replace("'|'", "'#'"));
        for (pipeline, old, word) in [
            ("same.yaml", "other.yaml", "two tables"),
            ("content.yaml", "old.yaml", "hash of the content"),
            ("joined.yaml", "old.yaml", "no longer has them"),
            ("same.yaml", "new.yaml", "has no column `landonce_key`"),
        ] {
            let ran = scene.repair(&["keys", pipeline, "--old", old]);
            assert_eq!(ran.code, 2, "{ran}");
            assert!(ran.stderr.contains(word), "{word}: {ran}");
        }
    }
}

#[cfg(feature = "failpoints")]
#[tokio::test]
async fn killed_at_any_point_all_keys_are_old_or_all_new() {
    for scene in scenes(30).await {
        let before = scene.state().await;
        for name in landonce::failpoint::REPAIR {
            let store = scene.store();
            let args = Scene::args(&store, &[&NEW[..], &["--apply"]].concat());
            let killed = landonce_testkit::crash::at_failpoint(scene.folder.command(&args), name).await;
            assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
            if *name == "repair_committed" {
                let again = scene.repair(&[&NEW[..], &["--apply"]].concat());
                assert_eq!(again.code, 0, "{again}");
                assert!(again.stdout.contains("nothing to repair"), "{again}");
            } else {
                scene.assert_state(&before).await;
            }
        }
    }
}

#[tokio::test]
async fn twenty_thousand_keys() {
    for scene in scenes(20_000).await {
        scene.round_trip(&SAME, async |_| {}).await;
    }
}
