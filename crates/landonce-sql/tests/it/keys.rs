//! Keys that differ in case, accent or blanks, and NULL in a key.

use landonce_sql::{Action, Expr, Wrote, render};

use crate::world::{Fault, Value, World, int, set, text, upsert};

const KEY: [&str; 2] = ["tenant", "code"];

#[tokio::test]
async fn keys_that_differ_in_case_accent_or_a_blank_are_different_rows() {
    let mut world = World::with_accounts().await;
    let skip = upsert("account", &KEY, 1, &KEY, Action::Skip);
    for code in ["a", "A", "á", "a ", " a", "a\u{301}", "", "ss", "ß"] {
        for said in world.run(&skip, &[text("t"), text(code)]).await {
            assert_eq!(said, Ok(Wrote::Inserted), "{code:?}");
        }
    }
    for said in world.run(&skip, &[text("t"), text("a ")]).await {
        assert_eq!(said, Ok(Wrote::Nothing));
    }
    assert_eq!(world.rows("SELECT code FROM account").await.len(), 9);
}

#[tokio::test]
async fn where_mariadbs_index_takes_two_keys_for_one_neither_is_lost() {
    let mut world = World::new().await;
    let store = &mut world.stores[2];
    // Its default collations don't see case and accents, and `_bin` doesn't see blanks at the end.
    for (table, collation, other) in [("ci", "utf8mb4_general_ci", "A"), ("pad", "utf8mb4_bin", "a ")] {
        store
            .execute(&format!(
                "CREATE TABLE {table} (k varchar(9) COLLATE {collation} PRIMARY KEY, v bigint)"
            ))
            .await;
        for action in [Action::Skip, Action::Replace] {
            let rendered = render(&upsert(table, &["k", "v"], 1, &["k"], action), store.dialect()).unwrap();
            assert!(store.run(&rendered, &[text("a"), int(1)]).await.is_ok());
            assert_eq!(store.run(&rendered, &[text(other), int(2)]).await, Err(Fault::Unique), "{collation}");
        }
        assert_eq!(store.rows(&format!("SELECT k, v FROM {table}")).await, [[text("a"), int(1)]]);
    }
}

#[tokio::test]
async fn a_key_with_a_null_is_equal_to_none() {
    let mut world = World::with_accounts().await;
    let columns = ["tenant", "code", "email", "balance"];
    let adds = Action::Update { set: vec![set("balance", Expr::incoming("balance"))], only_if: None };
    for (action, email) in [(Action::Skip, Value::Null), (adds.clone(), Value::Null), (adds, text("a@x"))] {
        let said = world
            .run(&upsert("account", &columns, 1, &KEY, action), &[text("t"), Value::Null, email, int(1)])
            .await;
        assert!(said.iter().all(|said| said.as_ref().is_ok_and(|wrote| wrote.is_written())), "{said:?}");
    }
    assert_eq!(world.rows("SELECT code FROM account").await, vec![[Value::Null]; 3]);
    // The email finds the row whose key is (t, NULL): the keys look alike, and aren't the same.
    for action in [Action::Skip, Action::Replace] {
        let said = world
            .run(
                &upsert("account", &columns, 1, &KEY, action),
                &[text("t"), Value::Null, text("a@x"), int(9)],
            )
            .await;
        assert_eq!(said, vec![Err(Fault::Unique); 3]);
    }
}

#[tokio::test]
async fn keys_of_many_column_types_are_told_apart_on_mariadb() {
    let mut world = World::new().await;
    let store = &mut world.stores[2];
    let types = [
        ("uuid", "UUID()"),
        ("inet6", "'::1'"),
        ("decimal(20,8)", "1.5"),
        ("double", "0.1"),
        ("float", "0.1"),
        ("datetime(6)", "'2026-03-01 01:02:03.000004'"),
        ("date", "'2026-03-01'"),
        ("time(3)", "'10:00:00.5'"),
        ("year", "2026"),
        ("bit(9)", "b'101'"),
        ("varbinary(9)", "X'00ff5c27'"),
        ("char(9)", "'a '"),
        ("enum('x','y')", "'y'"),
        ("set('x','y')", "'x,y'"),
        ("bigint unsigned", "18446744073709551615"),
    ];
    for (at, (ty, value)) in types.into_iter().enumerate() {
        let table = format!("k{at}");
        store.execute(&format!("CREATE TABLE {table} (k {ty} PRIMARY KEY, u bigint UNIQUE)")).await;
        store.execute(&format!("INSERT INTO {table} VALUES ({value}, 1)")).await;
        let query = format!("SELECT k, 2 FROM {table}");
        let mut upsert = upsert(&table, &["k", "u"], 1, &["k"], Action::Skip);
        upsert.rows = landonce_sql::Rows::Query(Expr::sql(query));
        let rendered = render(&upsert, store.dialect()).unwrap();
        assert_eq!(store.run(&rendered, &[]).await, Ok(0), "{ty}");
        assert_eq!(store.rows(&format!("SELECT u FROM {table}")).await, [[int(1)]], "{ty}");
    }
}
