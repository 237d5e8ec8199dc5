//! A prepared statement can be executed after a refusal, by a client that sends its parameters' types with the first
//! execution alone, as the C library does.

use landonce_prove::wire::mysql::Proxy;
use landonce_prove::wire::{At, Fault};
use landonce_testkit::mariadb;
use mysql_async::Opts;
use mysql_async::prelude::Queryable;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// PROTOCOL_41, SECURE_CONNECTION, CONNECT_WITH_DB.
const CAPABILITIES: u32 = 0x8208;

struct Raw(TcpStream);

impl Raw {
    async fn connect(proxy: &Proxy, database: &str) -> Self {
        let options = Opts::from_url(proxy.url()).unwrap();
        let mut raw = Self(TcpStream::connect(("127.0.0.1", options.tcp_port())).await.unwrap());
        raw.read().await;
        let login = [
            &CAPABILITIES.to_le_bytes()[..],
            &(1_u32 << 24).to_le_bytes(),
            &[45],
            &[0; 23],
            options.user().unwrap().as_bytes(),
            // The end of the name, and no password.
            &[0, 0],
            database.as_bytes(),
            &[0],
        ];
        raw.send(1, &login.concat()).await;
        assert_eq!(raw.read().await[0], 0);
        raw
    }

    async fn send(&mut self, number: u8, payload: &[u8]) {
        let head = (payload.len() as u32 | u32::from(number) << 24).to_le_bytes();
        self.0.write_all(&[&head[..], payload].concat()).await.unwrap();
    }

    async fn read(&mut self) -> Vec<u8> {
        let head = self.0.read_u32_le().await.unwrap();
        let mut payload = vec![0; (head & 0x00ff_ffff) as usize];
        self.0.read_exact(&mut payload).await.unwrap();
        payload
    }

    /// The first packet that answers the command.
    async fn ask(&mut self, command: u8, body: &[&[u8]]) -> Vec<u8> {
        self.send(0, &[&[command], &body.concat()[..]].concat()).await;
        self.read().await
    }
}

#[tokio::test]
async fn types_that_came_with_a_refused_execution_reach_the_server() {
    let database = mariadb::database().await;
    database.client().await.query_drop("CREATE TABLE t (a int)").await.unwrap();
    let proxy = Proxy::start(&database.url()).await.unwrap();
    let refuse = proxy.arm(Fault::Refuse(At::Write(1), "1205"));
    let mut raw = Raw::connect(&proxy, database.name()).await;
    let prepared = raw.ask(0x16, &[b"INSERT INTO t VALUES (?)"]).await;
    assert_eq!(prepared[0], 0);
    // The parameter, and the end of the parameters.
    raw.read().await;
    raw.read().await;
    let (id, no_flags_once, no_null) = (&prepared[1..5], [0, 1, 0, 0, 0], [0]);
    let execution = |value: u8, types: &'static [u8]| {
        [id, &no_flags_once, &no_null, types, &u32::from(value).to_le_bytes()].concat()
    };
    assert_eq!(raw.ask(0x17, &[&execution(1, &[1, 3, 0])]).await[0], 0xff);
    assert!(refuse.has_fired());
    for value in [2, 3] {
        assert_eq!(raw.ask(0x17, &[&execution(value, &[0])]).await[0], 0);
    }
    let rows: Vec<i32> = database.client().await.query("SELECT a FROM t ORDER BY a").await.unwrap();
    assert_eq!(rows, [2, 3]);
}
