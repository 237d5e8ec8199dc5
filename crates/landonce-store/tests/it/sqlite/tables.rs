//! Tables that are somebody else's, with what SQLite lets them have.

use std::borrow::Cow;

use landonce_core::column::Type;
use landonce_core::plan::{Guard, KeyForm, Match, TablePlan};
use landonce_core::value::Value;
use landonce_store::seam::{Access, Connection, Rows, Work, Written};

use super::fresh;
use crate::conformance::{
    Bench, Record, by_columns, claim, int, land, look_in, plan, plan_on, put, row, set_up, text, things,
};

/// One delivery's write, without a commit.
async fn write<C: Connection>(
    connection: &mut C,
    plan: &TablePlan,
    records: &[Record],
) -> landonce_store::Result<Written> {
    set_up(connection, plan).await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    work.claim(&claim("b1")).await.unwrap();
    look_in(&mut work, plan, records).await;
    let todo = work.next_rows(100).await.unwrap();
    let mut rows = (work.encoder(plan, &plan.row_columns()))();
    for one in todo {
        let at = one.place.number as usize - 1;
        rows.push(&row(plan, &plan.row_columns(), records, at, false));
    }
    work.write(rows, claim("b1").run_id).await
}

#[tokio::test]
async fn a_conflict_clause_of_the_table_never_moves_another_row() {
    for clause in ["REPLACE", "IGNORE", "ROLLBACK", "FAIL"] {
        let mut folder = fresh().await;
        folder
            .run(&format!(
                "CREATE TABLE t (id INTEGER PRIMARY KEY ON CONFLICT {clause}, email TEXT NOT NULL ON CONFLICT {clause} UNIQUE ON CONFLICT {clause},
                   n INTEGER CHECK (n > 0));
                 INSERT INTO t VALUES (2, 'abc', 1);",
            ))
            .await;
        let mut connection = folder.connect().await;
        let plan = plan_on(&mut connection, "t", &["id"]).await;
        let records = [
            put([int(44), text("abc"), int(1)]),
            put([int(45), Value::Null, int(1)]),
            put([int(2), text("abd"), int(2)]),
            put([int(46), text("x"), int(0)]),
        ];
        let landed = land(&mut connection, &plan, "b1", &records).await;
        assert_eq!(
            (landed.written.updated, landed.written.inserted),
            (1, 1),
            "{clause}: 44 comes after 2 has let go of abc"
        );
        assert_eq!(landed.written.refused.len(), 2, "{clause}");
        let landed = land(&mut connection, &plan, "b2", &[put([int(2), text("abc"), int(2)])]).await;
        assert_eq!(landed.written.refused.len(), 1, "{clause}");
        assert_eq!(landed.written.refused[0].name, "t.email", "{clause}");
        assert_eq!(
            folder.rows("SELECT * FROM t ORDER BY id").await,
            [["2", "abd", "2"], ["44", "abc", "1"]],
            "{clause}"
        );
    }
}

const RAISING: &str = "\
CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE seen (id);";

#[tokio::test]
async fn a_trigger_refuses_a_row_and_leaves_nothing_of_it() {
    for (when, raise) in [("BEFORE", "ABORT"), ("AFTER", "ABORT"), ("BEFORE", "FAIL"), ("AFTER", "FAIL")] {
        let mut folder = fresh().await;
        folder
            .run(&format!(
                "{RAISING} CREATE TRIGGER no {when} INSERT ON t WHEN NEW.v = 'bad'
                   BEGIN INSERT INTO seen VALUES (NEW.id); SELECT raise({raise}, 'not on sundays'); END;"
            ))
            .await;
        let mut connection = folder.connect().await;
        let plan = plan_on(&mut connection, "t", &["id"]).await;
        let records = [put([int(1), text("good")]), put([int(2), text("bad")]), put([int(3), text("good")])];
        let landed = land(&mut connection, &plan, "b1", &records).await;
        assert_eq!((landed.written.inserted, landed.written.refused.len()), (2, 1), "{when} {raise}");
        assert!(
            landed.written.refused[0].message.contains("not on sundays (1811)"),
            "{:?}",
            landed.written.refused
        );
        assert_eq!(folder.rows("SELECT id FROM t").await, [["1"], ["3"]], "{when} {raise}");
        assert!(folder.rows("SELECT id FROM seen").await.is_empty(), "{when} {raise}");
    }
}

#[tokio::test]
async fn a_row_that_a_trigger_ignores_is_counted_as_refused() {
    let mut folder = fresh().await;
    folder
        .run(&format!("{RAISING} CREATE TRIGGER no BEFORE INSERT ON t WHEN NEW.v = 'bad' BEGIN SELECT raise(IGNORE); END;"))
        .await;
    let mut connection = folder.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let landed =
        land(&mut connection, &plan, "b1", &[put([int(1), text("bad")]), put([int(2), text("ok")])]).await;
    assert_eq!((landed.written.inserted, landed.written.refused[0].place.number), (1, 1));
}

#[tokio::test]
async fn a_trigger_that_rolls_back_fails_the_batch() {
    let mut folder = fresh().await;
    folder
        .run(&format!(
            "{RAISING} CREATE TRIGGER no AFTER INSERT ON t WHEN NEW.v = 'bad' BEGIN SELECT raise(ROLLBACK, 'never'); END;"
        ))
        .await;
    let mut connection = folder.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let records = [put([int(1), text("ok")]), put([int(2), text("bad")]), put([int(3), text("ok")])];
    let error = write(&mut connection, &plan, &records).await.unwrap_err();
    assert!(error.to_string().contains("rolled the whole transaction back"), "{error}");
    assert!(connection.commit().await.is_err());
    connection.rollback().await;
    assert!(folder.rows("SELECT id FROM t").await.is_empty());
    assert!(folder.rows("SELECT 1 FROM landonce_inbox").await.is_empty());
}

#[tokio::test]
async fn triggers_are_silent_where_nothing_changed() {
    let mut folder = fresh().await;
    folder
        .run(&format!(
            "{RAISING} CREATE TRIGGER a AFTER INSERT ON t BEGIN INSERT INTO seen VALUES (NEW.id); END;
             CREATE TRIGGER b BEFORE UPDATE ON t BEGIN INSERT INTO seen VALUES (NEW.id); END;"
        ))
        .await;
    let mut connection = folder.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let records = [put([int(1), text("a")]), put([int(2), text("b")])];
    land(&mut connection, &plan, "b1", &records).await;
    land(&mut connection, &plan, "b2", &records).await;
    assert_eq!(folder.rows("SELECT id FROM seen").await, [["1"], ["2"]]);
}

#[tokio::test]
async fn what_the_index_holds_equal_is_one_identity() {
    for ddl in [
        "CREATE TABLE t (email TEXT NOT NULL COLLATE NOCASE UNIQUE, v TEXT COLLATE NOCASE)",
        "CREATE TABLE t (email TEXT NOT NULL, v TEXT COLLATE NOCASE); CREATE UNIQUE INDEX i ON t (email COLLATE NOCASE)",
    ] {
        let mut folder = fresh().await;
        folder.run(ddl).await;
        let mut connection = folder.connect().await;
        let plan = plan_on(&mut connection, "t", &["email"]).await;
        let records =
            [put([text("A@x"), text("1")]), put([text("b@x"), text("2")]), put([text("a@X"), text("3")])];
        assert_eq!(
            land(&mut connection, &plan, "b1", &records).await.counts(),
            (2, 0, 0, 0, 0, 1, 0),
            "{ddl}"
        );
        assert_eq!(folder.rows("SELECT email, v FROM t ORDER BY v").await, [["b@x", "2"], ["a@X", "3"]]);
        let again = [put([text("A@X"), text("3")]), put([text("B@x"), text("two")])];
        assert_eq!(land(&mut connection, &plan, "b2", &again).await.counts(), (0, 1, 1, 0, 0, 0, 0), "{ddl}");
        // Content is compared by bytes, whatever the column folds.
        let louder = [put([text("b@x"), text("TWO")])];
        assert_eq!(
            land(&mut connection, &plan, "b3", &louder).await.counts(),
            (0, 1, 0, 0, 0, 0, 0),
            "{ddl}"
        );
        assert_eq!(folder.rows("SELECT v FROM t ORDER BY v").await, [["3"], ["TWO"]]);
    }
}

#[tokio::test]
async fn an_exact_index_in_a_folding_column_keeps_identities_apart() {
    let mut folder = fresh().await;
    folder
        .run("CREATE TABLE t (k TEXT NOT NULL COLLATE NOCASE, v TEXT); CREATE UNIQUE INDEX i ON t (k COLLATE BINARY)")
        .await;
    let mut connection = folder.connect().await;
    let plan = plan_on(&mut connection, "t", &["k"]).await;
    let records = [put([text("a"), text("1")]), put([text("A"), text("2")])];
    assert_eq!(land(&mut connection, &plan, "b1", &records).await.counts(), (2, 0, 0, 0, 0, 0, 0));
    assert_eq!(land(&mut connection, &plan, "b2", &records).await.counts(), (0, 0, 2, 0, 0, 0, 0));
}

#[tokio::test]
async fn a_text_is_never_turned_into_a_number() {
    let mut folder = fresh().await;
    folder.run("CREATE TABLE t (id INTEGER PRIMARY KEY, j JSON, at DATETIME)").await;
    let mut connection = folder.connect().await;
    let plan = plan_on(&mut connection, "t", &["id"]).await;
    let json = |text: &'static str| Value::Json(Cow::Borrowed(text));
    let records = [
        put([int(1), json("{\"n\":12345678901234567890123}"), text("2026-06-01 10:00")]),
        put([int(2), json("12345678901234567890123"), Value::Null]),
        put([int(3), json("null"), text("20260601")]),
        put([int(4), json("[1]"), Value::Timestamptz(0)]),
    ];
    // The stage of a plan that compares columns holds the values too: the rows are refused there already.
    set_up(&mut connection, &plan).await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    work.open_stage(&plan).await.unwrap();
    let mut rows = (work.encoder(&plan, &plan.stage_columns()))();
    for at in 0..records.len() {
        rows.push(&row(&plan, &plan.stage_columns(), &records, at, false));
    }
    let refused = work.stage(rows).await.unwrap();
    assert_eq!(
        refused.iter().map(|one| (one.place.number, one.name.as_str())).collect::<Vec<_>>(),
        [(2, "j"), (3, "at")]
    );
    assert_eq!(work.classify().await.unwrap().new, 2);
    let mut rows = (work.encoder(&plan, &plan.row_columns()))();
    for at in 0..records.len() {
        rows.push(&row(&plan, &plan.row_columns(), &records, at, false));
    }
    let written = work.write(rows, claim("b1").run_id).await.unwrap();
    assert_eq!((written.inserted, written.refused.len()), (2, 2));
    drop(work);
    connection.commit().await.unwrap();
    let rows = folder.rows("SELECT id, j, at, typeof(j), typeof(at) FROM t").await;
    assert_eq!(rows[0][1..], ["{\"n\":12345678901234567890123}", "2026-06-01 10:00", "text", "text"]);
    assert_eq!(rows[1][2], "1970-01-01T00:00:00.000000Z");
}

#[tokio::test]
async fn tables_of_any_make_take_part() {
    for ddl in [
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT)",
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, v TEXT) WITHOUT ROWID",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT) STRICT",
        "CREATE TABLE t (id TEXT NOT NULL, v ANY, UNIQUE (id)) STRICT",
        "CREATE TABLE t (id INTEGER NOT NULL, v, CONSTRAINT \"p k\" PRIMARY KEY (id DESC))",
    ] {
        let mut folder = fresh().await;
        folder.run(ddl).await;
        let mut connection = folder.connect().await;
        let plan = plan_on(&mut connection, "T", &["id"]).await;
        let id = |id: i64| if plan.columns[0].ty == Type::INTEGER { int(id) } else { text(&id.to_string()) };
        let records = [put([id(1), text("a")]), put([id(10), text("b")]), put([id(9), text("c")])];
        assert_eq!(
            land(&mut connection, &plan, "b1", &records).await.counts(),
            (3, 0, 0, 0, 0, 0, 0),
            "{ddl}"
        );
        let changed = [put([id(1), text("a")]), put([id(9), text("C")])];
        assert_eq!(
            land(&mut connection, &plan, "b2", &changed).await.counts(),
            (0, 1, 1, 0, 0, 0, 0),
            "{ddl}"
        );
    }
}

#[tokio::test]
async fn a_key_column_of_the_users_takes_part() {
    let mut folder = fresh().await;
    folder
        .run("CREATE TABLE t (v TEXT, k BLOB UNIQUE, digest BLOB, run TEXT, rev INTEGER); INSERT INTO t (v) VALUES ('old')")
        .await;
    let plan = TablePlan {
        create: false,
        matching: Match::Key { column: "k".to_owned(), form: KeyForm::Bytes },
        guard: Guard::Digest { column: "digest".to_owned() },
        run_id: Some("run".to_owned()),
        revision: Some("rev".to_owned()),
        ..plan("t", &[("v", Type::TEXT)])
    };
    let mut connection = folder.connect().await;
    assert_eq!(land(&mut connection, &plan, "b1", &[put([text("a")])]).await.counts().0, 1);
    // A row without digest and revision (written before landonce came) is changed once, and counted from there.
    folder.run("UPDATE t SET digest = NULL, rev = NULL WHERE v = 'a'").await;
    assert_eq!(land(&mut connection, &plan, "b2", &[put([text("a")])]).await.counts().1, 1);
    assert_eq!(land(&mut connection, &plan, "b3", &[put([text("a")])]).await.counts().2, 1);
    assert_eq!(folder.rows("SELECT v, rev FROM t").await, [["old", "∅"], ["a", "1"]]);
}

#[tokio::test]
async fn what_cannot_be_written_safely_is_refused_before_any_write() {
    let mut folder = fresh().await;
    folder
        .run(
            "CREATE TABLE t (id INTEGER, v TEXT); CREATE VIEW w AS SELECT * FROM t; CREATE VIRTUAL TABLE f USING fts5 (id, v);
             CREATE UNIQUE INDEX part ON t (id) WHERE v IS NULL;",
        )
        .await;
    let mut connection = folder.connect().await;
    connection.migrate().await.unwrap();
    let with = |table: &str, create: bool| {
        by_columns(TablePlan { create, ..plan(table, &[("id", Type::INTEGER), ("v", Type::TEXT)]) }, &[0])
    };
    let keep =
        TablePlan { absent: landonce_core::plan::Absent::Keep, ..plan("x", &vec![("c", Type::TEXT); 64]) };
    connection.begin(Access::Write).await.unwrap();
    for (plan, says) in [
        (with("w", false), "is a view"),
        (with("f", false), "is a virtual table"),
        (with("t", false), "no unique index on exactly (id)"),
        (with("landonce_things", true), "not there"),
        (with("nowhere", false), "not there"),
        (with("nowhere", true), "not there"),
    ] {
        let error = connection.work().open_stage(&plan).await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    connection.rollback().await;
    for (plan, says) in [
        (with("Landonce_stage", true), "are landonce's own tables"),
        (with("a\0b", true), "holds U+0000"),
        (with("", true), "is empty"),
        (keep, "at most 63"),
    ] {
        let error = connection.create_target(&plan).await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    let error =
        connection.create_target(&TablePlan { table: schema("public"), ..things() }).await.unwrap_err();
    assert!(error.to_string().contains("no schema `public`"), "{error}");
    assert_eq!(folder.rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'landonce%'").await, [["20"]]);
}

fn schema(schema: &str) -> landonce_core::plan::TableName {
    landonce_core::plan::TableName { schema: Some(schema.to_owned()), name: "things".to_owned() }
}
