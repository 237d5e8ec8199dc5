//! What names mean where the walk stands: constants, clocks, prepared statements.
//!
//! An assignment that may not have happened leaves a name unknown, unless what it says is worth more than the name.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::Walk;
use super::text::{likeness, shorten};
use crate::code::names::{self, Likeness};
use crate::code::syntax::span;
use crate::code::{Argument, Call, Span, Step, Value};

/// A value that has more parts than this isn't kept under a name.
const LARGEST_VALUE: usize = 4096;
/// What may be copied out of names, in pieces of 256 bytes, before names stay unresolved: a file of any size is read in
/// linear time.
const COPIES: usize = 1 << 18;

/// A statement that has been prepared, with what was bound to it since.
#[derive(Debug, Clone)]
pub(in crate::code) struct Prepared {
    pub(in crate::code) statement: Value,
    pub(in crate::code) span: Span,
    pub(in crate::code) call: Call,
    pub(in crate::code) arguments: Vec<Argument>,
    pub(in crate::code) is_many: bool,
}

/// The names of one body.
#[derive(Default)]
pub(super) struct Names {
    pub(super) known: BTreeMap<String, Binding>,
    /// What is assigned in here to a name from outside may not have happened.
    pub(super) is_conditional: bool,
}

/// What a name stands for.
pub(super) struct Binding {
    value: Value,
    origin: Span,
    prepared: Option<Prepared>,
    has_run: bool,
}

impl<'t> Walk<'t> {
    /// A name gets a value, here.
    pub(in crate::code) fn declare(&mut self, name: &str, value: Value, origin: Span) {
        let texts = statements_in(&value);
        if !texts.is_empty() && self.quiet == 0 {
            self.constants.insert(origin.start, (origin, texts));
        }
        let value = if weight(&value) > LARGEST_VALUE { Value::Other(String::new()) } else { value };
        let binding = Binding { value, origin, prepared: None, has_run: false };
        if let Some(names) = self.names.last_mut() {
            names.known.insert(name.to_owned(), binding);
        }
    }

    /// A name that may be declared further out gets another value.
    pub(in crate::code) fn assign(&mut self, name: &str, value: Value, origin: Span) {
        let Some(place) = self.names.iter().rposition(|names| names.known.contains_key(name)) else {
            return self.declare(name, value, origin);
        };
        let is_certain = !self.names.iter().skip(place + 1).any(|names| names.is_conditional);
        let says_more = matches!(value, Value::Clock | Value::Random | Value::RunId(_));
        let texts = statements_in(&value);
        if let Some(binding) = self.names.get_mut(place).and_then(|names| names.known.get_mut(name)) {
            let is_new = matches!(&binding.value, Value::Name(_) | Value::Other(_) | Value::Constant(_));
            binding.value = if (is_certain || says_more || is_new) && weight(&value) <= LARGEST_VALUE {
                value
            } else {
                Value::Other(name.to_owned())
            };
            if !texts.is_empty() {
                self.constants.insert(origin.start, (origin, texts));
            }
            binding.origin = origin;
        }
    }

    /// A text grows: `sql += " …"`.
    pub(in crate::code) fn append(&mut self, node: Node<'t>, name: &str, more: Value) {
        let before = self.known(name).unwrap_or_else(|| Value::Name(name.to_owned()));
        let quiet = std::mem::replace(&mut self.quiet, 1);
        let value = self.joined(node, vec![before, more]);
        self.quiet = quiet;
        self.assign(name, value, span(node));
    }

    /// What a name means where the walk stands.
    pub(in crate::code) fn name(&mut self, name: &str) -> Value {
        match self.known(name) {
            Some(Value::Name(_) | Value::Other(_)) | None if names::is_run_id(name) => {
                Value::RunId(name.to_owned())
            }
            Some(Value::Other(_)) | None => Value::Name(shorten(name)),
            Some(value) => value,
        }
    }

    fn known(&mut self, name: &str) -> Option<Value> {
        let binding = self.names.iter().rev().find_map(|names| names.known.get(name))?;
        self.used.insert(binding.origin.start);
        let bytes = weight(&binding.value);
        if self.copied + bytes > COPIES {
            return None;
        }
        self.copied += bytes;
        Some(binding.value.clone())
    }

    /// Where the text behind a name stands.
    pub(in crate::code) fn origin(&self, name: &str) -> Option<Span> {
        self.names.iter().rev().find_map(|names| names.known.get(name)).map(|binding| binding.origin)
    }

    /// Keeps a prepared statement under a name.
    pub(in crate::code) fn keep(&mut self, name: &str, prepared: Prepared) {
        let origin = prepared.span;
        self.used.insert(origin.start);
        let binding =
            Binding { value: Value::Name(name.to_owned()), origin, prepared: Some(prepared), has_run: false };
        let place = self.names.iter().rposition(|names| names.known.contains_key(name));
        let place = place.unwrap_or(self.names.len().saturating_sub(1));
        if let Some(names) = self.names.get_mut(place) {
            names.known.insert(name.to_owned(), binding);
        }
    }

    /// The prepared statement under a name.
    pub(in crate::code) fn kept(&mut self, name: &str) -> Option<(&mut Prepared, &mut bool)> {
        let binding = self.names.iter_mut().rev().find_map(|names| names.known.get_mut(name))?;
        Some((binding.prepared.as_mut()?, &mut binding.has_run))
    }

    /// Goes out of a body; statements that were prepared in it and never run are run at its end, as far as one can tell.
    pub(super) fn leave(&mut self, out: &mut Vec<Step>) {
        let Some(names) = self.names.pop() else { return };
        for binding in names.known.into_values().filter(|binding| !binding.has_run) {
            if let Some(kept) = binding.prepared {
                self.run(&kept.statement, kept.span, kept.call, kept.arguments, kept.is_many, out);
            }
        }
    }
}

fn statements_in(value: &Value) -> Vec<Value> {
    match value {
        Value::Many(values) => values.iter().flat_map(statements_in).collect(),
        value if likeness(value) == Likeness::Sure => vec![value.clone()],
        _ => Vec::new(),
    }
}

/// The bytes of a value, roughly.
fn weight(value: &Value) -> usize {
    match value {
        Value::Text(text) => 1 + text.len() / 256,
        Value::Constant(_) | Value::Clock | Value::Random => 1,
        Value::RunId(text) | Value::Name(text) | Value::Other(text) => 1 + text.len() / 256,
        Value::Joined(values) | Value::Many(values) => 1 + values.iter().map(weight).sum::<usize>(),
    }
}
