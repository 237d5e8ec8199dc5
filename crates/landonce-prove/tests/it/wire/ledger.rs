//! The log: which statements were executed, what they are, and what answered them.

use std::time::Duration;

use landonce_prove::wire::{At, Fault, Kind};
use landonce_testkit::wait::{until, within};

use super::raw::Frames;
use super::{Rig, run};

#[tokio::test]
async fn a_commit_counts_as_a_write_where_it_commits_writes() {
    for is_simple in [true, false] {
        let rig = Rig::new().await;
        let client = rig.client().await;
        for text in [
            "BEGIN",
            "SELECT 1",
            "COMMIT",
            "BEGIN",
            "INSERT INTO t VALUES (1)",
            "SELECT 1",
            "COMMIT",
            "INSERT INTO t VALUES (2)",
            "COMMIT",
            "BEGIN",
            "DELETE FROM t",
            "ROLLBACK",
            "BEGIN",
            "COMMIT",
        ] {
            run(&client, text, is_simple).await.unwrap();
        }
        let expected = [
            "0 Begin BEGIN → BEGIN",
            "0 Read SELECT 1 → SELECT 1",
            "0 Commit COMMIT → COMMIT",
            "0 Begin BEGIN → BEGIN",
            "1 Write INSERT INTO t VALUES (1) → INSERT 0 1",
            "0 Read SELECT 1 → SELECT 1",
            "2 Commit COMMIT → COMMIT",
            "3 Write INSERT INTO t VALUES (2) → INSERT 0 1",
            "0 Commit COMMIT → COMMIT",
            "0 Begin BEGIN → BEGIN",
            "4 Write DELETE FROM t → DELETE 2",
            "0 Rollback ROLLBACK → ROLLBACK",
            "0 Begin BEGIN → BEGIN",
            "0 Commit COMMIT → COMMIT",
        ];
        assert_eq!(rig.log(), expected);
        assert_eq!(rig.proxy.counts(), (14, 4));
        let log = rig.proxy.log();
        let blocks: Vec<bool> = log.iter().map(|entry| entry.is_in_transaction).collect();
        let (t, f) = (true, false);
        assert_eq!(blocks, [f, t, t, f, t, t, t, f, f, f, t, t, f, t]);
        assert!(log.iter().all(|entry| entry.answered.is_some_and(|at| at >= entry.sent)));
    }
}

#[tokio::test]
async fn a_text_of_several_statements_is_one_of_the_strongest_kind() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    for text in [
        "BEGIN; SELECT 1; COMMIT",
        "BEGIN; INSERT INTO t VALUES (1); COMMIT; SELECT 1",
        "SELECT 1; INSERT INTO t VALUES (2)",
        "",
    ] {
        run(&client, text, true).await.unwrap();
    }
    run(&client, "INSERT INTO t VALUES (3); SELECT 1 / 0", true).await.unwrap_err();
    let expected = [
        "0 Commit BEGIN; SELECT 1; COMMIT → COMMIT",
        "1 Commit BEGIN; INSERT INTO t VALUES (1); COMMIT; SELECT 1 → SELECT 1",
        "2 Write SELECT 1; INSERT INTO t VALUES (2) → INSERT 0 1",
        "0 Other  → ",
        "3 Write INSERT INTO t VALUES (3); SELECT 1 / 0 → 22012",
    ];
    assert_eq!(rig.log(), expected);
}

#[tokio::test]
async fn a_prepared_statement_is_logged_at_each_execution_and_without_its_values() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let insert = client.prepare("INSERT INTO t VALUES ($1)").await.unwrap();
    assert!(rig.log().is_empty());
    for value in [1234, 5678] {
        client.execute(&insert, &[&value]).await.unwrap();
    }
    client.execute(&insert, &[&1234]).await.unwrap_err();
    let expected = [
        "1 Write INSERT INTO t VALUES ($1) → INSERT 0 1",
        "2 Write INSERT INTO t VALUES ($1) → INSERT 0 1",
        "3 Write INSERT INTO t VALUES ($1) → 23505",
    ];
    assert_eq!(rig.log(), expected);
}

#[tokio::test]
async fn fetching_on_is_no_other_statement() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    let rows =
        Frames::new().parse("s", "SELECT generate_series(1, 5)").bind("p", "s", &[]).execute("p", 2).flush();
    raw.send(&rows).await;
    for expected in ["1", "2", "D", "D", "s"] {
        assert_eq!(raw.frame().await.as_deref(), Some(expected));
    }
    assert_eq!(rig.log(), ["0 Read SELECT generate_series(1, 5) → -"]);
    raw.send(&Frames::new().execute("p", 2).execute("p", 0).sync()).await;
    assert_eq!(raw.until_ready().await, "D D s D C[SELECT 1] Z[I]");
    assert_eq!(rig.log(), ["0 Read SELECT generate_series(1, 5) → SELECT 1"]);
    raw.send(&Frames::new().bind("", "s", &[]).execute("", 0).sync()).await;
    raw.until_ready().await;
    assert_eq!(rig.log().len(), 2);
}

#[tokio::test]
async fn what_the_server_skips_has_no_answer() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    let all = Frames::new()
        .statement("INSERT INTO t VALUES (1)")
        .statement("SELECT 1 / 0")
        .statement("INSERT INTO t VALUES (2)")
        .sync()
        .parse("", "INSERT INTO t VALUES ($1::text::int)")
        .bind("", "", &["x\u{0}"])
        .execute("", 0)
        .sync()
        .statement("INSERT INTO t VALUES (3)")
        .sync();
    raw.send(&all).await;
    assert_eq!(raw.until_ready().await, "1 2 C[INSERT 0 1] 1 E[22012] Z[I]");
    assert_eq!(raw.until_ready().await, "1 E[22021] Z[I]");
    assert_eq!(raw.until_ready().await, "1 2 C[INSERT 0 1] Z[I]");
    let expected = [
        "1 Write INSERT INTO t VALUES (1) → INSERT 0 1",
        "0 Read SELECT 1 / 0 → 22012",
        "2 Write INSERT INTO t VALUES (2) → -",
        "3 Write INSERT INTO t VALUES ($1::text::int) → 22021",
        "4 Write INSERT INTO t VALUES (3) → INSERT 0 1",
    ];
    assert_eq!(rig.log(), expected);
}

#[tokio::test]
async fn a_long_text_is_kept_in_part_and_read_in_whole() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let long = format!("/* {} */ INSERT INTO t VALUES (1); COMMIT", "ä".repeat(100_000));
    run(&client, &long, true).await.unwrap();
    let entries = rig.proxy.log();
    assert_eq!((entries[0].kind, entries[0].write, entries[0].text.len()), (Kind::Commit, 1, 4095));
    assert!(long.starts_with(&entries[0].text));
}

#[tokio::test]
async fn selects_count_where_they_may_write() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    rig.proxy.count_selects_as_writes(true);
    for text in ["SHOW work_mem", "SELECT 1", "BEGIN", "SELECT 2", "COMMIT"] {
        run(&client, text, true).await.unwrap();
    }
    let writes: Vec<u64> = rig.proxy.log().iter().map(|entry| entry.write).collect();
    assert_eq!(writes, [0, 1, 0, 2, 3]);
}

#[tokio::test]
async fn a_copys_rows_are_told_by_its_tag() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    raw.send(&Frames::new().query("COPY t FROM STDIN; COPY t FROM STDIN")).await;
    assert_eq!(raw.frame().await.as_deref(), Some("G"));
    raw.send(&Frames::new().copy_data(b"1\n").copy_done()).await;
    assert_eq!(raw.frame().await.as_deref(), Some("C[COPY 1]"));
    assert_eq!(raw.frame().await.as_deref(), Some("G"));
    raw.send(&Frames::new().copy_data(b"2\n3\n").copy_done()).await;
    assert_eq!(raw.until_ready().await, "C[COPY 2] Z[I]");
    // The client gives up; the server refuses a row.
    raw.send(&Frames::new().statement("COPY t FROM STDIN").sync()).await;
    while raw.frame().await.as_deref() != Some("G") {}
    raw.send(&Frames::new().copy_fail().sync()).await;
    assert_eq!(raw.until_ready().await, "E[57014] Z[I]");
    raw.send(&Frames::new().query("COPY t FROM STDIN")).await;
    assert_eq!(raw.frame().await.as_deref(), Some("G"));
    raw.send(&Frames::new().copy_data(b"x\n").copy_done().query("COPY t TO STDOUT")).await;
    assert_eq!(raw.until_ready().await, "E[22P02] Z[I]");
    assert_eq!(raw.until_ready().await, "H d[1] d[2] d[3] c C[COPY 3] Z[I]");
    let expected = [
        "1 Write COPY t FROM STDIN; COPY t FROM STDIN → COPY 2",
        "2 Write COPY t FROM STDIN → 57014",
        "3 Write COPY t FROM STDIN → 22P02",
        "0 Read COPY t TO STDOUT → COPY 3",
    ];
    assert_eq!(rig.log(), expected);
}

#[tokio::test]
async fn a_client_that_dies_leaves_what_the_server_did_in_the_log() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    let hold = rig.proxy.arm(Fault::Hold(At::Write(1)));
    raw.send(&Frames::new().statement("INSERT INTO t VALUES (1)").sync()).await;
    within(10, "the hold", hold.fired()).await;
    drop(raw);
    hold.release();
    let done = async || rig.log()[0].ends_with("→ INSERT 0 1").then_some(());
    until(10, "the server's answer", done).await;
    assert_eq!(rig.rows().await, [1]);
}

#[tokio::test]
async fn idleness_begins_anew_with_every_byte() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    run(&client, "SELECT pg_sleep(0.3)", true).await.unwrap();
    assert!(rig.proxy.idle_for() < Duration::from_millis(250));
    let idle = async || (rig.proxy.idle_for() > Duration::from_millis(50)).then_some(());
    until(10, "some idleness", idle).await;
}
