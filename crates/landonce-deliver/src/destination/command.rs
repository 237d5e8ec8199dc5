//! A command that takes a message on its standard input: started anew for each, without a shell.
//!
//! Its exit code is its answer. What it runs as, and what it starts, is one process group, which ends at the time limit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::join;
use landonce_store::outbox::Parcel;
use rustix::process::{Pid, Signal, kill_process_group};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command as Process};
use tokio::time::timeout;

use super::told;
use super::{Answer, Destination, Sending};
use crate::environment::Environment;
use crate::error::Fault;
use crate::policy::some_time;
use crate::veil::Veil;

/// By `sysexits.h`: the input is at fault.
const EX_DATAERR: i32 = 65;
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long what a command has said is awaited once it has ended: something that it has started may hold the pipe open.
const GRACE: Duration = Duration::from_millis(200);
/// How much of what it says is kept.
const HEARD: usize = 4_096;

/// A command that takes a message on its standard input.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandSpec {
    /// The program and its arguments: no shell reads them. A program with a `/` in its name is relative to this file; others are
    /// looked for in `PATH`.
    pub run: Vec<String>,
    /// The longest that it may take; `30s` when left out. Then it is killed, with all that it has started.
    #[serde(default)]
    pub timeout: Option<String>,
    /// Variables beside those that `landonce deliver` itself has. `${NAME}` is taken from the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl CommandSpec {
    /// The destination. `folder` is that of the file; the command runs there.
    ///
    /// # Errors
    /// A key whose value can't be.
    pub fn open(&self, folder: &Path, environment: Environment<'_>) -> Result<Command, Fault> {
        let Some((program, arguments)) = self.run.split_first().filter(|(program, _)| !program.is_empty())
        else {
            return Err(Fault::new("run", "it names no program; write `[program, argument, …]`"));
        };
        let folder = std::path::absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
            .map_err(|error| Fault::new("run", format!("the folder of the file can't be told: {error}")))?;
        let mut env = BTreeMap::new();
        let secrets = RefCell::new(Vec::new());
        let noted = |name: &str| {
            let value = environment.look_up(name)?;
            secrets.borrow_mut().push(value.clone());
            Some(value)
        };
        for (name, text) in &self.env {
            let key = format!("env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(Fault::new(key, "that is no name of a variable"));
            }
            if name.starts_with("LANDONCE_") {
                return Err(Fault::new(
                    key,
                    "variables that begin with `LANDONCE_` are landonce's own; choose another name",
                ));
            }
            let value = Environment::new(&noted).expand(&key, text)?;
            env.insert(name.clone(), value);
        }
        let secrets = secrets.take();
        Ok(Command {
            program: if program.contains('/') { folder.join(program).into() } else { program.into() },
            arguments: arguments.to_vec(),
            folder,
            timeout: some_time("timeout", self.timeout.as_deref(), TIMEOUT)?,
            env,
            veil: Veil::new(secrets.iter().map(String::as_str)),
            of_file: Arc::default(),
        })
    }
}

/// A command, ready to be started.
pub struct Command {
    program: OsString,
    arguments: Vec<String>,
    folder: PathBuf,
    timeout: Duration,
    env: BTreeMap<String, String>,
    /// Values from the environment, which a command may repeat in what it says.
    veil: Veil,
    /// Those of the whole delivery file, which it may have inherited; filled in when all of the file is read.
    of_file: Arc<OnceLock<Veil>>,
}

impl std::fmt::Debug for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments and variables may hold secrets.
        f.debug_struct("Command").field("program", &self.program).finish_non_exhaustive()
    }
}

impl Destination for Command {
    fn limit(&self) -> Duration {
        self.timeout + Duration::from_secs(1)
    }

    fn send<'a>(&'a self, parcels: &'a [Parcel]) -> Sending<'a> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(parcels.len());
            for parcel in parcels {
                answers.push(self.hand(parcel).await);
            }
            answers
        })
    }
}

impl Command {
    /// With what else it may not be quoted with: it has our environment, and so the secrets of all the file.
    pub(crate) fn hiding(self, of_file: Arc<OnceLock<Veil>>) -> Self {
        Self { of_file, ..self }
    }

    async fn hand(&self, parcel: &Parcel) -> Answer {
        let started = Process::new(&self.program)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .envs(&self.env)
            .env("LANDONCE_MESSAGE_ID", parcel.id.to_string())
            .env("LANDONCE_TOPIC", &parcel.topic)
            .env("LANDONCE_KIND", &parcel.kind)
            .env("LANDONCE_ENTITY", &parcel.entity)
            .env("LANDONCE_ATTEMPT", parcel.attempts.saturating_add(1).to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => return self.not_started(&error),
        };
        let mut group = Group::of(&child);
        let mut said = Vec::new();
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let ended = timeout(self.timeout, async {
            let mut talk =
                std::pin::pin!(join(feed(stdin, parcel.payload.as_bytes()), listen(stderr, &mut said)));
            tokio::select! {
                ended = child.wait() => {
                    // It has ended; whether it has read all, or others still hold its pipes, is no longer of interest.
                    let _ = timeout(GRACE, &mut talk).await;
                    ended
                }
                _ = &mut talk => child.wait().await,
            }
        })
        .await;
        match ended {
            Ok(Ok(status)) => {
                // What it has left running on purpose stays.
                group.forget();
                self.answer(status, &said)
            }
            Ok(Err(error)) => Answer::later(format!("its end can't be told: {error}")),
            Err(_) => {
                group.kill();
                // It can't refuse to end; this only takes it off the list of processes.
                let _ = child.wait().await;
                Answer::later(format!("no end within {:?}; killed", self.timeout))
            }
        }
    }

    fn not_started(&self, error: &std::io::Error) -> Answer {
        let told = format!("`{}` can't be started: {error}", self.program.display());
        match error.kind() {
            // A variable with a NUL, or one too long for any process: so is every later attempt's.
            ErrorKind::InvalidInput | ErrorKind::ArgumentListTooLong => Answer::Never { told },
            _ => Answer::later_for_all(told),
        }
    }

    fn answer(&self, status: ExitStatus, said: &[u8]) -> Answer {
        let mut told = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, signal) => format!("killed by signal {}", signal.unwrap_or_default()),
        };
        let said = match told::first_line(said, &self.veil) {
            told if told == told::HIDDEN => told,
            told => self.of_file.get().map_or(told, |veil| told::first_line(said, veil)),
        };
        if !said.is_empty() {
            told = format!("{told}: {said}");
        }
        match status.code() {
            Some(0) => Answer::Taken { told },
            Some(EX_DATAERR) => Answer::Never { told },
            // EX_TEMPFAIL (75), and whatever a program says that knows nothing of these codes.
            _ => Answer::later(told),
        }
    }
}

/// Writes the payload and closes the pipe. A command that doesn't read it has its reasons.
async fn feed(stdin: Option<ChildStdin>, payload: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(payload).await;
        let _ = stdin.shutdown().await;
    }
}

/// Reads to the end, so that the command never waits for us, and keeps the beginning.
async fn listen(stderr: Option<impl AsyncRead + Unpin>, said: &mut Vec<u8>) {
    let Some(mut stderr) = stderr else { return };
    let mut piece = [0; 4_096];
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        let kept = read.min(HEARD - said.len());
        said.extend_from_slice(&piece[..kept]);
    }
}

/// The command's process group. Killed when it is dropped, as when nobody waits for the command any longer.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id.cast_signed())))
    }

    fn forget(&mut self) {
        self.0 = None;
    }

    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            // It may have ended by itself meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
