//! An explanation as people read it: one block a record, labels in one column, long values shortened.

use std::fmt;

use super::{Comparison, Explained, Explanation, Hashed, Part, encoded};

/// The most characters of a value that are shown; JSON output has them all.
const SHOWN: usize = 100;
/// The width of the labels.
const LABEL: usize = 12;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, record) in self.records.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            writeln!(f, "{}, record {} (pipeline {})", self.source, record.number, self.pipeline)?;
            record.show(f)?;
        }
        if let Some(comparison) = &self.comparison {
            writeln!(f)?;
            comparison.show(f)?;
        } else if self.records.len() == 2 {
            writeln!(f, "\nA bad record has no identity: there is nothing to compare.")?;
        }
        Ok(())
    }
}

impl Explained {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(bad) = &self.bad {
            return line(f, "bad", bad);
        }
        if self.is_delete {
            line(f, "delete", "the record deletes its row")?;
        }
        if self.identity.is_empty() {
            line(f, "identity", "the content")?;
        } else {
            table(f, "identity", &self.identity.iter().map(Part::row).collect::<Vec<_>>())?;
        }
        if let Some(key) = &self.key {
            key.show(f, "key")?;
        }
        if let Some(content) = &self.content {
            content.show(f, "content")?;
        }
        if !self.left_out.is_empty() {
            line(f, "left out", &format!("{} (no part of the content)", self.left_out.join(", ")))?;
        }
        let rows: Vec<[String; 3]> = self
            .columns
            .iter()
            .map(|stored| {
                let value = stored.value.as_deref().map_or_else(|| "NULL".to_owned(), short);
                [stored.column.clone(), stored.ty.clone(), value]
            })
            .collect();
        table(f, "columns", &rows)
    }
}

impl Part {
    fn row(&self) -> [String; 3] {
        let written = self.written.as_deref().map_or_else(|| "absent".to_owned(), short);
        let origin = match &self.ty {
            Some(ty) => format!("{ty}, written {written}"),
            None => format!("no type declared, written {written}"),
        };
        [self.field.clone(), short(&self.canonical), origin]
    }
}

impl Hashed {
    fn show(&self, f: &mut fmt::Formatter<'_>, what: &str) -> fmt::Result {
        let mark = |form: &str| match self.stored_as {
            Some(stored) if (stored == "uuid") == (form == "uuid") => " (stored)",
            None if form != "uuid" => " (not stored)",
            _ => "",
        };
        if let Some(uuid) = &self.uuid {
            line(f, what, &format!("uuid    {uuid}{}", mark("uuid")))?;
            line(f, "", &format!("sha256  {}{}", self.sha256, mark("hex")))?;
        } else {
            line(f, what, &format!("sha256  {}{}", self.sha256, mark("hex")))?;
        }
        let label = if self.label.is_empty() { String::new() } else { format!("{} ", self.label) };
        let members = self.members();
        if members.is_empty() {
            return line(f, "", &format!("of      {label}{}", short(&self.canonical)));
        }
        let begin = self.canonical.split_once('{').map_or("", |(begin, _)| begin);
        line(f, "", &format!("of      {label}{begin}{{"))?;
        for member in members {
            line(f, "", &format!("          {}", short(&member)))?;
        }
        line(f, "", "        }")
    }

    /// The members of an object, each readable; none for an identity of fields.
    fn members(&self) -> Vec<String> {
        if !self.canonical.starts_with("o ") {
            return Vec::new();
        }
        // Written by us a moment ago: always hex.
        let bytes = hex::decode(&self.canonical_hex).unwrap_or_default();
        encoded::member_bytes(&bytes).into_iter().map(encoded::readable).collect()
    }
}

impl Comparison {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Together: {}", self.reason)?;
        let either = |first: &Option<String>, second: &Option<String>| {
            let shown = |value: &Option<String>| value.as_deref().map_or_else(|| "absent".to_owned(), short);
            if first == second { shown(first) } else { format!("{} and {}", shown(first), shown(second)) }
        };
        let rows: Vec<[String; 3]> = self
            .identity
            .iter()
            .map(|part| {
                let values = either(&part.first, &part.second);
                [part.field.clone(), values, part.note.clone().unwrap_or_default()]
            })
            .collect();
        table(f, "identity", &rows)?;
        if self.is_same_content {
            return line(f, "content", "equal");
        }
        let rows: Vec<[String; 3]> = self
            .differing
            .iter()
            .map(|field| [field.field.clone(), either(&field.first, &field.second), String::new()])
            .collect();
        table(f, "differs in", &rows)
    }
}

fn line(f: &mut fmt::Formatter<'_>, label: &str, text: &str) -> fmt::Result {
    writeln!(f, "  {label:LABEL$}{text}")
}

/// Rows under one label, their columns aligned.
fn table(f: &mut fmt::Formatter<'_>, label: &str, rows: &[[String; 3]]) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    for (at, [name, value, note]) in rows.iter().enumerate() {
        let row = format!("{name:first$}  {value:second$}  {note}");
        line(f, if at == 0 { label } else { "" }, row.trim_end())?;
    }
    Ok(())
}

/// A value on one line, shortened.
fn short(text: &str) -> String {
    let mut out: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let rest = text.chars().skip(SHOWN).count();
    if rest > 0 {
        out.push_str(&format!("… ({rest} more characters)"));
    }
    out
}
