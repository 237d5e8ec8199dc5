//! Columns of text, aligned.

use owo_colors::OwoColorize as _;

/// A table: a head, and rows of as many cells.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this head.
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The text: two spaces between columns, none behind the last.
    pub(crate) fn render(&self) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
            cells.chain([self.head[at].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let head: Vec<String> = self.head.iter().map(ToString::to_string).collect();
        let mut out = format!("{}\n", aligned(&head, &widths).bold());
        for row in &self.rows {
            out.push_str(&aligned(row, &widths));
            out.push('\n');
        }
        out
    }
}

fn aligned(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> =
        cells.iter().zip(widths).map(|(cell, &width)| format!("{cell:<width$}")).collect();
    padded.join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["a", "long head"]);
        table.push(vec!["wide cell".into(), "x".into()]);
        table.push(vec!["ü".into(), "y".into()]);
        let text = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(text, "a          long head\nwide cell  x\nü          y\n");
    }
}
