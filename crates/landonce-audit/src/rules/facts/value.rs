//! Values: what comes from the clock, from chance, from a run's id, in SQL and in what is bound to its placeholders.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Value as Literal};

use crate::code::{Argument, Use, Value};
use crate::sql::{Statement, expr, walk};

/// What makes a value another one at the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Volatile {
    Clock,
    Random,
    RunId,
}

impl Volatile {
    /// For a message: `holds seen_at, which is the time`.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Clock => "the time of the run",
            Self::Random => "a random value",
            Self::RunId => "the run's id",
        }
    }
}

/// A statement with what is bound to it.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) usage: &'a Use,
    pub(crate) statement: &'a Statement,
}

impl<'a> Bound<'a> {
    /// The value that a placeholder (`$3`: the third one of the statement) stands for.
    pub(crate) fn placeholder(self, text: &str) -> Option<&'a Value> {
        let at = text.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)?;
        let name = self.statement.placeholders.get(at)?;
        let arguments: &[Argument] = &self.usage.arguments;
        if let Some(found) = arguments.iter().find(|argument| argument.name.as_ref() == Some(name)) {
            return Some(&found.value);
        }
        let at = name.parse::<usize>().ok()?.checked_sub(1)?;
        // Rows that are handed over together: the first one shows what all of them are like.
        if let [Argument { value: Value::Many(values), .. }] = arguments {
            if let Some(Value::Many(first)) = values.first() {
                return first.get(at);
            }
            return values.get(at);
        }
        arguments.get(at).map(|argument| &argument.value)
    }

    /// What makes an expression another one at the next run.
    pub(crate) fn volatile(self, expr: &Expr) -> Option<Volatile> {
        if expr::is_clock(expr) {
            return Some(Volatile::Clock);
        }
        if expr::is_random(expr) {
            return Some(Volatile::Random);
        }
        let found = walk::expressions(expr, |expr| match self.filled_in(expr).find_map(volatile) {
            Some(volatile) => ControlFlow::Break(volatile),
            None => ControlFlow::Continue(()),
        });
        match found {
            ControlFlow::Break(volatile) => Some(volatile),
            ControlFlow::Continue(()) => None,
        }
    }

    /// Whether the clock is in an expression.
    pub(crate) fn has_clock(self, expr: &Expr) -> bool {
        self.volatile(expr) == Some(Volatile::Clock)
    }

    /// What a node is given at run time: its placeholder, and the parts that the text is assembled from.
    fn filled_in(self, expr: &Expr) -> impl Iterator<Item = &'a Value> {
        let (placeholder, text) = match expr {
            Expr::Value(value) => match &value.value {
                Literal::Placeholder(text) => (self.placeholder(text), String::new()),
                other => (None, expr::text_of(other).unwrap_or_default()),
            },
            Expr::Identifier(ident) if ident.quote_style.is_some() => (None, ident.value.clone()),
            _ => (None, String::new()),
        };
        let holes = self
            .statement
            .holes
            .iter()
            .filter(move |hole| text.contains('{') && text.contains(&format!("{{{}}}", hole.written)))
            .map(|hole| &hole.value);
        placeholder.into_iter().chain(holes)
    }
}

/// What makes a value of the host language another one at the next run.
pub(crate) fn volatile(value: &Value) -> Option<Volatile> {
    match value {
        Value::Clock => Some(Volatile::Clock),
        Value::Random => Some(Volatile::Random),
        Value::RunId(_) => Some(Volatile::RunId),
        Value::Joined(parts) => parts.iter().find_map(volatile),
        _ => None,
    }
}

/// Every constant text inside of a value, for words that tell what a call does.
pub(crate) fn words(value: &Value, found: &mut String) {
    match value {
        Value::Text(text)
        | Value::Constant(text)
        | Value::Name(text)
        | Value::Other(text)
        | Value::RunId(text) => {
            found.push_str(text);
            found.push(' ');
        }
        Value::Joined(parts) | Value::Many(parts) => parts.iter().for_each(|part| words(part, found)),
        Value::Clock | Value::Random => {}
    }
}

/// The words of all arguments, keywords included, in lower case.
pub(crate) fn argument_words(arguments: &[Argument]) -> String {
    let mut found = String::new();
    for argument in arguments {
        if let Some(name) = &argument.name {
            found.push_str(name);
            found.push(' ');
        }
        words(&argument.value, &mut found);
    }
    found.to_ascii_lowercase()
}
