//! Calls, in chains: which of them take statements, what is bound to those, and what happens in functions they are given.

use tree_sitter::Node;

use super::names::{self, Callback, Likeness};
use super::walk::{Part, Prepared, Walk, likeness, named, span};
use super::{Argument, Call, Handler, Loop, Scope, Span, Step, Try, Value};

/// A chain of calls and members, from its beginning: `pool.query(…)`, `knex('t').insert(…).onConflict(…)`.
pub(super) struct Chain<'t> {
    /// What it begins with.
    pub(super) root: Node<'t>,
    /// Whether the root is only a name that is called (Java's `method(…)`).
    pub(super) has_root: bool,
    /// What follows.
    pub(super) links: Vec<Link<'t>>,
    /// All of it.
    pub(super) node: Node<'t>,
}

/// A member, or a call.
pub(super) struct Link<'t> {
    /// Its name; empty where what stands before is called itself.
    pub(super) name: &'t str,
    /// What it is called with.
    pub(super) arguments: Option<Node<'t>>,
    /// The chain up to here.
    pub(super) node: Node<'t>,
}

impl<'t> Chain<'t> {
    /// The call of this name.
    pub(super) fn call(&self, name: &str) -> Option<&Link<'t>> {
        self.links.iter().find(|link| link.name == name && link.arguments.is_some())
    }
}

/// The callee as written. The arguments of calls in it are kept where they are short.
pub(super) struct Callee(String);

impl Callee {
    const LONGEST: usize = 200;

    fn push(&mut self, text: &str) {
        self.0.extend(text.chars().filter(|c| !c.is_whitespace()));
        if self.0.len() > Self::LONGEST {
            let cut = self.0.ceil_char_boundary(self.0.len() - Self::LONGEST);
            self.0.drain(..cut);
        }
    }

    fn push_arguments(&mut self, text: &str) {
        self.push(if text.len() <= 40 { text } else { "(…)" });
    }
}

impl<'t> Walk<'t> {
    /// Takes a chain apart.
    pub(super) fn unlink(&self, node: Node<'t>) -> Chain<'t> {
        let mut links = Vec::new();
        let mut at = node;
        let mut has_root = true;
        loop {
            match (self.host.part)(self, at) {
                Part::Member(inner, name) => {
                    links.push(Link { name, arguments: None, node: at });
                    at = inner;
                }
                Part::Call(inner, arguments) => {
                    // A call of a member is one link.
                    if let Part::Member(further, name) = (self.host.part)(self, inner) {
                        links.push(Link { name, arguments: Some(arguments), node: at });
                        at = further;
                    } else {
                        links.push(Link { name: "", arguments: Some(arguments), node: at });
                        at = inner;
                    }
                }
                Part::Method(inner, name, arguments) => {
                    links.push(Link { name, arguments: Some(arguments), node: at });
                    if let Some(inner) = inner {
                        at = inner;
                    } else {
                        has_root = false;
                        break;
                    }
                }
                Part::Through(inner) => at = inner,
                Part::Root => break,
            }
        }
        links.reverse();
        Chain { root: at, has_root, links, node }
    }

    /// The callee of the last call of a chain, for telling what it gives.
    pub(super) fn callee(&self, chain: &Chain<'t>) -> String {
        let mut callee = Callee(String::new());
        self.root(chain, &mut callee);
        for (index, link) in chain.links.iter().enumerate() {
            Self::link(&mut callee, index == 0 && !chain.has_root, link.name);
            if let Some(arguments) = link.arguments
                && index + 1 < chain.links.len()
            {
                callee.push_arguments(self.source(arguments));
            }
        }
        callee.0
    }

    fn root(&self, chain: &Chain<'t>, callee: &mut Callee) {
        if chain.has_root {
            let text = self.source(chain.root);
            callee.push(if text.len() <= 80 && !text.contains('\n') { text } else { "…" });
        }
    }

    fn link(callee: &mut Callee, is_first: bool, name: &str) {
        if !name.is_empty() {
            if !is_first {
                callee.push(".");
            }
            callee.push(name);
        }
    }

    /// What a chain of calls does.
    pub(super) fn chain(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let chain = self.unlink(node);
        let target = self.target.take();
        let begin = out.len();
        let mut taken = None;
        if chain.links.last().is_some_and(|link| names::assembles(link.name))
            || (chain.links.len() == 1 && names::assembles(self.source(chain.root)))
        {
            self.bare(node, out);
        }
        if !(self.host.builder)(self, &chain, out) {
            taken = self.links(&chain, target.as_deref(), out);
        }
        let Some(target) = target else { return };
        let last = match taken {
            Some(at) => out.get_mut(at),
            None => out.get_mut(begin..).and_then(<[Step]>::last_mut),
        };
        match last {
            Some(Step::Sql(taken)) => taken.call.assigned_to = Some(target),
            Some(Step::Call(call)) => call.assigned_to = Some(target),
            Some(Step::Scope(scope)) => scope.opener.assigned_to = Some(target),
            _ => {}
        }
    }

    fn links(&mut self, chain: &Chain<'t>, target: Option<&str>, out: &mut Vec<Step>) -> Option<usize> {
        let begin = out.len();
        let mut callee = Callee(String::new());
        self.root(chain, &mut callee);
        if chain.has_root {
            self.step(chain.root, out);
        }
        // A macro at the beginning may be the statement.
        let mut taken = match out.last() {
            Some(Step::Sql(it)) if out.len() > begin && it.call.span.end == chain.root.end_byte() => {
                Some(out.len() - 1)
            }
            _ => None,
        };
        let mut asks = false;
        for (index, link) in chain.links.iter().enumerate() {
            let receiver = callee.0.clone();
            Self::link(&mut callee, index == 0 && !chain.has_root, link.name);
            if let Some(arguments) = link.arguments {
                let name = if link.name.is_empty() { names::last(&receiver) } else { link.name };
                let made = Made { callee: &callee.0, receiver: &receiver, name, begin, taken, asks };
                let before = out.len();
                let is_statement = self.call(&made, link, arguments, out);
                asks |= names::takes_statement(name);
                if is_statement && out.len() > before && matches!(out.last(), Some(Step::Sql(_))) {
                    taken = Some(out.len() - 1);
                }
                callee.push_arguments(self.source(arguments));
            }
        }
        if let Some(prepared) = self.prepared.take() {
            match target {
                Some(target) => self.keep(target, prepared),
                None => self.hand_over(prepared, out),
            }
        }
        taken
    }

    fn hand_over(&mut self, prepared: Prepared, out: &mut Vec<Step>) {
        let Prepared { statement, span, call, arguments, is_many } = prepared;
        self.run(&statement, span, call, arguments, is_many, out);
    }

    /// One call; whether it belongs to a statement.
    fn call(&mut self, made: &Made<'_>, link: &Link<'t>, list: Node<'t>, out: &mut Vec<Step>) -> bool {
        let nodes = named(list);
        if names::only_tells(made.callee) {
            self.quiet += 1;
            for node in nodes {
                self.step(node, out);
            }
            self.quiet -= 1;
            let call = Self::plain(made, link, Vec::new());
            out.push(Step::Call(call));
            return false;
        }
        let mut arguments = Vec::new();
        let mut closures = Vec::new();
        for node in &nodes {
            if let Some(closure) = (self.host.closure)(*node) {
                arguments.push(Argument {
                    name: None,
                    value: Value::Other(self.shown(*node)),
                    span: span(*node),
                });
                closures.push((*node, closure));
            } else {
                let value = self.value(*node);
                arguments.push(Argument { name: None, value, span: span(*node) });
                self.step(*node, out);
            }
        }
        let call = Self::plain(made, link, arguments);
        if self.statement(made, &call, &nodes, out) {
            for (node, closure) in closures {
                let body = self.closure(node, closure);
                match made.name {
                    "each" | "query_map" | "query_and_then" | "map" => {
                        out.push(Step::Loop(Loop { span: span(node), head: made.callee.to_owned(), body }));
                    }
                    _ => out.extend(body),
                }
            }
            return true;
        }
        if closures.is_empty() {
            out.push(Step::Call(call));
        } else {
            self.callbacks(made, call, closures, out);
        }
        false
    }

    fn plain(made: &Made<'_>, link: &Link<'t>, arguments: Vec<Argument>) -> Call {
        Call { span: span(link.node), callee: made.callee.to_owned(), arguments, assigned_to: None }
    }

    /// What a function without a name does.
    pub(super) fn closure(&mut self, node: Node<'t>, closure: (Option<Node<'t>>, Node<'t>)) -> Vec<Step> {
        let (parameters, body) = closure;
        self.nested(|walk, steps| {
            for parameter in parameters.map(|parameters| walk.names_in(parameters)).unwrap_or_default() {
                walk.declare(parameter, Value::Name(parameter.to_owned()), span(node));
            }
            walk.step(body, steps);
        })
    }

    /// The names that a pattern or a list of parameters binds.
    pub(super) fn names_in(&self, node: Node<'t>) -> Vec<&'t str> {
        let mut found = Vec::new();
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            if matches!(
                node.kind(),
                "identifier" | "shorthand_property_identifier_pattern" | "shorthand_field_identifier"
            ) {
                found.push(self.source(node));
            } else if found.len() < 64 && waiting.len() < 256 {
                waiting.extend(named(node).into_iter().filter(|child| !child.kind().contains("type")));
            }
        }
        found
    }

    fn callbacks(
        &mut self,
        made: &Made<'_>,
        call: Call,
        closures: Vec<(Node<'t>, (Option<Node<'t>>, Node<'t>))>,
        out: &mut Vec<Step>,
    ) {
        let what = names::callback(made.callee, made.receiver);
        if what == Callback::Unknown && self.inside == 0 {
            for (node, (parameters, body)) in closures {
                let parameters = parameters.map(|parameters| self.names_in(parameters)).unwrap_or_default();
                self.function(node, String::new(), vec![call.callee.clone()], &parameters, Some(body));
            }
            out.push(Step::Call(call));
            return;
        }
        if what == Callback::Failure {
            let body = out.split_off(made.begin.min(out.len()));
            let handlers = closures
                .into_iter()
                .map(|(node, closure)| {
                    let body = self.closure(node, closure);
                    Handler { span: span(node), catches: Vec::new(), body }
                })
                .collect();
            out.push(Step::Try(Try { span: call.span, body, handlers }));
            return;
        }
        let mut body = Vec::new();
        for (node, closure) in closures {
            body.extend(self.closure(node, closure));
        }
        match what {
            Callback::Repeat => {
                let head = call.callee.clone();
                out.push(Step::Loop(Loop { span: call.span, head, body }));
            }
            Callback::Around => out.push(Step::Scope(Scope { span: call.span, opener: call, body })),
            Callback::Unknown if !body.is_empty() => {
                out.push(Step::Scope(Scope { span: call.span, opener: call, body }));
            }
            Callback::Once | Callback::Unknown | Callback::Failure => {
                out.push(Step::Call(call));
                out.append(&mut body);
            }
        }
    }

    /// Writes down a call that hands over a statement, or what belongs to one; false if it is any other call.
    fn statement(&mut self, made: &Made<'_>, call: &Call, nodes: &[Node<'t>], out: &mut Vec<Step>) -> bool {
        if self.continues(made, call, nodes, out) {
            return true;
        }
        if names::assembles(made.name) {
            return false;
        }
        let takes = names::takes_statement(made.name);
        let is_database = names::is_database(made.receiver)
            || made.receiver.contains("sqlx")
            || (made.receiver == made.name && self.mentions_database);
        for (index, (argument, node)) in call.arguments.iter().zip(nodes).enumerate().take(4) {
            let wanted = if takes && (is_database || self.mentions_database) {
                Likeness::Possible
            } else {
                Likeness::Sure
            };
            if likeness(&argument.value) >= wanted {
                let origin = self.place(*node);
                let rest = self.bound(nodes.get(index + 1..).unwrap_or_default());
                self.take(made, call, &argument.value, origin, rest, out);
                return true;
            }
            if let Some(fields) = (self.host.fields)(self, *node)
                && let Some(text) = fields.iter().find(|field| {
                    matches!(field.name.as_deref(), Some("text" | "sql" | "query" | "name"))
                        && likeness(&field.value) >= wanted
                })
            {
                let mut rest: Vec<Argument> = fields
                    .iter()
                    .filter(|field| {
                        matches!(field.name.as_deref(), Some("values" | "bind" | "replacements" | "params"))
                    })
                    .flat_map(flat)
                    .map(|bound| Argument { name: None, ..bound })
                    .collect();
                rest.extend(self.bound(nodes.get(index + 1..).unwrap_or_default()));
                self.take(made, call, &text.value, text.span, rest, out);
                return true;
            }
            if let Value::Many(values) = &argument.value
                && values.iter().any(|value| likeness(value) == Likeness::Sure)
            {
                let place = self.place(*node);
                for value in values.iter().filter(|value| likeness(value) == Likeness::Sure) {
                    self.run(value, place, call.clone(), Vec::new(), false, out);
                }
                return true;
            }
        }
        if !nodes.iter().any(|node| (self.host.closure)(*node).is_some()) {
            self.unresolved(made, call, is_database);
        }
        false
    }

    /// A call that takes statements and is given none that can be read.
    fn unresolved(&mut self, made: &Made<'_>, call: &Call, is_database: bool) {
        if !(is_database && self.mentions_database && names::takes_only_statements(made.name))
            || self.quiet > 0
            || made.asks
        {
            return;
        }
        let is_context = |argument: &&Argument| match &argument.value {
            Value::Name(name) | Value::Other(name) => {
                let name = name.to_ascii_lowercase();
                !(name.contains("ctx") || name.contains("context"))
            }
            _ => true,
        };
        let Some(argument) = call.arguments.iter().find(is_context) else { return };
        let from = match &argument.value {
            Value::Name(name) | Value::RunId(name) => name.clone(),
            Value::Other(text) => text.chars().take(60).collect(),
            Value::Joined(_) => "several parts".to_owned(),
            _ => return,
        };
        if names::is_connection(&from) {
            return;
        }
        self.unread(argument.span, format!("the SQL comes from `{from}`, which can't be resolved here"));
    }

    /// Takes a statement: prepared for later, or run now.
    fn take(
        &mut self,
        made: &Made<'_>,
        call: &Call,
        statement: &Value,
        span: Span,
        arguments: Vec<Argument>,
        out: &mut Vec<Step>,
    ) {
        let is_many = names::is_many(made.name);
        if names::prepares(made.name) {
            let (statement, call) = (statement.clone(), call.clone());
            self.prepared = Some(Prepared { statement, span, call, arguments, is_many });
        } else {
            self.run(statement, span, call.clone(), arguments, is_many, out);
        }
    }

    /// A call on a statement that is at hand: prepared and kept under a name, or earlier in the same chain.
    fn continues(&mut self, made: &Made<'_>, call: &Call, nodes: &[Node<'t>], out: &mut Vec<Step>) -> bool {
        if let Some(mut prepared) = self.prepared.take() {
            prepared.arguments.extend(self.bound(nodes));
            if names::runs_prepared(made.name) {
                prepared.call = call.clone();
                self.hand_over(prepared, out);
            } else {
                self.prepared = Some(prepared);
            }
            return true;
        }
        let binds = made.name.starts_with("set")
            || matches!(
                made.name,
                "bind" | "param" | "params" | "addValue" | "registerOutParameter" | "bindValue" | "bindList"
            );
        let name = made.receiver.trim_start_matches('&').trim_start_matches("await");
        if self.kept(name).is_some() {
            let bound = self.bound(if made.name.starts_with("set") && nodes.len() > 1 {
                nodes.get(1..).unwrap_or_default()
            } else {
                nodes
            });
            return self.kept_call(made, call, name, bound, binds, out);
        }
        if names::takes_statement(made.name) {
            for (index, argument) in call.arguments.iter().enumerate().take(2) {
                let Value::Name(name) = &argument.value else { continue };
                let Some((kept, has_run)) = self.kept(name) else { continue };
                *has_run = true;
                let mut prepared = kept.clone();
                prepared.call = call.clone();
                prepared.arguments.extend(self.bound(nodes.get(index + 1..).unwrap_or_default()));
                self.hand_over(prepared, out);
                return true;
            }
        }
        // `sqlx::query(…).bind(a).execute(…)`: the statement is the step before.
        if let Some(at) = made.taken
            && (binds || ends_chain(made.name))
        {
            let bound = match (binds, made.name.starts_with("set") && nodes.len() > 1) {
                (true, true) => self.bound(nodes.get(1..).unwrap_or_default()),
                (true, false) => self.bound(nodes),
                _ => Vec::new(),
            };
            if let Some(Step::Sql(taken)) = out.get_mut(at) {
                taken.arguments.extend(bound);
            }
            return true;
        }
        false
    }

    fn kept_call(
        &mut self,
        made: &Made<'_>,
        call: &Call,
        name: &str,
        bound: Vec<Argument>,
        binds: bool,
        out: &mut Vec<Step>,
    ) -> bool {
        let Some((kept, has_run)) = self.kept(name) else { return false };
        if binds || (made.name == "addBatch") {
            kept.is_many |= made.name == "addBatch";
            kept.arguments.extend(bound);
            return true;
        }
        if !names::runs_prepared(made.name) {
            return false;
        }
        *has_run = true;
        let mut prepared = kept.clone();
        kept.arguments.clear();
        prepared.call = call.clone();
        prepared.is_many |= names::is_many(made.name);
        prepared.arguments.extend(bound);
        self.hand_over(prepared, out);
        true
    }

    /// Where the text of an argument stands: at the constant, if it is a name.
    fn place(&self, node: Node<'t>) -> Span {
        let written = self.source(node);
        if written.len() <= 100
            && let Some(origin) = self.origin(written.trim_start_matches(['&', '*']).trim())
        {
            return origin;
        }
        span(node)
    }

    /// What is bound: lists and dictionaries are taken apart.
    pub(super) fn bound(&mut self, nodes: &[Node<'t>]) -> Vec<Argument> {
        let mut bound = Vec::new();
        for node in nodes {
            if (self.host.closure)(*node).is_some() {
                continue;
            }
            if let Some(fields) = (self.host.fields)(self, *node) {
                bound.extend(fields);
                continue;
            }
            let value = self.value(*node);
            bound.extend(flat(&Argument { name: None, value, span: span(*node) }));
        }
        bound
    }
}

/// A call as the chain has it so far.
struct Made<'a> {
    callee: &'a str,
    receiver: &'a str,
    name: &'a str,
    /// Where the chain's steps begin.
    begin: usize,
    /// The step of the chain's statement, so far.
    taken: Option<usize>,
    /// Whether an earlier call of the chain takes statements.
    asks: bool,
}

fn flat(argument: &Argument) -> Vec<Argument> {
    match &argument.value {
        Value::Many(values) => values
            .iter()
            .map(|value| Argument { name: argument.name.clone(), value: value.clone(), span: argument.span })
            .collect(),
        _ => vec![argument.clone()],
    }
}

fn ends_chain(name: &str) -> bool {
    matches!(
        name,
        "execute"
            | "fetch"
            | "fetch_one"
            | "fetch_all"
            | "fetch_optional"
            | "execute_many"
            | "executeUpdate"
            | "update"
            | "getResultList"
            | "getSingleResult"
            | "rowsUpdated"
            | "Scan"
            | "load"
            | "get_result"
            | "get_results"
            | "persistent"
            | "map"
            | "try_map"
            | "query_rows"
            | "list"
            | "one"
            | "first"
            | "mapTo"
    )
}
