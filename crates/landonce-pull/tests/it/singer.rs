//! A Singer tap's records land with the state before which they stand, once (F4, C37): also of a tap that dies.

use std::path::Path;

use crate::given::{Target, counts, pipeline};

/// A pipeline that runs the tap of this folder, in a folder of the test's.
fn tap(folder: &Path, config: &str, singer: &str, more: &str) -> landonce::Pipeline {
    let python = std::env::var("LANDONCE_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    std::fs::write(folder.join("config.json"), config).unwrap();
    pipeline(&format!(
        "pipeline: users\nidentity: [id]\ntarget: {{table: users, columns: {{id: integer, name: text}}}}\nsource:\n  command:\n    run: ['{python}', '{}/tests/it/singer/tap.py']\n    \
         folder: '{}'\n    singer: {{stream: users, config: config.json{singer}}}\n{more}",
        env!("CARGO_MANIFEST_DIR"),
        folder.display()
    ))
}

/// What the tap was handed, run by run.
fn states(folder: &Path) -> Vec<String> {
    std::fs::read_to_string(folder.join("states")).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_state_comes_back_to_the_tap_and_nothing_new_lands_nothing() {
    for target in Target::both().await {
        let folder = tempfile::tempdir().unwrap();
        let thirty = tap(folder.path(), r#"{"rows": 30, "state_every": 10}"#, "", "");
        assert_eq!(counts(&target.fetch(&thirty).await.unwrap()), [30, 30, 0, 0]);
        let state = target.state().await;
        assert_eq!(target.fetch(&thirty).await.unwrap().len(), 0);
        state.assert_same(&target.state().await);
        // Behind the last state of 33 rows three more came; they come again.
        let more = tap(folder.path(), r#"{"rows": 33, "state_every": 10}"#, "", "");
        assert_eq!(counts(&target.fetch(&more).await.unwrap()), [3, 3, 0, 0]);
        let more = tap(folder.path(), r#"{"rows": 41, "state_every": 10}"#, "", "");
        assert_eq!(counts(&target.fetch(&more).await.unwrap()), [11, 8, 0, 3]);
        assert_eq!(
            states(folder.path()),
            [
                "[{}, null]",
                r#"[{"last": 30}, "0o600"]"#,
                r#"[{"last": 30}, "0o600"]"#,
                r#"[{"last": 30}, "0o600"]"#
            ]
        );
    }
}

#[tokio::test]
async fn of_a_tap_that_dies_stands_what_came_before_its_last_state() {
    for target in Target::both().await {
        let folder = tempfile::tempdir().unwrap();
        let dying = tap(folder.path(), r#"{"rows": 40, "state_every": 10, "die_at": 26}"#, "", "");
        let told = target.fetch(&dying).await.unwrap_err();
        assert!(told.to_string().contains("exit code 7; its last words:\n  the tap dies"), "{told}");
        let babbling = tap(folder.path(), r#"{"rows": 40, "state_every": 10, "babble_at": 35}"#, "", "");
        let told = target.fetch(&babbling).await.unwrap_err();
        assert!(told.to_string().contains("isn't a Singer message"), "{told}");
        let whole = tap(folder.path(), r#"{"rows": 40, "state_every": 10}"#, "", "");
        assert_eq!(counts(&target.fetch(&whole).await.unwrap()), [10, 10, 0, 0], "20 and 10 had landed");
        assert_eq!(
            states(folder.path()),
            ["[{}, null]", r#"[{"last": 20}, "0o600"]"#, r#"[{"last": 30}, "0o600"]"#]
        );
        // As if nothing had ever failed, but for the batches.
        let clean = tempfile::tempdir().unwrap();
        let other = Target::sqlite();
        other.fetch(&tap(clean.path(), r#"{"rows": 40, "state_every": 10}"#, "", "")).await.unwrap();
        if target.url.starts_with("sqlite") {
            let rows = "SELECT id, name, landonce_revision FROM users ORDER BY id";
            assert_eq!(target.rows(rows), other.rows(rows));
        }
    }
}

#[tokio::test]
async fn pieces_end_at_states() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::sqlite();
    let cut = tap(folder.path(), r#"{"rows": 45, "state_every": 10}"#, "", "  batch: {records: 15}\n");
    let receipts = target.fetch(&cut).await.unwrap();
    let read: Vec<u64> = receipts.iter().map(|receipt| receipt.outcome.read).collect();
    assert_eq!(read, [20, 20, 5]);
    // Stopped behind the first piece, it goes on behind that piece's state.
    let target = Target::sqlite();
    assert_eq!(counts(&target.fetch_until(&cut, 1).await.unwrap()), [20, 20, 0, 0]);
    assert_eq!(counts(&target.fetch(&cut).await.unwrap()), [25, 25, 0, 0]);
}

#[tokio::test]
async fn what_a_tap_says_is_held_against_what_the_pipeline_declares() {
    let folder = tempfile::tempdir().unwrap();
    for (config, singer, want) in [
        (r#"{"rows": 3, "state_every": 9, "keys": ["id", "region"]}"#, "", "would become one row"),
        (r#"{"rows": 3, "state_every": 9, "others": ["orders"]}"#, "", "gives the stream `orders`"),
        (r#"{"rows": 3, "state_every": 9, "babble_at": 2}"#, "", "line 3 of its output"),
    ] {
        let target = Target::sqlite();
        let told = target.fetch(&tap(folder.path(), config, singer, "")).await.unwrap_err().to_string();
        assert!(told.contains(want), "{config}: {told}");
        assert_eq!(target.rows("SELECT count(*) FROM landonce_inbox"), [["0"]]);
    }
    let config = r#"{"rows": 3, "state_every": 9, "others": ["orders"]}"#;
    let ignoring = tap(folder.path(), config, ", ignore: [orders]", "");
    assert_eq!(counts(&Target::sqlite().fetch(&ignoring).await.unwrap()), [3, 3, 0, 0]);
    let config = r#"{"rows": 3, "state_every": 9, "keys": ["path", "line"]}"#;
    let ignoring = tap(folder.path(), config, ", ignore_keys: true", "");
    assert_eq!(counts(&Target::sqlite().fetch(&ignoring).await.unwrap()), [3, 3, 0, 0]);
}
