//! Texts: how they are put together of literals and of parts that only the run knows, and how they become statements.

use tree_sitter::Node;

use super::{Walk, span};
use crate::code::names::{self, Likeness};
use crate::code::{Argument, Call, Span, Step, Use, Value};
use crate::sql::{self, Style, Text};

impl<'t> Walk<'t> {
    /// A constant text of the program.
    pub(in crate::code) fn constant(&mut self, node: Node<'_>, text: String) -> Value {
        self.seen.insert(node.start_byte());
        Value::Text(text)
    }

    /// A text or concatenation that isn't an argument: a statement that is returned, listed, compared.
    pub(in crate::code) fn bare(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        if self.quiet > 0 || self.seen.contains(&node.start_byte()) {
            return;
        }
        let value = self.value(node);
        self.seen.insert(node.start_byte());
        if likeness(&value) == Likeness::Sure {
            self.run(&value, span(node), nameless(span(node)), Vec::new(), false, out);
        }
    }

    /// The operands of `a + b + c`, however many, and whether all are added.
    pub(in crate::code) fn operands(&self, node: Node<'t>, kind: &str) -> (Vec<Node<'t>>, bool) {
        let mut found = Vec::new();
        let mut is_sum = true;
        let mut at = node;
        while at.kind() == kind {
            is_sum &= self.field(at, "operator") == Some("+");
            found.extend(at.child_by_field_name("right"));
            let Some(left) = at.child_by_field_name("left") else { break };
            at = left;
        }
        found.push(at);
        found.reverse();
        (found, is_sum)
    }

    /// `sprintf("… %s …", a)`: the verbs are the parts.
    pub(in crate::code) fn formatted(&mut self, node: Node<'t>, format: &str, given: &[Node<'t>]) -> Value {
        let mut given = given.iter();
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut letters = format.chars().peekable();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                text.push(letter);
                continue;
            }
            let is_flag = |next: &char| matches!(next, '0'..='9' | '+' | '-' | '#' | '.' | '[' | ']' | '$');
            while letters.next_if(is_flag).is_some() {}
            match letters.next() {
                Some('%') | None => text.push('%'),
                Some('n') => text.push('\n'),
                Some(_) => {
                    parts.push(Value::Text(std::mem::take(&mut text)));
                    parts.push(match given.next() {
                        Some(argument) => self.value(*argument),
                        None => Value::Other("%".to_owned()),
                    });
                }
            }
        }
        parts.push(Value::Text(text));
        parts.retain(|part| !matches!(part, Value::Text(text) if text.is_empty()));
        self.joined(node, parts)
    }

    /// A text joined of parts: constant as far as they are.
    pub(in crate::code) fn joined(&mut self, node: Node<'t>, parts: Vec<Value>) -> Value {
        self.seen.insert(node.start_byte());
        let mut folded: Vec<Value> = Vec::new();
        for part in parts.into_iter().flat_map(|part| match part {
            Value::Joined(parts) => parts,
            part => vec![part],
        }) {
            match (folded.last_mut(), part) {
                (Some(Value::Text(text)), Value::Text(more) | Value::Constant(more)) => text.push_str(&more),
                (_, Value::Constant(text)) => folded.push(Value::Text(text)),
                (_, part) => folded.push(part),
            }
        }
        if folded.iter().all(|part| matches!(part, Value::Text(_))) {
            return folded.pop().unwrap_or_else(|| Value::Text(String::new()));
        }
        Value::Joined(folded)
    }

    /// A statement goes to the database: a text, or one joined of parts.
    pub(in crate::code) fn run(
        &mut self,
        statement: &Value,
        span: Span,
        call: Call,
        arguments: Vec<Argument>,
        is_many: bool,
        out: &mut Vec<Step>,
    ) {
        if self.quiet > 0 {
            return;
        }
        let mut unread = Vec::new();
        let statements = sql::read(&self.placed(statement, span), &Style::default(), &mut unread);
        for unread in unread {
            self.unread(unread.span, unread.why);
        }
        if !call.callee.is_empty() || !statements.is_empty() {
            out.push(Step::Sql(Box::new(Use { span, call, statements, arguments, is_many })));
        }
    }

    /// A statement's text with its places. A text that stands in the file as it is has them byte by byte.
    fn placed(&self, statement: &Value, span: Span) -> Text {
        let source = self.text.get(span.start..span.end).unwrap_or_default();
        let mut placed = Text::new();
        let mut from = 0;
        let parts = match statement {
            Value::Joined(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        for part in parts {
            match part {
                Value::Text(text) => match source.get(from..).and_then(|rest| rest.find(text.as_str())) {
                    Some(at) => {
                        placed.push(text, span.start + from + at);
                        from += at + text.len();
                    }
                    None => placed.push_for(text, span),
                },
                other => {
                    // Where it is written, if it follows the text before it; Sprintf's are elsewhere.
                    let name = written(other);
                    let near =
                        source.get(from..).and_then(|rest| rest.find(name.as_str())).filter(|at| *at <= 16);
                    let hole = match near {
                        Some(at) => {
                            Span { start: span.start + from + at, end: span.start + from + at + name.len() }
                        }
                        None if from > 0 => Span { start: span.start + from, end: span.start + from },
                        None => span,
                    };
                    from = hole.end.saturating_sub(span.start).min(source.len()).max(from);
                    placed.push_hole(name, other.clone(), hole);
                }
            }
        }
        placed
    }
}

/// A part that is only known at run time, in a few words.
fn written(value: &Value) -> String {
    match value {
        Value::Name(name) | Value::RunId(name) | Value::Text(name) | Value::Constant(name) => name.clone(),
        Value::Other(text) => text.chars().take(60).collect(),
        Value::Clock => "now".to_owned(),
        Value::Random => "random".to_owned(),
        Value::Joined(_) | Value::Many(_) => "values".to_owned(),
    }
}

/// Whether a value is a statement's text, constant or with parts that are filled in.
pub(in crate::code) fn likeness(value: &Value) -> Likeness {
    match value {
        Value::Text(text) => names::likeness(text),
        Value::Joined(parts) => names::likeness(&outline(parts)),
        _ => Likeness::None,
    }
}

/// A text that no call is seen to take.
pub(super) fn nameless(span: Span) -> Call {
    Call { span, callee: String::new(), arguments: Vec::new(), assigned_to: None }
}

/// A literal's text without its escapes; what isn't understood stays as it is.
pub(in crate::code) fn unescape(written: &str) -> String {
    if !written.contains('\\') {
        return written.to_owned();
    }
    let mut text = String::with_capacity(written.len());
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('0') => text.push(' '),
            // A line that goes on; Rust leaves out what is before the next word.
            Some('\n') => while letters.next_if(|next| next.is_whitespace()).is_some() {},
            Some('u' | 'x') => text.push('?'),
            Some(other) => text.push(other),
            None => text.push('\\'),
        }
    }
    text
}

/// A text on one line, at most 200 bytes.
pub(in crate::code) fn shorten(text: &str) -> String {
    let mut shown = String::new();
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        for letter in word.chars() {
            if shown.len() + letter.len_utf8() > 200 {
                return shown;
            }
            shown.push(letter);
        }
    }
    shown
}

/// A joined text with a word in place of each unknown part.
pub(in crate::code) fn outline(parts: &[Value]) -> String {
    parts.iter().map(|part| if let Value::Text(text) = part { text } else { "x" }).collect()
}
