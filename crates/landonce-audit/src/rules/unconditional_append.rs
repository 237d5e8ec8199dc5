//! `unconditional-append`: rows are added whether or not they are there already, and no key is known that would refuse them.

use sqlparser::ast::{BinaryOperator, Expr, Query, SetExpr, SetOperator};

use super::check_then_insert;
use super::facts::flow::{Flow, What, last};
use super::facts::tables::{Name, is_error_log, is_ledger_name, likely_key, natural_keys};
use super::facts::value::argument_words;
use super::facts::write::{Conflict, Kind, Write, columns, conflict, relations, select_source};
use super::facts::{Facts, hit, place};
use crate::code::{Call, Span, Value};
use crate::file::Language;
use crate::rule::{Hit, Level, Project, Rule};
use crate::sql::{HOLE, Statement};

pub(super) const RULE: Rule = Rule {
    id: "unconditional-append",
    title: "rows are appended without a key that would refuse them the second time",
    why: "A retry, a second delivery or a second run adds the same rows again, and nothing in the table can tell the copies \
          apart.",
    level: Level::Error,
    safe_fix: None,
    check,
};

/// An append that nothing guards but, perhaps, a key of the table.
pub(super) struct Append {
    pub(super) unit: usize,
    pub(super) span: Span,
    pub(super) table: Name,
    pub(super) columns: Vec<String>,
    /// What appends: `INSERT`, `COPY`, `to_sql`.
    pub(super) by: &'static str,
    /// The same rows are deleted before, but not in the same transaction.
    pub(super) is_after_delete: bool,
    /// The same function makes the table, and would fail the second time.
    pub(super) is_after_create: bool,
    /// It is what a dbt model's materialization does.
    pub(super) is_model: bool,
}

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for append in appends(facts).into_iter().filter(|append| !append.is_after_create) {
        let table = facts.table(&append.table);
        // A table with a natural key fails loudly; one with a generated key only is a finding of its own.
        if table.is_some_and(|table| {
            !natural_keys(table).is_empty() || super::generated_identity::is_only_generated(table)
        }) {
            continue;
        }
        let name = &append.table.written;
        if append.is_model {
            hits.push(hit(
                append.unit,
                append.span,
                Level::Error,
                format!("the incremental model {name} has no unique_key: every run appends what its filter lets through, late and repeated rows included"),
                format!("Add unique_key=['the columns that identify a row'] to the config of {name}, so that dbt merges."),
            ));
            continue;
        }
        let mut message = if append.is_after_delete {
            format!(
                "{} deletes from {name} and fills it again in two transactions: a crash or a second run between them loses or doubles rows",
                append.by
            )
        } else {
            format!("{} adds rows to {name} again at every retry", append.by)
        };
        let level = if table.is_some() {
            message.push_str("; the table has no unique key");
            Level::Error
        } else {
            message.push_str("; no unique key of it is known from the files that would refuse them");
            Level::Warning
        };
        hits.push(hit(append.unit, append.span, level, message, fix(&append)));
    }
}

fn fix(append: &Append) -> String {
    let (name, key) = (&append.table.written, likely_key(&append.columns).join(", "));
    if append.is_after_delete {
        return format!(
            "Put both into one transaction: BEGIN; DELETE FROM {name} WHERE …; INSERT INTO {name} …; COMMIT."
        );
    }
    let how = match append.by {
        "COPY" => format!(
            "COPY into a temporary table, then INSERT INTO {name} SELECT … ON CONFLICT ({key}) DO NOTHING"
        ),
        "INSERT" => format!("end the statement with ON CONFLICT ({key}) DO NOTHING"),
        by => format!(
            "let {by} fill a temporary table, then INSERT INTO {name} SELECT … ON CONFLICT ({key}) DO NOTHING"
        ),
    };
    format!("Give the table a key, CREATE UNIQUE INDEX ON {name} ({key}), and {how}.")
}

/// Every append in the project that isn't guarded by what stands around it.
pub(super) fn appends(facts: &Facts<'_>) -> Vec<Append> {
    let mut found = Vec::new();
    for flow in &facts.flows {
        let is_dbt = flow.unit.language == Language::Dbt;
        let is_model = flow.function.decorators.iter().any(|name| name == "dbt.incremental");
        // What dbt does for a snapshot or a table it does by keys of its own, or anew.
        if is_dbt && !is_model {
            continue;
        }
        for (at, event) in flow.events.iter().enumerate() {
            if event.is_handling() {
                continue;
            }
            match &event.what {
                What::Sql { statement, writes, .. } => {
                    for write in writes {
                        let Some((by, columns)) = append(facts, statement, write, is_model) else { continue };
                        let keywords = if by == "COPY" { "copy" } else { "insert into" };
                        let span = place(statement, keywords, &write.table);
                        found.extend(guard(facts, flow, at, &write.table).map(|guard| Append {
                            unit: flow.index,
                            span,
                            table: write.table.clone(),
                            columns,
                            by,
                            is_after_delete: guard.is_after_delete,
                            is_after_create: guard.is_after_create,
                            is_model,
                        }));
                    }
                }
                What::Call(call) => {
                    let Some((by, table)) = append_by_call(call) else { continue };
                    if facts.is_staging(&table) {
                        continue;
                    }
                    let columns = facts
                        .table(&table)
                        .map(|table| table.columns.iter().map(|column| column.name.clone()).collect())
                        .unwrap_or_default();
                    found.extend(guard(facts, flow, at, &table).map(|guard| Append {
                        unit: flow.index,
                        span: call.span,
                        table: table.clone(),
                        columns,
                        by,
                        is_after_delete: guard.is_after_delete,
                        is_after_create: guard.is_after_create,
                        is_model: false,
                    }));
                }
                What::Test(_) => {}
            }
        }
    }
    found
}

/// What a write appends by, if it appends.
fn append(
    facts: &Facts<'_>,
    statement: &Statement,
    write: &Write<'_>,
    is_model: bool,
) -> Option<(&'static str, Vec<String>)> {
    // A table whose name only the run knows is told of as what could not be read.
    let name = &write.table;
    if facts.is_staging(name) || name.bare.contains('{') || is_ledger_name(name) || is_error_log(name) {
        return None;
    }
    match write.kind {
        Kind::Insert(insert) => {
            // INSERT OR ABORT says that a key is relied on.
            let is_plain = matches!(conflict(insert), Conflict::None) && insert.or.is_none();
            let is_checked =
                !is_model && select_source(insert).is_some_and(|query| is_anti_join(query, &write.table));
            // SQLite's rowid is a key, whatever the table declares.
            let is_numbered = insert.columns.iter().any(|column| Name::of(column).bare == "rowid");
            (is_plain && !is_checked && !is_numbered && !has_open_end(statement))
                .then(|| ("INSERT", columns(insert, facts.table(&write.table))))
        }
        Kind::Copy(idents) => {
            let named: Vec<String> = idents.iter().map(|ident| ident.value.to_ascii_lowercase()).collect();
            Some(("COPY", named))
        }
        _ => None,
    }
}

/// Whether a part that only the run knows follows the rows, where a conflict clause would stand.
fn has_open_end(statement: &Statement) -> bool {
    let lower = statement.text.to_ascii_lowercase();
    let Some((_, mut rest)) = lower.split_once("values") else { return false };
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if !rest.starts_with('(') {
            break;
        }
        let mut depth = 0_usize;
        let end = rest.char_indices().find_map(|(at, c)| {
            depth = match c {
                '(' => depth + 1,
                ')' => depth.saturating_sub(1),
                _ => depth,
            };
            (depth == 0).then_some(at + 1)
        });
        rest = end.and_then(|end| rest.get(end..)).unwrap_or_default();
    }
    rest.starts_with(['{', '+', HOLE]) || rest.starts_with("${") || rest.starts_with("\"{")
}

/// Whether the query leaves out what the table has already. Whether that is enough is for `check-then-insert`.
pub(super) fn is_anti_join(query: &Query, table: &Name) -> bool {
    let is_named = relations(query).iter().any(|name| name.is(table));
    if !is_named {
        return false;
    }
    match &*query.body {
        SetExpr::SetOperation { op: SetOperator::Except | SetOperator::Minus, .. } => true,
        SetExpr::Select(select) => select.selection.as_ref().is_some_and(has_absence_test),
        _ => false,
    }
}

fn has_absence_test(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            has_absence_test(left) || has_absence_test(right)
        }
        Expr::Nested(inner) => has_absence_test(inner),
        Expr::UnaryOp { expr, .. } => {
            matches!(&**expr, Expr::Exists { .. } | Expr::In { .. } | Expr::Nested(_))
        }
        Expr::Exists { negated, .. } | Expr::In { negated, .. } => *negated,
        Expr::IsNull(_) => true,
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            matches!((&**left, &**right), (Expr::Subquery(_), _) | (_, Expr::Subquery(_)))
        }
        // WHERE s.id > (SELECT max(id) FROM t): a bookmark in the table itself, as good as the order of its values.
        Expr::BinaryOp { right, .. } => matches!(&**right, Expr::Subquery(_)) || has_subquery_inside(right),
        _ => false,
    }
}

fn has_subquery_inside(expr: &Expr) -> bool {
    expr.to_string().to_ascii_lowercase().contains("(select ")
}

/// What stands before an append and doesn't keep it from being repeated.
#[derive(Default)]
struct Before {
    /// A delete, in another transaction.
    is_after_delete: bool,
    /// The table's creation.
    is_after_create: bool,
}

/// `None` where something around the append keeps it from being repeated.
fn guard(facts: &Facts<'_>, flow: &Flow<'_>, at: usize, table: &Name) -> Option<Before> {
    let has_key = |name: &Name| facts.table(name).is_some_and(|table| !natural_keys(table).is_empty());
    if flow.relies_on_key(at)
        || flow.is_claimed(at, &has_key)
        || check_then_insert::is_checked(flow, at, table)
    {
        return None;
    }
    let mut before = Before::default();
    for (earlier, event) in flow.events[..at].iter().enumerate() {
        for write in event.writes() {
            if !write.table.is(table) {
                continue;
            }
            match write.kind {
                Kind::Drop | Kind::Truncate => return None,
                Kind::Create => before.is_after_create = true,
                // Deleting everything is for `delete-by-absence`.
                Kind::Delete(delete) if delete.selection.is_none() => return None,
                Kind::Delete(_) if flow.is_together(earlier, at) => return None,
                Kind::Delete(_) => before.is_after_delete = true,
                _ => {}
            }
        }
    }
    // One statement: WITH gone AS (DELETE … RETURNING …) INSERT …
    let own = flow.events[at].writes();
    if own.iter().any(|write| matches!(write.kind, Kind::Delete(_))) {
        return None;
    }
    Some(before)
}

/// A call that appends, and the table that it appends to.
fn append_by_call(call: &Call) -> Option<(&'static str, Name)> {
    let text = |name: &str, position: usize| {
        call.arguments
            .iter()
            .find(|argument| argument.name.as_deref() == Some(name))
            .or_else(|| call.arguments.iter().filter(|argument| argument.name.is_none()).nth(position))
            .and_then(|argument| match &argument.value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })
    };
    match last(&call.callee) {
        "to_sql" => {
            let mode = text("if_exists", 3)?;
            // A function as the method writes the INSERT itself, as a rule with ON CONFLICT.
            let is_own = call.arguments.iter().any(|argument| {
                argument.name.as_deref() == Some("method")
                    && !matches!(&argument.value, Value::Text(_) | Value::Constant(_))
            });
            (mode == "append" && !is_own).then_some(("to_sql", Name::text(&text("name", 0)?)))
        }
        "copy_from" => Some(("copy_from", Name::text(&text("table", 1)?))),
        "copy_records_to_table" | "copy_to_table" => {
            Some(("copy_records_to_table", Name::text(&text("table_name", 0)?)))
        }
        "insert_rows" if argument_words(&call.arguments).contains("replace") => None,
        "insert_rows" => Some(("insert_rows", Name::text(&text("table", 0)?))),
        "load_table_from_dataframe" if !argument_words(&call.arguments).contains("write_truncate") => {
            // A name that only the run knows is, more often than not, that of a table for this run.
            let Value::Text(table) = &call.arguments.get(1)?.value else { return None };
            Some(("load_table_from_dataframe", Name::text(table)))
        }
        _ => None,
    }
}
