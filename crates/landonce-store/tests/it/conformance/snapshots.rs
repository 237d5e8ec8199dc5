//! What a snapshot takes away (J5, J6): a row that it doesn't have is marked once, by its run, and restored when it comes again.

use landonce_core::column::Type;
use landonce_core::plan::{Owned, Scope, TablePlan, Tombstone};
use landonce_store::seam::{Access, Class, Connection, Rows, Survey, Work};

use super::bench::{Bench, Record, by_columns, claim, look_in, plan, put, row, set_up, text};

/// The rows of one owner, or of the whole table.
fn parcels(owner: Option<&str>) -> TablePlan {
    let columns = [("id", Type::TEXT), ("v", Type::TEXT), ("source", Type::TEXT)];
    let owner = owner.map(|value| Owned { column: 2, value: value.to_owned() });
    let tombstone =
        Tombstone { at: "retired_at".to_owned(), by: Some("retired_by".to_owned()), by_type: None };
    TablePlan {
        scope: Some(Scope { period: None, owner: owner.into_iter().collect() }),
        tombstone: Some(tombstone),
        ..plan("parcel", &columns)
    }
}

fn parcel(id: &str, v: &str, source: &str) -> Record {
    put([text(id), text(v), text(source)])
}

/// What a snapshot did.
#[derive(Debug, PartialEq, Eq)]
struct Did {
    inserted: u64,
    updated: u64,
    unchanged: u64,
    conflicts: u64,
    missing: u64,
    gone: u64,
    standing: u64,
    returning: u64,
}

/// Lands a snapshot in the engine's order: what is missing goes before the others are written.
async fn land(bench: &mut impl Bench, plan: &TablePlan, batch: &str, records: &[Record]) -> Did {
    let mut connection = bench.connect().await;
    set_up(&mut connection, plan).await;
    connection.begin(Access::Write).await.unwrap();
    let claim = claim(batch);
    let mut work = connection.work();
    work.claim(&claim).await.unwrap();
    let found = look_in(&mut work, plan, records).await.classified;
    let missing = work.missing().await.unwrap();
    let Survey { standing, returning } = work.survey().await.unwrap();
    let gone = work.remove_missing(claim.run_id).await.unwrap();
    let (mut inserted, mut updated, mut unchanged) = (0, 0, found.unchanged);
    loop {
        let todo = work.next_rows(3).await.unwrap();
        if todo.is_empty() {
            break;
        }
        let mut rows = (work.encoder(plan, &plan.row_columns()))();
        for one in todo.iter().filter(|one| one.class != Class::Conflict) {
            rows.push(&row(plan, &plan.row_columns(), records, (one.place.number - 1) as usize, false));
        }
        if rows.is_empty() {
            continue;
        }
        let written = work.write(rows, claim.run_id).await.unwrap();
        assert!(written.refused.is_empty(), "{written:?}");
        inserted += written.inserted;
        updated += written.updated;
        unchanged += written.unchanged;
    }
    assert_eq!(work.missing().await.unwrap(), 0, "nothing is missing any more");
    work.close_stage().await.unwrap();
    drop(work);
    connection.commit().await.unwrap();
    Did { inserted, updated, unchanged, conflicts: found.conflicts, missing, gone, standing, returning }
}

const NOTHING: Did = Did {
    inserted: 0,
    updated: 0,
    unchanged: 0,
    conflicts: 0,
    missing: 0,
    gone: 0,
    standing: 0,
    returning: 0,
};

const ALL: &str =
    "SELECT id, v, CASE WHEN retired_at IS NULL THEN 'stands' ELSE 'retired' END FROM parcel ORDER BY id";
const MARKS: &str =
    "SELECT id, retired_at, retired_by, landonce_run_id, landonce_revision FROM parcel ORDER BY id";

fn run_of(batch: &str) -> String {
    claim(batch).run_id.hyphenated().to_string()
}

async fn forget(bench: &mut impl Bench, inbox: &str) {
    bench.run("DROP TABLE parcel").await;
    bench.run(&format!("DELETE FROM {inbox}")).await;
}

fn inbox<B: Bench>(_: &B) -> &'static str {
    B::DIALECT.inbox()
}

pub(crate) async fn an_absent_row_is_marked_once_by_its_run(bench: &mut impl Bench) {
    for plan in [parcels(None), by_columns(parcels(None), &[0])] {
        let all = [parcel("a", "1", "x"), parcel("b", "1", "x"), parcel("c", "1", "x")];
        let did = land(bench, &plan, "b1", &all).await;
        assert_eq!(did, Did { inserted: 3, ..NOTHING });
        let did = land(bench, &plan, "b2", &all[..2]).await;
        assert_eq!(did, Did { unchanged: 2, missing: 1, gone: 1, standing: 3, ..NOTHING });
        assert_eq!(
            bench.rows(ALL).await,
            [["a", "1", "stands"], ["b", "1", "stands"], ["c", "1", "retired"]]
        );
        let marks = bench.rows(MARKS).await;
        assert_eq!(marks[2][2], run_of("b2"), "{marks:?}");
        assert!(marks[2][1].starts_with("20"), "{marks:?}");
        assert_eq!((marks[0][1].as_str(), marks[0][2].as_str()), ("∅", "∅"), "{marks:?}");
        // Absent twice more: one tombstone, the first.
        for batch in ["b3", "b4"] {
            let did = land(bench, &plan, batch, &all[..2]).await;
            assert_eq!(did, Did { unchanged: 2, standing: 2, ..NOTHING });
            assert_eq!(bench.rows(MARKS).await, marks);
        }
        let inbox = inbox(bench);
        forget(bench, inbox).await;
    }
}

pub(crate) async fn an_equal_row_that_comes_again_is_restored(bench: &mut impl Bench) {
    for plan in [parcels(None), by_columns(parcels(None), &[0])] {
        let all = [parcel("a", "1", "x"), parcel("b", "1", "x"), parcel("c", "1", "x")];
        land(bench, &plan, "b1", &all).await;
        land(bench, &plan, "b2", &all[..1]).await;
        let before = bench.rows(MARKS).await;
        // `b` as it was, `c` with other content.
        let again = [parcel("a", "1", "x"), parcel("b", "1", "x"), parcel("c", "2", "x")];
        let did = land(bench, &plan, "b3", &again).await;
        assert_eq!(did, Did { updated: 2, unchanged: 1, standing: 1, returning: 2, ..NOTHING });
        assert_eq!(bench.rows(ALL).await, [["a", "1", "stands"], ["b", "1", "stands"], ["c", "2", "stands"]]);
        let after = bench.rows(MARKS).await;
        assert_eq!(after[0], before[0], "a row that stands isn't touched");
        for row in &after[1..] {
            assert_eq!((row[1].as_str(), row[2].as_str(), &row[3]), ("∅", "∅", &run_of("b3")), "{after:?}");
        }
        let inbox = inbox(bench);
        forget(bench, inbox).await;
    }
}

pub(crate) async fn an_equal_snapshot_is_not_written(bench: &mut impl Bench) {
    let plan = parcels(None);
    let all = [parcel("a", "1", "x"), parcel("b", "1", "x")];
    land(bench, &plan, "b1", &all).await;
    let before = bench.rows(MARKS).await;
    assert_eq!(land(bench, &plan, "b2", &all).await, Did { unchanged: 2, standing: 2, ..NOTHING });
    assert_eq!(bench.rows(MARKS).await, before);
}

pub(crate) async fn another_owners_rows_stand(bench: &mut impl Bench) {
    let (x, y) = (parcels(Some("x")), parcels(Some("y")));
    land(bench, &x, "b1", &[parcel("a", "1", "x"), parcel("b", "1", "x")]).await;
    let did = land(bench, &y, "b2", &[parcel("c", "1", "y"), parcel("d", "1", "y")]).await;
    assert_eq!(did, Did { inserted: 2, ..NOTHING }, "the other's rows are neither counted nor missing");
    land(bench, &y, "b3", &[parcel("c", "1", "y")]).await;
    let marks = bench.rows(MARKS).await;
    // `c` stands and `d` is retired, both another's: neither is written or restored.
    let records = [parcel("a", "1", "x"), parcel("c", "2", "x"), parcel("d", "1", "x")];
    let did = land(bench, &x, "b4", &records).await;
    assert_eq!(did, Did { unchanged: 1, conflicts: 2, missing: 1, gone: 1, standing: 2, ..NOTHING });
    let after = bench.rows(MARKS).await;
    assert_eq!((&after[0], &after[2..]), (&marks[0], &marks[2..]));
    let did = land(bench, &x, "b5", &[]).await;
    assert_eq!(did, Did { missing: 1, gone: 1, standing: 1, ..NOTHING });
    assert_eq!(bench.rows(MARKS).await[2..], marks[2..]);
}

pub(crate) async fn without_a_tombstone_an_absent_row_is_deleted(bench: &mut impl Bench) {
    let plan = TablePlan { tombstone: None, ..parcels(None) };
    let all = [parcel("a", "1", "x"), parcel("b", "1", "x"), parcel("c", "1", "x")];
    land(bench, &plan, "b1", &all).await;
    let did = land(bench, &plan, "b2", &all[1..]).await;
    assert_eq!(did, Did { unchanged: 2, missing: 1, gone: 1, standing: 3, ..NOTHING });
    assert_eq!(bench.rows("SELECT id FROM parcel ORDER BY id").await, [["b"], ["c"]]);
    let did = land(bench, &plan, "b3", &all).await;
    assert_eq!(
        did,
        Did { inserted: 1, unchanged: 2, standing: 2, ..NOTHING },
        "there was no tombstone to return from"
    );
}

/// A plan counts, and the database would let it do no more.
pub(crate) async fn a_look_at_a_snapshot_counts_the_same(bench: &mut impl Bench) {
    let plan = parcels(None);
    let all = [parcel("a", "1", "x"), parcel("b", "1", "x"), parcel("c", "1", "x")];
    land(bench, &plan, "b1", &all).await;
    land(bench, &plan, "b2", &all[..2]).await;
    let mut connection = bench.connect_to_look().await;
    connection.begin(Access::ReadOnly).await.unwrap();
    let mut work = connection.work();
    let found = look_in(&mut work, &plan, &all[1..]).await.classified;
    assert_eq!((found.new, found.changed, found.unchanged), (0, 1, 1));
    assert_eq!(work.missing().await.unwrap(), 1);
    assert_eq!(work.survey().await.unwrap(), Survey { standing: 2, returning: 1 });
    work.close_stage().await.unwrap();
    drop(work);
    connection.rollback().await;
    assert_eq!(bench.rows(ALL).await, [["a", "1", "stands"], ["b", "1", "stands"], ["c", "1", "retired"]]);
}
