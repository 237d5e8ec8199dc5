//! What SQL can't do exactly, as functions of the connection: JSON compared by value, decimals by value, one JSON object put
//! over another; and sums of decimals for the queries of derived tables (`sums.rs`).
//!
//! No comparison fails: what can't be read as JSON or as a number (somebody else wrote it) is equal to itself only.

mod sums;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use landonce_core::canonical::{self, Exclusions};
use landonce_core::json::{Json, Kind, Tape};
use landonce_core::number::Decimal;
use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

use super::errors::during;
use crate::error::Result;

/// `landonce_json_eq(a, b)`: 1 when both are the same JSON value (names in any order, numbers exact), or both NULL.
pub(super) const JSON_EQ: &str = "landonce_json_eq";
/// `landonce_merge(old, new)`: `new`'s members put over those of `old`.
pub(super) const MERGE: &str = "landonce_merge";
/// `landonce_decimal_cmp(a, b)`: below, at or above 0; NULL when one of them is no number.
pub(super) const DECIMAL_CMP: &str = "landonce_decimal_cmp";

/// Makes the functions known to a connection, perhaps a caller's, once.
pub(super) fn register(connection: &Connection) -> Result<()> {
    let doing = "setting up a connection";
    let known = "SELECT EXISTS (SELECT 1 FROM pragma_function_list WHERE name = ?1)";
    // Made again, they would be refused while one of the caller's statements runs.
    if connection.query_row(known, [JSON_EQ], |row| row.get(0)).map_err(during(doing))? {
        return Ok(());
    }
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    let make = || {
        connection.create_scalar_function(JSON_EQ, 2, flags, |context| Ok(with_two(context, same_json)))?;
        connection.create_scalar_function(MERGE, 2, flags, |context| {
            Ok(with_two(context, |old, new| merge(old, new).map(Cow::into_owned)))
        })?;
        connection.create_scalar_function(DECIMAL_CMP, 2, flags, |context| {
            Ok(with_two(context, |a, b| Some(compare_decimals(a?, b?)? as i64)))
        })?;
        sums::register(connection)
    };
    make().map_err(during(doing))
}

fn with_two<T>(context: &Context<'_>, then: impl FnOnce(Option<&str>, Option<&str>) -> T) -> T {
    let (a, b) = (text(context.get_raw(0)), text(context.get_raw(1)));
    then(a.as_deref(), b.as_deref())
}

/// A cell as text. A column of numeric affinity keeps a JSON number as a number.
fn text(cell: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match cell {
        ValueRef::Null => None,
        ValueRef::Integer(value) => Some(value.to_string().into()),
        ValueRef::Real(value) => Some(value.to_string().into()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
    }
}

/// Whether two JSON texts are one value.
pub(super) fn same_json(a: Option<&str>, b: Option<&str>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) if a != b => canonical_json(a).is_some_and(|a| Some(a) == canonical_json(b)),
        _ => a == b,
    }
}

fn canonical_json(text: &str) -> Option<Vec<u8>> {
    let mut tape = Tape::default();
    let json = tape.scan(text.as_bytes()).ok()?;
    let mut bytes = Vec::with_capacity(text.len() * 2);
    canonical::put_json(&mut bytes, json, &Exclusions::default()).ok()?;
    Some(bytes)
}

/// The members of `new` put over those of `old`: where a name is in both, the new value in the old one's place.
pub(super) fn merge<'t>(old: Option<&'t str>, new: Option<&'t str>) -> Option<Cow<'t, str>> {
    let (Some(old_text), Some(new_text)) = (old, new) else { return new.or(old).map(Cow::Borrowed) };
    let (mut old_tape, mut new_tape) = (Tape::default(), Tape::default());
    let (Ok(old), Ok(new)) = (old_tape.scan(old_text.as_bytes()), new_tape.scan(new_text.as_bytes())) else {
        return Some(Cow::Borrowed(new_text));
    };
    if old.kind() != Kind::Object || new.kind() != Kind::Object {
        return Some(Cow::Borrowed(new_text));
    }
    let name_of = |name: Json<'_>| name.string().map(Cow::into_owned).unwrap_or_default();
    let mut members: Vec<(String, Json<'_>, Json<'_>)> =
        old.members().map(|(name, value)| (name_of(name), name, value)).collect();
    for (name, value) in new.members() {
        let unescaped = name_of(name);
        match members.iter_mut().find(|(has, ..)| *has == unescaped) {
            Some((.., there)) => *there = value,
            None => members.push((unescaped, name, value)),
        }
    }
    let mut merged = String::with_capacity(old_text.len() + new_text.len());
    for (_, name, value) in &members {
        merged.push(if merged.is_empty() { '{' } else { ',' });
        let _ = write!(merged, "{}:{}", name.raw(), value.raw());
    }
    merged.push_str(if members.is_empty() { "{}" } else { "}" });
    Some(Cow::Owned(merged))
}

/// Which of two decimals is greater, exactly; `None` when one is no number.
pub(super) fn compare_decimals(a: &str, b: &str) -> Option<Ordering> {
    let (a, b) = (Decimal::parse(a)?, Decimal::parse(b)?);
    let sign = |number: &Decimal<'_>| match (number.digits.is_empty(), number.negative) {
        (true, _) => 0,
        (false, false) => 1,
        (false, true) => -1,
    };
    let magnitude = || {
        // The power of the first digit decides, then the digits: without outer zeros, a longer text is the greater number.
        let first = |number: &Decimal<'_>| i64::from(number.exponent) + number.digits.len() as i64;
        first(&a).cmp(&first(&b)).then_with(|| a.digits.cmp(&b.digits))
    };
    Some(sign(&a).cmp(&sign(&b)).then_with(|| match sign(&a) {
        0 => Ordering::Equal,
        1 => magnitude(),
        _ => magnitude().reverse(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_equal_by_value_and_to_the_last_digit() {
        for (a, b, want) in [
            (r#"{"a":1,"b":[1,2]}"#, r#" { "b" : [1.0, 2e0], "a":1 } "#, true),
            (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#, false),
            ("1", "\"1\"", false),
            ("[1,2]", "[2,1]", false),
            (r#""é""#, r#""\u00e9""#, true),
            ("not json", "not json", true),
            ("not json", "null", false),
        ] {
            assert_eq!(same_json(Some(a), Some(b)), want, "{a} {b}");
        }
        assert!(same_json(None, None));
        assert!(!same_json(None, Some("null")));
    }

    #[test]
    fn new_members_go_over_old_ones() {
        let merged = |old, new| merge(old, new).map(Cow::into_owned);
        assert_eq!(
            merged(Some(r#"{"a":1,"b":{"x":1}}"#), Some(r#"{"b":{"y":2},"c":null}"#)).as_deref(),
            Some(r#"{"a":1,"b":{"y":2},"c":null}"#)
        );
        assert_eq!(merged(Some("{}"), Some("{}")).as_deref(), Some("{}"));
        assert_eq!(merged(None, Some("{}")).as_deref(), Some("{}"));
        assert_eq!(merged(Some("{}"), None).as_deref(), Some("{}"));
        assert_eq!(merged(Some("[1]"), Some(r#"{"a":1}"#)).as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(merged(Some("rubbish"), Some(r#"{"a":1}"#)).as_deref(), Some(r#"{"a":1}"#));
    }

    #[test]
    fn decimals_compare_exactly() {
        for (a, b, want) in [
            ("12345678901234567890.1", "12345678901234567890.2", Ordering::Less),
            ("10", "9", Ordering::Greater),
            ("-10", "-9", Ordering::Less),
            ("0.1", "0.10", Ordering::Equal),
            ("-0", "0", Ordering::Equal),
            ("-1", "0", Ordering::Less),
            ("1", "0.999", Ordering::Greater),
            ("1.05", "1.1", Ordering::Less),
            ("-1.05", "-1.1", Ordering::Greater),
            ("100", "1e2", Ordering::Equal),
        ] {
            assert_eq!(compare_decimals(a, b), Some(want), "{a} {b}");
            assert_eq!(compare_decimals(b, a), Some(want.reverse()), "{b} {a}");
        }
        assert_eq!(compare_decimals("x", "1"), None);
    }

    #[test]
    fn the_functions_are_made_once_also_while_a_statement_runs() {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        let mut statement =
            connection.prepare("SELECT landonce_json_eq('1', '1.0') UNION ALL SELECT 2").unwrap();
        let mut rows = statement.query([]).unwrap();
        assert_eq!(rows.next().unwrap().unwrap().get::<_, i64>(0).unwrap(), 1);
        register(&connection).unwrap();
    }
}
