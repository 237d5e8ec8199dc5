//! Rows of a MySQL or MariaDB query, in one read-only transaction that sees one moment, in a session whose zone is UTC.

use landonce_core::json::Tape;
use landonce_core::pipeline::QueryFeed;
use landonce_core::spec::QueryTypeSpec;
use landonce_core::time;
use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable as _;
use mysql_async::{Column, Conn, Opts, OptsBuilder, Params, Value};

use super::bound::{self, Bound};
use super::mark::Mark;
use super::reader::{Failure, Rows};
use super::row::{Cell, Columns, Row, double};
use crate::error::Error;

/// What a session is set to before it reads. The last one begins the transaction.
const SETTINGS: [&str; 4] = [
    "SET time_zone = '+00:00'",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET SESSION TRANSACTION READ ONLY",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
];
/// The character set of what are bytes and no text.
const BINARY: u16 = 63;

/// Where it is, for people.
pub(super) fn place(url: &str) -> Result<String, Error> {
    let opts = options(url)?;
    let mut place = format!("{}:{}", opts.ip_or_hostname(), opts.tcp_port());
    for (what, name) in [("database", opts.db_name()), ("user", opts.user())] {
        if let Some(name) = name {
            place.push_str(&format!(", {what} `{name}`"));
        }
    }
    Ok(place)
}

fn options(url: &str) -> Result<Opts, Error> {
    let url = url.strip_prefix("mariadb://").map_or_else(|| url.to_owned(), |rest| format!("mysql://{rest}"));
    // The driver's words may hold a part of the URL.
    let opts = Opts::from_url(&url).map_err(|_| {
        Error::Declared(
            "source.query.url: it can't be read; mysql://user:password@host:3306/database is due, `@`, `:` and `/` in a password \
             written as %40, %3A and %2F"
                .to_owned(),
        )
    })?;
    // A socket that the server tells of may be out of reach.
    Ok(OptsBuilder::from_opts(opts).prefer_socket(false).into())
}

/// Reads all rows.
pub(super) async fn read(url: String, feed: QueryFeed, since: Option<Bound>, rows: Rows) {
    let mut session = None;
    let ended = tokio::select! {
        ended = rows_of(&url, &feed, since.as_ref(), &rows, &mut session) => ended,
        () = rows.closed() => {
            // The server would work on until it had something to say.
            if let (Some(id), Ok(opts)) = (session, options(&url))
                && let Ok(mut conn) = Conn::new(opts).await
            {
                let _ = conn.query_drop(format!("KILL QUERY {id}")).await;
                let _ = conn.disconnect().await;
            }
            return;
        }
    };
    // Nobody listening is no fault.
    let _ = rows.send(ended.map(|()| None)).await;
}

async fn rows_of(
    url: &str,
    feed: &QueryFeed,
    since: Option<&Bound>,
    to: &Rows,
    session: &mut Option<u32>,
) -> Result<(), Failure> {
    let place = place(url)?;
    let failed = |error: mysql_async::Error| explained(&place, &error);
    let mut conn = Conn::new(options(url)?).await.map_err(failed)?;
    *session = Some(conn.id());
    for setting in SETTINGS {
        conn.query_drop(setting).await.map_err(failed)?;
    }
    let values = bound::values(feed, since).into_iter().map(value).collect::<Result<Vec<_>, _>>()?;
    let statement = conn.prep(feed.sql(|_| "?".to_owned())).await.map_err(failed)?;
    let names = statement.columns().iter().map(|column| column.name_str().into_owned()).collect();
    let columns = Columns::new(feed, names)?;
    for (at, column) in statement.columns().iter().enumerate() {
        if column.column_type() == ColumnType::MYSQL_TYPE_GEOMETRY {
            return Err(Error::Declared(format!(
                "source.query.sql: column `{name}` is a geometry; write ST_AsGeoJSON({name}) AS {name}, and `types: {{{name}: json}}`",
                name = columns.name(at)
            ))
            .into());
        }
    }
    let params = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
    let mut found = conn.exec_iter(&statement, params).await.map_err(failed)?;
    let metas = found.columns_ref().to_vec();
    let mut tape = Tape::default();
    while let Some(row) = found.next().await.map_err(failed)? {
        let values = row.unwrap_raw();
        let cells = values.iter().zip(&metas).enumerate().map(|(at, (value, meta))| {
            cell(value.as_ref().unwrap_or(&Value::NULL), meta, columns.declared(at))
        });
        let text = columns.record(cells, &mut tape);
        let mark = match columns.since() {
            None => None,
            Some(at) => mark(values[at].as_ref().unwrap_or(&Value::NULL), &metas[at])
                .map_err(|why| Error::Unreadable(format!("{place}: source.query.since.column: {why}")))?,
        };
        if to.send(Ok(Some(Row { text, mark }))).await.is_err() {
            return Ok(());
        }
    }
    drop(found);
    // All has been read; how the session ends is of no account.
    let _ = conn.disconnect().await;
    Ok(())
}

fn cell<'v>(value: &'v Value, meta: &Column, declared: Option<QueryTypeSpec>) -> Cell<'v> {
    match value {
        Value::NULL => Cell::Null,
        Value::Int(number) => Cell::Number(number.to_string()),
        Value::UInt(number) => Cell::Number(number.to_string()),
        Value::Float(number) if number.is_finite() => Cell::Number(format!("{number:?}")),
        Value::Float(number) => double((*number).into()),
        Value::Double(number) => double(*number),
        Value::Date(..) | Value::Time(..) => Cell::Owned(moment(value, meta)),
        Value::Bytes(bytes) => match meta.column_type() {
            ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL => {
                Cell::Number(decimal(bytes))
            }
            ColumnType::MYSQL_TYPE_BIT => Cell::Number(bits(bytes)),
            ColumnType::MYSQL_TYPE_JSON => Cell::Json(bytes),
            // MariaDB's JSON functions and casts give texts that say of themselves that they are bytes.
            _ if meta.character_set() == BINARY && declared.is_none() => Cell::Bytes(bytes),
            _ => Cell::Text(bytes),
        },
    }
}

/// A decimal as JSON writes it: ZEROFILL columns have zeros in front.
fn decimal(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let (sign, digits) = text.strip_prefix('-').map_or(("", &*text), |digits| ("-", digits));
    let digits = digits.trim_start_matches('0');
    let zero = if digits.is_empty() || digits.starts_with('.') { "0" } else { "" };
    format!("{sign}{zero}{digits}")
}

fn bits(bytes: &[u8]) -> String {
    bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)).to_string()
}

/// A date or time as it is: also `0000-00-00`, which no date column takes.
fn moment(value: &Value, meta: &Column) -> String {
    let fraction = |micros: u32| if micros == 0 { String::new() } else { format!(".{micros:06}") };
    match *value {
        Value::Date(year, month, day, hour, minute, second, micros) => {
            let date = format!("{year:04}-{month:02}-{day:02}");
            match meta.column_type() {
                ColumnType::MYSQL_TYPE_DATE | ColumnType::MYSQL_TYPE_NEWDATE => date,
                ty => {
                    // TIMESTAMP is an instant, and the session's zone is UTC; DATETIME is a civil time.
                    let is_instant =
                        matches!(ty, ColumnType::MYSQL_TYPE_TIMESTAMP | ColumnType::MYSQL_TYPE_TIMESTAMP2);
                    let zone = if is_instant { "Z" } else { "" };
                    format!("{date}T{hour:02}:{minute:02}:{second:02}{}{zone}", fraction(micros))
                }
            }
        }
        Value::Time(is_negative, days, hours, minutes, seconds, micros) => {
            let sign = if is_negative { "-" } else { "" };
            let hours = u64::from(days) * 24 + u64::from(hours);
            format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{}", fraction(micros))
        }
        _ => String::new(),
    }
}

fn mark(value: &Value, meta: &Column) -> Result<Option<Mark>, String> {
    match value {
        Value::NULL => Ok(None),
        Value::Int(number) => Ok(Some(Mark::Number((*number).into()))),
        Value::UInt(number) => Ok(Some(Mark::Number((*number).into()))),
        Value::Date(..) => {
            let text = moment(value, meta);
            Mark::time(text.strip_suffix('Z').unwrap_or(&text)).map(Some)
        }
        Value::Bytes(bytes)
            if matches!(
                meta.column_type(),
                ColumnType::MYSQL_TYPE_DECIMAL | ColumnType::MYSQL_TYPE_NEWDECIMAL
            ) =>
        {
            Mark::number(&decimal(bytes)).map(Some)
        }
        _ => Err("its type has no order that is known here: make a datetime, a date or a whole number of it"
            .to_owned()),
    }
}

/// A value to be bound. An instant becomes what the session calls it, since a text behind which `Z` stands isn't a time everywhere; a
/// number is one, since a text beside a number is compared as a double.
fn value(bound: Bound) -> Result<Value, Error> {
    Ok(match bound {
        Bound::Number(number) => match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => Value::Int(number),
            (_, Ok(number)) => Value::UInt(number),
            _ => return Err(Error::Declared(format!("source.query: {number} is beyond 64 bits"))),
        },
        Bound::Text(text) => match time::timestamptz(&text) {
            Ok(micros) => {
                let mut civil = String::new();
                time::write_timestamp(micros, &mut civil);
                Value::Bytes(civil.replacen('T', " ", 1).into_bytes())
            }
            Err(_) => Value::Bytes(text.into_bytes()),
        },
    })
}

fn explained(place: &str, error: &mysql_async::Error) -> Failure {
    match error {
        mysql_async::Error::Server(server) => {
            let told = format!("{place}: {} ({}, {})", server.message, server.code, server.state);
            match server.code {
                // Too many connections, a server that stops, a connection that was killed, a deadlock.
                1040 | 1053 | 1205 | 1213 | 1927 => Error::Away(told).into(),
                1792 => Error::Refused(format!(
                    "{told}; the database is only read: write nothing in `source.query.sql`"
                ))
                .into(),
                _ => Error::Refused(told).into(),
            }
        }
        mysql_async::Error::Io(error) => Error::Away(format!("{place}: {error}")).into(),
        mysql_async::Error::Driver(error) => match error {
            mysql_async::DriverError::ConnectionClosed => Error::Away(format!("{place}: {error}")).into(),
            _ => Error::Refused(format!("{place}: {error}")).into(),
        },
        other => Error::Refused(format!("{place}: {other}")).into(),
    }
}
