//! Macros: their arguments are tokens, not expressions. What is told here is told from the tokens.

use tree_sitter::Node;

use super::super::names::{self, Likeness};
use super::super::walk::{Walk, likeness, named, shorten, span};
use super::super::{Argument, Call, Span, Step, Value};

/// The tokens between two commas.
struct Part<'t> {
    tokens: Vec<Node<'t>>,
    span: Span,
}

fn name_of<'t>(walk: &Walk<'t>, node: Node<'t>) -> &'t str {
    walk.field(node, "macro").unwrap_or_default()
}

fn parts<'t>(walk: &Walk<'t>, node: Node<'t>) -> Vec<Part<'t>> {
    let Some(tree) = named(node).into_iter().find(|inner| inner.kind() == "token_tree") else {
        return Vec::new();
    };
    let mut cursor = tree.walk();
    let mut found: Vec<Part<'t>> = Vec::new();
    let mut tokens: Vec<Node<'t>> = Vec::new();
    let inner = Span { start: tree.start_byte() + 1, end: tree.end_byte().saturating_sub(1) };
    for token in tree
        .children(&mut cursor)
        .filter(|token| token.start_byte() >= inner.start && token.end_byte() <= inner.end)
    {
        if walk.source(token) == "," {
            close(&mut found, &mut tokens);
        } else if !token.is_extra() {
            tokens.push(token);
        }
    }
    close(&mut found, &mut tokens);
    found
}

fn close<'t>(found: &mut Vec<Part<'t>>, tokens: &mut Vec<Node<'t>>) {
    if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
        let span = Span { start: first.start_byte(), end: last.end_byte() };
        found.push(Part { tokens: std::mem::take(tokens), span });
    }
}

fn part_value<'t>(walk: &mut Walk<'t>, part: &Part<'t>) -> Value {
    if part.tokens.iter().all(|token| token.kind().ends_with("string_literal") || walk.source(*token) == "+")
    {
        let texts: Vec<Value> = part
            .tokens
            .iter()
            .filter(|token| token.kind().ends_with("string_literal"))
            .map(|token| walk.value(*token))
            .collect();
        if let Some(first) = part.tokens.first() {
            return walk.joined(*first, texts);
        }
    }
    let written = walk.text.get(part.span.start..part.span.end).unwrap_or_default();
    let plain = written.trim_start_matches(['&', '*']).trim();
    if let [.., last] = part.tokens.as_slice()
        && last.kind() == "token_tree"
        && let Some(callee) = plain.get(..plain.len().saturating_sub(walk.source(*last).len()))
    {
        // `Utc::now().to_rfc3339()`: what the first call gives.
        let first = plain.split('(').next().unwrap_or_default();
        let first = first.split("::<").next().unwrap_or_default();
        let arguments = named(*last).len();
        if let Some(known) =
            names::result_of(first, arguments).or_else(|| names::result_of(callee, arguments))
        {
            return known;
        }
        return Value::Other(shorten(written));
    }
    let is_path =
        !plain.is_empty() && plain.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':'));
    match is_path {
        true if plain.starts_with(|c: char| c.is_ascii_digit()) => Value::Constant(plain.to_owned()),
        true => walk.name(plain),
        false => Value::Other(shorten(written)),
    }
}

fn argument<'t>(walk: &mut Walk<'t>, part: &Part<'t>) -> Argument {
    Argument { name: None, value: part_value(walk, part), span: part.span }
}

/// `named_params! { ":id": id }`
pub(super) fn named_arguments<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Vec<Argument> {
    let mut found = Vec::new();
    for part in parts(walk, node) {
        let Some((key, rest)) = part.tokens.split_first() else { continue };
        let tokens: Vec<Node<'t>> = rest.iter().copied().filter(|token| walk.source(*token) != ":").collect();
        let Some(first) = tokens.first() else { continue };
        let span = Span { start: first.start_byte(), end: part.span.end };
        let value = part_value(walk, &Part { tokens: tokens.clone(), span });
        let name = walk.source(*key).trim_matches('"').trim_start_matches([':', '@', '$']).to_owned();
        found.push(Argument { name: Some(name), value, span });
    }
    found
}

/// What a macro is.
pub(super) fn value<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    match names::last(name_of(walk, node)) {
        "concat" => {
            let found = parts(walk, node);
            let values = found.iter().map(|part| part_value(walk, part)).collect();
            walk.joined(node, values)
        }
        "format" | "format_args" => formatted(walk, node),
        "vec" | "params" | "named_params" | "params_from_iter" | "to_sql_slice" => {
            let found = parts(walk, node);
            Value::Many(found.iter().map(|part| part_value(walk, part)).collect())
        }
        "env" | "option_env" => {
            let written = walk.shown(node);
            let name = written.split('"').nth(1).unwrap_or_default();
            if names::is_run_id(name) { Value::RunId(name.to_owned()) } else { Value::Other(written) }
        }
        _ => Value::Other(walk.shown(node)),
    }
}

/// `format!("… {table} … {}", columns)`
fn formatted<'t>(walk: &mut Walk<'t>, node: Node<'t>) -> Value {
    let found = parts(walk, node);
    let Some((format, given)) = found.split_first() else { return Value::Other(walk.shown(node)) };
    let Value::Text(format) = part_value(walk, format) else { return Value::Other(walk.shown(node)) };
    let mut order = given.iter();
    let mut made = Vec::new();
    let mut rest = format.as_str();
    let mut text = String::new();
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(rest.get(..at).unwrap_or_default());
        let brace = rest.get(at..at + 1).unwrap_or_default();
        rest = rest.get(at + 1..).unwrap_or_default();
        if rest.starts_with(brace) {
            text.push_str(brace);
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let Some(end) = rest.find('}').filter(|_| brace == "{") else { continue };
        let name =
            rest.get(..end).unwrap_or_default().split(':').next().unwrap_or_default().trim().to_owned();
        rest = rest.get(end + 1..).unwrap_or_default();
        made.push(Value::Text(std::mem::take(&mut text)));
        made.push(filled(walk, &name, given, &mut order));
    }
    text.push_str(rest);
    made.push(Value::Text(text));
    made.retain(|part| !matches!(part, Value::Text(text) if text.is_empty()));
    walk.joined(node, made)
}

fn filled<'t>(
    walk: &mut Walk<'t>,
    name: &str,
    given: &[Part<'t>],
    order: &mut std::slice::Iter<'_, Part<'t>>,
) -> Value {
    if name.is_empty() {
        return order.next().map_or_else(|| Value::Other("{}".to_owned()), |part| part_value(walk, part));
    }
    if let Some(part) = name.parse::<usize>().ok().and_then(|index| given.get(index)) {
        return part_value(walk, part);
    }
    let named = given.iter().find(|part| {
        part.tokens.first().is_some_and(|token| walk.source(*token) == name)
            && part.tokens.get(1).is_some_and(|token| walk.source(*token) == "=")
    });
    match named {
        Some(part) => {
            let tokens: Vec<Node<'t>> = part.tokens.iter().skip(2).copied().collect();
            let start = tokens.first().map_or(part.span.end, Node::start_byte);
            part_value(walk, &Part { tokens, span: Span { start, end: part.span.end } })
        }
        None => walk.name(name),
    }
}

/// What a macro does.
pub(super) fn step<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let written = name_of(walk, node);
    let name = names::last(written);
    let assigned_to = walk.target.take();
    let callee = format!("{written}!");
    let plain = Call { span: span(node), callee, arguments: Vec::new(), assigned_to };
    if matches!(name, "format" | "concat" | "format_args") {
        walk.bare(node, out);
        return;
    }
    if names::only_tells(written) || name.starts_with("assert") || name.starts_with("debug_assert") {
        out.push(Step::Call(plain));
        return;
    }
    if matches!(name, "params" | "named_params" | "vec") {
        return tokens(walk, node, out);
    }
    let found = parts(walk, node);
    let takes = names::takes_statement(name) || name.starts_with("query");
    let mut arguments = Vec::new();
    let mut statement = None;
    for part in &found {
        let argument = argument(walk, part);
        let wanted = if takes { Likeness::Possible } else { Likeness::Sure };
        if statement.is_none() && likeness(&argument.value) >= wanted {
            statement = Some(argument);
        } else if statement.is_some() {
            arguments.push(argument);
        }
    }
    if let Some(statement) = statement {
        walk.run(&statement.value, statement.span, plain, arguments, false, out);
    } else {
        out.push(Step::Call(plain));
        tokens(walk, node, out);
    }
}

/// Statements anywhere among a macro's tokens.
fn tokens<'t>(walk: &mut Walk<'t>, node: Node<'t>, out: &mut Vec<Step>) {
    let mut waiting = vec![node];
    while let Some(node) = waiting.pop() {
        if node.kind().ends_with("string_literal") {
            walk.bare(node, out);
        } else {
            waiting.extend(named(node).into_iter().rev());
        }
    }
}
