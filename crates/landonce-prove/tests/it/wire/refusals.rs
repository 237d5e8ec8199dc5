//! A refused statement leaves the session as a server's own refusal would.

use landonce_prove::wire::{At, Fault};
use landonce_testkit::wait::within;
use tokio_postgres::Client;

use super::raw::Frames;
use super::{Rig, run};

async fn refused(client: &Client, text: &str, is_simple: bool) -> String {
    let error = within(10, "the refusal", run(client, text, is_simple)).await.unwrap_err();
    let error = error.as_db_error().unwrap();
    format!("{} {}", error.code().code(), error.message())
}

#[tokio::test]
async fn a_refusal_has_the_servers_words_and_the_connection_goes_on() {
    for (code, words) in [
        ("40001", "could not serialize access due to concurrent update"),
        ("40P01", "deadlock detected"),
        ("57014", "canceling statement due to statement timeout"),
    ] {
        for is_simple in [true, false] {
            let rig = Rig::new().await;
            let client = rig.client().await;
            let refuse = rig.proxy.arm(Fault::Refuse(At::Write(1), code));
            assert_eq!(
                refused(&client, "INSERT INTO t VALUES (1)", is_simple).await,
                format!("{code} {words}")
            );
            assert!(refuse.has_fired());
            assert_eq!(refuse.at().unwrap().sqlstate.as_deref(), Some(code));
            run(&client, "INSERT INTO t VALUES (2)", is_simple).await.unwrap();
            assert_eq!(rig.rows().await, [2]);
        }
    }
}

#[tokio::test]
async fn a_refused_statement_fails_its_block() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        rig.proxy.arm(Fault::Refuse(At::Write(2), "40P01"));
        run(&client, "BEGIN", is_simple).await.unwrap();
        run(&client, "INSERT INTO t VALUES (1)", is_simple).await.unwrap();
        assert!(refused(&client, "INSERT INTO t VALUES (2)", is_simple).await.starts_with("40P01"));
        let error = run(&client, "SELECT 1", true).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "25P02");
        // The COMMIT of what has failed is answered, and counts for nothing.
        run(&client, "COMMIT", is_simple).await.unwrap();
        run(&client, "INSERT INTO t VALUES (3)", is_simple).await.unwrap();
        assert_eq!(rig.rows().await, [3]);
        let log = rig.log();
        assert!(log.contains(&"0 Commit COMMIT → ROLLBACK".to_owned()), "{log:?}");
    }
}

#[tokio::test]
async fn a_savepoint_survives_a_refusal_behind_it() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        rig.proxy.arm(Fault::Refuse(At::Write(2), "40001"));
        run(&client, "BEGIN", is_simple).await.unwrap();
        run(&client, "INSERT INTO t VALUES (1)", is_simple).await.unwrap();
        run(&client, "SAVEPOINT s", is_simple).await.unwrap();
        refused(&client, "INSERT INTO t VALUES (2)", is_simple).await;
        run(&client, "ROLLBACK TO s", is_simple).await.unwrap();
        run(&client, "COMMIT", is_simple).await.unwrap();
        assert_eq!(rig.rows().await, [1]);
    }
}

#[tokio::test]
async fn a_refused_commit_has_rolled_back_and_ended_the_block() {
    let insert = Frames::new().query("BEGIN; INSERT INTO t VALUES (1)");
    for (commit, seen) in [
        (Frames::new().query("COMMIT"), "E[40001] Z[I]"),
        (Frames::new().query("INSERT INTO t VALUES (2); COMMIT"), "E[40001] Z[I]"),
        (Frames::new().statement("COMMIT").sync(), "1 2 E[40001] Z[I]"),
        // What follows before the Sync is skipped.
        (Frames::new().statement("COMMIT").statement("INSERT INTO t VALUES (9)").sync(), "1 2 E[40001] Z[I]"),
    ] {
        let rig = Rig::new().await;
        let mut raw = rig.raw().await;
        let refuse = rig.proxy.arm(Fault::Refuse(At::Write(2), "40001"));
        raw.send(&insert).await;
        raw.until_ready().await;
        raw.send(&commit).await;
        assert_eq!(raw.until_ready().await, seen);
        assert!(refuse.has_fired());
        // Every answer still meets its own request.
        raw.send(
            &Frames::new().statement("INSERT INTO t VALUES (5)").sync().query("INSERT INTO t VALUES (6)"),
        )
        .await;
        assert_eq!(raw.until_ready().await, "1 2 C[INSERT 0 1] Z[I]");
        assert_eq!(raw.until_ready().await, "C[INSERT 0 1] Z[I]");
        assert_eq!(rig.rows().await, [5, 6]);
    }
}

#[tokio::test]
async fn requests_piped_behind_a_refused_commit_meet_their_own_answers() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    rig.proxy.arm(Fault::Refuse(At::Write(2), "40001"));
    let all = Frames::new()
        .statement("BEGIN")
        .sync()
        .statement("INSERT INTO t VALUES (1)")
        .sync()
        .statement("COMMIT")
        .sync()
        .statement("INSERT INTO t VALUES (2)")
        .sync();
    raw.send(&all).await;
    assert_eq!(raw.until_ready().await, "1 2 C[BEGIN] Z[T]");
    assert_eq!(raw.until_ready().await, "1 2 C[INSERT 0 1] Z[T]");
    assert_eq!(raw.until_ready().await, "1 2 E[40001] Z[I]");
    assert_eq!(raw.until_ready().await, "1 2 C[INSERT 0 1] Z[I]");
    assert_eq!(rig.rows().await, [2]);
}

#[tokio::test]
async fn a_refusal_in_a_pipeline_takes_the_implicit_transaction_with_it() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    rig.proxy.arm(Fault::Refuse(At::Write(2), "40001"));
    let all = Frames::new()
        .statement("INSERT INTO t VALUES (1)")
        .statement("INSERT INTO t VALUES (2)")
        .statement("INSERT INTO t VALUES (3)")
        .sync();
    raw.send(&all).await;
    assert_eq!(raw.until_ready().await, "1 2 C[INSERT 0 1] 1 2 E[40001] Z[I]");
    assert_eq!(rig.rows().await, [0; 0]);
    let answers: Vec<_> = rig.proxy.log().into_iter().map(|entry| (entry.tag, entry.sqlstate)).collect();
    let expected = [(Some("INSERT 0 1"), None), (None, Some("40001")), (None, None)];
    assert_eq!(answers, expected.map(|(tag, code)| (tag.map(str::to_owned), code.map(str::to_owned))));
}

#[tokio::test]
async fn a_statement_that_the_server_never_reads_is_not_the_refused_one() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    let refuse = rig.proxy.arm(Fault::Refuse(At::Write(2), "40001"));
    let failing =
        Frames::new().statement("INSERT INTO nowhere VALUES (1)").statement("INSERT INTO t VALUES (2)");
    raw.send(&failing.sync()).await;
    assert_eq!(raw.until_ready().await, "E[42P01] Z[I]");
    assert!(!refuse.has_fired());
    raw.send(&Frames::new().query("INSERT INTO t VALUES (3)")).await;
    assert_eq!(raw.until_ready().await, "E[40001] Z[I]");
    assert!(refuse.has_fired());
}

#[tokio::test]
async fn a_refused_copy_never_asks_for_data() {
    let copy = "COPY t FROM STDIN";
    for (frames, seen) in [
        (Frames::new().query(copy), "E[57014] Z[I]"),
        (Frames::new().statement(copy).sync(), "1 2 E[57014] Z[I]"),
    ] {
        let rig = Rig::new().await;
        let mut raw = rig.raw().await;
        rig.proxy.arm(Fault::Refuse(At::Write(1), "57014"));
        raw.send(&frames).await;
        assert_eq!(raw.until_ready().await, seen);
        // As clients do that have not waited: the server ignores the data.
        raw.send(&Frames::new().copy_data(b"1\n").copy_done().query("SELECT 1")).await;
        assert_eq!(raw.until_ready().await, "T D C[SELECT 1] Z[I]");
        // And the next COPY goes as ever, its first Sync without an answer.
        raw.send(&Frames::new().statement(copy).sync()).await;
        for expected in ["1", "2", "G"] {
            assert_eq!(raw.frame().await.as_deref(), Some(expected));
        }
        raw.send(&Frames::new().copy_data(b"7\n").copy_done().sync().query("SELECT 1")).await;
        assert_eq!(raw.until_ready().await, "C[COPY 1] Z[I]");
        assert_eq!(raw.until_ready().await, "T D C[SELECT 1] Z[I]");
        assert_eq!(rig.rows().await, [7]);
    }
}

#[tokio::test]
async fn a_prepared_statement_is_refused_when_it_is_executed() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let insert = client.prepare("INSERT INTO t VALUES ($1)").await.unwrap();
    rig.proxy.arm(Fault::Refuse(At::Write(2), "40001"));
    client.execute(&insert, &[&1]).await.unwrap();
    let error = client.execute(&insert, &[&2]).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "40001");
    client.execute(&insert, &[&3]).await.unwrap();
    assert_eq!(rig.rows().await, [1, 3]);
}
