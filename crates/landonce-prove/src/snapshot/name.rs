//! Names of tables and columns as people write them, and which of them `--ignore` means.
//!
//! A part is quoted only where it has to be: when it holds a dot, a quote or a star.

/// `schema.table`, or `table` where there are no schemas.
pub(super) fn join<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let parts: Vec<String> = parts
        .into_iter()
        .map(|part| {
            if part.is_empty() || part.contains(['.', '"', '*']) {
                format!("\"{}\"", part.replace('"', "\"\""))
            } else {
                part.to_owned()
            }
        })
        .collect();
    parts.join(".")
}

/// An identifier as SQL with double quotes.
pub(super) fn quote(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

/// A part of a name, or a star.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Any,
    Is(String),
}

impl Part {
    fn means(&self, other: &Self) -> bool {
        *self == Self::Any || self == other
    }
}

/// What one `--ignore` leaves out.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    table: Vec<Part>,
    column: Part,
}

impl Pattern {
    /// `table.column`, `table.*`, `*.column`, each with or without a schema. None when it has no table.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut table = split(text)?;
        let column = table.pop()?;
        if table.is_empty() { None } else { Some(Self { table, column }) }
    }

    /// Whether this table is meant, in part or whole. The schema may be left out.
    pub(super) fn is_about(&self, table: &str) -> bool {
        let Some(parts) = split(table) else { return false };
        let Some(skipped) = parts.len().checked_sub(self.table.len()) else { return false };
        self.table.iter().zip(&parts[skipped..]).all(|(mine, part)| mine.means(part))
    }

    /// Whether it is the whole table.
    pub(super) fn is_whole(&self) -> bool {
        self.column == Part::Any
    }

    /// Whether this column of a table that [`Self::is_about`] is meant.
    pub(super) fn is_column(&self, column: &str) -> bool {
        self.column.means(&Part::Is(column.to_owned()))
    }
}

/// The parts of a dotted name, quotes taken off. None where a quote isn't closed or a part is missing.
fn split(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let part;
        if let Some(quoted) = rest.strip_prefix('"') {
            let (name, after) = unquote(quoted)?;
            part = Part::Is(name);
            rest = after;
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            part = match &rest[..end] {
                "" => return None,
                "*" => Part::Any,
                name => Part::Is(name.to_owned()),
            };
            rest = &rest[end..];
        }
        parts.push(part);
        if rest.is_empty() {
            return Some(parts);
        }
        rest = rest.strip_prefix('.')?;
    }
}

/// The name up to its closing quote, and what comes after.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(pattern: &str, table: &str, column: &str) -> bool {
        Pattern::parse(pattern).is_some_and(|it| it.is_about(table) && it.is_column(column))
    }

    #[test]
    fn the_schema_may_be_left_out() {
        assert!(means("orders.at", "public.orders", "at"));
        assert!(means("public.orders.at", "public.orders", "at"));
        assert!(!means("other.orders.at", "public.orders", "at"));
        assert!(!means("a.public.orders.at", "public.orders", "at"));
    }

    #[test]
    fn a_star_is_any_name() {
        assert!(means("orders.*", "orders", "whatever"));
        assert!(means("*.at", "public.orders", "at"));
        assert!(!means("*.at", "public.orders", "id"));
        assert!(Pattern::parse("orders.*").unwrap().is_whole());
        assert!(!Pattern::parse(r#"orders."*""#).unwrap().is_whole());
    }

    #[test]
    fn quoted_names_are_taken_as_they_are() {
        let table = join(["My.Schema", r#"a "table""#]);
        assert_eq!(table, r#""My.Schema"."a ""table""""#);
        assert!(means(r#""a ""table"""."Col.umn""#, &table, "Col.umn"));
        assert!(means("Mixed Case.At", &join(["public", "Mixed Case"]), "At"));
    }

    #[test]
    fn what_names_no_column_of_a_table_is_no_pattern() {
        for text in ["", "orders", ".at", "orders.", r#""orders.at"#, r#""orders"x.at"#] {
            assert!(Pattern::parse(text).is_none(), "{text}");
        }
    }
}
