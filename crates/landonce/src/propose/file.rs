//! The pipeline file: what was decided, with the notes as comments where they belong.

use std::path::Path;

use landonce_core::column::Type;

use super::decide::{Choice, Decision, Standing};
use super::names::of_path;
use super::notes::Notes;
use super::stats::Guess;
use super::survey::Survey;
use super::yaml::{comment, count, list, scalar};

/// The longest column name, in bytes.
const MAX_NAME: usize = 63;
/// A field that fewer records have is typed only if all its values in a good number of records fit.
const ENOUGH: usize = 10;
/// Column names that are taken: landonce fills them.
const TAKEN: [&str; 5] =
    ["payload", "landonce_key", "landonce_digest", "landonce_run_id", "landonce_revision"];

/// A column to be declared.
struct Column {
    name: String,
    field: String,
    ty: Type,
    note: String,
}

/// Writes the file.
pub(super) fn write(survey: &Survey<'_>, decision: &Decision, notes: &Notes) -> String {
    let sample = &survey.samples[0];
    let (pipeline, table) = of_path(&sample.name);
    let mut out = String::new();
    head(survey, &mut out);
    for note in &notes.samples {
        comment(note, &mut out);
    }
    out.push_str(&format!("\npipeline: {}\n", scalar(&pipeline)));
    source(survey, &mut out);

    out.push_str("\n# What makes two records the same event.\n");
    for note in &notes.identity {
        comment(note, &mut out);
    }
    identity(survey, decision, &mut out);
    volatile(survey, decision, notes, &mut out);

    let columns = columns(survey, decision);
    out.push_str(&format!("\ntarget:\n  table: {}\n", scalar(&table)));
    if columns.is_empty() {
        out.push_str("  # All fields land as JSON in `payload`. Give a field a column and a type with `columns: {name: type}`.\n");
    } else {
        out.push_str("  columns: # all other fields land as JSON in `payload`\n");
        write_columns(&columns, &mut out);
    }

    out.push_str("\nwrite:\n  mode: upsert # the newest content wins; `insert_once` keeps the first\n");
    for note in &notes.version {
        out.push_str("  ");
        comment(note, &mut out);
    }
    for &at in &decision.versions {
        out.push_str(&format!("  # version: {}\n", scalar(&survey.fields[at].path)));
    }
    out.push_str(
        "\non_bad_record: fail # or `quarantine: {max: 1%}`: the good ones land, the bad ones are kept\n",
    );
    out
}

fn head(survey: &Survey<'_>, out: &mut String) {
    let of =
        |at: usize| format!("{} ({} records)", survey.samples[at].name, count(survey.samples[at].records));
    let from = match survey.samples {
        [_, _] => format!("{} and a second delivery, {}", of(0), of(1)),
        _ => of(0),
    };
    comment(&format!("Proposed by `landonce init` from {from}."), out);
    comment(
        "The comments say what was measured. Hold them against what the sender promises, then try `landonce plan`.",
        out,
    );
}

fn source(survey: &Survey<'_>, out: &mut String) {
    let sample = &survey.samples[0];
    let mut lines = Vec::new();
    if Path::new(&sample.name).is_file() {
        // The key is a glob: what would be a pattern in the name is meant as it is written.
        let path = glob::Pattern::escape(&sample.name);
        lines.push("# Relative to this file. A glob makes each match a batch of its own.".to_owned());
        lines.push(format!("file: {}", scalar(&path)));
    }
    let mut csv = Vec::new();
    if let Some(delimiter) = sample.delimiter {
        csv.push(format!("delimiter: {}", scalar(&delimiter.to_string())));
    }
    if !survey.nulls.is_empty() {
        csv.push(format!("nulls: {}", list(survey.nulls.iter().copied())));
    }
    if !csv.is_empty() {
        lines.push(format!("csv: {{{}}}", csv.join(", ")));
    }
    if !lines.is_empty() {
        out.push_str("\nsource:\n");
        for line in lines {
            out.push_str(&format!("  {line}\n"));
        }
    }
}

fn identity(survey: &Survey<'_>, decision: &Decision, out: &mut String) {
    let paths = |fields: &[usize]| list(fields.iter().map(|&at| survey.fields[at].path.as_str()));
    match &decision.choice {
        Choice::Fields(fields) => out.push_str(&format!("identity: {}\n", paths(fields))),
        Choice::SenderId(field) => {
            out.push_str(&format!("identity: {{sender_id: {}}}\n", scalar(&survey.fields[*field].path)));
        }
        Choice::Content(except) if except.is_empty() => out.push_str("identity: {hash_of: all}\n"),
        Choice::Content(except) => {
            out.push_str(&format!("identity: {{hash_of: all, except: {}}}\n", paths(except)));
        }
    }
    for (id, standing) in &decision.ids {
        if matches!(standing, Standing::Stable(_) | Standing::Unmeasured)
            && decision.choice != Choice::SenderId(*id)
        {
            out.push_str(&format!("# identity: {{sender_id: {}}}\n", scalar(&survey.fields[*id].path)));
        }
    }
}

fn volatile(survey: &Survey<'_>, decision: &Decision, notes: &Notes, out: &mut String) {
    let is_content = matches!(decision.choice, Choice::Content(_));
    let has_some = !decision.volatile.is_empty() || !decision.suspected.is_empty();
    // An id that isn't stable has its note beside the identity.
    if !has_some || (is_content && notes.volatile.is_empty()) {
        return;
    }
    let paths = |fields: &[usize]| list(fields.iter().map(|&at| survey.fields[at].path.as_str()));
    out.push_str("\n# What changes per attempt is stored, but a new value alone is no change.\n");
    for note in &notes.volatile {
        comment(note, out);
    }
    // With a hash of the content these fields are under `except`, which says the same.
    if is_content {
        out.push_str("# (Listed above, under `except`.)\n");
        return;
    }
    if !decision.volatile.is_empty() {
        out.push_str(&format!("volatile: {}\n", paths(&decision.volatile)));
    }
    if !decision.suspected.is_empty() {
        out.push_str(&format!("# volatile: {}\n", paths(&decision.suspected)));
    }
}

fn columns(survey: &Survey<'_>, decision: &Decision) -> Vec<Column> {
    let identity = decision.choice.fields();
    let mut taken: Vec<String> = TAKEN.map(str::to_owned).to_vec();
    let mut columns = Vec::new();
    for at in survey.top() {
        let field = &survey.fields[at];
        let Guess::Type(ty) = &field.guess else { continue };
        let is_identity = identity.contains(&at);
        // Some stores take `Id` and `id` for one column.
        let is_taken = taken.contains(&field.path.to_lowercase());
        let is_wanted = is_identity
            || (is_worth_a_column(survey, decision, at, ty) && !is_taken && field.path.len() <= MAX_NAME);
        if !is_wanted || field.path.is_empty() {
            continue;
        }
        let name = column_name(&field.path, &taken);
        taken.push(name.to_lowercase());
        let (filled, records) = (survey.filled(at), survey.records());
        let note = if is_identity {
            "in the identity".to_owned()
        } else if filled < records {
            format!("in {} of {} records", count(filled), count(records))
        } else {
            String::new()
        };
        columns.push(Column { name, field: field.path.clone(), ty: ty.clone(), note });
    }
    columns
}

/// Numbers, booleans, days, instants, UUIDs and geometries are worth a column; a text is as well off in the payload, and what
/// changes per attempt is better off there.
fn is_worth_a_column(survey: &Survey<'_>, decision: &Decision, at: usize, ty: &Type) -> bool {
    let is_known = survey.is_filled(at) || survey.filled(at) >= ENOUGH;
    let is_left_out = matches!(&decision.choice, Choice::Content(except) if except.contains(&at));
    let is_passing = is_left_out
        || [&decision.volatile, &decision.suspected].into_iter().any(|fields| fields.contains(&at));
    *ty != Type::TEXT && is_known && !is_passing
}

/// The field's own name where that can be a column's.
fn column_name(field: &str, taken: &[String]) -> String {
    let mut short = field.len().min(MAX_NAME);
    while !field.is_char_boundary(short) {
        short -= 1;
    }
    let mut name = field[..short].to_owned();
    let mut nth = 1;
    while taken.contains(&name.to_lowercase()) {
        nth += 1;
        let suffix = format!("_{nth}");
        let mut end = field.len().min(MAX_NAME - suffix.len());
        while !field.is_char_boundary(end) {
            end -= 1;
        }
        name = format!("{}{suffix}", &field[..end]);
    }
    name
}

fn write_columns(columns: &[Column], out: &mut String) {
    let lines: Vec<String> = columns.iter().map(declared).collect();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    for (line, column) in lines.iter().zip(columns) {
        let line =
            if column.note.is_empty() { line.clone() } else { format!("{line:width$} # {}", column.note) };
        out.push_str(&format!("    {line}\n"));
    }
}

fn declared(column: &Column) -> String {
    let name = scalar(&column.name);
    let ty = scalar(&column.ty.to_string());
    let is_geometry = matches!(column.ty, Type::Geometry { .. });
    if !is_geometry && column.name == column.field {
        return format!("{name}: {ty}");
    }
    let mut parts = vec![format!("type: {ty}")];
    if column.name != column.field {
        parts.push(format!("field: {}", scalar(&column.field)));
    }
    if is_geometry {
        parts.push(format!("round: {}", super::PLACES));
    }
    format!("{name}: {{{}}}", parts.join(", "))
}
