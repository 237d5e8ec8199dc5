//! A process group of ours: begun, stopped for a while, waited for, killed whole, and reaped.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

use super::environment::Variables;
use super::output::{Secrets, Tail};
use super::strays::Mark;
use crate::error::{Error, Result};

/// How long we watch the rest of a killed group go. Orphans that nobody reaps look alive for ever.
const PATIENCE: Duration = Duration::from_millis(500);

/// A run that is going on: its process group. Dropping it kills the group.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// The leader's process id, which is the group's.
    group: Option<Pid>,
    stdout: Tail,
    stderr: Tail,
    secrets: Secrets,
    mark: Mark,
    started: Instant,
    /// Known once the leader is reaped.
    end: Option<(ExitStatus, Duration)>,
}

/// How a run ended.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Ended {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// The signal.
    pub signal: Option<i32>,
    /// Whether it was ours because it took too long.
    pub is_timed_out: bool,
    /// How long it took.
    pub took: Duration,
    /// The last 4 KiB of stdout and of stderr, secrets of the URL blotted out.
    pub stdout: String,
    /// See `stdout`.
    pub stderr: String,
}

impl Ended {
    /// Whether the command says that all went well: exit code 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

/// Starts a command in a folder. The words are never empty.
pub(super) fn start(
    words: &[OsString],
    folder: &Path,
    variables: &Variables,
    secrets: Secrets,
) -> Result<Running> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Error::new("there is no command to run: write it behind `--`"));
    };
    // A relative path is one in the folder that the command works in; a bare name is found by PATH.
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let path = if is_path { folder.join(program) } else { PathBuf::from(program) };
    let mut command = Command::new(&path);
    command.args(arguments).current_dir(folder);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mark = Mark::new();
    let (name, value) = mark.variable();
    command
        .env(name, value)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child =
        command.spawn().map_err(|error| not_started(&program.to_string_lossy(), is_path, folder, error))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Error::new("the command's output can't be read"));
    };
    Ok(Running {
        child,
        group,
        stdout: Tail::of(stdout),
        stderr: Tail::of(stderr),
        secrets,
        mark,
        started: Instant::now(),
        end: None,
    })
}

fn not_started(program: &str, is_path: bool, folder: &Path, error: std::io::Error) -> Error {
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    let place = folder.display();
    let why = match error.kind() {
        NotFound if is_path && folder.join(program).exists() => {
            "its interpreter (the first line, `#!`) isn't there".to_owned()
        }
        NotFound if is_path => {
            format!("there is no such file; it was looked for in {place}, a copy of your folder")
        }
        NotFound => "no folder of PATH has it; activate its environment, or give its path".to_owned(),
        PermissionDenied => "it may not be executed: `chmod +x` it, or name its interpreter".to_owned(),
        _ => "the system refused".to_owned(),
    };
    Error::because(format!("cannot run the command `{program}`: {why}"), error)
}

impl Running {
    /// Waits for its end; kills it after so long. The rest of its group is killed when its first process has ended. Can be
    /// given up and asked again.
    pub async fn ended(&mut self, limit: Duration) -> Result<Ended> {
        let in_time = tokio::time::timeout(limit, self.reap()).await;
        let is_timed_out = in_time.is_err();
        if let Ok(reaped) = in_time {
            reaped?;
        } else {
            self.kill();
            self.reap().await?;
        }
        let Some((status, took)) = self.end else {
            return Err(Error::new("the command's end can't be told"));
        };
        self.watch_group_go().await;
        Ok(Ended {
            code: status.code(),
            signal: status.signal(),
            is_timed_out,
            took,
            stdout: self.stdout.end(&self.secrets).await,
            stderr: self.stderr.end(&self.secrets).await,
        })
    }

    /// Its end, if that comes within so long; otherwise it goes on.
    pub async fn ended_within(&mut self, limit: Duration) -> Result<Option<Ended>> {
        match tokio::time::timeout(limit, self.reap()).await {
            Ok(reaped) => {
                reaped?;
                self.ended(limit).await.map(Some)
            }
            Err(_) => Ok(None),
        }
    }

    async fn reap(&mut self) -> Result<()> {
        if self.end.is_none() {
            let status = self
                .child
                .wait()
                .await
                .map_err(|error| Error::because("the command can't be waited for", error))?;
            self.end = Some((status, self.started.elapsed()));
            self.kill();
        }
        Ok(())
    }

    /// A killed process is gone a moment later, and until then its files and sockets are open.
    async fn watch_group_go(&mut self) {
        let Some(group) = self.group.take() else { return };
        let gone = async {
            while test_kill_process_group(group).is_ok() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, gone).await;
    }

    /// SIGKILL to the whole group, and to what has left it (see `strays.rs`).
    pub fn kill(&self) {
        if self.group.is_some() {
            self.signal(Signal::KILL);
            self.mark.kill();
        }
    }

    /// SIGSTOP and SIGCONT to the whole group.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// See [`Running::pause`].
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// What stops or kills the group from another thread, at once. None when it is gone.
    pub(crate) fn group(&self) -> Option<Group> {
        self.group.map(Group)
    }

    /// To nobody once the group is gone: its number may be another's by then.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Whoever isn't there needs no signal.
            let _ = kill_process_group(group, signal);
        }
    }
}

/// The process group of a run. It is for the time of the run only: later its number may be another's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group(Pid);

impl Group {
    /// SIGKILL. What has left the group is [`Running::kill`]'s.
    pub(crate) fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// SIGSTOP.
    pub(crate) fn pause(self) {
        let _ = kill_process_group(self.0, Signal::STOP);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
