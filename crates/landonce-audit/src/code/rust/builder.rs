//! Diesel's calls that mean a statement, where columns can be told.

use tree_sitter::Node;

use super::super::calls::{Chain, Link};
use super::super::names;
use super::super::walk::{Walk, named, span};
use super::super::{Argument, Call, Step, Use, Value};
use crate::sql;

/// Takes `insert_into(t).values(…).on_conflict(…)…`, `update(t).set(…)`, `delete(t)`.
pub(super) fn take<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>, out: &mut Vec<Step>) -> bool {
    let Some(first) = chain.links.first() else { return false };
    let root = walk.source(chain.root);
    let verb = names::last(root);
    if !(first.name.is_empty() && matches!(verb, "insert_into" | "update" | "delete"))
        || !(root.starts_with("diesel") || walk.text.contains("diesel"))
    {
        return false;
    }
    let Some(table) = first.arguments.map(named).and_then(|nodes| nodes.into_iter().next()) else {
        return false;
    };
    let Some(table) = table_of(walk.source(table)) else { return false };
    let made = match verb {
        "insert_into" => insert(walk, chain, &table),
        "update" => update(walk, chain, &table),
        _ => Some((format!("DELETE FROM {table}{}", filter(walk, chain)), Vec::new(), false)),
    };
    let Some((written, arguments, is_many)) = made else { return false };
    let place = span(chain.node);
    let Some(statement) = sql::made(&written, place) else { return false };
    for link in &chain.links {
        for argument in link.arguments.map(named).unwrap_or_default() {
            walk.step(argument, out);
        }
    }
    let call = Call { span: place, callee: root.to_owned(), arguments: Vec::new(), assigned_to: None };
    out.push(Step::Sql(Box::new(Use { span: place, call, statements: vec![statement], arguments, is_many })));
    true
}

/// `events::table`, `schema::events::dsl::events`, `events`, `events.filter(…)`.
fn table_of(written: &str) -> Option<String> {
    let path = written.split('.').next()?.trim().trim_start_matches('&');
    let path = path.strip_suffix("::table").unwrap_or(path);
    let name = names::last(path);
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| quote(name))
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn filter<'t>(walk: &Walk<'t>, chain: &Chain<'t>) -> &'static str {
    let is_narrowed = chain.call("filter").is_some()
        || chain.links.first().is_some_and(|link| {
            link.arguments.is_some_and(|list| {
                walk.source(list).contains("filter(") || walk.source(list).contains("find(")
            })
        });
    if is_narrowed { " WHERE $1" } else { "" }
}

type Made = Option<(String, Vec<Argument>, bool)>;

fn insert<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>, table: &str) -> Made {
    let values = chain.call("values")?;
    let mut row = columns(walk, values);
    let mut written = if row.is_empty() {
        row = values.arguments.map(named).map(|nodes| walk.bound(&nodes)).unwrap_or_default();
        format!("INSERT INTO {table} VALUES ($1)")
    } else {
        let names: Vec<String> = row.iter().filter_map(|field| field.name.as_deref()).map(quote).collect();
        let places: Vec<String> = (1..=names.len()).map(|place| format!("${place}")).collect();
        format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), places.join(", "))
    };
    if chain.call("on_conflict_do_nothing").is_some() {
        written.push_str(" ON CONFLICT DO NOTHING");
    } else if let Some(conflict) = chain.call("on_conflict") {
        let target = paths(walk, conflict);
        let target = if target.is_empty() { return None } else { target.join(", ") };
        if chain.call("do_nothing").is_some() {
            written.push_str(&format!(" ON CONFLICT ({target}) DO NOTHING"));
        } else {
            let sets: Vec<String> = columns(walk, chain.call("set")?)
                .into_iter()
                .filter_map(|field| field.name)
                .map(|name| format!("{} = excluded.{}", quote(&name), quote(&name)))
                .collect();
            if sets.is_empty() {
                return None; // A struct of changes: its columns stand elsewhere.
            }
            written.push_str(&format!(" ON CONFLICT ({target}) DO UPDATE SET {}", sets.join(", ")));
        }
    }
    let arguments = row.into_iter().map(|field| Argument { name: None, ..field }).collect();
    Some((written, arguments, false))
}

fn update<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>, table: &str) -> Made {
    let fields = columns(walk, chain.call("set")?);
    if fields.is_empty() {
        return None;
    }
    let mut sets = Vec::new();
    for field in &fields {
        let name = field.name.as_deref().unwrap_or_default();
        // `n.eq(n + 1)` adds to what is there.
        let added = match &field.value {
            Value::Other(text) => text.split_once(" + ").filter(|(column, _)| names::last(column) == name),
            _ => None,
        };
        sets.push(match added {
            Some(_) => format!("{} = {} + ?", quote(name), quote(name)),
            None => format!("{} = ?", quote(name)),
        });
    }
    let condition = if filter(walk, chain).is_empty() { "" } else { " WHERE ?" };
    let arguments = fields.into_iter().map(|field| Argument { name: None, ..field }).collect();
    Some((format!("UPDATE {table} SET {}{condition}", sets.join(", ")), arguments, false))
}

/// `(id.eq(1), events::name.eq(name))`: columns and what they get.
fn columns<'t>(walk: &mut Walk<'t>, link: &Link<'t>) -> Vec<Argument> {
    let mut found = Vec::new();
    let mut waiting: Vec<Node<'t>> = link.arguments.map(named).unwrap_or_default();
    waiting.reverse();
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "tuple_expression" => waiting.extend(named(node).into_iter().rev()),
            "reference_expression" => waiting.extend(node.child_by_field_name("value")),
            "call_expression" => {
                let chain = walk.unlink(node);
                let [.., link] = chain.links.as_slice() else { continue };
                let Some(value) = link.arguments.map(named).and_then(|nodes| nodes.into_iter().next()) else {
                    continue;
                };
                if link.name == "eq" {
                    let name = names::last(walk.source(chain.root)).to_owned();
                    found.push(Argument { name: Some(name), value: walk.value(value), span: span(value) });
                }
            }
            _ => {}
        }
    }
    found
}

fn paths<'t>(walk: &Walk<'t>, link: &Link<'t>) -> Vec<String> {
    let mut found = Vec::new();
    for node in link.arguments.map(named).unwrap_or_default() {
        let nodes = if node.kind() == "tuple_expression" { named(node) } else { vec![node] };
        found.extend(nodes.into_iter().map(|node| quote(names::last(walk.source(node)))));
    }
    found
}
