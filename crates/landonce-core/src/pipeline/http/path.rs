//! The way to a value in a body: names with dots between, and in a list of objects the one that has a value.

use std::fmt;

use crate::bad_record::shorten;
use crate::pipeline::check::{Checked, fault};

/// The way to a value in a JSON text: `data.items`, `links[rel=next].href`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    text: String,
    steps: Vec<Step>,
}

/// One step of the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into an object's member of this name.
    Name(String),
    /// Into the first object of a list whose member of this name is this text.
    Where(String, String),
}

impl Path {
    /// Reads what is written under a key.
    pub(super) fn parse(key: &'static str, text: &str) -> Checked<Self> {
        let due = || {
            fault(
                key,
                format!(
                    "`{}` is no way to a value; names with dots between are due (`data.items`), in a list `links[rel=next].href`",
                    shorten(text)
                ),
            )
        };
        let mut steps = Vec::new();
        for part in text.trim().split('.') {
            let (name, condition) = match part.split_once('[') {
                Some((name, rest)) => match rest.strip_suffix(']').and_then(|rest| rest.split_once('=')) {
                    Some(condition) => (name, Some(condition)),
                    None => return due(),
                },
                None => (part, None),
            };
            // A list that is the body itself has no name.
            if name.is_empty() && (condition.is_none() || !steps.is_empty()) {
                return due();
            }
            if !name.is_empty() {
                steps.push(Step::Name(name.to_owned()));
            }
            if let Some((name, value)) = condition {
                if name.is_empty() {
                    return due();
                }
                steps.push(Step::Where(name.to_owned(), value.to_owned()));
            }
        }
        Ok(Self { text: text.trim().to_owned(), steps })
    }

    /// The steps, from the outermost; at least one.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
