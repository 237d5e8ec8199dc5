//! What a PostgreSQL URL leaves out, as libpq fills it: from the environment and the password file.

use std::path::PathBuf;

use crate::database::url::Url;
use crate::error::{Error, Result};

/// Reads a URL and completes it.
pub(super) fn read(text: &str) -> Result<Url> {
    read_with(text, |name| std::env::var(name).ok().filter(|value| !value.is_empty()), password_file)
}

fn read_with(
    text: &str,
    environment: impl Fn(&str) -> Option<String>,
    password_file: impl FnOnce() -> Option<String>,
) -> Result<Url> {
    let mut url = Url::parse(text)?;
    // `postgresql+psycopg`: SQLAlchemy's way of naming a driver, which nobody else reads.
    if let Some((scheme, _)) = url.scheme.split_once('+') {
        url.scheme = scheme.to_owned();
    }
    url.host = url.host.or_else(|| environment("PGHOST"));
    if url.host.as_ref().is_some_and(|host| host.contains(',')) {
        return Err(Error::new("PGHOST names several hosts; name the one to prove against in the URL"));
    }
    if url.port.is_none()
        && let Some(port) = environment("PGPORT")
    {
        url.port = Some(port.parse().map_err(|_| Error::new("PGPORT is no port number"))?);
    }
    url.user = url.user.or_else(|| environment("PGUSER"));
    url.password = url.password.or_else(|| environment("PGPASSWORD"));
    url.database = url.database.or_else(|| environment("PGDATABASE"));
    for (parameter, variable) in [("sslmode", "PGSSLMODE"), ("sslrootcert", "PGSSLROOTCERT")] {
        if url.parameter(parameter).is_none()
            && let Some(value) = environment(variable)
        {
            url.query.push((parameter.to_owned(), value));
        }
    }
    if url.password.is_none()
        && let Some(file) = password_file()
    {
        url.password = password_of(&url, &file);
    }
    url.host.get_or_insert_with(|| "localhost".to_owned());
    Ok(url)
}

/// The contents of `PGPASSFILE` or `~/.pgpass`.
fn password_file() -> Option<String> {
    let named = std::env::var_os("PGPASSFILE").map(PathBuf::from);
    let file = named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass")))?;
    std::fs::read_to_string(file).ok()
}

/// The first line that fits: `host:port:database:user:password`, `*` fits all, `\` escapes.
fn password_of(url: &Url, file: &str) -> Option<String> {
    let host = url.host.as_deref().filter(|host| !host.starts_with('/')).unwrap_or("localhost");
    let port = url.port.unwrap_or(5432).to_string();
    let user = url.user.clone().or_else(|| std::env::var("USER").ok())?;
    let database = url.database.as_deref().unwrap_or(&user);
    file.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [of_host, of_port, of_database, of_user, password] = <[String; 5]>::try_from(fields).ok()?;
        let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        (fits(&of_host, host)
            && fits(&of_port, &port)
            && fits(&of_database, database)
            && fits(&of_user, &user))
        .then_some(password)
    })
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            '\\' => field.extend(chars.next()),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_in(text: &str, environment: &[(&str, &str)], file: Option<&str>) -> String {
        let value = |name: &str| {
            environment.iter().find(|(has, _)| *has == name).map(|(_, value)| (*value).to_owned())
        };
        read_with(text, value, || file.map(str::to_owned)).unwrap().to_text()
    }

    #[test]
    fn the_environment_fills_what_the_url_leaves_out() {
        let environment = [
            ("PGHOST", "db"),
            ("PGPORT", "6432"),
            ("PGUSER", "ann"),
            ("PGPASSWORD", "p"),
            ("PGSSLMODE", "require"),
        ];
        assert_eq!(
            read_in("postgres:///shop", &environment, None),
            "postgres://ann:p@db:6432/shop?sslmode=require"
        );
        assert_eq!(
            read_in("postgresql+psycopg://bob:q@h:1/x?sslmode=disable", &environment, None),
            "postgresql://bob:q@h:1/x?sslmode=disable"
        );
        assert_eq!(read_in("postgres:///x", &[], None), "postgres://localhost/x");
    }

    #[test]
    fn the_password_file_is_read_as_libpq_reads_it() {
        let file = "# mine\nother:*:*:*:no\nh:5432:*:ann:a\\:b:c\n*:*:*:*:last\n";
        assert_eq!(read_in("postgres://ann@h/x", &[], Some(file)), "postgres://ann:a%3Ab%3Ac@h/x");
        assert_eq!(read_in("postgres://bob@h/x", &[], Some(file)), "postgres://bob:last@h/x");
    }
}
