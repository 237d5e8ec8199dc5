//! Texts that Python puts together: literals, f-strings, `+`, `%`, format, SQLAlchemy's `text`, psycopg's `sql.SQL`.

use tree_sitter::Node;

use super::{Reader, short, span};
use crate::code::{Span, Value};
use crate::sql::Text;

/// Callables whose result is the text that they are given.
const SAME: [&str; 9] =
    ["text", "SQL", "dedent", "cleandoc", "str", "TextClause", "literal_column", "RawSQL", "DDL"];
/// Methods that leave a text what it is.
const KEEPS: [&str; 9] = [
    "strip",
    "lstrip",
    "rstrip",
    "bindparams",
    "columns",
    "execution_options",
    "as_string",
    "encode",
    "returning",
];

impl<'t> Reader<'t> {
    /// The text of an expression; `None` if it isn't known to be one.
    pub(super) fn text_of(&mut self, node: Node<'t>) -> Option<Text> {
        self.look(None, |it| it.text_inside(node))
    }

    fn text_inside(&mut self, node: Node<'t>) -> Option<Text> {
        match node.kind() {
            "string" => Some(self.literal(node)),
            "concatenated_string" => {
                let mut text = Text::new();
                let mut cursor = node.walk();
                for part in node.named_children(&mut cursor).filter(|it| it.kind() == "string") {
                    text.push_text(&self.literal(part));
                }
                Some(text)
            }
            "parenthesized_expression" | "await" => node.named_child(0).and_then(|it| self.text_of(it)),
            "binary_operator" => self.operator(node),
            "identifier" | "attribute" => self.known(self.source(node)).and_then(|it| it.text.clone()),
            "named_expression" => node.child_by_field_name("value").and_then(|it| self.text_of(it)),
            "call" => self.text_call(node),
            _ => None,
        }
    }

    /// One literal, with its escapes and its interpolations.
    fn literal(&mut self, node: Node<'t>) -> Text {
        let mut text = Text::new();
        let mut cursor = node.walk();
        let children: Vec<_> = node.named_children(&mut cursor).collect();
        let prefix = children.first().map_or("", |it| self.source(*it)).to_ascii_lowercase();
        let is_raw = prefix.contains('r');
        for child in children {
            match child.kind() {
                "string_content" => self.content(child, is_raw, &mut text),
                "interpolation" => {
                    if let Some(expression) = child.child_by_field_name("expression") {
                        self.push_value(expression, span(child), &mut text);
                    }
                }
                _ => {}
            }
        }
        text
    }

    fn content(&mut self, node: Node<'t>, is_raw: bool, text: &mut Text) {
        let mut at = node.start_byte();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            text.push(self.s.get(at..child.start_byte()).unwrap_or(""), at);
            let written = self.source(child);
            match child.kind() {
                "escape_sequence" if !is_raw => text.push_for(&unescaped(written), span(child)),
                "escape_interpolation" => text.push_for(&written[..1], span(child)),
                _ => text.push(written, child.start_byte()),
            }
            at = child.end_byte();
        }
        text.push(self.s.get(at..node.end_byte()).unwrap_or(""), at);
    }

    /// Adds the text of an expression, or a part known at run time only.
    fn push_value(&mut self, node: Node<'t>, place: Span, text: &mut Text) {
        if let Some(part) = self.text_of(node) {
            text.push_text(&part);
            return;
        }
        match self.value_of(node) {
            Value::Constant(number) => text.push_for(&number, place),
            value => text.push_hole(short(self.source(node)), value, place),
        }
    }

    fn operator(&mut self, node: Node<'t>) -> Option<Text> {
        let operator = node.child_by_field_name("operator").map(|it| self.source(it))?;
        let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
        match operator {
            "+" => {
                let (a, b) = (self.text_of(left), self.text_of(right));
                match (a, b) {
                    (None, None) => None,
                    (Some(mut a), Some(b)) => {
                        a.push_text(&b);
                        Some(a)
                    }
                    (Some(mut a), None) => {
                        match self.value_of(right) {
                            Value::Constant(number) => a.push_for(&number, span(right)),
                            value => a.push_hole(short(self.source(right)), value, span(right)),
                        }
                        Some(a)
                    }
                    (None, Some(b)) => {
                        let mut text = Text::new();
                        text.push_hole(short(self.source(left)), self.value_of(left), span(left));
                        text.push_text(&b);
                        Some(text)
                    }
                }
            }
            "%" => {
                let pattern = self.text_of(left)?;
                let mut parts: Vec<(Option<String>, Node<'t>)> = Vec::new();
                let mut cursor = right.walk();
                match right.kind() {
                    "tuple" => parts.extend(right.named_children(&mut cursor).map(|it| (None, it))),
                    "dictionary" => {
                        for pair in right.named_children(&mut cursor).filter(|it| it.kind() == "pair") {
                            if let (Some(key), Some(value)) =
                                (pair.child_by_field_name("key"), pair.child_by_field_name("value"))
                            {
                                parts.push((Some(plain(self.source(key))), value));
                            }
                        }
                    }
                    _ => parts.push((None, right)),
                }
                Some(self.fill(&pattern, &parts, conversion))
            }
            _ => None,
        }
    }

    fn text_call(&mut self, node: Node<'t>) -> Option<Text> {
        let function = node.child_by_field_name("function")?;
        let arguments = node.child_by_field_name("arguments")?;
        let callee = self.source(function);
        let last = callee.rsplit('.').next().unwrap_or(callee).trim();
        if let Some(text) = self.core_text(node) {
            return Some(text);
        }
        match last {
            "Identifier" => {
                let mut text = Text::new();
                let mut cursor = arguments.walk();
                for (index, part) in arguments.named_children(&mut cursor).enumerate() {
                    if index > 0 {
                        text.push_for(".", span(part));
                    }
                    match self.value_of(part) {
                        Value::Text(name) => {
                            text.push_for(&format!("\"{}\"", name.replace('"', "")), span(part));
                        }
                        value => text.push_hole(short(self.source(part)), value, span(part)),
                    }
                }
                return Some(text);
            }
            "Placeholder" => {
                let mut text = Text::new();
                let name = arguments.named_child(0).map(|it| self.value_of(it));
                let written = match name {
                    Some(Value::Text(name)) => format!("%({name})s"),
                    _ => "%s".into(),
                };
                text.push_for(&written, span(node));
                return Some(text);
            }
            "Literal" if callee != "Literal" => {
                let mut text = Text::new();
                let value =
                    arguments.named_child(0).map_or(Value::Other(String::new()), |it| self.value_of(it));
                text.push_hole(short(self.source(node)), value, span(node));
                return Some(text);
            }
            _ => {}
        }
        if SAME.contains(&last) {
            return arguments.named_child(0).and_then(|it| self.text_of(it));
        }
        if function.kind() != "attribute" {
            return None;
        }
        let object = function.child_by_field_name("object")?;
        if last == "format" {
            let pattern = self.text_of(object)?;
            let mut parts = Vec::new();
            let mut cursor = arguments.walk();
            for argument in arguments.named_children(&mut cursor) {
                if argument.kind() == "keyword_argument" {
                    let name = argument.child_by_field_name("name").map(|it| self.source(it).to_owned());
                    parts.extend(argument.child_by_field_name("value").map(|value| (name, value)));
                } else {
                    parts.push((None, argument));
                }
            }
            return Some(self.fill(&pattern, &parts, field));
        }
        if KEEPS.contains(&last) {
            return self.text_of(object);
        }
        if last == "join" {
            return self.joined(node, object, arguments);
        }
        if matches!(last, "replace" | "format_map" | "render" | "substitute")
            && self.text_of(object).is_some()
        {
            let mut text = Text::new();
            text.push_hole(short(self.source(node)), Value::Other(short(self.source(node))), span(node));
            return Some(text);
        }
        None
    }

    /// `", ".join([…])`.
    fn joined(&mut self, node: Node<'t>, object: Node<'t>, arguments: Node<'t>) -> Option<Text> {
        let separator = self.text_of(object)?;
        let mut text = Text::new();
        match arguments.named_child(0) {
            Some(list) if matches!(list.kind(), "list" | "tuple") => {
                let mut cursor = list.walk();
                for (index, part) in list.named_children(&mut cursor).enumerate() {
                    if index > 0 {
                        text.push_text(&separator);
                    }
                    self.push_value(part, span(part), &mut text);
                }
            }
            _ => text.push_hole(short(self.source(node)), Value::Other(short(self.source(node))), span(node)),
        }
        Some(text)
    }

    /// Fills a pattern's fields.
    fn fill(
        &mut self,
        pattern: &Text,
        parts: &[(Option<String>, Node<'t>)],
        next: fn(&str) -> Option<(usize, usize, Field)>,
    ) -> Text {
        let s = pattern.as_str().to_owned();
        let mut out = Text::new();
        let (mut at, mut index) = (0, 0);
        while let Some((start, end, field)) = next(&s[at..]) {
            out.push_stretch(pattern, at, at + start);
            let place = pattern.span(at + start, at + end);
            let part = match &field {
                Field::Escaped(c) => {
                    out.push_for(c, place);
                    at += end;
                    continue;
                }
                Field::Next => {
                    index += 1;
                    parts.iter().filter(|(name, _)| name.is_none()).nth(index - 1)
                }
                Field::Number(number) => parts.iter().filter(|(name, _)| name.is_none()).nth(*number),
                Field::Name(name) => parts.iter().find(|(it, _)| it.as_deref() == Some(name)),
            };
            match part {
                Some((_, node)) => self.push_value(*node, place, &mut out),
                None => out.push_hole(s[at + start..at + end].to_owned(), Value::Other(String::new()), place),
            }
            at += end;
        }
        out.push_stretch(pattern, at, s.len());
        out
    }
}

/// A pattern's field.
enum Field {
    Next,
    Number(usize),
    Name(String),
    Escaped(&'static str),
}

/// The next `%s`, `%d`, `%(name)s`, `%%`.
fn conversion(s: &str) -> Option<(usize, usize, Field)> {
    let mut from = 0;
    while let Some(found) = s[from..].find('%') {
        let at = from + found;
        let rest = &s[at + 1..];
        if rest.starts_with('%') {
            return Some((at, at + 2, Field::Escaped("%")));
        }
        if let Some(inner) = rest.strip_prefix('(')
            && let Some(close) = inner.find(')')
            && inner[close + 1..].starts_with(|c: char| c.is_ascii_alphabetic())
        {
            return Some((at, at + close + 4, Field::Name(inner[..close].to_owned())));
        }
        if rest.starts_with(['s', 'd', 'r', 'i', 'f']) {
            return Some((at, at + 2, Field::Next));
        }
        from = at + 1;
    }
    None
}

/// The next `{}`, `{0}`, `{name}`, `{{`.
fn field(s: &str) -> Option<(usize, usize, Field)> {
    let at = s.find(['{', '}'])?;
    let rest = &s[at..];
    if rest.starts_with("{{") {
        return Some((at, at + 2, Field::Escaped("{")));
    }
    if rest.starts_with("}}") {
        return Some((at, at + 2, Field::Escaped("}")));
    }
    if rest.starts_with('}') {
        return Some((at, at + 1, Field::Escaped("}")));
    }
    let close = rest.find('}')?;
    let name = rest[1..close].split(['!', ':', '.', '[']).next().unwrap_or("").trim();
    let field = if name.is_empty() {
        Field::Next
    } else if let Ok(number) = name.parse() {
        Field::Number(number)
    } else {
        Field::Name(name.to_owned())
    };
    Some((at, at + close + 1, field))
}

/// A literal's text without its quotes.
fn plain(written: &str) -> String {
    written.trim_matches(|c| c == '"' || c == '\'').to_owned()
}

/// What an escape sequence means.
fn unescaped(written: &str) -> String {
    match written.as_bytes().get(1) {
        Some(b'n') => "\n".into(),
        Some(b't') => "\t".into(),
        Some(b'r') => "\r".into(),
        Some(b'\n' | b'\r') => String::new(),
        Some(b'\\') => "\\".into(),
        Some(b'\'') => "'".into(),
        Some(b'"') => "\"".into(),
        _ => written.to_owned(),
    }
}
