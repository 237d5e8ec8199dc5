//! A folder of one's own to run the program in, and what it said as one text with everything that changes filtered out.

use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use snapbox::Redactions;

/// Three real departures, with the fields of a duty event.
pub(crate) const EVENTS: &str = "\
{\"flight_id\":\"B6-739-JFK-2013-03-03\",\"event_kind\":\"scheduled_departure\",\"instant_utc\":\"2013-03-03T04:55:00Z\",\"gate\":\"7\"}
{\"flight_id\":\"B6-739-JFK-2013-03-03\",\"event_kind\":\"scheduled_arrival\",\"instant_utc\":\"2013-03-03T08:39:00Z\",\"gate\":\"2\"}
{\"flight_id\":\"UA-1714-LGA-2013-03-03\",\"event_kind\":\"scheduled_departure\",\"instant_utc\":\"2013-03-03T10:29:00Z\",\"gate\":\"B4\"}
";

/// The flags that declare their pipeline.
pub(crate) const FLAGS: [&str; 4] = ["--into", "duty_event", "--key", "flight_id,event_kind,instant_utc"];

/// A temporary folder.
pub(crate) struct Folder(tempfile::TempDir);

/// What a run of the program left.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with the events in it.
    pub(crate) fn with_events() -> Self {
        let folder = Self::new();
        folder.write("events.ndjson", EVENTS);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The program, to be run in this folder with nothing of the caller's settings.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landonce"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        for name in [
            "LANDONCE_STORE",
            "LANDONCE_STORE_FILE",
            "LANDONCE_LOG",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "PGPASSWORD",
        ] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args))
    }

    /// `run`, with the flags that declare the events' pipeline behind it.
    pub(crate) fn with_flags(&self, args: &[&str]) -> Ran {
        self.run(&[args, &FLAGS].concat())
    }

    pub(crate) fn run_with_stdin(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        Ran::from_output(&child.wait_with_output().unwrap())
    }

    /// The names of all files.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Ran {
    pub(crate) fn of(mut command: Command) -> Self {
        Self::from_output(&command.output().unwrap())
    }

    pub(crate) fn from_output(output: &std::process::Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}

/// The one list of what changes from run to run.
fn filters() -> Redactions {
    let mut filters = Redactions::new();
    let mut filter = |name: &'static str, pattern: &str| {
        filters.insert(name, regex::Regex::new(pattern).unwrap()).unwrap();
    };
    filter("[RUN]", r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    filter("[TIME]", r"20[2-9][0-9]-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}(\.[0-9]+Z)?");
    filter("[TOOK]", r"\b([0-9]+ ms|[0-9]+\.[0-9]{2} s)\b");
    filter("[MS]", r#""elapsed_ms": (?<redacted>[0-9]+)"#);
    filters
}

/// Holds what the program said against a snapshot (`SNAPSHOTS=overwrite` writes it anew).
#[track_caller]
pub(crate) fn said(ran: &Ran, expected: impl snapbox::IntoData) {
    snapbox::Assert::new()
        .action_env("SNAPSHOTS")
        .redact_with(filters())
        .normalize_paths(false)
        .eq(ran.to_string(), expected);
}
