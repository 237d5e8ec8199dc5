//! Java: JDBC, Spring's JdbcTemplate and JdbcClient, JPA's and MyBatis' annotations.
//!
//! A class' annotations are its methods' as well. A prepared statement runs where it is executed.

use tree_sitter::Node;

use super::calls::Chain;
use super::names;
use super::walk::{self, Host, Part, Walk, named, shorten, span, unescape};
use super::{Argument, Call, Function, Handler, Scope, Step, Try, Unread, Value};

static HOST: Host = Host { step, value, part, closure, fields, builder };

/// Reads a file of Java.
pub(crate) fn read_file(text: &str) -> (Vec<Function>, Vec<Unread>) {
    walk::read(&HOST, &tree_sitter_java::LANGUAGE.into(), text, |_, _| {})
}

fn part<'t>(walk: &Walk<'t>, node: Node<'t>) -> Part<'t> {
    match node.kind() {
        "method_invocation" => match (walk.field(node, "name"), node.child_by_field_name("arguments")) {
            (Some(name), Some(arguments)) => {
                Part::Method(node.child_by_field_name("object"), name, arguments)
            }
            _ => Part::Root,
        },
        "field_access" => match (node.child_by_field_name("object"), walk.field(node, "field")) {
            (Some(object), Some(name)) => Part::Member(object, name),
            _ => Part::Root,
        },
        "parenthesized_expression" => named(node).into_iter().next().map_or(Part::Root, Part::Through),
        _ => Part::Root,
    }
}

fn closure(node: Node<'_>) -> Option<(Option<Node<'_>>, Node<'_>)> {
    match node.kind() {
        "lambda_expression" => {
            Some((node.child_by_field_name("parameters"), node.child_by_field_name("body")?))
        }
        _ => None,
    }
}

/// `Map.of("id", id, …)`
fn fields<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Option<Vec<Argument>> {
    if node.kind() != "method_invocation"
        || walk.field(node, "name") != Some("of")
        || walk.field(node, "object") != Some("Map")
    {
        return None;
    }
    let mut found = Vec::new();
    for pair in named(node.child_by_field_name("arguments")?).chunks(2) {
        let [key, value] = pair else { return None };
        let Value::Text(name) = walk.value(*key) else { return None };
        found.push(Argument { name: Some(name), value: walk.value(*value), span: span(*value) });
    }
    Some(found)
}

fn builder<'t>(_: &mut Walk<'t>, _: &Chain<'t>, _: &mut Vec<Step>) -> bool {
    false
}

fn value<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    match node.kind() {
        "string_literal" => {
            let text = literal(walk.source(node));
            walk.constant(node, text)
        }
        "decimal_integer_literal"
        | "hex_integer_literal"
        | "decimal_floating_point_literal"
        | "true"
        | "false"
        | "null_literal"
        | "character_literal" => Value::Constant(walk.source(node).to_owned()),
        "identifier" | "this" => walk.name(walk.source(node)),
        "field_access" => {
            let written = walk.shown(node).replace(' ', "");
            match written.strip_prefix("this.").map(str::to_owned) {
                Some(field) => walk.name(&field),
                // `Queries.INSERT` of a class in the same file.
                None => match walk.name(&written) {
                    Value::Name(_) if walk.origin(names::last(&written)).is_some() => {
                        walk.name(names::last(&written))
                    }
                    known => known,
                },
            }
        }
        "parenthesized_expression" => match named(node).into_iter().next() {
            Some(inner) => walk.value(inner),
            None => Value::Other(walk.shown(node)),
        },
        "cast_expression" => match node.child_by_field_name("value") {
            Some(inner) => walk.value(inner),
            None => Value::Other(walk.shown(node)),
        },
        "binary_expression" => {
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
        "array_creation_expression" => match node.child_by_field_name("value") {
            Some(list) => walk.value(list),
            None => Value::Other(walk.shown(node)),
        },
        "array_initializer" | "element_value_array_initializer" => {
            Value::Many(named(node).into_iter().map(|inner| walk.value(inner)).collect())
        }
        "method_invocation" => call(walk, node),
        "object_creation_expression" => {
            let callee = format!("new {}", walk.field(node, "type").unwrap_or_default());
            let arguments = node.child_by_field_name("arguments").map(named).unwrap_or_default();
            if callee.ends_with("Date") && arguments.is_empty() {
                return Value::Clock;
            }
            first_known(walk, node, &arguments)
        }
        _ => Value::Other(walk.shown(node)),
    }
}

/// `new Timestamp(System.currentTimeMillis())`: what it is made of.
fn first_known<'t>(walk: &mut Walk<'t>, node: Node<'t>, arguments: &[Node<'t>]) -> Value {
    if let [only] = arguments
        && let known @ (Value::Clock | Value::Random | Value::RunId(_)) = walk.value(*only)
    {
        return known;
    }
    Value::Other(walk.shown(node))
}

fn call<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    let chain = walk.unlink(node);
    let callee = walk.callee(&chain);
    let name = walk.field(node, "name").unwrap_or_default();
    let object = node.child_by_field_name("object");
    let arguments = node.child_by_field_name("arguments").map(named).unwrap_or_default();
    if let Some(known) = names::result_of(&callee, arguments.len()) {
        return known;
    }
    match (name, object) {
        ("format", Some(object)) if walk.source(object) == "String" => return format(walk, node, &arguments),
        ("formatted", Some(object)) => {
            let mut all = vec![object];
            all.extend(&arguments);
            return format(walk, node, &all);
        }
        ("trim" | "strip" | "stripIndent", Some(object)) => {
            if let text @ Value::Text(_) = walk.value(object) {
                return text;
            }
        }
        ("of" | "asList", Some(object)) if matches!(walk.source(object), "List" | "Arrays" | "Set") => {
            return Value::Many(arguments.iter().map(|argument| walk.value(*argument)).collect());
        }
        ("join", Some(object)) if walk.source(object) == "String" => return join(walk, node, &arguments),
        ("getenv" | "getProperty", _) => {
            if let Some(Value::Text(key)) = arguments.first().map(|first| walk.value(*first))
                && names::is_run_id(&key)
            {
                return Value::RunId(key);
            }
        }
        (_, Some(object)) if names::keeps_meaning(name) => {
            if let known @ (Value::Clock | Value::Random | Value::RunId(_)) = walk.value(object) {
                return known;
            }
        }
        _ => {}
    }
    if names::is_run_id(name.trim_start_matches("get")) && arguments.is_empty() {
        return Value::RunId(walk.shown(node));
    }
    if names::is_conversion(name) {
        first_known(walk, node, &arguments)
    } else {
        Value::Other(walk.shown(node))
    }
}

/// `String.format("… %s …", a)`: the verbs are the parts.
fn format<'t>(walk: &mut Walk<'t>, node: Node<'t>, arguments: &[Node<'t>]) -> Value {
    let Some((format, rest)) = arguments.split_first() else { return Value::Other(walk.shown(node)) };
    let Value::Text(format) = walk.value(*format) else { return Value::Other(walk.shown(node)) };
    walk.formatted(node, &format, rest)
}

fn join<'t>(walk: &mut Walk<'t>, node: Node<'t>, arguments: &[Node<'t>]) -> Value {
    let Some((between, rest)) = arguments.split_first() else { return Value::Other(walk.shown(node)) };
    let Value::Text(between) = walk.value(*between) else { return Value::Other(walk.shown(node)) };
    let mut parts = Vec::new();
    for (index, part) in rest.iter().enumerate() {
        if index > 0 {
            parts.push(Value::Text(between.clone()));
        }
        parts.push(walk.value(*part));
    }
    walk.joined(node, parts)
}

/// A text or a text block.
fn literal(source: &str) -> String {
    let Some(block) = source.strip_prefix("\"\"\"").and_then(|rest| rest.strip_suffix("\"\"\"")) else {
        return unescape(source.get(1..source.len().saturating_sub(1)).unwrap_or_default());
    };
    unescape(block)
}

fn step<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    match node.kind() {
        "line_comment"
        | "block_comment"
        | "identifier"
        | "import_declaration"
        | "package_declaration"
        | "annotation"
        | "marker_annotation"
        | "modifiers" => {}
        "string_literal" => walk.bare(node, out),
        "binary_expression" => {
            let (operands, is_sum) = walk.operands(node, "binary_expression");
            if is_sum {
                walk.bare(node, out);
            }
            for operand in operands {
                walk.step(operand, out);
            }
        }
        "class_declaration" | "interface_declaration" | "enum_declaration" | "record_declaration" => {
            let own = annotations(node);
            let own = own
                .into_iter()
                .filter_map(|annotation| walk.field(annotation, "name"))
                .map(str::to_owned)
                .collect();
            let outer = std::mem::replace(&mut walk.decorators, own);
            walk.part(node, "body", out);
            walk.decorators = outer;
        }
        "class_body" | "interface_body" | "enum_body_declarations" => {
            // Fields are known in methods that stand before them.
            let members = named(node);
            for member in &members {
                if matches!(member.kind(), "field_declaration" | "constant_declaration") {
                    declare(walk, *member);
                }
            }
            for member in members {
                walk.step(member, out);
            }
        }
        "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
            method(walk, node);
        }
        "lambda_expression" => {
            if let Some(found) = closure(node) {
                let mut body = walk.closure(node, found);
                out.append(&mut body);
            }
        }
        "local_variable_declaration" | "field_declaration" | "constant_declaration" => {
            declare(walk, node);
            for declarator in declarators(node) {
                take(walk, declarator, "name", "value", out);
            }
        }
        "assignment_expression" => assignment(walk, node, out),
        "method_invocation" => walk.chain(node, out),
        "object_creation_expression" => new(walk, node, out),
        "enhanced_for_statement" | "for_statement" | "while_statement" | "do_statement" => {
            repeat(walk, node, out);
        }
        "if_statement" | "ternary_expression" => {
            let then: Vec<Node<'t>> = node.child_by_field_name("consequence").into_iter().collect();
            let otherwise: Vec<Node<'t>> = node.child_by_field_name("alternative").into_iter().collect();
            walk.choice(node, node.child_by_field_name("condition").map(bare), &then, &otherwise, out);
        }
        "switch_expression" => {
            let arms = node.child_by_field_name("body").map(named).unwrap_or_default();
            let pattern = |arm: Node<'t>| named(arm).into_iter().find(|inner| inner.kind() == "switch_label");
            walk.arms(node, node.child_by_field_name("condition").map(bare), &arms, pattern, out);
        }
        "try_statement" | "try_with_resources_statement" => attempt(walk, node, out),
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

fn bare(mut node: Node<'_>) -> Node<'_> {
    while node.kind() == "parenthesized_expression"
        && let Some(inner) = named(node).into_iter().next()
    {
        node = inner;
    }
    node
}

fn declarators(node: Node<'_>) -> Vec<Node<'_>> {
    named(node).into_iter().filter(|inner| inner.kind() == "variable_declarator").collect()
}

fn declare<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    for declarator in declarators(node) {
        let Some(name) = walk.field(declarator, "name") else { continue };
        let (value, origin) = match declarator.child_by_field_name("value") {
            Some(value) if closure(value).is_none() => (walk.value(value), span(value)),
            _ => (Value::Name(name.to_owned()), span(declarator)),
        };
        walk.declare(name, value, origin);
    }
}

/// The right side happens, and the left takes its result.
fn take<'t>(walk: &mut Walk<'t>, node: Node<'t>, left: &str, right: &str, out: &mut Vec<Step>) {
    let Some(value) = node.child_by_field_name(right) else { return };
    walk.target = walk.field(node, left).map(|name| name.trim_start_matches("this.").to_owned());
    walk.step(value, out);
    walk.target = None;
}

fn assignment<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let (Some(name), Some(right)) = (walk.field(node, "left"), node.child_by_field_name("right")) else {
        return;
    };
    let name = name.trim_start_matches("this.");
    if name.len() <= 100 {
        let value = walk.value(right);
        match walk.field(node, "operator") {
            Some("+=") => walk.append(node, name, value),
            _ => walk.assign(name, value, span(right)),
        }
    }
    take(walk, node, "left", "right", out);
}

fn new<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let callee = shorten(walk.field(node, "type").unwrap_or_default());
    let is_quiet = names::only_tells(&callee);
    walk.quiet += usize::from(is_quiet);
    let assigned_to = walk.target.take();
    let list = node.child_by_field_name("arguments").map(named).unwrap_or_default();
    let mut arguments = Vec::new();
    for inner in list {
        if closure(inner).is_none() {
            arguments.push(Argument { name: None, value: walk.value(inner), span: span(inner) });
        }
        walk.step(inner, out);
    }
    walk.quiet -= usize::from(is_quiet);
    out.push(Step::Call(Call { span: span(node), callee, arguments, assigned_to }));
    for inner in named(node).into_iter().filter(|inner| inner.kind() == "class_body") {
        walk.step(inner, out);
    }
}

fn method<'t>(walk: &mut Walk<'t>, node: Node<'t>) {
    let name = walk.field(node, "name").unwrap_or_default().to_owned();
    let parameters: Vec<&'t str> = node
        .child_by_field_name("parameters")
        .map(named)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|parameter| walk.field(parameter, "name"))
        .collect();
    let own = annotations(node);
    let mut decorators: Vec<String> =
        own.iter().filter_map(|annotation| walk.field(*annotation, "name")).map(str::to_owned).collect();
    for name in &walk.decorators {
        if !decorators.contains(name) {
            decorators.push(name.clone());
        }
    }
    let mut stated = Vec::new();
    for annotation in own {
        annotated(walk, annotation, &mut stated);
    }
    if !stated.is_empty() {
        walk.functions.push(Function { name, span: span(node), decorators, body: stated });
        return;
    }
    walk.function(node, name, decorators, &parameters, node.child_by_field_name("body"));
}

fn annotations(node: Node<'_>) -> Vec<Node<'_>> {
    named(node)
        .into_iter()
        .filter(|inner| inner.kind() == "modifiers")
        .flat_map(named)
        .filter(|inner| matches!(inner.kind(), "annotation" | "marker_annotation"))
        .collect()
}

/// `@Query(value = "…", nativeQuery = true)`, MyBatis' `@Insert("…")`, JDBI's `@SqlUpdate("…")`: the method is the statement.
fn annotated<'t>(walk: &mut Walk<'t>, annotation: Node<'t>, out: &mut Vec<Step>) {
    let name = walk.field(annotation, "name").unwrap_or_default();
    let Some(list) = annotation.child_by_field_name("arguments") else { return };
    let is_native = match name {
        "Query" => {
            walk.source(list).replace(' ', "").contains("nativeQuery=true")
                || walk.text.contains("jdbc.repository")
        }
        "NativeQuery" | "Insert" | "Update" | "Delete" | "Select" | "SqlUpdate" | "SqlQuery" | "SqlBatch"
        | "SqlScript" => true,
        _ => false,
    };
    if !is_native {
        return;
    }
    for argument in named(list) {
        let node = match argument.kind() {
            "element_value_pair" => {
                match (walk.field(argument, "key"), argument.child_by_field_name("value")) {
                    (Some("value"), Some(value)) => value,
                    _ => continue,
                }
            }
            _ => argument,
        };
        let mut text = walk.value(node);
        if let Value::Many(lines) = text {
            let lines = lines.into_iter().flat_map(|line| [line, Value::Text(" ".to_owned())]).collect();
            text = walk.joined(node, lines);
        }
        if super::walk::likeness(&text) >= names::Likeness::Possible {
            let call = Call {
                span: span(annotation),
                callee: name.to_owned(),
                arguments: Vec::new(),
                assigned_to: None,
            };
            walk.run(&text, span(node), call, Vec::new(), name == "SqlBatch", out);
        }
    }
}

fn repeat<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let is_each = node.kind() == "enhanced_for_statement";
    let bound: Vec<&'t str> =
        if is_each { walk.field(node, "name").into_iter().collect() } else { Vec::new() };
    for before in [if is_each { "value" } else { "init" }, "condition"] {
        walk.part(node, before, out);
    }
    walk.repeat(node, node.child_by_field_name("body"), &bound, out);
}

fn attempt<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let resources = node.child_by_field_name("resources").map(named).unwrap_or_default();
    let body = walk.nested(|walk, steps| {
        let mut openers = Vec::new();
        for resource in resources {
            let at = steps.len();
            take(walk, resource, "name", "value", steps);
            if let Some(Step::Call(_)) = steps.get(at..).and_then(<[Step]>::last)
                && let Some(Step::Call(opener)) = steps.pop()
            {
                openers.push((resource, opener));
            }
        }
        let mut inner = Vec::new();
        walk.part(node, "body", &mut inner);
        while let Some((resource, opener)) = openers.pop() {
            let span = super::Span { start: resource.start_byte(), end: node.end_byte() };
            inner = vec![Step::Scope(Scope { span, opener, body: inner })];
        }
        steps.append(&mut inner);
    });
    let clauses: Vec<Node<'t>> =
        named(node).into_iter().filter(|inner| inner.kind() == "catch_clause").collect();
    if clauses.is_empty() {
        out.extend(body);
    } else {
        let handlers = clauses.into_iter().map(|clause| handler(walk, clause)).collect();
        out.push(Step::Try(Try { span: span(node), body, handlers }));
    }
    for last in named(node).into_iter().filter(|inner| inner.kind() == "finally_clause") {
        walk.children(last, out);
    }
}

fn handler<'t>(walk: &mut Walk<'t>, clause: Node<'t>) -> Handler {
    let catches = named(clause)
        .into_iter()
        .filter(|inner| inner.kind() == "catch_formal_parameter")
        .flat_map(named)
        .filter(|inner| inner.kind() == "catch_type")
        .flat_map(named)
        .map(|name| walk.shown(name))
        .collect();
    let body = walk.nested(|walk, steps| walk.part(clause, "body", steps));
    Handler { span: span(clause), catches, body }
}
