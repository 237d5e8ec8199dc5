//! Names into SQL: always quoted, and refused where PostgreSQL would change them silently.

use landonce_core::plan::TableName;

use crate::error::{Error, Result};

/// PostgreSQL cuts longer names, so that two of them can become one (C08).
const MOST_BYTES: usize = 63;

/// A quoted name.
pub(super) fn name(name: &str) -> Result<String> {
    let why = if name.is_empty() {
        "it is empty".to_owned()
    } else if name.contains('\0') {
        "it holds U+0000".to_owned()
    } else if name.len() > MOST_BYTES {
        format!("it is {} bytes long and PostgreSQL keeps {MOST_BYTES}", name.len())
    } else {
        return Ok(format!("\"{}\"", name.replace('"', "\"\"")));
    };
    let shown = landonce_core::bad_record::shorten(name);
    Err(Error::refused(format!("the name `{shown}` can't be used: {why}; choose another")))
}

/// A quoted table name, with its schema if it has one.
pub(super) fn table(table: &TableName) -> Result<String> {
    match &table.schema {
        Some(schema) => Ok(format!("{}.{}", name(schema)?, name(&table.name)?)),
        None => name(&table.name),
    }
}

/// A text as a literal, for what can't be a parameter.
pub(super) fn literal(text: &str) -> String {
    // E'…' reads backslashes whatever standard_conforming_strings says.
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_ends_where_it_should() {
        assert_eq!(literal("a'b\\"), r"E'a''b\\'");
    }

    #[test]
    fn names_are_quoted_whatever_they_hold() {
        assert_eq!(name("order").unwrap(), "\"order\"");
        assert_eq!(name("a\"b").unwrap(), "\"a\"\"b\"");
        let given = TableName { schema: Some("My Schema".into()), name: "t;--".into() };
        assert_eq!(table(&given).unwrap(), "\"My Schema\".\"t;--\"");
    }

    #[test]
    fn names_that_would_be_cut_are_refused() {
        assert!(name(&"é".repeat(32)).unwrap_err().to_string().contains("64 bytes"));
        assert!(name(&"é".repeat(31)).is_ok());
        assert!(name("").is_err());
        assert!(name("a\0b").is_err());
    }
}
