//! What a Python expression is worth to a rule: clock, chance, run, constant, or text joined of parts.

use tree_sitter::Node;

use super::{Reader, callee, short};
use crate::code::{Argument, Value};
use crate::words;

/// Long literals are data.
const MOST: usize = 100;

/// Callables whose result says no more than what they are given: of the clock, of chance, of a key's parts.
const WRAPS: [&str; 28] = [
    "str",
    "int",
    "float",
    "repr",
    "round",
    "bytes",
    "Json",
    "Jsonb",
    "UUID",
    "uuid5",
    "uuid3",
    "md5",
    "sha1",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "blake2b",
    "blake2s",
    "crc32",
    "hash",
    "xxh64",
    "xxh3_64",
    "fromtimestamp",
    "utcfromtimestamp",
    "to_datetime",
    "Timestamp",
    "format",
];

/// A name that isn't resolved.
pub(super) fn of_name(name: &str) -> Value {
    if words::is_run_id(&name.to_lowercase()) {
        Value::RunId(name.to_owned())
    } else {
        Value::Name(name.to_owned())
    }
}

impl<'t> Reader<'t> {
    /// The value of an expression.
    pub(super) fn value_of(&mut self, node: Node<'t>) -> Value {
        let source = self.source(node);
        self.look(Value::Other(short(source)), |it| it.value_inside(node))
    }

    fn value_inside(&mut self, node: Node<'t>) -> Value {
        let written = self.source(node);
        match node.kind() {
            "string" | "concatenated_string" => self.string_value(node),
            "integer" | "float" | "true" | "false" | "none" => Value::Constant(short(written)),
            "unary_operator" => match node.child_by_field_name("argument").map(|it| self.value_of(it)) {
                Some(Value::Constant(_)) => Value::Constant(short(written)),
                Some(value) => value,
                None => Value::Other(short(written)),
            },
            "identifier" => match self.known(written) {
                Some(known) => known.value.clone(),
                None => of_name(written),
            },
            "attribute" => self.attribute(node),
            "subscript" => self.subscript(node),
            "call" => self.call_value(node),
            "parenthesized_expression" | "await" => {
                node.named_child(0).map_or_else(|| Value::Other(short(written)), |it| self.value_of(it))
            }
            "named_expression" => node
                .child_by_field_name("value")
                .map_or_else(|| Value::Other(short(written)), |it| self.value_of(it)),
            "binary_operator" => self.operator_value(node),
            "boolean_operator" | "conditional_expression" => self.strongest(node),
            "list"
            | "tuple"
            | "set"
            | "expression_list"
            | "list_comprehension"
            | "generator_expression"
            | "set_comprehension"
            | "dictionary"
            | "dictionary_comprehension" => {
                Value::Many(self.elements(node).into_iter().map(|it| it.value).collect())
            }
            "keyword_argument" => node
                .child_by_field_name("value")
                .map_or_else(|| Value::Other(short(written)), |it| self.value_of(it)),
            _ => Value::Other(short(written)),
        }
    }

    fn string_value(&mut self, node: Node<'t>) -> Value {
        let Some(text) = self.text_of(node) else { return Value::Other(short(self.source(node))) };
        if text.holes().is_empty() { Value::Text(text.as_str().to_owned()) } else { joined(&text) }
    }

    fn attribute(&mut self, node: Node<'t>) -> Value {
        let written = self.source(node);
        if let Some(known) = self.known(written) {
            return known.value.clone();
        }
        // `uuid4().hex`, `now.year`.
        if let Some(object) = node.child_by_field_name("object")
            && let value @ (Value::Clock | Value::Random) = self.value_of(object)
        {
            return value;
        }
        let written = short(written);
        if words::is_run_id(&written.to_lowercase()) { Value::RunId(written) } else { Value::Name(written) }
    }

    fn subscript(&mut self, node: Node<'t>) -> Value {
        let written = short(self.source(node));
        let value = node.child_by_field_name("value").map(|it| self.value_of(it));
        match value {
            Some(value @ (Value::Clock | Value::Random)) => value,
            _ if words::is_run_id(&written.to_lowercase()) => Value::RunId(written),
            _ => Value::Name(written),
        }
    }

    fn operator_value(&mut self, node: Node<'t>) -> Value {
        if let Some(text) = self.text_of(node) {
            return if text.holes().is_empty() {
                Value::Text(text.as_str().to_owned())
            } else {
                joined(&text)
            };
        }
        let operator = node.child_by_field_name("operator").map_or("", |it| self.source(it));
        let strongest = self.strongest(node);
        if operator == "+" && matches!(strongest, Value::Other(_)) {
            let sides: Vec<_> = ["left", "right"]
                .iter()
                .filter_map(|side| node.child_by_field_name(side))
                .map(|it| self.value_of(it))
                .collect();
            if sides.iter().any(|it| matches!(it, Value::Joined(_) | Value::Text(_))) {
                return Value::Joined(sides);
            }
        }
        strongest
    }

    /// Of what an expression is made of, what a rule cares about most.
    fn strongest(&mut self, node: Node<'t>) -> Value {
        let mut cursor = node.walk();
        let values: Vec<_> = node.named_children(&mut cursor).map(|it| self.value_of(it)).collect();
        let found = values
            .iter()
            .find(|it| matches!(it, Value::Random))
            .or_else(|| values.iter().find(|it| matches!(it, Value::Clock)));
        if let Some(value) = found {
            return value.clone();
        }
        values
            .into_iter()
            .find(|it| matches!(it, Value::RunId(_)))
            .unwrap_or_else(|| Value::Other(short(self.source(node))))
    }

    fn call_value(&mut self, node: Node<'t>) -> Value {
        let written = self.source(node);
        let other = Value::Other(short(written));
        let (Some(function), Some(arguments)) =
            (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
        else {
            return other;
        };
        let callee = callee(self.source(function));
        let last = callee.rsplit('.').next().unwrap_or(&callee).to_owned();
        let count = arguments.named_child_count();
        if is_clock(&callee, &last, count) {
            return Value::Clock;
        }
        if is_random(&callee, &last) {
            return Value::Random;
        }
        if matches!(last.as_str(), "format" | "join")
            && let Some(text) = self.text_of(node)
        {
            return if text.holes().is_empty() {
                Value::Text(text.as_str().to_owned())
            } else {
                joined(&text)
            };
        }
        if matches!(last.as_str(), "get" | "pull" | "xcom_pull" | "getenv")
            && words::is_run_id(&written.to_lowercase())
        {
            return Value::RunId(short(written));
        }
        // `now().isoformat()`, `md5(x).hexdigest()`, `f"{a}{b}".encode()`: what the object is. It is looked at once: a chain
        // of calls would double the work at every link.
        if function.kind() == "attribute"
            && let Some(object) = function.child_by_field_name("object")
        {
            let is_name = matches!(object.kind(), "identifier" | "attribute");
            match self.value_of(object) {
                value @ (Value::Clock | Value::Random | Value::Joined(_)) => return value,
                value @ (Value::RunId(_) | Value::Text(_)) if !is_name => return value,
                _ => {}
            }
        }
        if WRAPS.contains(&last.as_str()) {
            let mut cursor = arguments.walk();
            let inner: Vec<_> = arguments.named_children(&mut cursor).collect();
            let wanted =
                if matches!(last.as_str(), "uuid5" | "uuid3") { inner.get(1) } else { inner.first() };
            if let Some(inner) = wanted {
                return match self.value_of(*inner) {
                    Value::Other(_) => other,
                    value => value,
                };
            }
        }
        other
    }

    /// What a literal holds: by order, or by name. Of a list of rows: what the first row holds.
    pub(super) fn elements(&mut self, node: Node<'t>) -> Vec<Argument> {
        self.look(Vec::new(), |it| it.elements_inside(node))
    }

    fn elements_inside(&mut self, node: Node<'t>) -> Vec<Argument> {
        let argument = |value: Value, node: Node<'t>, name: Option<String>| Argument {
            name,
            value,
            span: super::span(node),
        };
        let mut cursor = node.walk();
        match node.kind() {
            "list" | "tuple" | "set" | "expression_list" => {
                let children: Vec<_> =
                    node.named_children(&mut cursor).filter(|it| it.kind() != "comment").take(MOST).collect();
                if node.kind() == "list"
                    && let Some(first) =
                        children.first().filter(|it| matches!(it.kind(), "tuple" | "list" | "dictionary"))
                {
                    return self.elements(*first);
                }
                children.into_iter().map(|it| argument(self.value_of(it), it, None)).collect()
            }
            "dictionary" => {
                let pairs: Vec<_> =
                    node.named_children(&mut cursor).filter(|it| it.kind() == "pair").take(MOST).collect();
                pairs
                    .into_iter()
                    .filter_map(|pair| {
                        let (key, value) =
                            (pair.child_by_field_name("key")?, pair.child_by_field_name("value")?);
                        let name = match self.value_of(key) {
                            Value::Text(name) => Some(name),
                            _ => Some(short(self.source(key))),
                        };
                        Some(argument(self.value_of(value), value, name))
                    })
                    .collect()
            }
            "list_comprehension" | "generator_expression" => node
                .child_by_field_name("body")
                .map(|body| match body.kind() {
                    "tuple" | "list" | "dictionary" => self.elements(body),
                    _ => Vec::new(),
                })
                .unwrap_or_default(),
            "parenthesized_expression" => node.named_child(0).map(|it| self.elements(it)).unwrap_or_default(),
            "identifier" | "attribute" => {
                self.known(self.source(node)).map(|it| it.arguments.clone()).unwrap_or_default()
            }
            "call"
                if node
                    .child_by_field_name("function")
                    .is_some_and(|it| matches!(self.source(it), "dict" | "list" | "tuple")) =>
            {
                let Some(arguments) = node.child_by_field_name("arguments") else { return Vec::new() };
                if arguments.kind() == "generator_expression" {
                    return self.elements(arguments);
                }
                let mut cursor = arguments.walk();
                let children: Vec<_> = arguments.named_children(&mut cursor).take(MOST).collect();
                let mut found = Vec::new();
                for child in children {
                    if child.kind() == "keyword_argument" {
                        let name = child.child_by_field_name("name").map(|it| self.source(it).to_owned());
                        found.push(argument(self.value_of(child), child, name));
                    } else {
                        found.extend(self.elements(child));
                    }
                }
                found
            }
            _ => Vec::new(),
        }
    }
}

/// A text with parts known at run time, as parts.
fn joined(text: &crate::sql::Text) -> Value {
    let mut parts = Vec::new();
    let mut holes = text.holes().iter();
    for (index, piece) in text.as_str().split(crate::sql::HOLE).enumerate() {
        if index > 0
            && let Some(hole) = holes.next()
        {
            parts.push(hole.value.clone());
        }
        if !piece.is_empty() {
            parts.push(Value::Text(piece.to_owned()));
        }
    }
    Value::Joined(parts)
}

fn is_clock(callee: &str, last: &str, count: usize) -> bool {
    match last {
        "now"
        | "utcnow"
        | "today"
        | "time_ns"
        | "get_current_timestamp"
        | "current_timestamp"
        | "current_date"
        | "utc_now"
        | "now_utc"
        | "nowutc"
        | "sysdate"
        | "localtimestamp" => !callee.contains("freeze"),
        "time" => callee == "time.time" || (callee == "time" && count == 0),
        "strftime" => callee == "time.strftime" && count == 1,
        "gmtime" | "localtime" => callee.starts_with("time.") && count == 0,
        _ => false,
    }
}

fn is_random(callee: &str, last: &str) -> bool {
    match last {
        "uuid1" | "uuid4" | "uuid6" | "uuid7" | "randint" | "randrange" | "token_hex" | "token_urlsafe"
        | "token_bytes" | "urandom" | "getrandbits" | "gen_random_uuid" | "uuid_generate_v4" | "ULID"
        | "ksuid" | "randbytes" | "mkstemp" => true,
        "random" => callee == "random.random" || callee == "func.random" || callee == "random",
        "choice" | "choices" | "uniform" | "sample" => {
            callee.starts_with("random.") || callee.starts_with("secrets.")
        }
        "new" | "generate" => callee.starts_with("ulid.") || callee.starts_with("nanoid"),
        _ => false,
    }
}
