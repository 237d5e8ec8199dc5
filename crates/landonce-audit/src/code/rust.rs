//! Rust: sqlx, tokio-postgres, rusqlite; diesel in `rust/builder`, macros in `rust/macros`.

mod builder;
mod macros;

use tree_sitter::Node;

use super::names;
use super::walk::{self, Host, Part, Walk, named, shorten, span, unescape};
use super::{Argument, Function, Step, Unread, Value};

static HOST: Host = Host { step, value, part, closure, fields, builder: builder::take };

/// Reads a file of Rust.
pub(crate) fn read_file(text: &str) -> (Vec<Function>, Vec<Unread>) {
    walk::read(&HOST, &tree_sitter_rust::LANGUAGE.into(), text, |_, _| {})
}

fn part<'t>(walk: &Walk<'t>, node: Node<'t>) -> Part<'t> {
    match node.kind() {
        "field_expression" => match (node.child_by_field_name("value"), walk.field(node, "field")) {
            (Some(value), Some(name)) => Part::Member(value, name),
            _ => Part::Root,
        },
        "call_expression" => {
            match (node.child_by_field_name("function"), node.child_by_field_name("arguments")) {
                (Some(function), Some(arguments)) => Part::Call(plain(function), arguments),
                _ => Part::Root,
            }
        }
        "generic_function" => node.child_by_field_name("function").map_or(Part::Root, Part::Through),
        "try_expression" | "await_expression" | "parenthesized_expression" => {
            named(node).into_iter().next().map_or(Part::Root, Part::Through)
        }
        _ => Part::Root,
    }
}

/// A function without its `::<T>`.
fn plain(function: Node<'_>) -> Node<'_> {
    match function.kind() {
        "generic_function" => function.child_by_field_name("function").unwrap_or(function),
        _ => function,
    }
}

fn closure(node: Node<'_>) -> Option<(Option<Node<'_>>, Node<'_>)> {
    match node.kind() {
        "closure_expression" => {
            Some((node.child_by_field_name("parameters"), node.child_by_field_name("body")?))
        }
        "async_block" => Some((None, named(node).into_iter().last()?)),
        _ => None,
    }
}

fn fields<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Option<Vec<Argument>> {
    match node.kind() {
        "macro_invocation" if walk.field(node, "macro").map(names::last) == Some("named_params") => {
            Some(macros::named_arguments(walk, node))
        }
        _ => None,
    }
}

fn value<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    match node.kind() {
        "string_literal" | "raw_string_literal" => {
            let text = literal(walk.source(node));
            walk.constant(node, text)
        }
        "integer_literal" | "float_literal" | "boolean_literal" | "char_literal" | "unit_expression" => {
            Value::Constant(walk.source(node).to_owned())
        }
        "identifier" | "self" | "scoped_identifier" | "field_expression" => {
            let written: String =
                walk.source(node).chars().filter(|c| !c.is_whitespace()).take(200).collect();
            match walk.name(&written) {
                // `queries::INSERT`, `Self::INSERT`: a constant of the same file.
                Value::Name(_) if written.contains("::") && walk.origin(names::last(&written)).is_some() => {
                    walk.name(names::last(&written))
                }
                known => known,
            }
        }
        "reference_expression" | "type_cast_expression" => match node.child_by_field_name("value") {
            Some(inner) => walk.value(inner),
            None => Value::Other(walk.shown(node)),
        },
        "parenthesized_expression" | "try_expression" | "await_expression" | "unary_expression" => {
            match named(node).into_iter().next() {
                Some(inner) => walk.value(inner),
                None => Value::Other(walk.shown(node)),
            }
        }
        "array_expression" | "tuple_expression" => {
            Value::Many(named(node).into_iter().map(|inner| walk.value(inner)).collect())
        }
        "binary_expression" => {
            let (operands, is_sum) = walk.operands(node, "binary_expression");
            let parts: Vec<Value> = operands.into_iter().map(|operand| walk.value(operand)).collect();
            if is_sum && parts.iter().any(|part| matches!(part, Value::Text(_) | Value::Joined(_))) {
                return walk.joined(node, parts);
            }
            Value::Other(walk.shown(node))
        }
        "macro_invocation" => macros::value(walk, node),
        "call_expression" => call(walk, node),
        _ => Value::Other(walk.shown(node)),
    }
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    let chain = walk.unlink(node);
    let callee = walk.callee(&chain);
    let arguments = chain.links.last().and_then(|link| link.arguments).map(named).unwrap_or_default();
    if let Some(known) = names::result_of(&callee, arguments.len()) {
        return known;
    }
    if let Some(function) = node.child_by_field_name("function").map(plain)
        && function.kind() == "field_expression"
        && let (Some(inner), Some(method)) =
            (function.child_by_field_name("value"), walk.field(function, "field"))
        && names::keeps_meaning(method)
    {
        match walk.value(inner) {
            known @ (Value::Clock | Value::Random | Value::RunId(_)) => return known,
            text @ (Value::Text(_) | Value::Joined(_)) if arguments.is_empty() => return text,
            _ => {}
        }
    }
    match (names::last(&callee), arguments.as_slice()) {
        ("from" | "new" | "Some" | "Ok" | "into" | "AssertSqlSafe", [only]) => match walk.value(*only) {
            Value::Other(_) | Value::Name(_) | Value::Constant(_) | Value::Many(_) => {
                Value::Other(walk.shown(node))
            }
            known => known,
        },
        ("var", [name]) if callee.ends_with("env::var") => match walk.value(*name) {
            Value::Text(name) if names::is_run_id(&name) => Value::RunId(name),
            _ => Value::Other(walk.shown(node)),
        },
        _ => Value::Other(walk.shown(node)),
    }
}

/// A literal's text: plain, raw, of bytes or of C.
fn literal(source: &str) -> String {
    let source = source.trim_start_matches(['b', 'c']);
    match source.strip_prefix('r') {
        Some(raw) => raw.trim_matches('#').trim_matches('"').to_owned(),
        None => unescape(source.get(1..source.len().saturating_sub(1)).unwrap_or_default()),
    }
}

fn step<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    match node.kind() {
        "line_comment"
        | "block_comment"
        | "identifier"
        | "use_declaration"
        | "scoped_identifier"
        | "type_item"
        | "struct_item"
        | "attribute_item"
        | "inner_attribute_item"
        | "macro_definition"
        | "field_identifier" => {}
        "string_literal" | "raw_string_literal" => walk.bare(node, out),
        "source_file" | "declaration_list" | "block" => {
            let items = named(node);
            for item in &items {
                if matches!(item.kind(), "const_item" | "static_item") {
                    constant(walk, *item);
                }
            }
            walk.decorated(node, "attribute_item", out);
        }
        "const_item" | "static_item" => {
            constant(walk, node);
            walk.part(node, "value", out);
        }
        "function_item" => {
            let name = walk.field(node, "name").unwrap_or_default().to_owned();
            let parameters: Vec<&'t str> = node
                .child_by_field_name("parameters")
                .map(named)
                .unwrap_or_default()
                .into_iter()
                .filter_map(|parameter| parameter.child_by_field_name("pattern"))
                .flat_map(|pattern| walk.names_in(pattern))
                .collect();
            let decorators = std::mem::take(&mut walk.decorators);
            walk.function(node, name, decorators, &parameters, node.child_by_field_name("body"));
        }
        "closure_expression" | "async_block" => {
            if let Some(found) = closure(node) {
                let mut body = walk.closure(node, found);
                out.append(&mut body);
            }
        }
        "let_declaration" => declaration(walk, node, out),
        "assignment_expression" => assignment(walk, node, out),
        "call_expression" => match walk.field(node, "function") {
            Some("Ok" | "Err" | "Some" | "Box::new") => walk.children(node, out),
            _ => walk.chain(node, out),
        },
        "macro_invocation" => macros::step(walk, node, out),
        "for_expression" => {
            walk.part(node, "value", out);
            let bound =
                node.child_by_field_name("pattern").map(|pattern| walk.names_in(pattern)).unwrap_or_default();
            walk.repeat(node, node.child_by_field_name("body"), &bound, out);
        }
        "while_expression" => {
            walk.part(node, "condition", out);
            walk.repeat(node, node.child_by_field_name("body"), &[], out);
        }
        "loop_expression" => walk.repeat(node, node.child_by_field_name("body"), &[], out),
        "if_expression" => {
            let then: Vec<Node<'t>> = node.child_by_field_name("consequence").into_iter().collect();
            let otherwise: Vec<Node<'t>> = node.child_by_field_name("alternative").into_iter().collect();
            walk.choice(node, node.child_by_field_name("condition"), &then, &otherwise, out);
        }
        "let_condition" => walk.part(node, "value", out),
        "match_expression" => {
            let arms = node.child_by_field_name("body").map(named).unwrap_or_default();
            let pattern = |arm: Node<'t>| arm.child_by_field_name("pattern");
            walk.arms(node, node.child_by_field_name("value"), &arms, pattern, out);
        }
        "match_arm" => walk.part(node, "value", out),
        "return_expression" => {
            walk.children(node, out);
            Walk::leaves(node, "return", out);
        }
        "continue_expression" => Walk::leaves(node, "continue", out),
        "break_expression" => {
            walk.children(node, out);
            Walk::leaves(node, "break", out);
        }
        "binary_expression" => {
            let (operands, is_sum) = walk.operands(node, "binary_expression");
            if is_sum {
                walk.bare(node, out);
            }
            for operand in operands {
                walk.step(operand, out);
            }
        }
        "try_expression" | "await_expression" | "field_expression" | "parenthesized_expression" => {
            through(walk, node, out);
        }
        _ => walk.children(node, out),
    }
}

/// `….await?`: what is inside, however many.
fn through<'t>(walk: &mut Walk<'t>, mut node: Node<'t>, out: &mut Vec<Step>) {
    while matches!(
        node.kind(),
        "try_expression" | "await_expression" | "field_expression" | "parenthesized_expression"
    ) && let Some(inner) = named(node).into_iter().next()
    {
        node = inner;
    }
    walk.step(node, out);
}

fn constant<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    if let (Some(name), Some(init)) = (walk.field(node, "name"), node.child_by_field_name("value")) {
        let value = walk.value(init);
        walk.declare(name, value, span(init));
    }
}

fn assignment<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    if let (Some(name), Some(right)) = (walk.field(node, "left"), node.child_by_field_name("right")) {
        if name.len() <= 100 {
            let value = walk.value(right);
            walk.assign(name, value, span(right));
        }
        into(walk, name, right, out);
    }
}

fn declaration<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let Some(pattern) = node.child_by_field_name("pattern") else { return };
    let init = node.child_by_field_name("value");
    let names = walk.names_in(pattern);
    match (pattern.kind(), names.as_slice(), init) {
        ("identifier" | "mut_pattern", [name], Some(init)) if closure(init).is_none() => {
            let value = walk.value(init);
            walk.declare(name, value, span(init));
        }
        _ => {
            for name in &names {
                walk.declare(name, Value::Name((*name).to_owned()), span(pattern));
            }
        }
    }
    if let Some(init) = init {
        into(walk, names.first().copied().unwrap_or_default(), init, out);
    }
    if let Some(otherwise) = node.child_by_field_name("alternative") {
        let body = walk.nested(|walk, steps| walk.step(otherwise, steps));
        out.extend(body);
    }
}

fn into<'t>(walk: &mut Walk<'t>, name: &str, init: Node<'t>, out: &mut Vec<Step>) {
    walk.target = Some(shorten(name)).filter(|name| !name.is_empty() && !name.starts_with('_'));
    walk.step(init, out);
    walk.target = None;
}
