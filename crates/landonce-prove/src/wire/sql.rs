//! What a statement is, by its text: whether it writes, and what it does to the transaction.
//!
//! No parser: PostgreSQL's lexical rules, the verb, and the few words behind it that decide. Functions called by a SELECT
//! may write as well, which no text tells; see [`super::Proxy::count_selects_as_writes`].

mod lexer;

use super::Kind;
use lexer::{Token, Tokens};

/// What one message's text does; several statements in it count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Facts {
    /// The strongest of its statements: one that ends a transaction, one that writes, then the rest.
    pub(super) kind: Kind,
    /// Some statement in it may write, or it commits a prepared transaction.
    pub(super) writes: bool,
    /// It commits what came before it.
    pub(super) commits_earlier: bool,
    /// Whether writes of its own stay uncommitted (`Some(true)`), whether it has ended the earlier ones (`Some(false)`),
    /// or neither.
    pub(super) leaves_written: Option<bool>,
    /// Whether a transaction block is open after it, if it changes that.
    pub(super) opens: Option<bool>,
    /// A SELECT is in it (or a WITH of reads alone).
    pub(super) selects: bool,
}

impl Facts {
    /// What isn't known by a text but may write: a prepared statement that was made out of our sight.
    pub(super) const UNSEEN: Self = Self {
        kind: Kind::Write,
        writes: true,
        commits_earlier: false,
        leaves_written: Some(true),
        opens: None,
        selects: false,
    };
}

/// Reads a text.
pub(super) fn facts(text: &[u8]) -> Facts {
    let mut facts = Facts {
        kind: Kind::Other,
        writes: false,
        commits_earlier: false,
        leaves_written: None,
        opens: None,
        selects: false,
    };
    let mut tokens = Tokens::new(text);
    let mut strongest = 0;
    while let Some(part) = Part::read(&mut tokens) {
        let strength = match part.kind {
            Kind::Commit => 6,
            Kind::Write => 5,
            Kind::Rollback => 4,
            Kind::Begin => 3,
            Kind::Read => 2,
            Kind::Other => 1,
        };
        if strength > strongest {
            strongest = strength;
            facts.kind = part.kind;
        }
        facts.selects |= part.selects;
        match part.kind {
            Kind::Begin => facts.opens = Some(true),
            Kind::Commit if part.is_of_prepared => facts.writes = true,
            Kind::Commit => {
                facts.commits_earlier |= facts.leaves_written.is_none();
                facts.leaves_written = Some(false);
                facts.opens = Some(part.is_chained);
            }
            Kind::Rollback if part.is_whole => {
                facts.leaves_written = Some(false);
                facts.opens = Some(part.is_chained);
            }
            Kind::Write => {
                facts.writes = true;
                facts.leaves_written = Some(true);
            }
            Kind::Rollback | Kind::Read | Kind::Other => {}
        }
    }
    facts
}

/// One statement of a text.
#[derive(Debug)]
struct Part {
    kind: Kind,
    selects: bool,
    /// COMMIT PREPARED: of another transaction than this one.
    is_of_prepared: bool,
    /// AND CHAIN: the next block is open at once.
    is_chained: bool,
    /// A ROLLBACK of the transaction, not to a savepoint and not of a prepared one.
    is_whole: bool,
}

impl Part {
    fn of(kind: Kind) -> Self {
        Self { kind, selects: false, is_of_prepared: false, is_chained: false, is_whole: false }
    }

    /// Takes the next statement off the tokens, with the semicolon behind it.
    fn read(tokens: &mut Tokens<'_>) -> Option<Self> {
        // Whatever isn't a word here is either a parenthesis or the server's to refuse.
        let verb = loop {
            if let Token::Word(word) = tokens.next()? {
                break word;
            }
        };
        let part = Self::by_verb(verb, tokens);
        if !tokens.is_at_end_of_statement() {
            while tokens.next().is_some_and(|token| token != Token::End) {}
        }
        Some(part)
    }

    fn by_verb(verb: &[u8], tokens: &mut Tokens<'_>) -> Self {
        let is = |word: &str| verb.eq_ignore_ascii_case(word.as_bytes());
        if is("select") || is("table") || is("values") {
            // `SELECT … INTO t`; the word is reserved, so that it can't be a column's name.
            let depth = tokens.depth();
            let makes_table = any(tokens, |tokens, token| token.is("into") && tokens.depth() == depth);
            let kind = if makes_table { Kind::Write } else { Kind::Read };
            return Self { selects: is("select"), ..Self::of(kind) };
        }
        if is("with") {
            return Self::with(tokens);
        }
        if is("explain") {
            return Self::explain(tokens);
        }
        if is("copy") {
            return Self::copy(tokens);
        }
        if is("begin") {
            return Self::of(Kind::Begin);
        }
        if is("start") {
            let begins = tokens.next().is_some_and(|token| token.is("transaction"));
            return Self::of(if begins { Kind::Begin } else { Kind::Other });
        }
        if is("prepare") {
            let ends = tokens.next().is_some_and(|token| token.is("transaction"));
            return Self::of(if ends { Kind::Commit } else { Kind::Other });
        }
        if is("commit") || is("end") || is("rollback") || is("abort") {
            let kind = if is("commit") || is("end") { Kind::Commit } else { Kind::Rollback };
            return Self::ending(kind, tokens);
        }
        if is("create") {
            tokens.expect_bodies();
            return Self::of(Kind::Write);
        }
        if WRITING.iter().any(|word| is(word)) {
            return Self::of(Kind::Write);
        }
        if READING.iter().any(|word| is(word)) {
            return Self::of(Kind::Read);
        }
        Self::of(Kind::Other)
    }

    /// Behind COMMIT, END, ROLLBACK, ABORT: `PREPARED`, `TO`, `AND [NO] CHAIN`.
    fn ending(kind: Kind, tokens: &mut Tokens<'_>) -> Self {
        let mut part = Self { is_whole: true, ..Self::of(kind) };
        let mut is_no = false;
        any(tokens, |_, token| {
            if token.is("prepared") {
                part.is_of_prepared = true;
                part.is_whole = false;
            } else if token.is("to") {
                part.is_whole = false;
            } else if token.is("chain") {
                part.is_chained = !is_no;
            }
            is_no = token.is("no");
            false
        });
        part
    }

    /// A WITH writes when its main statement does, or one of its own: the verb stands behind a parenthesis. (`FOR UPDATE`
    /// and `DO UPDATE` don't, and a column of that name isn't followed by what follows the verb.)
    fn with(tokens: &mut Tokens<'_>) -> Self {
        let depth = tokens.depth();
        let (mut is_behind_parenthesis, mut verb) = (false, Token::Other);
        let writes = any(tokens, |tokens, token| {
            let is_write = ((verb.is("insert") || verb.is("merge")) && token.is("into"))
                || (verb.is("delete") && token.is("from"))
                || (verb.is("update") && matches!(token, Token::Word(_) | Token::Name))
                || (token.is("into") && tokens.depth() == depth);
            verb = if is_behind_parenthesis { token } else { Token::Other };
            is_behind_parenthesis = matches!(token, Token::Open | Token::Close);
            is_write
        });
        let kind = if writes { Kind::Write } else { Kind::Read };
        Self { selects: !writes, ..Self::of(kind) }
    }

    /// EXPLAIN runs its statement with ANALYZE alone.
    fn explain(tokens: &mut Tokens<'_>) -> Self {
        let (mut is_run, mut is_first) = (false, true);
        let depth = tokens.depth();
        while let Some(token) = tokens.next() {
            match token {
                Token::End => break,
                Token::Open if is_first => {
                    // The options, or a statement in parentheses that isn't run.
                    let mut is_named = false;
                    while tokens.depth() > depth {
                        let Some(option) = tokens.next() else { break };
                        if is_named && (option.is("false") || option.is("off") || option == Token::Zero) {
                            is_run = false;
                        }
                        is_named = option.is("analyze") || option.is("analyse");
                        is_run |= is_named;
                    }
                }
                Token::Word(_) if token.is("analyze") || token.is("analyse") => is_run = true,
                Token::Word(_) if token.is("verbose") => {}
                Token::Word(verb) if is_run => return Self::by_verb(verb, tokens),
                Token::Word(_) => break,
                _ => {}
            }
            is_first = false;
        }
        Self::of(Kind::Read)
    }

    /// `COPY t (a, b) FROM` writes; so does `COPY (INSERT … RETURNING a) TO`.
    fn copy(tokens: &mut Tokens<'_>) -> Self {
        let depth = tokens.depth();
        let (mut is_first, mut is_in_query) = (true, false);
        while let Some(token) = tokens.next() {
            match token {
                Token::End => break,
                Token::Open if is_first => is_in_query = true,
                Token::Word(verb) if is_in_query => {
                    let query = Self::by_verb(verb, tokens);
                    let kind = if query.kind == Kind::Write { Kind::Write } else { Kind::Read };
                    return Self::of(kind);
                }
                Token::Word(_) if tokens.depth() == depth && token.is("from") => {
                    return Self::of(Kind::Write);
                }
                Token::Word(_) if tokens.depth() == depth && token.is("to") => break,
                _ => {}
            }
            is_first = false;
        }
        Self::of(Kind::Read)
    }
}

/// Whether the test holds for a token of the rest of the statement.
fn any<'t>(tokens: &mut Tokens<'t>, mut test: impl FnMut(&Tokens<'t>, Token<'t>) -> bool) -> bool {
    while let Some(token) = tokens.next() {
        if token == Token::End {
            return false;
        }
        if test(tokens, token) {
            return true;
        }
    }
    false
}

/// Verbs of statements that may write, besides CREATE and those that a further word decides.
const WRITING: [&str; 20] = [
    "insert", "update", "delete", "merge", "truncate", "drop", "alter", "call", "do", "execute", "refresh",
    "import", "vacuum", "grant", "revoke", "comment", "cluster", "reindex", "reassign", "security",
];

/// Verbs of statements that read, besides SELECT.
const READING: [&str; 5] = ["show", "fetch", "move", "declare", "close"];

#[cfg(test)]
mod tests;
