//! Names and texts as each store writes them. Names are always quoted; what a store would cut or can't hold is refused.

use landonce_core::plan::TableName;

use crate::{Dialect, Refused};

/// What PostgreSQL keeps of a name. It cuts longer ones and says nothing, so two names could become one.
const MOST_BYTES: usize = 63;
/// What MariaDB and MySQL take.
const MOST_CHARS: usize = 64;

/// A name in the store's quotes.
pub(crate) fn name(name: &str, dialect: Dialect) -> Result<String, Refused> {
    let bad = |why: &str| {
        Err(Refused::new(
            format!("the name {name:?} {why}"),
            "give the table or column a name that every store takes",
        ))
    };
    if name.is_empty() {
        return bad("is empty");
    }
    if name.contains('\0') {
        return bad("holds a NUL, which no store takes");
    }
    match dialect {
        Dialect::Postgres if name.len() > MOST_BYTES => {
            bad(&format!("is longer than {MOST_BYTES} bytes, and PostgreSQL would cut it"))
        }
        Dialect::MariaDb | Dialect::MySql if name.chars().count() > MOST_CHARS => {
            bad(&format!("is longer than the {MOST_CHARS} characters that {} takes", dialect.name()))
        }
        Dialect::MariaDb | Dialect::MySql if name.ends_with(' ') => {
            bad(&format!("ends in a blank, which {} doesn't take", dialect.name()))
        }
        Dialect::MariaDb | Dialect::MySql => Ok(format!("`{}`", name.replace('`', "``"))),
        Dialect::Postgres | Dialect::Sqlite => Ok(format!("\"{}\"", name.replace('"', "\"\""))),
    }
}

/// A table's name, with its schema if it has one.
pub(crate) fn table(table: &TableName, dialect: Dialect) -> Result<String, Refused> {
    let bare = name(&table.name, dialect)?;
    Ok(match &table.schema {
        Some(schema) => format!("{}.{bare}", name(schema, dialect)?),
        None => bare,
    })
}

/// A text as a literal that doesn't depend on the session: on `standard_conforming_strings` or `NO_BACKSLASH_ESCAPES`.
pub(crate) fn text(text: &str, dialect: Dialect) -> Result<String, Refused> {
    if text.contains('\0') {
        return Err(Refused::new("a string holds a NUL, which not every store takes", "leave it out"));
    }
    let doubled = text.replace('\'', "''");
    Ok(match dialect {
        _ if !text.contains('\\') => format!("'{doubled}'"),
        Dialect::Sqlite => format!("'{doubled}'"),
        Dialect::Postgres => format!("E'{}'", doubled.replace('\\', "\\\\")),
        Dialect::MariaDb | Dialect::MySql => {
            let bytes: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            format!("_utf8mb4 X'{bytes}'")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_whatever_they_hold() {
        assert_eq!(name("a\"b`c", Dialect::Postgres).unwrap(), "\"a\"\"b`c\"");
        assert_eq!(name("a\"b`c", Dialect::Sqlite).unwrap(), "\"a\"\"b`c\"");
        assert_eq!(name("a\"b`c", Dialect::MariaDb).unwrap(), "`a\"b``c`");
    }

    #[test]
    fn a_name_that_a_store_would_cut_or_change_is_refused() {
        let long = "é".repeat(32);
        assert!(name(&long, Dialect::Postgres).unwrap_err().what().contains("63 bytes"));
        assert!(name(&long, Dialect::MySql).is_ok());
        assert!(name(&"x".repeat(65), Dialect::MySql).unwrap_err().what().contains("64 characters"));
        assert!(name("a ", Dialect::MariaDb).is_err());
        for dialect in Dialect::ALL {
            assert!(name("", dialect).is_err());
            assert!(name("a\0b", dialect).is_err());
        }
    }

    #[test]
    fn a_text_with_backslashes_doesnt_depend_on_the_session() {
        assert_eq!(text("it's", Dialect::MySql).unwrap(), "'it''s'");
        assert_eq!(text("a\\'b", Dialect::Postgres).unwrap(), "E'a\\\\''b'");
        assert_eq!(text("a\\'b", Dialect::Sqlite).unwrap(), "'a\\''b'");
        assert_eq!(text("a\\'b", Dialect::MySql).unwrap(), "_utf8mb4 X'615c2762'");
    }
}
