//! The same table and the same "who wrote" on SQLite, PostgreSQL and MariaDB, case by case.

use landonce_sql::{Action, Dialect, Expr, OTHER_ROW, Rows, Upsert, Wrote, render};

use crate::world::{ACCOUNTS, Fault, Store, Value, World, int, set, text, upsert};

const COLUMNS: [&str; 5] = ["tenant", "code", "email", "balance", "version"];
const KEY: [&str; 2] = ["tenant", "code"];

fn row(tenant: &str, code: &str, email: &str, balance: i64, version: i64) -> Vec<Value> {
    vec![text(tenant), text(code), text(email), int(balance), int(version)]
}

fn account(action: Action) -> Upsert {
    upsert("account", &COLUMNS, 1, &KEY, action)
}

/// What the three say when a row of theirs was inserted or changed.
fn inserted_or(postgres_and_sqlite: Wrote, mariadb: Wrote) -> Vec<Result<Wrote, Fault>> {
    vec![Ok(postgres_and_sqlite), Ok(postgres_and_sqlite), Ok(mariadb)]
}

fn all(wrote: Wrote) -> Vec<Result<Wrote, Fault>> {
    inserted_or(wrote, wrote)
}

fn refused() -> Vec<Result<Wrote, Fault>> {
    vec![Err(Fault::Unique), Err(Fault::Unique), Err(Fault::Unique)]
}

fn adds() -> Action {
    let value = Expr::stored("balance").then(Expr::sql(" + ")).then(Expr::incoming("balance"));
    Action::Update { set: vec![set("balance", value)], only_if: None }
}

fn newer() -> Action {
    Action::Update {
        set: vec![set("version", Expr::incoming("version")), set("balance", Expr::incoming("balance"))],
        only_if: Some(Expr::stored("version").then(Expr::sql(" < ")).then(Expr::incoming("version"))),
    }
}

#[tokio::test]
async fn the_first_writes_and_the_second_is_told_that_it_is_a_duplicate() {
    let mut world = World::with_accounts().await;
    let skip = account(Action::Skip);
    assert_eq!(world.run(&skip, &row("t", "a", "a@x", 10, 1)).await, all(Wrote::Inserted));
    assert_eq!(world.run(&skip, &row("t", "a", "a@x", 99, 2)).await, all(Wrote::Nothing));
    assert_eq!(world.rows(ACCOUNTS).await, [[row("t", "a", "a@x", 10, 1), vec![Value::Null]].concat()]);
}

#[tokio::test]
async fn a_replaced_row_has_what_was_given_and_keeps_what_wasnt() {
    let mut world = World::with_accounts().await;
    for store in &mut world.stores {
        store
            .execute("INSERT INTO account (tenant, code, email, note) VALUES ('t', 'a', 'a@x', 'kept')")
            .await;
    }
    let replace = account(Action::Replace);
    assert_eq!(
        world.run(&replace, &row("t", "a", "b@x", 5, 2)).await,
        inserted_or(Wrote::Written, Wrote::Changed)
    );
    assert_eq!(
        world.run(&replace, &row("t", "a", "b@x", 5, 2)).await,
        inserted_or(Wrote::Written, Wrote::Nothing)
    );
    assert_eq!(
        world.run(&replace, &row("t", "n", "n@x", 1, 1)).await,
        inserted_or(Wrote::Written, Wrote::Inserted)
    );
    let rows = world.rows(ACCOUNTS).await;
    assert_eq!(rows[0], [row("t", "a", "b@x", 5, 2), vec![text("kept")]].concat());
    assert_eq!(rows.len(), 2);
}

#[tokio::test]
async fn a_row_of_a_key_alone_that_is_replaced_stays() {
    let mut world = World::with_accounts().await;
    let replace = upsert("account", &KEY, 1, &KEY, Action::Replace);
    assert_eq!(world.run(&replace, &[text("t"), text("a")]).await, all(Wrote::Inserted));
    assert_eq!(world.run(&replace, &[text("t"), text("a")]).await, all(Wrote::Nothing));
}

#[tokio::test]
async fn an_expression_sees_the_row_that_is_there_and_the_one_that_comes() {
    let mut world = World::with_accounts().await;
    for amount in [10, 20, 12] {
        world.run(&account(adds()), &row("t", "a", "a@x", amount, 1)).await;
    }
    assert_eq!(world.rows("SELECT balance FROM account").await, [[int(42)]]);
}

#[tokio::test]
async fn a_condition_lets_the_newer_row_in_only() {
    let mut world = World::with_accounts().await;
    world.run(&account(newer()), &row("t", "a", "a@x", 1, 7)).await;
    assert_eq!(world.run(&account(newer()), &row("t", "a", "a@x", 2, 5)).await, all(Wrote::Nothing));
    assert_eq!(
        world.run(&account(newer()), &row("t", "a", "a@x", 3, 8)).await,
        inserted_or(Wrote::Written, Wrote::Changed)
    );
    assert_eq!(world.rows("SELECT balance, version FROM account").await, [[int(3), int(8)]]);
}

#[tokio::test]
async fn an_equal_row_isnt_written_and_a_null_is_equal_to_a_null() {
    let mut world = World::with_accounts().await;
    let action = Action::Update {
        set: vec![set("note", Expr::incoming("note"))],
        only_if: Some(Expr::differs("note")),
    };
    let upsert = upsert("account", &["tenant", "code", "note"], 1, &KEY, action);
    let row = |note: Value| vec![text("t"), text("a"), note];
    world.run(&upsert, &row(Value::Null)).await;
    assert_eq!(world.run(&upsert, &row(Value::Null)).await, all(Wrote::Nothing));
    assert_eq!(world.run(&upsert, &row(text("x"))).await, inserted_or(Wrote::Written, Wrote::Changed));
    assert_eq!(world.run(&upsert, &row(text("x"))).await, all(Wrote::Nothing));
    assert_eq!(world.run(&upsert, &row(Value::Null)).await, inserted_or(Wrote::Written, Wrote::Changed));
}

#[tokio::test]
async fn every_assignment_sees_the_old_row_in_whatever_order_they_stand() {
    let mut world = World::with_accounts().await;
    let chain = |turned: bool| {
        let mut set = vec![
            set("balance", Expr::incoming("balance")),
            set("version", Expr::stored("balance").then(Expr::sql(" + 1"))),
        ];
        if turned {
            set.reverse();
        }
        account(Action::Update { set, only_if: None })
    };
    world.run(&chain(false), &row("t", "a", "a@x", 10, 0)).await;
    world.run(&chain(false), &row("t", "a", "a@x", 20, 0)).await;
    assert_eq!(world.rows("SELECT balance, version FROM account").await, [[int(20), int(11)]]);
    world.run(&chain(true), &row("t", "a", "a@x", 30, 0)).await;
    assert_eq!(world.rows("SELECT balance, version FROM account").await, [[int(30), int(21)]]);
}

#[tokio::test]
async fn another_index_in_conflict_is_an_error_and_changes_nothing() {
    for action in [Action::Skip, Action::Replace, adds(), newer()] {
        let mut world = World::with_accounts().await;
        world.run(&account(Action::Skip), &row("t", "a", "a@x", 10, 1)).await;
        world.run(&account(Action::Skip), &row("t", "b", "b@x", 20, 1)).await;
        let before = world.rows(ACCOUNTS).await;
        assert_eq!(
            world.run(&account(action.clone()), &row("t", "c", "a@x", 99, 9)).await,
            refused(),
            "{action:?}"
        );
        // The whole statement is undone, with the good row before the bad one.
        let two = upsert("account", &COLUMNS, 2, &KEY, action.clone());
        let values = [row("t", "d", "d@x", 1, 1), row("t", "c", "b@x", 99, 9)].concat();
        assert_eq!(world.run(&two, &values).await, refused(), "{action:?}");
        assert_eq!(world.rows(ACCOUNTS).await, before, "{action:?}");
    }
}

#[tokio::test]
async fn by_its_error_mariadb_says_that_it_was_another_row() {
    let mut world = World::with_accounts().await;
    world.run(&account(Action::Skip), &row("t", "a", "a@x", 10, 1)).await;
    let Store::MariaDb(conn) = &mut world.stores[2] else { panic!("the third is MariaDB") };
    let rendered = render(&account(Action::Skip), Dialect::MariaDb).unwrap();
    let values = ("t", "c", "a@x", 1, 1);
    let error = mysql_async::prelude::Queryable::exec_drop(conn, &rendered.sql, values).await.unwrap_err();
    assert!(error.to_string().contains(OTHER_ROW), "{error}");
    assert!(!error.to_string().contains("a@x"), "values aren't shown: {error}");
}

#[tokio::test]
async fn no_mode_of_a_mariadb_session_lets_another_row_be_changed() {
    let mut world = World::with_accounts().await;
    world.run(&account(Action::Skip), &row("t", "a", "a@x", 10, 1)).await;
    let store = &mut world.stores[2];
    for mode in [
        "",
        "ANSI",
        "ORACLE",
        "NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT,NO_UNSIGNED_SUBTRACTION",
        "TRADITIONAL",
    ] {
        store.execute(&format!("SET sql_mode = '{mode}'")).await;
        for action in [Action::Skip, Action::Replace, adds(), newer()] {
            let rendered = render(&account(action), Dialect::MariaDb).unwrap();
            assert_eq!(
                store.run(&rendered, &row("t", "c", "a@x", 99, 9)).await,
                Err(Fault::Unique),
                "{mode}"
            );
        }
    }
    assert_eq!(store.rows(ACCOUNTS).await, [[row("t", "a", "a@x", 10, 1), vec![Value::Null]].concat()]);
}

#[tokio::test]
async fn a_connection_that_counts_found_rows_takes_the_duplicate_for_the_winner() {
    // Why it says so in the docs: there is no count by which these could be told apart.
    let world = World::with_accounts().await;
    let mut store = world.counting_found_rows().await;
    let rendered = render(&account(Action::Skip), Dialect::MariaDb).unwrap();
    for _ in 0..2 {
        assert_eq!(store.run(&rendered, &row("t", "a", "a@x", 10, 1)).await, Ok(1));
    }
    assert_eq!(store.rows(ACCOUNTS).await.len(), 1);
}

#[tokio::test]
async fn one_key_twice_in_a_statement_is_written_once_or_refused_by_postgres() {
    let mut world = World::with_accounts().await;
    let two = |action| upsert("account", &["tenant", "code", "balance"], 2, &KEY, action);
    let values = [text("t"), text("a"), int(1), text("t"), text("a"), int(2)];
    for store in &mut world.stores {
        let rendered = render(&two(Action::Skip), store.dialect()).unwrap();
        assert_eq!(store.run(&rendered, &values).await, Ok(1), "the first one");
    }
    assert_eq!(world.rows("SELECT balance FROM account").await, [[int(1)]]);
    // To change a row twice in one statement is an error on PostgreSQL (21000), and two changes on the others.
    for store in &mut world.stores {
        let rendered = render(&two(adds()), store.dialect()).unwrap();
        match store.run(&rendered, &values).await {
            Err(Fault::Other(error)) if store.dialect() == Dialect::Postgres => {
                assert!(error.contains("21000"), "{error}");
            }
            said => assert!(said.is_ok() && store.dialect() != Dialect::Postgres, "{said:?}"),
        }
    }
}

#[tokio::test]
async fn a_row_that_collides_with_two_others_changes_neither_wrongly() {
    // Its key is that of `a`, its email that of `b`, and the email's index is looked at first on MariaDB.
    let mut world = World::with_accounts().await;
    world.run(&account(Action::Skip), &row("t", "a", "a@x", 10, 1)).await;
    world.run(&account(Action::Skip), &row("t", "b", "b@x", 20, 1)).await;
    let before = world.rows(ACCOUNTS).await;
    let both = row("t", "a", "b@x", 5, 5);
    // To replace the row would give it b's email: an error everywhere.
    assert_eq!(world.run(&account(Action::Replace), &both).await, refused());
    // To skip or add touches `a` alone. MariaDB finds `b` first and refuses; it never touches `b`.
    let skip = world.run(&account(Action::Skip), &both).await;
    assert_eq!(skip, [Ok(Wrote::Nothing), Ok(Wrote::Nothing), Err(Fault::Unique)]);
    assert_eq!(world.rows(ACCOUNTS).await, before);
}

#[tokio::test]
async fn by_the_primary_key_a_row_that_collides_with_two_others_is_the_keys_everywhere() {
    let mut world = World::new().await;
    for store in &mut world.stores {
        store
            .execute(
                "CREATE TABLE p (email varchar(20) UNIQUE, id bigint NOT NULL, v bigint, PRIMARY KEY (id))",
            )
            .await;
        store.execute("INSERT INTO p (id, email, v) VALUES (1, 'a@x', 1), (2, 'b@x', 2)").await;
    }
    let action = Action::Update { set: vec![set("v", Expr::incoming("v"))], only_if: None };
    let said = world
        .run(&upsert("p", &["id", "email", "v"], 1, &["id"], action), &[int(1), text("b@x"), int(9)])
        .await;
    assert_eq!(said, inserted_or(Wrote::Written, Wrote::Changed));
    assert_eq!(
        world.rows("SELECT id, email, v FROM p").await,
        [[int(1), text("a@x"), int(9)], [int(2), text("b@x"), int(2)]]
    );
}

#[tokio::test]
async fn inside_a_transaction_the_count_tells_and_the_transaction_goes_on() {
    let mut world = World::with_accounts().await;
    for store in &mut world.stores {
        store.execute("BEGIN").await;
    }
    let skip = account(Action::Skip);
    assert_eq!(world.run(&skip, &row("t", "a", "a@x", 10, 1)).await, all(Wrote::Inserted));
    assert_eq!(world.run(&skip, &row("t", "a", "a@x", 10, 1)).await, all(Wrote::Nothing));
    assert_eq!(world.run(&skip, &row("t", "b", "b@x", 10, 1)).await, all(Wrote::Inserted));
    for store in &mut world.stores {
        store.execute("COMMIT").await;
    }
    assert_eq!(world.rows(ACCOUNTS).await.len(), 2);
}

#[tokio::test]
async fn rows_of_a_query_are_written_alike() {
    let mut world = World::with_accounts().await;
    for store in &mut world.stores {
        store.execute("CREATE TABLE incoming (tenant varchar(9), email varchar(9), balance bigint)").await;
        store.execute("INSERT INTO incoming VALUES ('t', 'a@x', 1), ('u', 'b@x', 2)").await;
    }
    // Two of its columns are called alike, and it ends where a store could read on.
    let query = "SELECT i.tenant, i.tenant, i.email, i.balance, 1 FROM incoming AS i";
    let mut upsert = account(adds());
    upsert.rows = Rows::Query(Expr::sql(query));
    world.run(&upsert, &[]).await.into_iter().for_each(|said| assert!(said.is_ok(), "{said:?}"));
    world.run(&upsert, &[]).await.into_iter().for_each(|said| assert!(said.is_ok(), "{said:?}"));
    assert_eq!(
        world.rows("SELECT code, balance FROM account").await,
        [[text("t"), int(2)], [text("u"), int(4)]]
    );
}

#[tokio::test]
async fn a_table_may_read_itself() {
    let mut world = World::with_accounts().await;
    world.run(&account(Action::Skip), &row("t", "a", "a@x", 10, 1)).await;
    let mut upsert = account(adds());
    upsert.rows = Rows::Query(Expr::sql("SELECT tenant, code, email, balance, version FROM account"));
    world.run(&upsert, &[]).await.into_iter().for_each(|said| assert!(said.is_ok(), "{said:?}"));
    assert_eq!(world.rows("SELECT balance FROM account").await, [[int(20)]]);
}

#[tokio::test]
async fn a_parameter_may_stand_in_two_places() {
    let mut world = World::with_accounts().await;
    let value = Expr::stored("balance")
        .then(Expr::sql(" + "))
        .then(Expr::param(4))
        .then(Expr::sql(" + "))
        .then(Expr::param(4));
    let twice = account(Action::Update { set: vec![set("balance", value)], only_if: None });
    world.run(&twice, &row("t", "a", "a@x", 10, 1)).await;
    world.run(&twice, &row("t", "a", "a@x", 5, 1)).await;
    assert_eq!(world.rows("SELECT balance FROM account").await, [[int(20)]]);
}

#[tokio::test]
async fn what_was_written_is_returned() {
    let mut world = World::with_accounts().await;
    let mut upsert = account(adds());
    upsert.returning = vec!["balance".into(), "note".into()];
    for store in &mut world.stores {
        let rendered = render(&upsert, store.dialect()).unwrap();
        assert_eq!(store.returned(&rendered, &row("t", "a", "a@x", 10, 1)).await, [[int(10), Value::Null]]);
        assert_eq!(store.returned(&rendered, &row("t", "a", "a@x", 10, 1)).await, [[int(20), Value::Null]]);
    }
}

#[tokio::test]
async fn texts_with_quotes_and_backslashes_arrive_as_they_are() {
    let odd = "it's a \\ and a \\' and \"\n–é";
    let mut world = World::with_accounts().await;
    let mut upsert = upsert("account", &["tenant", "code", "note"], 1, &KEY, Action::Skip);
    let literal = |value: &str| Expr(vec![landonce_sql::Piece::Text(value.to_owned())]);
    upsert.rows = Rows::Values(vec![vec![literal("t"), literal(odd), literal(odd)]]);
    assert_eq!(world.run(&upsert, &[]).await, all(Wrote::Inserted));
    assert_eq!(world.run(&upsert, &[]).await, all(Wrote::Nothing));
    assert_eq!(world.rows("SELECT code, note FROM account").await, [[text(odd), text(odd)]]);
}

#[tokio::test]
async fn names_may_be_words_of_sql_or_hold_quotes() {
    let mut world = World::new().await;
    for store in &mut world.stores {
        let quote = if store.dialect().is_mysql_like() { '`' } else { '"' };
        let q = |name: &str| format!("{quote}{name}{quote}");
        let sql = format!(
            "CREATE TABLE {} ({} bigint PRIMARY KEY, {} bigint)",
            q("order"),
            q("select"),
            q("Group 'x'"),
        );
        store.execute(&sql).await;
    }
    let columns = ["select", "Group 'x'"];
    for amount in [1, 2] {
        let said = world
            .run(&upsert("order", &columns, 1, &["select"], Action::Replace), &[int(1), int(amount)])
            .await;
        assert!(said.iter().all(Result::is_ok), "{said:?}");
    }
}

#[tokio::test]
async fn sqlites_own_conflict_clauses_dont_apply() {
    let mut world = World::new().await;
    let Store::Sqlite(conn) = &world.stores[0] else { panic!("the first is SQLite") };
    conn.execute_batch(
        "CREATE TABLE p (id bigint PRIMARY KEY, email text UNIQUE ON CONFLICT REPLACE, v int NOT NULL ON CONFLICT IGNORE);
         INSERT INTO p VALUES (1, 'a@x', 1)",
    )
    .unwrap();
    let skip =
        render(&upsert("p", &["id", "email", "v"], 1, &["id"], Action::Skip), Dialect::Sqlite).unwrap();
    let store = &mut world.stores[0];
    assert_eq!(store.run(&skip, &[int(2), text("a@x"), int(2)]).await, Err(Fault::Unique));
    assert!(matches!(store.run(&skip, &[int(3), text("c@x"), Value::Null]).await, Err(Fault::Other(_))));
    assert_eq!(store.rows("SELECT id, v FROM p").await, [[int(1), int(1)]]);
}
