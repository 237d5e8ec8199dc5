//! What a name or a text means by itself: a clock, chance, a run's id, a statement, a call that opens a transaction.
//!
//! Names that are about a database are in `names/database`, functions that are given to calls in `names/callback`.
//! It knows no syntax; the walks ask it about callees and constants of every host language.

mod callback;
mod database;

pub(super) use callback::{Callback, callback};
pub(super) use database::{
    assembles, is_connection, is_database, is_many, mentions_database, prepares, runs_prepared,
    takes_only_statements, takes_statement,
};

use super::Value;
use crate::words;

/// How sure it is that a text is SQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// It isn't.
    None,
    /// As an argument of a call that takes statements.
    Possible,
    /// Anywhere: `INSERT INTO` …, in capitals.
    Sure,
}

/// The last part of a callee: `insert` of `knex('t').insert`.
pub(super) fn last(callee: &str) -> &str {
    callee.rsplit(['.', ':']).next().unwrap_or(callee).trim_end_matches('!')
}

/// What a call gives by its name alone: the clock, or chance.
pub(super) fn result_of(callee: &str, arguments: usize) -> Option<Value> {
    let name = last(callee);
    let lower = callee.to_ascii_lowercase();
    let is_clock = match name {
        "now" | "Now" | "now_utc" | "now_local" | "currentTimeMillis" | "nanoTime" | "hrtime" | "UnixNow" => {
            callee.len() > name.len() || name == "now"
        }
        "Date" | "dayjs" | "moment" | "DateTime" => arguments == 0,
        "utc" | "local" => {
            arguments == 0
                && (lower.contains("moment") || lower.contains("dayjs") || lower.contains("datetime"))
        }
        "bigint" => lower.ends_with("hrtime.bigint"),
        "getInstance" => lower.ends_with("calendar.getinstance"),
        "instant" | "zonedDateTimeISO" | "plainDateISO" => lower.contains("temporal.now"),
        "today" => arguments == 0,
        _ => false,
    };
    if is_clock {
        return Some(Value::Clock);
    }
    let is_random = match name {
        "randomUUID"
        | "uuidv4"
        | "uuidv1"
        | "uuidv7"
        | "uuid4"
        | "uuid1"
        | "uuid7"
        | "nanoid"
        | "ulid"
        | "cuid"
        | "createId"
        | "randomBytes"
        | "random_bytes"
        | "getRandomValues"
        | "new_v4"
        | "now_v7"
        | "now_v1"
        | "NewRandom"
        | "NewV4"
        | "NewV7"
        | "NewUUID"
        | "randomUuid"
        | "randomInt"
        | "timeBasedEpoch"
        | "getTimeOrderedEpoch" => true,
        "uuid" | "v4" | "v7" | "v1" => arguments == 0,
        "random" => true,
        "New" | "NewString" | "Make" | "MustNew" => {
            ["uuid.", "ulid.", "ksuid.", "xid."].iter().any(|package| lower.contains(package))
        }
        "new" | "generate" | "from_datetime" => {
            ["ulid", "ksuid", "cuid"].iter().any(|kind| lower.contains(kind))
        }
        "Int" | "Intn" | "Int63" | "Int31n" | "Int64" | "Uint64" | "Float64" | "Read" | "IntN" => {
            lower.starts_with("rand.")
        }
        "nextInt" | "nextLong" | "nextDouble" | "nextBytes" | "gen_range" | "random_range" => {
            lower.contains('r')
        }
        _ => false,
    };
    is_random.then_some(Value::Random)
}

/// Whether a call only changes the form of its one argument, so that a clock's reading stays one.
pub(super) fn is_conversion(callee: &str) -> bool {
    matches!(
        last(callee),
        "String"
            | "Number"
            | "BigInt"
            | "Date"
            | "floor"
            | "round"
            | "trunc"
            | "valueOf"
            | "from"
            | "of"
            | "Some"
            | "Ok"
            | "toString"
            | "format"
            | "Must"
            | "string"
            | "int64"
            | "int"
            | "FormatInt"
            | "Itoa"
            | "Sprint"
            | "to_string"
            | "dayjs"
            | "moment"
            | "createHash"
            | "ofEpochMilli"
            | "Into"
            | "Box"
            | "into"
            | "new"
    )
}

/// Whether a method of a value gives the same thing in another form: `new Date().toISOString()`, `time.Now().UTC()`.
pub(super) fn keeps_meaning(method: &str) -> bool {
    let lower = method.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "tostring"
            | "format"
            | "slice"
            | "substring"
            | "split"
            | "valueof"
            | "utc"
            | "local"
            | "clone"
            | "into"
            | "unwrap"
            | "expect"
            | "trim"
            | "tolowercase"
            | "touppercase"
            | "replace"
            | "string"
            | "hex"
            | "as_str"
            | "to_owned"
            | "as_string"
            | "simple"
            | "hyphenated"
            | "truncate"
            | "add"
            | "adddate"
            | "sub"
            | "date"
            | "unix"
            | "unixmilli"
            | "unixnano"
            | "unixmicro"
            | "year"
            | "month"
            | "day"
            | "gettime"
            | "json"
            | "naive_utc"
            | "date_naive"
            | "timestamp"
            | "timestamp_millis"
            | "duration_since"
            | "as_secs"
            | "as_millis"
            | "startof"
            | "endof"
            | "subtract"
            | "minus"
            | "plus"
            | "truncatedto"
            | "as_bytes"
            | "to_vec"
            | "at"
            | "bytes"
    ) || [
        "toiso",
        "tolocale",
        "to_rfc",
        "to_iso",
        "get",
        "minus",
        "plus",
        "to_string",
        "toepoch",
        "toinstant",
        "with",
        "tojson",
        "todate",
        "tolocal",
        "atzone",
        "atstart",
    ]
    .iter()
    .any(|prefix| lower.starts_with(prefix))
}

/// Whether a name says that it is a run's: `run_id`, `batchId`, `ctx.jobRunId`, `RUN_ID`.
pub(super) fn is_run_id(name: &str) -> bool {
    if words::is_run_id(&name.to_ascii_lowercase()) {
        return true;
    }
    // `jobRunId`, `RUN_UUID`: the words run together.
    let plain: String =
        last(name).chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let endings =
        ["runid", "batchid", "executionid", "invocationid", "jobid", "runuuid", "attemptid", "runnumber"];
    plain.len() < 24 && endings.iter().any(|known| plain.ends_with(known))
}

/// Whether a call only tells people something: a statement in its text isn't run.
pub(super) fn only_tells(callee: &str) -> bool {
    let lower = callee.to_ascii_lowercase();
    let root = lower.split(['.', ':', '(']).next().unwrap_or_default();
    let name = last(&lower);
    matches!(
        root,
        "console" | "log" | "logger" | "logging" | "winston" | "slog" | "tracing" | "assert" | "errors" | "t"
    ) || matches!(
        name,
        "println"
            | "print"
            | "printf"
            | "eprintln"
            | "eprint"
            | "panic"
            | "errorf"
            | "error"
            | "warn"
            | "info"
            | "debug"
            | "trace"
            | "describe"
            | "it"
            | "test"
            | "bail"
            | "anyhow"
            | "ensure"
            | "expect"
            | "tobe"
            | "toequal"
            | "fatalf"
            | "startswith"
            | "starts_with"
            | "includes"
            | "contains"
            | "indexof"
            | "hasprefix"
            | "equals"
            | "tomatch"
            | "assert_eq"
            | "assert_ne"
            | "unreachable"
            | "todo"
            | "split"
            | "replace"
            | "test_name"
            | "assertequals"
            | "equal"
            | "assertthat"
            | "concat_idents"
            | "logf"
            | "skip"
            | "exception"
    ) || lower.starts_with("assert")
        || lower.ends_with("error")
        || lower.ends_with("exception")
}

/// Whether a text is a statement.
pub(super) fn likeness(text: &str) -> Likeness {
    let text = without_comments(text);
    let mut words = text.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return Likeness::None };
    let first = first.trim_end_matches(';');
    if !first.is_ascii() || first.len() > 10 {
        return Likeness::None;
    }
    let second = words.next().unwrap_or_default();
    let second = second.trim_end_matches(';').to_ascii_uppercase();
    let has_third = words.next().is_some();
    let verb = first.to_ascii_uppercase();
    let is_statement = match verb.as_str() {
        "INSERT" => matches!(second.as_str(), "INTO" | "IGNORE" | "OR" | "OVERWRITE"),
        "UPDATE" => {
            has_third && holds(text, "SET") || second.is_empty() && text.ends_with(char::is_whitespace)
        }
        "DELETE" => second == "FROM",
        "MERGE" | "REPLACE" => second == "INTO",
        "TRUNCATE" => !second.is_empty(),
        "COPY" => has_third && (holds(text, "FROM") || holds(text, "TO")),
        "CREATE" | "ALTER" | "DROP" => {
            has_third
                && matches!(
                    second.as_str(),
                    "TABLE"
                        | "UNIQUE"
                        | "INDEX"
                        | "TEMP"
                        | "TEMPORARY"
                        | "UNLOGGED"
                        | "OR"
                        | "MATERIALIZED"
                        | "VIEW"
                        | "SCHEMA"
                        | "EXTENSION"
                        | "FUNCTION"
                        | "TYPE"
                        | "SEQUENCE"
                        | "TRIGGER"
                        | "DATABASE"
                )
        }
        "SELECT" => {
            !second.is_empty()
                && (holds(text, "FROM")
                    || text.contains('(')
                    || second.starts_with(|c: char| c.is_ascii_digit()))
        }
        "WITH" => has_third && holds(text, "AS") && text.contains('('),
        "BEGIN" | "COMMIT" | "ROLLBACK" | "END" | "START" | "SAVEPOINT" | "RELEASE" | "LOCK" | "SET"
        | "CALL" | "PRAGMA" | "VACUUM" | "ANALYZE" | "NOTIFY" | "LISTEN" | "EXPLAIN" | "SHOW" | "PREPARE"
        | "REFRESH" => {
            return Likeness::Possible;
        }
        _ => false,
    };
    match is_statement {
        false => Likeness::None,
        true if first == verb => Likeness::Sure,
        true => Likeness::Possible,
    }
}

/// Whether a word stands in a text, in any case.
fn holds(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|found| found.eq_ignore_ascii_case(word))
}

fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    loop {
        let after = if rest.starts_with("--") {
            rest.split_once('\n').map_or("", |(_, after)| after)
        } else if rest.starts_with("/*") {
            rest.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return rest;
        };
        rest = after.trim_start();
    }
}
