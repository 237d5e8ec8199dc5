//! The audit for people: place, text underlined, why, what to do. Nothing is said by colour alone.

use crate::finding::{Finding, Report};
use crate::rule::Level;

const BOLD: &str = "\u{1b}[1m";
const RED: &str = "\u{1b}[1;31m";
const YELLOW: &str = "\u{1b}[1;33m";
const BLUE: &str = "\u{1b}[1;34m";
const RESET: &str = "\u{1b}[0m";

/// How many unread places are listed one by one.
const LISTED: usize = 20;

/// The report as text.
pub fn terminal(report: &Report, has_color: bool) -> String {
    let paint = |color: &'static str, text: &str| {
        if has_color { format!("{color}{text}{RESET}") } else { text.to_owned() }
    };
    let mut out = String::new();
    for finding in &report.findings {
        one(finding, &paint, &mut out);
        out.push('\n');
    }
    if !report.unread.is_empty() {
        out.push_str(&paint(BOLD, "could not read"));
        out.push('\n');
        for finding in report.unread.iter().take(LISTED) {
            out.push_str(&format!(
                "  {}:{}:{}: {}\n",
                finding.file.display(),
                finding.line,
                finding.column,
                finding.message
            ));
        }
        if report.unread.len() > LISTED {
            out.push_str(&format!(
                "  … and {} more (`--output json` lists all)\n",
                report.unread.len() - LISTED
            ));
        }
        out.push('\n');
    }
    for allowed in &report.allowed {
        let finding = &allowed.finding;
        out.push_str(&format!(
            "allowed[{}] {}:{}: {}\n",
            finding.rule,
            finding.file.display(),
            finding.line,
            allowed.reason
        ));
    }
    if !report.allowed.is_empty() {
        out.push('\n');
    }
    out.push_str(&summary(report));
    out.push('\n');
    out
}

fn one(finding: &Finding, paint: &dyn Fn(&'static str, &str) -> String, out: &mut String) {
    let (word, color) = match finding.level {
        Level::Error => ("error", RED),
        Level::Warning => ("warning", YELLOW),
    };
    let title = paint(color, &format!("{word}[{}]", finding.rule));
    out.push_str(&format!("{title}: {}\n", paint(BOLD, &finding.message)));
    let width = (finding.line + finding.source.len()).to_string().len();
    let pad = " ".repeat(width);
    let arrow = paint(BLUE, "-->");
    if finding.source.is_empty() {
        out.push_str(&format!("{pad}{arrow} {}\n", finding.file.display()));
    } else {
        out.push_str(&format!(
            "{pad}{arrow} {}:{}:{}\n",
            finding.file.display(),
            finding.line,
            finding.column
        ));
        let bar = paint(BLUE, "|");
        out.push_str(&format!("{pad} {bar}\n"));
        for (index, line) in finding.source.iter().enumerate() {
            let number = finding.line + index;
            let shown = line.replace('\t', "    ");
            out.push_str(&format!("{} {bar} {shown}\n", paint(BLUE, &format!("{number:>width$}"))));
            let (from, to) = underlined(finding, index, line);
            if to > from {
                let (before, inside) = (shown_width(line, 0, from), shown_width(line, from, to));
                let marks = paint(color, &"^".repeat(inside.max(1)));
                out.push_str(&format!("{pad} {bar} {}{marks}\n", " ".repeat(before)));
            }
        }
        if finding.end_line >= finding.line + finding.source.len() {
            out.push_str(&format!("{pad} {bar} …\n"));
        }
    }
    let equals = paint(BLUE, "=");
    out.push_str(&format!("{pad} {equals} why: {}\n", finding.why));
    let safe = if finding.is_fix_safe { "the fix is safe" } else { "look before you apply it" };
    out.push_str(&format!("{pad} {equals} fix: {} ({safe})\n", finding.fix));
    out.push_str(&format!("{pad} {equals} docs: {}\n", finding.docs));
}

/// From which to which character a line of the finding is underlined.
fn underlined(finding: &Finding, index: usize, line: &str) -> (usize, usize) {
    let number = finding.line + index;
    let length = line.trim_end().chars().count();
    let indent = line.chars().take_while(|c| c.is_whitespace()).count();
    let from = if index == 0 { finding.column - 1 } else { indent };
    let to = if number == finding.end_line { finding.end_column - 1 } else { length };
    (from, to.min(length.max(from + 1)))
}

/// How wide characters `from..to` are on the screen: a tab is four, everything else one.
fn shown_width(line: &str, from: usize, to: usize) -> usize {
    line.chars().skip(from).take(to - from).map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

fn summary(report: &Report) -> String {
    let errors = report.findings.iter().filter(|it| it.level == Level::Error).count();
    let warnings = report.findings.len() - errors;
    let mut parts = vec![count(errors, "error"), count(warnings, "warning")];
    if !report.allowed.is_empty() {
        parts.push(format!("{} allowed", report.allowed.len()));
    }
    if !report.unread.is_empty() {
        parts.push(format!("{} could not be read", count(report.unread.len(), "place")));
    }
    let mut read = vec![count(report.files, "file"), count(report.statements, "statement")];
    if report.tables > 0 {
        read.push(count(report.tables, "live table"));
    }
    let nothing = if report.exit_code() == 2 { "; nothing was read, so nothing is judged" } else { "" };
    format!("{} in {}{nothing}", parts.join(", "), read.join(", "))
}

fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
