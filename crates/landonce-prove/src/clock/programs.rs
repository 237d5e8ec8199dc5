//! The programs of a PostgreSQL server on this machine, and how they are run: with a limit, as another user when we are root.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// The programs that we need in one folder.
const NEEDED: [&str; 6] = ["initdb", "pg_ctl", "postgres", "pg_dump", "pg_restore", "psql"];

/// How long a program may take to say which version it is.
const TO_SPEAK: Duration = Duration::from_secs(20);

/// The subfolders whose names pass.
pub(super) fn folders_in(folder: &str, passes: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(&passes))
        .collect();
    found.sort();
    found
}

/// The folder with the programs of the lowest major version that is at least this; in words why there is none.
pub(super) async fn find(major: u32) -> Result<PathBuf, String> {
    let mut best: Option<(u32, PathBuf)> = None;
    let mut seen = Vec::new();
    for folder in candidates().await {
        if !NEEDED.iter().all(|name| folder.join(name).is_file()) {
            continue;
        }
        let Some(found) = version(&folder.join("postgres")).await else { continue };
        seen.push(found.to_string());
        if found >= major && best.as_ref().is_none_or(|(best, _)| found < *best) {
            best = Some((found, folder));
        }
    }
    best.map(|(_, folder)| folder).ok_or_else(|| {
        let have = if seen.is_empty() { "none was found".to_owned() } else { format!("found: {}", seen.join(", ")) };
        format!("a server of PostgreSQL {major} or later (initdb, pg_ctl, pg_dump) is needed on this machine; {have}")
    })
}

async fn candidates() -> Vec<PathBuf> {
    if let Some(chosen) = std::env::var_os("LANDONCE_POSTGRES_BIN") {
        return vec![PathBuf::from(chosen)];
    }
    let mut folders = Vec::new();
    if let Ok(said) = output(Command::new("pg_config").arg("--bindir"), TO_SPEAK, "pg_config").await {
        folders.push(PathBuf::from(said.trim()));
    }
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    for (parent, start) in [
        ("/usr/lib/postgresql", ""),
        ("/usr", "pgsql-"),
        ("/opt/homebrew/opt", "postgresql@"),
        ("/usr/local/opt", "postgresql@"),
    ] {
        folders.extend(
            folders_in(parent, |name| name.starts_with(start)).into_iter().map(|path| path.join("bin")),
        );
    }
    folders
}

async fn version(postgres: &Path) -> Option<u32> {
    // postgres (PostgreSQL) 15.4 (Debian 15.4-1)
    let said = output(Command::new(postgres).arg("--version"), TO_SPEAK, "postgres").await.ok()?;
    let number = said.split_whitespace().nth(2)?;
    number.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Who runs the server: PostgreSQL refuses to be root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Owner {
    /// `postgres`, else `nobody`, when we are root; `None` when we can do it ourselves.
    pub(super) async fn choose() -> Result<Option<Self>, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        for name in ["postgres", "nobody"] {
            if let (Some(user), Some(group)) = (id("-u", name).await, id("-g", name).await) {
                return Ok(Some(Self { user, group }));
            }
        }
        Err("PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`".into())
    }
}

async fn id(what: &str, name: &str) -> Option<u32> {
    output(Command::new("id").args([what, name]), TO_SPEAK, "id").await.ok()?.trim().parse().ok()
}

/// The words that make a command run as this owner, and then the command.
pub(super) fn as_owner(owner: Option<&Owner>, program: &Path) -> Vec<std::ffi::OsString> {
    let mut words = Vec::new();
    if let Some(owner) = owner {
        words.push("setpriv".into());
        words.push(format!("--reuid={}", owner.user).into());
        words.push(format!("--regid={}", owner.group).into());
        words.extend(["--clear-groups".into(), "--".into()]);
    }
    words.push(program.as_os_str().to_owned());
    words
}

/// What a program says on stdout; in words why it failed, with the end of what it said on stderr. Killed after so long.
pub(super) async fn output(command: &mut Command, limit: Duration, what: &str) -> Result<String, String> {
    let child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn();
    let child = child.map_err(|error| format!("{what} could not be started: {error}"))?;
    let Ok(ended) = tokio::time::timeout(limit, child.wait_with_output()).await else {
        return Err(format!("{what} took longer than {} s", limit.as_secs()));
    };
    let ended = ended.map_err(|error| format!("{what} could not be waited for: {error}"))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    Err(format!("{what} failed ({}): {}", ended.status, lines[lines.len().saturating_sub(5)..].join(" / ")))
}
