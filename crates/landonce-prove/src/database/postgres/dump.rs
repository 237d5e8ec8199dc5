//! pg_dump and pg_restore, for a database that can't be copied by the server itself.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::database::url::Url;
use crate::error::{Error, Result};

/// Writes a database into a file.
pub(super) async fn dump(url: &Url, file: &Path) -> Result<()> {
    let program = program("pg_dump")?;
    let mut command = Command::new(program);
    // A subscription in the clone would take what is meant for the source.
    command
        .args(["--format=custom", "--compress=0", "--no-password", "--no-subscriptions"])
        .arg("--file")
        .arg(file);
    let (is_success, said) = run(command, url).await?;
    if is_success {
        return Ok(());
    }
    Err(Error::new(format!("pg_dump could not read {}: {}", url.place(), shortened(&said))))
}

/// Fills an empty database from a file. Owners are kept where we may give things away.
pub(super) async fn restore(url: &Url, file: &Path, is_superuser: bool) -> Result<()> {
    let program = program("pg_restore")?;
    let mut command = Command::new(program);
    command.args(["--format=custom", "--no-password", "--dbname", ""]).arg(file);
    if !is_superuser {
        command.arg("--no-owner");
    }
    let (is_success, said) = run(command, url).await?;
    // An extension that a superuser has made is no one else's to describe: nothing that a pipeline could notice.
    let is_harmless = |line: &str| line.contains("must be owner of extension");
    let errors = || said.lines().filter(|line| line.contains("error:"));
    if is_success || (errors().count() > 0 && errors().all(is_harmless)) {
        return Ok(());
    }
    Err(Error::new(format!("pg_restore could not fill the copy at {}: {}", url.place(), shortened(&said))))
}

/// Whether both programs are at hand.
pub(super) fn is_at_hand() -> bool {
    program("pg_dump").is_ok() && program("pg_restore").is_ok()
}

async fn run(mut command: Command, url: &Url) -> Result<(bool, String)> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
        command.env_remove(variable);
    }
    // Never as arguments: everybody on the machine could read them.
    let port = url.port.map(|port| port.to_string());
    for (variable, value) in [
        ("PGHOST", url.host.as_deref()),
        ("PGPORT", port.as_deref()),
        ("PGUSER", url.user.as_deref()),
        ("PGPASSWORD", url.password.as_deref()),
        ("PGDATABASE", url.database.as_deref()),
        ("PGSSLMODE", url.parameter("sslmode")),
        ("PGSSLROOTCERT", url.parameter("sslrootcert")),
        ("PGOPTIONS", url.parameter("options")),
        ("LC_ALL", Some("C")),
    ] {
        if let Some(value) = value {
            command.env(variable, value);
        }
    }
    let output = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| Error::because(format!("cannot run {name}"), error))?;
    Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// From PATH, else the newest where Debian and Homebrew keep them.
fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    versions.sort_by_key(|path| {
        let version = path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
        std::cmp::Reverse(version)
    });
    folders.extend(versions.into_iter().map(|version| version.join("bin")));
    folders.push(PathBuf::from("/opt/homebrew/opt/libpq/bin"));
    folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file()).ok_or_else(|| {
        Error::new(format!(
            "{name} isn't on this machine: install PostgreSQL's client programs (postgresql-client)"
        ))
    })
}

fn shortened(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(4).collect();
    lines.join("; ").chars().take(600).collect()
}
