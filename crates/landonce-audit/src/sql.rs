//! Statements: parsed by dialect, with placeholders and templates made readable first.
//!
//! `%s`, `%(name)s`, `?`, `$1`, `:name` and `{{ jinja }}` become placeholders; dbt's `ref`, `source`, `this`, `is_incremental`
//! keep their meaning. [`Text`] is how a frontend hands SQL over, [`read`] parses it, `expr` tells clocks and chance in it.

pub(crate) mod expr;
mod split;
pub(crate) mod template;
mod text;
pub(crate) mod walk;

use sqlparser::ast::Statement as Tree;
use sqlparser::dialect::{
    BigQueryDialect, DatabricksDialect, Dialect, DuckDbDialect, GenericDialect, MsSqlDialect, MySqlDialect,
    PostgreSqlDialect, SQLiteDialect, SnowflakeDialect,
};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span as Place, Tokenizer};

use crate::code::{Span, Unread};
use split::Piece;
pub(crate) use text::HOLE;
pub use text::{Hole, Text};

/// A statement that has been parsed.
#[derive(Debug)]
pub struct Statement {
    /// Where it stands in its file.
    pub span: Span,
    /// Its text as it stands in the file; of a statement that only follows from a call, what the call sends.
    pub text: String,
    /// Its syntax tree. The k-th placeholder in it is `$k`.
    pub tree: Tree,
    /// Placeholders in order of appearance: the name of a named one, else its number from 1.
    pub placeholders: Vec<String>,
    /// The parts that are only known at run time, in order of appearance. Where one stands for a name, the tree has a quoted
    /// name in braces: `"{table}"`, `"stg_{table}"`.
    pub holes: Vec<Hole>,
    /// The text that was parsed, and where it comes from.
    pub(crate) source: Text,
}

/// How a text is to be understood.
#[derive(Debug, Clone, Default)]
pub struct Style {
    /// `%s`, `%(name)s` and `%%` mean what Python's drivers say.
    pub percent: bool,
    /// A script: psql's commands, DELIMITER, data after COPY … FROM stdin.
    pub is_script: bool,
    /// What `{{ this }}` is.
    pub this: Option<String>,
}

impl Statement {
    /// Where a part of the tree stands in the file; the whole statement, where the parser doesn't say.
    pub(crate) fn place(&self, place: Place) -> Span {
        if place.start.line == 0 {
            return self.span;
        }
        let text = self.source.as_str();
        let start = offset(text, place.start);
        let end = offset(text, place.end).max(start);
        self.source.span(start, end)
    }

    /// Where these words stand, whatever their case and the space between them; the whole statement if they don't.
    pub(crate) fn find(&self, words: &str) -> Span {
        let text = self.source.as_str();
        let wanted: Vec<&str> = words.split_whitespace().collect();
        let mut starts = text.char_indices().filter(|(_, c)| !c.is_whitespace()).map(|(at, _)| at);
        starts
            .find_map(|start| {
                let is_inside =
                    text[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
                if is_inside {
                    None
                } else {
                    match_words(text, start, &wanted).map(|end| self.source.span(start, end))
                }
            })
            .unwrap_or(self.span)
    }
}

fn match_words(text: &str, start: usize, wanted: &[&str]) -> Option<usize> {
    let mut at = start;
    for (index, word) in wanted.iter().enumerate() {
        if index > 0 {
            at += text[at..].len() - text[at..].trim_start().len();
        }
        let found = text.get(at..at + word.len())?;
        if !found.eq_ignore_ascii_case(word) {
            return None;
        }
        at += word.len();
        if text[at..].chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_')
            && word.ends_with(|c: char| c.is_alphanumeric() || c == '_')
        {
            return None;
        }
    }
    Some(at)
}

/// The byte where the parser's line and column (in characters, from 1) point.
fn offset(text: &str, location: Location) -> usize {
    let mut start = 0;
    for _ in 1..location.line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    let column = usize::try_from(location.column).unwrap_or(usize::MAX).saturating_sub(1);
    text[start..].char_indices().nth(column).map_or(text.len(), |(at, _)| start + at)
}

/// Parses every statement of a text. What doesn't parse is unread; so are parts that are only known at run time.
pub fn read(text: &Text, style: &Style, unread: &mut Vec<Unread>) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut favourite = 0;
    for piece in split::split(text, style) {
        if let Some(why) = holes_that_matter(&piece) {
            unread.push(Unread { span: piece.span, why });
        }
        match parse(&piece, &mut favourite) {
            Ok(Some((tree, source))) => statements.push(Statement {
                span: piece.span,
                text: piece.text.as_str().trim().to_owned(),
                tree,
                placeholders: piece.placeholders,
                holes: piece.holes,
                source,
            }),
            Ok(None) => {}
            Err(why) => {
                if unread.last().is_none_or(|last| last.span != piece.span) {
                    unread.push(Unread { span: piece.span, why });
                }
            }
        }
    }
    statements
}

/// Parses a statement that follows from a call: all of it stands for the call.
pub(crate) fn made(sql: &str, span: Span) -> Option<Statement> {
    let mut text = Text::new();
    text.push_for(sql, span);
    read(&text, &Style::default(), &mut Vec::new()).pop()
}

/// Whether a text could be SQL at all: its first word is a statement's.
pub fn looks_like_sql(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix("--") {
            rest = after.split_once('\n').map_or("", |(_, after)| after).trim_start();
        } else if let Some(after) = rest.strip_prefix("/*") {
            rest = after.split_once("*/").map_or("", |(_, after)| after).trim_start();
        } else {
            break;
        }
    }
    let mut words = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or("").to_ascii_uppercase();
    let second = words.next().unwrap_or("").to_ascii_uppercase();
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return false;
    }
    match first.as_str() {
        "SELECT" => rest.len() > 7 && rest[6..].starts_with([' ', '\n', '\t', '\r', '(', '*', '\'', '"']),
        "INSERT" => matches!(second.as_str(), "INTO" | "OR" | "IGNORE" | "OVERWRITE" | "ALL"),
        "REPLACE" | "MERGE" => {
            second == "INTO" || (first == "MERGE" && rest.to_ascii_uppercase().contains(" USING "))
        }
        "UPDATE" => rest.to_ascii_uppercase().split_whitespace().any(|word| word == "SET"),
        "DELETE" => second == "FROM",
        "LOCK" => matches!(second.as_str(), "TABLE" | "TABLES"),
        "TRUNCATE" => matches!(second.as_str(), "TABLE" | "ONLY") || rest.split_whitespace().count() == 2,
        "COPY" => {
            let upper = rest.to_ascii_uppercase();
            upper.contains(" FROM ") || upper.contains(" TO ")
        }
        "WITH" => {
            let upper = rest.to_ascii_uppercase();
            upper.contains(" AS ") && (upper.contains("SELECT") || upper.contains("INSERT"))
        }
        "CREATE" => matches!(
            second.as_str(),
            "TABLE"
                | "UNIQUE"
                | "INDEX"
                | "TEMP"
                | "TEMPORARY"
                | "UNLOGGED"
                | "VIEW"
                | "MATERIALIZED"
                | "OR"
                | "SCHEMA"
                | "TRIGGER"
                | "FUNCTION"
                | "PROCEDURE"
                | "SEQUENCE"
                | "EXTENSION"
                | "TYPE"
        ),
        "ALTER" | "DROP" => matches!(
            second.as_str(),
            "TABLE"
                | "INDEX"
                | "VIEW"
                | "SCHEMA"
                | "SEQUENCE"
                | "TYPE"
                | "MATERIALIZED"
                | "FUNCTION"
                | "TRIGGER"
        ),
        _ => false,
    }
}

/// What only the run knows and what can change a judgement.
fn holes_that_matter(piece: &Piece) -> Option<String> {
    piece.holes.first()?;
    let names: Vec<String> = piece.holes.iter().map(|hole| format!("`{}`", short(&hole.written))).collect();
    Some(format!("the SQL is assembled at run time from {}", names.join(", ")))
}

fn short(written: &str) -> String {
    written.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect()
}

/// Parses with the first dialect that can. `Ok(None)`: there is nothing in it.
fn parse(piece: &Piece, favourite: &mut usize) -> Result<Option<(Tree, Text)>, String> {
    let dialects: [&dyn Dialect; 9] = [
        &PostgreSqlDialect {},
        &GenericDialect {},
        &MySqlDialect {},
        &SQLiteDialect {},
        &SnowflakeDialect {},
        &BigQueryDialect {},
        &MsSqlDialect {},
        &DuckDbDialect {},
        &DatabricksDialect {},
    ];
    let mut first_error = None;
    for round in 0..2 {
        // In the second round what stands for a whole clause is left out.
        let text = if round == 0 {
            piece.text.clone()
        } else if piece.holes.is_empty() {
            break;
        } else {
            without_lone_holes(&piece.text)
        };
        let order = std::iter::once(*favourite).chain(0..dialects.len());
        for index in order {
            match parse_with(dialects[index], text.as_str()) {
                Ok(Some(tree)) => {
                    *favourite = index;
                    return Ok(Some((tree, text)));
                }
                Ok(None) => return Ok(None),
                Err(why) => {
                    first_error.get_or_insert(why);
                }
            }
        }
    }
    Err(format!("the SQL doesn't parse: {}", first_error.unwrap_or_default()))
}

fn parse_with(dialect: &dyn Dialect, text: &str) -> Result<Option<Tree>, String> {
    let tokens = Tokenizer::new(dialect, text).tokenize_with_location().map_err(|error| error.message)?;
    let mut parser = Parser::new(dialect).with_recursion_limit(120).with_tokens_with_locations(tokens);
    let mut trees = parser.parse_statements().map_err(|error| match error {
        sqlparser::parser::ParserError::TokenizerError(why)
        | sqlparser::parser::ParserError::ParserError(why) => short_error(&why),
        sqlparser::parser::ParserError::RecursionLimitExceeded => "it is nested too deeply".into(),
    })?;
    match trees.len() {
        0 => Ok(None),
        1 => Ok(trees.pop()),
        count => Err(format!("{count} statements without a delimiter")),
    }
}

/// A parser's complaint, without its own line and column: they count from where the statement starts.
fn short_error(why: &str) -> String {
    let why = why.split(" at Line").next().unwrap_or(why);
    why.chars().take(160).collect()
}

/// The text without the quoted names in braces that stand alone.
fn without_lone_holes(text: &Text) -> Text {
    let s = text.as_str();
    let mut out = Text::new();
    let mut at = 0;
    while let Some(open) = s[at..].find("\"{") {
        let start = at + open;
        let Some(close) = s[start..].find("}\"") else { break };
        let end = start + close + 2;
        let before = s[..start].chars().next_back().unwrap_or(' ');
        let after = s[end..].chars().next().unwrap_or(' ');
        out.push_part(text, at, start);
        if before == '.' || after == '.' {
            out.push_part(text, start, end);
        } else {
            out.push_for(" ", text.span(start, end));
        }
        at = end;
    }
    out.push_part(text, at, s.len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(sql: &str, style: &Style) -> (Vec<Statement>, Vec<Unread>) {
        let mut unread = Vec::new();
        let statements = read(&Text::verbatim(sql, 0), style, &mut unread);
        (statements, unread)
    }

    fn script(sql: &str) -> (Vec<Statement>, Vec<Unread>) {
        parsed(sql, &Style { is_script: true, ..Style::default() })
    }

    #[test]
    fn placeholders_of_every_driver_are_read() {
        let percent = Style { percent: true, ..Style::default() };
        for (sql, style, names) in [
            ("INSERT INTO t (a, b) VALUES (%s, %s)", &percent, vec!["1", "2"]),
            ("INSERT INTO t (a, b) VALUES (%(a)s, %(b)s)", &percent, vec!["a", "b"]),
            ("INSERT INTO t (a, b) VALUES (?, ?)", &Style::default(), vec!["1", "2"]),
            ("INSERT INTO t (a, b) VALUES ($2, $1)", &Style::default(), vec!["2", "1"]),
            ("INSERT INTO t (a, b) VALUES (:a, :b::int)", &Style::default(), vec!["a", "b"]),
            ("INSERT INTO t (a, b) VALUES (#{a}, #{b,jdbcType=INTEGER})", &Style::default(), vec!["a", "b"]),
            ("INSERT INTO t (a, b) VALUES (@a, @b)", &Style::default(), vec!["a", "b"]),
            ("SELECT a FROM t WHERE b LIKE 'x%%' AND c = %s", &percent, vec!["1"]),
            ("SELECT a FROM t WHERE doc ? 'key' AND c = ?", &Style::default(), vec!["1"]),
        ] {
            let (statements, unread) = parsed(sql, style);
            assert!(unread.is_empty(), "{sql}: {unread:?}");
            assert_eq!(statements.len(), 1, "{sql}");
            assert_eq!(statements[0].placeholders, names, "{sql}");
        }
    }

    #[test]
    fn statements_of_a_script_stand_where_they_are() {
        let sql = "-- first\nBEGIN;\n\\set x 1\nINSERT INTO t VALUES (1);\nCOMMIT;\n";
        let (statements, unread) = script(sql);
        assert!(unread.is_empty(), "{unread:?}");
        let texts: Vec<&str> = statements.iter().map(|it| &sql[it.span.start..it.span.end]).collect();
        assert_eq!(texts, ["BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"]);
    }

    #[test]
    fn data_after_copy_is_not_sql() {
        let (statements, unread) = script("COPY t (a) FROM stdin;\nfoo; bar'\n\\.\n\nDELETE FROM t;\n");
        assert!(unread.is_empty(), "{unread:?}");
        assert_eq!(statements.len(), 2);
    }

    #[test]
    fn psql_copy_is_a_copy() {
        let (statements, unread) = script("\\copy t (a, b) from data.csv with (format csv)\nSELECT 1;");
        assert!(unread.is_empty(), "{unread:?}");
        assert!(matches!(statements[0].tree, Tree::Copy { to: false, .. }));
        assert_eq!(statements.len(), 2);
    }

    #[test]
    fn what_does_not_parse_is_unread_with_its_place() {
        let sql = "SELECT 1;\nFROBNICATE ALL THE THINGS;\nSELECT 2;";
        let (statements, unread) = script(sql);
        assert_eq!(statements.len(), 2);
        assert_eq!(&sql[unread[0].span.start..unread[0].span.end], "FROBNICATE ALL THE THINGS");
    }

    #[test]
    fn templates_keep_their_meaning() {
        let style = Style { this: Some("orders".into()), ..Style::default() };
        let sql = "{{ config(materialized='incremental') }}\nselect * from {{ source('raw', 'orders') }} o\njoin {{ ref('x') }} \
                   using (id)\n{% if is_incremental() %} where t > (select max(t) from {{ this }}) {% else %} where broken ( {% \
                   endif %}";
        let (statements, unread) = parsed(sql, &style);
        assert!(unread.is_empty(), "{unread:?}");
        assert_eq!(
            statements[0].tree.to_string(),
            "SELECT * FROM \"raw\".\"orders\" o JOIN \"x\" USING(id) WHERE t > (SELECT max(t) FROM \"orders\")"
        );
    }

    #[test]
    fn a_name_known_at_run_time_is_read_and_reported() {
        let mut text = Text::verbatim("INSERT INTO stg_", 0);
        text.push_hole("table", crate::code::Value::Name("table".into()), Span { start: 16, end: 23 });
        text.push("_v1 (a) VALUES (1)", 23);
        let mut unread = Vec::new();
        let statements = read(&text, &Style::default(), &mut unread);
        assert_eq!(statements[0].tree.to_string(), "INSERT INTO \"stg_{table}_v1\" (a) VALUES (1)");
        assert_eq!(unread.len(), 1);
    }

    #[test]
    fn a_clause_known_at_run_time_leaves_the_rest_readable() {
        let mut text = Text::verbatim("SELECT a FROM t WHERE b = 1 ", 0);
        text.push_hole("extra", crate::code::Value::Name("extra".into()), Span { start: 28, end: 35 });
        let mut unread = Vec::new();
        let statements = read(&text, &Style::default(), &mut unread);
        assert_eq!(statements.len(), 1);
        assert_eq!(unread.len(), 1);
    }

    #[test]
    fn parts_are_found_in_the_file() {
        let sql = "INSERT INTO t (a) VALUES (%s) ON  CONFLICT (a) DO NOTHING";
        let mut unread = Vec::new();
        let text = Text::verbatim(sql, 7);
        let statements = read(&text, &Style { percent: true, ..Style::default() }, &mut unread);
        let span = statements[0].find("on conflict");
        assert_eq!(&sql[span.start - 7..span.end - 7], "ON  CONFLICT");
    }

    #[test]
    fn a_trigger_of_sqlite_is_one_statement() {
        let (statements, unread) = script(
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO log VALUES (1); DELETE FROM u; END;\nSELECT 1;",
        );
        assert_eq!(statements.len() + unread.len(), 2, "{statements:?} {unread:?}");
    }

    #[test]
    fn prose_is_not_sql() {
        assert!(!looks_like_sql("Update the set of things".split(" set").next().unwrap_or("")));
        assert!(!looks_like_sql("Select one of the options below"[..6].trim()));
        assert!(!looks_like_sql("delete everything"));
        assert!(looks_like_sql("  -- c\n delete from t"));
        assert!(looks_like_sql("insert into t values (1)"));
    }
}
