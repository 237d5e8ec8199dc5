//! Without a fault nothing is changed, whatever is sent, however much, both ways at once.

use std::process::Stdio;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{SinkExt, TryStreamExt};
use landonce_prove::wire::{Proxy, dial};
use landonce_testkit::wait::within;
use tokio::io::AsyncWriteExt;
use tokio_postgres::NoTls;

use super::raw::Frames;
use super::{Rig, run};

const MIB: usize = 1 << 20;

#[tokio::test]
async fn much_passes_in_both_directions_at_once() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    // Each request and each answer is larger than any buffer on the way, and all requests are sent before the first
    // answer is read.
    let statement = client.prepare("SELECT $1::bytea").await.unwrap();
    let sent: Vec<Vec<u8>> = (0..16_u8).map(|byte| vec![byte; 4 * MIB]).collect();
    let answers = join_all(sent.iter().map(|bytes| {
        let (client, statement) = (&client, &statement);
        async move { client.query_one(statement, &[bytes]).await.unwrap().get::<_, Vec<u8>>(0) == *bytes }
    }));
    assert!(within(120, "64 MiB there and back", answers).await.into_iter().all(|is_equal| is_equal));
}

#[tokio::test]
async fn a_copy_passes_in_both_directions() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    run(&client, "CREATE TABLE c (a text)", true).await.unwrap();
    let line = [vec![b'x'; MIB], vec![b'\n']].concat();
    let sink = client.copy_in("COPY c FROM STDIN").await.unwrap();
    let mut sink = std::pin::pin!(sink);
    let copied = async {
        for _ in 0..64 {
            sink.feed(bytes::Bytes::from(line.clone())).await.unwrap();
        }
        sink.as_mut().finish().await.unwrap()
    };
    assert_eq!(within(120, "64 MiB to go in", copied).await, 64);
    let stream = client.copy_out("COPY c TO STDOUT").await.unwrap();
    let total = stream.try_fold(0, async |total, chunk| Ok(total + chunk.len()));
    assert_eq!(within(120, "64 MiB to come out", total).await.unwrap(), 64 * line.len());
    let log = rig.log();
    assert_eq!(log.last().unwrap(), "0 Read COPY c TO STDOUT → COPY 64");
}

#[tokio::test]
async fn requests_in_a_pipeline_meet_their_own_answers() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let statement = client.prepare("SELECT $1::int").await.unwrap();
    let answers = join_all((0..500).map(|value| {
        let (client, statement) = (&client, &statement);
        async move {
            if value % 7 == 0 {
                client.execute("SELECT 1 / 0", &[]).await.unwrap_err();
            }
            client.query_one(statement, &[&value]).await.unwrap().get::<_, i32>(0)
        }
    }));
    assert_eq!(within(60, "the answers", answers).await, (0..500).collect::<Vec<_>>());
    assert!(rig.log().iter().all(|line| line.ends_with("→ SELECT 1") || line.ends_with("→ 22012")));
}

#[tokio::test]
async fn frames_in_single_bytes_are_frames_all_the_same() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    for byte in b"Q\0\0\0\x0dSELECT 1\0" {
        raw.stream.write_all(&[*byte]).await.unwrap();
        raw.stream.flush().await.unwrap();
    }
    assert_eq!(raw.until_ready().await, "T D C[SELECT 1] Z[I]");
    raw.send(&Frames::new().bytes(b"Q\0\0\0\x03")).await;
    assert_eq!(raw.until_ready().await, "end");
}

#[tokio::test]
async fn a_cancel_passes() {
    let rig = Rig::new().await;
    let client = rig.client().await;
    let cancel = client.cancel_token();
    let running = tokio::spawn(async move { client.batch_execute("SELECT pg_sleep(60)").await });
    let asleep =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
    let watching = rig.database.client().await;
    let is_asleep =
        async || (watching.query_one(asleep, &[]).await.unwrap().get::<_, i64>(0) == 1).then_some(());
    landonce_testkit::wait::until(10, "the sleep", is_asleep).await;
    cancel.cancel_query(NoTls).await.unwrap();
    let error = within(10, "the cancel", running).await.unwrap().unwrap_err();
    assert_eq!(error.code().unwrap().code(), "57014");
    assert_eq!(rig.log(), ["0 Read SELECT pg_sleep(60) → 57014"]);
}

#[tokio::test]
async fn the_servers_last_words_are_passed() {
    let rig = Rig::new().await;
    let mut raw = rig.raw().await;
    raw.send(&Frames::new().query("SELECT pg_terminate_backend(pg_backend_pid())")).await;
    let seen = raw.until_ready().await;
    assert!(seen.ends_with("E[57P01] end"), "{seen}");
    assert!(rig.log()[0].ends_with("→ 57P01"), "{:?}", rig.log());
}

#[tokio::test]
async fn a_unix_socket_is_a_server_too() {
    let rig = Rig::new().await;
    let socket = rig.database.socket_url().await;
    let proxy = Proxy::start(&socket).await.unwrap();
    let (client, connection) = tokio_postgres::connect(proxy.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    run(&client, "INSERT INTO t VALUES (1)", false).await.unwrap();
    assert_eq!(dial::connect(&socket).await.unwrap().execute("DELETE FROM t", &[]).await.unwrap(), 1);
    let error = dial::connect("postgres://u:secret@127.0.0.1:1/d").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot connect to PostgreSQL at 127.0.0.1:1, database `d`, user `u`: Connection refused (os error 111); nothing \
         listens there: is the server running, and are host and port right?"
    );
}

#[tokio::test]
async fn psql_works_as_ever() {
    let rig = Rig::new().await;
    let script = "\\set ON_ERROR_STOP on\nBEGIN;\nCOPY t FROM STDIN;\n1\n2\n\\.\nCOMMIT;\n\
        INSERT INTO t VALUES (3) \\; INSERT INTO t VALUES (4);\nSELECT sum(a) FROM t \\gset\n\\echo :sum\n\
        \\copy t TO STDOUT\n";
    let mut psql = tokio::process::Command::new("psql");
    psql.args(["-XqAt", rig.proxy.url()]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut psql = psql.kill_on_drop(true).spawn().unwrap();
    psql.stdin.take().unwrap().write_all(script.as_bytes()).await.unwrap();
    let output = within(30, "psql", psql.wait_with_output()).await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "10\n1\n2\n3\n4\n", "{errors}");
    let writes: Vec<u64> = rig.proxy.log().iter().map(|entry| entry.write).collect();
    assert_eq!(writes, [0, 1, 2, 3, 0, 0], "{:?}", rig.log());
    assert!(rig.proxy.idle_for() < Duration::from_secs(30));
}
