//! The variables of a run: the clone in the usual places, and none that would lead past it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::Setting;
use super::arguments::{Moved, redirected, url_for_command};
use crate::database::sqlite_path;
use crate::database::url::Url;
use crate::error::Result;

/// libpq's variables that would turn a connection away from the clone, or make it fail at the proxy.
const LIBPQ: &[&str] = &[
    "PGHOST",
    "PGHOSTADDR",
    "PGPORT",
    "PGDATABASE",
    "PGUSER",
    "PGPASSWORD",
    "PGPASSFILE",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PGSSLMODE",
    "PGREQUIRESSL",
    "PGSSLNEGOTIATION",
    "PGSSLCOMPRESSION",
    "PGSSLCERT",
    "PGSSLKEY",
    "PGSSLCERTMODE",
    "PGSSLROOTCERT",
    "PGSSLCRL",
    "PGSSLCRLDIR",
    "PGSSLSNI",
    "PGSSLMINPROTOCOLVERSION",
    "PGSSLMAXPROTOCOLVERSION",
    "PGREQUIREPEER",
    "PGREQUIREAUTH",
    "PGCHANNELBINDING",
    "PGGSSENCMODE",
    "PGKRBSRVNAME",
    "PGGSSLIB",
    "PGTARGETSESSIONATTRS",
    "PGLOADBALANCEHOSTS",
];

/// The same of MySQL's and MariaDB's clients, and of the images that take their settings from variables.
const MYSQL: &[&str] = &[
    "MYSQL_HOST",
    "MYSQL_TCP_PORT",
    "MYSQL_UNIX_PORT",
    "MYSQL_PWD",
    "MYSQL_PORT",
    "MYSQL_USER",
    "MYSQL_PASSWORD",
    "MYSQL_DATABASE",
    "MYSQL_URL",
];

/// What a variable becomes: set, or taken away.
pub(super) type Variables = Vec<(OsString, Option<OsString>)>;

/// The folders of a trial that variables name.
pub(super) struct Folders<'a> {
    pub(super) work: &'a Path,
    pub(super) home: &'a Path,
    pub(super) temporary: &'a Path,
    pub(super) state: &'a Path,
}

/// The variables that a run has other than we have; later ones count.
pub(super) fn variables(setting: &Setting, folders: &Folders<'_>, moved: &Moved) -> Result<Variables> {
    let mut variables: Variables = Vec::new();
    for (name, value) in std::env::vars_os() {
        let now = moved.apply(&redirected(&value, setting, moved));
        if now != value {
            variables.push((name, Some(now)));
        }
    }
    let mut set = |name: &str, value: &OsStr| variables.push((name.into(), Some(value.to_owned())));
    set("HOME", folders.home.as_os_str());
    set("PWD", folders.work.as_os_str());
    for name in ["TMPDIR", "TMP", "TEMP"] {
        set(name, folders.temporary.as_os_str());
    }
    set("XDG_STATE_HOME", folders.state.as_os_str());
    // As root dlt keeps its state outside of HOME.
    set("DLT_DATA_DIR", folders.home.join(".dlt").as_os_str());
    variables.push(("OLDPWD".into(), None));
    variables.push(("DATABASE_URL".into(), Some(url_for_command(setting).into())));
    variables.extend(database(&setting.url)?);
    variables.extend(setting.without.iter().map(|name| (name.clone(), None)));
    variables.extend(setting.environment.iter().map(|(name, value)| (name.clone(), Some(value.clone()))));
    Ok(variables)
}

/// The parts of the URL.
fn database(url: &str) -> Result<Variables> {
    let mut variables: Variables = Vec::new();
    if sqlite_path(url).is_some() {
        return Ok(variables);
    }
    let parts = Url::parse(url)?;
    let is_mysql = parts.scheme.starts_with("mysql") || parts.scheme.starts_with("mariadb");
    variables.extend(if is_mysql { MYSQL } else { LIBPQ }.iter().map(|name| ((*name).into(), None)));
    let mut set = |name: &str, value: Option<&str>| {
        variables.extend(value.map(|value| (name.into(), Some(value.into()))));
    };
    let host = Some(parts.host.as_deref().unwrap_or("localhost"));
    let port = parts.port.map(|port| port.to_string());
    if is_mysql {
        for name in ["MYSQL_TCP_PORT", "MYSQL_PORT"] {
            set(name, Some(port.as_deref().unwrap_or("3306")));
        }
        for name in ["MYSQL_PWD", "MYSQL_PASSWORD"] {
            set(name, parts.password.as_deref());
        }
        set("MYSQL_HOST", host);
        set("MYSQL_USER", parts.user.as_deref());
        set("MYSQL_DATABASE", parts.database.as_deref());
    } else {
        set("PGHOST", host);
        set("PGPORT", Some(port.as_deref().unwrap_or("5432")));
        set("PGUSER", parts.user.as_deref());
        set("PGPASSWORD", parts.password.as_deref());
        set("PGDATABASE", parts.database.as_deref());
        set("PGSSLMODE", parts.parameter("sslmode"));
        set("PGSSLROOTCERT", parts.parameter("sslrootcert"));
        // Asked for first by libpq where there are Kerberos credentials; a proxy speaks none.
        set("PGGSSENCMODE", Some("disable"));
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Vec<String> {
        let shown = |(name, value): (OsString, Option<OsString>)| {
            Some(format!("{}={}", name.to_string_lossy(), value?.to_string_lossy()))
        };
        database(url).unwrap().into_iter().filter_map(shown).collect()
    }

    #[test]
    fn a_database_is_in_the_usual_variables() {
        assert_eq!(
            of("postgres://ann:p%40@127.0.0.1:6000/shop?sslmode=disable"),
            [
                "PGHOST=127.0.0.1",
                "PGPORT=6000",
                "PGUSER=ann",
                "PGPASSWORD=p@",
                "PGDATABASE=shop",
                "PGSSLMODE=disable",
                "PGGSSENCMODE=disable"
            ]
        );
        assert!(of("mysql://root@h/x").contains(&"MYSQL_TCP_PORT=3306".to_owned()));
        assert!(of("sqlite:////t/x.db").is_empty());
    }

    #[test]
    fn what_would_lead_past_the_clone_is_taken_away() {
        let variables = database("postgres://ann@127.0.0.1:6000/shop").unwrap();
        for name in ["PGSERVICE", "PGHOSTADDR", "PGPASSFILE", "PGPASSWORD"] {
            let last = variables.iter().rev().find(|(has, _)| has == name);
            assert_eq!(last.map(|(_, value)| value.is_none()), Some(true), "{name}");
        }
    }
}
