//! Connections that can't be had, that end, and that a pooler gives to somebody else.

use std::time::{Duration, Instant};

use landonce_core::retry::{Advice, Code, Phase};
use landonce_store::postgres::{Database, Joined};
use landonce_store::seam::{Access, Connection, Work};
use landonce_testkit::dump;
use landonce_testkit::proxy::{Fault, Proxy};

use super::{fresh, write_all};
use crate::conformance::{Bench, claim, int, land, land_in, look_in, put, run_id, set_up, text, things};

fn state(code: &str) -> Code {
    Code::SqlState(code.to_owned())
}

/// C25: one message within five seconds, with the place and what to do, and no secret in it.
#[tokio::test]
async fn a_connection_that_cannot_be_had_is_one_message() {
    let bench = fresh().await;
    let url = bench.url();
    let with_password = url.replacen("postgres@", "postgres:hunter2@", 1);
    let no_database = with_password.replace(bench.name(), "no_such_database");
    let no_user = format!("{}?user=nobody_of_that_name", with_password.replacen("postgres:hunter2@", "", 1));
    let tls = format!("{with_password}?sslmode=require");
    let verified = format!("{with_password}?sslmode=verify-full");
    for (url, code, says) in [
        (no_database, state("3D000"), "create it"),
        (no_user, state("28000"), "pg_hba.conf"),
        (tls, Code::Landonce, "the server takes no TLS"),
        (verified, Code::Landonce, "the server takes no TLS"),
    ] {
        let started = Instant::now();
        let error = Database::from_url(&url).unwrap().connect().await.unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(error.code, code, "{error}");
        let message = error.to_string();
        assert!(error.is_connect && message.starts_with("cannot connect to PostgreSQL at "), "{message}");
        assert!(message.contains(says), "{message}");
        assert!(!message.contains("hunter2") && !message.contains('\n'), "{message}");
    }
}

#[tokio::test]
async fn a_socket_is_a_way_in_like_another() {
    let bench = fresh().await;
    let folder = bench.client().await.query_one("SHOW unix_socket_directories", &[]).await.unwrap();
    let folder: String = folder.get(0);
    let folder = folder.split(',').next().unwrap().trim().to_owned();
    let port: String = bench.client().await.query_one("SHOW port", &[]).await.unwrap().get(0);
    let name = bench.name();
    // Whatever `sslmode` says: the server speaks no TLS there.
    let url = format!("postgres://postgres@/{name}?host={folder}&port={port}&sslmode=require");
    let database = Database::from_url(&url).unwrap();
    assert!(database.place().contains(&format!(".s.PGSQL.{port}")), "{}", database.place());
    let mut connection = database.connect().await.unwrap();
    assert_eq!(connection.shape(&things().table).await.unwrap(), None);
}

#[tokio::test]
async fn a_session_that_is_ended_by_an_administrator_may_go_again() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    set_up(&mut connection, &things()).await;
    connection.begin(Access::Write).await.unwrap();
    connection.work().claim(&claim("b1")).await.unwrap();
    bench
        .run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'landonce' AND datname = current_database()")
        .await;
    let error = connection.work().open_stage(&things()).await.unwrap_err();
    assert_eq!((error.advice(), error.phase), (Advice::Again, Phase::BeforeCommit), "{error}");
    assert!(error.code == state("57P01") || error.code == state("08006"), "{error:?}");
    // Whoever asks again is told the same, and a rollback doesn't hang.
    let error = connection.commit().await.unwrap_err();
    assert_eq!((error.advice(), error.phase), (Advice::Resolve, Phase::CommitUnanswered));
    connection.rollback().await;
    assert!(connection.is_closed());
}

/// The server answers COMMIT of a failed transaction with ROLLBACK, and without an error.
#[tokio::test]
async fn committing_a_failed_transaction_is_no_success() {
    let bench = fresh().await;
    let proxy = Proxy::start(&bench.url()).await;
    let mut connection = Database::from_url(proxy.url()).unwrap().connect().await.unwrap();
    set_up(&mut connection, &things()).await;
    connection.begin(Access::Write).await.unwrap();
    connection.work().claim(&claim("b1")).await.unwrap();
    // A verb fails, and whoever called it goes on to commit.
    proxy.arm(Fault::refuse("landonce_stage", "XX000"));
    let error = connection.work().open_stage(&things()).await.unwrap_err();
    assert_eq!(error.advice(), Advice::Once);
    let error = connection.commit().await.unwrap_err();
    assert_eq!((&error.code, error.phase), (&state("25P02"), Phase::CommitRefused), "{error}");
    // The next transaction begins with a clean slate.
    assert_eq!(land(&mut connection, &things(), "b1", &[put([int(1), text("a")])]).await.counts().0, 1);
}

/// X4: without an answer nobody knows; with one, the code tells.
#[tokio::test]
async fn a_commit_without_an_answer_is_unknown_and_one_that_is_refused_is_not() {
    let bench = fresh().await;
    let proxy = Proxy::start(&bench.url()).await;
    let database = Database::from_url(proxy.url()).unwrap();
    let plan = things();
    set_up(&mut database.connect().await.unwrap(), &plan).await;
    for (fault, phase, advice, lands) in [
        (Fault::CutAfterCommit, Phase::CommitUnanswered, Advice::Resolve, true),
        (Fault::CutBeforeCommit, Phase::CommitUnanswered, Advice::Resolve, false),
        (Fault::refuse("COMMIT", "40001"), Phase::CommitRefused, Advice::Again, false),
        (Fault::refuse("COMMIT", "57P01"), Phase::CommitUnanswered, Advice::Resolve, false),
    ] {
        let say = format!("{fault:?}");
        let mut connection = database.connect().await.unwrap();
        connection.begin(Access::Write).await.unwrap();
        land_in(&mut connection.work(), &plan, &say, &[put([int(1), text(&say)])]).await;
        let armed = proxy.arm(fault);
        let error = connection.commit().await.unwrap_err();
        assert_eq!((armed.fired(), error.phase, error.advice()), (1, phase, advice), "{say}: {error}");
        connection.rollback().await;
        let found = database.connect().await.unwrap().look_up(&claim(&say).key()).await.unwrap();
        assert_eq!(found.is_some(), lands, "{say}");
    }
}

/// Whatever statement the connection dies at, nothing is left and nobody hangs.
#[tokio::test]
async fn a_cut_at_any_statement_leaves_nothing() {
    let mut bench = fresh().await;
    let plan = things();
    set_up(&mut bench.connect().await, &plan).await;
    let proxy = Proxy::start(&bench.url()).await;
    let client = bench.client().await;
    let before = dump::postgres(&client, dump::Tables::All).await;
    for at in 1.. {
        let mut connection = Database::from_url(proxy.url()).unwrap().connect().await.unwrap();
        let armed = proxy.arm(Fault::CutAtStatement(at));
        let records = [put([int(1), text("a")]), put([int(2), text("b")])];
        let landed = async {
            connection.begin(Access::Write).await?;
            let mut work = connection.work();
            work.claim(&claim("b1")).await?;
            work.open_stage(&plan).await?;
            let mut rows = (work.encoder(&plan, &plan.stage_columns()))();
            for at in 0..2 {
                let values = crate::conformance::row(&plan, &plan.stage_columns(), &records, at, false);
                landonce_store::seam::Rows::push(&mut rows, &values);
            }
            work.stage(rows).await?;
            work.fold().await?;
            work.classify().await?;
            write_all(&mut work, &plan, &records, run_id(1)).await?;
            work.settle(&claim("b1"), &landonce_core::outcome::Outcome::default()).await?;
            work.close_stage().await?;
            drop(work);
            // Not committed: the commit's own faults are another test's.
            connection.rollback().await;
            Ok::<_, landonce_store::Error>(())
        }
        .await;
        if armed.fired() == 0 {
            assert!(at > 8, "the sweep has met few statements: {at}");
            landed.unwrap();
            break;
        }
        if let Err(error) = landed {
            assert_eq!(error.advice(), Advice::Again, "{at}: {error}");
        }
    }
    dump::assert_no_leftovers(&client).await;
    before.assert_same(&dump::postgres(&client, dump::Tables::All).await);
}

/// A pooler in transaction mode gives the server connection away at COMMIT: nothing of ours may be left on it.
#[tokio::test]
async fn nothing_is_left_on_the_server_connection_after_a_transaction() {
    let mut bench = fresh().await;
    bench
        .run("CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE t (id int PRIMARY KEY, mood mood, moods mood[])")
        .await;
    set_up(&mut bench.connect().await, &things()).await;
    let theirs = crate::conformance::plan_on(&mut bench.connect().await, "t", &["id"]).await;
    let mut client = bench.client().await;
    let settings =
        "SELECT name, setting FROM pg_settings WHERE source = 'session' OR name LIKE '%timeout' ORDER BY 1";
    let before = super::rows(&client, settings).await;
    let transaction = client.transaction().await.unwrap();
    let mut work = Joined::on(&transaction);
    let records = [put([int(1), text("a")]), put([int(2), text("b")])];
    land_in(&mut work, &things(), "b1", &records).await;
    let moods = landonce_core::value::Value::Array(vec![text("ok")]);
    land_in(&mut work, &theirs, "b2", &[put([int(1), text("ok"), moods.clone()])]).await;
    // The way through the temporary table too.
    let records = [put([int(1), text("A")]), put([int(2), text("B")])];
    land_in(&mut work, &things(), "b3", &records).await;
    drop(work);
    let left = "SELECT name FROM pg_prepared_statements UNION ALL SELECT name FROM pg_cursors WHERE name <> '' \
                UNION ALL SELECT oid::regclass::text FROM pg_class WHERE relpersistence = 't'";
    let messages = transaction.simple_query(left).await.unwrap();
    let left_inside = messages
        .iter()
        .filter(|message| matches!(message, tokio_postgres::SimpleQueryMessage::Row(_)))
        .count();
    assert_eq!(left_inside, 0);
    transaction.commit().await.unwrap();
    assert_eq!(super::rows(&client, settings).await, before);
    let locks = "SELECT locktype FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'";
    assert!(super::rows(&client, locks).await.is_empty());
}

/// A verb that is let go of half way leaves its transaction open; the next one begins anew all the same.
#[tokio::test]
async fn a_verb_that_was_let_go_of_leaves_a_session_that_works() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    set_up(&mut connection, &things()).await;
    let blocker = bench.client().await;
    blocker.batch_execute("BEGIN; LOCK TABLE things IN ACCESS EXCLUSIVE MODE").await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    let plan = things();
    let opening = tokio::time::timeout(Duration::from_millis(100), work.open_stage(&plan)).await;
    assert!(opening.is_err(), "it waits for the lock");
    drop(work);
    blocker.batch_execute("COMMIT").await.unwrap();
    assert_eq!(land(&mut connection, &things(), "b1", &[put([int(1), text("a")])]).await.counts().0, 1);
}

#[tokio::test]
async fn a_plan_is_kept_from_writing_by_the_server_itself() {
    let mut bench = fresh().await;
    let mut connection = bench.connect().await;
    land(&mut connection, &things(), "b1", &[put([int(1), text("a")])]).await;
    let proxy = Proxy::start(&bench.url()).await;
    let mut connection = Database::from_url(proxy.url()).unwrap().connect().await.unwrap();
    connection.begin(Access::ReadOnly).await.unwrap();
    let records = [put([int(1), text("A")]), put([int(2), text("b")])];
    look_in(&mut connection.work(), &things(), &records).await;
    let statements = proxy.statements();
    let at = statements.iter().position(|sql| sql.contains("SET TRANSACTION READ ONLY")).unwrap();
    assert!(statements.len() > at + 3, "the look itself comes behind it: {statements:?}");
    let mut work = connection.work();
    let rows = (work.encoder(&things(), &[]))();
    let error = work.write(rows, run_id(1)).await.unwrap_err();
    assert!(error.to_string().contains("a plan only looks"), "{error}");
    drop(work);
    connection.rollback().await;
    assert_eq!(bench.rows("SELECT v FROM things").await, [["a"]]);
    let client = bench.client().await;
    dump::assert_no_leftovers(&client).await;
}
