//! What the functions of a file are given by its own calls: a clock's reading stays one behind a parameter.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{Call, Function, Step, Value};

/// Which parameter: by its place among the arguments, or by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Which {
    Place(usize),
    Name(String),
}

/// Parameters that every call in the file gives the clock's reading.
#[derive(Debug, Default)]
pub(super) struct Given(BTreeMap<String, BTreeSet<Which>>);

impl Given {
    /// Looks through the calls of functions whose name is theirs alone.
    pub(super) fn of(functions: &[Function]) -> Self {
        let mut calls = Vec::new();
        let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
        for function in functions {
            gather(&function.body, &mut calls);
            *counted.entry(&function.name).or_default() += 1;
        }
        let mut found: BTreeMap<String, Option<BTreeSet<Which>>> = BTreeMap::new();
        for call in calls.iter().filter(|call| counted.get(call.callee.as_str()) == Some(&1)) {
            let clocks: BTreeSet<Which> = call
                .arguments
                .iter()
                .enumerate()
                .filter(|(_, argument)| argument.value == Value::Clock)
                .map(|(at, argument)| argument.name.clone().map_or(Which::Place(at), Which::Name))
                .collect();
            let kept = found.entry(call.callee.clone()).or_default();
            *kept = Some(match kept.take() {
                Some(before) => before.intersection(&clocks).cloned().collect(),
                None => clocks,
            });
        }
        let full = found.into_iter().filter_map(|(name, which)| Some((name, which?)));
        Self(full.filter(|(_, which)| !which.is_empty()).collect())
    }

    /// Whether nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a function's parameter is the clock's reading.
    pub(super) fn is_clock(&self, function: &str, at: usize, parameter: &str) -> bool {
        self.0.get(function).is_some_and(|which| {
            which.contains(&Which::Place(at)) || which.contains(&Which::Name(parameter.to_owned()))
        })
    }
}

fn gather<'a>(steps: &'a [Step], found: &mut Vec<&'a Call>) {
    for step in steps {
        match step {
            Step::Sql(_) => {}
            Step::Call(call) => found.push(call),
            Step::Loop(inner) => gather(&inner.body, found),
            Step::Branch(branch) => {
                for steps in [&branch.condition, &branch.then, &branch.otherwise] {
                    gather(steps, found);
                }
            }
            Step::Try(tried) => {
                gather(&tried.body, found);
                for handler in &tried.handlers {
                    gather(&handler.body, found);
                }
            }
            Step::Scope(scope) => {
                found.push(&scope.opener);
                gather(&scope.body, found);
            }
        }
    }
}
