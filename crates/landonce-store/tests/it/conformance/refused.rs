//! Rows that the database refuses (C15): named by record and constraint, left out; the others land, no other row moves.

use landonce_store::seam::Refused;

use super::bench::{Bench, int, land, plan_on, put, text};

const PEOPLE: &str = "\
CREATE TABLE town (name varchar(20) PRIMARY KEY);
INSERT INTO town VALUES ('here');
CREATE TABLE people (
  id integer NOT NULL PRIMARY KEY,
  email varchar(50) NOT NULL,
  age bigint,
  town varchar(20) REFERENCES town (name),
  CONSTRAINT people_email_key UNIQUE (email),
  CONSTRAINT grown_up CHECK (age >= 18)
);
INSERT INTO people VALUES (2, 'abc@x', 40, 'here');";

const ALL: &str = "SELECT id, email, age, town FROM people ORDER BY id";

fn person(id: i64, email: &str, age: i64, town: &str) -> super::bench::Record {
    put([int(id), text(email), int(age), text(town)])
}

fn numbers(refused: &[Refused]) -> Vec<u64> {
    let mut numbers: Vec<u64> = refused.iter().map(|one| one.place.number).collect();
    numbers.sort_unstable();
    numbers
}

pub(crate) async fn a_check_names_the_row_and_the_others_land(bench: &mut impl Bench) {
    bench.run(PEOPLE).await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "people", &["id"]).await;
    let records = [
        person(1, "secret@x", 30, "here"),
        person(3, "secret@y", 3, "here"),
        person(4, "secret@z", 50, "here"),
        person(2, "abc@x", 7, "here"),
    ];
    let landed = land(&mut connection, &plan, "b1", &records).await;
    assert_eq!(numbers(&landed.written.refused), [2, 4]);
    assert_eq!((landed.written.inserted, landed.written.updated), (2, 0));
    for refused in &landed.written.refused {
        assert!(refused.name.contains("grown_up") || refused.message.contains("grown_up"), "{refused:?}");
        assert!(!refused.message.contains("secret"), "{refused:?}");
        assert_eq!(refused.place.offset, (refused.place.number - 1) * 100);
    }
    let rows = bench.rows("SELECT id, age FROM people ORDER BY id").await;
    assert_eq!(rows, [["1", "30"], ["2", "40"], ["4", "50"]]);
}

pub(crate) async fn another_unique_index_protects_its_row(bench: &mut impl Bench) {
    bench.run(PEOPLE).await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "people", &["id"]).await;
    let before = bench.rows(ALL).await;
    let landed = land(&mut connection, &plan, "b1", &[person(44, "abc@x", 30, "here")]).await;
    assert_eq!(numbers(&landed.written.refused), [1]);
    let refused = &landed.written.refused[0];
    assert!(refused.name.contains("email"), "{refused:?}");
    assert_eq!(bench.rows(ALL).await, before);
    // The same by an update.
    land(&mut connection, &plan, "b2", &[person(5, "five@x", 30, "here")]).await;
    let landed = land(&mut connection, &plan, "b3", &[person(5, "abc@x", 30, "here")]).await;
    assert_eq!((numbers(&landed.written.refused), landed.written.updated), (vec![1], 0));
    assert_eq!(bench.rows("SELECT email FROM people ORDER BY id").await, [["abc@x"], ["five@x"]]);
}

pub(crate) async fn a_foreign_key_names_the_row(bench: &mut impl Bench) {
    bench.run(PEOPLE).await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "people", &["id"]).await;
    let records = [person(1, "a", 30, "nowhere"), person(3, "c", 30, "here")];
    let landed = land(&mut connection, &plan, "b1", &records).await;
    assert_eq!((numbers(&landed.written.refused), landed.written.inserted), (vec![1], 1));
    assert!(landed.written.refused[0].message.to_lowercase().contains("foreign key"));
}

pub(crate) async fn a_missing_value_names_its_column(bench: &mut impl Bench) {
    bench.run(PEOPLE).await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "people", &["id"]).await;
    let nameless = put([int(1), landonce_core::value::Value::Null, int(30), text("here")]);
    let landed = land(&mut connection, &plan, "b1", &[nameless]).await;
    assert_eq!(numbers(&landed.written.refused), [1]);
    assert!(landed.written.refused[0].name.contains("email"), "{:?}", landed.written.refused);
}

pub(crate) async fn all_rows_may_be_refused(bench: &mut impl Bench) {
    bench.run(PEOPLE).await;
    let mut connection = bench.connect().await;
    let plan = plan_on(&mut connection, "people", &["id"]).await;
    let before = bench.rows(ALL).await;
    let records: Vec<_> = (10..20).map(|id| person(id, "e", 1, "here")).collect();
    let landed = land(&mut connection, &plan, "b1", &records).await;
    assert_eq!(numbers(&landed.written.refused), (1..=10).collect::<Vec<_>>());
    assert_eq!(bench.rows(ALL).await, before);
}
