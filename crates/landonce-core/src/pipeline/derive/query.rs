//! The query of a period: one SELECT with placeholders, read well enough to know what is text and what is SQL.
//!
//! What a placeholder becomes is a literal of the store's, made of digits and a few known characters; it is never put into
//! a string. The clock and chance are refused, because a query that asks them gives another answer tomorrow (C35).

use crate::period::Period;
use crate::pipeline::check::{Checked, fault};
use crate::plan::{Bound, TableName, days};

/// A query with places for its period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Sql(String),
    Place(Place),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    End,
    Date,
    Until,
    Label,
}

/// A part of a period's query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part<'q> {
    /// SQL as it was written.
    Sql(&'q str),
    /// A date or an instant, for a literal of the store's.
    At(Bound),
    /// A text of letters, digits, `-`, `+`, `:` only, for a literal of the store's.
    Text(&'q str),
}

const OPENING: &str = "{period.";

/// What asks the clock or chance, when it is called.
const CALLED: [&str; 11] = [
    "now",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "random",
    "randomblob",
    "gen_random_uuid",
    "uuidv4",
    "uuidv7",
    "uuid_generate_v4",
];
/// What asks the clock as it stands.
const NAMED: [&str; 5] = ["current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"];

impl Query {
    /// The parts of a period's query, in order.
    pub fn of<'q>(&'q self, period: &'q Period) -> Vec<Part<'q>> {
        let part = |piece: &'q Piece| match piece {
            Piece::Sql(sql) => Part::Sql(sql),
            Piece::Place(Place::Start) => Part::At(Bound::Timestamptz(period.start().as_microsecond())),
            Piece::Place(Place::End) => Part::At(Bound::Timestamptz(period.end().as_microsecond())),
            Piece::Place(Place::Date) => Part::At(Bound::Date(days(period.date()))),
            Piece::Place(Place::Until) => Part::At(Bound::Date(days(period.until()))),
            Piece::Place(Place::Label) => Part::Text(period.label()),
        };
        self.pieces.iter().map(part).collect()
    }

    /// Reads a query, and refuses what can't be one period's, or can't be told apart from it.
    pub(super) fn parse(table: &TableName, sql: &str) -> Checked<Self> {
        let sql = sql.trim().trim_end_matches(';').trim_end();
        let refuse = |why: String| fault("derive.sql", format!("the query of `{table}` {why}"));
        let first = sql.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        if !["select", "with"].iter().any(|word| first.eq_ignore_ascii_case(word)) {
            return refuse("is no SELECT; write one that gives the rows of one period".to_owned());
        }
        let mut reader = Reader { sql, at: 0, pieces: Vec::new(), begun: 0, depth: 0 };
        if let Err(why) = reader.read() {
            return refuse(why);
        }
        let query = Self { pieces: reader.pieces };
        if !query.pieces.iter().any(|piece| matches!(piece, Piece::Place(_))) {
            return refuse(
                "names no period, so every period would get all rows; put {period.start} and {period.end}, or {period.date}, \
                 into its WHERE"
                    .to_owned(),
            );
        }
        Ok(query)
    }
}

/// One walk over the text.
struct Reader<'s> {
    sql: &'s str,
    at: usize,
    pieces: Vec<Piece>,
    /// Where the SQL that is in no piece yet begins.
    begun: usize,
    depth: usize,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), String> {
        while let Some(next) = self.rest().chars().next() {
            match next {
                '\'' => self.quoted('\'')?,
                '"' => self.quoted('"')?,
                '-' if self.rest().starts_with("--") => {
                    let end = self.rest().find('\n').unwrap_or(self.rest().len());
                    self.at += end;
                }
                '/' if self.rest().starts_with("/*") => {
                    let end = self.rest().find("*/").ok_or("has a comment without an end")?;
                    self.at += end + 2;
                }
                '{' if self.rest().starts_with(OPENING) => self.place()?,
                '(' => {
                    self.depth += 1;
                    self.at += 1;
                }
                ')' => {
                    self.depth = self.depth.checked_sub(1).ok_or("has a `)` without its `(`")?;
                    self.at += 1;
                }
                ';' => return Err("has a `;`: one SELECT is due".to_owned()),
                '$' => return Err("has a `$`: parameters and dollar quotes can't be used here".to_owned()),
                '\0' => return Err("holds U+0000".to_owned()),
                next if next.is_alphabetic() || next == '_' => self.word()?,
                // Digits too, so that the `e` of 1e5 begins no word.
                next if next.is_ascii_digit() => self.skip(|c| c.is_alphanumeric() || c == '.' || c == '_'),
                next => self.at += next.len_utf8(),
            }
        }
        if self.depth > 0 {
            return Err("has a `(` without its `)`".to_owned());
        }
        self.cut();
        Ok(())
    }

    fn rest(&self) -> &str {
        &self.sql[self.at..]
    }

    fn skip(&mut self, is_part: impl Fn(char) -> bool) {
        let len = self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        self.at += len;
    }

    /// What was read since the last piece becomes one.
    fn cut(&mut self) {
        if self.begun < self.at {
            self.pieces.push(Piece::Sql(self.sql[self.begun..self.at].to_owned()));
        }
        self.begun = self.at;
    }

    fn quoted(&mut self, quote: char) -> Result<(), String> {
        let start = self.at;
        let end = self.rest()[1..].find(quote).ok_or_else(|| format!("has a {quote} without its end"))?;
        let inside = &self.sql[start + 1..start + 1 + end];
        if inside.contains(OPENING) {
            return Err(format!(
                "has a placeholder inside {quote}…{quote}; write it without the quotes: it becomes a literal"
            ));
        }
        if quote == '\'' && inside.eq_ignore_ascii_case("now") {
            return Err(clock("'now'"));
        }
        // In E'…' a backslash keeps a quote from ending the string, so that text and SQL could change places.
        let before = &self.sql.as_bytes()[..start];
        let is_word = |at: usize| before[at].is_ascii_alphanumeric() || before[at] == b'_';
        if quote == '\''
            && before.last().is_some_and(|last| last.eq_ignore_ascii_case(&b'e'))
            && (before.len() < 2 || !is_word(before.len() - 2))
        {
            return Err("has an E'…' string; write it without escapes".to_owned());
        }
        self.at = start + end + 2;
        Ok(())
    }

    fn word(&mut self) -> Result<(), String> {
        let start = self.at;
        self.skip(|c| c.is_alphanumeric() || c == '_');
        let word = &self.sql[start..self.at];
        let is = |names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
        let is_called = self.rest().trim_start().starts_with('(');
        // `t.current_date` is a column.
        let is_column = self.sql[..start].ends_with('.') && !is_called;
        if (is(&NAMED) && !is_column) || (is(&CALLED) && is_called) {
            return Err(clock(word));
        }
        Ok(())
    }

    fn place(&mut self) -> Result<(), String> {
        let opened = &self.rest()[OPENING.len()..];
        let (name, _) = opened.split_once('}').unwrap_or((opened, ""));
        let len = OPENING.len() + name.len() + 1;
        let place = match name {
            "start" => Place::Start,
            "end" => Place::End,
            "date" => Place::Date,
            "until" => Place::Until,
            "label" => Place::Label,
            _ => {
                return Err(format!(
                    "has `{OPENING}{}}}`, which isn't known here; known are {{period.start}}, {{period.end}} (instants), \
                     {{period.date}}, {{period.until}} (its first date, the first one behind it) and {{period.label}}",
                    crate::bad_record::shorten(name)
                ));
            }
        };
        if opened.len() == name.len() {
            return Err(format!("has `{OPENING}{name}` without its `}}`"));
        }
        self.cut();
        self.pieces.push(Piece::Place(place));
        self.at += len;
        self.begun = self.at;
        Ok(())
    }
}

fn clock(what: &str) -> String {
    format!(
        "asks `{what}`, so that it gives another answer the next time; a period is told by {{period.start}} and the like"
    )
}
