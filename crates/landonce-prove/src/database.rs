//! The user's database and its clones: the seam between a proof and PostgreSQL, SQLite, MySQL or MariaDB.
//!
//! The source is only read. A [`Source`] makes one base copy of it (where `--setup` may write), and then any number of
//! fresh clones of that. Names of clones begin with `landonce_prove_`; they are dropped when their [`struct@Clone`] is discarded,
//! and what an earlier, killed proof has left is dropped by the next (if no one is connected to it, and its proof's lock is gone).
//!
//! `database/` has one folder a database, each with a `Source` and a `Clone` of the same methods.

#[cfg(feature = "mysql")]
mod mysql;
mod names;
mod postgres;
mod sqlite;
pub(crate) mod url;

use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::snapshot::{self, Snapshot};
pub(crate) use sqlite::path_of as sqlite_path;

/// How long sessions may take to go by themselves.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a server may take to end sessions that it was told to end: it rolls back what they did.
const LAST_PATIENCE: Duration = Duration::from_mins(2);

/// How often a server is asked whether they are gone.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Which database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL 14 or newer.
    Postgres,
    /// A SQLite file.
    Sqlite,
    /// MySQL or MariaDB.
    Mysql,
}

/// Where clones come from.
#[derive(Debug)]
pub struct Source(Sources);

#[derive(Debug)]
enum Sources {
    Postgres(postgres::Source),
    Sqlite(sqlite::Source),
    #[cfg(feature = "mysql")]
    Mysql(mysql::Source),
}

/// One fresh database.
#[derive(Debug)]
pub struct Clone(Clones);

#[derive(Debug)]
enum Clones {
    Postgres(postgres::Clone),
    Sqlite(sqlite::Clone),
    #[cfg(feature = "mysql")]
    Mysql(mysql::Clone),
}

impl Source {
    /// Reads the URL (`postgres://`, `sqlite:PATH` or a path, `mysql://`) and makes the base copy. `in_place` is a scratch
    /// database of PostgreSQL that may be emptied and overwritten where no database can be created: it takes one clone at
    /// a time, and [`Source::fresh`] fails while there is another.
    ///
    /// Fails when it can't be reached, read or copied, with advice; the message holds no secret.
    pub async fn open(url: &str, in_place: Option<&str>) -> Result<Self> {
        let kind = kind_of(url)?;
        if in_place.is_some() && kind != Kind::Postgres {
            return Err(Error::new(
                "`--in-place` is for PostgreSQL; other databases are proved in copies of their own",
            ));
        }
        Ok(Self(match kind {
            Kind::Postgres => Sources::Postgres(postgres::Source::open(url, in_place).await?),
            Kind::Sqlite => Sources::Sqlite(sqlite::Source::open(url).await?),
            #[cfg(feature = "mysql")]
            Kind::Mysql => Sources::Mysql(mysql::Source::open(url).await?),
            #[cfg(not(feature = "mysql"))]
            Kind::Mysql => {
                return Err(Error::new("this build knows no MySQL: build it with the feature `mysql`"));
            }
        }))
    }

    /// Which database it is.
    pub fn kind(&self) -> Kind {
        match &self.0 {
            Sources::Postgres(_) => Kind::Postgres,
            Sources::Sqlite(_) => Kind::Sqlite,
            #[cfg(feature = "mysql")]
            Sources::Mysql(_) => Kind::Mysql,
        }
    }

    /// Where it is, for people: no secret.
    pub fn place(&self) -> &str {
        match &self.0 {
            Sources::Postgres(source) => source.place(),
            Sources::Sqlite(source) => source.place(),
            #[cfg(feature = "mysql")]
            Sources::Mysql(source) => source.place(),
        }
    }

    /// The base copy's URL (direct), for `--setup`. With the password: never to be shown.
    pub fn base_url(&self) -> &str {
        match &self.0 {
            Sources::Postgres(source) => source.base_url(),
            Sources::Sqlite(source) => source.base_url(),
            #[cfg(feature = "mysql")]
            Sources::Mysql(source) => source.base_url(),
        }
    }

    /// In what the copy isn't as the source is, a sentence each: for the report.
    pub fn notes(&self) -> &[String] {
        match &self.0 {
            Sources::Postgres(source) => source.notes(),
            Sources::Sqlite(_) => &[],
            #[cfg(feature = "mysql")]
            Sources::Mysql(source) => source.notes(),
        }
    }

    /// A new database that is as the base is. Sessions that are still connected to the base are waited for, then ended.
    pub async fn fresh(&self) -> Result<Clone> {
        Ok(Clone(match &self.0 {
            Sources::Postgres(source) => Clones::Postgres(source.fresh().await?),
            Sources::Sqlite(source) => Clones::Sqlite(source.fresh().await?),
            #[cfg(feature = "mysql")]
            Sources::Mysql(source) => Clones::Mysql(source.fresh().await?),
        }))
    }

    /// Drops the base copy, and the clones that haven't been discarded: also right when a proof is interrupted.
    pub async fn close(self) -> Result<()> {
        match self.0 {
            Sources::Postgres(source) => source.close().await,
            Sources::Sqlite(source) => source.close(),
            #[cfg(feature = "mysql")]
            Sources::Mysql(source) => source.close().await,
        }
    }
}

impl Clone {
    /// The direct URL, password included: never to be shown.
    pub fn url(&self) -> &str {
        match &self.0 {
            Clones::Postgres(clone) => clone.url(),
            Clones::Sqlite(clone) => clone.url(),
            #[cfg(feature = "mysql")]
            Clones::Mysql(clone) => clone.url(),
        }
    }

    /// The file of a SQLite database; it needn't be there yet.
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Clones::Sqlite(clone) => Some(clone.path()),
            _ => None,
        }
    }

    /// Waits until no other session is connected and none of its work is going on; ends those that are left after ten
    /// seconds. For SQLite: until nobody holds the file's lock.
    pub async fn settle(&self) -> Result<()> {
        match &self.0 {
            Clones::Postgres(clone) => clone.settle().await,
            Clones::Sqlite(clone) => clone.settle().await,
            #[cfg(feature = "mysql")]
            Clones::Mysql(clone) => clone.settle().await,
        }
    }

    /// Whether a session of the clone waits for a lock that another session of the clone holds. SQLite can't tell: never.
    pub async fn is_blocked(&self) -> Result<bool> {
        match &self.0 {
            Clones::Postgres(clone) => clone.is_blocked().await,
            Clones::Sqlite(_) => Ok(false),
            #[cfg(feature = "mysql")]
            Clones::Mysql(clone) => clone.is_blocked().await,
        }
    }

    /// Reads everything into files in this folder (which exists and is empty).
    pub async fn snapshot(&self, folder: &Path) -> Result<Snapshot> {
        match &self.0 {
            Clones::Postgres(clone) => snapshot::postgres::read(clone.url(), folder).await,
            Clones::Sqlite(clone) => {
                let (file, folder) = (clone.path().to_owned(), folder.to_owned());
                tokio::task::spawn_blocking(move || snapshot::sqlite::read(&file, &folder))
                    .await
                    .map_err(|error| Error::because("a snapshot was given up", error))?
            }
            #[cfg(feature = "mysql")]
            Clones::Mysql(clone) => snapshot::mysql::read(clone.drivers_url(), folder).await,
        }
    }

    /// Drops it, whoever is connected, and what is prepared in it.
    pub async fn discard(self) -> Result<()> {
        match self.0 {
            Clones::Postgres(clone) => clone.discard().await,
            Clones::Sqlite(clone) => clone.discard(),
            #[cfg(feature = "mysql")]
            Clones::Mysql(clone) => clone.discard().await,
        }
    }
}

/// Which database a URL names.
fn kind_of(url: &str) -> Result<Kind> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.split('+').next().unwrap_or(scheme));
    match scheme {
        Some("postgres" | "postgresql") => Ok(Kind::Postgres),
        Some("mysql" | "mariadb") => Ok(Kind::Mysql),
        _ if sqlite_path(url).is_some() => Ok(Kind::Sqlite),
        _ => Err(Error::new(
            "the database's URL names none that can be proved: write postgres://user@host/database, sqlite:PATH or \
             mysql://user@host/database",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_its_database() {
        for (url, kind) in [
            ("postgres://h/x", Kind::Postgres),
            ("postgresql+psycopg://h/x", Kind::Postgres),
            ("mysql://h/x", Kind::Mysql),
            ("sqlite:x.db", Kind::Sqlite),
            ("data/x.db", Kind::Sqlite),
        ] {
            assert_eq!(kind_of(url).unwrap(), kind, "{url}");
        }
        for url in ["oracle://ann:hunter2@h/x", "host=h password=hunter2", ""] {
            assert!(!kind_of(url).unwrap_err().to_string().contains("hunter2"));
        }
    }
}
