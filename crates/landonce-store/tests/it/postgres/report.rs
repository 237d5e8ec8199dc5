//! What the quarantine keeps of records that come back, or are large.

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_store::quarantine::BadRow;
use landonce_store::reads::Reads as _;
use landonce_store::seam::{Access, Connection, Work};

use super::fresh;
use crate::conformance::{Bench, run_id};

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
