//! Events (F3, G2, G4, C43): each its own batch, many in one transaction, and the state that the long way leaves.

mod applied;
#[cfg(feature = "failpoints")]
mod crashes;
mod ways;
mod wire;

use landonce::archive::{Selection, Step, Way, What};
use landonce::events::{Event, Inlet, Width};
use landonce::{Error, Kind, Pipeline, Receipt, RetryPolicy, Status};

use crate::given::{Given, counts, on_every_store, patient, pipeline};

on_every_store!(
    fifty_copies_at_once_have_one_winner,
    a_group_lands_and_each_event_has_its_own_answer,
    an_event_that_fails_takes_no_other_with_it,
    another_spelling_is_a_duplicate_and_other_content_is_none,
    an_event_without_an_id_is_known_by_what_it_says,
    a_bad_event_is_kept_where_bad_records_are,
    a_bad_event_that_comes_again_after_the_mend_is_a_duplicate,
    an_archived_event_is_known_to_have_landed_and_is_applied_where_it_has_not,
    versions_are_told_apart_and_a_conflict_is_kept_aside,
    equal_content_under_another_senders_id_is_told,
    a_column_that_comes_later_stops_nothing,
    a_table_that_changed_is_planned_anew,
    changes_are_told_whichever_way_they_land,
    pipelines_that_need_whole_payloads_take_no_events,
);

pub(crate) fn event(id: &str, body: &str) -> Event {
    Event { id: Some(id.to_owned()), body: body.as_bytes().to_vec(), source: "hook".to_owned() }
}

pub(crate) async fn inlet(given: &Given, pipeline: &Pipeline) -> Inlet {
    open(&given.store, pipeline, patient().retry).await
}

pub(crate) async fn open(store: &landonce::Store, pipeline: &Pipeline, retry: RetryPolicy) -> Inlet {
    Inlet::open_with(store, pipeline, Width { connections: 8 }, retry).await.unwrap()
}

pub(crate) async fn land(inlet: &Inlet, events: &[(&str, &str)]) -> Vec<Result<Receipt, Error>> {
    inlet.land(events.iter().map(|(id, body)| event(id, body)).collect()).await.unwrap()
}

pub(crate) async fn land_one(inlet: &Inlet, id: &str, body: &str) -> Result<Receipt, Error> {
    land(inlet, &[(id, body)]).await.pop().unwrap()
}

/// Lands each event in a call of its own, all at once.
pub(crate) async fn at_once(inlet: &Inlet, events: Vec<Event>) -> Vec<Result<Receipt, Error>> {
    let mut tasks = tokio::task::JoinSet::new();
    for event in events {
        let inlet = inlet.clone();
        tasks.spawn(async move { inlet.land(vec![event]).await.unwrap().pop().unwrap() });
    }
    tasks.join_all().await
}

async fn fifty_copies_at_once_have_one_winner(given: Given) {
    let inlet =
        inlet(&given, &pipeline("identity: [id]\ntarget: {table: t}\nwrite: {mode: insert_once}")).await;
    let told = at_once(&inlet, vec![event("evt_1", r#"{"id":"a","v":1}"#); 50]).await;
    let receipts: Vec<Receipt> = told.into_iter().map(Result::unwrap).collect();
    let won: Vec<&Receipt> = receipts.iter().filter(|receipt| receipt.status == Status::Processed).collect();
    assert_eq!(won.len(), 1);
    assert!(receipts.iter().all(|receipt| receipt.run_id == won[0].run_id && receipt.outcome.inserted == 1));
    assert_eq!((given.count("t").await, given.count(&given.system("inbox")).await), (1, 1));
}

async fn a_group_lands_and_each_event_has_its_own_answer(given: Given) {
    let inlet = inlet(&given, &pipeline("identity: [id]\ntarget: {table: t}")).await;
    let told = land(
        &inlet,
        &[
            ("e1", r#"{"id":1,"v":"a"}"#),
            ("e2", r#"{"id":2,"v":"a"}"#),
            ("e1", r#"{"id":1,"v":"a"}"#),
            // The same record again: behind the first, in order.
            ("e3", r#"{"id":1,"v":"b"}"#),
            ("e4", "{\"id\":\n1,\r\n\"v\":\"b\"}"),
            ("e5", r#"{"id":1,"v":"c"}"#),
        ],
    )
    .await;
    let told: Vec<Receipt> = told.into_iter().map(Result::unwrap).collect();
    let shown: Vec<String> =
        told.iter().map(|receipt| format!("{} {}", receipt.status.as_str(), counts(receipt))).collect();
    assert_eq!(
        shown,
        [
            "processed read 1, inserted 1",
            "processed read 1, inserted 1",
            "skipped_duplicate read 1, inserted 1",
            "processed read 1, updated 1",
            "processed read 1, unchanged 1",
            "processed read 1, updated 1",
        ]
    );
    assert_eq!(told[2].run_id, told[0].run_id);
    assert_ne!(told[1].run_id, told[0].run_id);
    let rows = given.column("SELECT landonce_run_id FROM t ORDER BY landonce_revision").await;
    assert_eq!(rows, [told[1].run_id.to_string(), told[5].run_id.to_string()]);
    // What is stored is what was told.
    let stored = given.store.batches(10).await.unwrap();
    for receipt in &told {
        let settled = stored.iter().find(|settled| settled.batch_id == receipt.batch_id).unwrap();
        assert_eq!((settled.outcome, settled.run_id), (receipt.outcome, receipt.run_id));
    }
}

async fn an_event_that_fails_takes_no_other_with_it(given: Given) {
    given.execute("CREATE TABLE t (id text NOT NULL PRIMARY KEY, v text CHECK (v <> 'no'))").await;
    let inlet = inlet(&given, &pipeline("identity: {fields: [id], as: columns}\ntarget: {table: t}")).await;
    let mut events: Vec<(String, String)> = (0..20)
        .map(|nth| {
            let v = if nth == 7 || nth == 13 { "no" } else { "yes" };
            (format!("e{nth}"), format!(r#"{{"id":"{nth:02}","v":"{v}"}}"#))
        })
        .collect();
    events.push(("bad".to_owned(), r#"{"id":"#.to_owned()));
    events.push(("keyless".to_owned(), r#"{"v":"yes"}"#.to_owned()));
    events.push(("two".to_owned(), "{\"id\":\"x\"}\n{\"id\":\"y\"}".to_owned()));
    events.push(("list".to_owned(), r#"[{"id":"x"},{"id":"y"}]"#.to_owned()));
    events.push(("nothing".to_owned(), String::new()));
    let borrowed: Vec<(&str, &str)> = events.iter().map(|(id, body)| (id.as_str(), body.as_str())).collect();
    let told = land(&inlet, &borrowed).await;
    let failed: Vec<(&str, Kind)> = borrowed
        .iter()
        .zip(&told)
        .filter_map(|((id, _), told)| Some((*id, told.as_ref().err()?.kind())))
        .collect();
    assert_eq!(
        failed,
        ["e7", "e13", "bad", "keyless", "two", "list", "nothing"].map(|id| (id, Kind::BadRecords))
    );
    let check = told[7].as_ref().unwrap_err();
    assert!(check.bad_records()[0].bad.to_string().contains("refused by the database"), "{check}");
    assert_eq!((given.count("t").await, given.count(&given.system("inbox")).await), (18, 18));
    // A sender that delivers it again gets the same answer.
    assert_eq!(land(&inlet, &borrowed[7..8]).await[0].as_ref().unwrap_err().kind(), Kind::BadRecords);
}

async fn another_spelling_is_a_duplicate_and_other_content_is_none(given: Given) {
    let inlet = inlet(&given, &pipeline("identity: [id]\nvolatile: [attempt]\ntarget: {table: t}")).await;
    land_one(&inlet, "e1", r#"{"id":1,"v":1.50,"attempt":1}"#).await.unwrap();
    let again = land_one(&inlet, "e1", r#"{ "attempt":2, "v":1.5, "id":1 }"#).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
    let other = land_one(&inlet, "e1", r#"{"id":1,"v":2}"#).await.unwrap_err();
    assert_eq!((other.kind(), other.code().as_str()), (Kind::BatchMismatch, "L0501"));
    assert_eq!(given.count("t").await, 1);
}

async fn an_event_without_an_id_is_known_by_what_it_says(given: Given) {
    let by_id = pipeline("identity: {sender_id: id}\ntarget: {table: t}");
    let inlet = inlet(&given, &by_id).await;
    let event = |body: &str| Event { id: None, body: body.as_bytes().to_vec(), source: "hook".to_owned() };
    let told = inlet
        .land(vec![
            event(r#"{"id":"a","v":1}"#),
            event(r#"{"v":1.0,"id":"a"}"#),
            // Another event, though all else that it says is the same.
            event(r#"{"id":"b","v":1}"#),
        ])
        .await
        .unwrap();
    let told: Vec<Status> = told.into_iter().map(|told| told.unwrap().status).collect();
    assert_eq!(told, [Status::Processed, Status::SkippedDuplicate, Status::Processed]);
    assert_eq!(given.count("t").await, 2);
}

async fn a_bad_event_is_kept_where_bad_records_are(given: Given) {
    let inlet = inlet(
        &given,
        &pipeline(
            "identity: [id]\ntarget: {table: t, columns: {n: integer}}\non_bad_record: {quarantine: {max: 1%}}",
        ),
    )
    .await;
    let events =
        [("e1", r#"{"id":1,"n":1}"#), ("e2", "{\"id\":2,\n\"n\":\"x\"}"), ("e3", "[1,"), ("e4", "  ")];
    for _ in 0..2 {
        let told = land(&inlet, &events).await;
        let told: Vec<Result<u64, Kind>> = told
            .iter()
            .map(|told| told.as_ref().map(|receipt| receipt.outcome.quarantined).map_err(Error::kind))
            .collect();
        assert_eq!(told, [Ok(0), Ok(1), Ok(1), Err(Kind::BadRecords)]);
    }
    assert_eq!(given.count(&given.system("quarantine")).await, 2);
    assert_eq!(given.count("t").await, 1);
}

async fn a_bad_event_that_comes_again_after_the_mend_is_a_duplicate(given: Given) {
    let declared = |identity: &str| {
        pipeline(&format!(
            "identity: {identity}\ntarget: {{table: t}}\non_bad_record: {{quarantine: {{max: 1%}}}}"
        ))
    };
    let before = inlet(&given, &declared("[id]")).await;
    let kept = land_one(&before, "e1", "{\"n\":\n2}").await.unwrap();
    assert_eq!((kept.status, kept.outcome.quarantined), (Status::Processed, 1));
    let after = inlet(&given, &declared("{fields: [id], null_key: as_value}")).await;
    let again = land_one(&after, "e1", "{\"n\":\n2}").await.unwrap();
    assert_eq!((again.status, again.outcome.quarantined), (Status::SkippedDuplicate, 1));
    let other = land_one(&after, "e1", r#"{"n":3}"#).await.unwrap_err();
    assert_eq!(other.kind(), Kind::BatchMismatch);
    assert_eq!(given.count("t").await, 0);
}

async fn an_archived_event_is_known_to_have_landed_and_is_applied_where_it_has_not(given: Given) {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = pipeline(&format!(
        "identity: [id]\ntarget: {{table: t}}\nsource: {{format: csv}}\narchive: {}",
        folder.path().display()
    ));
    let inlet = inlet(&given, &pipeline).await;
    land_one(&inlet, "e1", r#"{"id":1,"v":"a"}"#).await.unwrap();
    let all = Selection::default();
    let replay = pipeline.replay(&given.store, &all, &Way::Missing, uuid::Uuid::now_v7()).await.unwrap();
    assert!(matches!(replay.steps(), [Step { what: What::Landed(_), .. }]), "{:?}", replay.steps());

    // The database is lost, the archive isn't; and then the sender repeats what nobody has told him landed.
    given.execute(&format!("DELETE FROM {}", given.system("inbox"))).await;
    given.execute("DELETE FROM t").await;
    let replay = pipeline.replay(&given.store, &all, &Way::Missing, uuid::Uuid::now_v7()).await.unwrap();
    let step = &replay.steps()[0];
    let receipt = replay.apply(&given.store, step, &patient()).await.unwrap().unwrap();
    assert_eq!(receipt.outcome.inserted, 1);
    let inlet = open(&given.store, &pipeline, patient().retry).await;
    let again = land_one(&inlet, "e1", r#"{"id":1,"v":"a"}"#).await.unwrap();
    assert_eq!(again.status, Status::SkippedDuplicate);
}

async fn versions_are_told_apart_and_a_conflict_is_kept_aside(given: Given) {
    let inlet = inlet(
        &given,
        &pipeline("identity: [id]\ntarget: {table: t, columns: {n: integer, v: text}}\nwrite: {version: n}"),
    )
    .await;
    let events = [
        ("e1", r#"{"id":1,"n":5,"v":"a"}"#),
        ("e2", r#"{"id":1,"n":4,"v":"b"}"#),
        ("e3", r#"{"id":1,"n":6,"v":"c"}"#),
        ("e4", r#"{"id":1,"n":6,"v":"d"}"#),
        ("e5", r#"{"id":1,"n":6,"v":"c"}"#),
        ("e6", r#"{"id":1,"n":7,"v":"e"}"#),
    ];
    let told = land(&inlet, &events).await;
    let shown: Vec<String> = told.iter().map(|told| counts(told.as_ref().unwrap())).collect();
    assert_eq!(
        shown,
        [
            "read 1, inserted 1",
            "read 1, stale 1",
            "read 1, updated 1",
            "read 1, conflicts 1",
            "read 1, unchanged 1",
            "read 1, updated 1",
        ]
    );
    assert_eq!(given.column("SELECT v FROM t").await, ["e"]);
    assert_eq!(given.count(&given.system("quarantine")).await, 1);
}

async fn equal_content_under_another_senders_id_is_told(given: Given) {
    let inlet = inlet(&given, &pipeline("identity: {sender_id: id}\ntarget: {table: t}")).await;
    let first = land_one(&inlet, "e1", r#"{"id":"a","v":1}"#).await.unwrap();
    let second = land_one(&inlet, "e2", r#"{"id":"b","v":1}"#).await.unwrap();
    assert_eq!((first.notes.same_content, second.notes.same_content), (0, 1));
    let key = given.column("SELECT landonce_key FROM t WHERE id = 'a'").await.pop().unwrap();
    assert_eq!(second.notes.same_content_samples[0].1.replace('-', ""), key.replace('-', ""));
}

async fn a_column_that_comes_later_stops_nothing(given: Given) {
    let inlet = inlet(&given, &pipeline("identity: [id]\ntarget: {table: t, columns: {v: text}}")).await;
    land_one(&inlet, "e1", r#"{"id":1,"v":"a"}"#).await.unwrap();
    given.execute("ALTER TABLE t ADD COLUMN w text").await;
    // It isn't declared: what has no column goes where the rest goes, and nothing is lost.
    land_one(&inlet, "e2", r#"{"id":2,"v":"b","w":"c"}"#).await.unwrap();
    let rest = &given.column("SELECT payload FROM t ORDER BY v").await[1];
    assert_eq!(rest.replace(' ', ""), r#"{"w":"c"}"#);
}

async fn a_table_that_changed_is_planned_anew(given: Given) {
    given.execute("CREATE TABLE t (id text NOT NULL PRIMARY KEY, v text, w text)").await;
    let inlet =
        inlet(&given, &pipeline("identity: {fields: [id], as: columns}\ntarget: {table: t, rest: ignore}"))
            .await;
    land_one(&inlet, "e1", r#"{"id":"1","v":"a","w":"x"}"#).await.unwrap();
    given.execute("ALTER TABLE t DROP COLUMN w").await;
    let told =
        land(&inlet, &[("e2", r#"{"id":"2","v":"b","w":"y"}"#), ("e3", r#"{"id":"3","v":"c"}"#)]).await;
    assert!(told.iter().all(|told| told.as_ref().unwrap().outcome.inserted == 1), "{told:?}");
    given.execute("DROP TABLE t").await;
    let gone = land_one(&inlet, "e3", r#"{"id":"3","v":"c"}"#).await.unwrap_err();
    assert_eq!(gone.kind(), Kind::Target, "{gone}");
}

async fn changes_are_told_whichever_way_they_land(given: Given) {
    let inlet =
        inlet(&given, &pipeline("identity: [id]\ntarget: {table: t}\nnotify: [{topic: changes}]")).await;
    let told = land(
        &inlet,
        &[("e1", r#"{"id":1,"v":"a"}"#), ("e2", r#"{"id":2,"v":"a"}"#), ("e3", r#"{"id":1,"v":"b"}"#)],
    )
    .await;
    assert!(told.iter().all(|told| told.as_ref().unwrap().notes.enqueued == 1), "{told:?}");
    land(&inlet, &[("e1", r#"{"id":1,"v":"a"}"#), ("e4", r#"{"id":2,"v":"a"}"#)]).await;
    let outbox = given.system("outbox");
    let kinds = given.column(&format!("SELECT kind FROM {outbox} ORDER BY kind")).await;
    assert_eq!(kinds, ["inserted", "inserted", "updated"]);
    // The same message as the long way makes.
    let long = if given.is_postgres() { Given::postgres().await } else { Given::sqlite() };
    let again = pipeline("identity: [id]\ntarget: {table: t}\nnotify: [{topic: changes}]");
    long.deliver_as(&again, "e2", &[r#"{"id":2,"v":"a"}"#]).await.unwrap();
    let made = "SELECT payload FROM";
    let short = given.column(&format!("{made} {outbox} WHERE kind = 'inserted'")).await;
    let long = long.column(&format!("{made} {outbox}")).await;
    assert!(short.contains(&long[0]), "{short:?} {long:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn identities_that_only_the_database_takes_for_one_are_counted_right() {
    let given = Given::postgres().await;
    given.execute("CREATE TABLE t (id character(4) NOT NULL PRIMARY KEY, v text)").await;
    let inlet = inlet(&given, &pipeline("identity: {fields: [id], as: columns}\ntarget: {table: t}")).await;
    let told = land(&inlet, &[("e1", r#"{"id":"a","v":"x"}"#), ("e2", r#"{"id":"a ","v":"x"}"#)]).await;
    let shown: Vec<String> = told.iter().map(|told| counts(told.as_ref().unwrap())).collect();
    assert_eq!(shown, ["read 1, inserted 1", "read 1, unchanged 1"]);
}

async fn pipelines_that_need_whole_payloads_take_no_events(given: Given) {
    let snapshots = pipeline(
        "source: {format: json, complete: json_closed}\nidentity: [id]\ntarget: {table: t}\nwrite: {mode: snapshot, absent: delete}",
    );
    let refused = Inlet::open(&given.store, &snapshots, Width::default()).await.unwrap_err();
    assert!(refused.to_string().contains("whole payloads"), "{refused}");
}
