//! Why a row is so: every delivery of its identity, what was decided, and what can't be known.

use landonce::events::{Event, Inlet, Width};
use landonce::history::{Decision, History, KnownBy};
use landonce::{Batch, Pipeline};

use crate::given::{Given, on_every_store, patient};

/// A pipeline with an archive in a folder of its own.
fn archived(yaml: &str) -> (Pipeline, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("archive");
    let yaml = format!("pipeline: p\n{yaml}\narchive: '{}'\n", to.display());
    (Pipeline::from_yaml(&yaml).unwrap_or_else(|error| panic!("{yaml}: {error}")), folder)
}

async fn why(given: &Given, pipeline: &Pipeline, identity: &[(&str, &str)]) -> History {
    try_why(given, pipeline, identity).await.unwrap()
}

async fn try_why(
    given: &Given,
    pipeline: &Pipeline,
    identity: &[(&str, &str)],
) -> Result<History, landonce::Error> {
    let identity: Vec<(String, String)> =
        identity.iter().map(|(field, text)| ((*field).to_owned(), (*text).to_owned())).collect();
    pipeline.history(&given.store, &identity).await
}

/// `batch: decision` of each delivery, with a star where the row stands as it left it.
fn told(history: &History) -> Vec<String> {
    let told = |one: &landonce::history::Delivery| {
        let decided = one.decided.map_or("?", Decision::as_str);
        format!("{}: {decided}{}", one.batch_id, if one.is_standing { " *" } else { "" })
    };
    history.deliveries.iter().map(told).collect()
}

fn says(history: &History, part: &str) -> bool {
    history.unknown.iter().any(|sentence| sentence.contains(part))
}

async fn deliver(given: &Given, pipeline: &Pipeline, id: &str, lines: &[&str]) {
    given.deliver_as(pipeline, id, lines).await.unwrap();
}

async fn the_archive_tells_every_decision(given: Given) {
    let (pipeline, _folder) = archived(
        "identity: [id]\ntarget: {table: t, columns: {v: integer, n: text}}\n\
         write: {version: v}\non_bad_record: {quarantine: {max: 100%}}",
    );
    let other = r#"{"id":"other","v":1,"n":"x"}"#;
    for (id, lines) in [
        ("b1", &[r#"{"id":"a","v":1,"n":"one"}"#, other][..]),
        ("b2", &[r#"{"id":"a","v":1,"n":"one"}"#, other]),
        ("b3", &[r#"{"id":"a","v":2,"n":"two"}"#, r#"{"id":"a","v":3,"n":"three"}"#, other]),
        ("b4", &[r#"{"id":"a","v":2,"n":"late"}"#, other]),
        ("b5", &[r#"{"id":"a","v":3,"n":"strange"}"#, other]),
        ("b6", &[r#"{"id":"a","v":"no number"}"#, other]),
        ("b7", &[r#"{"id":"elsewhere","v":3,"n":"three"}"#]),
    ] {
        deliver(&given, &pipeline, id, lines).await;
    }
    let history = why(&given, &pipeline, &[("id", "a")]).await;
    assert_eq!(
        told(&history),
        [
            "b1: inserted",
            "b2: unchanged",
            "b3: duplicate in batch",
            "b3: updated *",
            "b4: stale",
            "b5: conflict",
            "b6: quarantined"
        ]
    );
    assert_eq!(history.deliveries[3].record, Some(2));
    assert!(history.deliveries.iter().all(|one| one.source == "events.ndjson"));
    assert_eq!(history.deliveries[1].known_by, KnownBy::Inbox, "all records of it were unchanged");
    assert_eq!(history.deliveries[4].known_by, KnownBy::Archive);
    let row = history.row.as_ref().unwrap();
    assert_eq!((row.revision, row.run_id), (Some(2), Some(history.deliveries[3].run_id)));
    assert!(row.columns.iter().any(|cell| cell.column == "n" && cell.json == r#""three""#));
    // The conflict and the bad one, by their identity alone.
    let kept: Vec<&str> = history.kept.iter().map(|kept| kept.batch_id.as_str()).collect();
    assert_eq!(kept, ["b6", "b5"], "{:?}", history.kept);
    assert!(!says(&history, "changed"), "{:?}", history.unknown);

    let nobody = why(&given, &pipeline, &[("id", "nobody")]).await;
    assert_eq!((nobody.row, nobody.deliveries, nobody.kept), (None, Vec::new(), Vec::new()));
}

async fn a_row_that_was_deleted_and_put_again_is_told(given: Given) {
    let (pipeline, _folder) = archived(
        "identity: [id]\ntarget: {table: t, columns: {n: text, dead: text}}\nwrite: {delete_when: {field: dead, equals: ['yes']}}",
    );
    let other = r#"{"id":"other","n":"x"}"#;
    deliver(&given, &pipeline, "b1", &[r#"{"id":"a","n":"one"}"#, other]).await;
    deliver(&given, &pipeline, "b2", &[r#"{"id":"a","dead":"yes"}"#, other]).await;
    let gone = why(&given, &pipeline, &[("id", "a")]).await;
    assert_eq!(gone.row, None);
    assert_eq!(told(&gone), ["b1: inserted", "b2: deleted"]);
    deliver(&given, &pipeline, "b3", &[r#"{"id":"a","n":"one"}"#, other]).await;
    let again = why(&given, &pipeline, &[("id", "a")]).await;
    assert_eq!(told(&again), ["b1: inserted", "b2: deleted", "b3: inserted *"]);
    assert_eq!(again.row.as_ref().unwrap().revision, Some(1));
}

async fn without_an_archive_the_last_change_is_known_by_the_run(given: Given) {
    let pipeline = crate::given::pipeline("identity: [id]\ntarget: {table: t, columns: {n: text}}");
    deliver(&given, &pipeline, "b1", &[r#"{"id":"a","n":"one"}"#, r#"{"id":"b","n":"one"}"#]).await;
    deliver(&given, &pipeline, "b2", &[r#"{"id":"a","n":"two"}"#, r#"{"id":"c","n":"one"}"#]).await;
    let history = why(&given, &pipeline, &[("id", "a")]).await;
    assert_eq!(told(&history), ["b2: updated *"]);
    assert_eq!(history.deliveries[0].known_by, KnownBy::Run);
    assert!(says(&history, "keeps no archive"), "{:?}", history.unknown);
    assert!(says(&history, "changed 2 times"), "{:?}", history.unknown);
    assert_eq!(told(&why(&given, &pipeline, &[("id", "b")]).await), ["b1: inserted *"]);
    assert_eq!(told(&why(&given, &pipeline, &[("id", "nobody")]).await), Vec::<String>::new());
}

async fn fields_are_read_as_the_columns_say(given: Given) {
    let pipeline = crate::given::pipeline(
        "identity: [n, at, free]\ntarget: {table: t, columns: {n: integer, at: timestamptz}}",
    );
    deliver(&given, &pipeline, "b1", &[r#"{"n":7,"at":"2026-03-01T01:00:00+01:00","free":12}"#]).await;
    deliver(&given, &pipeline, "b2", &[r#"{"n":7,"at":"2026-03-01T00:00:00Z","free":"12.0"}"#]).await;
    for free in ["12", "12.0"] {
        let batch = if free == "12" { "b1" } else { "b2" };
        let at = [("n", "7"), ("at", "2026-03-01T00:00:00.000Z"), ("free", free)];
        assert_eq!(told(&why(&given, &pipeline, &at).await), [format!("{batch}: inserted *")]);
    }
    for (asked, said) in [
        (&[("n", "7")][..], "give at and free as well"),
        (&[("n", "7"), ("at", "soon"), ("free", "x")], "can't be read"),
        (&[("n", "7"), ("x", "1")], "`x` is no field of the identity"),
        (&[("n", "7"), ("n", "8")], "`n` is given twice"),
    ] {
        let error = try_why(&given, &pipeline, asked).await.unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

async fn a_natural_key_is_found_by_its_columns(given: Given) {
    let key = if given.is_postgres() { "PRIMARY KEY" } else { "PRIMARY KEY NOT NULL" };
    given.execute(&format!("CREATE TABLE t (id integer {key}, n text)")).await;
    let pipeline = crate::given::pipeline("identity: {fields: [id], as: columns}\ntarget: {table: t}");
    deliver(&given, &pipeline, "b1", &[r#"{"id":7,"n":"it's"}"#]).await;
    let history = why(&given, &pipeline, &[("id", "7")]).await;
    let row = history.row.as_ref().unwrap();
    assert_eq!((row.run_id, row.revision), (None, None));
    assert_eq!(row.columns[1].json, "\"it's\"");
    assert_eq!(why(&given, &pipeline, &[("id", "8")]).await.row, None);
}

async fn events_are_known_by_their_subject(given: Given) {
    let pipeline = crate::given::pipeline("identity: [id]\ntarget: {table: t, columns: {n: text}}");
    let inlet = Inlet::open(&given.store, &pipeline, Width::default()).await.unwrap();
    for (id, line) in [
        ("e1", r#"{"id":"a","n":"one"}"#),
        ("e2", r#"{"id":"a","n":"one"}"#),
        ("e3", r#"{"id":"a","n":"two"}"#),
        ("e4", r#"{"id":"z","n":"two"}"#),
        ("e2", r#"{"id":"a","n":"one"}"#),
    ] {
        let event = Event { id: Some(id.to_owned()), body: line.into(), source: "a test".to_owned() };
        for landed in inlet.land(vec![event]).await.unwrap() {
            landed.unwrap();
        }
    }
    let history = why(&given, &pipeline, &[("id", "a")]).await;
    assert_eq!(told(&history), ["e1: inserted", "e2: unchanged", "e3: updated *"]);
    assert!(history.deliveries.iter().all(|one| one.known_by == KnownBy::Inbox));
}

async fn rows_that_vanish_and_come_again_are_told(given: Given) {
    let (pipeline, _folder) = archived(
        "identity: [id]\ntarget: {table: t, columns: {n: text}}\nwrite: {mode: snapshot, absent: retire}\nsource: {complete: json_closed}",
    );
    let (a, b) = (r#"{"id":"a","n":"one"}"#, r#"{"id":"b","n":"one"}"#);
    for lines in [&[a, b][..], &[b], &[b], &[a, b]] {
        let mut options = patient();
        options.release = Some(landonce::Release { is_incomplete: true, ..landonce::Release::default() });
        let batch = Batch::from_bytes("all.json", format!("[{}]", lines.join(",")));
        pipeline.ingest_with(&given.store, &batch, &options).await.unwrap();
    }
    let history = why(&given, &pipeline, &[("id", "a")]).await;
    let decided: Vec<&str> =
        history.deliveries.iter().map(|one| one.decided.map_or("?", Decision::as_str)).collect();
    assert_eq!(decided, ["inserted", "retired", "restored"], "{:?}", told(&history));
    assert!(history.deliveries[2].is_standing);
}

async fn a_row_that_somebody_else_has_written_is_told(given: Given) {
    let (pipeline, _folder) = archived("identity: [id]\ntarget: {table: t, columns: {n: text}}");
    deliver(&given, &pipeline, "b1", &[r#"{"id":"a","n":"one"}"#, r#"{"id":"b","n":"one"}"#]).await;
    given.execute("DELETE FROM t WHERE n = 'one'").await;
    let history = why(&given, &pipeline, &[("id", "a")]).await;
    assert_eq!(told(&history), ["b1: inserted"]);
    assert!(says(&history, "something else has deleted it"), "{:?}", history.unknown);
}

async fn its_messages_are_told(given: Given) {
    let pipeline = crate::given::pipeline(
        "identity: [id]\ntarget: {table: t, columns: {n: text}}\nnotify: [{topic: changes, on: [inserted, updated, deleted]}]",
    );
    deliver(&given, &pipeline, "b1", &[r#"{"id":"a","n":"one"}"#, r#"{"id":"b","n":"one"}"#]).await;
    deliver(&given, &pipeline, "b2", &[r#"{"id":"a","n":"two"}"#]).await;
    let history = why(&given, &pipeline, &[("id", "a")]).await;
    let kinds: Vec<(&str, &str)> =
        history.messages.iter().map(|one| (one.kind.as_str(), one.state)).collect();
    assert_eq!(kinds, [("updated", "pending"), ("inserted", "pending")]);
    given.execute("DELETE FROM t").await;
    assert_eq!(why(&given, &pipeline, &[("id", "a")]).await.messages, history.messages);
}

on_every_store!(
    the_archive_tells_every_decision,
    a_row_that_was_deleted_and_put_again_is_told,
    without_an_archive_the_last_change_is_known_by_the_run,
    fields_are_read_as_the_columns_say,
    a_natural_key_is_found_by_its_columns,
    events_are_known_by_their_subject,
    rows_that_vanish_and_come_again_are_told,
    a_row_that_somebody_else_has_written_is_told,
    its_messages_are_told,
);
