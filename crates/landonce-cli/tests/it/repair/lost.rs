//! Rows that a truncated payload took away: found by the load that fell short, and brought back.

use super::Scene;
use crate::folder::Ran;

/// Anything may be released; what is absent is retired, or deleted.
fn pipeline(absent: &str, more: &str) -> String {
    format!(
        "pipeline: parcels\nsource: {{complete: json_closed}}\nidentity: [id]\narchive: archive\n\
         target: {{table: parcel, columns: {{id: integer, owner: text}}}}\n\
         write: {{mode: snapshot, absent: {absent}, plausible: {{rows: 20%}}{more}}}\n"
    )
}

/// A whole payload of these parcels.
fn payload(ids: impl IntoIterator<Item = u32>) -> String {
    let records: Vec<String> =
        ids.into_iter().map(|id| format!("{{\"id\":{id},\"owner\":\"O{id}\"}}")).collect();
    format!("[{}]", records.join(","))
}

fn run(scene: &Scene, args: &[&str]) -> Ran {
    let store = scene.store();
    scene.folder.run(&[args, &["--store", &store]].concat())
}

/// Lands a payload; one that is held is released.
fn land(scene: &Scene, ids: impl IntoIterator<Item = u32>) {
    scene.folder.write("in.json", payload(ids));
    let ran = run(scene, &["run", "parcels.yaml", "--input", "in.json"]);
    if ran.code != 0 {
        assert!(format!("{ran}").contains("held"), "{ran}");
        let released = run(scene, &["held", "release", "parcels.yaml"]);
        assert_eq!(released.code, 0, "{released}");
    }
}

/// Both stores: ten parcels, of which 10 goes rightly, then the payload is cut off behind the fifth.
async fn truncated(absent: &str, more: &str) -> [Scene; 2] {
    let scenes = [Scene::sqlite("").await, Scene::postgres("").await];
    for scene in &scenes {
        scene.folder.write("parcels.yaml", pipeline(absent, more));
        land(scene, 1..=10);
        land(scene, 1..=9);
        land(scene, 1..=5);
    }
    scenes
}

const LOST: [&str; 2] = ["lost", "parcels.yaml"];
const THERE: &str = "SELECT count(*) FROM parcel WHERE landonce_retired_at IS NULL";

#[tokio::test]
async fn exactly_the_rows_that_the_truncated_load_retired_come_back() {
    for scene in truncated("retire", "").await {
        scene
            .round_trip(&LOST, async |scene| {
                assert_eq!(scene.value(THERE).await, "9");
                let rightly = "SELECT count(*) FROM parcel WHERE id = 10 AND landonce_retired_by IS NOT NULL";
                assert_eq!(scene.value(rightly).await, "1", "another load's row stays retired");
                let counted =
                    "SELECT count(*) FROM parcel WHERE id BETWEEN 6 AND 9 AND landonce_revision = 3";
                assert_eq!(scene.value(counted).await, "4");
            })
            .await;
    }
}

#[tokio::test]
async fn the_plan_tells_the_load_and_its_rows() {
    for scene in truncated("retire", ", history: true").await {
        let told = scene.repair(&LOST);
        for word in [
            "5 records",
            "median of the 2 loads before is 9",
            "released by a person",
            "retired 4 rows",
            "id=6",
        ] {
            assert!(told.stdout.contains(word), "{word}: {told}");
        }
        let json = scene.repair(&[&LOST[..], &["--output", "json", "--limit", "2"]].concat());
        assert_eq!(json.code, 1);
        let json = json.json();
        assert_eq!((&json["status"], &json["loads"]), (&"planned".into(), &3.into()));
        let load = &json["findings"][0];
        assert_eq!((&load["read"], &load["median"], &load["lost"]), (&5.into(), &9.into(), &4.into()));
        assert_eq!(load["first_rows"].as_array().unwrap().len(), 2);
        assert!(json["notes"][0].as_str().unwrap().contains("history"));
        // A load that is named is taken at a person's word; one that isn't there is an error.
        let run = scene.value("SELECT landonce_retired_by FROM parcel WHERE id = 10").await;
        let named = scene.repair(&[&LOST[..], &["--load", &run, "--output", "json"]].concat()).json();
        assert_eq!(named["findings"][0]["lost"], 1);
        let none = "0190b6f2-0000-7000-8000-000000000001";
        assert_eq!(scene.repair(&[&LOST[..], &["--load", none]].concat()).code, 2);
        // Nine to five is no more than half.
        assert_eq!(scene.repair(&[&LOST[..], &["--share", "50%"]].concat()).code, 0);
    }
}

#[tokio::test]
async fn what_a_full_load_since_does_not_have_is_rightly_gone() {
    for scene in truncated("retire", "").await {
        land(&scene, 1..=8);
        let clean = scene.repair(&[&LOST[..], &["--apply"]].concat());
        assert_eq!(clean.code, 0, "{clean}");
        assert!(clean.stdout.contains("nothing is lost"), "{clean}");
        assert_eq!(scene.value(THERE).await, "8");
    }
}

#[tokio::test]
async fn deleted_rows_come_from_a_full_payload_or_the_archive() {
    for from_archive in [false, true] {
        for scene in truncated("delete", "").await {
            let before = scene.state().await;
            let refused = scene.repair(&[&LOST[..], &["--apply"]].concat());
            assert_eq!(refused.code, 2, "{refused}");
            assert!(refused.stdout.contains("--from FILE"), "{refused}");
            scene.folder.write("short.json", payload(1..=6));
            // As many records, and none of them of this source.
            scene.folder.write("others.json", payload(9001..=9010));
            let foreign = scene.repair(&[&LOST[..], &["--from", "others.json", "--apply"]].concat());
            assert_eq!(foreign.code, 2, "{foreign}");
            assert!(foreign.stderr.contains("hardly this source's"), "{foreign}");
            let short = scene.repair(&[&LOST[..], &["--from", "short.json", "--apply"]].concat());
            assert_eq!(short.code, 2, "{short}");
            assert!(short.stderr.contains("no full one"), "{short}");
            scene.assert_state(&before).await;

            scene.folder.write("full.json", payload(1..=9));
            let from: &[&str] = if from_archive { &["--from-archive"] } else { &["--from", "full.json"] };
            let planned = scene.repair(&[&LOST[..], from].concat());
            assert_eq!(planned.code, 1, "{planned}");
            scene.assert_state(&before).await;
            let applied = scene.repair(&[&LOST[..], from, &["--apply"]].concat());
            assert_eq!(applied.code, 0, "{applied}");
            assert_eq!(scene.value("SELECT count(*) FROM parcel").await, "9");
            let after = scene.state().await;
            let again = scene.repair(&[&LOST[..], from, &["--apply"]].concat());
            assert_eq!(again.code, 0, "{again}");
            scene.assert_state(&after).await;
        }
    }
}

#[tokio::test]
async fn the_archived_payload_does_not_set_back_what_landed_since() {
    for scene in truncated("delete", "").await {
        land(&scene, 1..=6);
        let refused = scene.repair(&[&LOST[..], &["--from-archive", "--apply"]].concat());
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains("landed since"), "{refused}");
    }
}

#[tokio::test]
async fn a_pipeline_that_takes_nothing_away_has_nothing_to_lose() {
    let scene = Scene::sqlite("").await;
    scene.folder.write("events.yaml", "pipeline: e\nidentity: [id]\ntarget: {table: e}\n");
    let refused = scene.repair(&["lost", "events.yaml"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("take no rows away"), "{refused}");
}

#[cfg(feature = "failpoints")]
#[tokio::test]
async fn killed_at_any_point_all_or_nothing_comes_back() {
    for scene in truncated("retire", "").await {
        let before = scene.state().await;
        for name in landonce::failpoint::REPAIR {
            let store = scene.store();
            let args = Scene::args(&store, &[&LOST[..], &["--apply"]].concat());
            let killed = landonce_testkit::crash::at_failpoint(scene.folder.command(&args), name).await;
            assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
            if *name == "repair_committed" {
                assert_eq!(scene.value(THERE).await, "9");
            } else {
                scene.assert_state(&before).await;
            }
            // A script whose repair never happened changes nothing.
            if *name == "repair_scripted" {
                let script = scene.scripts().into_iter().find(|name| !name.ends_with(".partial")).unwrap();
                let script = std::fs::read_to_string(scene.folder.path(&script)).unwrap();
                let is_refused = match &scene.database {
                    None => rusqlite::Connection::open(scene.folder.path("test.db"))
                        .unwrap()
                        .execute_batch(&script)
                        .is_err(),
                    Some(database) => database.client().await.batch_execute(&script).await.is_err(),
                };
                assert!(is_refused);
                scene.assert_state(&before).await;
            }
        }
        assert_eq!(scene.repair(&[&LOST[..], &["--apply"]].concat()).code, 0);
    }
}
