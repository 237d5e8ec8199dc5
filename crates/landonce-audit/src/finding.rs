//! What an audit has found.

use std::path::PathBuf;

use crate::code::{Span, Unit};
use crate::rule::Level;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The rule's name, or `could-not-read`.
    pub rule: &'static str,
    /// How much it matters.
    pub level: Level,
    /// The file; a database's place for a live schema.
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// Where it ends.
    pub end_line: usize,
    /// Where it ends.
    pub end_column: usize,
    /// The lines it stands in, for showing (at most 6).
    pub source: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// Why that matters.
    pub why: &'static str,
    /// What to do.
    pub fix: String,
    /// Whether the fix changes no result for data that is right today.
    pub is_fix_safe: bool,
    /// The rule's page.
    pub docs: String,
}

/// A whole audit.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct Report {
    /// The version of this format: 1.
    pub version: u32,
    /// Sorted by file and place.
    pub findings: Vec<Finding>,
    /// What could not be read: assembled SQL, SQL that doesn't parse. Never silently passed.
    pub unread: Vec<Finding>,
    /// Findings that a comment allows, with its reason.
    pub allowed: Vec<Allowed>,
    /// How many files were read.
    pub files: usize,
    /// How many statements were read.
    pub statements: usize,
    /// How many tables of a live database were read.
    pub tables: usize,
}

impl Report {
    /// What the process ends with: 1 if anything is not safe to retry, 2 if there was nothing to judge, else 0. What could not
    /// be read doesn't count.
    pub fn exit_code(&self) -> u8 {
        if self.findings.iter().any(|it| it.level == Level::Error) {
            1
        } else if self.statements == 0 && self.tables == 0 && self.findings.is_empty() {
            2
        } else {
            0
        }
    }
}

/// Turns byte offsets into lines and columns.
#[derive(Debug)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

/// A place for people: from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl<'t> Lines<'t> {
    /// Finds where the lines start.
    pub(crate) fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// Line and column of a byte.
    pub(crate) fn place(&self, at: usize) -> Place {
        let at = at.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= at).max(1);
        let start = self.starts[line - 1];
        let mut end = at;
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Place { line, column: self.text[start..end].chars().count() + 1 }
    }

    /// A line's text, without its end.
    pub(crate) fn line(&self, line: usize) -> &'t str {
        let Some(start) = line.checked_sub(1).and_then(|it| self.starts.get(it)) else { return "" };
        let end = self.starts.get(line).copied().unwrap_or(self.text.len());
        self.text[*start..end].trim_end_matches(['\n', '\r'])
    }
}

/// How many lines of a finding's text are shown.
const SHOWN: usize = 6;
/// Longer lines are data.
const WIDEST: usize = 400;

impl Finding {
    /// A finding at a place of a file.
    pub(crate) fn new(
        rule: &Meta,
        level: Level,
        unit: Option<(&Unit, &Lines<'_>, Span)>,
        text: Said,
    ) -> Self {
        let mut it = Self {
            rule: rule.id,
            level,
            file: PathBuf::new(),
            line: 1,
            column: 1,
            end_line: 1,
            end_column: 1,
            source: Vec::new(),
            message: text.message,
            why: rule.why,
            fix: text.fix,
            is_fix_safe: text.is_fix_safe,
            docs: format!("docs/reference/audit/{}.md", rule.id),
        };
        if let Some((unit, lines, span)) = unit {
            let (start, end) = (lines.place(span.start), lines.place(span.end.max(span.start)));
            it.file.clone_from(&unit.path);
            (it.line, it.column) = (start.line, start.column);
            (it.end_line, it.end_column) = (end.line, end.column);
            it.source = (start.line..=end.line)
                .take(SHOWN)
                .map(|line| lines.line(line).chars().take(WIDEST).collect())
                .collect();
        }
        it
    }
}

/// What a finding takes from its rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meta {
    pub(crate) id: &'static str,
    pub(crate) why: &'static str,
}

/// What a finding says.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) message: String,
    pub(crate) fix: String,
    pub(crate) is_fix_safe: bool,
}

/// A finding that a comment allows.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Allowed {
    /// What it would have been.
    pub finding: Finding,
    /// The reason that the comment gives.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "a\nüß x\r\nlast";
        let lines = Lines::new(text);
        let at = text.find('x').unwrap();
        assert_eq!(lines.place(at), Place { line: 2, column: 4 });
        assert_eq!(lines.line(2), "üß x");
        assert_eq!(lines.place(999), Place { line: 3, column: 5 });
    }

    #[test]
    fn nothing_read_is_not_safe() {
        assert_eq!(Report::default().exit_code(), 2);
        assert_eq!(Report { statements: 1, ..Report::default() }.exit_code(), 0);
    }
}
