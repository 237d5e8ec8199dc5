//! Whatever upserts come, in whatever order, the stores agree: on the table, and on who wrote.

use landonce_sql::{Action, Assignment, Expr, Upsert, Wrote};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::world::{ACCOUNTS, Fault, Value, World, int, set, text, upsert};

const COLUMNS: [&str; 5] = ["tenant", "code", "email", "balance", "version"];

/// Few values, so that rows meet.
fn row() -> impl Strategy<Value = Vec<Value>> {
    let code = prop_oneof![4 => "[abA]", 1 => Just("a ".to_owned()), 1 => Just(String::new())];
    let code = prop_oneof![9 => code.prop_map(|code| text(&code)), 1 => Just(Value::Null)];
    let email = prop_oneof![3 => "[xyzX]@[12]".prop_map(|email| text(&email)), 1 => Just(Value::Null)];
    ("[tu]", code, email, -9i64..9, 0i64..5).prop_map(|(tenant, code, email, balance, version)| {
        vec![text(&tenant), code, email, int(balance), int(version)]
    })
}

fn number() -> impl Strategy<Value = Expr> {
    let column = || prop::sample::select(vec!["balance", "version"]);
    let leaf =
        prop_oneof![column().prop_map(Expr::incoming), column().prop_map(Expr::stored), Just(Expr::sql("7"))];
    leaf.prop_recursive(2, 6, 2, |inner| {
        (inner.clone(), prop::sample::select(vec![" + ", " - ", " * "]), inner).prop_map(
            |(left, sign, right)| {
                Expr::sql("(").then(left).then(Expr::sql(sign)).then(right).then(Expr::sql(")"))
            },
        )
    })
}

fn action() -> impl Strategy<Value = Action> {
    let numbers =
        (number(), number(), any::<bool>(), any::<bool>()).prop_map(|(one, other, both, turned)| {
            let mut all: Vec<Assignment> = vec![set("balance", one)];
            if both {
                all.push(set("version", other));
            }
            if turned {
                all.reverse();
            }
            all
        });
    let condition = prop::option::of(
        (number(), prop::sample::select(vec![" < ", " = ", " <> "]), number())
            .prop_map(|(left, sign, right)| left.then(Expr::sql(sign)).then(right)),
    );
    let update = (numbers, condition).prop_map(|(set, only_if)| Action::Update { set, only_if });
    prop_oneof![1 => Just(Action::Skip), 1 => Just(Action::Replace), 3 => update]
}

pub(crate) fn statement() -> impl Strategy<Value = (Upsert, Vec<Value>)> {
    let key = prop::sample::select(vec![vec!["tenant", "code"], vec!["email"]]);
    (key, action(), row()).prop_map(|(key, action, row)| (upsert("account", &COLUMNS, 1, &key, action), row))
}

#[test]
fn whatever_upserts_come_the_stores_agree() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let world = std::cell::RefCell::new(runtime.block_on(World::with_accounts()));
    let mut seen = [0; 4];
    let cases = prop::collection::vec(statement(), 1..25);
    let tell = std::cell::RefCell::new(&mut seen);
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&cases, |statements| {
        let (world, seen) = (&mut *world.borrow_mut(), &mut *tell.borrow_mut());
        runtime.block_on(async {
            for store in &mut world.stores {
                store.execute("DELETE FROM account").await;
            }
            for (upsert, values) in statements {
                let before = world.rows(ACCOUNTS).await;
                // Values that depend on each other in a circle are refused on MariaDB: no store runs them then.
                if landonce_sql::render(&upsert, landonce_sql::Dialect::MariaDb).is_err() {
                    seen[0] += 1;
                    continue;
                }
                agree(world, &upsert, &values, &before, seen).await?;
            }
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(seen.iter().all(|count| *count > 20), "refused, skipped, written and in conflict: {seen:?}");
}

/// Runs it everywhere, and compares. Where MariaDB finds another row before the key's own, it may refuse what the others do
/// to the key's; then they are taken back, so that all go on from one state.
async fn agree(
    world: &mut World,
    upsert: &Upsert,
    values: &[Value],
    before: &[Vec<Value>],
    seen: &mut [usize; 4],
) -> Result<(), TestCaseError> {
    for store in &mut world.stores {
        store.execute("BEGIN").await;
    }
    let said = world.run(upsert, values).await;
    let [sqlite, postgres, mariadb] = &said[..] else { panic!("three stores") };
    prop_assert_eq!(sqlite, postgres);
    let collides_twice = *mariadb == Err(Fault::Unique) && sqlite.is_ok();
    let is_undone = sqlite.is_err() || collides_twice;
    for store in &mut world.stores {
        store.execute(if is_undone { "ROLLBACK" } else { "COMMIT" }).await;
    }
    match (sqlite, mariadb) {
        _ if collides_twice => {
            let other = if upsert.key[0] == "email" { &values[..2] } else { &values[2..3] };
            let at = if upsert.key[0] == "email" { 0 } else { 2 };
            prop_assert!(
                before.iter().any(|row| &row[at..at + other.len()] == other),
                "MariaDB refuses without another row: {upsert:?} {values:?}"
            );
        }
        (Err(fault), other) => {
            prop_assert_eq!(fault, &Fault::Unique);
            prop_assert_eq!(other, &Err(Fault::Unique));
            seen[3] += 1;
        }
        (Ok(Wrote::Nothing), other) => {
            prop_assert_eq!(other, &Ok(Wrote::Nothing));
            seen[1] += 1;
        }
        (Ok(wrote), Ok(other)) => {
            // An update that changes nothing is none on MariaDB.
            let is_equal = *wrote == Wrote::Written && *other == Wrote::Nothing;
            prop_assert!(other.is_written() || is_equal);
            seen[2] += 1;
        }
        other => prop_assert!(false, "{other:?}"),
    }
    let after = world.rows(ACCOUNTS).await;
    if is_undone {
        prop_assert_eq!(&after[..], before);
    }
    Ok(())
}
