//! A cut comes before the server gets the statement: what it was part of is rolled back.

use landonce_prove::wire::{At, Fault, Kind};
use landonce_testkit::wait::within;

use super::raw::Frames;
use super::{Rig, run};

#[tokio::test]
async fn nothing_of_a_cut_statement_reaches_the_server() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        let cut = rig.proxy.arm(Fault::Cut(At::Write(2)));
        run(&client, "INSERT INTO t VALUES (1)", is_simple).await.unwrap();
        run(&client, "SELECT 1", is_simple).await.unwrap();
        assert!(!cut.has_fired());
        let error =
            within(10, "the cut", run(&client, "INSERT INTO t VALUES (2)", is_simple)).await.unwrap_err();
        assert!(error.code().is_none(), "{error:?}");
        cut.fired().await;
        let at = cut.at().unwrap();
        assert_eq!((at.write, at.kind, at.tag, at.sqlstate), (2, Kind::Write, None, None));
        assert_eq!(rig.rows().await, [1]);
        // Once, and others find the server as it was.
        run(&rig.client().await, "INSERT INTO t VALUES (3)", is_simple).await.unwrap();
        assert_eq!(rig.rows().await, [1, 3]);
    }
}

#[tokio::test]
async fn a_cut_at_a_commit_takes_the_transaction_with_it() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        let cut = rig.proxy.arm(Fault::Cut(At::Write(3)));
        for text in ["BEGIN", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"] {
            run(&client, text, is_simple).await.unwrap();
        }
        within(10, "the cut", run(&client, "COMMIT", is_simple)).await.unwrap_err();
        cut.fired().await;
        assert_eq!(cut.at().unwrap().kind, Kind::Commit);
        assert_eq!(rig.rows().await, [0; 0]);
    }
}

#[tokio::test]
async fn a_cut_within_a_pipeline_takes_what_was_not_committed() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    let cut = rig.proxy.arm(Fault::Cut(At::Statement(3)));
    let first = Frames::new().statement("INSERT INTO t VALUES (1)").sync();
    let second = first.statement("INSERT INTO t VALUES (2)").statement("INSERT INTO t VALUES (3)").sync();
    raw.send(&second).await;
    while raw.frame().await.is_some() {}
    cut.fired().await;
    // The first was on its way already, and is done; the second was never committed by a Sync.
    let done = async || (rig.rows().await == [1]).then_some(());
    landonce_testkit::wait::until(10, "the first to be done", done).await;
}

#[tokio::test]
async fn a_cut_counts_over_all_connections() {
    let rig = Rig::new().await;
    let (one, other) = (rig.client().await, rig.client().await);
    let cut = rig.proxy.arm(Fault::Cut(At::Write(3)));
    run(&one, "INSERT INTO t VALUES (1)", true).await.unwrap();
    run(&other, "INSERT INTO t VALUES (2)", false).await.unwrap();
    within(10, "the cut", run(&one, "INSERT INTO t VALUES (3)", true)).await.unwrap_err();
    // The client may see its end before the fault is told.
    within(10, "the fault", cut.fired()).await;
    assert_eq!(cut.at().unwrap().session, 1);
    run(&other, "INSERT INTO t VALUES (4)", true).await.unwrap();
    assert_eq!(rig.rows().await, [1, 2, 4]);
}

#[tokio::test]
async fn after_the_cut_of_all_nobody_gets_through() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    run(&client, "BEGIN; INSERT INTO t VALUES (1)", true).await.unwrap();
    rig.proxy.cut();
    within(10, "the end", run(&client, "COMMIT", true)).await.unwrap_err();
    let refused = tokio_postgres::connect(rig.proxy.url(), tokio_postgres::NoTls);
    assert!(within(10, "the refusal", refused).await.is_err());
    assert_eq!(rig.rows().await, [0; 0]);
}

#[tokio::test]
async fn what_is_held_when_all_is_cut_is_never_sent() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let hold = rig.proxy.arm(Fault::Hold(At::Write(1)));
    let running = tokio::spawn(async move { client.batch_execute("INSERT INTO t VALUES (1)").await });
    within(10, "the hold", hold.fired()).await;
    rig.proxy.cut();
    hold.release();
    within(10, "the end", running).await.unwrap().unwrap_err();
    assert_eq!(rig.rows().await, [0; 0]);
}

#[tokio::test]
async fn a_dropped_proxy_cuts_too() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    run(&client, "SELECT 1", true).await.unwrap();
    drop(rig.proxy);
    within(10, "the end", run(&client, "SELECT 1", true)).await.unwrap_err();
}
