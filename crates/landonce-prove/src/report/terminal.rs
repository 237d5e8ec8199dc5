//! The report for a terminal: the verdict first, then the tables, what was found, and what was looked at.

use super::columns::{Align, Columns};
use super::words::{
    change, classes, count, does, exit_meaning, figures, headline, line, name, of_weight, plural, text,
    touched_first, wrapped,
};
use super::{Evidence, Finding, Report, Verdict, words};
use crate::class::Weight;
use crate::scenario::Scenario;

/// Whether colours may be used. Nothing is told by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// No escape sequences.
    Plain,
    /// ANSI colours.
    Ansi,
}

/// No line is longer, but for the commands to be copied.
const WIDTH: usize = 100;
/// A statement may be 4 KiB; so many lines of it tell which it is.
const STATEMENT_LINES: usize = 12;
/// Tables in the first table; JSON and HTML have them all.
const TABLES: usize = 30;
/// How many sample rows of a table; the page and the JSON hold more.
const ROWS: usize = 4;
/// Longer names are shortened.
const NAME: usize = 44;

impl Paint {
    fn coded(self, code: &str, given: &str) -> String {
        match self {
            Self::Plain => given.to_owned(),
            Self::Ansi => format!("\u{1b}[{code}m{given}\u{1b}[0m"),
        }
    }

    fn bold(self, given: &str) -> String {
        self.coded("1", given)
    }

    fn dim(self, given: &str) -> String {
        self.coded("2", given)
    }

    fn verdict(self, verdict: Verdict, given: &str) -> String {
        match verdict {
            Verdict::Safe => self.coded("32", given),
            Verdict::Violations => self.coded("31", given),
            Verdict::Unjudged => self.coded("33", given),
        }
    }
}

/// The text.
pub fn render(report: &Report, paint: Paint) -> String {
    let mut out = head(report, paint);
    out.push_str(&tables(report, paint));
    let mut last = None;
    for (scenario, finding) in of_weight(report, Weight::Violation) {
        if last != Some(scenario.scenario) {
            last = Some(scenario.scenario);
            out.push_str(&format!(
                "\n{}\n",
                paint.bold(&format!("{}: {}", scenario.scenario.name(), does(scenario.scenario)))
            ));
        }
        out.push_str(&violation(finding, paint));
    }
    if of_weight(report, Weight::Remark).next().is_some() {
        out.push_str(&format!("\n{}\n", paint.bold("Remarks: no harm, but a cost")));
        for (scenario, finding) in of_weight(report, Weight::Remark) {
            out.push_str(&remark(scenario.scenario, finding, paint));
        }
    }
    out.push_str(&scenarios(report, paint));
    out.push_str(&left_out(report, paint));
    out.push_str(&format!("\n{}\n", paint.verdict(report.verdict, &exit_meaning(report))));
    out
}

fn head(report: &Report, paint: Paint) -> String {
    let told = wrapped(&headline(report), WIDTH).join("\n");
    let mut out = format!("{}\n", paint.bold(&paint.verdict(report.verdict, &told)));
    out.push('\n');
    let command: Vec<_> = report.command.iter().map(|argument| line(argument)).collect();
    out.push_str(&row("command", &command.join(" ")));
    out.push_str(&row("database", &line(&report.database)));
    let took = words::took(words::seconds(report.took));
    out.push_str(&row("took", &format!("{took}, seed {}, landonce {}", report.seed, report.landonce)));
    out
}

fn tables(report: &Report, paint: Paint) -> String {
    if report.tables.is_empty() {
        return String::new();
    }
    let mut table = Columns::new(&[
        ("table", Align::Left),
        ("rows after 1 run", Align::Right),
        ("after 2", Align::Right),
        ("rewritten by run 2", Align::Right),
    ]);
    for one in touched_first(&report.tables).into_iter().take(TABLES) {
        table.push(vec![
            name(&one.table, NAME),
            count(one.after_one),
            count(one.after_two),
            count(one.rewritten),
        ]);
    }
    let mut out = format!("\n{}", table.render(WIDTH, |head| paint.bold(head), |_, cell| cell));
    if report.tables.len() > TABLES {
        out.push_str(&format!("… and {}\n", plural((report.tables.len() - TABLES) as u64, "more table")));
    }
    out
}

fn violation(finding: &Finding, paint: Paint) -> String {
    let class = finding.class;
    let mut out = format!(
        "\n  {} {}\n",
        paint.bold(&paint.verdict(Verdict::Violations, class.name())),
        paint.dim(&format!("({})", class.title()))
    );
    out.push_str(&paragraph(&line(&finding.message), 4));
    for evidence in &finding.tables {
        out.push_str(&rows_of(evidence, paint));
    }
    if let Some(statement) = &finding.statement {
        out.push_str(&format!("\n    {}\n", paint.bold("likely statement")));
        let lines = wrapped(&text(statement.trim()).replace('\t', "    "), WIDTH - 6);
        for one in lines.iter().take(STATEMENT_LINES) {
            out.push_str(&indented(one, 6));
        }
        if lines.len() > STATEMENT_LINES {
            out.push_str(&format!(
                "      … {}\n",
                plural((lines.len() - STATEMENT_LINES) as u64, "more line")
            ));
        }
    }
    out.push_str(&format!("\n    {}\n", paint.bold("what to do")));
    out.push_str(&paragraph(&line(&finding.fix), 6));
    if let Some(sql) = &finding.sql {
        out.push_str("\n      for example, with tables that stand for yours:\n");
        for one in text(sql).lines() {
            out.push_str(&indented(one, 6));
        }
    }
    out.push('\n');
    out.push_str(&seen_in(finding));
    // Never wrapped: it is there to be copied.
    out.push_str(&format!("    replay    {}\n", line(&finding.replay)));
    out.push_str(&format!("    more      landonce explain {}\n", finding.class));
    out
}

fn remark(scenario: Scenario, finding: &Finding, paint: Paint) -> String {
    let class = finding.class;
    let mut out = format!(
        "\n  {} {}\n",
        paint.bold(&paint.verdict(Verdict::Unjudged, class.name())),
        paint.dim(&format!("({}; {})", class.title(), scenario.name()))
    );
    out.push_str(&paragraph(&line(&finding.message), 4));
    out.push_str(&paragraph(&line(&finding.fix), 4));
    out.push_str(&format!("    replay    {}\n", line(&finding.replay)));
    out.push_str(&format!("    more      landonce explain {}\n", finding.class));
    out
}

fn rows_of(evidence: &Evidence, paint: Paint) -> String {
    let mut out = format!("\n    {}\n", paint.bold(&name(&evidence.table, NAME)));
    out.push_str(&paragraph(&figures(evidence), 6));
    for sample in evidence.samples.iter().take(ROWS) {
        let (sign, word) = change(sample.change);
        let mut told = line(&sample.row).into_owned();
        if !word.is_empty() {
            told.push_str(&format!(" ({word})"));
        }
        for (at, one) in wrapped(&told, WIDTH - 8).iter().enumerate() {
            let lead = if at == 0 { sign } else { ' ' };
            out.push_str(&format!("      {lead} {one}\n"));
        }
    }
    out
}

/// In which trials it shows; many are counted.
fn seen_in(finding: &Finding) -> String {
    const SHOWN: usize = 3;
    let mut out = String::new();
    for (at, trial) in finding.trials.iter().take(SHOWN).enumerate() {
        let lead = if at == 0 { "seen in" } else { "" };
        for (at, one) in wrapped(&line(trial), WIDTH - 14).iter().enumerate() {
            out.push_str(&format!("    {:<8}  {one}\n", if at == 0 { lead } else { "" }));
        }
    }
    if finding.trials.len() > SHOWN {
        let more = plural((finding.trials.len() - SHOWN) as u64, "more trial");
        out.push_str(&format!("              … and {more}\n"));
    }
    out
}

fn scenarios(report: &Report, paint: Paint) -> String {
    if report.scenarios.is_empty() {
        return String::new();
    }
    let mut table = Columns::new(&[
        ("scenario", Align::Left),
        ("verdict", Align::Left),
        ("trials", Align::Right),
        ("why", Align::Left),
    ]);
    for one in &report.scenarios {
        let why = match &one.because {
            Some(because) => line(because).into_owned(),
            None => classes(one).join(", "),
        };
        table.push(vec![
            one.scenario.name().to_owned(),
            words::verdict(one.verdict).to_owned(),
            count(one.trials.len() as u64),
            why,
        ]);
    }
    let verdicts: Vec<Verdict> = report.scenarios.iter().map(|one| one.verdict).collect();
    format!(
        "\n{}",
        table.render(
            WIDTH,
            |head| paint.bold(head),
            |at, cell| match verdicts.get(at.row) {
                Some(&verdict) if at.column == 1 => paint.verdict(verdict, &cell),
                _ => cell,
            }
        )
    )
}

fn left_out(report: &Report, paint: Paint) -> String {
    if report.left_out.is_empty() {
        return String::new();
    }
    let mut table = Columns::new(&[("not compared", Align::Left), ("why", Align::Left)]);
    for one in &report.left_out {
        table.push(vec![name(&one.what, NAME), line(&one.why).into_owned()]);
    }
    format!("\n{}", table.render(WIDTH, |head| paint.bold(head), |_, cell| cell))
}

fn row(name: &str, told: &str) -> String {
    let lines = wrapped(told, WIDTH - 12);
    lines
        .iter()
        .enumerate()
        .map(|(at, one)| format!("  {:<8}  {one}\n", if at == 0 { name } else { "" }))
        .collect()
}

fn paragraph(told: &str, indent: usize) -> String {
    wrapped(told, WIDTH - indent).iter().map(|one| indented(one, indent)).collect()
}

fn indented(one: &str, indent: usize) -> String {
    if one.is_empty() { "\n".to_owned() } else { format!("{:indent$}{one}\n", "") }
}
