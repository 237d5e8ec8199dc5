//! A private PostgreSQL server whose clock can be moved: its cluster, its start and stop, copies of databases.
//!
//! Listens on a free port of 127.0.0.1, with a password of its own: it holds copies of the user's data. A shell that waits
//! for the end of its standard input stops the server and removes the cluster: the kernel closes that pipe whatever ends us.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rand::RngExt;
use tokio::process::Command;

use super::programs::{self, Owner, as_owner, output};
use crate::error::{Error, Result};

/// How long a cluster may take to be made, a server to start or to stop.
const TO_START: Duration = Duration::from_mins(3);
/// How long a statement of ours may take.
const TO_ANSWER: Duration = Duration::from_mins(1);
/// How long a dump or its restore may take.
const TO_COPY: Duration = Duration::from_hours(1);
/// How many ports are tried.
const PORTS: usize = 5;

/// What stops the server and removes its cluster. `$1` is the cluster's folder, the rest is how to call pg_ctl.
const CLEANER: &str = r#"
trap '' HUP INT TERM
while read -r _; do :; done
folder=$1
shift
[ ! -f "$folder/data/postmaster.pid" ] || "$@" -D "$folder/data" -m immediate -s -w stop >/dev/null 2>&1 </dev/null
cd / && rm -rf "$folder"
"#;

/// A private PostgreSQL server whose clock can be ahead. Stopped and removed when dropped.
#[derive(Debug)]
pub struct Server {
    programs: PathBuf,
    owner: Option<Owner>,
    folder: PathBuf,
    password: String,
    port: u16,
    copies: std::sync::atomic::AtomicU32,
    cleaner: Child,
}

impl Server {
    /// Makes a cluster with the binaries of this machine (LANDONCE_POSTGRES_BIN, `pg_config --bindir`, the usual places) of
    /// at least the given major version, as another user when we are root; why there is no server, where there are no
    /// binaries or they don't work. Its clock is right until [`Server::set_ahead`].
    ///
    /// Fails only when not even a temporary folder can be had.
    pub async fn start(major: u32) -> Result<std::result::Result<Self, String>> {
        let programs = match programs::find(major).await {
            Ok(programs) => programs,
            Err(why) => return Ok(Err(why)),
        };
        let owner = match Owner::choose().await {
            Ok(owner) => owner,
            Err(why) => return Ok(Err(why)),
        };
        let mut server = Self::new(programs, owner).map_err(|source| {
            Error::because("could not make a folder for a private PostgreSQL server", source)
        })?;
        Ok(match server.begin().await {
            Ok(()) => Ok(server),
            Err(why) => Err(why),
        })
    }

    fn new(programs: PathBuf, owner: Option<Owner>) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("landonce-clock.").tempdir()?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))?;
        let cleaner = std::process::Command::new("sh")
            .args(["-c", CLEANER, "landonce-clock"])
            .arg(folder.path())
            .args(as_owner(owner.as_ref(), &programs.join("pg_ctl")))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for us; it ends when we have.
            .process_group(0)
            .spawn()?;
        // From here on it's the cleaner's.
        let folder = folder.keep();
        let password = hex::encode(rand::rng().random::<[u8; 16]>());
        let copies = std::sync::atomic::AtomicU32::new(0);
        Ok(Self { programs, owner, folder, password, port: 0, copies, cleaner })
    }

    async fn begin(&mut self) -> Result<(), String> {
        let secret = self.folder.join("password");
        let data = self.folder.join("data");
        let write = |file: &Path, text: &str| {
            std::fs::write(file, text)?;
            self.owner.as_ref().map_or(Ok(()), |owner| chown(file, Some(owner.user), Some(owner.group)))
        };
        let failed =
            |error: std::io::Error| format!("a private PostgreSQL server could not be set up: {error}");
        write(&secret, &self.password).map_err(failed)?;
        if let Some(owner) = &self.owner {
            chown(&self.folder, Some(owner.user), Some(owner.group)).map_err(failed)?;
        }
        let mut initdb = self.command("initdb", &[]);
        initdb.arg("-D").arg(&data).args(["-U", "postgres", "-E", "UTF8", "--locale=C", "-N"]);
        initdb.args(["--auth-local=trust", "--auth-host=scram-sha-256"]);
        initdb.arg(format!("--pwfile={}", secret.display()));
        output(&mut initdb, TO_START, "initdb").await?;
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nmax_connections = 100\n\
             max_prepared_transactions = 20\nfsync = off\nsynchronous_commit = off\nfull_page_writes = off\n\
             max_wal_size = 2GB\ntimezone = 'UTC'\nlc_messages = 'C'\n",
            self.folder.display()
        );
        let file = data.join("postgresql.auto.conf");
        write(&file, &settings).map_err(failed)?;
        self.start_server(&[]).await
    }

    /// Starts the server on a port that is free, with these variables.
    async fn start_server(&mut self, variables: &[(OsString, OsString)]) -> Result<(), String> {
        let mut why = String::new();
        for _ in 0..PORTS {
            // Below the range from which the kernel hands out ports; whoever is there already makes us take the next. The
            // first port is kept over restarts.
            if self.port == 0 {
                self.port = rand::rng().random_range(20_000..32_000);
            }
            let mut start = self.command("pg_ctl", variables);
            start.arg("-D").arg(self.folder.join("data")).arg("-l").arg(self.folder.join("server.log"));
            start.arg("-o").arg(format!("-p {}", self.port)).args(["-s", "-w", "-t", "120", "start"]);
            match output(&mut start, TO_START, "pg_ctl start").await {
                Ok(_) => return Ok(()),
                Err(error) => why = error,
            }
            self.port = 0;
        }
        let log = std::fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
        let last = log.lines().last().unwrap_or_default();
        Err(format!("a private PostgreSQL server did not start: {why}; its log ends: {last}"))
    }

    /// A program of the server as its owner. The variables are set after the change of user: libfaketime shares memory with
    /// the processes that it starts, and another user could not open it.
    fn command(&self, program: &str, variables: &[(OsString, OsString)]) -> Command {
        let program = self.programs.join(program);
        let mut words = if variables.is_empty() {
            as_owner(self.owner.as_ref(), &program)
        } else {
            let mut words = as_owner(self.owner.as_ref(), Path::new("env"));
            words.extend(variables.iter().map(|(name, value)| {
                let mut word = name.clone();
                word.push("=");
                word.push(value);
                word
            }));
            words.push(program.into());
            words
        }
        .into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.folder).env_remove("PGDATA").env_remove("PGPORT");
        command
    }

    /// A program that connects to a server. It runs as ourselves, with nothing of the user's settings for PostgreSQL.
    fn client(&self, program: &str, password: Option<&str>) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.env("PGCONNECT_TIMEOUT", "30").env("PGAPPNAME", "landonce prove");
        if let Some(password) = password {
            command.env("PGPASSWORD", password);
        }
        command
    }

    async fn ask(&self, url: &str, password: Option<&str>, sql: &str) -> Result<String, String> {
        let mut psql = self.client("psql", password);
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql]);
        Ok(output(&mut psql, TO_ANSWER, "psql").await?.trim().to_owned())
    }

    /// A database here, without its password: command lines can be seen by all.
    fn url_without_password(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Restores a dump of the database at this URL (pg_dump; every object belongs to the cluster's one user, nobody is
    /// granted anything), and gives its URL here. Each call makes another database.
    ///
    /// Fails when the database can't be dumped, or needs what this server hasn't got (extensions, roles named in policies).
    pub async fn copy_of(&self, url: &str) -> Result<String> {
        let number = self.copies.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("copy_{number}");
        self.copy(url, &name).await.map_err(|why| {
            Error::new(format!("the database could not be copied to the private server: {why}"))
        })?;
        Ok(format!("postgres://postgres:{}@127.0.0.1:{}/{name}", self.password, self.port))
    }

    async fn copy(&self, url: &str, name: &str) -> Result<(), String> {
        let (url, password) = without_password(url);
        let theirs = password.as_deref();
        let (admin, target) = (self.url_without_password("postgres"), self.url_without_password(name));
        let settings = "SELECT current_setting('server_encoding') || ' ' || current_setting('TimeZone')";
        let settings = self.ask(&url, theirs, settings).await?;
        let (encoding, zone) = settings.split_once(' ').unwrap_or(("UTF8", "UTC"));
        let (encoding, zone) = (encoding.replace('\'', "''"), zone.replace('\'', "''"));
        let create = format!(r#"CREATE DATABASE "{name}" TEMPLATE template0 ENCODING '{encoding}'"#);
        self.ask(&admin, Some(&self.password), &create).await?;
        let set = format!(r#"ALTER DATABASE "{name}" SET timezone TO '{zone}'"#);
        self.ask(&admin, Some(&self.password), &set).await?;
        let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        let dump = folder.path().join("dump");
        let mut pg_dump = self.client("pg_dump", theirs);
        pg_dump.args(["-Fc", "-Z1", "--no-owner", "--no-privileges", "-d", &url, "-f"]).arg(&dump);
        output(&mut pg_dump, TO_COPY, "pg_dump").await?;
        let mut restore = self.client("pg_restore", Some(&self.password));
        restore.args(["--no-owner", "--no-privileges", "--exit-on-error", "-d", &target]).arg(&dump);
        output(&mut restore, TO_COPY, "pg_restore").await?;
        Ok(())
    }

    /// Stops it and starts it again with its clock ahead by so much; URLs stay good, connections are cut.
    ///
    /// Fails when it doesn't start with this library, or the library moves no clock.
    pub async fn set_ahead(&mut self, ahead: Duration, library: &Path) -> Result<()> {
        self.restart(ahead, library)
            .await
            .map_err(|why| Error::new(format!("the private server's clock could not be moved: {why}")))
    }

    async fn restart(&mut self, ahead: Duration, library: &Path) -> Result<(), String> {
        let mut stop = self.command("pg_ctl", &[]);
        stop.arg("-D").arg(self.folder.join("data")).args(["-m", "fast", "-s", "-w", "-t", "120", "stop"]);
        output(&mut stop, TO_START, "pg_ctl stop").await?;
        let variables = super::environment(library, ahead);
        let port = self.port;
        self.start_server(&variables).await?;
        if self.port != port {
            return Err("its port was taken while it was down".into());
        }
        let url = self.url_without_password("postgres");
        let theirs = self.ask(&url, Some(&self.password), "SELECT extract(epoch FROM now())::bigint").await?;
        let theirs: u64 = theirs.parse().map_err(|_| format!("its time is `{theirs}`"))?;
        let ours = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        // A minute for a slow machine.
        if theirs.abs_diff(ours + ahead.as_secs()) > 60 {
            return Err(format!("{} has no effect on this server", library.display()));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input tells the cleaner; waiting for it lets whoever looks next find nothing.
        drop(self.cleaner.stdin.take());
        let _ = self.cleaner.wait();
    }
}

/// A URL without its password (in the user's part, or a parameter), and the password.
fn without_password(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else { return (url.to_owned(), None) };
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let mut password = None;
    let authority_end = rest.find('/').unwrap_or(rest.len());
    let mut result = match rest[..authority_end].rsplit_once('@') {
        Some((user, host)) => {
            let (user, secret) =
                user.split_once(':').map_or((user, None), |(user, secret)| (user, Some(secret)));
            password = secret.map(decoded);
            format!("{scheme}://{user}@{host}{}", &rest[authority_end..])
        }
        None => format!("{scheme}://{rest}"),
    };
    let mut separator = '?';
    for parameter in query.iter().flat_map(|query| query.split('&')) {
        if let Some(secret) = parameter.strip_prefix("password=") {
            password = Some(decoded(secret));
        } else {
            result.push(separator);
            result.push_str(parameter);
            separator = '&';
        }
    }
    (result, password)
}

/// Without percent-encoding.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn a_password_is_taken_out_of_a_url_wherever_it_stands() {
        for (url, expected, password) in [
            ("postgres://u@h:1/d", "postgres://u@h:1/d", None),
            ("postgres://u:p%40%2F@h/d?sslmode=disable", "postgres://u@h/d?sslmode=disable", Some("p@/")),
            ("postgresql:///d?host=/tmp&password=x&port=5", "postgresql:///d?host=/tmp&port=5", Some("x")),
            ("postgres://h", "postgres://h", None),
        ] {
            assert_eq!(without_password(url), (expected.to_owned(), password.map(str::to_owned)));
        }
    }
}
