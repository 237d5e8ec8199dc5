//! Of many at once, one is told that it wrote, and no update is lost.

use std::path::Path;
use std::time::Duration;

use landonce_sql::{Action, Dialect, Expr, Rendered, Wrote, render};

use crate::world::{Fault, Store, Value, World, int, set, text, upsert};

const WRITERS: usize = 16;
const ROUNDS: usize = 10;
const KEY: [&str; 2] = ["tenant", "code"];

fn skip(dialect: Dialect) -> Rendered {
    render(&upsert("account", &["tenant", "code", "balance"], 1, &KEY, Action::Skip), dialect).unwrap()
}

fn adds(dialect: Dialect) -> Rendered {
    let value = Expr::stored("balance").then(Expr::sql(" + ")).then(Expr::incoming("balance"));
    let action = Action::Update { set: vec![set("balance", value)], only_if: None };
    render(&upsert("account", &["tenant", "code", "balance"], 1, &KEY, action), dialect).unwrap()
}

/// Each writer writes each round's row, and where it was the first adds one to the sum; both in one transaction or each in its own.
async fn writer(mut store: Store, in_transaction: bool) -> usize {
    let (skip, adds) = (skip(store.dialect()), adds(store.dialect()));
    let mut won = 0;
    for round in 0..ROUNDS {
        let row = [text("t"), text(&format!("round {round}")), int(1)];
        let sum = [text("t"), text("sum"), int(1)];
        if in_transaction {
            won += usize::from(both(&mut store, (&skip, &row), (&adds, &sum)).await);
        } else if skip.wrote(alone(&mut store, &skip, &row).await) == Wrote::Inserted {
            alone(&mut store, &adds, &sum).await;
            won += 1;
        }
    }
    won
}

/// One statement, again while it loses against another: MariaDB may see a deadlock in two inserts of one key.
async fn alone(store: &mut Store, rendered: &Rendered, row: &[Value]) -> u64 {
    loop {
        match store.run(rendered, row).await {
            Ok(affected) => return affected,
            Err(Fault::Again) => {}
            Err(fault) => panic!("{fault:?}"),
        }
    }
}

/// Both in one transaction, which runs again as a whole while it loses. True: this call has won.
async fn both(store: &mut Store, skip: (&Rendered, &[Value]), adds: (&Rendered, &[Value])) -> bool {
    loop {
        let begin = if store.dialect() == Dialect::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
        store.execute(begin).await;
        let said = match store.run(skip.0, skip.1).await {
            Ok(affected) if skip.0.wrote(affected) == Wrote::Inserted => {
                store.run(adds.0, adds.1).await.map(|_| true)
            }
            said => said.map(|_| false),
        };
        match said {
            Ok(has_won) => {
                store.execute("COMMIT").await;
                return has_won;
            }
            Err(Fault::Again) => store.execute("ROLLBACK").await,
            Err(fault) => panic!("{fault:?}"),
        }
    }
}

async fn race(stores: Vec<Store>, mut look: Store, in_transaction: bool) {
    let tasks: Vec<_> = stores.into_iter().map(|store| tokio::spawn(writer(store, in_transaction))).collect();
    let mut won = 0;
    for task in tasks {
        won += task.await.unwrap();
    }
    assert_eq!(won, ROUNDS, "one winner a round");
    let sum = look.rows("SELECT balance FROM account WHERE code = 'sum'").await;
    assert_eq!(sum, [[int(ROUNDS as i64)]], "and what only the winner does was done once a round");
    assert_eq!(look.rows("SELECT code FROM account WHERE code <> 'sum'").await.len(), ROUNDS);
}

async fn on_a_server(dialect: Dialect, in_transaction: bool) {
    let world = World::with_accounts().await;
    let mut stores = Vec::new();
    for _ in 0..WRITERS {
        stores.push(world.another(dialect).await);
    }
    let look = world.another(dialect).await;
    race(stores, look, in_transaction).await;
}

fn sqlite(path: &Path) -> Store {
    let conn = rusqlite::Connection::open(path).unwrap();
    conn.busy_timeout(Duration::from_mins(1)).unwrap();
    Store::Sqlite(conn)
}

async fn on_sqlite(in_transaction: bool) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("race.db");
    let mut first = sqlite(&path);
    first.execute("PRAGMA journal_mode = WAL").await;
    first.make_accounts().await;
    race((0..WRITERS).map(|_| sqlite(&path)).collect(), first, in_transaction).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_sixteen_wins_on_sqlite() {
    on_sqlite(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_sixteen_wins_inside_transactions_on_sqlite() {
    on_sqlite(true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_sixteen_wins_on_postgres() {
    on_a_server(Dialect::Postgres, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_sixteen_wins_inside_transactions_on_postgres() {
    on_a_server(Dialect::Postgres, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_sixteen_wins_on_mariadb() {
    on_a_server(Dialect::MariaDb, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_sixteen_wins_inside_transactions_on_mariadb() {
    on_a_server(Dialect::MariaDb, true).await;
}

#[tokio::test]
async fn the_loser_waits_for_the_winners_commit_and_wins_when_it_rolls_back() {
    for dialect in [Dialect::Postgres, Dialect::MariaDb] {
        for ends in ["COMMIT", "ROLLBACK"] {
            let world = World::with_accounts().await;
            let (mut first, mut second) = (world.another(dialect).await, world.another(dialect).await);
            let row: Vec<Value> = vec![text("t"), text("a"), int(1)];
            let rendered = skip(dialect);
            first.execute("BEGIN").await;
            assert_eq!(first.run(&rendered, &row).await, Ok(1));
            let (waits, own) = (skip(dialect), row.clone());
            let second = tokio::spawn(async move { second.run(&waits, &own).await });
            first.execute(ends).await;
            let expected = if ends == "COMMIT" { Wrote::Nothing } else { Wrote::Inserted };
            assert_eq!(
                second.await.unwrap().map(|affected| rendered.wrote(affected)),
                Ok(expected),
                "{dialect} {ends}"
            );
        }
    }
}
