//! What two dumps differ in, for people: tables, columns, then rows.
//!
//! Both sides are sorted, so one walk over both finds the rows that only one of them has.

use std::cmp::Ordering;
use std::fmt;

use super::{Dump, Row, Table};

/// The most rows shown of one table.
const SHOWN: usize = 20;

/// The difference of two dumps. Empty when they are equal.
#[derive(Debug)]
pub struct Diff<'a> {
    tables: Vec<(&'a str, Difference<'a>)>,
}

#[derive(Debug)]
enum Difference<'a> {
    OnlyBefore(usize),
    OnlyAfter(usize),
    Columns(&'a [String], &'a [String]),
    Rows { table: &'a Table, removed: Vec<&'a Row>, added: Vec<&'a Row> },
}

impl<'a> Diff<'a> {
    pub(super) fn new(before: &'a Dump, after: &'a Dump) -> Self {
        let mut tables = Vec::new();
        for (name, table) in &before.tables {
            let difference = match after.tables.get(name) {
                None => Difference::OnlyBefore(table.rows.len()),
                Some(later) if later.columns != table.columns => {
                    Difference::Columns(&table.columns, &later.columns)
                }
                Some(later) if later.rows != table.rows => {
                    let (removed, added) = walk(&table.rows, &later.rows);
                    Difference::Rows { table, removed, added }
                }
                Some(_) => continue,
            };
            tables.push((name.as_str(), difference));
        }
        for (name, table) in &after.tables {
            if !before.tables.contains_key(name) {
                tables.push((name, Difference::OnlyAfter(table.rows.len())));
            }
        }
        Self { tables }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}

fn walk<'a>(before: &'a [Row], after: &'a [Row]) -> (Vec<&'a Row>, Vec<&'a Row>) {
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(l), Some(r)) => l.cmp(r),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return (removed, added),
        };
        if order == Ordering::Equal {
            left.next();
            right.next();
        } else if order == Ordering::Less {
            removed.extend(left.next());
        } else {
            added.extend(right.next());
        }
    }
}

impl fmt::Display for Diff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, difference) in &self.tables {
            match difference {
                Difference::OnlyBefore(rows) => writeln!(f, "{name}: gone, with {rows} rows")?,
                Difference::OnlyAfter(rows) => writeln!(f, "{name}: new, with {rows} rows")?,
                Difference::Columns(before, after) => {
                    writeln!(f, "{name}: columns\n- {}\n+ {}", before.join(", "), after.join(", "))?;
                }
                Difference::Rows { table, removed, added } => {
                    writeln!(f, "{name}: {} rows less, {} rows more", removed.len(), added.len())?;
                    for (sign, rows) in [('-', removed), ('+', added)] {
                        for row in rows.iter().take(SHOWN) {
                            writeln!(f, "{sign} {}", table.show(row))?;
                        }
                        if rows.len() > SHOWN {
                            writeln!(f, "{sign} … and {} more", rows.len() - SHOWN)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(rows: &[&[Option<&str>]]) -> Dump {
        let rows = rows.iter().map(|row| row.iter().map(|value| value.map(Into::into)).collect()).collect();
        Dump::new([("t".to_owned(), Table { columns: vec!["a".into(), "b".into()], rows })])
    }

    #[test]
    fn rows_are_a_multiset_without_an_order() {
        let one = dump(&[&[Some("1"), None], &[Some("2"), None], &[Some("2"), None]]);
        let other = dump(&[&[Some("2"), None], &[Some("1"), None], &[Some("2"), None]]);
        assert_eq!(one, other);
        assert!(one.diff(&other).is_empty());
        let fewer = dump(&[&[Some("2"), None], &[Some("1"), None]]);
        assert_eq!(one.diff(&fewer).to_string(), "t: 1 rows less, 0 rows more\n- a=\"2\" b=NULL\n");
    }

    #[test]
    fn null_and_empty_differ() {
        let (null, empty) = (dump(&[&[Some("1"), None]]), dump(&[&[Some("1"), Some("")]]));
        assert_eq!(
            null.diff(&empty).to_string(),
            "t: 1 rows less, 1 rows more\n- a=\"1\" b=NULL\n+ a=\"1\" b=\"\"\n"
        );
        assert_ne!(format!("{null:?}"), format!("{empty:?}"));
    }

    #[test]
    fn a_column_left_out_no_longer_orders_nor_differs() {
        let one = dump(&[&[Some("1"), Some("y")], &[Some("2"), Some("x")]]);
        let other = dump(&[&[Some("3"), Some("x")], &[Some("4"), Some("y")]]);
        assert_ne!(one, other);
        assert_eq!(one.without(&[("t", "a")]), other.without(&[("t", "a"), ("absent", "a")]));
    }

    #[test]
    #[should_panic(expected = "t has no column `c`; it has a, b")]
    fn a_misspelt_column_is_refused() {
        let _ = dump(&[]).without(&[("t", "c")]);
    }
}
