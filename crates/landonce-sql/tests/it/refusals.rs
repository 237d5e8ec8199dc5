//! What isn't written, and why: each says what is wrong and what to do.

use landonce_sql::{Action, Dialect, Expr, Rows, render};

use crate::world::{set, upsert};

const MYSQL: [Dialect; 2] = [Dialect::MariaDb, Dialect::MySql];

fn refused(upsert: &landonce_sql::Upsert, dialect: Dialect) -> String {
    render(upsert, dialect).unwrap_err().to_string()
}

#[test]
fn a_key_that_the_rows_dont_give_identifies_nothing() {
    for dialect in Dialect::ALL {
        let said = refused(&upsert("t", &["v"], 1, &["id"], Action::Skip), dialect);
        assert!(said.contains("`id`") && said.contains("a generated value identifies nothing"), "{said}");
    }
}

#[test]
fn values_in_a_circle_are_refused_where_assignments_see_each_other() {
    let swap =
        Action::Update { set: vec![set("a", Expr::stored("b")), set("b", Expr::stored("a"))], only_if: None };
    let upsert = upsert("t", &["id", "a", "b"], 1, &["id"], swap);
    for dialect in MYSQL {
        let said = refused(&upsert, dialect);
        assert!(said.contains("`a`, `b`") && said.contains("FOR UPDATE"), "{said}");
    }
    assert!(render(&upsert, Dialect::Postgres).is_ok());
    assert!(render(&upsert, Dialect::Sqlite).is_ok());
}

#[test]
fn a_condition_on_two_columns_that_change_is_refused_there_too() {
    let differs = |column: &str| Expr::stored(column).then(Expr::sql(" <> ")).then(Expr::incoming(column));
    let only_if = Some(differs("a").then(Expr::sql(" OR ")).then(differs("b")));
    let set = vec![set("a", Expr::incoming("a")), set("b", Expr::incoming("b"))];
    let upsert = upsert("t", &["id", "a", "b"], 1, &["id"], Action::Update { set, only_if });
    assert!(MYSQL.iter().all(|dialect| refused(&upsert, *dialect).contains("each depend on")));
}

#[test]
fn rows_that_come_arent_made_of_rows_that_are_there() {
    let mut given = upsert("t", &["id", "v"], 1, &["id"], Action::Skip);
    given.rows = Rows::Values(vec![vec![Expr::param(1), Expr::stored("v")]]);
    assert!(refused(&given, Dialect::Postgres).contains("can't be made of the column `v`"));
}

#[test]
fn returning_what_wasnt_written_is_refused() {
    let mut given = upsert("t", &["id", "v"], 1, &["id"], Action::Skip);
    given.returning = vec!["v".into()];
    assert!(refused(&given, Dialect::MariaDb).contains("a row that was there"));
    assert!(refused(&given, Dialect::MySql).contains("no RETURNING"));
    given.action = Action::Replace;
    assert!(render(&given, Dialect::MariaDb).is_ok());
}

#[test]
fn parameters_without_their_neighbours_and_too_many_of_them_are_refused() {
    let mut given = upsert("t", &["id", "v"], 1, &["id"], Action::Skip);
    given.rows = Rows::Values(vec![vec![Expr::param(1), Expr::param(3)]]);
    assert!(refused(&given, Dialect::Postgres).contains("parameter 3 is used, and parameter 2 isn't"));
    let many = upsert("t", &["id", "v"], 32_768, &["id"], Action::Skip);
    for dialect in Dialect::ALL {
        assert!(refused(&many, dialect).contains("65536 parameters are more than"), "{dialect}");
    }
    let most = upsert("t", &["id"], 65_535, &["id"], Action::Skip);
    assert!(render(&most, Dialect::Postgres).is_ok());
    assert!(refused(&most, Dialect::Sqlite).contains("32766"));
}

#[test]
fn rows_and_columns_that_dont_fit_are_refused() {
    let mut given = upsert("t", &["id", "v"], 1, &["id"], Action::Skip);
    given.rows = Rows::Values(vec![vec![Expr::param(1)]]);
    assert!(refused(&given, Dialect::Sqlite).contains("row 1 has 1 values for 2 columns"));
    assert!(
        refused(&upsert("t", &["id", "id"], 1, &["id"], Action::Skip), Dialect::Sqlite)
            .contains("given twice")
    );
    assert!(refused(&upsert("t", &["id"], 0, &["id"], Action::Skip), Dialect::Sqlite).contains("no row"));
    assert!(refused(&upsert("t", &["id"], 1, &[], Action::Skip), Dialect::Sqlite).contains("no key"));
    let unknown = Action::Update { set: vec![set("v", Expr::incoming("w"))], only_if: None };
    assert!(refused(&upsert("t", &["id", "v"], 1, &["id"], unknown), Dialect::Sqlite).contains("`w`"));
}
