//! Rows of a PostgreSQL query. The server itself makes JSON of them, by each type's own output, so nothing is lost on the way; all of a
//! query is read in one transaction that can't write, and sees one moment.

use bytes::BytesMut;
use futures_util::{StreamExt as _, pin_mut};
use landonce_core::pipeline::QueryFeed;
use landonce_core::spec::QueryTypeSpec;
use landonce_store::postgres::Database;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{IsolationLevel, Statement};

use super::bound::{self, Bound};
use super::mark::Mark;
use super::reader::{Failure, Rows};
use super::row::{Columns, Row};
use crate::error::Error;

/// What all of a query's texts are written by, for this transaction alone.
const SETTINGS: &str = "SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL IntervalStyle = 'postgres'; \
                        SET LOCAL extra_float_digits = 1; SET LOCAL idle_in_transaction_session_timeout = 0";

/// Rows that are asked for at a time: what a connection that nobody reads from any more still has to get.
const STEP: i32 = 1024;

/// Where it is, for people.
pub(super) fn place(url: &str) -> Result<String, Error> {
    Ok(database(url)?.place().to_owned())
}

fn database(url: &str) -> Result<Database, Error> {
    Database::from_url(url).map_err(|error| Error::Declared(format!("source.query.url: {error}")))
}

/// Reads all rows.
pub(super) async fn read(url: String, feed: QueryFeed, since: Option<Bound>, rows: Rows) {
    let ended = tokio::select! {
        ended = rows_of(&url, &feed, since.as_ref(), &rows) => ended,
        // Nobody listens any more. Dropping the connection ends the query, since the server looks for us while it works.
        () = rows.closed() => return,
    };
    // Nobody listening is no fault.
    let _ = rows.send(ended.map(|()| None)).await;
}

async fn rows_of(url: &str, feed: &QueryFeed, since: Option<&Bound>, to: &Rows) -> Result<(), Failure> {
    let database = database(url)?;
    let place = database.place();
    let mut client = database.client().await.map_err(|error| {
        let is_away = matches!(&error.code, landonce_core::retry::Code::SqlState(state) if is_away(state));
        let told = format!("{place}: {error}");
        Failure::from(if is_away { Error::Away(told) } else { Error::Refused(told) })
    })?;
    // Not every server can; then a query that nobody wants any more works on until it has something to say.
    let _ = client.batch_execute("SET client_connection_check_interval = '5s'").await;
    let failed = |error: tokio_postgres::Error| explained(place, &error);
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = transaction.start().await.map_err(failed)?;
    transaction.batch_execute(SETTINGS).await.map_err(failed)?;
    let mut count = 0;
    let sql = feed.sql(|_| {
        count += 1;
        format!("${count}")
    });
    let asked = transaction.prepare(&sql).await.map_err(failed)?;
    let columns =
        Columns::new(feed, asked.columns().iter().map(|column| column.name().to_owned()).collect())?;
    let growing = columns.since().map(|at| growing(asked.columns()[at].type_())).transpose()?;
    let wrapped = wrapped(&sql, &asked, &columns);
    let statement = transaction.prepare(&wrapped).await.map_err(failed)?;
    let values = bound::values(feed, since).into_iter().map(|value| Text(value.to_text()));
    let values: Vec<Text> = values.collect();
    let portal = transaction.bind_raw(&statement, &values).await.map_err(failed)?;
    loop {
        let stream = transaction.query_portal_raw(&portal, STEP).await.map_err(failed)?;
        pin_mut!(stream);
        let mut read = 0;
        while let Some(row) = stream.next().await {
            let row = row.map_err(failed)?;
            read += 1;
            let text: &str = row.try_get(0).map_err(failed)?;
            let mark = match growing {
                None => None,
                Some(kind) => {
                    let value: Option<&str> = row.try_get(1).map_err(failed)?;
                    value.map(kind).transpose().map_err(|why| {
                        Error::Unreadable(format!("{place}: source.query.since.column: {why}"))
                    })?
                }
            };
            if to.send(Ok(Some(Row { text: Ok(text.as_bytes().to_vec()), mark }))).await.is_err() {
                return Ok(());
            }
        }
        if read < STEP {
            return Ok(());
        }
    }
}

/// How a value of the growing column is read.
type Growing = fn(&str) -> Result<Mark, String>;

fn growing(ty: &Type) -> Result<Growing, Error> {
    match *ty {
        Type::TIMESTAMPTZ | Type::TIMESTAMP | Type::DATE => Ok(Mark::time),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::NUMERIC | Type::OID => Ok(Mark::number),
        // Its order is that of its bytes, and so is that of its text.
        Type::UUID => Ok(|text| Ok(Mark::Text(text.to_owned()))),
        _ => Err(Error::Declared(format!(
            "source.query.since.column: it is of type {ty}, whose order isn't known here: make a timestamp, a date, a whole number, a \
             numeric or a uuid of it"
        ))),
    }
}

/// The query, with JSON made of its rows by the server, and the growing column beside it.
fn wrapped(sql: &str, asked: &Statement, columns: &Columns) -> String {
    let (mut names, mut fields) = (Vec::new(), Vec::new());
    for (at, column) in asked.columns().iter().enumerate() {
        names.push(format!("c{at}"));
        let value = match (columns.declared(at), column.type_()) {
            (Some(QueryTypeSpec::Json), _) => format!("q.c{at}::json"),
            (Some(QueryTypeSpec::Boolean), _) => format!("q.c{at}::boolean"),
            (None, &Type::BYTEA) => format!("replace(encode(q.c{at}, 'base64'), E'\\n', '')"),
            (None, _) => format!("q.c{at}"),
        };
        fields.push(format!("{value} AS \"{}\"", column.name().replace('"', "\"\"")));
    }
    let mark = columns.since().map_or(String::new(), |at| format!(", q.c{at}::text"));
    // A comment may stand at the query's end.
    format!(
        "SELECT row_to_json(r)::text{mark} FROM (\n{sql}\n) AS q({}) CROSS JOIN LATERAL (SELECT {}) AS r",
        names.join(", "),
        fields.join(", ")
    )
}

/// A value as its text, which the server reads as whatever type the query wants there.
#[derive(Debug)]
struct Text(String);

impl ToSql for Text {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

/// Classes and codes that pass: no connection, a server that stops or starts, too many connections, a snapshot that couldn't be kept.
fn is_away(state: &str) -> bool {
    state.starts_with("08") || matches!(state, "57P01" | "57P02" | "57P03" | "53300" | "40001" | "40P01")
}

fn explained(place: &str, error: &tokio_postgres::Error) -> Failure {
    let Some(db) = error.as_db_error() else {
        let words = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        let told = format!("{place}: {words}");
        let is_lost = error.is_closed() || words != error.to_string();
        return Failure::from(if is_lost { Error::Away(told) } else { Error::Refused(told) });
    };
    let mut told = format!("{place}: {} ({})", db.message(), db.code().code());
    for more in [db.detail(), db.hint()].into_iter().flatten() {
        told.push_str(&format!("; {more}"));
    }
    match db.code().code() {
        state if is_away(state) => Error::Away(told).into(),
        "25006" => {
            Error::Refused(format!("{told}; the database is only read: write nothing in `source.query.sql`"))
                .into()
        }
        "42P18" => Error::Refused(format!("{told}; say which, as in `{{since}}::timestamptz`")).into(),
        _ => Error::Refused(told).into(),
    }
}
