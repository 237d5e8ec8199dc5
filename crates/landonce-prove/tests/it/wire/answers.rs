//! A lost answer: the server has done it, and the client can't know.

use landonce_prove::wire::{At, Fault, Kind};
use landonce_testkit::wait::within;

use super::raw::Frames;
use super::{Rig, run};

#[tokio::test]
async fn a_lost_answer_to_a_commit_leaves_its_rows() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        let lost = rig.proxy.arm(Fault::CutAnswer(At::Write(2)));
        for text in ["BEGIN", "INSERT INTO t VALUES (1)"] {
            run(&client, text, is_simple).await.unwrap();
        }
        let error = within(10, "the cut", run(&client, "COMMIT", is_simple)).await.unwrap_err();
        assert!(error.code().is_none(), "{error:?}");
        within(10, "the fault", lost.fired()).await;
        let at = lost.at().unwrap();
        assert_eq!((at.kind, at.tag.as_deref()), (Kind::Commit, Some("COMMIT")));
        assert_eq!(rig.rows().await, [1]);
    }
}

#[tokio::test]
async fn nothing_of_a_lost_answer_is_seen() {
    for (frames, seen) in [
        (Frames::new().query("INSERT INTO t VALUES (1) RETURNING a"), "end"),
        (Frames::new().query("BEGIN; INSERT INTO t VALUES (1); COMMIT; SELECT 1"), "end"),
        (Frames::new().statement("INSERT INTO t VALUES (1) RETURNING a").sync(), "1 2 end"),
        // Rows and tags before the COMMIT in the same pipeline are answers of their own.
        (
            Frames::new().statement("BEGIN").statement("INSERT INTO t VALUES (1)").statement("COMMIT").sync(),
            "1 2 C[BEGIN] 1 2 C[INSERT 0 1] 1 2 end",
        ),
    ] {
        let rig = Rig::new().await;
        let mut raw = rig.raw().await;
        let write = if seen.contains("BEGIN") { 2 } else { 1 };
        let lost = rig.proxy.arm(Fault::CutAnswer(At::Write(write)));
        raw.send(&frames).await;
        assert_eq!(raw.until_ready().await, seen);
        within(10, "the fault", lost.fired()).await;
        assert_eq!(rig.rows().await, [1]);
    }
}

#[tokio::test]
async fn a_lost_answer_within_a_block_loses_the_block() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        let lost = rig.proxy.arm(Fault::CutAnswer(At::Write(2)));
        run(&client, "BEGIN", is_simple).await.unwrap();
        run(&client, "INSERT INTO t VALUES (1)", is_simple).await.unwrap();
        within(10, "the cut", run(&client, "INSERT INTO t VALUES (2)", is_simple)).await.unwrap_err();
        within(10, "the fault", lost.fired()).await;
        assert_eq!(lost.at().unwrap().tag.as_deref(), Some("INSERT 0 1"));
        assert_eq!(rig.rows().await, [0; 0]);
    }
}

#[tokio::test]
async fn what_the_server_refuses_has_no_answer_to_lose() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        run(&client, "INSERT INTO t VALUES (1)", is_simple).await.unwrap();
        let lost = rig.proxy.arm(Fault::CutAnswer(At::Write(2)));
        let error = run(&client, "INSERT INTO t VALUES (1)", is_simple).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "23505");
        run(&client, "SELECT 1", is_simple).await.unwrap();
        assert!(!lost.has_fired());
        within(10, "the cut", run(&client, "INSERT INTO t VALUES (2)", is_simple)).await.unwrap_err();
        within(10, "the fault", lost.fired()).await;
        assert_eq!((lost.at().unwrap().write, rig.rows().await), (3, vec![1, 2]));
    }
}

#[tokio::test]
async fn a_commit_that_fails_or_rolls_back_has_no_answer_to_lose() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        let child = "CREATE TABLE child (a int REFERENCES t DEFERRABLE INITIALLY DEFERRED)";
        run(&client, child, is_simple).await.unwrap();
        let lost = rig.proxy.arm(Fault::CutAnswer(At::Write(3)));
        run(&client, "BEGIN", is_simple).await.unwrap();
        run(&client, "INSERT INTO child VALUES (9)", is_simple).await.unwrap();
        let error = run(&client, "COMMIT", is_simple).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "23503");
        // Autocommitted, it fails at the Sync, after its own completion.
        let error = run(&client, "INSERT INTO child VALUES (9)", is_simple).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "23503");
        assert!(!lost.has_fired());
        within(10, "the cut", run(&client, "INSERT INTO t VALUES (1)", is_simple)).await.unwrap_err();
        within(10, "the fault", lost.fired()).await;
        assert_eq!(rig.rows().await, [1]);
        let log = rig.log();
        assert!(log[4].ends_with("→ 23503"), "{log:?}");
    }
}

#[tokio::test]
async fn a_client_that_asks_for_answers_before_its_sync_gets_them() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    let lost = rig.proxy.arm(Fault::CutAnswer(At::Write(1)));
    raw.send(&Frames::new().statement("INSERT INTO t VALUES (1)").flush()).await;
    for expected in ["1", "2", "C[INSERT 0 1]"] {
        assert_eq!(raw.frame().await.as_deref(), Some(expected));
    }
    assert!(!lost.has_fired() && rig.rows().await.is_empty());
    raw.send(&Frames::new().sync()).await;
    assert_eq!(raw.until_ready().await, "end");
    within(10, "the fault", lost.fired()).await;
    assert_eq!(rig.rows().await, [1]);
}

#[tokio::test]
async fn a_copys_answer_is_lost_after_its_data() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let mut raw = rig.raw().await;
        let lost = rig.proxy.arm(Fault::CutAnswer(At::Write(1)));
        let copy = "COPY t FROM STDIN";
        let data = Frames::new().copy_data(b"1\n2\n").copy_done();
        if is_simple {
            raw.send(&Frames::new().query(copy)).await;
            assert_eq!(raw.frame().await.as_deref(), Some("G"));
            raw.send(&data).await;
        } else {
            raw.send(&Frames::new().statement(copy).sync()).await;
            for expected in ["1", "2", "G"] {
                assert_eq!(raw.frame().await.as_deref(), Some(expected));
            }
            raw.send(&data.sync()).await;
        }
        assert_eq!(raw.until_ready().await, "end");
        within(10, "the fault", lost.fired()).await;
        assert_eq!(rig.rows().await, [1, 2]);
    }
}

#[tokio::test]
async fn of_a_long_answer_the_completion_is_lost_all_the_same() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let lost = rig.proxy.arm(Fault::CutAnswer(At::Write(1)));
    let many = "INSERT INTO t SELECT generate_series(1, 200000) RETURNING a";
    within(60, "the cut", client.query(many, &[])).await.unwrap_err();
    within(10, "the fault", lost.fired()).await;
    assert_eq!(rig.rows().await.len(), 200_000);
}

#[tokio::test]
async fn a_block_that_begins_in_the_same_flight_is_a_block() {
    // As pgjdbc does: BEGIN, the first statement and one Sync.
    let flight = Frames::new().statement("BEGIN").statement("INSERT INTO t VALUES (1)").sync();
    for (fault, seen) in [
        (Fault::CutAnswer(At::Write(1)), "1 2 C[BEGIN] 1 2 end"),
        (Fault::Refuse(At::Write(1), "40001"), "1 2 C[BEGIN] 1 2 E[40001] Z[E]"),
        (Fault::CutAnswer(At::Write(2)), "1 2 C[BEGIN] 1 2 C[INSERT 0 1] Z[T]"),
    ] {
        let rig = Rig::new().await;
        let mut raw = rig.raw().await;
        let armed = rig.proxy.arm(fault.clone());
        raw.send(&flight).await;
        assert_eq!(raw.until_ready().await, seen);
        if seen.ends_with("Z[T]") {
            assert!(!armed.has_fired());
            raw.send(&Frames::new().statement("COMMIT").sync()).await;
            assert_eq!(raw.until_ready().await, "1 2 end");
            assert_eq!(rig.rows().await, [1]);
        } else {
            assert_eq!(rig.rows().await, [0; 0]);
        }
        within(10, "the fault", armed.fired()).await;
        assert!(rig.proxy.log()[1].is_in_transaction);
    }
}
