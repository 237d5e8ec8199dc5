//! Bad records are kept whole, and once (C07).

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_store::quarantine::BadRow;
use landonce_store::seam::{Access, Connection, Work};

use super::bench::{Bench, run_id};

fn bad(raw: &[u8]) -> BadRow<'_> {
    BadRow {
        pipeline: "p",
        batch_id: "b1",
        run_id: run_id(1),
        source: "a test",
        number: 7,
        bad: BadRecord::new(BadKind::Nul, "a.b[2]", "found U+0000"),
        raw,
    }
}

async fn keep<C: Connection>(connection: &mut C, rows: &[BadRow<'_>]) -> u64 {
    connection.migrate().await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let kept = connection.work().keep_bad(rows).await.unwrap();
    connection.commit().await.unwrap();
    kept
}

pub(crate) async fn a_bad_record_is_kept_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    assert_eq!(keep(&mut connection, &[]).await, 0);
    let all = [bad(b"one"), bad(b"\0\xff two"), bad(b"one")];
    assert_eq!(keep(&mut connection, &all).await, 2);
    let again = BadRow { batch_id: "b2", run_id: run_id(2), number: 8, ..bad(b"one") };
    assert_eq!(keep(&mut connection, &[again, bad(b"three")]).await, 1);
    let kept =
        bench.rows(&format!("SELECT batch_id, number, kind, field, detail FROM {}", table(bench))).await;
    assert_eq!(kept, vec![["b1", "7", "nul character", "a.b[2]", "found U+0000"]; 3]);
}

pub(crate) async fn a_bad_record_that_lands_is_marked_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    keep(&mut connection, &[bad(b"one"), bad(b"two")]).await;
    for run in [5, 6] {
        connection.begin(Access::Write).await.unwrap();
        connection.work().resolve_bad(&[bad(b"one").id(), [0; 32]], run_id(run)).await.unwrap();
        connection.commit().await.unwrap();
    }
    let marked = format!("SELECT resolved_by FROM {} WHERE resolved_by IS NOT NULL", table(bench));
    assert_eq!(bench.rows(&marked).await, [[run_id(5).to_string()]]);
}

fn table<B: Bench>(_: &B) -> &'static str {
    B::DIALECT.quarantine()
}
