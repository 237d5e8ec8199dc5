//! What an expression is made of: clocks, chance, columns, placeholders. What that means for a table is left to the rules.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Value, Visit};

use super::walk;

/// A name as a key: lower-case unless it is quoted.
pub(crate) fn ident(ident: &sqlparser::ast::Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// A dotted name as a key: `schema.table`.
pub(crate) fn name(name: &ObjectName) -> String {
    let parts: Vec<String> = name
        .0
        .iter()
        .map(|part| part.as_ident().map_or_else(|| part.to_string().to_lowercase(), ident))
        .collect();
    parts.join(".")
}

/// The last part of a dotted name: the column of `t.column`.
pub(crate) fn last_part(name: &str) -> &str {
    if name.starts_with('{') { name } else { name.rsplit('.').next().unwrap_or(name) }
}

/// The functions that are called anywhere in it, lower-case, in order; `current_date` and its kind among them.
pub(crate) fn calls(node: &impl Visit) -> Vec<String> {
    let mut found = Vec::new();
    let _ = walk::expressions(node, |expr| {
        if let Expr::Function(function) = expr {
            found.push(name(&function.name));
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

/// Whether the server's clock is read anywhere in it.
pub(crate) fn is_clock(node: &impl Visit) -> bool {
    let mut found = false;
    let _ = walk::expressions(node, |expr| {
        found |= match expr {
            Expr::Function(function) => is_clock_call(&name(&function.name), &function.args),
            // `'now'::timestamp`, `'today'::date`.
            Expr::Cast { expr, .. } => is_now_text(expr),
            Expr::TypedString(typed) => text_of(&typed.value.value)
                .is_some_and(|text| matches!(text.to_lowercase().as_str(), "now" | "today")),
            Expr::Identifier(it) => {
                it.quote_style.is_none()
                    && matches!(it.value.to_lowercase().as_str(), "sysdate" | "systimestamp")
            }
            _ => false,
        };
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

fn is_now_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value)
        if text_of(&value.value).is_some_and(|text| matches!(text.to_lowercase().as_str(), "now" | "today" | "yesterday" | "tomorrow")))
}

fn is_clock_call(name: &str, args: &FunctionArguments) -> bool {
    match last_part(name) {
        "now"
        | "current_timestamp"
        | "current_date"
        | "current_time"
        | "localtime"
        | "localtimestamp"
        | "clock_timestamp"
        | "statement_timestamp"
        | "transaction_timestamp"
        | "timeofday"
        | "sysdate"
        | "systimestamp"
        | "sysdatetime"
        | "sysutcdatetime"
        | "getdate"
        | "getutcdate"
        | "curdate"
        | "curtime"
        | "utc_timestamp"
        | "utc_date"
        | "current_datetime"
        | "txid_current"
        | "pg_current_xact_id" => true,
        "unix_timestamp" | "unixepoch" | "current_timestamp_ms" | "today" => arguments(args).is_empty(),
        "datetime" | "date" | "time" | "julianday" | "strftime" => {
            arguments(args).iter().any(|arg| is_now_text(arg))
        }
        _ => false,
    }
}

/// Whether chance has a say in it: a random number, a UUID that is made here.
pub(crate) fn is_random(node: &impl Visit) -> bool {
    calls(node).iter().any(|name| {
        matches!(
            last_part(name),
            "random"
                | "rand"
                | "gen_random_uuid"
                | "gen_random_bytes"
                | "uuid_generate_v4"
                | "uuid_generate_v1"
                | "uuid_generate_v1mc"
                | "uuidv4"
                | "uuidv7"
                | "uuid"
                | "newid"
                | "newsequentialid"
                | "generate_uuid"
                | "uuid_string"
                | "randomblob"
                | "uuid_short"
                | "generateuuidv4"
                | "gen_ulid"
                | "ulid_generate"
                | "randstr"
        )
    })
}

/// Whether it takes the next number of a sequence.
pub(crate) fn is_sequence(node: &impl Visit) -> bool {
    calls(node).iter().any(|name| matches!(last_part(name), "nextval" | "seq_nextval" | "last_insert_rowid"))
}

/// A function's unnamed and named arguments that are expressions.
pub(crate) fn arguments(args: &FunctionArguments) -> Vec<&Expr> {
    let FunctionArguments::List(list) = args else { return Vec::new() };
    list.args
        .iter()
        .filter_map(|arg| match arg {
            FunctionArg::Named { arg, .. }
            | FunctionArg::ExprNamed { arg, .. }
            | FunctionArg::Unnamed(arg) => match arg {
                FunctionArgExpr::Expr(expr) => Some(expr),
                _ => None,
            },
        })
        .collect()
}

/// A text constant's text.
pub(crate) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::NationalStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::TripleSingleQuotedString(text) => Some(text.clone()),
        Value::DollarQuotedString(text) => Some(text.value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Style, Text, read};

    fn tree(sql: &str) -> sqlparser::ast::Statement {
        read(&Text::verbatim(sql, 0), &Style::default(), &mut Vec::new()).remove(0).tree
    }

    #[test]
    fn clocks_are_known() {
        for sql in [
            "SELECT now()",
            "SELECT CURRENT_DATE - 1",
            "SELECT date('now', '-1 day')",
            "SELECT 'now'::timestamptz",
            "SELECT date_trunc('day', clock_timestamp())",
            "SELECT GETDATE()",
        ] {
            assert!(is_clock(&tree(sql)), "{sql}");
        }
        for sql in
            ["SELECT date('2020-01-01')", "SELECT a.now FROM a", "SELECT 'now'", "SELECT DATE '2020-01-01'"]
        {
            assert!(!is_clock(&tree(sql)), "{sql}");
        }
    }

    #[test]
    fn chance_is_known() {
        assert!(is_random(&tree("SELECT gen_random_uuid()")));
        assert!(!is_random(&tree("SELECT uuid_generate_v5(a, b) FROM t")));
    }
}
