//! A program at work: in a group of its own, with an environment of its own, killed with all it has started when its time is over, when
//! it has ended, or when nobody wants it any more.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use landonce::Pipeline;
use landonce::environment::expand;
use landonce_core::pipeline::CommandFeed;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::error::Error;

/// What a program has from landonce's own environment: how to find programs, files, words and the time; no secret.
const KEPT: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV"];
/// How much of its standard error is kept.
const TAIL: usize = 4096;
/// How many lines of that are shown.
const LINES: usize = 10;

/// What is run, and how. Holds the secrets of its environment.
pub(crate) struct Setting {
    run: Vec<String>,
    environment: Vec<(OsString, OsString)>,
    /// Values that came from the environment: not to be shown.
    secrets: Vec<String>,
    folder: PathBuf,
    timeout: Duration,
    shown: String,
}

impl Setting {
    /// What a pipeline declares, with its secrets.
    pub(crate) fn new(pipeline: &Pipeline, feed: &CommandFeed) -> Result<Self, Error> {
        let is_kept = |name: &str| KEPT.contains(&name) || name.starts_with("LC_");
        let mut environment: Vec<(OsString, OsString)> =
            std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept)).collect();
        let mut secrets = Vec::new();
        for (name, value) in &feed.env {
            let expanded = expand(&format!("source.command.env.{name}"), value)?;
            if expanded != *value && !expanded.is_empty() {
                secrets.push(expanded.clone());
            }
            environment.push((name.into(), expanded.into()));
        }
        let folder = pipeline.folder().join(&feed.folder);
        Ok(Self {
            shown: format!("command {}", feed.run.join(" ")),
            run: feed.run.clone(),
            environment,
            secrets,
            folder: if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder },
            timeout: feed.timeout,
        })
    }

    /// What is run, for people.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }
}

/// A program that runs. Dropping it kills it and what it has started.
pub(crate) struct Program {
    child: Child,
    group: Option<Pid>,
    said: Option<JoinHandle<Vec<u8>>>,
    deadline: Instant,
    timeout: Duration,
    secrets: Vec<String>,
    shown: String,
}

impl Program {
    /// Starts it, with more arguments behind its own; its output is to be read to the end.
    pub(crate) fn start(setting: &Setting, more: &[OsString]) -> Result<(Self, ChildStdout), Error> {
        let (program, arguments) = setting.run.split_first().map_or(("", &[][..]), |(p, a)| (p.as_str(), a));
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(more)
            .current_dir(&setting.folder)
            .env_clear()
            .envs(setting.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| {
            let folder = setting.folder.display();
            let why = match error.kind() {
                ErrorKind::NotFound => {
                    format!("it isn't there; it was looked for by PATH and from the folder `{folder}`")
                }
                ErrorKind::PermissionDenied => {
                    "it may not be executed: `chmod +x` it, or name its interpreter".to_owned()
                }
                _ => error.to_string(),
            };
            Error::Declared(format!("source.command.run: `{program}` can't be started: {why}"))
        })?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(Error::Program(format!("{}: its output can't be read", setting.shown)));
        };
        let program = Self {
            group: child.id().and_then(|id| Pid::from_raw(id.cast_signed())),
            child,
            said: Some(tokio::spawn(tail(stderr))),
            deadline: Instant::now() + setting.timeout,
            timeout: setting.timeout,
            secrets: setting.secrets.clone(),
            shown: setting.shown.clone(),
        };
        Ok((program, stdout))
    }

    /// Waits for something of it, as long as it may run.
    pub(crate) async fn in_time<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Error> {
        if let Ok(done) = tokio::time::timeout_at(self.deadline, work).await {
            return Ok(done);
        }
        self.kill();
        let told = format!(
            "it was still running after {} s and was killed (`source.command.timeout`)",
            self.timeout.as_secs_f32()
        );
        Err(self.with_its_words(&told).await)
    }

    /// Waits for its end, behind that of its output; an error unless it ends with exit code 0.
    pub(crate) async fn ended(mut self) -> Result<(), Error> {
        let deadline = self.deadline;
        let status = match tokio::time::timeout_at(deadline, self.child.wait()).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => return Err(self.failed(&format!("it can't be waited for: {error}"))),
            // Its output is closed and it goes on; that says nothing.
            Err(_) => return self.in_time(std::future::pending()).await,
        };
        // What it has started goes with it.
        self.kill();
        self.group = None;
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok(()),
            (Some(code), _) => Err(self.with_its_words(&format!("it ended with exit code {code}")).await),
            (None, signal) => {
                let signal = signal.map_or("a signal".to_owned(), |signal| format!("signal {signal}"));
                Err(self.with_its_words(&format!("it was killed by {signal}")).await)
            }
        }
    }

    /// What to tell of a failure.
    pub(crate) fn failed(&self, what: &str) -> Error {
        Error::Program(format!("{}: {what}", self.shown))
    }

    /// What to tell of a failure, with the last lines of its standard error.
    async fn with_its_words(&mut self, what: &str) -> Error {
        let said = match self.said.take() {
            // Its group is gone, so this ends; if something that has left the group holds it open, it isn't waited for.
            Some(mut said) => {
                if let Ok(said) = tokio::time::timeout(Duration::from_secs(2), &mut said).await {
                    said.unwrap_or_default()
                } else {
                    said.abort();
                    Vec::new()
                }
            }
            None => Vec::new(),
        };
        let mut said = String::from_utf8_lossy(&said).into_owned();
        for secret in &self.secrets {
            said = said.replace(secret.as_str(), "***");
        }
        let lines: Vec<&str> = said.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        if last.is_empty() {
            return self.failed(&format!("{what}; it said nothing on its standard error"));
        }
        self.failed(&format!("{what}; its last words:\n  {}", last.join("\n  ")))
    }

    fn kill(&self) {
        if let Some(group) = self.group {
            // Whoever isn't there any more needs no signal.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The end of what is written to a standard error, which is read to its end so that nobody waits for us.
async fn tail(mut from: ChildStderr) -> Vec<u8> {
    let mut kept: VecDeque<u8> = VecDeque::new();
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        kept.extend(&buffer[..read]);
        kept.drain(..kept.len().saturating_sub(TAIL));
    }
    kept.into()
}
