//! A NATS server of the test's own, with JetStream on the disk: Debian's `nats-server`, or what `LANDONCE_TEST_NATS` names. It can be
//! killed and started again, with what it has written.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::private::unique_name;

/// Kills the server when its standard input is closed, so the server ends with the test whatever ends that.
const OWNER: &str = "\"$@\" 2>&1 & server=$!; cat >/dev/null; kill -9 $server; wait $server 2>/dev/null";

/// A server, running or killed.
#[derive(Debug)]
pub struct Server {
    process: Option<Child>,
    folder: PathBuf,
    port: u16,
}

impl Server {
    /// Starts one that has no streams.
    ///
    /// # Panics
    ///
    /// When there is no `nats-server`.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// Starts one with more in its configuration: users, TLS. `{folder}` is a folder of its own ([`Server::folder`]).
    ///
    /// # Panics
    ///
    /// When there is no `nats-server`, or it doesn't take the configuration.
    pub fn start_with(more: &str) -> Self {
        Self::start_in(&new_folder(), more)
    }

    /// The same in a folder that has been made before ([`new_folder`]), for the files that the configuration names.
    ///
    /// # Panics
    ///
    /// When there is no `nats-server`, or it doesn't take the configuration.
    pub fn start_in(folder: &Path, more: &str) -> Self {
        let mut server = Self { process: None, folder: folder.to_owned(), port: 0 };
        for _ in 0..10 {
            let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
            server.port = port.expect("a free port for the server").port();
            let place = folder.display();
            let config = format!(
                "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"{place}/js\" }}\n{}",
                server.port,
                more.replace("{folder}", &place.to_string())
            );
            fs::write(folder.join("server.conf"), config).expect("a configuration");
            // A port that was free may be taken meanwhile.
            if server.launch() {
                return server;
            }
            server.kill();
        }
        panic!("no NATS server: is there a `nats-server`, and does it take\n{more}");
    }

    /// Where it is: `nats://127.0.0.1:49152`.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The folder of its own.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            drop(process.stdin.take());
            let _ = process.wait();
        }
    }

    /// Starts it again at the same place, with what it had written.
    ///
    /// # Panics
    ///
    /// When it doesn't start.
    pub fn restart(&mut self) {
        self.kill();
        assert!(self.launch(), "the NATS server doesn't start again at {}", self.url());
    }

    fn launch(&mut self) -> bool {
        let program = std::env::var("LANDONCE_TEST_NATS").unwrap_or_else(|_| {
            let debian = "/usr/sbin/nats-server";
            if Path::new(debian).exists() { debian } else { "nats-server" }.to_owned()
        });
        let process = Command::new("sh")
            .args(["-c", OWNER, "sh", &program, "-c"])
            .arg(self.folder.join("server.conf"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut process = process.expect("sh");
        let log = process.stdout.take().expect("it is piped");
        self.process = Some(process);
        let (say, said) = std::sync::mpsc::channel();
        // Read to its end, or the server would wait for somebody to read on.
        std::thread::spawn(move || {
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                if line.contains("Server is ready") {
                    let _ = say.send(());
                }
            }
        });
        said.recv_timeout(Duration::from_secs(20)).is_ok() && is_ready(self.port)
    }
}

/// A folder for a server: what it keeps, and files that its configuration names.
///
/// # Panics
///
/// When it can't be made.
pub fn new_folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("landonce-nats-{}", unique_name()));
    fs::create_dir_all(&folder).expect("a folder for the server");
    folder
}

/// It tells of itself with JetStream, which comes up behind the port.
fn is_ready(port: u16) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut said = String::new();
        let mut reader = BufReader::new(stream.try_clone()?.take(1 << 16));
        reader.read_line(&mut said)?;
        stream.flush()?;
        Ok(said.starts_with("INFO") && said.contains("\"jetstream\":true"))
    };
    ask().unwrap_or(false)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // What is left is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
