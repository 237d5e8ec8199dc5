//! What the walks over JavaScript, Go, Java and Rust trees have in common: where steps go, what names mean, how deep to look.
//!
//! A [`Host`] knows its language's node kinds; the walk knows none. What names mean is in `walk/known`, what texts are in
//! `walk/text`; calls are in `code/calls`.

mod known;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::names;
pub(super) use super::syntax::span;
use super::{Argument, Branch, Call, Function, Loop, Span, Step, Unread, Value, syntax};
use known::Names;
pub(super) use known::Prepared;
use text::nameless;
pub(super) use text::{likeness, shorten, unescape};

/// Syntax nested deeper than this isn't read: steps are nested as deep, and rules recurse over them.
const DEEPEST: usize = 300;
/// What one level of the walk may need, and how much more stack is made where that isn't left.
const RED_ZONE: usize = 256 << 10;
const STACK: usize = 2 << 20;
/// Values nested deeper are "something else".
const DEEPEST_VALUE: usize = 16;

/// What a language's frontend knows about its syntax tree.
pub(super) struct Host {
    /// Writes down what one node does.
    pub(super) step: for<'t> fn(&mut Walk<'t>, Node<'t>, &mut Vec<Step>),
    /// Tells what one expression is.
    pub(super) value: for<'t> fn(&mut Walk<'t>, Node<'t>) -> Value,
    /// The part of a chain of calls that a node is.
    pub(super) part: for<'t> fn(&Walk<'t>, Node<'t>) -> Part<'t>,
    /// Parameters and body, if the node is a function without a name.
    pub(super) closure: for<'t> fn(Node<'t>) -> Option<(Option<Node<'t>>, Node<'t>)>,
    /// Names and values, if the node is a dictionary.
    pub(super) fields: for<'t> fn(&mut Walk<'t>, Node<'t>) -> Option<Vec<Argument>>,
    /// Takes a whole chain of calls that means a statement; false if it doesn't.
    pub(super) builder: for<'t> fn(&mut Walk<'t>, &super::calls::Chain<'t>, &mut Vec<Step>) -> bool,
}

/// A part of a chain of calls.
pub(super) enum Part<'t> {
    /// `inner.name`
    Member(Node<'t>, &'t str),
    /// `inner(arguments)`
    Call(Node<'t>, Node<'t>),
    /// `inner.name(arguments)` in one node; without an inner, `name(arguments)`.
    Method(Option<Node<'t>>, &'t str, Node<'t>),
    /// `await inner`, `inner?`, `(inner)`.
    Through(Node<'t>),
    /// Where the chain begins.
    Root,
}

/// A walk over one file.
pub(super) struct Walk<'t> {
    pub(super) host: &'static Host,
    pub(super) text: &'t str,
    pub(super) mentions_database: bool,
    /// The variable that takes the result of the next call.
    pub(super) target: Option<String>,
    /// Steps that wait for the end of the function (`defer`).
    pub(super) deferred: Vec<Vec<Step>>,
    /// How many functions the walk is inside of.
    pub(super) inside: usize,
    /// Inside of messages, texts aren't statements.
    pub(super) quiet: usize,
    pub(super) functions: Vec<Function>,
    /// Names of the decorators before the next member, and of those around it.
    pub(super) decorators: Vec<String>,
    /// The statement that a `prepare` has just been given.
    pub(super) prepared: Option<Prepared>,
    names: Vec<Names>,
    unread: BTreeMap<usize, Unread>,
    seen: BTreeSet<usize>,
    used: BTreeSet<usize>,
    constants: BTreeMap<usize, (Span, Vec<Value>)>,
    copied: usize,
    depth: usize,
    value_depth: usize,
    stack_ended: bool,
}

/// Reads a file: what `before` finds is known everywhere in it.
pub(super) fn read(
    host: &'static Host,
    language: &tree_sitter::Language,
    text: &str,
    before: for<'t> fn(&mut Walk<'t>, Node<'t>),
) -> (Vec<Function>, Vec<Unread>) {
    let Some(tree) = syntax::parse(language, text) else { return (Vec::new(), Vec::new()) };
    let root = tree.root_node();
    let mut walk = Walk::new(host, text);
    for broken in syntax::errors(root, walk.mentions_database) {
        walk.unread(broken.span, broken.why);
    }
    let mut top = Vec::new();
    before(&mut walk, root);
    walk.step(root, &mut top);
    walk.finish(top)
}

/// The children that mean something.
pub(super) fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| !child.is_extra()).collect()
}

impl<'t> Walk<'t> {
    pub(super) fn new(host: &'static Host, text: &'t str) -> Self {
        Self {
            host,
            text,
            mentions_database: names::mentions_database(text),
            target: None,
            deferred: Vec::new(),
            inside: 0,
            quiet: 0,
            functions: Vec::new(),
            decorators: Vec::new(),
            prepared: None,
            names: vec![Names::default()],
            unread: BTreeMap::new(),
            seen: BTreeSet::new(),
            used: BTreeSet::new(),
            constants: BTreeMap::new(),
            copied: 0,
            depth: 0,
            value_depth: 0,
            stack_ended: false,
        }
    }

    /// The functions and what could not be read, after the top of the module was walked.
    pub(super) fn finish(mut self, mut top: Vec<Step>) -> (Vec<Function>, Vec<Unread>) {
        self.leave(&mut top);
        let unused: Vec<(Span, Vec<Value>)> = std::mem::take(&mut self.constants)
            .into_iter()
            .filter(|(start, _)| !self.used.contains(start))
            .map(|(_, constant)| constant)
            .collect();
        for (span, texts) in unused {
            for text in texts {
                self.run(&text, span, nameless(span), Vec::new(), false, &mut top);
            }
        }
        let mut functions = self.functions;
        if !top.is_empty() {
            let span = Span { start: 0, end: self.text.len() };
            functions.push(Function { name: String::new(), span, decorators: Vec::new(), body: top });
        }
        functions.sort_by_key(|function| (function.span.start, std::cmp::Reverse(function.span.end)));
        (functions, self.unread.into_values().collect())
    }

    /// A node's text.
    pub(super) fn source(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// A field's text.
    pub(super) fn field(&self, node: Node<'t>, name: &str) -> Option<&'t str> {
        node.child_by_field_name(name).map(|found| self.source(found))
    }

    /// A node's text on one line, shortened to 200 bytes.
    pub(super) fn shown(&self, node: Node<'_>) -> String {
        shorten(self.source(node))
    }

    /// What one node does.
    pub(super) fn step(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        if self.depth >= DEEPEST {
            if !self.stack_ended {
                self.stack_ended = true;
                self.unread(span(node), "the code is nested too deep to be read".to_owned());
            }
            return;
        }
        self.depth += 1;
        stacker::maybe_grow(RED_ZONE, STACK, || (self.host.step)(self, node, out));
        self.depth -= 1;
    }

    /// What a node's children do, in order.
    pub(super) fn children(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        for child in named(node) {
            self.step(child, out);
        }
    }

    /// What children do, of which some are decorators of the next.
    pub(super) fn decorated(&mut self, node: Node<'t>, kind: &str, out: &mut Vec<Step>) {
        for child in named(node) {
            if child.kind() == kind {
                let name = self.decorator(child);
                self.decorators.push(name);
            } else {
                self.step(child, out);
                self.decorators.clear();
            }
        }
    }

    /// A decorator's name: without `@`, `#[…]` and arguments.
    pub(super) fn decorator(&self, node: Node<'t>) -> String {
        let written = self.source(node).trim_start_matches(['@', '#', '[']).trim_end_matches(']');
        written.split('(').next().unwrap_or_default().trim().to_owned()
    }

    /// What a field's node does, if there is one.
    pub(super) fn part(&mut self, node: Node<'t>, field: &str, out: &mut Vec<Step>) {
        if let Some(child) = node.child_by_field_name(field) {
            self.step(child, out);
        }
    }

    /// What happens in a body that may not be entered.
    pub(super) fn nested(&mut self, fill: impl FnOnce(&mut Self, &mut Vec<Step>)) -> Vec<Step> {
        let mut body = Vec::new();
        self.names.push(Names { is_conditional: true, ..Names::default() });
        fill(self, &mut body);
        self.leave(&mut body);
        body
    }

    /// A body that repeats; its head is what stands before it.
    pub(super) fn repeat(
        &mut self,
        node: Node<'t>,
        body: Option<Node<'t>>,
        bound: &[&'t str],
        out: &mut Vec<Step>,
    ) {
        let head = match body {
            Some(body) if body.start_byte() > node.start_byte() => {
                self.text.get(node.start_byte()..body.start_byte()).unwrap_or_default()
            }
            _ => self.source(node),
        };
        let head = shorten(head.trim_end().trim_end_matches('{').trim_end());
        let steps = self.nested(|walk, steps| {
            for name in bound {
                walk.declare(name, Value::Name((*name).to_owned()), span(node));
            }
            if let Some(body) = body {
                walk.step(body, steps);
            }
        });
        out.push(Step::Loop(Loop { span: span(node), head, body: steps }));
    }

    /// A choice. `None` where there is nothing.
    pub(super) fn choice(
        &mut self,
        node: Node<'t>,
        test: Option<Node<'t>>,
        then: &[Node<'t>],
        otherwise: &[Node<'t>],
        out: &mut Vec<Step>,
    ) {
        let mut condition = Vec::new();
        if let Some(test) = test {
            self.step(test, &mut condition);
        }
        let mut fill = |nodes: &[Node<'t>]| {
            self.nested(|walk, steps| {
                for part in nodes {
                    walk.step(*part, steps);
                }
            })
        };
        let (then, otherwise) = (fill(then), fill(otherwise));
        let test = test.map(|test| self.shown(test)).unwrap_or_default();
        out.push(Step::Branch(Branch { span: span(node), test, condition, then, otherwise }));
    }

    /// A choice of several: each arm is a choice with its own test.
    pub(super) fn arms(
        &mut self,
        node: Node<'t>,
        value: Option<Node<'t>>,
        arms: &[Node<'t>],
        pattern: fn(Node<'t>) -> Option<Node<'t>>,
        out: &mut Vec<Step>,
    ) {
        let mut condition = Vec::new();
        if let Some(value) = value {
            self.step(value, &mut condition);
        }
        let mut then = Vec::new();
        for arm in arms {
            let test = pattern(*arm).map(|pattern| self.shown(pattern)).unwrap_or_default();
            let body = self.nested(|walk, steps| walk.step(*arm, steps));
            if !body.is_empty() {
                let (condition, otherwise) = (Vec::new(), Vec::new());
                then.push(Step::Branch(Branch { span: span(*arm), test, condition, then: body, otherwise }));
            }
        }
        let test = value.map(|value| self.shown(value)).unwrap_or_default();
        out.push(Step::Branch(Branch { span: span(node), test, condition, then, otherwise: Vec::new() }));
    }

    /// A function that has a name, or stands by itself.
    pub(super) fn function(
        &mut self,
        node: Node<'t>,
        name: String,
        decorators: Vec<String>,
        parameters: &[&'t str],
        body: Option<Node<'t>>,
    ) {
        let mut steps = Vec::new();
        self.names.push(Names { is_conditional: true, ..Names::default() });
        self.deferred.push(Vec::new());
        self.inside += 1;
        let target = self.target.take();
        for parameter in parameters {
            self.declare(parameter, Value::Name((*parameter).to_owned()), span(node));
        }
        if let Some(body) = body {
            self.step(body, &mut steps);
        }
        self.target = target;
        self.inside -= 1;
        self.leave(&mut steps);
        steps.extend(self.deferred.pop().into_iter().flatten());
        if !steps.is_empty() {
            self.functions.push(Function { name, span: span(node), decorators, body: steps });
        }
    }

    /// `return`, `throw`, `break`: a call without arguments.
    pub(super) fn leaves(node: Node<'t>, callee: &str, out: &mut Vec<Step>) {
        let call =
            Call { span: span(node), callee: callee.to_owned(), arguments: Vec::new(), assigned_to: None };
        out.push(Step::Call(call));
    }

    /// What an expression is.
    pub(super) fn value(&mut self, node: Node<'t>) -> Value {
        if self.value_depth >= DEEPEST_VALUE {
            return Value::Other(self.shown(node));
        }
        self.value_depth += 1;
        let value = stacker::maybe_grow(RED_ZONE, STACK, || (self.host.value)(self, node));
        self.value_depth -= 1;
        value
    }

    /// What could not be read, once a place.
    pub(super) fn unread(&mut self, span: Span, why: String) {
        self.unread.entry(span.start).or_insert(Unread { span, why });
    }
}
