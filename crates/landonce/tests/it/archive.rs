//! J9: a batch's source bytes are kept before it lands, and what was lost can be applied from them again.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use landonce::archive::{LeftOut, Selection, Step, Way, What};
use landonce::{Batch, Code, Kind, Options, Pipeline, Receipt, Status};
use uuid::Uuid;

use crate::given::{Given, counts, on_every_store, patient};

/// What a pipeline declares beside its archive.
const PLAIN: &str = "identity: [id]\ntarget: {table: t, columns: {n: integer, at: timestamptz}}\n";
const VERSIONED: &str =
    "identity: [id]\ntarget: {table: t, columns: {n: integer, at: timestamptz}}\nwrite: {version: n}\n";

/// A pipeline with an archive in a folder of its own.
struct Kept {
    pipeline: Pipeline,
    folder: tempfile::TempDir,
}

fn kept(yaml: &str) -> Kept {
    kept_by(yaml, "")
}

fn kept_by(yaml: &str, policy: &str) -> Kept {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("archive");
    let yaml = format!("pipeline: p\n{yaml}archive: {{to: '{}'{policy}}}\n", to.display());
    Kept { pipeline: Pipeline::from_yaml(&yaml).unwrap(), folder }
}

impl Kept {
    /// Every file of the archive, its bytes and its time.
    fn files(&self) -> Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)> {
        fn walk(folder: &Path, into: &mut Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)>) {
            let Ok(entries) = std::fs::read_dir(folder) else { return };
            for entry in entries {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, into);
                } else {
                    let bytes = std::fs::read(&path).unwrap();
                    let modified = path.metadata().unwrap().modified().unwrap();
                    into.push((path, bytes, modified));
                }
            }
        }
        let mut files = Vec::new();
        walk(self.folder.path(), &mut files);
        files.sort();
        files
    }

    fn blobs(&self) -> usize {
        self.files().iter().filter(|(path, ..)| path.to_string_lossy().contains("/blobs/")).count()
    }

    async fn deliver(&self, given: &Given, id: &str, lines: &str) -> Receipt {
        self.try_deliver(given, id, lines).await.unwrap()
    }

    async fn try_deliver(&self, given: &Given, id: &str, lines: &str) -> Result<Receipt, landonce::Error> {
        given.deliver_batch(&self.pipeline, &Batch::from_bytes("events.ndjson", lines).with_id(id)).await
    }

    /// Applies all of a replay; the receipts of what was applied.
    async fn replay(
        &self,
        given: &Given,
        selection: &Selection,
        way: &Way,
    ) -> Result<Vec<Receipt>, landonce::Error> {
        let run_id = Uuid::now_v7();
        let replay = self.pipeline.replay(&given.store, selection, way, run_id).await?;
        let options = Options { run_id: Some(run_id), ..patient() };
        let mut receipts = Vec::new();
        for step in replay.steps() {
            receipts.extend(replay.apply(&given.store, step, &options).await?);
        }
        Ok(receipts)
    }
}

fn all() -> Selection {
    Selection::default()
}

fn one(id: &str) -> Selection {
    Selection { batch_id: Some(id.into()), ..Selection::default() }
}

/// A table's rows but for what the run has put there.
async fn rows(given: &Given, table: &str) -> Vec<String> {
    let text = if given.is_postgres() { "to_char(at AT TIME ZONE 'UTC', 'YYYYMMDDHH24MI')" } else { "at" };
    given
        .column(&format!(
            "SELECT cast(payload AS text) || ' ' || coalesce(cast(n AS text), '-') || ' ' || coalesce({text}, '-') || ' ' || \
             cast(landonce_revision AS text) FROM {table} ORDER BY 1"
        ))
        .await
}

on_every_store!(
    a_redelivery_writes_nothing_to_the_archive_either,
    a_batch_whose_bytes_cannot_be_kept_does_not_land,
    what_never_landed_lands_by_a_replay_once,
    another_table_gets_what_has_landed,
    an_older_batch_does_not_win_over_a_newer_one,
    damaged_bytes_are_not_applied,
    the_content_that_landed_is_the_one_applied,
    kept_records_are_archived_and_applied_as_what_they_are,
    a_batch_the_sender_may_still_deliver_is_not_forgotten,
    a_plan_keeps_nothing,
    a_periods_last_load_is_the_one_applied,
    snapshots_are_applied_in_their_order,
    what_was_proven_beside_the_payload_is_applied_without_it,
);

async fn a_redelivery_writes_nothing_to_the_archive_either(given: Given) {
    let kept = kept(PLAIN);
    kept.deliver(&given, "a", "{\"id\":1,\"n\":1}").await;
    let files = kept.files();
    assert_eq!((files.len(), kept.blobs()), (2, 1));
    let again = kept.deliver(&given, "a", "{\"id\":1,\"n\":1}").await;
    assert_eq!(again.status, Status::SkippedDuplicate);
    assert!(kept.files() == files);
    // Equal bytes under another id are another batch and the same blob.
    kept.deliver(&given, "b", "{\"id\":1,\"n\":1}").await;
    assert_eq!((kept.files().len(), kept.blobs()), (3, 1));
}

async fn a_batch_whose_bytes_cannot_be_kept_does_not_land(given: Given) {
    let kept = kept(PLAIN);
    std::fs::write(kept.folder.path().join("archive"), "a file where the folder should be").unwrap();
    let error = kept.try_deliver(&given, "a", "{\"id\":1,\"n\":1}").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::Archive, Code::L0811), "{error}");
    assert!(
        error.to_string().contains("batch `a` can't be archived, so the batch was not landed"),
        "{error}"
    );
    assert_eq!(given.count(&given.system("inbox")).await, 0);
    assert_eq!(given.count("t").await, 0);
    std::fs::remove_file(kept.folder.path().join("archive")).unwrap();
    assert_eq!(kept.deliver(&given, "a", "{\"id\":1,\"n\":1}").await.status, Status::Processed);
}

async fn what_never_landed_lands_by_a_replay_once(given: Given) {
    let kept = kept(PLAIN);
    kept.deliver(&given, "a", "{\"id\":1,\"n\":1}").await;
    // The second one is kept, and refused for a bad record: the pipeline was wrong.
    let error = kept.try_deliver(&given, "b", "{\"id\":2,\"n\":\"two\"}").await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecords);
    let mended = Kept {
        pipeline: Pipeline::from_yaml(&format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{n: integer}}}}\non_bad_record: {{quarantine: {{max: 9}}}}\narchive: '{}'",
            kept.folder.path().join("archive").display()
        ))
        .unwrap(),
        folder: kept.folder,
    };
    let receipts = mended.replay(&given, &all(), &Way::Missing).await.unwrap();
    let told: Vec<_> = receipts.iter().map(|one| (one.batch_id.as_str(), one.status)).collect();
    assert_eq!(told, [("a", Status::SkippedDuplicate), ("b", Status::Processed)]);
    assert_eq!(counts(&receipts[1]), "read 1, quarantined 1");
    let before = given.state().await;
    let again = mended.replay(&given, &all(), &Way::Missing).await.unwrap();
    assert!(again.iter().all(|one| one.status == Status::SkippedDuplicate), "{again:?}");
    before.assert_same(&given.state().await);
    let error = mended.replay(&given, &one("c"), &Way::Missing).await.unwrap_err();
    assert!(error.code() == Code::L0813 && error.to_string().contains("no batch `c`"), "{error}");
}

async fn another_table_gets_what_has_landed(given: Given) {
    let kept = kept(PLAIN);
    kept.deliver(&given, "a", "{\"id\":1,\"n\":1}\n{\"id\":2,\"n\":1,\"at\":\"2026-11-30T01:00:00+01:00\"}")
        .await;
    kept.try_deliver(&given, "bad", "{\"id\":3,\"n\":\"x\"}").await.unwrap_err();
    kept.deliver(&given, "b", "{\"id\":1,\"n\":2,\"more\":[1,2.50]}").await;
    kept.deliver(&given, "c", "{\"id\":1,\"n\":1}").await;
    let before = rows(&given, "t").await;
    let receipts = kept.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap();
    assert_eq!(receipts.len(), 3, "what never landed is left out");
    assert_eq!(rows(&given, "scratch").await, before);
    assert_eq!(rows(&given, "t").await, before);
    let error = kept.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap_err();
    assert!(error.code() == Code::L0813 && error.to_string().contains("has rows already"), "{error}");
    given.execute("DELETE FROM scratch").await;
    kept.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap();
    assert_eq!(rows(&given, "scratch").await, before, "emptied, it is filled again");
    for own in ["t", "landonce_inbox", "a.b.c", ""] {
        kept.replay(&given, &all(), &Way::Into(own.into())).await.unwrap_err();
    }
    let replay =
        kept.pipeline.replay(&given.store, &all(), &Way::Into("s2".into()), Uuid::now_v7()).await.unwrap();
    let left_out = |step: &&Step| step.what == What::LeftOut(LeftOut::NeverLanded);
    assert_eq!(replay.steps().iter().filter(left_out).count(), 1);
    assert_eq!(kept.blobs(), 4, "what never landed is kept too; a scratch table's batches are not archived");
}

async fn an_older_batch_does_not_win_over_a_newer_one(given: Given) {
    let kept = kept(PLAIN);
    kept.deliver(&given, "old", "{\"id\":1,\"n\":1}").await;
    kept.deliver(&given, "new", "{\"id\":1,\"n\":2}").await;
    let before = rows(&given, "t").await;
    let error = kept.replay(&given, &one("old"), &Way::Again).await.unwrap_err();
    let told = error.to_string();
    assert_eq!(error.code(), Code::L0813);
    assert!(told.contains("`old` is older") && told.contains("`new`") && told.contains("--again"), "{told}");
    assert_eq!(rows(&given, "t").await, before);
    // The newest alone, and all of them in order, leave what there was.
    let newest = kept.replay(&given, &one("new"), &Way::Again).await.unwrap();
    assert_eq!(counts(&newest[0]), "read 1, unchanged 1");
    assert!(newest[0].batch_id.starts_with("replay:new:"), "{}", newest[0].batch_id);
    given.execute("UPDATE t SET n = 77").await; // somebody's mistake
    let again = kept.replay(&given, &all(), &Way::Again).await.unwrap();
    assert_eq!(again.len(), 2);
    assert_eq!(given.column("SELECT n FROM t").await, ["2"]);
    // Replays are no batches in the way of a further one.
    kept.replay(&given, &all(), &Way::Again).await.unwrap();
    assert_eq!(given.column("SELECT n FROM t").await, ["2"]);
    let scratch = kept.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap();
    assert_eq!(scratch.len(), 2);

    // A late one that never landed is as dangerous.
    kept.try_deliver(&given, "late", "{\"id\":1,\"n\":\"x\"}").await.unwrap_err();
    kept.deliver(&given, "newest", "{\"id\":1,\"n\":3}").await;
    assert_eq!(kept.replay(&given, &one("late"), &Way::Missing).await.unwrap_err().code(), Code::L0813);

    // With a version the rows keep the order themselves.
    let other = Given::sqlite();
    let versioned = self::kept(VERSIONED);
    versioned.deliver(&other, "old", "{\"id\":1,\"n\":1}").await;
    versioned.deliver(&other, "new", "{\"id\":1,\"n\":2}").await;
    let stale = versioned.replay(&other, &one("old"), &Way::Again).await.unwrap();
    assert_eq!(counts(&stale[0]), "read 1, stale 1");
}

async fn damaged_bytes_are_not_applied(given: Given) {
    let kept = kept(PLAIN);
    kept.deliver(&given, "a", "{\"id\":1,\"n\":1}\n{\"id\":2,\"n\":1}\n").await;
    given.execute("DROP TABLE t").await;
    let gone = kept.replay(&given, &all(), &Way::Missing).await.unwrap_err();
    assert!(gone.to_string().contains("isn't there, though batches have landed in it"), "{gone}");
    let (blob, bytes, _) =
        kept.files().into_iter().find(|(path, ..)| path.to_string_lossy().contains("/blobs/")).unwrap();
    for damaged in [bytes[..bytes.len() - 1].to_vec(), [&bytes[..], b"x"].concat()] {
        std::fs::write(&blob, damaged).unwrap();
        let error = kept.replay(&given, &all(), &Way::Again).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (Kind::Archive, Code::L0812), "{error}");
    }
    std::fs::remove_file(&blob).unwrap();
    assert_eq!(kept.replay(&given, &all(), &Way::Again).await.unwrap_err().code(), Code::L0812);
    std::fs::write(&blob, bytes).unwrap();
    kept.replay(&given, &all(), &Way::Again).await.unwrap();
    assert_eq!(given.count("t").await, 2, "a dropped table is made anew");
}

async fn the_content_that_landed_is_the_one_applied(given: Given) {
    let kept = kept(PLAIN);
    // The sender's first try under the id was wrong and never landed; the second did.
    kept.try_deliver(&given, "a", "{\"id\":1,\"n\":\"wrong\"}").await.unwrap_err();
    kept.deliver(&given, "a", "{\"id\":1,\"n\":1}").await;
    let replay = kept.pipeline.replay(&given.store, &all(), &Way::Missing, Uuid::now_v7()).await.unwrap();
    let what: Vec<_> = replay.steps().iter().map(|step| &step.what).collect();
    assert!(matches!(what[..], [What::LeftOut(LeftOut::OtherContent), What::Landed(_)]), "{what:?}");
    kept.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap();
    assert_eq!(rows(&given, "scratch").await, rows(&given, "t").await);
    // Another content under an id that has landed is refused before anything is kept.
    let files = kept.files();
    let error = kept.try_deliver(&given, "a", "{\"id\":1,\"n\":5}").await.unwrap_err();
    assert_eq!(error.kind(), Kind::BatchMismatch);
    assert!(kept.files() == files);
}

async fn kept_records_are_archived_and_applied_as_what_they_are(given: Given) {
    let csv = |kind: &str| {
        format!(
            "source: {{format: csv}}\nidentity: [id]\ntarget: {{table: t, columns: {{id: integer, n: {kind}, at: timestamptz}}}}\n\
             on_bad_record: {{quarantine: {{max: 9}}}}\n"
        )
    };
    let kept = kept(&csv("smallint"));
    kept.deliver(&given, "a", "id,n\n1,1\n2,70000\n").await;
    let yaml =
        format!("pipeline: p\n{}archive: '{}'", csv("integer"), kept.folder.path().join("archive").display());
    given.execute("DROP TABLE t").await;
    let mended = Kept { pipeline: Pipeline::from_yaml(&yaml).unwrap(), folder: kept.folder };
    let retried = mended.pipeline.retry_quarantine(&given.store, &patient()).await.unwrap().unwrap();
    assert_eq!((retried.entries, retried.landed), (1, 1));
    let found = mended.pipeline.archive().unwrap().list("p", None, None).await.unwrap();
    assert_eq!(found.len(), 2);
    assert!(found[1].batch_id.starts_with("quarantine/"), "{}", found[1].batch_id);
    let receipts = mended.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap();
    assert_eq!(counts(&receipts[1]), "read 1, unchanged 1", "the first one lands whole by now");
    assert_eq!(given.column("SELECT n FROM scratch ORDER BY 1").await, ["1", "70000"]);
}

async fn a_batch_the_sender_may_still_deliver_is_not_forgotten(given: Given) {
    let kept = kept_by(PLAIN, ", keep_for: 60d, retry_window: 40d");
    kept.deliver(&given, "a", "{\"id\":1,\"n\":1}").await;
    kept.try_deliver(&given, "bad", "{\"id\":3,\"n\":\"x\"}").await.unwrap_err();
    let prune = async |days: i64, takes_never_landed: bool, is_applied: bool| {
        let now = Timestamp::now() + SignedDuration::from_hours(24 * days);
        kept.pipeline.prune_archive(&given.store, now, takes_never_landed, is_applied).await.unwrap()
    };
    let files = kept.files();
    let young = prune(39, true, true).await;
    assert_eq!((young.may_be_retried, young.young, young.forgotten.len()), (2, 0, 0));
    let later = prune(59, true, true).await;
    assert_eq!((later.may_be_retried, later.young, later.forgotten.len()), (0, 2, 0));
    let dry = prune(61, false, false).await;
    assert_eq!((dry.forgotten.len(), dry.never_landed.len()), (1, 1));
    assert!(kept.files() == files, "nothing was written so far");

    let done = prune(61, false, true).await;
    assert_eq!((done.forgotten[0].batch_id.as_str(), done.never_landed[0].batch_id.as_str()), ("a", "bad"));
    assert_eq!(prune(100, false, true).await.swept.deleted.len(), 1);
    let left = kept.pipeline.archive().unwrap().list("p", None, None).await.unwrap();
    assert_eq!(left.len(), 1, "what never landed has nothing but its bytes");
    assert_eq!(prune(100, true, true).await.forgotten.len(), 1);
    // What was forgotten is still known to have landed.
    assert_eq!(kept.deliver(&given, "a", "{\"id\":1,\"n\":1}").await.status, Status::SkippedDuplicate);
}

async fn a_plan_keeps_nothing(given: Given) {
    let kept = kept(PLAIN);
    let batch = Batch::from_bytes("events.ndjson", "{\"id\":1,\"n\":1}");
    kept.pipeline.preview(&given.store, &batch, 1).await.unwrap();
    assert!(kept.files().is_empty());
}

async fn a_periods_last_load_is_the_one_applied(given: Given) {
    let kept = kept(
        "identity: [id]\ntarget: {table: t, columns: {id: integer, n: integer, day: date}}\n\
         write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}\n",
    );
    let load = async |day: &str, lines: &[(i32, i32)]| {
        let text: String =
            lines.iter().map(|(id, n)| format!("{{\"id\":{id},\"n\":{n},\"day\":\"{day}\"}}\n")).collect();
        let batch = Batch::from_bytes("orders.ndjson", text);
        given.deliver_batch(&kept.pipeline.in_period(day).unwrap(), &batch).await.unwrap()
    };
    let rows =
        async |table: &str| given.column(&format!("SELECT id * 100 + n FROM {table} ORDER BY 1")).await;
    load("2026-03-01", &[(1, 1), (2, 1)]).await;
    load("2026-03-02", &[(3, 1)]).await;
    let files = kept.files();
    assert_eq!(load("2026-03-02", &[(3, 1)]).await.status, Status::SkippedDuplicate);
    assert!(kept.files() == files, "a redelivery keeps nothing again");
    load("2026-03-01", &[(1, 2)]).await;
    let after = rows("t").await;
    assert_eq!(after, ["102", "301"]);
    let manifests = kept.pipeline.archive().unwrap().list("p", None, None).await.unwrap();
    let told: Vec<_> =
        manifests.iter().map(|one| (one.batch_id.as_str(), one.period.as_deref().unwrap())).collect();
    assert_eq!(
        told,
        [("2026-03-01#1", "2026-03-01"), ("2026-03-02#1", "2026-03-02"), ("2026-03-01#2", "2026-03-01")]
    );

    // Of the first day's loads the second counts; the other day has nobody in its way.
    let error = kept.replay(&given, &one("2026-03-01#1"), &Way::Again).await.unwrap_err();
    assert!(error.code() == Code::L0813 && error.to_string().contains("2026-03-01#2"), "{error}");
    given.execute("DELETE FROM t").await;
    kept.replay(&given, &one("2026-03-02#1"), &Way::Again).await.unwrap();
    assert_eq!(rows("t").await, ["301"], "the same payload is applied, since rows are lost");
    for _ in 0..2 {
        assert_eq!(kept.replay(&given, &all(), &Way::Again).await.unwrap().len(), 2);
        assert_eq!(rows("t").await, after);
    }
    kept.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap();
    assert_eq!(rows("scratch").await, after);
    let skipped = kept.replay(&given, &all(), &Way::Missing).await.unwrap();
    assert!(skipped.iter().all(|one| one.status == Status::SkippedDuplicate), "{skipped:?}");

    // Another database knows nothing of it yet.
    let fresh = Given::sqlite();
    kept.replay(&fresh, &all(), &Way::Missing).await.unwrap();
    assert_eq!(fresh.column("SELECT id * 100 + n FROM t ORDER BY 1").await, after);
}

async fn snapshots_are_applied_in_their_order(given: Given) {
    let kept = kept(
        "source: {format: json, complete: json_closed}\nidentity: [id]\ntarget: {table: t, columns: {id: integer, n: integer}}\n\
         write: {mode: snapshot, absent: delete}\n",
    );
    let load = async |text: &str| {
        let receipt =
            given.deliver_batch(&kept.pipeline, &Batch::from_bytes("all.json", text)).await.unwrap();
        assert_eq!(receipt.status, Status::Processed, "{receipt:?}");
    };
    let rows =
        async |table: &str| given.column(&format!("SELECT id * 100 + n FROM {table} ORDER BY 1")).await;
    let all_of = |first: i32| {
        let records = (1..=6).map(|id| format!("{{\"id\":{id},\"n\":{}}}", if id == 1 { first } else { 1 }));
        format!("[{}]", records.collect::<Vec<_>>().join(","))
    };
    load(&all_of(1)).await;
    load(&all_of(2)).await;
    let after = rows("t").await;
    let first = kept.pipeline.archive().unwrap().list("p", None, None).await.unwrap().remove(0);
    let error = kept.replay(&given, &one(&first.batch_id), &Way::Again).await.unwrap_err();
    assert_eq!(error.code(), Code::L0813, "{error}");
    // More is gone than a snapshot may bring back without a person's word; but these have been weighed.
    given.execute("DELETE FROM t").await;
    for _ in 0..2 {
        kept.replay(&given, &all(), &Way::Again).await.unwrap();
        assert_eq!(rows("t").await, after);
    }
    kept.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap();
    assert_eq!(rows("scratch").await, after);
}

async fn what_was_proven_beside_the_payload_is_applied_without_it(given: Given) {
    let kept = kept(&format!("source: {{complete: {{checksum: {{file: '{{file}}.sha256'}}}}}}\n{PLAIN}"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.ndjson");
    std::fs::write(&file, "{\"id\":1,\"n\":1}\n").unwrap();
    let batch = Batch::from_file(&file).unwrap();
    given.deliver_batch(&kept.pipeline, &batch).await.unwrap_err();
    std::fs::write(folder.path().join("a.ndjson.sha256"), format!("{}  a.ndjson\n", batch.id())).unwrap();
    given.deliver_batch(&kept.pipeline, &batch).await.unwrap();
    drop(folder);
    kept.replay(&given, &all(), &Way::Again).await.unwrap();
    kept.replay(&given, &all(), &Way::Into("scratch".into())).await.unwrap();
    assert_eq!(rows(&given, "scratch").await, rows(&given, "t").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callers_transaction_keeps_the_bytes_of_what_it_lands() {
    let given = Given::sqlite();
    let kept = kept(PLAIN);
    given.store.set_up(&kept.pipeline).await.unwrap();
    let mut connection = rusqlite::Connection::open(given.sqlite_path()).unwrap();
    let batch = Batch::from_bytes("e.ndjson", "{\"id\":1}");
    let mut files = Vec::new();
    for (at, status) in [Status::Processed, Status::SkippedDuplicate].into_iter().enumerate() {
        let mut transaction = connection.transaction().unwrap();
        let receipt = kept.pipeline.ingest_in(&mut transaction, &batch, &Options::default()).await.unwrap();
        assert_eq!(receipt.status, status);
        transaction.commit().unwrap();
        assert_eq!(kept.blobs(), 1);
        if at == 0 { files = kept.files() } else { assert!(files == kept.files()) }
    }
    drop(connection);

    let postgres = Given::postgres().await;
    let kept = self::kept(PLAIN);
    postgres.store.set_up(&kept.pipeline).await.unwrap();
    let mut client = postgres.database().client().await;
    let mut transaction = client.transaction().await.unwrap();
    kept.pipeline.ingest_in(&mut transaction, &batch, &Options::default()).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(kept.blobs(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twins_keep_one_blob_and_land_once() {
    let given = Given::postgres().await;
    let kept = kept(PLAIN);
    let batch = Batch::from_bytes("events.ndjson", "{\"id\":1,\"n\":1}\n".repeat(2000)).with_id("a");
    let tasks: Vec<_> = (0..6)
        .map(|_| {
            let (store, pipeline, batch) = (given.store.clone(), kept.pipeline.clone(), batch.clone());
            tokio::spawn(async move { pipeline.ingest_with(&store, &batch, &patient()).await })
        })
        .collect();
    let mut landed = 0;
    for task in tasks {
        landed += u32::from(task.await.unwrap().unwrap().status == Status::Processed);
    }
    assert_eq!((landed, kept.blobs(), kept.files().len()), (1, 1, 2));
}

#[test]
fn a_relative_place_is_beside_the_pipeline_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("p.yaml");
    std::fs::write(&file, "pipeline: p\nidentity: [id]\ntarget: {table: t}\narchive: kept/here\n").unwrap();
    let pipeline = Pipeline::from_file(&file).unwrap();
    let error = pipeline.archive().unwrap_err();
    assert_eq!(error.code(), Code::L0811);
    assert!(error.to_string().contains(&folder.path().join("kept/here").display().to_string()), "{error}");
    let without = Pipeline::from_yaml("pipeline: p\nidentity: [id]\ntarget: {table: t}\n").unwrap();
    assert!(without.archive().unwrap_err().to_string().contains("declares no archive"));
}
