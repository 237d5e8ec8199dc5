//! Events go the short way to the state that the long way leaves.

use landonce_core::outcome::Outcome;
use landonce_core::plan::{TablePlan, WriteMode};
use landonce_core::value::Value;
use landonce_store::inbox::{Claim, subject};
use landonce_store::seam::{Access, Arrival, Arrived, Connection, EXPECTED, Events, Fate};

use super::bench::{Bench, Dialect, Record, claim, int, land, put, row, set_up, text, things};

fn versioned() -> TablePlan {
    TablePlan { version: Some(1), ..things_with_version() }
}

fn things_with_version() -> TablePlan {
    super::bench::plan(
        "things",
        &[
            ("id", landonce_core::column::Type::INTEGER),
            ("n", landonce_core::column::Type::INTEGER),
            ("v", landonce_core::column::Type::TEXT),
        ],
    )
}

/// The plan as the engine has it once the table is there: with the catalogue's types.
async fn made<C: Connection>(connection: &mut C, plan: &TablePlan) -> TablePlan {
    set_up(connection, plan).await;
    let shape = connection.shape(&plan.table).await.unwrap().unwrap();
    let mut plan = TablePlan { create: false, ..plan.clone() };
    for column in &mut plan.columns {
        column.sql_type = shape.column(&column.name).map(|found| found.sql_type.clone());
    }
    plan
}

/// Lands events in one transaction, by the short way.
async fn arrive<C: Events>(
    connection: &mut C,
    plan: &TablePlan,
    events: &[(&str, Record)],
) -> landonce_store::Result<Arrived> {
    let mut way = connection.way(plan, true).await.unwrap().expect("a plan for the short way");
    let claims: Vec<Claim> =
        events.iter().map(|(id, _)| Claim { subject: Some([7; 16]), ..claim(id) }).collect();
    let records: Vec<Record> = events.iter().map(|(_, record)| record.clone()).collect();
    let values: Vec<Vec<Value<'static>>> =
        (0..records.len()).map(|at| row(plan, &plan.row_columns(), &records, at, false)).collect();
    let arrivals: Vec<Arrival<'_>> =
        claims.iter().zip(&values).map(|(claim, values)| Arrival { claim, values }).collect();
    match connection.arrive(&mut way, &arrivals).await {
        Ok(arrived @ Arrived::All(_)) => connection.commit().await.map(|()| arrived),
        other => {
            connection.rollback().await;
            other
        }
    }
}

fn fates(arrived: &Arrived) -> Vec<Fate> {
    let Arrived::All(told) = arrived else { panic!("{arrived:?}") };
    told.iter().map(|told| told.fate).collect()
}

pub(crate) async fn events_share_a_transaction_and_each_is_claimed_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = made(&mut connection, &things()).await;
    let events = [("e1", put([int(1), text("a")])), ("e2", put([int(2), text("b")]))];
    let first = arrive(&mut connection, &plan, &events).await.unwrap();
    assert_eq!(fates(&first), [Fate::Inserted, Fate::Inserted]);
    let Arrived::All(told) = &first else { unreachable!() };
    assert_eq!(told[0].row.as_deref(), Some("[1,\"a\"]"));

    let more = [events[1].clone(), ("e3", put([int(3), text("c")]))];
    assert_eq!(fates(&arrive(&mut connection, &plan, &more).await.unwrap()), [Fate::Found, Fate::Inserted]);
    let rows = bench.rows("SELECT id, v, landonce_revision FROM things ORDER BY id").await;
    assert_eq!(rows, [["1", "a", "1"], ["2", "b", "1"], ["3", "c", "1"]]);

    let keys = ["e1", "e2", "e4"].map(|id| claim(id).key());
    let settled = connection.look_up_all(&keys).await.unwrap();
    assert_eq!(settled.len(), 2);
    assert!(settled.iter().all(|settled| settled.outcome == EXPECTED && settled.settled_at.len() > 20));
    assert_eq!(settled[0].digest, claim(&settled[0].batch_id).digest);
}

pub(crate) async fn events_are_told_apart_by_the_guard_of_batches(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = made(&mut connection, &versioned()).await;
    land(&mut connection, &plan, "b1", &[put([int(1), int(5), text("a")]), put([int(2), int(5), text("b")])])
        .await;
    let events = [
        ("newer", put([int(1), int(6), text("A")])),
        ("older", put([int(2), int(4), text("x")])),
        ("new", put([int(3), int(1), text("c")])),
    ];
    let arrived = arrive(&mut connection, &plan, &events).await.unwrap();
    assert_eq!(fates(&arrived), [Fate::Updated, Fate::Stale, Fate::Inserted]);
    let equal = [("equal", put([int(2), int(5), text("b")]))];
    assert_eq!(fates(&arrive(&mut connection, &plan, &equal).await.unwrap()), [Fate::Unchanged]);
    // Kept aside by the long way: here nothing of the transaction may stay.
    let clash = [("fine", put([int(4), int(1), text("d")])), ("clash", put([int(2), int(5), text("y")]))];
    assert_eq!(arrive(&mut connection, &plan, &clash).await.unwrap(), Arrived::But(vec![1]));
    let rows = bench.rows("SELECT id, n, v, landonce_revision FROM things ORDER BY id").await;
    assert_eq!(rows, [["1", "6", "A", "2"], ["2", "5", "b", "1"], ["3", "1", "c", "1"]]);
    assert_eq!(connection.look_up(&claim("fine").key()).await.unwrap(), None);
}

pub(crate) async fn an_event_that_is_there_is_left_alone(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = made(&mut connection, &TablePlan { mode: WriteMode::InsertOnce, ..things() }).await;
    arrive(&mut connection, &plan, &[("e1", put([int(1), text("a")]))]).await.unwrap();
    let other = [("e2", put([int(1), text("other")]))];
    assert_eq!(fates(&arrive(&mut connection, &plan, &other).await.unwrap()), [Fate::Unchanged]);
    assert_eq!(bench.rows("SELECT v FROM things").await, [["a"]]);
}

pub(crate) async fn claims_are_settled_anew_in_their_transaction(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = made(&mut connection, &things()).await;
    let outcome = Outcome { read: 1, unchanged: 1, ..Outcome::default() };
    let mut way = connection.way(&plan, false).await.unwrap().unwrap();
    let of = Claim { subject: Some(subject("p", &[1; 32])), ..claim("e1") };
    let values = row(&plan, &plan.row_columns(), &[put([int(1), text("a")])], 0, false);
    for is_kept in [false, true] {
        let arrived = connection.arrive(&mut way, &[Arrival { claim: &of, values: &values }]).await.unwrap();
        assert_eq!(fates(&arrived), [Fate::Inserted]);
        let Arrived::All(told) = arrived else { unreachable!() };
        assert_eq!(told[0].row, None);
        connection.restate(&[(of.key(), outcome)]).await.unwrap();
        assert!(connection.restate(&[(claim("e2").key(), outcome)]).await.is_err());
        if is_kept {
            connection.commit().await.unwrap();
        } else {
            connection.rollback().await;
        }
    }
    assert_eq!(connection.look_up(&of.key()).await.unwrap().unwrap().outcome, outcome);
    let subjects = match dialect(bench) {
        Dialect::Sqlite => "SELECT count(*) FROM landonce_subject s JOIN landonce_inbox i ON i.key = s.inbox",
        Dialect::Postgres => "SELECT count(*) FROM landonce.inbox WHERE subject IS NOT NULL",
    };
    assert_eq!(bench.rows(subjects).await, [["1"]]);
}

fn dialect<B: Bench>(_: &B) -> Dialect {
    B::DIALECT
}

pub(crate) async fn what_the_short_way_can_not_do_goes_the_long_way(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = made(&mut connection, &things()).await;
    for plan in [
        TablePlan { has_deletes: true, ..plan.clone() },
        TablePlan { absent: landonce_core::plan::Absent::Keep, ..plan.clone() },
        TablePlan { create: true, ..plan.clone() },
    ] {
        assert!(connection.way(&plan, false).await.unwrap().is_none());
    }
    connection.begin(Access::Write).await.unwrap();
    connection.rollback().await;
}

pub(crate) async fn a_refused_event_is_its_own_failure(bench: &mut impl Bench) {
    bench.run("CREATE TABLE things (id integer NOT NULL PRIMARY KEY, v text CHECK (v <> 'bad'))").await;
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    let plan = super::plan_on(&mut connection, "things", &["id"]).await;
    let events = [("e1", put([int(1), text("a")])), ("e2", put([int(2), text("bad")]))];
    match arrive(&mut connection, &plan, &events).await {
        Ok(arrived) => assert_eq!(arrived, Arrived::But(vec![1])),
        Err(error) => assert!(landonce_core::retry::blames_row(&error.code), "{error}"),
    }
    assert_eq!(bench.rows("SELECT * FROM things").await, Vec::<Vec<String>>::new());
    assert_eq!(connection.look_up(&claim("e1").key()).await.unwrap(), None);
}
