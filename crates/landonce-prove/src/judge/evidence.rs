//! Figures, sample rows, and the statement that likely did it.

use crate::report::Evidence;
use crate::snapshot::TableDifference;
use crate::wire::{Entry, Kind};

/// A table's difference as evidence.
pub(crate) fn figures(table: &str, difference: &TableDifference) -> Evidence {
    let mut columns = difference.changed_columns.clone();
    columns.extend(difference.restamped_columns.iter().cloned());
    columns.sort();
    columns.dedup();
    Evidence {
        table: table.to_owned(),
        expected: difference.rows_before,
        found: difference.rows_after,
        added: difference.added,
        removed: difference.removed,
        changed: difference.changed,
        rewritten: difference.rewritten,
        columns,
        samples: difference.samples.clone(),
    }
}

/// The last statement of the log that writes to one of the tables, shortened.
pub(crate) fn likely_statement(log: &[Entry], tables: &[Evidence]) -> Option<String> {
    // A SELECT is counted as a write where functions do the writing.
    let is_write = |entry: &Entry| entry.write > 0 && matches!(entry.kind, Kind::Write | Kind::Read);
    let writes = || log.iter().rev().filter(|entry| is_write(entry));
    let names: Vec<&str> =
        tables.iter().map(|evidence| evidence.table.rsplit('.').next().unwrap_or(&evidence.table)).collect();
    let found = writes()
        .find(|entry| names.iter().any(|name| is_named(&entry.text, name)))
        .or_else(|| writes().find(|entry| entry.sqlstate.is_none()))?;
    Some(shortened(&found.text, 400))
}

/// Whether a word of the text is this name.
pub(crate) fn is_named(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_part)
            && !text[at + name.len()..].chars().next().is_some_and(is_part)
    })
}

/// On one line, at most so many characters, without the comments before it: tools sign their statements there (dbt, sqlcommenter),
/// and nothing of the statement would be left.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line = without_comments(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut short: String = line.chars().take(most).collect();
    short.push('…');
    short
}

/// From where the statement itself begins; the whole text, if there is nothing but comments.
fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, after)) = rest
        .strip_prefix("/*")
        .and_then(|comment| comment.split_once("*/"))
        .or_else(|| rest.strip_prefix("--").and_then(|comment| comment.split_once('\n')))
    {
        rest = after.trim_start();
    }
    if rest.is_empty() { text } else { rest }
}

/// `a`, `a and b`, `a, b and 3 more`.
pub(crate) fn list(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, more @ ..] => format!("{first}, {second} and {} more", more.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_named_by_a_whole_word() {
        assert!(is_named("INSERT INTO public.\"Order\" (a)", "order"));
        assert!(is_named("insert into orders values (1)", "orders"));
        assert!(!is_named("insert into orders_old values (1)", "orders"));
        assert!(!is_named("insert into my_orders values (1)", "orders"));
    }

    #[test]
    fn a_tools_signature_does_not_hide_the_statement() {
        let signed = "/* {\"app\": \"dbt\"} */\n  -- now\n  insert into\n orders";
        assert_eq!(shortened(signed, 11), "insert into…");
        assert_eq!(shortened("/* only this */", 40), "/* only this */");
        assert_eq!(shortened("/* not ended", 40), "/* not ended");
    }

    #[test]
    fn a_list_stays_short() {
        let names: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
        assert_eq!(list(&names), "a, b and 2 more");
        assert_eq!(list(&names[..2]), "a and b");
    }
}
