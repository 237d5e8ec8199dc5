//! Calls that mean a statement: tagged templates, knex, Prisma, TypeORM, Sequelize, Drizzle.
//!
//! Only what is clear becomes a statement; everything else stays the call that it is.

use tree_sitter::Node;

use super::super::calls::{Chain, Link};
use super::super::names;
use super::super::walk::{Walk, named, span};
use super::super::{Argument, Call, Step, Use, Value};
use crate::sql::{self, Style, Text};

/// sql`INSERT … ${x}`: what is filled in is bound, unless it is itself a piece of SQL.
pub(super) fn tagged<'t>(walk: &mut Walk<'t>, node: Node<'t>, template: Node<'t>, out: &mut Vec<Step>) {
    let chain = walk.unlink(node);
    let callee = walk.callee(&chain);
    let is_sql = {
        let name = names::last(&callee).to_ascii_lowercase();
        name.contains("sql")
            || name.contains("query")
            || matches!(name.as_str(), "$queryraw" | "$executeraw" | "tx" | "db" | "pg")
    };
    if !is_sql || names::only_tells(&callee) {
        return walk.children(node, out);
    }
    for link in &chain.links {
        if let Some(arguments) = link.arguments
            && arguments.start_byte() != template.start_byte()
        {
            walk.step(arguments, out);
        }
    }
    let mut text = Text::new();
    let mut arguments = Vec::new();
    let mut at = template.start_byte() + 1;
    let mut is_many = false;
    for inner in named(template).into_iter().filter(|inner| inner.kind() == "template_substitution") {
        text.push(walk.text.get(at..inner.start_byte()).unwrap_or_default(), at);
        at = inner.end_byte();
        let Some(expression) = named(inner).into_iter().next() else { continue };
        walk.step(expression, out);
        if let Some(columns) = row_of_columns(walk, expression, &callee, text.as_str()) {
            let places: Vec<String> =
                (1..=columns.len()).map(|place| format!("${}", arguments.len() + place)).collect();
            text.push_for(&format!(" ({}) VALUES ({})", list(&columns), places.join(", ")), span(inner));
            for column in columns {
                arguments.push(Argument { name: None, value: Value::Name(column), span: span(expression) });
            }
            is_many = true;
        } else if is_piece(walk, expression, &callee) {
            text.push_hole(walk.shown(expression), walk.value(expression), span(inner));
        } else {
            arguments.push(Argument { name: None, value: walk.value(expression), span: span(expression) });
            text.push_for(&format!("${}", arguments.len()), span(inner));
        }
    }
    let end = template.end_byte().saturating_sub(1).max(at);
    text.push(walk.text.get(at..end).unwrap_or_default(), at);
    if !sql::looks_like_sql(text.as_str()) {
        return; // A fragment: it is read where it is put in.
    }
    let target = walk.target.take();
    let call = Call { span: span(node), callee, arguments: Vec::new(), assigned_to: target };
    hand_over(walk, &text, call, arguments, is_many, out);
}

/// sql(rows), sql`…`, Prisma.sql, sql.join(…), sql.raw(…): SQL inside of SQL.
fn is_piece<'t>(walk: &Walk<'t>, node: Node<'t>, callee: &str) -> bool {
    if node.kind() != "call_expression" {
        return false;
    }
    let root = walk.source(walk.unlink(node).root);
    root == callee.split('.').next().unwrap_or_default() || matches!(root, "sql" | "Prisma" | "SQL")
}

/// The columns of `INSERT INTO t ${sql(rows, 'a', 'b')}`.
fn row_of_columns<'t>(
    walk: &mut Walk<'t>,
    node: Node<'t>,
    callee: &str,
    before: &str,
) -> Option<Vec<String>> {
    if !is_piece(walk, node, callee)
        || before.contains('(')
        || !before.trim_start().get(..6)?.eq_ignore_ascii_case("insert")
    {
        return None;
    }
    let nodes = named(node.child_by_field_name("arguments")?);
    let (first, rest) = nodes.split_first()?;
    if rest.is_empty() {
        let columns = (walk.host.fields)(walk, *first)?;
        return columns.into_iter().map(|column| column.name).collect();
    }
    let columns = walk.bound(rest).into_iter();
    columns.map(|column| if let Value::Text(name) = column.value { Some(name) } else { None }).collect()
}

fn hand_over(
    walk: &mut Walk<'_>,
    text: &Text,
    call: Call,
    arguments: Vec<Argument>,
    is_many: bool,
    out: &mut Vec<Step>,
) {
    if walk.quiet > 0 {
        return;
    }
    let mut unread = Vec::new();
    let statements = sql::read(text, &Style::default(), &mut unread);
    for unread in unread {
        walk.unread(unread.span, unread.why);
    }
    out.push(Step::Sql(Box::new(Use { span: text.whole(), call, statements, arguments, is_many })));
}

/// Takes a chain that means a statement.
pub(super) fn take<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>, out: &mut Vec<Step>) -> bool {
    let made = knex(walk, chain).or_else(|| prisma(walk, chain)).or_else(|| drizzle(walk, chain));
    let Some(Made { sql: written, arguments, is_many }) = made else { return false };
    let place = span(chain.node);
    let Some(statement) = sql::made(&written, place) else { return false };
    for link in &chain.links {
        for argument in link.arguments.map(named).unwrap_or_default() {
            walk.step(argument, out);
        }
    }
    let call = Call { span: place, callee: walk.callee(chain), arguments: Vec::new(), assigned_to: None };
    let arguments = arguments.into_iter().map(|bound| Argument { name: None, ..bound }).collect();
    out.push(Step::Sql(Box::new(Use { span: place, call, statements: vec![statement], arguments, is_many })));
    true
}

struct Made {
    sql: String,
    arguments: Vec<Argument>,
    is_many: bool,
}

fn quote(name: &str) -> String {
    name.split('.').map(|part| format!("\"{}\"", part.replace('"', "\"\""))).collect::<Vec<_>>().join(".")
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")
}

fn insert(table: &str, row: &[Argument]) -> String {
    let columns: Vec<String> = row.iter().filter_map(|field| field.name.clone()).collect();
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
    if columns.is_empty() {
        format!("INSERT INTO {} DEFAULT VALUES", quote(table))
    } else {
        format!("INSERT INTO {} ({}) VALUES ({})", quote(table), list(&columns), places.join(", "))
    }
}

/// `knex('t').insert(row).onConflict('id').merge()`; `trx('t')`, `db('t')`, `knex.table('t')`.
fn knex<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>) -> Option<Made> {
    let first = chain.links.iter().find(|link| link.arguments.is_some())?;
    if !matches!(first.name, "" | "table" | "into" | "from") || !names::is_database(walk.source(chain.root)) {
        return None;
    }
    let table = first_text(walk, first)?;
    if let Some(link) = chain.call("insert").or_else(|| chain.call("batchInsert")) {
        let (row, is_many) = row(walk, link)?;
        let mut sql = insert(&table, &row);
        if let Some(conflict) = chain.call("onConflict") {
            let conflicting = texts(walk, conflict);
            let target = &conflicting;
            let target = if target.is_empty() { String::new() } else { format!(" ({})", list(target)) };
            if let Some(merge) = chain.call("merge") {
                let named_columns = texts(walk, merge);
                let given: Vec<String> = match row_of(walk, merge) {
                    Some(fields) => fields.into_iter().filter_map(|field| field.name).collect(),
                    None if !named_columns.is_empty() => named_columns,
                    None => row
                        .iter()
                        .filter_map(|field| field.name.clone())
                        .filter(|name| !conflicting.contains(name))
                        .collect(),
                };
                let sets: Vec<String> =
                    given.iter().map(|name| format!("{} = excluded.{}", quote(name), quote(name))).collect();
                if target.is_empty() || sets.is_empty() {
                    return None;
                }
                sql.push_str(&format!(" ON CONFLICT{target} DO UPDATE SET {}", sets.join(", ")));
            } else {
                sql.push_str(&format!(" ON CONFLICT{target} DO NOTHING"));
            }
        }
        return Some(Made { sql, arguments: row, is_many });
    }
    let (condition, mut arguments) = conditions(walk, chain);
    if let Some(link) = chain.call("update") {
        let fields = row_of(walk, link)?;
        let sets: Vec<String> = fields
            .iter()
            .filter_map(|field| field.name.as_deref())
            .map(|name| format!("{} = ?", quote(name)))
            .collect();
        let sql = format!("UPDATE {} SET {}{condition}", quote(&table), sets.join(", "));
        let mut bound = fields;
        bound.append(&mut arguments);
        return Some(Made { sql, arguments: bound, is_many: false });
    }
    if chain.call("del").or_else(|| chain.call("delete")).is_some() {
        return Some(Made {
            sql: format!("DELETE FROM {}{condition}", quote(&table)),
            arguments,
            is_many: false,
        });
    }
    if chain.call("truncate").is_some() {
        return Some(Made { sql: format!("TRUNCATE TABLE {}", quote(&table)), arguments, is_many: false });
    }
    (chain.call("first").or_else(|| chain.call("select")).is_some()).then(|| Made {
        sql: format!("SELECT * FROM {}{condition}", quote(&table)),
        arguments,
        is_many: false,
    })
}

/// What stands in `where`s, as far as columns can be told.
fn conditions<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>) -> (String, Vec<Argument>) {
    let mut parts = Vec::new();
    let mut bound = Vec::new();
    for link in chain.links.iter().filter(|link| link.name.to_ascii_lowercase().contains("where")) {
        let is_not_in = link.name == "whereNotIn";
        if let Some(fields) = row_of(walk, link) {
            for field in fields {
                parts.push(format!("{} = ?", quote(field.name.as_deref().unwrap_or("?"))));
                bound.push(field);
            }
        } else if let Some(column) = first_text(walk, link) {
            let values = link.arguments.map(named).unwrap_or_default();
            parts.push(if is_not_in {
                format!("{} NOT IN (?)", quote(&column))
            } else {
                format!("{} = ?", quote(&column))
            });
            bound.extend(walk.bound(values.get(1..).unwrap_or_default()));
        } else {
            parts.push("true".to_owned());
        }
    }
    let condition = if parts.is_empty() { String::new() } else { format!(" WHERE {}", parts.join(" AND ")) };
    (condition, bound)
}

/// `prisma.event.create({ data })`, `createMany`, `upsert`, `deleteMany`, `update`.
fn prisma<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>) -> Option<Made> {
    let [.., model, link] = chain.links.as_slice() else { return None };
    if model.arguments.is_some() || model.name.starts_with('$') {
        return None;
    }
    let root = walk.source(chain.root).to_ascii_lowercase();
    let is_client = root.contains("prisma")
        || matches!(root.as_str(), "tx" | "trx" | "db")
        || chain.links.iter().any(|link| link.name.to_ascii_lowercase().contains("prisma"));
    if !is_client || !walk.text.contains("risma") {
        return None;
    }
    let table = model.name.to_owned();
    let config = row_of(walk, link).unwrap_or_default();
    let inner = |walk: &mut Walk<'t>, name: &str| {
        let node = object_field(walk, link, name)?;
        let node = match node.kind() {
            "array" => named(node).into_iter().next()?,
            _ => node,
        };
        (walk.host.fields)(walk, node)
    };
    let has = |name: &str| config.iter().any(|field| field.name.as_deref() == Some(name));
    match link.name {
        "create" | "createMany" | "createManyAndReturn" => {
            let row = inner(walk, "data").unwrap_or_default();
            if row.iter().all(|field| field.name.is_none()) {
                return None;
            }
            let mut sql = insert(&table, &row);
            if has("skipDuplicates") {
                sql.push_str(" ON CONFLICT DO NOTHING");
            }
            Some(Made { sql, arguments: row, is_many: link.name != "create" })
        }
        "upsert" => {
            let row = inner(walk, "create")?;
            let key = inner(walk, "where")?;
            let keys: Vec<String> = key.iter().filter_map(|field| field.name.clone()).collect();
            let update = inner(walk, "update")?;
            let sets: Vec<String> = update
                .iter()
                .filter_map(|field| field.name.as_deref())
                .map(|name| format!("{} = excluded.{}", quote(name), quote(name)))
                .collect();
            let effect = if sets.is_empty() {
                "DO NOTHING".to_owned()
            } else {
                format!("DO UPDATE SET {}", sets.join(", "))
            };
            let sql = format!("{} ON CONFLICT ({}) {effect}", insert(&table, &row), list(&keys));
            Some(Made { sql, arguments: row, is_many: false })
        }
        "deleteMany" | "delete" | "findFirst" | "findUnique" => {
            let key = inner(walk, "where").unwrap_or_default();
            let tests: Vec<String> = key
                .iter()
                .filter_map(|field| field.name.as_deref())
                .map(|name| format!("{} = ?", quote(name)))
                .collect();
            let condition =
                if tests.is_empty() { String::new() } else { format!(" WHERE {}", tests.join(" AND ")) };
            let verb = if link.name.starts_with("delete") { "DELETE" } else { "SELECT *" };
            Some(Made {
                sql: format!("{verb} FROM {}{condition}", quote(&table)),
                arguments: key,
                is_many: false,
            })
        }
        _ => None,
    }
}

/// `db.insert(events).values(row).onConflictDoNothing()` of Drizzle.
fn drizzle<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>) -> Option<Made> {
    let (into, values) = (chain.call("insert")?, chain.call("values")?);
    let table = into.arguments.map(named)?.into_iter().next()?;
    if table.kind() != "identifier" || !names::is_database(walk.source(chain.root)) {
        return None;
    }
    let table = walk.source(table).to_owned();
    let (row, is_many) = row(walk, values)?;
    let mut sql = insert(&table, &row);
    if chain.call("onConflictDoNothing").is_some() {
        sql.push_str(" ON CONFLICT DO NOTHING");
    } else if chain.call("onConflictDoUpdate").is_some() {
        return None; // The target and the set are expressions: left a call.
    }
    Some(Made { sql, arguments: row, is_many })
}

fn object_field<'t>(walk: &Walk<'t>, link: &Link<'t>, name: &str) -> Option<Node<'t>> {
    let object = link.arguments.map(named)?.into_iter().next()?;
    named(object)
        .into_iter()
        .filter(|pair| pair.kind() == "pair")
        .find(|pair| walk.field(*pair, "key") == Some(name))
        .and_then(|pair| pair.child_by_field_name("value"))
}

fn first_text<'t>(walk: &mut Walk<'t>, link: &Link<'t>) -> Option<String> {
    let first = link.arguments.map(named)?.into_iter().next()?;
    match walk.value(first) {
        Value::Text(text) if !text.is_empty() && text.len() < 100 && !text.contains(char::is_whitespace) => {
            Some(text)
        }
        _ => None,
    }
}

fn texts<'t>(walk: &mut Walk<'t>, link: &Link<'t>) -> Vec<String> {
    let nodes = link.arguments.map(named).unwrap_or_default();
    walk.bound(&nodes)
        .into_iter()
        .filter_map(|argument| match argument.value {
            Value::Text(text) => Some(text),
            _ => None,
        })
        .collect()
}

/// The row that a call is given: an object, or the first of a list.
fn row<'t>(walk: &mut Walk<'t>, link: &Link<'t>) -> Option<(Vec<Argument>, bool)> {
    let first = link.arguments.map(named)?.into_iter().next()?;
    if first.kind() == "array" {
        let inner = named(first).into_iter().next()?;
        return Some(((walk.host.fields)(walk, inner)?, true));
    }
    Some(((walk.host.fields)(walk, first)?, false))
}

fn row_of<'t>(walk: &mut Walk<'t>, link: &Link<'t>) -> Option<Vec<Argument>> {
    let first = link.arguments.map(named)?.into_iter().next()?;
    (walk.host.fields)(walk, first)
}
