//! Columns of text for a terminal: words at the left, figures at the right, the last column wrapped under itself.

use super::words::wrapped;

/// Where the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// Which cell it is, the head not counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) row: usize,
    pub(super) column: usize,
}

/// A head, and rows of as many cells.
#[derive(Debug)]
pub(super) struct Columns {
    head: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// Columns with this head.
    pub(super) fn new(head: &[(&'static str, Align)]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The text, two spaces between columns, none behind the last. Paint comes last, so that it doesn't count as width.
    pub(super) fn render(
        &self,
        width: usize,
        head: impl Fn(&str) -> String,
        cell: impl Fn(Cell, String) -> String,
    ) -> String {
        let last = self.head.len().saturating_sub(1);
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain([self.head[column].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(widest).collect();
        let before: usize = widths.iter().take(last).map(|width| width + 2).sum();
        let rest = width.saturating_sub(before).max(20);

        let titles =
            self.head.iter().enumerate().map(|(column, (title, _))| self.padded(title, column, &widths));
        let mut out = format!("{}\n", head(titles.collect::<Vec<_>>().join("  ").trim_end()));
        for (row, cells) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, given) in cells.iter().enumerate().take(last) {
                line.push_str(&cell(Cell { row, column }, self.padded(given, column, &widths)));
                line.push_str("  ");
            }
            let end = cells.get(last).map_or("", String::as_str);
            let end = match self.head.get(last) {
                Some((_, Align::Right)) => vec![self.padded(end, last, &widths)],
                _ => wrapped(end, rest),
            };
            if end.is_empty() {
                out.push_str(&format!("{}\n", line.trim_end()));
            }
            for (at, one) in end.into_iter().enumerate() {
                let lead = if at == 0 { std::mem::take(&mut line) } else { " ".repeat(before) };
                out.push_str(&format!("{lead}{}\n", cell(Cell { row, column: last }, one)));
            }
        }
        out
    }

    fn padded(&self, given: &str, column: usize, widths: &[usize]) -> String {
        let width = widths[column];
        match self.head[column].1 {
            Align::Left => format!("{given:<width$}"),
            Align::Right => format!("{given:>width$}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_at_the_right_and_the_last_column_is_wrapped_under_itself() {
        let mut columns =
            Columns::new(&[("what", Align::Left), ("rows", Align::Right), ("why", Align::Left)]);
        columns.push(vec!["ü".into(), "1,000".into(), "because of many a long word here".into()]);
        columns.push(vec!["longer".into(), "7".into(), String::new()]);
        let text = columns.render(36, str::to_owned, |_, cell| cell);
        assert_eq!(
            text,
            "what     rows  why\n\
             ü       1,000  because of many a\n\
             \x20              long word here\n\
             longer      7\n"
        );
    }
}
