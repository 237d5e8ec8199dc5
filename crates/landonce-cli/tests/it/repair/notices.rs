//! Notices that went out twice, or in error: one correction per recipient names them all, and nothing is corrected twice (J9).

use super::Scene;

const PIPELINE: &str = "
pipeline: parcels
identity: [id]
target: {table: parcel, columns: {id: integer, price: 'numeric(12,2)'}}
";

/// A message that was sent: its id's last digits, its entity, kind and payload.
struct Sent(u32, &'static str, &'static str, &'static str);

fn id(nth: u32) -> String {
    format!("00000000-0000-8000-8000-{nth:012}")
}

/// Both stores, with landonce's tables and messages of the topic `zoning` as somebody's pipeline left them.
async fn scenes(messages: &[Sent]) -> [Scene; 2] {
    let scenes = [Scene::sqlite("").await, Scene::postgres("").await];
    for scene in &scenes {
        scene.folder.write("p.yaml", PIPELINE);
        let rows = "{\"id\":1,\"price\":1.50}\n{\"id\":2,\"price\":2}\n";
        scene.folder.write("in.ndjson", rows);
        let ran = scene.folder.run(&["run", "p.yaml", "in.ndjson", "--store", &scene.store()]);
        assert_eq!(ran.code, 0, "{ran}");
        let outbox = outbox(scene);
        for Sent(nth, entity, kind, payload) in messages {
            let (id, lane) = (id(*nth), id(0));
            scene
                .sql(&format!(
                    "INSERT INTO {outbox} (id, producer, topic, lane, entity, kind, payload, state, sent_at) VALUES \
                     ('{id}', 'parcels', 'zoning', '{lane}', '{entity}', '{kind}', '{payload}', 'sent', '2026-03-01T00:00:0{}Z')",
                    nth % 10
                ))
                .await;
        }
    }
    scenes
}

fn outbox(scene: &Scene) -> &'static str {
    if scene.database.is_some() { "landonce.outbox" } else { "landonce_outbox" }
}

async fn corrections(scene: &Scene) -> u64 {
    let sql = format!("SELECT count(*) FROM {} WHERE kind = 'correction'", outbox(scene));
    scene.value(&sql).await.parse().unwrap()
}

/// 2 says what 1 said; 5 says what 3 said, but another thing was said in between; 7 is of another recipient.
const TWICE: [Sent; 7] = [
    Sent(1, r#"{"id":1}"#, "updated", r#"{"to":"ann","zone":"R1","n":9007199254740993}"#),
    Sent(2, r#"{"id":1}"#, "updated", r#"{"to":"ann","zone":"R1","n":9007199254740993}"#),
    Sent(3, r#"{"id":2}"#, "updated", r#"{"to":"bob","zone":"R1"}"#),
    Sent(4, r#"{"id":2}"#, "updated", r#"{"to":"bob","zone":"R2"}"#),
    Sent(5, r#"{"id":2}"#, "updated", r#"{"to":"bob","zone":"R1"}"#),
    Sent(6, r#"{"id":2}"#, "updated", r#"{"to":"bob","zone":"R1"}"#),
    Sent(7, r#"{"id":2}"#, "updated", r#"{"to":"eve","zone":"R1"}"#),
];

const BY_RECIPIENT: [&str; 5] = ["notices", "--topic", "zoning", "--recipient", "to"];

#[tokio::test]
async fn what_was_sent_twice_is_named_in_one_correction_per_recipient() {
    for scene in scenes(&TWICE).await {
        let before = scene.state().await;
        let planned = scene.repair(&BY_RECIPIENT);
        assert_eq!(planned.code, 1, "{planned}");
        for word in
            ["2 notices sent twice", "to ann: one correction", "to bob: one correction", &id(2), &id(6)]
        {
            assert!(planned.stdout.contains(word), "{word}: {planned}");
        }
        for word in [format!("{} updated", id(5)), id(7), "to eve".to_owned()] {
            assert!(!planned.stdout.contains(&word), "{word}: {planned}");
        }
        scene.assert_state(&before).await;

        let applied = scene.repair(&[&BY_RECIPIENT[..], &["--apply"]].concat());
        assert_eq!(applied.code, 0, "{applied}");
        assert_eq!(corrections(&scene).await, 2);
        let payload = format!(
            "SELECT payload FROM {} WHERE kind = 'correction' AND payload LIKE '%\"ann\"%' AND state = 'pending'",
            outbox(&scene)
        );
        let payload: serde_json::Value = serde_json::from_str(&scene.value(&payload).await).unwrap();
        assert_eq!(payload["type"], "zoning.correction");
        assert_eq!(payload["notices"][0]["id"], id(2));
        assert_eq!(payload["notices"][0]["repeats"], id(1));
        assert_eq!(payload["notices"][0]["reason"], "sent_twice");
        assert_eq!(payload["notices"][0]["entity"]["id"], 1);
        assert_eq!(payload["notices"].as_array().unwrap().len(), 1);

        // Whoever asks again finds nothing, and enqueues nothing.
        let after = scene.state().await;
        let again = scene.repair(&[&BY_RECIPIENT[..], &["--apply"]].concat());
        assert_eq!(again.code, 0, "{again}");
        assert!(again.stdout.contains("nothing to correct"), "{again}");
        scene.assert_state(&after).await;
    }
}

#[tokio::test]
async fn what_differs_by_ignored_members_alone_is_the_same() {
    let messages = [
        Sent(1, r#"{"run":"a"}"#, "told", r#"{"parcel":7,"meta":{"at":"1"},"zone":"R1"}"#),
        Sent(2, r#"{"run":"b"}"#, "told", r#"{"parcel":7,"meta":{"at":"2"},"zone":"R1"}"#),
        Sent(3, r#"{"run":"c"}"#, "told", r#"{"parcel":8,"meta":{"at":"2"},"zone":"R1"}"#),
    ];
    for scene in scenes(&messages).await {
        let plain = scene.repair(&["notices", "--topic", "zoning"]);
        assert_eq!(plain.code, 0, "each is about another run: {plain}");
        let told = scene.repair(&[
            "notices", "--topic", "zoning", "--by", "parcel", "--ignore", "meta.at", "--output", "json",
        ]);
        assert_eq!(told.code, 1, "{told}");
        let report = told.json();
        assert_eq!((&report["twice"], &report["status"]), (&1.into(), &"planned".into()), "{report}");
        assert_eq!(report["corrections"][0]["first"][0]["id"], id(2));
    }
}

#[tokio::test]
async fn what_was_told_of_rows_that_are_gone_is_in_error_unless_their_end_was_told() {
    let messages = [
        Sent(1, r#"{"id":1}"#, "inserted", r#"{"a":1}"#),
        Sent(2, r#"{"id":17}"#, "inserted", r#"{"a":2}"#),
        Sent(3, r#"{"id":17}"#, "updated", r#"{"a":3}"#),
        Sent(4, r#"{"id":18}"#, "inserted", r#"{"a":4}"#),
        Sent(5, r#"{"id":18}"#, "deleted", r#"{"a":5}"#),
        Sent(6, r#"{"elsewhere":1}"#, "inserted", r#"{"a":6}"#),
        Sent(7, r#"{"id":2,"price":2}"#, "inserted", r#"{"a":7}"#),
        Sent(8, r#"{"id":2,"price":2.01}"#, "inserted", r#"{"a":8}"#),
    ];
    for scene in scenes(&messages).await {
        let told = scene.repair(&["notices", "p.yaml", "--topic", "zoning", "--apply", "--output", "json"]);
        assert_eq!(told.code, 0, "{told}");
        let report = told.json();
        assert_eq!((&report["in_error"], &report["not_judged"]), (&3.into(), &1.into()), "{report}");
        let first = report["corrections"][0]["first"].as_array().unwrap();
        let named: Vec<&str> = first.iter().map(|notice| notice["id"].as_str().unwrap()).collect();
        assert_eq!(named, [id(2), id(3), id(8)]);
        assert!(first.iter().all(|notice| notice["reason"] == "no_such_row"), "{report}");
        assert_eq!(corrections(&scene).await, 1);
    }
}

#[tokio::test]
async fn two_at_once_correct_once() {
    for scene in scenes(&TWICE).await {
        let store = scene.store();
        let args = Scene::args(&store, &[&BY_RECIPIENT[..], &["--apply"]].concat()).join(" ");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let ran = scene.folder.run(&args.split(' ').collect::<Vec<_>>());
                    assert_eq!(ran.code, 0, "{ran}");
                });
            }
        });
        assert_eq!(corrections(&scene).await, 2);
    }
}

#[tokio::test]
async fn a_database_without_an_outbox_and_a_path_that_is_none_are_refused() {
    for scene in [Scene::sqlite("CREATE TABLE t (a)").await, Scene::postgres("").await] {
        let none = scene.repair(&["notices", "--topic", "zoning"]);
        assert_eq!(none.code, 2, "{none}");
        assert!(none.stderr.contains("there is no outbox here"), "{none}");
        let path = scene.repair(&["notices", "--topic", "zoning", "--by", "a..b"]);
        assert_eq!(path.code, 2, "{path}");
        assert!(path.stderr.contains("is no path into a payload"), "{path}");
    }
}

#[tokio::test]
async fn a_row_that_is_there_is_known_by_whatever_its_key_is_made_of() {
    let columns = "a: integer, b: text, c: 'numeric(12,2)', d: timestamptz, e: date, f: uuid, g: boolean";
    let keys = ["{fields: [a, b, c, d, e, f, g], as: columns}", "{fields: [a, b, c, d, e, f, g]}", "[a, z]"];
    for scene in [Scene::sqlite("").await, Scene::postgres("").await] {
        for (nth, identity) in keys.iter().enumerate() {
            scene.folder.write(
                "p.yaml",
                format!(
                    "pipeline: p{nth}\nidentity: {identity}\ntarget: {{table: t{nth}, columns: {{{columns}}}}}\nnotify: [{{topic: t{nth}}}]\n"
                ),
            );
            let row = r#"{"a":9007199254740993,"b":"it's \"1.50\"","c":1.50,"d":"2026-03-01T05:30:00+01:00","e":"2026-03-01","f":"6F9619FF-8B86-D011-B42D-00C04FC964FF","g":true,"z":"é"}"#;
            scene.folder.write("in.ndjson", format!("{row}\n{}\n", row.replace("993", "992")));
            let ran = scene.folder.run(&["run", "p.yaml", "in.ndjson", "--store", &scene.store()]);
            assert_eq!(ran.code, 0, "{ran}");
            scene.sql(&format!("UPDATE {} SET state = 'sent', sent_at = enqueued_at", outbox(&scene))).await;
            let topic = format!("t{nth}");
            let report = |scene: &Scene| {
                scene.repair(&["notices", "p.yaml", "--topic", &topic, "--output", "json"]).json()
            };
            let found = report(&scene);
            assert_eq!((&found["in_error"], &found["not_judged"]), (&0.into(), &0.into()), "{found}");
            scene.sql(&format!("DELETE FROM t{nth} WHERE a = 9007199254740992")).await;
            let found = report(&scene);
            assert_eq!((&found["in_error"], &found["not_judged"]), (&1.into(), &0.into()), "{found}");
        }
    }
}
