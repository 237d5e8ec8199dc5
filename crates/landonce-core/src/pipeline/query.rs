//! A query to another database, as it is meant: its SQL with places for values, and how a run goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Pipeline;
use super::apply::skipped;
use super::check::{Checked, fault};
use super::feed::Fill;
use crate::period::Period;
use crate::spec::{QuerySpec, QueryTypeSpec, SinceSpec};

/// How long a database may be silent.
const SILENCE: Duration = Duration::from_mins(10);

/// A query to another database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryFeed {
    /// Where to ask, with `${NAME}` still in it.
    pub url: String,
    /// The query's parts, in order.
    pub pieces: Vec<QueryPiece>,
    /// Where a run goes on, if it doesn't read all.
    pub since: Option<Since>,
    /// Columns that are something else than their database says.
    pub types: BTreeMap<String, QueryTypeSpec>,
    /// The longest that the database may be silent.
    pub silence: Duration,
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryPiece {
    /// SQL as it was written.
    Sql(String),
    /// The value of `{since}`.
    Since,
    /// The period's value for a placeholder; the placeholder itself, as long as no period is given.
    Period(String),
}

/// Where a run of a query goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// The query's column that grows.
    pub column: String,
    /// The value of the first run.
    pub start: String,
    /// How far below the highest value a run begins.
    pub overlap: Overlap,
    /// The rows come in the column's order.
    pub is_ordered: bool,
}

/// How far below the highest value a run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// At the value itself.
    None,
    /// So long before it.
    Time(Duration),
    /// So many below it.
    Number(u64),
}

/// What a query may begin with.
const VERBS: [&str; 4] = ["select", "with", "values", "table"];

impl QueryFeed {
    /// Reads what is declared.
    pub(super) fn new(spec: QuerySpec) -> Checked<Self> {
        let pieces = pieces(&spec.sql)?;
        let uses_since = pieces.contains(&QueryPiece::Since);
        let since = match (spec.since, uses_since) {
            (Some(since), true) => Some(resolve(since)?),
            (None, false) => None,
            (Some(_), false) => {
                return fault(
                    "source.query.sql",
                    "doesn't say where to go on: put `WHERE column >= {since}` into it, or leave `since` out",
                );
            }
            (None, true) => {
                return fault(
                    "source.query.since",
                    "is due, because `{since}` stands in the query: `since: {column, start}`",
                );
            }
        };
        Ok(Self {
            url: known(spec.url)?,
            pieces,
            since,
            types: spec.types,
            silence: spec
                .timeout
                .map_or(Ok(SILENCE), |text| super::command::duration("source.query.timeout", &text))?,
        })
    }

    /// The query's SQL, with `place` for each of its values; the same for every period where that is.
    pub fn sql(&self, mut place: impl FnMut(&QueryPiece) -> String) -> String {
        let text = |piece: &QueryPiece| match piece {
            QueryPiece::Sql(sql) => sql.clone(),
            value => place(value),
        };
        self.pieces.iter().map(text).collect()
    }

    /// Rules that need the whole pipeline.
    pub(super) fn across(&self, pipeline: &Pipeline) -> Checked<()> {
        if pipeline.source.format.is_some() {
            return fault("source.format", "rows have no format; leave it out");
        }
        if self.since.is_some() && pipeline.write.whole.is_some() {
            return fault(
                "source.query.since",
                format!(
                    "goes with `write.mode: insert_once` or `upsert`: a run in mode `{}` speaks for all rows, and `since` reads a part \
                     of them",
                    pipeline.write.mode_name()
                ),
            );
        }
        Ok(())
    }

    /// The query of one period's run.
    pub(super) fn filled(&self, fill: &mut Fill<'_>) -> Checked<Self> {
        let filled = |piece: &QueryPiece| {
            Ok(match piece {
                QueryPiece::Period(text) => QueryPiece::Period(fill("source.query.sql", text)?),
                other => other.clone(),
            })
        };
        Ok(Self { pieces: self.pieces.iter().map(filled).collect::<Checked<_>>()?, ..self.clone() })
    }
}

fn known(url: String) -> Checked<String> {
    let schemes = ["postgres://", "postgresql://", "mysql://", "mariadb://", "sqlite:"];
    // A variable may be all of it.
    if url.starts_with("${") || schemes.iter().any(|scheme| url.starts_with(scheme)) {
        Ok(url)
    } else {
        fault(
            "source.query.url",
            "a URL that begins with `postgres://`, `mysql://` or `sqlite:` is due (or a `${NAME}` that holds one)",
        )
    }
}

fn resolve(spec: SinceSpec) -> Checked<Since> {
    if spec.column.is_empty() {
        return fault("source.query.since.column", "the name of one of the query's columns is due");
    }
    let overlap = match spec.overlap.as_deref().map(str::trim) {
        None => Overlap::None,
        Some(text) => match text.parse() {
            Ok(0) => Overlap::None,
            Ok(number) => Overlap::Number(number),
            Err(_) => Overlap::Time(super::command::duration("source.query.since.overlap", text)?),
        },
    };
    Ok(Since { column: spec.column, start: spec.start, overlap, is_ordered: spec.ordered })
}

/// Takes a query apart at its placeholders.
fn pieces(sql: &str) -> Checked<Vec<QueryPiece>> {
    const KEY: &str = "source.query.sql";
    let sql = sql.trim().trim_end_matches(';').trim_end();
    let first = sql.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
    let first = first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    if !VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(first)) {
        return fault(KEY, "one SELECT is due: it is only read from the database");
    }
    let (mut found, mut text, mut at) = (Vec::new(), 0, 0);
    while at < sql.len() {
        let rest = &sql[at..];
        let is_in_word = sql[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if let Some(long) = skipped(rest, is_in_word).or_else(|why| fault(KEY, why))? {
            let inside = &rest[..long];
            let is_comment = inside.starts_with("--") || inside.starts_with("/*");
            if !is_comment && (inside.contains("{since}") || Period::uses(inside)) {
                return fault(
                    KEY,
                    "a placeholder stands in quotes: it is bound as a value, so write it without them",
                );
            }
            at += long;
            continue;
        }
        if rest.starts_with(';') {
            return fault(KEY, "more than one statement; one SELECT is due");
        }
        if rest.strip_prefix('$').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            return fault(KEY, "a value is written `{since}` or `{period.…}`, not `$1`");
        }
        let place = if rest.starts_with("{since}") {
            Some(("{since}".len(), QueryPiece::Since))
        } else if Period::uses(rest) && rest.starts_with("{period.") {
            let long = rest.find('}').map_or(rest.len(), |end| end + 1);
            Some((long, QueryPiece::Period(rest[..long].to_owned())))
        } else {
            None
        };
        if let Some((long, piece)) = place {
            found.push(QueryPiece::Sql(sql[text..at].to_owned()));
            found.push(piece);
            at += long;
            text = at;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    found.push(QueryPiece::Sql(sql[text..].to_owned()));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    fn declared(query: &str, more: &str) -> Result<Pipeline, String> {
        let yaml = format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{day: date}}}}\nsource:\n  query:\n    url: sqlite:x.db\n{query}\n{more}\n"
        );
        Pipeline::new(Spec::parse(&yaml).map_err(|error| error.to_string())?)
            .map_err(|error| error.to_string())
    }

    fn feed(query: &str) -> QueryFeed {
        match &declared(query, "").unwrap().source.feed {
            super::super::Feed::Query(feed) => (**feed).clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn placeholders_are_values_and_never_text() {
        let found = feed(
            "    sql: \"SELECT 'a;{x}', \\\"b\\\" FROM t -- '{since}\\n WHERE u >= {since} AND v > {since};\"\n    since: {column: u, start: '0', overlap: 5m}",
        );
        assert_eq!(
            found.pieces,
            [
                QueryPiece::Sql("SELECT 'a;{x}', \"b\" FROM t -- '{since}\n WHERE u >= ".into()),
                QueryPiece::Since,
                QueryPiece::Sql(" AND v > ".into()),
                QueryPiece::Since,
                QueryPiece::Sql(String::new()),
            ]
        );
        assert_eq!(found.since.unwrap().overlap, Overlap::Time(Duration::from_mins(5)));
    }

    #[test]
    fn what_cannot_be_asked_is_told_with_its_key() {
        for (query, want) in [
            ("    sql: DELETE FROM t", "source.query.sql: one SELECT"),
            ("    sql: SELECT 1; SELECT 2", "more than one statement"),
            ("    sql: SELECT $1", "not `$1`"),
            ("    sql: SELECT * FROM t WHERE u >= {since}", "source.query.since: is due"),
            (
                "    sql: \"SELECT * FROM t WHERE u >= '{since}'\"\n    since: {column: u, start: '0'}",
                "in quotes",
            ),
            ("    sql: SELECT 1\n    since: {column: u, start: '0'}", "where to go on"),
            (
                "    sql: SELECT {since}\n    since: {column: u, start: '0', overlap: soon}",
                "source.query.since.overlap",
            ),
            ("    sql: SELECT {period.start}", "isn't loaded by periods"),
            ("    sql: SELECT 1\n    timeout: 0s", "source.query.timeout"),
            ("    sql: SELECT 1\n    tmeout: 1s", "tmeout"),
        ] {
            let told = declared(query, "").unwrap_err();
            assert!(told.contains(want), "{query}: {told}");
        }
        let whole = "write: {mode: overwrite_period, period: {field: day, every: day, tz: UTC}}";
        let told =
            declared("    sql: SELECT {since}\n    since: {column: u, start: '0'}", whole).unwrap_err();
        assert!(told.contains("a part of them"), "{told}");
        assert!(declared("    sql: SELECT {period.date}", whole).is_ok());
        assert!(
            declared("    sql: SELECT {period.begin}", whole).unwrap_err().contains("`{period.begin}` isn't")
        );
    }
}
