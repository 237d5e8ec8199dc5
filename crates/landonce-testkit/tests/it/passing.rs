//! Without a fault the proxy changes nothing: statements, COPY, large results, pipelining, cancelling, other ways in.

use bytes::Bytes;
use futures_util::{SinkExt, TryStreamExt, future};
use landonce_testkit::postgres;
use landonce_testkit::proxy::{Fault, Proxy};
use landonce_testkit::wait::{until, within};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_postgres::NoTls;

use crate::wire::{connect, rows, set_up};

#[tokio::test]
async fn ten_thousand_statements_pass_unharmed() {
    let (database, proxy, client) = set_up().await;
    let insert = client.prepare("INSERT INTO t VALUES ($1) RETURNING a").await.unwrap();
    for start in (0..10_000).step_by(1000) {
        // All of them in the pipe at once.
        let inserts = (start..start + 1000).map(|value| {
            let (client, insert) = (&client, &insert);
            async move {
                let row = client.query_one(insert, &[&value]).await.unwrap();
                assert_eq!(row.get::<_, i32>(0), value);
            }
        });
        within(60, "a thousand inserts", future::join_all(inserts)).await;
    }
    assert_eq!(rows(&database).await, 10_000);
    assert_eq!(proxy.statements().len(), 10_000);
}

#[tokio::test]
async fn a_pipe_full_both_ways_does_not_jam() {
    let (_database, _proxy, client) = set_up().await;
    // 64 MB of requests answered by 64 MB of results, none waiting for another.
    let text = "x".repeat(1 << 20);
    let echo = client.prepare("SELECT $1::text").await.unwrap();
    let echoes = (0..64).map(|_| async {
        let row = client.query_one(&echo, &[&text]).await.unwrap();
        assert_eq!(row.get::<_, &str>(0).len(), text.len());
    });
    within(60, "the echoes", future::join_all(echoes)).await;
}

#[tokio::test]
async fn a_copy_both_ways_passes_to_the_byte() {
    let (database, proxy, client) = set_up().await;
    client.batch_execute("CREATE TABLE wide (a int, b text)").await.unwrap();
    let sent: Vec<Bytes> =
        (0..200_000).map(|a| Bytes::from(format!("{a}\t{}\n", "é".repeat(a % 50)))).collect();
    let mut copy = Box::pin(client.copy_in("COPY wide FROM STDIN").await.unwrap());
    for row in &sent {
        copy.feed(row.clone()).await.unwrap();
    }
    copy.close().await.unwrap();
    let got: Vec<Bytes> = client
        .copy_out("COPY (SELECT * FROM wide ORDER BY a) TO STDOUT")
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let digest = |rows: &[Bytes]| Sha256::digest(rows.concat());
    assert_eq!(digest(&got), digest(&sent));
    // After a COPY the proxy still knows which answer is which.
    let fault = proxy.arm(Fault::refuse("COMMIT", "40001"));
    client.batch_execute("BEGIN; INSERT INTO t VALUES (1)").await.unwrap();
    client.batch_execute("COMMIT").await.unwrap_err();
    assert_eq!((fault.fired(), rows(&database).await), (1, 0));
}

#[tokio::test]
async fn a_large_result_passes_to_the_byte() {
    let (database, _proxy, client) = set_up().await;
    let select = "SELECT g, repeat(md5(g::text), 20) FROM generate_series(1, 50000) g";
    let through = client.query(select, &[]).await.unwrap();
    let direct = database.client().await.query(select, &[]).await.unwrap();
    assert_eq!(through.len(), 50_000);
    let same = through.iter().zip(&direct).all(|(through, direct)| {
        through.get::<_, i32>(0) == direct.get::<_, i32>(0)
            && through.get::<_, &str>(1) == direct.get::<_, &str>(1)
    });
    assert!(same);
}

#[tokio::test]
async fn a_failed_statement_passes_with_the_servers_own_words() {
    let (_database, _proxy, client) = set_up().await;
    client.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
    let error = client.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap_err();
    let error = error.as_db_error().unwrap();
    assert_eq!((error.code().code(), error.constraint()), ("23505", Some("t_pkey")));
}

#[tokio::test]
async fn a_cancel_request_passes() {
    let (database, proxy, client) = set_up().await;
    let cancel = client.cancel_token();
    let onlooker = connect(&database.url()).await;
    // A simple query: once the server calls it active it is executing, and one request is enough.
    let endless =
        tokio::spawn(
            async move { client.batch_execute("SELECT count(*) FROM generate_series(1, 1e15)").await },
        );
    until(10, "the query to be running", async || {
        let running = "SELECT FROM pg_stat_activity WHERE datname = current_database()
                       AND state = 'active' AND query = 'SELECT count(*) FROM generate_series(1, 1e15)'";
        onlooker.query_opt(running, &[]).await.unwrap().map(|_| ())
    })
    .await;
    cancel.cancel_query(NoTls).await.unwrap();
    let error = within(10, "the cancelled query", endless).await.unwrap().unwrap_err();
    assert_eq!(error.code().unwrap().code(), "57014");
    assert_eq!(proxy.connections(), 2);
}

#[tokio::test]
async fn encryption_is_declined_and_the_session_goes_on_in_clear() {
    let (_database, proxy, _client) = set_up().await;
    let port = proxy.url().split(':').nth(2).unwrap().split('/').next().unwrap().parse::<u16>().unwrap();
    let mut raw = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    for request in [80_877_103_u32, 80_877_104] {
        raw.write_u32(8).await.unwrap();
        raw.write_u32(request).await.unwrap();
        assert_eq!(raw.read_u8().await.unwrap(), b'N');
    }
    // Protocol 3.0 without a user: the server's own complaint comes back.
    raw.write_u32(9).await.unwrap();
    raw.write_u32(3 << 16).await.unwrap();
    raw.write_u8(0).await.unwrap();
    assert_eq!(raw.read_u8().await.unwrap(), b'E');
}

#[tokio::test]
async fn the_server_may_be_behind_a_unix_socket() {
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.socket_url().await).await;
    let client = connect(proxy.url()).await;
    let row =
        client.query_one("SELECT inet_server_addr() IS NULL, current_database()::text", &[]).await.unwrap();
    assert_eq!((row.get(0), row.get::<_, &str>(1)), (true, database.name()));
}
