//! What really happened is told (J7): of rows that were written, with what they were; and of no other row.

use landonce_core::column::Type;
use landonce_core::notice::Change;
use landonce_core::plan::{KeyForm, Match, Owned, Scope, TablePlan, Tombstone};
use landonce_core::spec::ChangeKind;
use landonce_store::seam::{Access, Class, Connection, Look, Notices, Rows, Work};

use super::bench::{
    Bench, Record, by_columns, claim, delete, int, look_in, plan, put, row, run_id, set_up, text, things,
};

/// Lands records in the engine's order and tells what has happened, in pages of so many.
async fn land<C: Connection>(
    connection: &mut C,
    plan: &TablePlan,
    batch: &str,
    records: &[Record],
    most: usize,
) -> Vec<Change> {
    set_up(connection, plan).await;
    connection.begin(Access::Write).await.unwrap();
    let claim = claim(batch);
    let mut work = connection.work();
    work.claim(&claim).await.unwrap();
    let found = look_in(&mut work, plan, records).await.classified;
    assert_eq!(work.remember(Look::Before).await.unwrap(), found.changed + found.deletes, "{batch}");
    if plan.scope.is_some() {
        let missing = work.missing().await.unwrap();
        assert_eq!(work.remember(Look::Missing).await.unwrap(), missing);
        work.remove_missing(claim.run_id).await.unwrap();
    }
    loop {
        let todo = work.next_rows(3).await.unwrap();
        if todo.is_empty() {
            break;
        }
        let mut rows = (work.encoder(plan, &plan.row_columns()))();
        for one in todo.iter().filter(|one| one.class != Class::Conflict) {
            rows.push(&row(plan, &plan.row_columns(), records, (one.place.number - 1) as usize, false));
        }
        work.write(rows, claim.run_id).await.unwrap();
    }
    work.delete(claim.run_id).await.unwrap();
    let changes = all(&mut work, claim.run_id, most).await;
    work.close_stage().await.unwrap();
    drop(work);
    connection.commit().await.unwrap();
    changes
}

async fn all(work: &mut impl Notices, run_id: uuid::Uuid, most: usize) -> Vec<Change> {
    let mut changes = Vec::new();
    loop {
        let some = work.changes(run_id, most).await.unwrap();
        let is_last = some.len() < most;
        assert!(some.len() <= most);
        changes.extend(some);
        if is_last {
            assert_eq!(work.changes(run_id, most).await.unwrap(), []);
            return changes;
        }
    }
}

/// `kind revision old new`, as the columns of the rows stand there.
fn told(changes: &[Change]) -> Vec<String> {
    let row =
        |row: &Option<String>| row.as_ref().map_or_else(|| "-".to_owned(), |row| row.replace(", ", ","));
    changes
        .iter()
        .map(|change| {
            let (old, new) = (row(&change.old), row(&change.new));
            format!("{} {} {old} {new}", change.kind.as_str(), change.revision)
        })
        .collect()
}

fn record(id: i64, v: &str) -> Record {
    put([int(id), text(v)])
}

pub(crate) async fn what_was_and_what_is_are_told_in_key_order_and_pages(bench: &mut impl Bench) {
    let hashed = |form| {
        let matching = Match::Key { column: "landonce_key".to_owned(), form };
        TablePlan { matching, table: plan(&format!("{form:?}"), &[]).table, ..things() }
    };
    let natural = TablePlan { table: plan("natural", &[]).table, ..by_columns(things(), &[0]) };
    let mut connection = bench.connect().await;
    for plan in [natural, hashed(KeyForm::Uuid), hashed(KeyForm::Bytes), hashed(KeyForm::Hex)] {
        let plan = TablePlan { has_deletes: true, ..plan };
        let name = &plan.table.name;
        let first: Vec<Record> = (0..9).map(|id| record(id, "a")).collect();
        let changes = land(&mut connection, &plan, &format!("{name}1"), &first, 4).await;
        let mut have = told(&changes);
        let is_sorted = matches!(plan.matching, Match::Columns(_));
        if !is_sorted {
            assert!(changes.is_sorted_by(|a, b| a.key < b.key), "{changes:?}");
            have.sort_unstable();
        }
        let want: Vec<String> = (0..9).map(|id| format!(r#"inserted 1 - [{id},"a"]"#)).collect();
        assert_eq!(have, want, "{name}");
        let second =
            [record(1, "b"), record(2, "a"), delete([int(3), text("")]), record(10, "a"), record(0, "b")];
        let mut have = told(&land(&mut connection, &plan, &format!("{name}2"), &second, 2).await);
        if !is_sorted {
            have.sort_unstable_by_key(|told| told.split('[').nth(1).map(str::to_owned));
        }
        let mut want = vec![
            r#"updated 2 [0,"a"] [0,"b"]"#,
            r#"updated 2 [1,"a"] [1,"b"]"#,
            r#"deleted 1 [3,"a"] -"#,
            r#"inserted 1 - [10,"a"]"#,
        ];
        if !is_sorted {
            want.sort_unstable_by_key(|told| told.split('[').nth(1).map(str::to_owned));
        }
        assert_eq!(have, want, "{name}");
        // Equal content is no change.
        assert_eq!(land(&mut connection, &plan, &format!("{name}3"), &second[..2], 2).await, []);
    }
}

pub(crate) async fn what_vanishes_and_comes_again_is_told(bench: &mut impl Bench) {
    let columns = [("id", Type::TEXT), ("v", Type::TEXT), ("source", Type::TEXT)];
    let owner = vec![Owned { column: 2, value: "x".to_owned() }];
    for (table, retires) in [("retiring", true), ("deleting", false)] {
        let tombstone = Tombstone { at: "retired_at".to_owned(), by: None, by_type: None };
        let plan = TablePlan {
            scope: Some(Scope { period: None, owner: owner.clone() }),
            tombstone: retires.then_some(tombstone),
            ..by_columns(plan(table, &columns), &[0])
        };
        let other = TablePlan { scope: None, ..plan.clone() };
        let parcel = |id: &str, v: &str, source: &str| put([text(id), text(v), text(source)]);
        let mut connection = bench.connect().await;
        land(&mut connection, &other, &format!("{table}0"), &[parcel("z", "1", "y")], 9).await;
        let mut tell = async |batch: &str, records: &[Record]| {
            told(&land(&mut connection, &plan, &format!("{table}{batch}"), records, 2).await)
        };
        tell("1", &[parcel("a", "1", "x"), parcel("b", "1", "x"), parcel("c", "1", "x")]).await;
        let gone = tell("2", &[parcel("a", "1", "x"), parcel("c", "2", "x")]).await;
        let back = tell("3", &[parcel("a", "1", "x"), parcel("b", "1", "x"), parcel("c", "2", "x")]).await;
        let b = r#"["b","1","x"]"#;
        let c = r#"updated 2 ["c","1","x"] ["c","2","x"]"#.to_owned();
        if retires {
            assert_eq!(gone, [format!("retired 2 {b} {b}"), c]);
            assert_eq!(back, [format!("restored 3 {b} {b}")]);
        } else {
            assert_eq!(gone, [format!("deleted 1 {b} -"), c]);
            assert_eq!(back, [format!("inserted 1 - {b}")]);
        }
    }
}

pub(crate) async fn a_row_of_another_run_is_not_told(bench: &mut impl Bench) {
    let plan = things();
    let mut connection = bench.connect().await;
    land(&mut connection, &plan, "1", &[record(1, "a")], 9).await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    let records = [record(1, "b"), record(2, "b")];
    look_in(&mut work, &plan, &records).await;
    assert_eq!(work.remember(Look::Before).await.unwrap(), 1);
    let todo = work.next_rows(9).await.unwrap();
    let mut rows = (work.encoder(&plan, &plan.row_columns()))();
    for one in &todo {
        rows.push(&row(&plan, &plan.row_columns(), &records, (one.place.number - 1) as usize, false));
    }
    work.write(rows, run_id(7)).await.unwrap();
    // The new row is another run's; the old one has changed, whoever did it.
    let changes = all(&mut work, run_id(8), 9).await;
    assert_eq!(changes.iter().map(|change| change.kind).collect::<Vec<_>>(), [ChangeKind::Updated]);
    work.close_stage().await.unwrap();
    drop(work);
    connection.rollback().await;
}

pub(crate) async fn without_a_revision_nothing_can_be_told(bench: &mut impl Bench) {
    let plan = TablePlan { revision: None, ..things() };
    let mut connection = bench.connect().await;
    set_up(&mut connection, &plan).await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    look_in(&mut work, &plan, &[record(1, "a")]).await;
    let error = work.changes(run_id(1), 9).await.unwrap_err();
    assert!(error.to_string().contains("there is no column for the run or the revision"), "{error}");
    drop(work);
    connection.rollback().await;
}

pub(crate) async fn a_plan_remembers_nothing(bench: &mut impl Bench) {
    let plan = things();
    let mut connection = bench.connect().await;
    land(&mut connection, &plan, "1", &[record(1, "a")], 9).await;
    connection.begin(Access::ReadOnly).await.unwrap();
    let mut work = connection.work();
    look_in(&mut work, &plan, &[record(1, "b")]).await;
    work.remember(Look::Before).await.unwrap_err();
    drop(work);
    connection.rollback().await;
}
