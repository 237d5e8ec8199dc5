//! What `status` and `quarantine` read.

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_store::quarantine::{BadRow, Entry};
use landonce_store::seam::{Access, Connection, Work};

use super::fresh;
use crate::conformance::{Bench, int, land, put, run_id, text, things};

fn bad<'a>(pipeline: &'a str, raw: &'a [u8]) -> BadRow<'a> {
    BadRow {
        pipeline,
        batch_id: "b0",
        run_id: run_id(1),
        source: "a test",
        number: 7,
        bad: BadRecord::new(BadKind::Syntax, "a", "not JSON"),
        raw,
    }
}

fn shown(entries: Vec<Entry>) -> Vec<String> {
    entries
        .into_iter()
        .map(|entry| format!("{} {}", entry.pipeline, String::from_utf8(entry.raw).unwrap()))
        .collect()
}

#[tokio::test]
async fn batches_and_bad_records_are_listed() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    for n in 0..3 {
        land(&mut connection, &things(), &format!("b{n}"), &[put([int(n), text("v")])]).await;
    }
    connection.begin(Access::Write).await.unwrap();
    let kept = [bad("p", b"one"), bad("p", b"two"), bad("q", b"three")];
    assert_eq!(connection.work().keep_bad(&kept).await.unwrap(), 3);
    connection.work().resolve_bad(&[kept[1].id()], run_id(2)).await.unwrap();
    connection.commit().await.unwrap();

    let batches = connection.batches(2).await.unwrap();
    assert_eq!(batches.len(), 2);
    assert_eq!((batches[0].batch_id.as_str(), batches[1].batch_id.as_str()), ("b2", "b1"));
    assert_eq!(batches[0].outcome.read, 1);
    assert_eq!(connection.batches(100).await.unwrap().len(), 3);

    let mut all = shown(connection.quarantine(None, 10).await.unwrap());
    all.sort();
    assert_eq!(all, ["p one", "q three"]);
    assert_eq!(shown(connection.quarantine(Some("q"), 10).await.unwrap()), ["q three"]);
    assert!(connection.quarantine(None, 0).await.unwrap().is_empty());
    assert_eq!(shown(connection.open_quarantine("p").await.unwrap()), ["p one"]);

    let id = hex::encode(kept[1].id());
    let entry = connection.quarantine_entry(&id[..12].to_uppercase()).await.unwrap().unwrap();
    assert_eq!((entry.id, entry.resolved_by, entry.run_id), (kept[1].id(), Some(run_id(2)), run_id(1)));
    assert_eq!((entry.number, entry.kind.as_str(), entry.field.as_str()), (7, "syntax", "a"));
    assert_eq!(connection.quarantine_entry("0000000000").await.unwrap(), None);
    for prefix in ["", "xyz", "%"] {
        let error = connection.quarantine_entry(prefix).await.unwrap_err();
        assert!(error.to_string().contains("hex digits"), "{error}");
    }
}

/// A record that had landed and is bad again is open again, and is counted as new once.
#[tokio::test]
async fn a_bad_record_that_comes_back_is_opened_again() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    let field = BadRecord::new(BadKind::Nul, "a\0b", "found\0");
    let again = BadRow { bad: field, run_id: run_id(9), ..bad("p", b"one") };
    for (rows, want) in [
        (vec![bad("p", b"one"), bad("p", b"two")], 2),
        (vec![again.clone(), again.clone(), bad("p", b"two")], 1),
        (vec![again.clone()], 0),
    ] {
        connection.begin(Access::Write).await.unwrap();
        assert_eq!(connection.work().keep_bad(&rows).await.unwrap(), want);
        if want == 2 {
            connection.work().resolve_bad(&[rows[0].id()], run_id(2)).await.unwrap();
        }
        connection.commit().await.unwrap();
    }
    let entry = connection.quarantine_entry(&hex::encode(again.id())).await.unwrap().unwrap();
    assert_eq!((entry.run_id, entry.resolved_by, entry.field.as_str()), (run_id(1), None, "a\\u0000b"));
}

#[tokio::test]
async fn large_bad_records_are_kept_whole() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    let large: Vec<Vec<u8>> = (0..4_u8).map(|n| vec![n; 5 * 1024 * 1024]).collect();
    let rows: Vec<BadRow<'_>> = large.iter().map(|raw| bad("p", raw)).collect();
    connection.begin(Access::Write).await.unwrap();
    assert_eq!(connection.work().keep_bad(&rows).await.unwrap(), 4);
    connection.commit().await.unwrap();
    assert_eq!(bench.rows("SELECT sum(octet_length(raw)) FROM landonce.quarantine").await, [["20971520"]]);
}

#[tokio::test]
async fn a_prefix_of_several_ids_is_refused() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    for last in ["00", "01"] {
        let id = format!("{}{last}", "ab".repeat(31));
        bench
            .run(&format!(
                "INSERT INTO landonce.quarantine (id, pipeline, batch_id, run_id, source, number, kind, field, detail, raw)
                 VALUES ('\\x{id}', 'p', 'b', '{}', 's', 1, 'k', '', '', '')",
                run_id(1)
            ))
            .await;
    }
    let error = connection.quarantine_entry("abab").await.unwrap_err();
    assert!(error.to_string().contains("several entries begin with abab"), "{error}");
}

#[tokio::test]
async fn without_tables_there_is_nothing_to_show() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    assert!(connection.batches(10).await.unwrap().is_empty());
    assert!(connection.quarantine(None, 10).await.unwrap().is_empty());
    assert!(connection.open_quarantine("p").await.unwrap().is_empty());
    assert_eq!(connection.quarantine_entry("ab").await.unwrap(), None);
}
