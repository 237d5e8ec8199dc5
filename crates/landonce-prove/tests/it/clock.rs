//! A clock that is ahead, for a command and for a server, and nothing left behind.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use landonce_prove::clock::{self, Server};
use landonce_testkit::postgres;
use tokio::process::Command;

const DAYS: Duration = Duration::from_hours(40 * 24);

/// scripts/test installs it (Debian: libfaketime); else LANDONCE_FAKETIME names it.
fn library() -> PathBuf {
    clock::library().unwrap()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

async fn said(program: &str, arguments: &[&str]) -> String {
    let ended = Command::new(program)
        .args(arguments)
        .envs(clock::environment(&library(), DAYS))
        .output()
        .await
        .unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8(ended.stdout).unwrap()
}

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn a_command_sees_another_day_and_the_same_monotonic_clock() {
    let seconds: u64 = said("date", &["+%s"]).await.trim().parse().unwrap();
    assert!(seconds.abs_diff(now() + DAYS.as_secs()) < 60, "{seconds}");
    // A wait that a moved monotonic clock would never end; then how far that clock is from the kernel's.
    let script = "import threading, time; c = threading.Condition(); c.acquire(); c.wait(0.05); \
                  print(int(time.time()), abs(time.monotonic() - float(open('/proc/uptime').read().split()[0])) < 60)";
    let words = said("python3", &["-c", script]).await;
    let (seconds, is_near) = words.trim().split_once(' ').unwrap();
    assert!(seconds.parse::<u64>().unwrap().abs_diff(now() + DAYS.as_secs()) < 60, "{words}");
    assert_eq!(is_near, "True");
}

#[tokio::test]
async fn times_of_files_stay() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let seconds: u64 = said("stat", &["-c", "%Y", path]).await.trim().parse().unwrap();
    assert!(seconds.abs_diff(now()) < 60, "{seconds}");
}

#[tokio::test]
async fn a_server_holds_a_copy_and_its_clock_is_ahead() {
    let database = postgres::database().await;
    let theirs = database.client().await;
    theirs
        .batch_execute(
            "CREATE TABLE day (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at date UNIQUE, note text);
             INSERT INTO day (at, note) SELECT date '2024-01-01' + n, 'ä' || n FROM generate_series(1, 100) n",
        )
        .await
        .unwrap();
    let mut server = Server::start(12).await.unwrap().unwrap();
    let url = server.copy_of(&database.url()).await.unwrap();
    let sum = "SELECT md5(string_agg(day::text, ',' ORDER BY id)) FROM day";
    let expected: String = theirs.query_one(sum, &[]).await.unwrap().get(0);
    assert_eq!(client(&url).await.query_one(sum, &[]).await.unwrap().get::<_, String>(0), expected);

    server.set_ahead(DAYS, &library()).await.unwrap();
    let moved = client(&url).await;
    let row = moved.query_one("SELECT extract(epoch FROM now())::bigint", &[]).await.unwrap();
    assert!((row.get::<_, i64>(0) as u64).abs_diff(now() + DAYS.as_secs()) < 60);
    // The identity goes on where it was.
    moved.execute("INSERT INTO day (at) VALUES (current_date)", &[]).await.unwrap();
    assert_eq!(moved.query_one("SELECT max(id) FROM day", &[]).await.unwrap().get::<_, i64>(0), 101);

    // Nobody comes in without its password.
    let config: tokio_postgres::Config = url.parse().unwrap();
    let mut without = tokio_postgres::Config::new();
    without.host("127.0.0.1").port(config.get_ports()[0]).user("postgres").dbname("postgres");
    assert!(without.connect(tokio_postgres::NoTls).await.is_err());

    let folder: String =
        moved.query_one("SELECT current_setting('unix_socket_directories')", &[]).await.unwrap().get(0);
    drop(server);
    assert!(!Path::new(&folder).exists());
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", config.get_ports()[0])).await.is_err());
}

#[tokio::test]
async fn a_version_that_is_not_here_is_said_so() {
    let why = Server::start(999).await.unwrap().unwrap_err();
    assert!(why.contains("PostgreSQL 999 or later"), "{why}");
}

#[tokio::test]
async fn a_library_that_moves_nothing_is_an_error() {
    let mut server = Server::start(12).await.unwrap().unwrap();
    // Any library can be preloaded; this one is no clock.
    let other =
        ["/lib/x86_64-linux-gnu/libdl.so.2", "/lib/aarch64-linux-gnu/libdl.so.2", "/usr/lib64/libdl.so.2"];
    let other = other.into_iter().find(|file| Path::new(file).exists()).unwrap();
    let error = server.set_ahead(DAYS, Path::new(other)).await.unwrap_err();
    assert!(error.to_string().contains("no effect"), "{error}");
}
