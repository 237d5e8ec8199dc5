//! Nothing is left behind unless a commit says so; a plan is kept from writing by the database itself (C22).

use landonce_core::plan::TableName;
use landonce_core::retry::Phase;
use landonce_store::seam::{Access, Connection, Work};

use super::bench::{Bench, claim, int, land, land_in, look_in, put, set_up, text, things};
use super::quarantine;

pub(crate) async fn a_rollback_leaves_nothing(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = things();
    set_up(&mut connection, &plan).await;
    connection.begin(Access::Write).await.unwrap();
    land_in(&mut connection.work(), &plan, "b1", &[put([int(1), text("a")])]).await;
    connection.rollback().await;
    assert!(bench.rows("SELECT id FROM things").await.is_empty());
    assert_eq!(connection.look_up(&claim("b1").key()).await.unwrap(), None);

    // With the stage still open, and again on the same connection.
    connection.begin(Access::Write).await.unwrap();
    look_in(&mut connection.work(), &plan, &[put([int(1), text("a")])]).await;
    connection.rollback().await;
    assert_eq!(land(&mut connection, &plan, "b1", &[put([int(1), text("a")])]).await.counts().0, 1);
    quarantine::a_bad_record_is_kept_once(bench).await;
}

pub(crate) async fn a_stage_can_be_closed_and_opened_again(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = things();
    set_up(&mut connection, &plan).await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    assert_eq!(land_in(&mut work, &plan, "b1", &[put([int(1), text("a")])]).await.counts().0, 1);
    // In the same transaction, a caller's: a second batch sees the first one's rows.
    let second = [put([int(1), text("a")]), put([int(2), text("b")])];
    assert_eq!(land_in(&mut work, &plan, "b2", &second).await.counts(), (1, 0, 1, 0, 0, 0, 0));
    work.close_stage().await.unwrap();
    drop(work);
    connection.commit().await.unwrap();
    assert_eq!(bench.rows("SELECT id FROM things ORDER BY id").await, [["1"], ["2"]]);
}

pub(crate) async fn a_plan_sees_all_and_writes_nothing(bench: &mut impl Bench) {
    let plan = things();
    let mut connection = bench.connect().await;
    land(&mut connection, &plan, "b1", &[put([int(1), text("a")]), put([int(2), text("b")])]).await;
    drop(connection);
    let before = bench.rows("SELECT * FROM things ORDER BY id").await;
    let records = [
        put([int(1), text("a")]),
        put([int(2), text("B")]),
        put([int(3), text("c")]),
        put([int(3), text("C")]),
    ];
    let mut connection = bench.connect_to_look().await;
    connection.begin(Access::ReadOnly).await.unwrap();
    let mut work = connection.work();
    let found = look_in(&mut work, &plan, &records).await;
    assert_eq!((found.classified.new, found.classified.changed, found.classified.unchanged), (1, 1, 1));
    assert_eq!(found.folded.duplicates, 1);
    assert_eq!(work.next_rows(9).await.unwrap().len(), 2);
    work.close_stage().await.unwrap();
    drop(work);
    connection.rollback().await;
    assert_eq!(bench.rows("SELECT * FROM things ORDER BY id").await, before);
    // The run after it does what the plan said.
    let mut connection = bench.connect().await;
    assert_eq!(land(&mut connection, &plan, "b2", &records).await.counts(), (1, 1, 1, 0, 0, 1, 0));
}

pub(crate) async fn a_plan_needs_no_table(bench: &mut impl Bench) {
    let plan = things();
    let mut connection = bench.connect_to_look().await;
    assert_eq!(connection.shape(&plan.table).await.unwrap(), None);
    connection.begin(Access::ReadOnly).await.unwrap();
    let records = [put([int(1), text("a")]), put([int(1), text("b")]), put([int(2), text("c")])];
    let found = look_in(&mut connection.work(), &plan, &records).await;
    assert_eq!((found.classified.new, found.folded.duplicates), (2, 1));
    connection.rollback().await;
    drop(connection);
    assert_eq!(bench.connect().await.shape(&plan.table).await.unwrap(), None);
}

pub(crate) async fn a_plan_is_kept_from_writing(bench: &mut impl Bench) {
    let plan = things();
    let mut connection = bench.connect().await;
    land(&mut connection, &plan, "b1", &[put([int(1), text("a")])]).await;
    for mut connection in [connection, bench.connect_to_look().await] {
        connection.begin(Access::ReadOnly).await.unwrap();
        let error = connection.work().claim(&claim("b2")).await.unwrap_err();
        assert_eq!(error.phase, Phase::BeforeCommit);
        connection.rollback().await;
    }
}

pub(crate) async fn tables_are_made_once(bench: &mut impl Bench) {
    let plan = things();
    let (mut one, mut two) = (bench.connect().await, bench.connect().await);
    for connection in [&mut one, &mut two] {
        connection.migrate().await.unwrap();
        connection.create_target(&plan).await.unwrap();
        connection.migrate().await.unwrap();
        connection.create_target(&plan).await.unwrap();
    }
    let shape = one.shape(&plan.table).await.unwrap().unwrap();
    assert_eq!(shape.table.name, "things");
    let mut names: Vec<&str> = shape.columns.iter().map(|column| column.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["id", "landonce_digest", "landonce_key", "landonce_revision", "landonce_run_id", "v"]);
    assert!(shape.unique_on(&["landonce_key"]).is_some_and(|index| index.is_null_safe));
    let nowhere = TableName { schema: None, name: "nowhere".to_owned() };
    assert_eq!(two.shape(&nowhere).await.unwrap(), None);
}
