//! A child process whose words are collected while it runs, so that it never waits for us to read them.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::task::JoinHandle;

use super::PATIENCE;
use crate::wait;

/// A program that is gone, and what it had said.
#[derive(Debug)]
pub struct Ended {
    /// How it ended.
    pub status: ExitStatus,
    /// All of its stdout.
    pub stdout: String,
    /// All of its stderr.
    pub stderr: String,
}

/// A running program. Killed when dropped.
#[derive(Debug)]
pub(super) struct Child {
    process: tokio::process::Child,
    pub(super) stdout: Collected,
    pub(super) stderr: Collected,
}

impl Child {
    pub(super) fn start(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("starting {}: {error}", command.as_std().get_program().display()));
        let stdout = Collected::from(process.stdout.take().expect("stdout is piped"));
        let stderr = Collected::from(process.stderr.take().expect("stderr is piped"));
        Self { process, stdout, stderr }
    }

    /// Its process id, until it has been waited for.
    pub(super) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Whether this line is on its stderr, whole.
    pub(super) fn has_said(&self, line: &str) -> bool {
        self.stderr.with(|bytes| {
            let complete = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            bytes[..complete].split(|&byte| byte == b'\n').any(|said| said == line.as_bytes())
        })
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.process.try_wait().expect("a child can be asked for its end").is_some()
    }

    /// Kills it with SIGKILL and reaps it.
    pub(super) async fn kill(mut self) -> Ended {
        self.process.start_kill().expect("a child can be killed");
        self.end().await
    }

    /// Waits for its end.
    pub(super) async fn end(mut self) -> Ended {
        let status = wait::within(PATIENCE, "the program to end", self.process.wait()).await;
        let status = status.expect("a child can be waited for");
        Ended { status, stdout: self.stdout.all().await, stderr: self.stderr.all().await }
    }
}

/// What came out of a pipe so far.
#[derive(Debug)]
pub(super) struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Collected {
    fn from(mut pipe: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let filled = Arc::clone(&bytes);
        let reading = tokio::spawn(async move {
            let mut chunk = [0; 8192];
            while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
                filled.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&chunk[..read]);
            }
        });
        Self { bytes, reading }
    }

    /// Looks at what has come so far.
    pub(super) fn with<T>(&self, look: impl FnOnce(&[u8]) -> T) -> T {
        look(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All of it, once the program is gone. A grandchild that still holds the pipe fails the test.
    async fn all(mut self) -> String {
        let read = wait::within(10, "the dead program's output to end", &mut self.reading).await;
        read.expect("reading a pipe doesn't panic");
        self.with(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}
