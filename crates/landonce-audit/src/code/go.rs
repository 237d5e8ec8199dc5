//! Go: database/sql, pgx, sqlx, pq.
//!
//! `defer`red calls are written down at the function's end. An error's check stays the branch that it is.

use tree_sitter::Node;

use super::calls::Chain;
use super::names;
use super::walk::{self, Host, Part, Walk, named, span, unescape};
use super::{Argument, Call, Function, Step, Unread, Use, Value};
use crate::sql;

static HOST: Host = Host { step, value, part, closure, fields, builder };

/// Reads a file of Go.
pub(crate) fn read_file(text: &str) -> (Vec<Function>, Vec<Unread>) {
    walk::read(&HOST, &tree_sitter_go::LANGUAGE.into(), text, hoist)
}

/// The package's constants are known in functions that stand before them.
fn hoist<'t>(walk: &mut Walk<'t>, root: Node<'t>) {
    for node in named(root) {
        if matches!(node.kind(), "const_declaration" | "var_declaration") {
            declaration(walk, node);
        }
    }
}

fn specs(node: Node<'_>) -> Vec<Node<'_>> {
    named(node)
        .into_iter()
        .flat_map(|inner| if inner.kind() == "var_spec_list" { named(inner) } else { vec![inner] })
        .filter(|inner| matches!(inner.kind(), "const_spec" | "var_spec"))
        .collect()
}

fn declaration<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    for spec in specs(node) {
        let mut cursor = spec.walk();
        let targets: Vec<Node<'t>> =
            spec.children_by_field_name("name", &mut cursor).filter(Node::is_named).collect();
        let values = spec.child_by_field_name("value").map(named).unwrap_or_default();
        assign(walk, &targets, &values, true);
    }
}

/// `a, b := x, y`: each its own; `a, err := f()`: the first what the call gives.
fn assign<'t>(walk: &mut Walk<'t>, targets: &[Node<'t>], values: &[Node<'t>], is_new: bool) {
    for (index, target) in targets.iter().enumerate() {
        let name = walk.source(*target);
        let (value, origin) = match values.get(index) {
            Some(node) if closure(*node).is_none() => (walk.value(*node), span(*node)),
            _ => (Value::Name(name.to_owned()), span(*target)),
        };
        if is_new { walk.declare(name, value, origin) } else { walk.assign(name, value, origin) }
    }
}

fn part<'t>(walk: &Walk<'t>, node: Node<'t>) -> Part<'t> {
    match node.kind() {
        "selector_expression" => match (node.child_by_field_name("operand"), walk.field(node, "field")) {
            (Some(operand), Some(name)) => Part::Member(operand, name),
            _ => Part::Root,
        },
        "call_expression" => {
            match (node.child_by_field_name("function"), node.child_by_field_name("arguments")) {
                (Some(function), Some(arguments)) => Part::Call(function, arguments),
                _ => Part::Root,
            }
        }
        "parenthesized_expression" => named(node).into_iter().next().map_or(Part::Root, Part::Through),
        _ => Part::Root,
    }
}

fn closure(node: Node<'_>) -> Option<(Option<Node<'_>>, Node<'_>)> {
    match node.kind() {
        "func_literal" => Some((node.child_by_field_name("parameters"), node.child_by_field_name("body")?)),
        _ => None,
    }
}

/// `pgx.NamedArgs{"id": id}`, `map[string]any{…}`: names and values.
fn fields<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Option<Vec<Argument>> {
    let node = match node.kind() {
        "composite_literal" => node,
        "unary_expression" => {
            node.child_by_field_name("operand").filter(|inner| inner.kind() == "composite_literal")?
        }
        _ => return None,
    };
    let mut found = Vec::new();
    for element in named(node.child_by_field_name("body")?) {
        if element.kind() != "keyed_element" {
            return None;
        }
        let (key, value) = (element.child_by_field_name("key")?, element.child_by_field_name("value")?);
        let name = walk.source(key).trim_matches('"').to_owned();
        found.push(Argument { name: Some(name), value: walk.value(value), span: span(value) });
    }
    (!found.is_empty()).then_some(found)
}

fn value<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    match node.kind() {
        "interpreted_string_literal" => {
            let source = walk.source(node);
            walk.constant(node, unescape(source.trim_matches('"')))
        }
        "raw_string_literal" => {
            let text = walk.source(node).trim_matches('`').to_owned();
            walk.constant(node, text)
        }
        "int_literal" | "float_literal" | "true" | "false" | "nil" | "rune_literal" | "iota" => {
            Value::Constant(walk.source(node).to_owned())
        }
        "identifier" => walk.name(walk.source(node)),
        "selector_expression" => {
            let written = walk.shown(node).replace(' ', "");
            walk.name(&written)
        }
        "parenthesized_expression" | "literal_element" | "variadic_argument" => {
            match named(node).into_iter().next() {
                Some(inner) => walk.value(inner),
                None => Value::Other(walk.shown(node)),
            }
        }
        "unary_expression" => match node.child_by_field_name("operand") {
            Some(inner) if walk.field(node, "operator") == Some("&") => walk.value(inner),
            _ => Value::Other(walk.shown(node)),
        },
        "binary_expression" => sum(walk, node),
        "composite_literal" => {
            let body = node.child_by_field_name("body").map(named).unwrap_or_default();
            let mut values = Vec::new();
            for element in body {
                let inner = element.child_by_field_name("value").unwrap_or(element);
                values.push(walk.value(inner));
            }
            Value::Many(values)
        }
        "type_conversion_expression" => match node.child_by_field_name("operand") {
            Some(inner) => walk.value(inner),
            None => Value::Other(walk.shown(node)),
        },
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
    match callee.as_str() {
        "fmt.Sprintf" => return sprintf(walk, node, &arguments),
        "strings.TrimSpace" => {
            if let Some(first) = arguments.first() {
                return walk.value(*first);
            }
        }
        "pq.CopyIn" | "pq.CopyInSchema" => {
            if let Some(copy) = copy_in(walk, &arguments, callee == "pq.CopyInSchema") {
                return walk.constant(node, copy);
            }
        }
        "os.Getenv" => {
            if let Some(Value::Text(name)) = arguments.first().map(|first| walk.value(*first))
                && names::is_run_id(&name)
            {
                return Value::RunId(name);
            }
        }
        _ => {}
    }
    if let Some(function) = node.child_by_field_name("function")
        && let (Some(operand), Some(method)) =
            (function.child_by_field_name("operand"), walk.field(function, "field"))
        && names::keeps_meaning(method)
        && let known @ (Value::Clock | Value::Random | Value::RunId(_)) = walk.value(operand)
    {
        return known;
    }
    if names::is_conversion(&callee)
        && let Some(first) = arguments.first()
        && let known @ (Value::Clock | Value::Random | Value::RunId(_)) = walk.value(*first)
    {
        return known;
    }
    Value::Other(walk.shown(node))
}

/// `fmt.Sprintf("… %s …", a)`: the verbs are the parts.
fn sprintf<'t>(walk: &mut Walk<'t>, node: Node<'t>, arguments: &[Node<'t>]) -> Value {
    let Some((format, rest)) = arguments.split_first() else { return Value::Other(walk.shown(node)) };
    let Value::Text(format) = walk.value(*format) else { return Value::Other(walk.shown(node)) };
    walk.formatted(node, &format, rest)
}

fn copy_in<'t>(walk: &mut Walk<'t>, arguments: &[Node<'t>], has_schema: bool) -> Option<String> {
    let mut given = Vec::new();
    for argument in arguments {
        let Value::Text(name) = walk.value(*argument) else { return None };
        given.push(quote(&name));
    }
    let (table, columns) = given.split_at_checked(if has_schema { 2 } else { 1 })?;
    Some(format!("COPY {} ({}) FROM STDIN", table.join("."), columns.join(", ")))
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn sum<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    let (operands, is_sum) = walk.operands(node, "binary_expression");
    let parts: Vec<Value> = operands.into_iter().map(|operand| walk.value(operand)).collect();
    if is_sum && parts.iter().any(|part| matches!(part, Value::Text(_) | Value::Joined(_))) {
        return walk.joined(node, parts);
    }
    Value::Other(walk.shown(node))
}

/// `conn.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, …)` is a COPY.
fn builder<'t>(walk: &mut Walk<'t>, chain: &Chain<'t>, out: &mut Vec<Step>) -> bool {
    let Some(link) = chain.links.last().filter(|link| link.name == "CopyFrom") else { return false };
    let arguments = link.arguments.map(named).unwrap_or_default();
    let [_, table, columns, ..] = arguments.as_slice() else { return false };
    let mut names_in = |node: Node<'t>| -> Option<Vec<String>> {
        let Value::Many(values) = walk.value(node) else { return None };
        values
            .into_iter()
            .map(|value| if let Value::Text(name) = value { Some(quote(&name)) } else { None })
            .collect()
    };
    let (Some(table), Some(columns)) = (names_in(*table), names_in(*columns)) else { return false };
    let place = span(chain.node);
    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    let Some(statement) = sql::made(&format!("COPY {}{columns} FROM STDIN", table.join(".")), place) else {
        return false;
    };
    for argument in arguments {
        walk.step(argument, out);
    }
    let call = Call { span: place, callee: walk.callee(chain), arguments: Vec::new(), assigned_to: None };
    let statements = vec![statement];
    out.push(Step::Sql(Box::new(Use {
        span: place,
        call,
        statements,
        arguments: Vec::new(),
        is_many: true,
    })));
    true
}

fn step<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    match node.kind() {
        "comment" | "identifier" | "import_declaration" | "package_clause" | "type_declaration" => {}
        "interpreted_string_literal" | "raw_string_literal" => walk.bare(node, out),
        "binary_expression" => {
            let (operands, is_sum) = walk.operands(node, "binary_expression");
            if is_sum {
                walk.bare(node, out);
            }
            for operand in operands {
                walk.step(operand, out);
            }
        }
        "function_declaration" | "method_declaration" => {
            let name = walk.field(node, "name").unwrap_or_default().to_owned();
            let parameters =
                node.child_by_field_name("parameters").map(|list| walk.names_in(list)).unwrap_or_default();
            walk.function(node, name, Vec::new(), &parameters, node.child_by_field_name("body"));
        }
        "func_literal" => {
            if let Some(found) = closure(node) {
                let mut body = walk.closure(node, found);
                out.append(&mut body);
            }
        }
        "const_declaration" | "var_declaration" => {
            declaration(walk, node);
            for spec in specs(node) {
                walk.part(spec, "value", out);
            }
        }
        "short_var_declaration" => {
            let (targets, values) = sides(node);
            assign(walk, &targets, &values, true);
            into(walk, &targets, &values, node, out);
        }
        "assignment_statement" => assignment(walk, node, out),
        "call_expression" => walk.chain(node, out),
        "defer_statement" => {
            let mut steps = Vec::new();
            walk.children(node, &mut steps);
            match walk.deferred.last_mut() {
                Some(deferred) => {
                    steps.append(deferred); // The last deferred runs first.
                    *deferred = steps;
                }
                None => out.append(&mut steps),
            }
        }
        "for_statement" => repeat(walk, node, out),
        "if_statement" => {
            let then: Vec<Node<'t>> = node.child_by_field_name("consequence").into_iter().collect();
            let otherwise: Vec<Node<'t>> = node.child_by_field_name("alternative").into_iter().collect();
            walk.part(node, "initializer", out);
            walk.choice(node, node.child_by_field_name("condition"), &then, &otherwise, out);
        }
        "expression_switch_statement" | "type_switch_statement" | "select_statement" => {
            let arms: Vec<Node<'t>> =
                named(node).into_iter().filter(|inner| inner.kind().ends_with("_case")).collect();
            walk.part(node, "initializer", out);
            let pattern =
                |arm: Node<'t>| arm.child_by_field_name("value").or_else(|| arm.child_by_field_name("type"));
            walk.arms(node, node.child_by_field_name("value"), &arms, pattern, out);
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

fn sides(node: Node<'_>) -> (Vec<Node<'_>>, Vec<Node<'_>>) {
    let side = |field: &str| node.child_by_field_name(field).map(named).unwrap_or_default();
    (side("left"), side("right"))
}

/// The right side happens; a call's result goes to the first name.
fn into<'t>(
    walk: &mut Walk<'t>,
    targets: &[Node<'t>],
    values: &[Node<'t>],
    node: Node<'t>,
    out: &mut Vec<Step>,
) {
    for (index, value) in values.iter().enumerate() {
        let target = targets.get(index).copied();
        if let (Some(target), Some((parameters, body))) = (target, closure(*value)) {
            let parameters = parameters.map(|list| walk.names_in(list)).unwrap_or_default();
            let name = walk.source(target).to_owned();
            walk.function(node, name, Vec::new(), &parameters, Some(body));
            continue;
        }
        walk.target = target.map(|target| walk.source(target).to_owned()).filter(|name| name != "_");
        walk.step(*value, out);
        walk.target = None;
    }
}

fn assignment<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let (targets, values) = sides(node);
    if walk.field(node, "operator") == Some("+=") {
        for value in &values {
            walk.step(*value, out);
        }
        if let ([target], [more]) = (targets.as_slice(), values.as_slice()) {
            let more = walk.value(*more);
            let name = walk.source(*target);
            walk.append(node, name, more);
        }
        return;
    }
    assign(walk, &targets, &values, false);
    into(walk, &targets, &values, node, out);
}

fn repeat<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let mut bound = Vec::new();
    for head in named(node) {
        match head.kind() {
            "range_clause" => {
                bound = head.child_by_field_name("left").map(|left| walk.names_in(left)).unwrap_or_default();
                walk.part(head, "right", out);
            }
            "for_clause" => {
                walk.part(head, "initializer", out);
                walk.part(head, "condition", out);
            }
            "block" => {}
            _ => walk.step(head, out),
        }
    }
    walk.repeat(node, node.child_by_field_name("body"), &bound, out);
}
