//! Cuts the text into tokens, tells how it is spelled, numbers the parameters, and makes of it what the parser knows.
//!
//! What a quote or a backslash means depends on the store that a statement was written for: in MySQL `"x"` is a text and `\'` a quote.
//! So the text is cut in MySQL's way when that shows `ON DUPLICATE KEY`, and in the standard's way otherwise.

use sqlparser::dialect::{Dialect as Grammar, GenericDialect, MySqlDialect};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Word};

use crate::{Refused, Spelling};

/// A statement's tokens, without blanks and comments.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) tokens: Vec<TokenWithSpan>,
    pub(super) spelling: Spelling,
    /// The parameters as they were written; each stands in the tokens as `$n`.
    pub(super) params: Vec<String>,
    /// `INSERT INTO table AS alias`.
    pub(super) alias: Option<Word>,
}

pub(super) fn read(sql: &str) -> Result<Read, Refused> {
    let mysql = cut(sql, &MySqlDialect {});
    let (tokens, mut spelling) = match mysql {
        Ok(tokens) if has_tail(&tokens, "DUPLICATE") => (tokens, Spelling::OnDuplicateKey),
        _ => (cut(sql, &GenericDialect {})?, Spelling::OnConflict),
    };
    let mut tokens = one_statement(tokens)?;
    let verb = top(&tokens)
        .find(|(_, word)| ["INSERT", "UPSERT", "REPLACE", "MERGE"].iter().any(|verb| is(word, verb)));
    let Some((at, word)) = verb.map(|(at, word)| (at, word.clone())) else {
        return Err(Refused::new(
            "this isn't a statement that inserts",
            "give an INSERT … ON CONFLICT, an INSERT … ON DUPLICATE KEY UPDATE, or an UPSERT INTO",
        ));
    };
    if is(&word, "MERGE") {
        return Err(Refused::new(
            "MERGE fails or doubles when two do it at once, and neither SQLite nor MySQL has it",
            "write INSERT … ON CONFLICT (key) DO UPDATE",
        ));
    }
    if is(&word, "UPSERT") {
        if has_tail(&tokens, "CONFLICT") || has_tail(&tokens, "DUPLICATE") {
            return Err(Refused::new(
                "UPSERT says itself what becomes of a row that is there",
                "leave the ON clause out, or write INSERT",
            ));
        }
        spelling = Spelling::Upsert;
        tokens[at].token = Token::make_keyword("INSERT");
    }
    let alias = if spelling == Spelling::OnDuplicateKey { None } else { take_alias(&mut tokens, at) };
    let params = number(&mut tokens)?;
    Ok(Read { tokens, spelling, params, alias })
}

/// The grammar that fits a spelling.
pub(super) fn grammar(spelling: Spelling) -> &'static dyn Grammar {
    match spelling {
        Spelling::OnDuplicateKey => &MySqlDialect {},
        Spelling::OnConflict | Spelling::Upsert => &GenericDialect {},
    }
}

fn cut(sql: &str, grammar: &dyn Grammar) -> Result<Vec<TokenWithSpan>, Refused> {
    let all = Tokenizer::new(grammar, sql)
        .tokenize_with_location()
        .map_err(|error| Refused::new(format!("this can't be read: {error}"), "look there"))?;
    Ok(all.into_iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect())
}

/// Without the semicolon at its end. Two statements aren't one.
fn one_statement(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, Refused> {
    while tokens.last().is_some_and(|token| token.token == Token::SemiColon) {
        tokens.pop();
    }
    if tokens.is_empty() {
        return Err(Refused::new("there is no statement", "give one"));
    }
    match tokens.iter().find(|token| token.token == Token::SemiColon) {
        Some(token) => Err(Refused::new(
            format!("there are several statements, the second from line {}", token.span.start.line),
            "give one at a time",
        )),
        None => Ok(tokens),
    }
}

/// The words outside of parentheses, with their places.
pub(super) fn top(tokens: &[TokenWithSpan]) -> impl Iterator<Item = (usize, &Word)> {
    let mut depth = 0_i32;
    tokens.iter().enumerate().filter_map(move |(at, token)| {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Word(word) if depth == 0 => return Some((at, word)),
            _ => {}
        }
        None
    })
}

/// An unquoted word.
pub(super) fn is(word: &Word, keyword: &str) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case(keyword)
}

/// `ON CONFLICT` or `ON DUPLICATE` stands at the end of the insert; a column of that name in a join's condition doesn't count.
pub(super) fn tail(tokens: &[TokenWithSpan], second: &str) -> Option<usize> {
    let after = |at: usize| tokens.get(at).map(|token| &token.token);
    top(tokens)
        .filter(|(at, word)| {
            is(word, "ON")
                && matches!(after(at + 1), Some(Token::Word(word)) if is(word, second))
                && matches!(after(at + 2), None | Some(Token::Word(_) | Token::LParen))
        })
        .map(|(at, _)| at)
        .last()
}

fn has_tail(tokens: &[TokenWithSpan], second: &str) -> bool {
    tail(tokens, second).is_some()
}

/// Takes `AS alias` behind the table's name out: not every grammar has it.
fn take_alias(tokens: &mut Vec<TokenWithSpan>, insert: usize) -> Option<Word> {
    let word = |tokens: &[TokenWithSpan], at: usize| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => Some(word.clone()),
        _ => None,
    };
    let into = (insert..tokens.len()).find(|at| word(tokens, *at).is_some_and(|word| is(&word, "INTO")))?;
    let mut at = into + 2;
    while tokens.get(at).is_some_and(|token| token.token == Token::Period) {
        at += 2;
    }
    let next = word(tokens, at)?;
    let is_alias = |word: &Word| {
        let clauses = [
            "VALUES",
            "VALUE",
            "SELECT",
            "WITH",
            "SET",
            "DEFAULT",
            "OVERRIDING",
            "PARTITION",
            "TABLE",
            "ON",
            "BY",
            "FORMAT",
        ];
        !clauses.iter().any(|clause| is(word, clause))
    };
    if is(&next, "AS") {
        let alias = word(tokens, at + 1)?;
        tokens.drain(at..at + 2);
        Some(alias)
    } else if is_alias(&next) {
        tokens.remove(at);
        Some(next)
    } else {
        None
    }
}

/// Makes each parameter a `$n`: `?`, `?1`, `$1`, `:name`, `@name` isn't one, and `%s`, `%(name)s` as Python's drivers write them.
fn number(tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<String>, Refused> {
    let mut numbers = Numbers::default();
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = std::mem::take(tokens).into_iter().peekable();
    while let Some(token) = rest.next() {
        let written = match &token.token {
            Token::Placeholder(written) => Some(written.clone()),
            Token::Colon => match rest.peek().map(|next| (&next.token, next.span.start)) {
                Some((Token::Word(word), start)) if start == token.span.end => {
                    Some(format!(":{}", word.value))
                }
                Some((Token::Number(digits, _), start)) if start == token.span.end => {
                    Some(format!(":{digits}"))
                }
                _ => None,
            },
            Token::Mod if !ends_operand(out.last()) => {
                let ahead: Vec<_> = rest.clone().take(4).map(|token| token.token).collect();
                match &ahead[..] {
                    [Token::Word(word), ..] if is(word, "s") => Some("%s".to_owned()),
                    [Token::LParen, Token::Word(name), Token::RParen, Token::Word(word)] if is(word, "s") => {
                        rest.nth(2);
                        Some(format!("%({})s", name.value))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        let Some(written) = written else {
            out.push(token);
            continue;
        };
        if matches!(token.token, Token::Colon | Token::Mod) {
            rest.next();
        }
        let number = numbers.of(&written)?;
        out.push(TokenWithSpan { token: Token::Placeholder(format!("${number}")), span: token.span });
    }
    *tokens =
        if numbers.written.iter().any(|name| name.starts_with('%')) { single_percents(out) } else { out };
    Ok(numbers.written)
}

/// Where `%s` is a parameter, each `%` that is none is written twice, also in texts.
fn single_percents(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut is_second = false;
    for mut token in tokens {
        if let Token::SingleQuotedString(text)
        | Token::DoubleQuotedString(text)
        | Token::EscapedStringLiteral(text) = &mut token.token
        {
            *text = text.replace("%%", "%");
        }
        is_second = !is_second
            && token.token == Token::Mod
            && out.last().is_some_and(|before| before.token == Token::Mod);
        if !is_second {
            out.push(token);
        }
    }
    out
}

/// Behind a value, `%` is a remainder.
fn ends_operand(token: Option<&TokenWithSpan>) -> bool {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) => {
            word.quote_style.is_some() || word.keyword == sqlparser::keywords::Keyword::NoKeyword
        }
        Some(Token::Number(..) | Token::RParen | Token::Placeholder(_) | Token::SingleQuotedString(_)) => {
            true
        }
        _ => false,
    }
}

#[derive(Default)]
struct Numbers {
    written: Vec<String>,
    style: Option<Style>,
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    InOrder,
    Numbered,
    Named,
}

impl Numbers {
    fn of(&mut self, written: &str) -> Result<usize, Refused> {
        let bare = written.trim_start_matches(['$', '?', ':']);
        let style = match written {
            "?" | "%s" => Style::InOrder,
            _ if !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit()) => Style::Numbered,
            _ => Style::Named,
        };
        if self.style.is_some_and(|before| before != style) {
            return Err(Refused::new(
                format!("the parameter `{written}` is written in another way than those before it"),
                "write all of them alike: $1, $2, or ?, or :name",
            ));
        }
        self.style = Some(style);
        let known = self.written.iter().position(|name| name == written);
        match style {
            Style::Named if known.is_some() => Ok(known.map_or(0, |at| at + 1)),
            Style::InOrder | Style::Named => {
                self.written.push(written.to_owned());
                Ok(self.written.len())
            }
            Style::Numbered => {
                let number =
                    bare.parse().ok().filter(|number| (1..=65_535).contains(number)).ok_or_else(|| {
                        Refused::new(
                            format!("`{written}` is no number of a parameter"),
                            "number them from 1 to 65535",
                        )
                    })?;
                while self.written.len() < number {
                    let next = self.written.len() + 1;
                    self.written.push(written.replace(bare, &next.to_string()));
                }
                Ok(number)
            }
        }
    }
}
