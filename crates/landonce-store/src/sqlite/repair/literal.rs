//! A stored value as an SQL literal that stores exactly the same again.

use rusqlite::types::ValueRef;

/// Writes it.
pub(super) fn write(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => out.extend_from_slice(b"NULL"),
        ValueRef::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
        ValueRef::Real(number) if number.is_infinite() => {
            out.extend_from_slice(if number > 0.0 { b"9e999" } else { b"-9e999" });
        }
        // The shortest digits that read back as the same double, with a mark that it is one.
        ValueRef::Real(number) => out.extend_from_slice(format!("{number:?}").as_bytes()),
        ValueRef::Text(text) if std::str::from_utf8(text).is_ok() && !text.contains(&0) => {
            out.push(b'\'');
            for &byte in text {
                if byte == b'\'' {
                    out.push(b'\'');
                }
                out.push(byte);
            }
            out.push(b'\'');
        }
        // A literal ends at U+0000, and a shell may not take what isn't UTF-8.
        ValueRef::Text(text) => {
            out.extend_from_slice(format!("CAST(X'{}' AS TEXT)", hex::encode(text)).as_bytes());
        }
        ValueRef::Blob(bytes) => out.extend_from_slice(format!("X'{}'", hex::encode(bytes)).as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_stored_the_same_again() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let all = [
            "NULL",
            "9223372036854775807",
            "-9223372036854775808",
            "1.0",
            "0.1",
            "1e300",
            "-0.0",
            "5e-324",
            "9e999",
            "-9e999",
            "'it''s'",
            "''",
            "'ünï'",
            "'a' || char(0) || 'b'",
            "CAST(X'ff00' AS TEXT)",
            "X''",
            "X'00ff27'",
            "'007'",
            "char(10)",
        ];
        for expression in all {
            let mut out = Vec::new();
            connection
                .query_row(&format!("SELECT {expression}"), [], |row| {
                    write(row.get_ref(0)?, &mut out);
                    Ok(())
                })
                .unwrap();
            let literal = String::from_utf8(out).unwrap();
            let sql =
                format!("SELECT typeof({expression}) = typeof({literal}) AND ({expression}) IS {literal}");
            let is_same: bool = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert!(is_same, "{expression} became {literal}");
        }
    }
}
