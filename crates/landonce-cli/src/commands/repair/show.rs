//! A repair's report, for people.

use landonce::repair::{Added, Cell, KeysReport, Report, ShownGroup, Status, Unverified};
use owo_colors::OwoColorize as _;

use crate::report::line;

/// A value is cut to this in an example.
const LONGEST: usize = 64;

/// What `repair dedupe` found or did.
pub(super) fn dedupe(report: &Report) -> String {
    let mut out = String::new();
    let mut say = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let (table, key) = (line(&report.table).into_owned(), line(&report.key.join(", ")).into_owned());
    let is_done = report.status == Status::Applied;
    if report.duplicates == 0 {
        say(format!(
            "{table}: {}, none of which is a copy of another by ({key})",
            plural(report.rows, "row")
        ));
    } else {
        let went = match (is_done, report.duplicates) {
            (false, _) => "would be deleted",
            (true, 1) => "was deleted",
            (true, _) => "were deleted",
        };
        say(format!(
            "{}: {}; {} by ({key}) with copies: {} {went}",
            table.bold(),
            plural(report.rows, "row"),
            plural(report.groups, "identity"),
            plural(report.duplicates, "row")
        ));
        say(format!("  stays     {}: {}", line(&report.kept_by.rule), line(&report.kept_by.why)));
        say(format!(
            "  content   {}",
            match report.differing {
                0 =>
                    "each row that goes is equal to the one that stays, but for its own key and when it came"
                        .to_owned(),
                some => format!("{some} of the rows that go differ from the one that stays"),
            }
        ));
        if report.null_keys > 0 {
            say(format!(
                "  NULL      {} with a NULL in the key; two NULLs are equal here",
                plural(report.null_keys, "row")
            ));
        }
        for group in &report.first_groups {
            say(shown(group));
        }
        if report.groups > report.first_groups.len() as u64 {
            say(format!("  … and {} more", report.groups - report.first_groups.len() as u64));
        }
    }
    surroundings(report, &mut out);
    out
}

/// What `repair keys` found or did.
pub(super) fn keys(report: &KeysReport) -> String {
    let mut out = String::new();
    let mut say = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    let rows = &report.rows;
    let is_done = rows.status == Status::Applied;
    let (get, go) = if is_done { ("got", "gone") } else { ("would get", "to go") };
    say(format!(
        "{}: {}; {} of them {get} another key in {}{}",
        line(&rows.table).bold(),
        plural(rows.rows, "row"),
        report.changed,
        line(&report.new_column),
        if report.is_new_column { ", a column that is added" } else { "" }
    ));
    if report.unverified == 0 {
        say(format!(
            "  old keys  every row's {} is what the old pipeline makes of it",
            line(&report.old_column)
        ));
    } else {
        say(format!(
            "  old keys  {} whose {} isn't what the old pipeline makes of it:",
            plural(report.unverified, "row"),
            line(&report.old_column)
        ));
        report.first_unverified.iter().for_each(|row| say(unverified(row)));
    }
    if report.unkeyed > 0 {
        say(format!("  no key    {}:", plural(report.unkeyed, "row")));
        report.first_unkeyed.iter().for_each(|row| say(unverified(row)));
    }
    if rows.duplicates > 0 {
        say(format!(
            "  one event {} with rows under several old keys: {} {go}",
            plural(rows.groups, "identity"),
            plural(rows.duplicates, "row")
        ));
        say(format!("  stays     {}: {}", line(&rows.kept_by.rule), line(&rows.kept_by.why)));
        rows.first_groups.iter().for_each(|group| say(shown(group)));
    }
    surroundings(rows, &mut out);
    out
}

fn unverified(row: &Unverified) -> String {
    format!("    {} is stored, {}", value_of(row.stored.as_deref()), value_of(Some(&row.made)))
}

/// What points at the rows, the constraint, what is to be known, and how it ended.
fn surroundings(report: &Report, out: &mut String) {
    let is_done = report.status == Status::Applied;
    let mut say = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    for reference in &report.references {
        let moved = if is_done { "now" } else { "to be" };
        say(format!(
            "  reference {} ({}): {} {moved} pointed at the row that stays",
            line(&reference.table),
            line(&reference.columns.join(", ")),
            plural(reference.rows, "row")
        ));
        for clash in &reference.first_clashes {
            let values: Vec<String> = clash.values.iter().map(|value| value_of(value.as_deref())).collect();
            say(format!(
                "    equal under {}: ({}), the rows whose ({}) is {}",
                line(&clash.index),
                values.join(", "),
                line(&reference.row_key.join(", ")),
                line(&clash.rows.join(" | "))
            ));
        }
    }
    let name = report.constraint.name.as_deref().map(|name| line(name).into_owned()).unwrap_or_default();
    let note = report.constraint.note.as_deref().map_or(String::new(), |note| format!(": {}", line(note)));
    match report.constraint.state {
        Added::Present => say(format!("  unique    {name} is there{note}")),
        Added::Missing => say(format!("  unique    nothing keeps copies out; {name} would be added{note}")),
        Added::Added => say(format!("  unique    {name} was added{note}")),
        Added::Failed => say(format!("  unique    {name} could not be added{note}")),
        Added::NotAsked => {}
    }
    for text in &report.notes {
        say(format!("  note      {}", line(text)));
    }
    for text in &report.refusals {
        say(format!("  {}   {}", "refused".bold(), line(text)));
    }
    match (&report.status, &report.script) {
        (Status::Applied, Some(script)) => {
            say(format!("repaired; {} takes it back", line(&script.display().to_string())));
        }
        (Status::Applied, None) => say("repaired; no row was touched".to_owned()),
        (Status::Planned, _) => say("nothing was written; --apply does it".to_owned()),
        (Status::Refused, _) => say("nothing was written".to_owned()),
        (Status::Clean, _) => say("nothing to repair".to_owned()),
    }
}

/// A group, by what its rows differ in: all the rest is the same.
fn shown(group: &ShownGroup) -> String {
    let key: Vec<String> = group.key.iter().map(cell).collect();
    let mut out = format!("  {}", key.join(" "));
    let differing: Vec<usize> = (0..group.stays.len())
        .filter(|&at| group.goes.iter().any(|row| row.get(at) != group.stays.get(at)))
        .collect();
    let row = |cells: &[Cell]| -> String {
        let shown: Vec<String> = differing.iter().filter_map(|&at| cells.get(at)).map(cell).collect();
        if shown.is_empty() { "(equal in every column)".to_owned() } else { shown.join(" ") }
    };
    out.push_str(&format!("\n    stays  {}", row(&group.stays)));
    for gone in &group.goes {
        out.push_str(&format!("\n    goes   {}", row(gone)));
    }
    out
}

pub(super) fn cell(cell: &Cell) -> String {
    format!("{}={}", line(&cell.column), value_of(cell.value.as_deref()))
}

fn value_of(value: Option<&str>) -> String {
    let Some(value) = value else { return "NULL".to_owned() };
    let shown = line(value);
    if shown.chars().count() <= LONGEST {
        return shown.into_owned();
    }
    let start: String = shown.chars().take(LONGEST - 1).collect();
    format!("{start}…")
}

pub(super) fn plural(count: u64, noun: &str) -> String {
    match (count, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "identity") => format!("{count} identities"),
        _ => format!("{count} {noun}s"),
    }
}
