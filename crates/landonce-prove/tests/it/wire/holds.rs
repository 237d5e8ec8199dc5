//! One connection waits, before the server or before its answer; the others go on.

use landonce_prove::wire::{At, Fault};
use landonce_testkit::wait::within;

use super::raw::Frames;
use super::{Rig, run};

#[tokio::test]
async fn a_held_statement_reaches_the_server_when_it_is_released() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let (held, other) = (rig.client().await, rig.client().await);
        let armed = rig.proxy.arm(Fault::Hold(At::Write(1)));
        let running = tokio::spawn(async move { run(&held, "INSERT INTO t VALUES (1)", is_simple).await });
        within(10, "the hold", armed.fired()).await;
        run(&other, "INSERT INTO t VALUES (2)", is_simple).await.unwrap();
        assert_eq!(rig.rows().await, [2]);
        assert!(!running.is_finished());
        armed.release();
        within(10, "the held", running).await.unwrap().unwrap();
        assert_eq!(rig.rows().await, [1, 2]);
    }
}

#[tokio::test]
async fn a_held_answer_is_of_a_statement_that_is_done() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let (held, other) = (rig.client().await, rig.client().await);
        let armed = rig.proxy.arm(Fault::HoldAnswer(At::Write(1)));
        let running = tokio::spawn(async move { run(&held, "INSERT INTO t VALUES (1)", is_simple).await });
        within(10, "the hold", armed.fired()).await;
        assert_eq!(rig.rows().await, [1]);
        run(&other, "INSERT INTO t VALUES (2)", is_simple).await.unwrap();
        assert!(!running.is_finished());
        armed.release();
        within(10, "the held", running).await.unwrap().unwrap();
        assert_eq!(rig.rows().await, [1, 2]);
    }
}

#[tokio::test]
async fn a_held_answer_keeps_its_locks_where_the_block_is_open() {
    let rig = Rig::new().await;
    let (held, other) = (rig.client().await, rig.client().await);
    let armed = rig.proxy.arm(Fault::HoldAnswer(At::Write(1)));
    let running = tokio::spawn(async move {
        run(&held, "BEGIN", false).await.unwrap();
        run(&held, "INSERT INTO t VALUES (1)", false).await.unwrap();
        run(&held, "COMMIT", false).await.unwrap();
    });
    within(10, "the hold", armed.fired()).await;
    run(&other, "SET lock_timeout = '50ms'", true).await.unwrap();
    let error = run(&other, "INSERT INTO t VALUES (1)", true).await.unwrap_err();
    assert_eq!(error.code().unwrap().code(), "55P03");
    armed.release();
    within(10, "the held", running).await.unwrap();
    assert_eq!(rig.rows().await, [1]);
}

#[tokio::test]
async fn released_before_it_comes_nothing_is_held() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let armed = rig.proxy.arm(Fault::Hold(At::Write(1)));
    armed.release();
    within(10, "the insert", run(&client, "INSERT INTO t VALUES (1)", true)).await.unwrap();
    assert!(armed.has_fired());
}

#[tokio::test]
async fn two_faults_at_one_statement_come_one_after_the_other() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let refuse = rig.proxy.arm(Fault::Refuse(At::Write(1), "40001"));
    let armed = rig.proxy.arm(Fault::Hold(At::Write(1)));
    let running = tokio::spawn(async move { run(&client, "INSERT INTO t VALUES (1)", false).await });
    within(10, "the hold", armed.fired()).await;
    assert!(!refuse.has_fired());
    armed.release();
    let error = within(10, "the refusal", running).await.unwrap().unwrap_err();
    assert_eq!(error.code().unwrap().code(), "40001");
}

#[tokio::test]
async fn a_good_bye_is_noticed_after_a_write_alone() {
    let rig = Rig::new().await;
    let close = rig.proxy.arm(Fault::Hold(At::Close(1)));
    let mut reading = rig.raw().await;
    reading.send(&Frames::new().query("SELECT 1")).await;
    reading.until_ready().await;
    reading.send(&Frames::new().terminate()).await;
    assert_eq!(reading.until_ready().await, "end");
    assert!(!close.has_fired());
    let mut writing = rig.raw().await;
    writing.send(&Frames::new().query("INSERT INTO t VALUES (1)")).await;
    writing.until_ready().await;
    writing.send(&Frames::new().terminate()).await;
    within(10, "the good-bye", close.fired()).await;
    assert_eq!(close.at().map(|entry| entry.statement), None);
    // The server hasn't heard it: the connection is still there.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let count = async || rig.database.client().await.query_one(sessions, &[]).await.unwrap().get::<_, i64>(0);
    let of_readers = async || (count().await == 1).then_some(());
    landonce_testkit::wait::until(10, "the others to be gone", of_readers).await;
    close.release();
    assert_eq!(writing.until_ready().await, "end");
}

#[tokio::test]
async fn a_good_bye_before_the_last_write_is_another_connections() {
    let rig = Rig::new().await;
    let close = rig.proxy.arm(Fault::Hold(At::Close(2)));
    let mut first = rig.raw().await;
    first.send(&Frames::new().query("INSERT INTO t VALUES (1)")).await;
    first.until_ready().await;
    first.send(&Frames::new().terminate()).await;
    assert_eq!(first.until_ready().await, "end");
    assert!(!close.has_fired());
    let mut second = rig.raw().await;
    second.send(&Frames::new().query("INSERT INTO t VALUES (2)")).await;
    second.until_ready().await;
    second.send(&Frames::new().terminate()).await;
    within(10, "the good-bye", close.fired()).await;
}

#[tokio::test]
async fn a_client_that_goes_without_a_word_says_good_bye_too() {
    let rig = Rig::new().await;
    let close = rig.proxy.arm(Fault::Cut(At::Close(1)));
    let mut raw = rig.raw().await;
    raw.send(&Frames::new().query("BEGIN; INSERT INTO t VALUES (1)")).await;
    raw.until_ready().await;
    drop(raw);
    within(10, "the good-bye", close.fired()).await;
    assert_eq!(rig.rows().await, [0; 0]);
}
