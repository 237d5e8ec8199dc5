//! `landonce serve`, the process: what it refuses to begin with, what it says, how it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use landonce_testkit::wait;

use crate::folder::Folder;

const ORDERS: &str = "pipeline: orders\nidentity: [id]\ntarget: {table: orders}\n";

/// A running server; killed with the test.
pub(crate) struct Served {
    child: Child,
    pub(crate) at: String,
    said: Arc<Mutex<String>>,
    hearing: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let at = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            said.push_str(&line);
            if let Some((_, at)) = line.split_once("listening on http://") {
                break at.trim().to_owned();
            }
        };
        let said = Arc::new(Mutex::new(said));
        let heard = Arc::clone(&said);
        let hearing = std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                heard.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        Self { child, at, said, hearing: Some(hearing) }
    }

    pub(crate) fn has_said(&self, words: &str) -> bool {
        self.said.lock().unwrap().contains(words)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A request by hand; the whole answer. `None` where the connection breaks before it.
    pub(crate) fn try_send(&self, head: &str, body: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.at).ok()?;
        let length = body.len();
        let text = format!(
            "{head}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(text.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        (!answer.is_empty()).then_some(answer)
    }

    pub(crate) fn deliver(&self, key: &str, body: &str) -> Option<String> {
        let head = format!("POST /v1/pipelines/orders/batches HTTP/1.1\r\nidempotency-key: {key}");
        self.try_send(&head, body)
    }

    /// Sends SIGTERM, and waits for the end: the exit code, and all that it said on stderr.
    pub(crate) async fn terminated(mut self) -> (Option<i32>, String) {
        let killed = Command::new("kill").args(["-TERM", &self.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let status = wait::until(30, "the server to end", async || self.child.try_wait().unwrap()).await;
        self.hearing.take().unwrap().join().unwrap();
        let said = self.said.lock().unwrap().clone();
        (status.code(), said)
    }
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("pipelines/orders.yaml", ORDERS);
    folder
}

fn serve(folder: &Folder, more: &[&str]) -> Command {
    folder.command(&[&["serve", "pipelines", "--listen", "127.0.0.1:0"], more].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn it_takes_batches_and_ends_well_when_it_is_told_to() {
    let folder = folder();
    let served = Served::start(serve(&folder, &["--log", "json"]));
    let answer = served.deliver("k", "{\"id\":1}\n").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"processed\""), "{answer}");
    let (code, said) = served.terminated().await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("stopping"), "{said}");
    let requests: Vec<serde_json::Value> =
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let request = requests.iter().find(|line| line["message"] == "request").unwrap();
    assert_eq!((&request["status"], &request["method"]), (&200.into(), &"POST".into()));
    assert_eq!(request["request_id"].as_str().map(str::len), Some(36));
}

#[test]
fn what_can_not_be_served_is_refused_before_anything_is_touched() {
    let folder = folder();
    folder.write("twice.yaml", ORDERS);
    folder.write(
        "elsewhere.yaml",
        "pipeline: elsewhere\nstore: 'postgres://u:s3kr3t@h/d'\nidentity: [id]\ntarget: {table: t}\n",
    );
    folder
        .write("here.yaml", "pipeline: here\nstore: 'sqlite:here.db'\nidentity: [id]\ntarget: {table: t}\n");
    folder.write("empty/readme.txt", "");
    folder.write("bad.yaml", "limits:\n  bodi: 1MiB\n");
    let hash = format!("sha256:{}", "ab".repeat(32));
    folder.write(
        "token.yaml",
        format!("tokens: [{{name: a, hash: '{hash}', may: [read], pipelines: [ordrs]}}]"),
    );
    folder.write("fine.yaml", format!("tokens: [{{name: a, hash: '{hash}', may: [read]}}]"));
    folder.write("tls.yaml", "tls: {certificate: none.pem, key: none.pem}");
    folder.write("deliver.yaml", "deliver: {file: none.yaml}");
    for (args, told) in [
        (&["pipelines", "twice.yaml"][..], "pipelines/orders.yaml and twice.yaml: both are called `orders`"),
        (&["here.yaml", "elsewhere.yaml"], "elsewhere.yaml names the store h:5432"),
        (&["empty"], "no pipeline file"),
        (&["none"], "none"),
        (&["pipelines", "--config", "none.yaml"], "none.yaml"),
        (
            &["pipelines", "--config", "bad.yaml"],
            "bad.yaml: line 2, column 3: unknown key `bodi`; did you mean `body`?",
        ),
        (&["pipelines", "--config", "token.yaml"], "tokens[0].pipelines: no pipeline `ordrs` is served"),
        (&["pipelines", "--config", "tls.yaml"], "tls: none.pem"),
        (&["pipelines", "--config", "deliver.yaml"], "none.yaml"),
        (&["pipelines", "--listen", "0.0.0.0:0"], "others reach 0.0.0.0:0"),
        (&["pipelines", "--listen", "0.0.0.0:0", "--config", "fine.yaml"], "behind_proxy"),
    ] {
        let ran = folder.run(&[&["serve"], args].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(told) && !ran.stderr.contains("s3kr3t"), "{args:?}: {}", ran.stderr);
    }
    assert!(!folder.path("landonce.db").exists() && !folder.path("here.db").exists());
}

#[test]
fn a_token_is_told_once_with_its_hash() {
    let folder = Folder::new();
    let made = folder.run(&["serve", "token", "--output", "json"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let made: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    let token = made["token"].as_str().unwrap();
    let digest = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(token));
    assert_eq!(made["hash"].as_str().unwrap(), format!("sha256:{digest}"), "what `sha256sum` prints");
    let again = folder.run(&["serve", "token"]);
    assert!(again.stdout.starts_with("lo_") && again.stderr.contains("hash: 'sha256:"), "{}", again.stderr);
    assert_ne!(again.stdout.trim(), token);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_delivered_beside_the_requests() {
    let folder = Folder::new();
    folder.write(
        "pipelines/orders.yaml",
        "pipeline: orders\nidentity: [id]\ntarget: {table: orders, columns: {id: integer}}\nnotify: [{on: [inserted], topic: t}]\n",
    );
    folder.write("d.yaml", "destinations: {log: {topics: [t], file: {path: told.ndjson}}}\n");
    folder.write("serve.yaml", "deliver: {file: d.yaml}\n");
    let served = Served::start(serve(&folder, &["--config", "serve.yaml"]));
    let answer = served.deliver("k", "{\"id\":1}\n{\"id\":2}\n").unwrap();
    assert!(answer.contains("\"enqueued\":2"), "{answer}");
    wait::until(30, "both messages to be delivered", async || {
        let told = std::fs::read_to_string(folder.path("told.ndjson")).ok()?;
        (told.lines().count() == 2).then_some(())
    })
    .await;
    let (code, said) = served.terminated().await;
    assert_eq!(code, Some(0), "{said}");
}

/// F4 over HTTP: whatever is killed while clients deliver, they send the same again with the same key, and what is left is what one
/// delivery of each leaves.
#[tokio::test(flavor = "multi_thread")]
async fn killed_under_load_it_loses_nothing_and_lands_nothing_twice() {
    const CLIENTS: usize = 4;
    const BATCHES: usize = 15;
    const KILLS: usize = 5;
    let folder = folder();
    let answered = std::sync::atomic::AtomicUsize::new(0);
    let is_at = Mutex::new(Some(Arc::new(Served::start(serve(&folder, &[])))));
    let batch = |client: usize, nth: usize| {
        let first = (client * BATCHES + nth) * 10;
        (first..first + 10).map(|id| format!("{{\"id\":{id}}}\n")).collect::<String>()
    };
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (is_at, answered, batch) = (&is_at, &answered, &batch);
            scope.spawn(move || {
                for nth in 0..BATCHES {
                    let (key, body) = (format!("{client}-{nth}"), batch(client, nth));
                    let started = std::time::Instant::now();
                    loop {
                        assert!(started.elapsed().as_secs() < 60, "{key} never lands");
                        let Some(served) = is_at.lock().unwrap().clone() else {
                            std::thread::yield_now();
                            continue;
                        };
                        match served.deliver(&key, &body) {
                            Some(answer) if answer.starts_with("HTTP/1.1 200") => break,
                            // Cut off in the middle of an answer, or told to come again.
                            Some(answer) => assert!(!answer.contains("\"retry\":\"stop\""), "{answer}"),
                            None => {}
                        }
                    }
                    answered.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
        for kill in 1..=KILLS {
            // In the middle of things: so many batches have their answers, and the others are under way.
            while answered.load(std::sync::atomic::Ordering::Relaxed) < kill * CLIENTS * BATCHES / (KILLS + 2)
            {
                std::thread::yield_now();
            }
            let served = is_at.lock().unwrap().take().unwrap();
            let killed = Command::new("kill").args(["-KILL", &served.id().to_string()]).status().unwrap();
            assert!(killed.success());
            *is_at.lock().unwrap() = Some(Arc::new(Served::start(serve(&folder, &[]))));
        }
    });
    let connection = rusqlite::Connection::open(folder.path("landonce.db")).unwrap();
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap() as usize;
    assert_eq!(count("SELECT count(*) FROM orders"), CLIENTS * BATCHES * 10);
    assert_eq!(count("SELECT count(*) FROM landonce_inbox"), CLIENTS * BATCHES);
    assert_eq!(count("SELECT count(*) FROM landonce_inbox WHERE outcome IS NULL"), 0);
    assert_eq!(count("SELECT count(DISTINCT landonce_key) FROM orders"), CLIENTS * BATCHES * 10);
}

/// C44: nothing of a request that was killed is left, and its key is free at once.
#[cfg(feature = "failpoints")]
mod killed {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn at_every_step_the_retry_with_the_same_key_lands_at_once() {
        let body = "{\"id\":1}\n{\"id\":2}\n";
        for failpoint in ["connected", "begun", "claimed", "staged", "written", "settled", "committed"] {
            let folder = folder();
            // The table is there, so that the failpoint is of the batch that is killed.
            assert!(Served::start(serve(&folder, &[])).deliver("first", "{\"id\":9}\n").is_some());
            let mut command = serve(&folder, &[]);
            command.env("LANDONCE_FAILPOINT", failpoint);
            let served = Arc::new(Served::start(command));
            let sending = tokio::task::spawn_blocking({
                let served = Arc::clone(&served);
                move || served.deliver("k", body)
            });
            let line = format!("at failpoint {failpoint}");
            wait::until(30, &line, async || served.has_said(&line).then_some(())).await;
            let killed = Command::new("kill").args(["-KILL", &served.id().to_string()]).status().unwrap();
            assert!(killed.success());
            assert_eq!(sending.await.unwrap(), None, "{failpoint}: no answer was given");
            let again = Served::start(serve(&folder, &[]));
            let answer = again.deliver("k", body).unwrap();
            let status = if failpoint == "committed" { "skipped_duplicate" } else { "processed" };
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(status), "{failpoint}: {answer}");
            let connection = rusqlite::Connection::open(folder.path("landonce.db")).unwrap();
            let rows: i64 =
                connection.query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap();
            assert_eq!(rows, 3, "{failpoint}");
        }
    }
}
