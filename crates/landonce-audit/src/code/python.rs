//! Python: psycopg, asyncpg, sqlite3, SQLAlchemy (text and core), pandas, and the tasks of Airflow, Dagster and Prefect.
//!
//! Statements are walked in the order in which they run, so that a name means what it was last given. `text` puts SQL
//! together, `value` tells clocks and chance, `calls` knows which calls take SQL, `core` writes SQLAlchemy's constructs as SQL.

mod calls;
mod core;
mod given;
mod mapped;
#[cfg(test)]
mod tests;
mod text;
mod trying;
mod value;

use std::collections::BTreeMap;
use std::rc::Rc;

use tree_sitter::Node;

use super::{Argument, Branch, Call, Function, Loop, Scope, Span, Step, Unread, Value};
use crate::sql::Text;
use given::Given;

/// Deeper than this nobody writes.
const DEEPEST: usize = 120;
/// How often parts of one statement are looked at: what means something is found long before, and nested operators and
/// calls would be looked at again at each level.
const MOST_WORK: usize = 4_000;

/// What is known of a name.
#[derive(Debug, Clone)]
struct Known {
    /// Its text, if it is one.
    text: Option<Text>,
    /// Its value.
    value: Value,
    /// What it holds, if it is a tuple, a list or a dict: by order or by name.
    arguments: Vec<Argument>,
}

type Names = BTreeMap<String, Rc<Known>>;

/// Reads a file.
pub(crate) fn read_file(text: &str) -> (Vec<Function>, Vec<Unread>) {
    let whole = Span { start: 0, end: text.len() };
    let Some(tree) = super::syntax::parse(&tree_sitter_python::LANGUAGE.into(), text) else {
        return (Vec::new(), vec![Unread { span: whole, why: "it can't be read as Python".into() }]);
    };
    let root = tree.root_node();
    let (functions, unread) = read_tree(text, root, Given::default());
    let given = Given::of(&functions);
    if given.is_empty() { (functions, unread) } else { read_tree(text, root, given) }
}

fn read_tree(text: &str, root: Node<'_>, given: Given) -> (Vec<Function>, Vec<Unread>) {
    let mut reader = Reader {
        s: text,
        given,
        functions: Vec::new(),
        unread: Vec::new(),
        module: Names::new(),
        names: Names::new(),
        tables: BTreeMap::new(),
        callables: Vec::new(),
        has_database: imports_database(text),
        depth: 0,
        work: 0,
        branches: 0,
    };
    reader.constants(root);
    reader.module = std::mem::take(&mut reader.names);
    let mut body = Vec::new();
    reader.block(root, &mut body);
    let whole = Span { start: 0, end: text.len() };
    reader.functions.push(Function { name: String::new(), span: whole, decorators: Vec::new(), body });
    for (operator, callable) in &reader.callables {
        for function in reader.functions.iter_mut().filter(|it| it.name == *callable) {
            function.decorators.push(operator.clone());
        }
    }
    reader.unread.extend(super::syntax::errors(root, reader.has_database));
    reader.functions.sort_by_key(|it| it.span.start);
    (reader.functions, reader.unread)
}

/// Whether the file is about a database at all: else an `execute` can be anything.
fn imports_database(text: &str) -> bool {
    const LIBRARIES: [&str; 24] = [
        "psycopg",
        "asyncpg",
        "sqlite3",
        "sqlalchemy",
        "pymysql",
        "MySQLdb",
        "mysql",
        "aiomysql",
        "aiosqlite",
        "django",
        "pandas",
        "airflow",
        "databases",
        "snowflake",
        "bigquery",
        "pyodbc",
        "cx_Oracle",
        "oracledb",
        "duckdb",
        "sqlmodel",
        "records",
        "peewee",
        "clickhouse",
        "redshift_connector",
    ];
    text.lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("import ") || line.starts_with("from "))
        .any(|line| LIBRARIES.iter().any(|library| line.contains(library)))
}

struct Reader<'t> {
    s: &'t str,
    given: Given,
    functions: Vec<Function>,
    unread: Vec<Unread>,
    /// What the module's top gives.
    module: Names,
    /// What this function gives.
    names: Names,
    /// Classes and variables that stand for tables.
    tables: BTreeMap<String, String>,
    /// Operators with the functions they are given.
    callables: Vec<(String, String)>,
    has_database: bool,
    depth: usize,
    /// How often parts of this statement have been looked at.
    work: usize,
    /// How many conditions and loops are open: what is appended there may or may not be.
    branches: usize,
}

impl<'t> Reader<'t> {
    fn source(&self, node: Node<'t>) -> &'t str {
        self.s.get(node.byte_range()).unwrap_or("")
    }

    fn known(&self, name: &str) -> Option<Rc<Known>> {
        self.names.get(name).or_else(|| self.module.get(name)).cloned()
    }

    /// Goes one level down, unless that is too deep.
    fn deeper<T>(&mut self, otherwise: T, inside: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEEPEST {
            return otherwise;
        }
        self.depth += 1;
        let found = inside(self);
        self.depth -= 1;
        found
    }

    /// The same for looking at an expression, unless that has taken too long.
    fn look<T>(&mut self, otherwise: T, inside: impl FnOnce(&mut Self) -> T) -> T {
        if self.work >= MOST_WORK {
            return otherwise;
        }
        self.work += 1;
        self.deeper(otherwise, inside)
    }

    /// The names that the top of the module and its classes give, before any function runs.
    fn constants(&mut self, root: Node<'t>) {
        let mut cursor = root.walk();
        for child in root.named_children(&mut cursor) {
            match child.kind() {
                "expression_statement" => {
                    if let Some(assignment) = child.named_child(0).filter(|it| it.kind() == "assignment") {
                        self.assign(assignment);
                    }
                }
                "class_definition" => self.class_constants(child),
                "decorated_definition" => {
                    if let Some(class) =
                        child.child_by_field_name("definition").filter(|it| it.kind() == "class_definition")
                    {
                        self.class_constants(class);
                    }
                }
                "if_statement" | "try_statement" => {
                    let mut inner = child.walk();
                    for block in child.named_children(&mut inner).filter(|it| it.kind() == "block") {
                        self.deeper((), |it| it.constants(block));
                    }
                }
                _ => {}
            }
        }
    }

    fn class_constants(&mut self, class: Node<'t>) {
        let name = class.child_by_field_name("name").map_or("", |it| self.source(it)).to_owned();
        let Some(body) = class.child_by_field_name("body") else { return };
        let mut cursor = body.walk();
        for child in body.named_children(&mut cursor).filter(|it| it.kind() == "expression_statement") {
            let Some(assignment) = child.named_child(0).filter(|it| it.kind() == "assignment") else {
                continue;
            };
            let (Some(left), Some(right)) =
                (assignment.child_by_field_name("left"), assignment.child_by_field_name("right"))
            else {
                continue;
            };
            let written = self.source(left).to_owned();
            let known = Rc::new(self.evaluate(right));
            if written == "__tablename__"
                && let Value::Text(table) = &known.value
            {
                self.tables.insert(name.clone(), table.clone());
            }
            self.names.insert(format!("{name}.{written}"), known.clone());
            self.names.insert(format!("self.{written}"), known.clone());
            self.names.insert(format!("cls.{written}"), known);
        }
    }

    fn evaluate(&mut self, node: Node<'t>) -> Known {
        let text = self.text_of(node);
        let mut arguments = self.elements(node);
        if arguments.is_empty() && text.is_some() {
            arguments = self.core_arguments(node);
        }
        Known { text, value: self.value_of(node), arguments }
    }

    /// `name = value`, in every form.
    fn assign(&mut self, node: Node<'t>) {
        self.work = 0;
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        else {
            return;
        };
        match (left.kind(), right.kind()) {
            ("identifier" | "attribute", _) => {
                let known = self.evaluate(right);
                let name = self.source(left).to_owned();
                if let Some(table) = self.table_object(right) {
                    self.tables.insert(name.clone(), table);
                }
                self.names.insert(name, Rc::new(known));
            }
            ("pattern_list" | "tuple_pattern", "expression_list" | "tuple") => {
                let mut lefts = left.walk();
                let mut rights = right.walk();
                let pairs: Vec<_> =
                    left.named_children(&mut lefts).zip(right.named_children(&mut rights)).collect();
                for (left, right) in pairs {
                    let known = self.evaluate(right);
                    self.names.insert(self.source(left).to_owned(), Rc::new(known));
                }
            }
            ("subscript", _) => {
                // `params["id"] = value` adds to what `params` holds.
                let (Some(object), Some(key)) =
                    (left.child_by_field_name("value"), left.child_by_field_name("subscript"))
                else {
                    return;
                };
                if let (Some(known), Value::Text(key)) = (self.known(self.source(object)), self.value_of(key))
                {
                    let mut known = (*known).clone();
                    let span = span(right);
                    known.arguments.push(Argument { name: Some(key), value: self.value_of(right), span });
                    self.names.insert(self.source(object).to_owned(), Rc::new(known));
                }
            }
            _ => self.forget(left),
        }
    }

    /// `name += value`.
    fn augment(&mut self, node: Node<'t>) {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        else {
            return;
        };
        let name = self.source(left).to_owned();
        let Some(known) = self.known(&name) else { return };
        let mut known = (*known).clone();
        if let Some(text) = &mut known.text {
            if let Some(more) = self.text_of(right).filter(|_| self.branches == 0) {
                text.push_text(&more);
            } else {
                // It may or may not be there; either way it is a clause of its own.
                text.push_for(" ", span(right));
                text.push_hole(short(self.source(right)), Value::Name(name.clone()), span(right));
            }
            known.value = Value::Name(name.clone());
        }
        self.names.insert(name, Rc::new(known));
    }

    /// The names of a pattern mean something else from here on.
    fn forget(&mut self, pattern: Node<'t>) {
        if matches!(pattern.kind(), "identifier" | "attribute") {
            let name = self.source(pattern).to_owned();
            let value = value::of_name(&name);
            self.names.insert(name, Rc::new(Known { text: None, value, arguments: Vec::new() }));
            return;
        }
        let mut cursor = pattern.walk();
        for child in pattern.named_children(&mut cursor) {
            self.deeper((), |it| it.forget(child));
        }
    }

    /// A block's statements, in order.
    fn block(&mut self, block: Node<'t>, out: &mut Vec<Step>) {
        let mut cursor = block.walk();
        for child in block.named_children(&mut cursor) {
            self.deeper((), |it| it.statement(child, out));
        }
    }

    /// A block that may or may not run.
    fn branch(&mut self, block: Option<Node<'t>>) -> Vec<Step> {
        let mut out = Vec::new();
        self.branches += 1;
        if let Some(block) = block {
            self.block(block, &mut out);
        }
        self.branches -= 1;
        out
    }

    fn statement(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        self.work = 0;
        match node.kind() {
            "function_definition" => self.function(node, Vec::new()),
            "decorated_definition" => {
                let mut cursor = node.walk();
                let decorators = node
                    .named_children(&mut cursor)
                    .filter(|it| it.kind() == "decorator")
                    .map(|it| decorator(self.source(it)))
                    .collect();
                match node.child_by_field_name("definition") {
                    Some(it) if it.kind() == "function_definition" => self.function(it, decorators),
                    Some(it) => self.statement(it, out),
                    None => {}
                }
            }
            "class_definition" => {
                self.mapped_class(node, out);
                if let Some(body) = node.child_by_field_name("body") {
                    self.block(body, out);
                }
            }
            "if_statement" => self.if_statement(node, out),
            "match_statement" => {
                let mut test = Vec::new();
                let mut cursor = node.walk();
                for subject in node.children_by_field_name("subject", &mut cursor) {
                    self.expression(subject, None, &mut test);
                }
                let mut then = Vec::new();
                if let Some(body) = node.child_by_field_name("body") {
                    let mut cursor = body.walk();
                    for case in body.named_children(&mut cursor).filter(|it| it.kind() == "case_clause") {
                        then.extend(self.branch(case.child_by_field_name("consequence")));
                    }
                }
                let test_text = head(self.source(node));
                out.push(Step::Branch(Branch {
                    span: span(node),
                    test: test_text,
                    condition: test,
                    then,
                    otherwise: Vec::new(),
                }));
            }
            "for_statement" => {
                if let Some(right) = node.child_by_field_name("right") {
                    self.expression(right, None, out);
                }
                if let Some(left) = node.child_by_field_name("left") {
                    self.forget(left);
                }
                let body = self.branch(node.child_by_field_name("body"));
                out.push(Step::Loop(Loop { span: span(node), head: head(self.source(node)), body }));
                if let Some(otherwise) =
                    node.child_by_field_name("alternative").and_then(|it| it.child_by_field_name("body"))
                {
                    self.block(otherwise, out);
                }
            }
            "while_statement" => {
                let mut body = Vec::new();
                if let Some(condition) = node.child_by_field_name("condition") {
                    self.expression(condition, None, &mut body);
                }
                body.extend(self.branch(node.child_by_field_name("body")));
                out.push(Step::Loop(Loop { span: span(node), head: head(self.source(node)), body }));
            }
            "try_statement" => self.try_statement(node, out),
            "with_statement" => self.with_statement(node, out),
            "return_statement" | "raise_statement" | "break_statement" | "continue_statement"
            | "pass_statement" => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.expression(child, None, out);
                }
                let callee = node.kind().trim_end_matches("_statement").to_owned();
                out.push(Step::Call(Call {
                    span: span(node),
                    callee,
                    arguments: Vec::new(),
                    assigned_to: None,
                }));
            }
            "expression_statement" => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.simple(child, out);
                }
            }
            "block" => self.block(node, out),
            "comment" | "import_statement" | "import_from_statement" | "future_import_statement" => {}
            _ => self.expression(node, None, out),
        }
    }

    /// An expression that is a statement, or an assignment.
    fn simple(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        match node.kind() {
            "assignment" => {
                let target = node.child_by_field_name("left").map(|it| self.source(it).to_owned());
                if let Some(right) = node.child_by_field_name("right") {
                    if right.kind() == "assignment" {
                        self.deeper((), |it| it.simple(right, out));
                    } else {
                        self.expression(right, target, out);
                    }
                }
                self.assign(node);
            }
            "augmented_assignment" => {
                if let Some(right) = node.child_by_field_name("right") {
                    self.expression(right, None, out);
                }
                self.augment(node);
            }
            _ => self.expression(node, None, out),
        }
    }

    fn function(&mut self, node: Node<'t>, decorators: Vec<String>) {
        let outer = self.names.clone();
        let branches = std::mem::take(&mut self.branches);
        let own = node.child_by_field_name("name").map_or("", |it| self.source(it)).to_owned();
        if let Some(parameters) = node.child_by_field_name("parameters") {
            let mut cursor = parameters.walk();
            for (at, parameter) in parameters.named_children(&mut cursor).enumerate() {
                let name = match parameter.kind() {
                    "identifier" => Some(parameter),
                    "typed_parameter" => parameter.named_child(0),
                    _ => parameter.child_by_field_name("name"),
                };
                if let Some(name) = name.filter(|it| it.kind() == "identifier") {
                    self.forget(name);
                    if self.given.is_clock(&own, at, self.source(name)) {
                        let known = Known { text: None, value: Value::Clock, arguments: Vec::new() };
                        self.names.insert(self.source(name).to_owned(), Rc::new(known));
                    }
                }
            }
        }
        let mut body = Vec::new();
        if let Some(block) = node.child_by_field_name("body") {
            self.block(block, &mut body);
        }
        let name = own;
        // What a method gives to `self` is known to the methods after it.
        let given: Vec<_> = std::mem::replace(&mut self.names, outer)
            .into_iter()
            .filter(|(name, _)| name.starts_with("self."))
            .collect();
        if name == "__init__" {
            self.names.extend(given);
        }
        self.branches = branches;
        self.functions.push(Function { name, span: span(node), decorators, body });
    }

    fn if_statement(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let test = node.child_by_field_name("condition").map(|it| short(self.source(it))).unwrap_or_default();
        let mut condition = Vec::new();
        if let Some(it) = node.child_by_field_name("condition") {
            self.expression(it, None, &mut condition);
        }
        let then = self.branch(node.child_by_field_name("consequence"));
        let mut cursor = node.walk();
        let alternatives: Vec<_> = node.children_by_field_name("alternative", &mut cursor).collect();
        let mut otherwise = Vec::new();
        for alternative in alternatives.into_iter().rev() {
            if alternative.kind() == "else_clause" {
                otherwise = self.branch(alternative.child_by_field_name("body"));
            } else {
                let test = alternative
                    .child_by_field_name("condition")
                    .map(|it| short(self.source(it)))
                    .unwrap_or_default();
                let mut condition = Vec::new();
                if let Some(it) = alternative.child_by_field_name("condition") {
                    self.expression(it, None, &mut condition);
                }
                let then = self.branch(alternative.child_by_field_name("consequence"));
                otherwise =
                    vec![Step::Branch(Branch { span: span(alternative), test, condition, then, otherwise })];
            }
        }
        out.push(Step::Branch(Branch { span: span(node), test, condition, then, otherwise }));
    }

    fn with_statement(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let mut cursor = node.walk();
        let Some(clause) = node.named_children(&mut cursor).find(|it| it.kind() == "with_clause") else {
            return;
        };
        let mut cursor = clause.walk();
        let mut openers = Vec::new();
        for item in clause.named_children(&mut cursor).filter(|it| it.kind() == "with_item") {
            let Some(value) = item.child_by_field_name("value") else { continue };
            let (value, alias) = if value.kind() == "as_pattern" {
                (value.named_child(0).unwrap_or(value), value.child_by_field_name("alias"))
            } else {
                (value, None)
            };
            let mut before = Vec::new();
            let target = alias.map(|it| self.source(it).to_owned());
            self.expression(value, target.clone(), &mut before);
            if let Some(target) = alias.and_then(|it| it.named_child(0)) {
                self.forget(target);
            }
            // The call itself opens the scope; a statement that it sends stays a step before it.
            let opener = match before.last() {
                Some(Step::Call(call)) if call.span == span(value) => {
                    let call = call.clone();
                    before.pop();
                    call
                }
                Some(Step::Sql(it)) if it.span.start >= span(value).start => it.call.clone(),
                _ => Call {
                    span: span(value),
                    callee: callee(self.source(value)),
                    arguments: Vec::new(),
                    assigned_to: target,
                },
            };
            openers.push((before, opener));
        }
        let mut body = Vec::new();
        if let Some(block) = node.child_by_field_name("body") {
            self.block(block, &mut body);
        }
        for (mut before, opener) in openers.into_iter().rev() {
            before.push(Step::Scope(Scope { span: span(node), opener, body }));
            body = before;
        }
        out.extend(body);
    }
}

/// A node's place.
fn span(node: Node<'_>) -> Span {
    super::syntax::span(node)
}

/// A text in at most 200 bytes, its white space made one.
fn short(text: &str) -> String {
    super::syntax::short(text)
}

/// The head of a compound statement, without its colon.
fn head(text: &str) -> String {
    let line = text.lines().next().unwrap_or("").trim_end();
    short(line.strip_suffix(':').unwrap_or(line))
}

/// A callee as written, without white space.
fn callee(text: &str) -> String {
    super::syntax::callee(text)
}

/// `@retry(stop=…)` is `retry`.
fn decorator(text: &str) -> String {
    let name = text.trim_start_matches('@').trim();
    name.split('(').next().unwrap_or(name).split_whitespace().collect()
}
