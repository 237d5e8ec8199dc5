//! What a program does to a database, in a form that is the same for every host language: functions made of steps.
//!
//! A frontend (`code/python.rs` …) walks a syntax tree and writes down only what rules ask about. Names are resolved as far
//! as one function and the module's constants show it: a variable that was given `datetime.now()` is a [`Value::Clock`].
//! A statement that is assembled at run time from parts that can't be resolved is an [`Unread`], never passed over.

mod calls;
mod dbt;
mod declared;
mod go;
mod java;
mod javascript;
mod names;
#[cfg(test)]
pub(crate) mod outline;
mod python;
mod rust;
mod shell;
mod sql;
pub(crate) mod syntax;
#[cfg(test)]
mod tests;
mod typescript;
mod walk;

use std::path::PathBuf;
use std::sync::Arc;

use crate::file::{File, Language};
use crate::sql::Statement;

/// Reads one file by its language. A frontend has the form `read_file(text) -> (functions, unread)`.
pub(crate) fn read(file: &File, text: String) -> Unit {
    let (mut functions, unread) = match file.language {
        Language::Sql => sql::read_file(&text),
        Language::Python => python::read_file(&text),
        Language::Dbt => dbt::read_file(file, &text),
        Language::Shell => shell::read_file(&text),
        Language::JavaScript => javascript::read_file(&text),
        Language::TypeScript => typescript::read_file(&file.path, &text),
        Language::Go => go::read_file(&text),
        Language::Java => java::read_file(&text),
        Language::Rust => rust::read_file(&text),
        Language::Schema => (Vec::new(), Vec::new()),
    };
    let mut known = Vec::new();
    for function in &functions {
        gather(&function.body, &mut known);
    }
    let known: Vec<Span> = known.iter().map(|it| it.span).collect();
    functions.extend(declared::read_file(file, &text, &known));
    Unit { path: file.path.clone(), language: file.language, text: text.into(), functions, unread }
}

/// The callee of a statement that only declares a table: to a mapper, or for somebody who isn't in sight.
pub(crate) const MAPPED: &str = "mapped";

/// A stretch of a file: byte offsets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

/// A file that has been read.
#[derive(Debug)]
pub struct Unit {
    /// Its path, as it was given.
    pub path: PathBuf,
    /// Its language.
    pub language: Language,
    /// Its text.
    pub text: Arc<str>,
    /// What it does. Code outside of functions, and a plain SQL file, is one function without a name.
    pub functions: Vec<Function>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

impl Unit {
    /// Every statement that is handed over, in order, however deep it stands.
    pub fn uses(&self) -> Vec<&Use> {
        let mut found = Vec::new();
        for function in &self.functions {
            gather(&function.body, &mut found);
        }
        found
    }
}

fn gather<'a>(steps: &'a [Step], found: &mut Vec<&'a Use>) {
    for step in steps {
        match step {
            Step::Sql(it) => found.push(it),
            Step::Call(_) => {}
            Step::Loop(it) => gather(&it.body, found),
            Step::Branch(it) => {
                gather(&it.condition, found);
                gather(&it.then, found);
                gather(&it.otherwise, found);
            }
            Step::Try(it) => {
                gather(&it.body, found);
                for handler in &it.handlers {
                    gather(&handler.body, found);
                }
            }
            Step::Scope(it) => gather(&it.body, found),
        }
    }
}

/// A function, method, closure that is given a name, or the top of a module.
#[derive(Debug)]
pub struct Function {
    /// Its name; empty for the module's top.
    pub name: String,
    /// All of it.
    pub span: Span,
    /// Names of decorators and annotations (`task`, `dag.task`, `asset`, `flow`, `retry`, `Transactional`), as written without
    /// the `@` and the arguments; and the name of an operator that is given this function (`PythonOperator`).
    pub decorators: Vec<String>,
    /// Its steps, in order.
    pub body: Vec<Step>,
}

/// One thing that happens.
#[derive(Debug)]
pub enum Step {
    /// A statement goes to the database.
    Sql(Box<Use>),
    /// Anything else is called (also `commit`, `rollback`, `requests.post`, `to_sql`, `time.sleep`).
    Call(Call),
    /// A body that repeats.
    Loop(Loop),
    /// A choice: `if`, `match`, `?:`.
    Branch(Branch),
    /// A body whose failures are handled.
    Try(Try),
    /// A body inside of something that is opened and closed (`with conn.transaction():`, `tx.begin` … in a closure,
    /// `session.begin()`, try-with-resources).
    Scope(Scope),
}

/// A statement that is handed to the database.
#[derive(Debug)]
pub struct Use {
    /// Where its text stands in the file.
    pub span: Span,
    /// The call that takes it (`cur.execute`, `conn.executemany`, `session.execute`, `db.query`, `sqlx::query`).
    pub call: Call,
    /// The statements in the text, in order; those that don't parse are among the unit's unread.
    pub statements: Vec<Statement>,
    /// What is bound to the placeholders, by order or by name; several rows at once where `is_many`.
    pub arguments: Vec<Argument>,
    /// executemany, execute_values, copy_from, a batch.
    pub is_many: bool,
}

impl Use {
    /// What is bound to a placeholder, by its key in [`Statement::placeholders`]: a name, or a number from 1.
    pub fn bound(&self, placeholder: &str) -> Option<&Value> {
        if let Some(argument) = self.arguments.iter().find(|it| it.name.as_deref() == Some(placeholder)) {
            return Some(&argument.value);
        }
        let index = placeholder.parse::<usize>().ok()?.checked_sub(1)?;
        self.arguments.get(index).filter(|it| it.name.is_none()).map(|it| &it.value)
    }
}

impl Step {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Sql(it) => it.span,
            Self::Call(it) => it.span,
            Self::Loop(it) => it.span,
            Self::Branch(it) => it.span,
            Self::Try(it) => it.span,
            Self::Scope(it) => it.span,
        }
    }
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// All of it.
    pub span: Span,
    /// The callee as written, without white space: `requests.post`, `conn.commit`, `client.messages.create`.
    pub callee: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// The variable that takes the result.
    pub assigned_to: Option<String>,
}

/// An argument.
#[derive(Debug, Clone)]
pub struct Argument {
    /// Its keyword.
    pub name: Option<String>,
    /// Its value.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

/// A value, as far as it can be told by reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A constant text.
    Text(String),
    /// A constant number, boolean or null, as written.
    Constant(String),
    /// From the clock: now(), today(), time(), Date.now().
    Clock,
    /// Random: uuid4(), random(), randomUUID(), secrets.token_hex(), ULID, nanoid, UUIDv1/v7.
    Random,
    /// A run's id: a variable, attribute or template named run_id, batch_id, execution id, invocation_id, job_id …
    RunId(String),
    /// A text joined of parts (f-string, `+`, format, join, template literal): the parts in order, constants included.
    Joined(Vec<Value>),
    /// A list, tuple, dict or struct of values (for a dict: the values, in order, with the names in `Argument`s' place).
    Many(Vec<Value>),
    /// A name that isn't resolved: a parameter, a field of a record.
    Name(String),
    /// Anything else, as written (shortened to 200 bytes).
    Other(String),
}

/// A loop.
#[derive(Debug)]
pub struct Loop {
    /// All of it.
    pub span: Span,
    /// Its head as written: `for row in rows`, `while True`, `for attempt in range(3)`.
    pub head: String,
    /// What repeats.
    pub body: Vec<Step>,
}

/// A choice.
#[derive(Debug)]
pub struct Branch {
    /// All of it.
    pub span: Span,
    /// The condition as written: `cur.fetchone() is None`, `not exists`.
    pub test: String,
    /// Steps inside the condition.
    pub condition: Vec<Step>,
    /// When it holds; the arms of a match one after another.
    pub then: Vec<Step>,
    /// When it doesn't.
    pub otherwise: Vec<Step>,
}

/// A body with handlers. Go's `if err != nil` and Rust's `?`/match on an error are branches, not this.
#[derive(Debug)]
pub struct Try {
    /// All of it.
    pub span: Span,
    /// What is tried.
    pub body: Vec<Step>,
    /// The handlers, in order.
    pub handlers: Vec<Handler>,
}

/// What happens after a failure.
#[derive(Debug)]
pub struct Handler {
    /// All of it.
    pub span: Span,
    /// The names of what it catches, as written (`psycopg.errors.UniqueViolation`, `Exception`); empty: everything.
    pub catches: Vec<String>,
    /// What it does. `pass`, `continue`, `raise`/`throw`, `return`, `break` are [`Call`]s with that callee and no arguments.
    pub body: Vec<Step>,
}

/// A body inside of something that is opened and closed.
#[derive(Debug)]
pub struct Scope {
    /// All of it.
    pub span: Span,
    /// What opens it.
    pub opener: Call,
    /// What happens inside.
    pub body: Vec<Step>,
}

/// What could not be read.
#[derive(Debug, Clone)]
pub struct Unread {
    /// Where.
    pub span: Span,
    /// Why: `the SQL is assembled at run time from \`table\``.
    pub why: String,
}
