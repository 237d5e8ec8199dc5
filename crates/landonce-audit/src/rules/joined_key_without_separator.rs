//! `joined-key-without-separator`: parts are joined into a key so that different parts can make the same key.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, SelectItem, Value as Literal,
};

use super::facts::flow::{Event, What, last};
use super::facts::tables::Name;
use super::facts::write::{Kind, columns, given};
use super::facts::{Facts, hit};
use crate::code::Value;
use crate::file::Language;
use crate::rule::{Hit, Level, Project, Rule};
use crate::sql::walk;

pub(super) const RULE: Rule = Rule {
    id: "joined-key-without-separator",
    title: "a key is joined of parts without a separator",
    why: "(\"12\", \"3\") and (\"1\", \"23\") make the same key, so one row silently takes the place of another.",
    level: Level::Error,
    safe_fix: None,
    check,
};

fn check(project: &Project<'_>, hits: &mut Vec<Hit>) {
    let facts = &project.facts;
    for flow in &facts.flows {
        let is_writing = flow.is_writing();
        // A key that is hashed from such parts is told where it is hashed.
        let is_hashed =
            flow.events.iter().any(|event| event.call().is_some_and(|call| is_hash(last(&call.callee))));
        for event in &flow.events {
            match &event.what {
                What::Sql { statement, writes, .. } => {
                    let found = in_writes(
                        facts,
                        event,
                        is_hashed,
                        writes.iter().map(|write| (&write.table, write.kind)),
                    )
                    .or_else(|| {
                        (is_writing || flow.unit.language == Language::Dbt)
                            .then(|| in_select(&statement.tree))
                            .flatten()
                    });
                    let Some((text, key)) = found else { continue };
                    hits.push(hit(
                        flow.index,
                        statement.find(&text),
                        Level::Error,
                        format!("{key} is joined of parts with nothing between them ({text}): different parts make the same key"),
                        "Use the columns themselves as a composite key; or put a separator that can't be in the parts between them and say what NULL is: md5(concat_ws('|', a, coalesce(b, ''))).".to_owned(),
                    ));
                }
                What::Call(call) if is_writing && is_hash(last(&call.callee)) => {
                    if !call.arguments.iter().any(|argument| is_tight(&argument.value)) {
                        continue;
                    }
                    hits.push(hit(
                        flow.index,
                        call.span,
                        Level::Error,
                        format!("{} hashes parts that are joined with nothing between them: different parts make the same key", call.callee),
                        "Hash a form that keeps the parts apart, such as json.dumps([a, b]), or use the parts as a composite key.".to_owned(),
                    ));
                }
                _ => {}
            }
        }
    }
}

fn is_hash(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [
        "md5",
        "sha1",
        "sha256",
        "sha512",
        "sha2",
        "hash",
        "md5_hex",
        "uuid5",
        "blake2b",
        "farm_fingerprint",
        "xxhash64",
        "hashbytes",
        "murmur3",
    ]
    .contains(&name.as_str())
}

/// Columns that are keys by their name.
fn is_key_name(name: &str) -> bool {
    matches!(name, "id" | "key" | "pk" | "uid" | "hash" | "sk")
        || [
            "_key",
            "_pk",
            "_hash",
            "_uid",
            "_sk",
            "_digest",
            "row_id",
            "event_id",
            "unique_id",
            "surrogate_id",
            "dedup_id",
        ]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Two parts that aren't constants with nothing between them.
fn is_tight(value: &Value) -> bool {
    let Value::Joined(parts) = value else { return false };
    let flat = flatten(parts);
    flat.windows(2).any(|pair| {
        !matches!(pair[0], Value::Text(_) | Value::Constant(_))
            && !matches!(pair[1], Value::Text(_) | Value::Constant(_))
    })
}

fn flatten(parts: &[Value]) -> Vec<&Value> {
    parts
        .iter()
        .flat_map(|part| match part {
            Value::Joined(inner) => flatten(inner),
            other => vec![other],
        })
        .filter(|part| !matches!(part, Value::Text(text) if text.is_empty()))
        .collect()
}

type Found = (String, String);

fn in_writes<'a>(
    facts: &Facts<'_>,
    event: &Event<'_>,
    is_hashed: bool,
    writes: impl Iterator<Item = (&'a Name, Kind<'a>)>,
) -> Option<Found> {
    let bound = event.bound()?;
    for (table, kind) in writes {
        let Kind::Insert(insert) = kind else { continue };
        let known = facts.table(table);
        for (at, name) in columns(insert, known).iter().enumerate() {
            let is_key = is_key_name(name)
                || known.is_some_and(|table| {
                    table.primary_key.contains(name)
                        || table.unique.iter().any(|unique| unique.columns.contains(name))
                });
            if !is_key {
                continue;
            }
            for expr in given(insert, at) {
                if let Some(text) = tight(expr) {
                    return Some((text, format!("{name} of {}", table.written)));
                }
                if !is_hashed
                    && let Expr::Value(value) = expr
                    && let Literal::Placeholder(placeholder) = &value.value
                    && bound.placeholder(placeholder).is_some_and(is_tight)
                {
                    return Some((placeholder.clone(), format!("{name} of {}", table.written)));
                }
            }
        }
    }
    None
}

/// Keys that a query makes: hashes anywhere, joins under a key's name.
fn in_select(tree: &sqlparser::ast::Statement) -> Option<Found> {
    let hashed = walk::expressions(tree, |expr| {
        if let Expr::Function(function) = expr
            && is_hash(&Name::of(&function.name).bare)
            && let FunctionArguments::List(list) = &function.args
        {
            for arg in &list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) = arg
                    && let Some(text) = tight(inner)
                {
                    return ControlFlow::Break((text, "a hash".to_owned()));
                }
            }
        }
        ControlFlow::Continue(())
    });
    if hashed.is_break() {
        return hashed.break_value();
    }
    let named = walk::selects(tree, |select| {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item
                && is_key_name(&alias.value.to_ascii_lowercase())
                && let Some(text) = tight(expr)
            {
                return ControlFlow::Break((text, alias.value.clone()));
            }
        }
        ControlFlow::Continue(())
    });
    named.break_value()
}

/// The text of `a || b` or `concat(a, b)` where two parts that aren't constants stand side by side.
fn tight(expr: &Expr) -> Option<String> {
    let mut parts = Vec::new();
    let found = walk::expressions(expr, |inner| {
        let list = match inner {
            Expr::BinaryOp { op: BinaryOperator::StringConcat, .. } => {
                parts.clear();
                chain(inner, &mut parts)
            }
            Expr::Function(function) if Name::of(&function.name).bare == "concat" => {
                let FunctionArguments::List(list) = &function.args else { return ControlFlow::Continue(()) };
                list.args.iter().map(|arg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_constant(expr))).collect()
            }
            _ => return ControlFlow::Continue(()),
        };
        if list.windows(2).any(|pair| !pair[0] && !pair[1]) {
            ControlFlow::Break(inner.to_string())
        } else {
            ControlFlow::Continue(())
        }
    });
    match found {
        ControlFlow::Break(text) => Some(text),
        ControlFlow::Continue(()) => None,
    }
}

/// Of each part of a chain of `||`, whether it is a constant.
fn chain(expr: &Expr, found: &mut Vec<bool>) -> Vec<bool> {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right } => {
            chain(left, found);
            chain(right, found);
        }
        Expr::Nested(inner) => {
            chain(inner, found);
        }
        other => found.push(is_constant(other)),
    }
    found.clone()
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(
            value.value,
            Literal::SingleQuotedString(_)
                | Literal::DoubleQuotedString(_)
                | Literal::Number(..)
                | Literal::EscapedStringLiteral(_)
        ),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_constant(expr),
        Expr::Function(function) => matches!(Name::of(&function.name).bare.as_str(), "chr" | "char"),
        _ => false,
    }
}
