//! JavaScript (TypeScript's walk as well): node-postgres, postgres.js, mysql2, better-sqlite3, and what builders mean (`javascript/builder`).

mod builder;

use tree_sitter::Node;

use super::names;
use super::walk::{self, Host, Part, Walk, likeness, named, span};
use super::{Argument, Call, Function, Handler, Step, Try, Unread, Value};

static HOST: Host = Host { step, value, part, closure, fields, builder: builder::take };

/// Reads a file of JavaScript; with JSX too.
pub(crate) fn read_file(text: &str) -> (Vec<Function>, Vec<Unread>) {
    read_with(&tree_sitter_javascript::LANGUAGE.into(), text)
}

/// The same for a grammar that has JavaScript's kinds of nodes.
pub(super) fn read_with(language: &tree_sitter::Language, text: &str) -> (Vec<Function>, Vec<Unread>) {
    walk::read(&HOST, language, text, hoist)
}

/// The module's constants are known in functions that stand before them.
fn hoist<'t>(walk: &mut Walk<'t>, root: Node<'t>) {
    for mut node in named(root) {
        if node.kind() == "export_statement" {
            let Some(inner) = node.child_by_field_name("declaration") else { continue };
            node = inner;
        }
        if matches!(node.kind(), "lexical_declaration" | "variable_declaration") {
            for declarator in named(node).into_iter().filter(|inner| inner.kind() == "variable_declarator") {
                bind(walk, declarator);
            }
        }
    }
}

fn bind<'t>(walk: &mut Walk<'t>, declarator: Node<'t>) {
    let Some(name) = declarator.child_by_field_name("name") else { return };
    let Some(init) = declarator.child_by_field_name("value") else {
        if name.kind() == "identifier" {
            walk.declare(walk.source(name), Value::Other(String::new()), span(name));
        }
        return;
    };
    if name.kind() != "identifier" {
        for inner in walk.names_in(name) {
            walk.declare(inner, Value::Name(inner.to_owned()), span(name));
        }
        return;
    }
    let name = walk.source(name);
    if closure(init).is_some() {
        return walk.declare(name, Value::Name(name.to_owned()), span(init));
    }
    let mut value = walk.value(init);
    if members(walk, name, init) {
        value = Value::Other(String::new()); // Its statements are known by its members.
    }
    walk.declare(name, value, span(init));
}

/// `const sql = { insert: "…" }`: its members are known as `sql.insert`.
fn members<'t>(walk: &mut Walk<'t>, name: &str, init: Node<'t>) -> bool {
    let mut has_any = false;
    for field in fields(walk, init).into_iter().flatten() {
        if let (Some(key), Value::Text(_) | Value::Joined(_)) = (&field.name, &field.value) {
            has_any |= likeness(&field.value) == names::Likeness::Sure;
            walk.declare(&format!("{name}.{key}"), field.value.clone(), field.span);
        }
    }
    has_any
}

/// Without parentheses, `await`, `as T`, `!`.
fn bare(mut node: Node<'_>) -> Node<'_> {
    while matches!(
        node.kind(),
        "parenthesized_expression"
            | "await_expression"
            | "as_expression"
            | "non_null_expression"
            | "satisfies_expression"
    ) {
        match named(node).into_iter().next() {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

fn part<'t>(walk: &Walk<'t>, node: Node<'t>) -> Part<'t> {
    match node.kind() {
        "member_expression" => match (node.child_by_field_name("object"), walk.field(node, "property")) {
            (Some(object), Some(name)) => Part::Member(object, name),
            _ => Part::Root,
        },
        "call_expression" => {
            match (node.child_by_field_name("function"), node.child_by_field_name("arguments")) {
                (Some(function), Some(arguments)) => Part::Call(function, arguments),
                _ => Part::Root,
            }
        }
        "parenthesized_expression"
        | "await_expression"
        | "non_null_expression"
        | "instantiation_expression" => named(node).into_iter().next().map_or(Part::Root, Part::Through),
        _ => Part::Root,
    }
}

fn closure(node: Node<'_>) -> Option<(Option<Node<'_>>, Node<'_>)> {
    match node.kind() {
        "arrow_function" | "function_expression" | "generator_function" => {
            let parameters =
                node.child_by_field_name("parameters").or_else(|| node.child_by_field_name("parameter"));
            Some((parameters, node.child_by_field_name("body")?))
        }
        _ => None,
    }
}

fn fields<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Option<Vec<Argument>> {
    let node = bare(node);
    if node.kind() != "object" {
        return None;
    }
    let mut found = Vec::new();
    for pair in named(node) {
        match pair.kind() {
            "pair" => {
                let (Some(key), Some(value)) = (walk.field(pair, "key"), pair.child_by_field_name("value"))
                else {
                    continue;
                };
                let name = Some(key.trim_matches(['"', '\'']).to_owned());
                found.push(Argument { name, value: walk.value(value), span: span(value) });
            }
            "shorthand_property_identifier" => {
                let name = walk.source(pair);
                let value = walk.name(name);
                let place = walk.origin(name).filter(|_| matches!(value, Value::Text(_) | Value::Joined(_)));
                found.push(Argument {
                    name: Some(name.to_owned()),
                    value,
                    span: place.unwrap_or_else(|| span(pair)),
                });
            }
            _ => {}
        }
    }
    Some(found)
}

fn value<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    match node.kind() {
        "string" => {
            let text = unescape(walk, node);
            walk.constant(node, text)
        }
        "template_string" => {
            let parts = template(walk, node);
            walk.joined(node, parts)
        }
        "number" | "true" | "false" | "null" | "undefined" => Value::Constant(walk.source(node).to_owned()),
        "identifier" | "this" => walk.name(walk.source(node)),
        "member_expression" => {
            let written: String = walk.shown(node).replace(' ', "");
            walk.name(&written)
        }
        "subscript_expression" => match walk.field(node, "index") {
            Some(index) if names::is_run_id(index.trim_matches(['"', '\''])) => {
                Value::RunId(walk.shown(node))
            }
            _ => Value::Other(walk.shown(node)),
        },
        "parenthesized_expression"
        | "await_expression"
        | "as_expression"
        | "non_null_expression"
        | "satisfies_expression"
        | "spread_element" => match named(node).into_iter().next() {
            Some(inner) => walk.value(inner),
            None => Value::Other(walk.shown(node)),
        },
        "binary_expression" => sum(walk, node),
        "unary_expression" => match node.child_by_field_name("argument") {
            Some(inner) => match walk.value(inner) {
                known @ (Value::Clock | Value::Random) => known,
                _ => Value::Other(walk.shown(node)),
            },
            None => Value::Other(walk.shown(node)),
        },
        "array" => {
            let values = named(node).into_iter().map(|inner| walk.value(inner)).collect();
            Value::Many(values)
        }
        "object" => {
            let found = fields(walk, node).unwrap_or_default();
            Value::Many(found.into_iter().map(|field| field.value).collect())
        }
        "call_expression" => call(walk, node),
        "new_expression" => {
            let callee = walk.field(node, "constructor").unwrap_or_default();
            let arguments = node.child_by_field_name("arguments").map(named).unwrap_or_default();
            given(walk, node, callee, &arguments)
        }
        _ => Value::Other(walk.shown(node)),
    }
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    let chain = walk.unlink(node);
    let callee = walk.callee(&chain);
    let Some(link) = chain.links.last() else { return Value::Other(walk.shown(node)) };
    let Some(list) = link.arguments else { return Value::Other(walk.shown(node)) };
    if list.kind() == "template_string" {
        return Value::Other(walk.shown(node));
    }
    let arguments = named(list);
    if let Some(function) = node.child_by_field_name("function")
        && function.kind() == "member_expression"
        && let Some(object) = function.child_by_field_name("object")
        && names::result_of(&callee, arguments.len()).is_none()
    {
        if link.name == "join" && bare(object).kind() == "array" {
            return list_of(walk, bare(object), &arguments, node);
        }
        if names::keeps_meaning(link.name) || link.name == "trim" {
            match walk.value(object) {
                known @ (Value::Clock | Value::Random | Value::RunId(_)) => return known,
                Value::Text(text) if link.name == "trim" => return Value::Text(text),
                _ => {}
            }
        }
    }
    given(walk, node, &callee, &arguments)
}

/// `["INSERT …", "VALUES …"].join("\n")`
fn list_of<'t>(walk: &mut Walk<'t>, array: Node<'t>, arguments: &[Node<'t>], node: Node<'t>) -> Value {
    let between = match arguments.first().map(|first| walk.value(*first)) {
        Some(Value::Text(text)) => text,
        None => ",".to_owned(),
        Some(_) => return Value::Other(walk.shown(node)),
    };
    let mut parts = Vec::new();
    for (index, inner) in named(array).into_iter().enumerate() {
        if index > 0 {
            parts.push(Value::Text(between.clone()));
        }
        parts.push(walk.value(inner));
    }
    walk.joined(node, parts)
}

fn given<'t>(walk: &mut Walk<'t>, node: Node<'t>, callee: &str, arguments: &[Node<'t>]) -> Value {
    if let Some(known) = names::result_of(callee, arguments.len()) {
        return known;
    }
    if names::is_conversion(callee)
        && let Some(first) = arguments.first()
        && let known @ (Value::Clock | Value::Random | Value::RunId(_)) = walk.value(*first)
    {
        return known;
    }
    Value::Other(walk.shown(node))
}

/// `a + b + c`, however long, without recursion.
fn sum<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    let (operands, is_sum) = walk.operands(node, "binary_expression");
    let parts: Vec<Value> = operands.into_iter().map(|operand| walk.value(operand)).collect();
    if is_sum && parts.iter().any(|part| matches!(part, Value::Text(_) | Value::Joined(_))) {
        return walk.joined(node, parts);
    }
    match parts.into_iter().find(|part| matches!(part, Value::Clock | Value::Random)) {
        Some(known) => known,
        None => Value::Other(walk.shown(node)),
    }
}

fn unescape(walk: &Walk<'_>, node: Node<'_>) -> String {
    let source = walk.source(node);
    walk::unescape(source.get(1..source.len().saturating_sub(1)).unwrap_or_default())
}

/// The parts of a template: texts, and what is filled in.
pub(super) fn template<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut at = node.start_byte() + 1;
    let end = node.end_byte().saturating_sub(1).max(at);
    for inner in named(node).into_iter().filter(|inner| inner.kind() == "template_substitution") {
        parts.push(Value::Text(walk::unescape(walk.text.get(at..inner.start_byte()).unwrap_or_default())));
        if let Some(expression) = named(inner).into_iter().next() {
            parts.push(walk.value(expression));
        }
        at = inner.end_byte();
    }
    parts.push(Value::Text(walk::unescape(walk.text.get(at..end).unwrap_or_default())));
    parts.retain(|part| !matches!(part, Value::Text(text) if text.is_empty()));
    parts
}

fn step<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    match node.kind() {
        "comment"
        | "identifier"
        | "number"
        | "regex"
        | "import_statement"
        | "type_annotation"
        | "interface_declaration"
        | "type_alias_declaration"
        | "property_identifier"
        | "this"
        | "decorator" => {}
        "string" => walk.bare(node, out),
        "template_string" => {
            walk.bare(node, out);
            walk.children(node, out);
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
        "function_declaration" | "generator_function_declaration" | "method_definition" => {
            let name = walk.field(node, "name").unwrap_or_default().to_owned();
            define(walk, node, name, node);
        }
        "arrow_function" | "function_expression" | "generator_function" => {
            if let Some(found) = closure(node) {
                let mut body = walk.closure(node, found);
                out.append(&mut body);
            }
        }
        "class_body" => walk.decorated(node, "decorator", out),
        "variable_declarator" => declarator(walk, node, out),
        "field_definition" | "public_field_definition" | "pair" => field(walk, node, out),
        "assignment_expression" => assignment(walk, node, out),
        "augmented_assignment_expression" => {
            walk.part(node, "right", out);
            if let (Some(left), Some(right)) = (walk.field(node, "left"), node.child_by_field_name("right"))
                && walk.field(node, "operator") == Some("+=")
            {
                let more = walk.value(right);
                walk.append(node, left, more);
            }
        }
        "call_expression" => match tagged(node) {
            Some(template) => builder::tagged(walk, node, template, out),
            None => walk.chain(node, out),
        },
        "new_expression" => new(walk, node, out),
        "for_statement" | "for_in_statement" | "while_statement" | "do_statement" => repeat(walk, node, out),
        "if_statement" | "ternary_expression" => {
            let then: Vec<Node<'t>> = node.child_by_field_name("consequence").into_iter().collect();
            let otherwise: Vec<Node<'t>> = node.child_by_field_name("alternative").into_iter().collect();
            walk.choice(node, node.child_by_field_name("condition").map(bare), &then, &otherwise, out);
        }
        "switch_statement" => {
            let arms = node.child_by_field_name("body").map(named).unwrap_or_default();
            let pattern = |arm: Node<'t>| arm.child_by_field_name("value");
            walk.arms(node, node.child_by_field_name("value").map(bare), &arms, pattern, out);
        }
        "try_statement" => attempt(walk, node, out),
        "throw_statement" => {
            walk.quiet += 1;
            walk.children(node, out);
            walk.quiet -= 1;
            Walk::leaves(node, "throw", out);
        }
        "return_statement" => {
            walk.children(node, out);
            Walk::leaves(node, "return", out);
        }
        "continue_statement" => Walk::leaves(node, "continue", out),
        "break_statement" => Walk::leaves(node, "break", out),
        _ => walk.children(node, out),
    }
}

/// The template of sql`…`.
fn tagged(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("arguments").filter(|arguments| arguments.kind() == "template_string")
}

fn define<'t>(walk: &mut Walk<'t>, node: Node<'t>, name: String, function: Node<'t>) {
    let list =
        function.child_by_field_name("parameters").or_else(|| function.child_by_field_name("parameter"));
    let parameters = list.map(|list| walk.names_in(list)).unwrap_or_default();
    let decorators = decorators(walk, node);
    walk.function(node, name, decorators, &parameters, function.child_by_field_name("body"));
}

/// `@Transactional()` stands before a method, or in it.
fn decorators<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Vec<String> {
    let mut found = std::mem::take(&mut walk.decorators);
    for inner in named(node).into_iter().filter(|inner| inner.kind() == "decorator") {
        found.push(walk.decorator(inner));
    }
    found
}

fn declarator<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let (name, init) = (node.child_by_field_name("name"), node.child_by_field_name("value"));
    if let (Some(name), Some(init)) = (name, init)
        && closure(init).is_some()
    {
        let name = walk.source(name).to_owned();
        return define(walk, node, name, init);
    }
    bind(walk, node);
    if let Some(init) = init {
        walk.target = name.map(|name| walk.source(name).to_owned());
        walk.step(init, out);
        walk.target = None;
    }
}

/// A member of a class or of an object: a function has its name.
fn field<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let key =
        ["key", "name", "property"].into_iter().find_map(|field| walk.field(node, field)).unwrap_or_default();
    let Some(value) = node.child_by_field_name("value") else { return };
    if closure(value).is_some() {
        return define(walk, node, key.to_owned(), value);
    }
    if node.kind() != "pair" {
        let known = walk.value(value);
        walk.declare(&format!("this.{key}"), known, span(value));
        walk.target = Some(format!("this.{key}"));
    }
    walk.step(value, out);
    walk.target = None;
}

fn assignment<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    else {
        return;
    };
    let name = walk.source(left);
    if closure(right).is_some() {
        return define(walk, node, names::last(name).to_owned(), right);
    }
    if matches!(left.kind(), "identifier" | "member_expression") && name.len() <= 100 {
        let known = walk.value(right);
        walk.assign(name, known, span(right));
        walk.target = Some(name.to_owned());
    }
    walk.step(right, out);
    walk.target = None;
}

fn new<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let callee = walk.field(node, "constructor").unwrap_or_default();
    let list = node.child_by_field_name("arguments").map(named).unwrap_or_default();
    let is_quiet = names::only_tells(callee);
    walk.quiet += usize::from(is_quiet);
    let target = walk.target.take();
    let arguments: Vec<Argument> = list
        .iter()
        .filter(|inner| closure(**inner).is_none())
        .map(|inner| Argument { name: None, value: walk.value(*inner), span: span(*inner) })
        .collect();
    for inner in list {
        walk.step(inner, out);
    }
    walk.quiet -= usize::from(is_quiet);
    let callee = walk::shorten(callee);
    out.push(Step::Call(Call { span: span(node), callee, arguments, assigned_to: target }));
}

fn repeat<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let bound = node.child_by_field_name("left").map(|left| walk.names_in(left)).unwrap_or_default();
    for before in ["initializer", "right", "condition"] {
        walk.part(node, before, out);
    }
    walk.repeat(node, node.child_by_field_name("body"), &bound, out);
}

fn attempt<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let body = walk.nested(|walk, steps| walk.part(node, "body", steps));
    let handlers: Vec<Handler> = node
        .child_by_field_name("handler")
        .map(|handler| {
            let body = walk.nested(|walk, steps| walk.part(handler, "body", steps));
            Handler { span: span(handler), catches: Vec::new(), body }
        })
        .into_iter()
        .collect();
    out.push(Step::Try(Try { span: span(node), body, handlers }));
    walk.part(node, "finalizer", out);
}
