//! The steps of one function in their order, each with what it is nested in and the transaction that it belongs to.

use sqlparser::ast::Statement as Tree;

use super::tables::{self, Name};
use super::value::Bound;
use super::write::{Boundary, Conflict, Kind, Write, boundary, conflict, is_write, writes};
use crate::code::{Branch, Call, Function, Loop, Scope, Span, Step, Try, Unit, Use};
use crate::file::Language;
use crate::sql::Statement;

/// A function, flattened.
pub(crate) struct Flow<'a> {
    pub(crate) index: usize,
    pub(crate) unit: &'a Unit,
    pub(crate) function: &'a Function,
    pub(crate) events: Vec<Event<'a>>,
}

/// A step.
pub(crate) struct Event<'a> {
    pub(crate) what: What<'a>,
    pub(crate) span: Span,
    /// What it is nested in, the outermost first.
    pub(crate) path: Vec<Frame<'a>>,
    /// Equal for steps of one transaction; `None` where every statement is committed by itself.
    pub(crate) transaction: Option<u32>,
}

/// What a step does.
pub(crate) enum What<'a> {
    Sql {
        usage: &'a Use,
        statement: &'a Statement,
        writes: Vec<Write<'a>>,
    },
    Call(&'a Call),
    /// A choice is made here.
    Test(&'a Branch),
}

/// What a step is nested in.
#[derive(Clone, Copy)]
pub(crate) enum Frame<'a> {
    Loop(&'a Loop),
    Try(&'a Try),
    Handler,
    Condition,
    Then(&'a Branch),
    Otherwise(&'a Branch),
    Scope,
}

impl<'a> Event<'a> {
    /// The statement with what is bound to it.
    pub(crate) fn bound(&self) -> Option<Bound<'a>> {
        match self.what {
            What::Sql { usage, statement, .. } => Some(Bound { usage, statement }),
            _ => None,
        }
    }

    pub(crate) fn writes(&self) -> &[Write<'a>] {
        match &self.what {
            What::Sql { writes, .. } => writes,
            _ => &[],
        }
    }

    pub(crate) fn call(&self) -> Option<&'a Call> {
        match self.what {
            What::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Whether it only happens after something has failed.
    pub(crate) fn is_handling(&self) -> bool {
        self.path.iter().any(|frame| matches!(frame, Frame::Handler))
    }

    pub(crate) fn loops(&self) -> impl Iterator<Item = &'a Loop> + '_ {
        self.path.iter().filter_map(|frame| match frame {
            Frame::Loop(inner) => Some(*inner),
            _ => None,
        })
    }
}

/// Whether this is the error of a key that refuses a row, among others.
pub(crate) fn is_key_error(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["integrity", "uniqueviolation", "duplicate", "constraintviolation", "unique_violation"]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether a text tells the error of a key that refuses a row from others.
fn tells_key_errors(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    [
        "23505",
        "1062",
        "er_dup",
        "p2002",
        "sqlite_constraint",
        "isunique",
        "is_unique",
        "unique violation",
        "unique constraint",
        "uniqueconstraint",
    ]
    .iter()
    .any(|word| text.contains(word))
        || is_key_error(&text)
}

/// The last part of a callee: `commit` of `self.conn.commit`.
pub(crate) fn last(callee: &str) -> &str {
    callee.trim_end_matches("()").rsplit(['.', ':']).next().unwrap_or_default()
}

/// What a method is called on, in lower case: `self.conn` of `self.conn.commit`.
pub(crate) fn receiver(callee: &str) -> String {
    callee.rsplit_once('.').map(|(receiver, _)| receiver.to_ascii_lowercase()).unwrap_or_default()
}

pub(crate) fn is_commit(call: &Call) -> bool {
    matches!(last(&call.callee), "commit" | "Commit" | "commitTransaction" | "commit_transaction")
}

fn is_end(call: &Call) -> bool {
    is_commit(call) || matches!(last(&call.callee), "rollback" | "Rollback" | "rollbackTransaction")
}

/// Whether a call opens a transaction.
pub(crate) fn is_opener(call: &Call) -> bool {
    matches!(
        last(&call.callee),
        "transaction"
            | "begin"
            | "atomic"
            | "Begin"
            | "BeginTx"
            | "BeginTxx"
            | "beginTransaction"
            | "$transaction"
            | "tx"
            | "begin_transaction"
            | "in_transaction"
            | "inTransaction"
            | "withTransaction"
            | "WithTransaction"
            | "RunInTransaction"
            | "get_conn_transaction"
            | "transactional"
            | "BeginFunc"
            | "BeginTxFunc"
            | "executeWithoutResult"
            | "withTx"
            | "WithTx"
            | "InTx"
    )
}

impl<'a> Flow<'a> {
    pub(crate) fn of(index: usize, unit: &'a Unit, function: &'a Function, habit: &Habit) -> Self {
        let is_implicit = habit.is_implicit(unit, function);
        let mut walk = Walk {
            events: Vec::new(),
            path: Vec::new(),
            next: 1,
            current: is_implicit.then_some(0),
            is_implicit,
            depth: 0,
        };
        walk.steps(&function.body);
        Self { index, unit, function, events: walk.events }
    }

    /// Whether anything is written to a table that stays.
    pub(crate) fn is_writing(&self) -> bool {
        self.events.iter().any(|event| {
            event.writes().iter().any(|write| !matches!(write.kind, Kind::Drop | Kind::Create))
                || event.call().is_some_and(is_written_by_call)
        })
    }

    /// Whether the error of a key that refuses the row is taken: then there is such a key.
    pub(crate) fn relies_on_key(&self, at: usize) -> bool {
        let text = |span: Span| self.unit.text.get(span.start..span.end).unwrap_or_default();
        // Go and Rust have no handlers: the function looks at what it was given back.
        let is_told = matches!(self.unit.language, Language::Go | Language::Rust)
            && tells_key_errors(text(Span { start: self.events[at].span.end, end: self.function.span.end }));
        is_told
            || self.events[at].path.iter().any(|frame| match frame {
                Frame::Try(tried) => tried.handlers.iter().any(|handler| {
                    handler.catches.iter().any(|name| is_key_error(name))
                        || tells_key_errors(text(handler.span))
                }),
                _ => false,
            })
    }

    /// Whether two steps stand or fall together.
    pub(crate) fn is_together(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.events[a], &self.events[b]);
        match (a.transaction, b.transaction) {
            (Some(a), Some(b)) => a == b,
            // One text with several statements is one implicit transaction for most drivers; scripts are not.
            _ => a.span == b.span && !matches!(self.unit.language, Language::Sql | Language::Shell),
        }
    }

    /// Whether the step stands behind a claim that can be made once only: an insert into an inbox, or into a table with
    /// a key where it fails the second time, earlier in the same transaction.
    pub(crate) fn is_claimed(&self, at: usize, has_key: &dyn Fn(&Name) -> bool) -> bool {
        let target = self.events[at].writes().iter().map(|write| &write.table).collect::<Vec<_>>();
        let is_claim = |write: &Write<'_>, has_returning: &mut bool| {
            let Kind::Insert(insert) = write.kind else { return false };
            if target.iter().any(|table| table.is(&write.table)) && !tables::is_inbox_name(&write.table) {
                return false;
            }
            *has_returning = insert.returning.is_some();
            match conflict(insert) {
                Conflict::Nothing(_) => true,
                Conflict::None => tables::is_inbox_name(&write.table) || has_key(&write.table),
                _ => false,
            }
        };
        let mut returning = false;
        // WITH claimed AS (INSERT … ON CONFLICT DO NOTHING RETURNING …) in the same statement.
        let own = self.events[at].writes();
        if own.len() > 1 && own.iter().any(|write| is_claim(write, &mut returning)) || is_of_what_is_new(own)
        {
            return true;
        }
        let by_insert = (0..at).any(|earlier| {
            let event = &self.events[earlier];
            let claims = event.writes().iter().any(|write| {
                is_claim(write, &mut returning)
                    && (matches!(write.kind, Kind::Insert(insert) if matches!(conflict(insert), Conflict::None))
                        || self.events[earlier..at].iter().any(|between| matches!(between.what, What::Test(_))))
            });
            claims && self.is_together(earlier, at)
        });
        by_insert
            || self.events[..at].iter().any(|event| match event.what {
                What::Test(branch) => {
                    let test = branch.test.to_ascii_lowercase();
                    [
                        "claim",
                        "already",
                        "inbox",
                        "dedup",
                        "duplicate",
                        "is_new",
                        "isnew",
                        "first_time",
                        "seen",
                        "processed",
                        "idempot",
                    ]
                    .iter()
                    .any(|word| test.contains(word))
                }
                _ => false,
            })
    }

    /// Whether what came is looked at, before this step, for being all there.
    pub(crate) fn is_checked_complete(&self, at: usize) -> bool {
        const WORDS: [&str; 16] = [
            "len(",
            ".length",
            "count",
            "complete",
            "expected",
            "total",
            "manifest",
            "checksum",
            "threshold",
            "minimum",
            "min_",
            "size",
            "ratio",
            "fraction",
            "shrink",
            "trailer",
        ];
        self.events[..at].iter().any(|event| match event.what {
            What::Test(branch) => {
                let test = branch.test.to_ascii_lowercase();
                WORDS.iter().any(|word| test.contains(word))
            }
            What::Call(call) => {
                let callee = call.callee.to_ascii_lowercase();
                ["assert", "verify", "validate", "check_complete", "ensure", "require"]
                    .iter()
                    .any(|word| callee.contains(word))
            }
            What::Sql { statement, .. } => is_count_check(&statement.tree),
        })
    }

    /// Whether this function stops when what it reads isn't all there: for the functions beside it, which write.
    pub(crate) fn is_stopping_incomplete(&self) -> bool {
        self.events.iter().any(|event| {
            let What::Test(branch) = event.what else { return false };
            let test = branch.test.to_ascii_lowercase();
            let is_compared =
                ["!=", "<", ">", "not ", "is_complete", "!"].iter().any(|word| test.contains(word));
            let is_usage = ["argv", "args"].iter().any(|word| test.contains(word));
            let is_about = ["count", "complete", "expected", "manifest", "checksum", "trailer", "total"]
                .iter()
                .any(|word| test.contains(word));
            is_compared && is_about && !is_usage && self.is_stopping(branch)
        })
    }

    /// Whether the arm of a choice ends the run, by an exit or an error.
    fn is_stopping(&self, branch: &Branch) -> bool {
        self.events.iter().any(|event| {
            event.call().is_some_and(|call| {
                matches!(
                    last(&call.callee),
                    "exit" | "Exit" | "raise" | "throw" | "Fatal" | "Fatalf" | "bail!" | "panic"
                )
            }) && event
                .path
                .iter()
                .any(|frame| matches!(frame, Frame::Then(inner) if std::ptr::eq(*inner, branch)))
        })
    }
}

/// Whether the last write of a statement takes its rows from an INSERT inside of it that returns only what wasn't there:
/// WITH fresh AS (INSERT … ON CONFLICT DO NOTHING RETURNING …) INSERT … SELECT … FROM fresh.
fn is_of_what_is_new(writes: &[Write<'_>]) -> bool {
    let Some((main, inner)) = writes.split_last() else { return false };
    inner.iter().any(|write| {
        !write.table.is(&main.table)
            && matches!(write.kind, Kind::Insert(insert) if insert.returning.is_some() && matches!(conflict(insert), Conflict::Nothing(_)))
    })
}

/// Whether a query fails, by a division, or tells by its column's name when the count isn't what it should be.
fn is_count_check(tree: &Tree) -> bool {
    if is_write(tree) || !matches!(tree, Tree::Query(_)) {
        return false;
    }
    let text = tree.to_string().to_ascii_lowercase();
    text.contains("count(")
        && ["1 / ", "complete", "expected", "manifest", "checksum", "trailer"]
            .iter()
            .any(|word| text.contains(word))
}

/// Whether a call writes to a database without SQL in sight.
pub(crate) fn is_written_by_call(call: &Call) -> bool {
    matches!(
        last(&call.callee),
        "to_sql"
            | "copy_from"
            | "copy_expert"
            | "copy_records_to_table"
            | "bulk_insert_mappings"
            | "bulk_create"
            | "bulk_save_objects"
            | "insert_rows"
            | "execute_values"
            | "execute_batch"
            | "load_table_from_dataframe"
    )
}

/// What the whole file says of how its statements are committed; looked for once, as files may be long.
pub(crate) struct Habit {
    /// Statements wait for a commit, as far as the file as such tells.
    is_waiting: bool,
}

impl Habit {
    pub(crate) fn of(unit: &Unit) -> Self {
        let has = |words: &[&str]| words.iter().any(|word| unit.text.contains(word));
        let is_waiting = match unit.language {
            Language::Python => {
                let is_auto = has(&[
                    "autocommit=True",
                    "autocommit = True",
                    "AUTOCOMMIT",
                    "isolation_level=None",
                    "set_session(autocommit",
                ]);
                let is_asyncpg = has(&["asyncpg"])
                    && !has(&["psycopg", "sqlalchemy", "create_engine", "create_async_engine"]);
                !(is_auto || is_asyncpg)
            }
            Language::Dbt | Language::Schema => true,
            Language::Sql => tables::is_migration(unit),
            Language::Java => has(&["setAutoCommit(false)", "@Transactional"]),
            Language::Shell | Language::Go | Language::Rust | Language::JavaScript | Language::TypeScript => {
                false
            }
        };
        Self { is_waiting }
    }

    /// Whether statements of a function wait for a commit without anybody having said BEGIN.
    fn is_implicit(&self, unit: &Unit, function: &Function) -> bool {
        let text = unit.text.get(function.span.start..function.span.end).unwrap_or_default();
        match unit.language {
            Language::Python => {
                let is_hook = text.contains("hook.run(") || text.contains("Hook(") && text.contains(".run(");
                self.is_waiting && !is_hook
            }
            Language::Dbt | Language::Schema | Language::Sql => self.is_waiting,
            Language::Shell => text.contains("--single-transaction") || text.contains(" -1 "),
            Language::Java => {
                self.is_waiting || function.decorators.iter().any(|name| name.ends_with("Transactional"))
            }
            Language::Go | Language::Rust | Language::JavaScript | Language::TypeScript => {
                ["tx.", "tx)", "trx", ".begin(", ".Begin", "ransaction"]
                    .iter()
                    .any(|word| text.contains(word))
            }
        }
    }
}

struct Walk<'a> {
    events: Vec<Event<'a>>,
    path: Vec<Frame<'a>>,
    next: u32,
    current: Option<u32>,
    is_implicit: bool,
    depth: u32,
}

impl<'a> Walk<'a> {
    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn end(&mut self) {
        self.current = if self.is_implicit { Some(self.fresh()) } else { None };
    }

    fn push(&mut self, what: What<'a>, span: Span) {
        self.events.push(Event { what, span, path: self.path.clone(), transaction: self.current });
    }

    fn call(&mut self, call: &'a Call) {
        self.push(What::Call(call), call.span);
        if is_end(call) {
            self.end();
        } else if is_opener(call) && self.current.is_none() {
            self.current = Some(self.fresh());
        }
    }

    fn inside(&mut self, frame: Frame<'a>, steps: &'a [Step]) {
        self.path.push(frame);
        self.steps(steps);
        self.path.pop();
    }

    fn steps(&mut self, steps: &'a [Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &'a Step) {
        match step {
            Step::Sql(usage) => self.sql(usage),
            Step::Call(call) => self.call(call),
            Step::Loop(inner) => self.inside(Frame::Loop(inner), &inner.body),
            Step::Branch(branch) => {
                self.inside(Frame::Condition, &branch.condition);
                self.push(What::Test(branch), branch.span);
                // An arm that rolls back and leaves says nothing of what follows for those who stay.
                let before = self.current;
                self.inside(Frame::Then(branch), &branch.then);
                self.current = before;
                self.inside(Frame::Otherwise(branch), &branch.otherwise);
                self.current = before;
            }
            Step::Try(tried) => {
                self.inside(Frame::Try(tried), &tried.body);
                let after = self.current;
                for handler in &tried.handlers {
                    self.inside(Frame::Handler, &handler.body);
                    self.current = after;
                }
            }
            Step::Scope(scope) => self.scope(scope),
        }
    }

    fn scope(&mut self, scope: &'a Scope) {
        self.push(What::Call(&scope.opener), scope.opener.span);
        let name = last(&scope.opener.callee).to_ascii_lowercase();
        let is_session = self.is_implicit && (name.contains("conn") || name.contains("session"));
        if !is_opener(&scope.opener) && !is_session {
            return self.inside(Frame::Scope, &scope.body);
        }
        let is_outer = self.depth == 0 && (self.is_implicit || self.current.is_none());
        if is_outer {
            self.current = Some(self.fresh());
        }
        self.depth += 1;
        self.inside(Frame::Scope, &scope.body);
        self.depth -= 1;
        if is_outer {
            self.end();
        }
    }

    fn sql(&mut self, usage: &'a Use) {
        for statement in &usage.statements {
            if let Tree::StartTransaction { .. } = statement.tree {
                self.current = Some(self.fresh());
            }
            self.push(What::Sql { usage, statement, writes: writes(&statement.tree) }, usage.span);
            if let Some(Boundary::End) = boundary(&statement.tree) {
                self.end();
            }
        }
    }
}
