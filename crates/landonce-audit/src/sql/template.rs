//! Jinja in SQL: what dbt's and Airflow's templates mean to a statement.
//!
//! `ref`, `source` and `this` name tables, `is_incremental()` and its kind keep their first branch, `config`, `set` and
//! comments say nothing to the database. Anything else is a part that is only known at run time.

use crate::code::Value;
use crate::words;

/// What an expression tag stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// Nothing: `config(…)`, `log(…)`.
    Nothing,
    /// A table, or another expression, as SQL.
    Table(String),
    /// Known at run time only.
    Hole(Value),
}

/// Reads the inside of `{{ … }}`.
pub(super) fn expression(inside: &str, this: Option<&str>) -> Expression {
    let inside = inside.trim().trim_start_matches('-').trim_end_matches('-').trim();
    let head: String = inside.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '.').collect();
    let texts = quoted(inside);
    match head.as_str() {
        "config" | "log" | "print" | "return" | "do" => Expression::Nothing,
        "this" if inside == "this" => this.map_or(Expression::Hole(Value::Name("this".into())), |name| {
            Expression::Table(format!("\"{name}\""))
        }),
        "ref" => texts.last().map_or(Expression::Hole(Value::Name(inside.into())), |name| {
            Expression::Table(format!("\"{name}\""))
        }),
        // Known by heart: md5 over the columns, a dash between them.
        "dbt_utils.generate_surrogate_key" | "dbt_utils.surrogate_key" if !texts.is_empty() => {
            Expression::Table(format!("md5({})", texts.join(" || '-' || ")))
        }
        "source" if texts.len() == 2 => Expression::Table(format!("\"{}\".\"{}\"", texts[0], texts[1])),
        _ => Expression::Hole(value(inside)),
    }
}

/// What is known of a template's value by the names in it.
fn value(inside: &str) -> Value {
    let lower = inside.to_lowercase();
    if words::is_run_id(&lower) {
        Value::RunId(inside.to_owned())
    } else if ["now(", "today(", "current_timestamp", "run_started_at", "macros.datetime", "time.time("]
        .iter()
        .any(|word| lower.contains(word))
    {
        Value::Clock
    } else {
        Value::Name(inside.to_owned())
    }
}

/// The quoted texts of an expression, in order.
pub(crate) fn quoted(inside: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = inside;
    while let Some(open) = rest.find(['\'', '"']) {
        let quote = &rest[open..=open];
        let after = &rest[open + 1..];
        let Some(close) = after.find(quote) else { break };
        found.push(after[..close].replace('"', ""));
        rest = &after[close + 1..];
    }
    found
}

/// What a statement tag does to the text that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// The text after it is left out, up to the tag that ends the block: `else`, `elif`.
    Otherwise,
    /// The text after it is left out, up to its own end: a macro's body, a block `set`.
    Hidden,
    /// A block whose text counts: `if`, `for`, `snapshot`, `call`.
    Open,
    /// The end of a block.
    Close,
    /// Nothing.
    Plain,
}

/// Reads the inside of `{% … %}`.
pub(super) fn tag(inside: &str) -> Tag {
    let inside = inside.trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+');
    let word: String = inside.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    match word.as_str() {
        "else" | "elif" => Tag::Otherwise,
        "macro" | "docs" | "materialization" | "test" | "data_test" => Tag::Hidden,
        "set" if !inside.contains('=') => Tag::Hidden,
        "if" | "for" | "snapshot" | "call" | "filter" | "block" | "raw" | "with" => Tag::Open,
        _ if word.starts_with("end") => Tag::Close,
        _ => Tag::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dbt_names_tables() {
        assert_eq!(expression(" ref('orders') ", None), Expression::Table("\"orders\"".into()));
        assert_eq!(expression("ref('shop', 'orders')", None), Expression::Table("\"orders\"".into()));
        assert_eq!(expression("source('raw', 'o')", None), Expression::Table("\"raw\".\"o\"".into()));
        assert_eq!(expression("- this -", Some("orders")), Expression::Table("\"orders\"".into()));
        assert_eq!(expression("config(materialized='table')", None), Expression::Nothing);
    }

    #[test]
    fn a_run_id_and_the_clock_are_told_from_names() {
        assert_eq!(expression("run_id", None), Expression::Hole(Value::RunId("run_id".into())));
        assert_eq!(expression("macros.datetime.now()", None), Expression::Hole(Value::Clock));
        assert_eq!(expression("ds", None), Expression::Hole(Value::Name("ds".into())));
    }
}
