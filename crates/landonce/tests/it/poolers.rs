//! Behind a pooler in transaction mode: nothing is kept on a server connection between two transactions.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use landonce::{Batch, Status, Store};
use landonce_testkit::fixture::Events;
use landonce_testkit::wait;

use crate::given::{Given, patient, pipeline};

pub(crate) struct Pooler {
    child: Child,
    pub(crate) port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pgbouncer with two server connections in front of the database's server.
pub(crate) async fn pooler(url: &str) -> Pooler {
    let place = url.split('@').nth(1).unwrap();
    let server_port = place.split('/').next().unwrap().rsplit(':').next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "[databases]\n* = host=127.0.0.1 port={server_port} user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         unix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 50\n"
    );
    let path = folder.path().join("pgbouncer.ini");
    std::fs::File::create(&path).unwrap().write_all(config.as_bytes()).unwrap();
    // pgbouncer, like PostgreSQL, refuses to run as root.
    let _ = Command::new("chmod").args(["-R", "a+rX"]).arg(folder.path()).status();
    let mut command = Command::new("pgbouncer");
    if Command::new("id").arg("-u").output().unwrap().stdout == b"0\n" {
        command.args(["-u", "postgres"]);
    }
    let child = command.arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let child = child.expect("pgbouncer is needed; scripts/test installs it");
    wait::until(20, "pgbouncer to listen", async || {
        std::net::TcpStream::connect(("127.0.0.1", port)).ok().map(drop)
    })
    .await;
    Pooler { child, port, _folder: folder }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_land_once_through_a_pooler_in_transaction_mode() {
    let given = Given::postgres().await;
    let pooler = pooler(&given.url).await;
    let url = format!("postgres://postgres@127.0.0.1:{}/{}", pooler.port, given.database().name());
    let store = Store::open(&url).unwrap();
    let flights = pipeline(
        "identity: [flight_id, event_kind, instant_utc]\ntarget: {table: t, columns: {instant_utc: timestamptz}}",
    );
    let mut bytes = Vec::new();
    Events::new(1, 6 * 300).write_to(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let batch =
        |part: usize| Batch::from_bytes(format!("{part}.ndjson"), lines[part * 300..][..300].join("\n"));
    for round in 0..3 {
        let mut tasks = tokio::task::JoinSet::new();
        for part in 0..6 {
            let (flights, store, batch) =
                (flights.clone(), store.clone(), batch(part).with_id(format!("{part}/{round}")));
            tasks.spawn(async move { flights.ingest_with(&store, &batch, &patient()).await.unwrap() });
        }
        let receipts = tasks.join_all().await;
        assert!(
            receipts.iter().all(|receipt| receipt.status == Status::Processed && receipt.attempts == 1),
            "{receipts:?}"
        );
    }
    assert_eq!(given.count("t").await, 6 * 300);
    assert_eq!(given.count("landonce.inbox").await, 18);
}
