//! Exact sums: SQLite's own `sum` makes floats of decimals, and what floats add up to depends on their order.
//!
//! The names are those of SQLite's own decimal extension, which its command line tool has: a query works there too.

use std::borrow::Cow;

use landonce_core::number::Decimal;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error};

/// `decimal_add`, `decimal_sub`, `decimal_mul` of two numbers, and the aggregate `decimal_sum`. NULL with a NULL; NULL is left
/// out of a sum.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection
        .create_scalar_function("decimal_add", 2, flags, |context| with_two(context, |a, b| a.plus(b)))?;
    connection
        .create_scalar_function("decimal_sub", 2, flags, |context| with_two(context, |a, b| a.minus(b)))?;
    connection
        .create_scalar_function("decimal_mul", 2, flags, |context| with_two(context, |a, b| a.times(b)))?;
    connection.create_aggregate_function("decimal_sum", 1, flags, Sum)
}

type Number = Decimal<'static>;

fn with_two(
    context: &Context<'_>,
    of: fn(&Number, &Number) -> Option<Number>,
) -> rusqlite::Result<Option<String>> {
    let (Some(a), Some(b)) = (number(context.get_raw(0))?, number(context.get_raw(1))?) else {
        return Ok(None);
    };
    Ok(Some(of(&a, &b).ok_or_else(too_large)?.to_plain()))
}

/// An exact number, or nothing.
fn number(cell: ValueRef<'_>) -> rusqlite::Result<Option<Number>> {
    let text: Cow<'_, str> = match cell {
        ValueRef::Null => return Ok(None),
        ValueRef::Integer(value) => value.to_string().into(),
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes),
        ValueRef::Real(_) => {
            return Err(told(
                "a floating-point number isn't exact: keep decimals in TEXT or INTEGER columns",
            ));
        }
        ValueRef::Blob(_) => return Err(told("bytes are no number")),
    };
    match Decimal::parse(text.trim()) {
        Some(number) => Ok(Some(number.into_owned())),
        None => Err(told(&format!("`{}` is no number", landonce_core::bad_record::shorten(&text)))),
    }
}

fn told(message: &str) -> Error {
    Error::UserFunctionError(message.to_owned().into())
}

fn too_large() -> Error {
    told("the number is too large")
}

struct Sum;

impl Aggregate<Option<Number>, Option<String>> for Sum {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Option<Number>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut Option<Number>) -> rusqlite::Result<()> {
        if let Some(next) = number(context.get_raw(0))? {
            *sum = Some(match sum.take() {
                Some(sum) => sum.plus(&next).ok_or_else(too_large)?,
                None => next,
            });
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<Option<Number>>) -> rusqlite::Result<Option<String>> {
        Ok(sum.flatten().map(|sum| sum.to_plain()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_summed_to_the_last_digit() {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        let told = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, Option<String>>(0));
        for (sql, want) in [
            (
                "SELECT decimal_sum(x) FROM (SELECT '0.1' AS x UNION ALL SELECT '0.2' UNION ALL SELECT NULL)",
                Some("0.3"),
            ),
            ("SELECT decimal_sum(x) FROM (SELECT 1 AS x WHERE 0)", None),
            ("SELECT decimal_mul('12345678901234567890.5', 2)", Some("24691357802469135781")),
            ("SELECT decimal_sub('1', '1.10')", Some("-0.1")),
            ("SELECT decimal_add(NULL, '1')", None),
        ] {
            assert_eq!(told(sql).unwrap().as_deref(), want, "{sql}");
        }
        for sql in ["SELECT decimal_sum(0.1)", "SELECT decimal_add('x', 1)"] {
            assert!(told(sql).is_err(), "{sql}");
        }
    }
}
