//! A query whose rows are inserted, respelled word by word: names, texts and parameters as the store writes them, the rest as it is.
//!
//! What its functions and comparisons do is left to the store.

use std::ops::Range;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::tokens::{Read, is, tail, top};
use crate::upsert::{Each, Expr, Piece};
use crate::{Refused, Spelling};

/// Where an `INSERT … SELECT` has its parts, as places of tokens.
pub(super) struct Parts {
    /// The INSERT, behind the CTEs that stand before it.
    pub(super) insert: usize,
    /// The query.
    pub(super) query: Range<usize>,
}

/// The parts of an `INSERT … SELECT`; `None`: the rows aren't those of a query.
pub(super) fn parts(tokens: &[TokenWithSpan]) -> Option<Parts> {
    let insert = top(tokens).find(|(_, word)| is(word, "INSERT")).map_or(0, |(at, _)| at);
    let is_start = |word| is(word, "SELECT") || is(word, "WITH");
    let (start, _) = top(tokens).find(|(at, word)| *at > insert && is_start(word))?;
    let end = tail(tokens, "CONFLICT")
        .or_else(|| tail(tokens, "DUPLICATE"))
        .or_else(|| top(tokens).find(|(at, word)| *at > start && is(word, "RETURNING")).map(|(at, _)| at))
        .unwrap_or(tokens.len());
    (start < end).then_some(Parts { insert, query: start..end })
}

/// The rows' query, with the CTEs that stand before the INSERT.
pub(super) fn query(read: &Read) -> Result<Expr, Refused> {
    let tokens = &read.tokens;
    let Some(Parts { insert, query }) = parts(tokens) else {
        return Err(Refused::new(
            "the rows come from something that is neither VALUES nor a query",
            "write SELECT … without parentheses around it",
        ));
    };
    let has_its_own = matches!(&tokens[query.start].token, Token::Word(word) if is(word, "WITH"));
    if insert > 0 && has_its_own {
        return Err(Refused::new("there is a WITH before the INSERT and one behind it", "write one"));
    }
    closed(&tokens[..insert])?;
    closed(&tokens[query.clone()])?;
    let mut pieces = Vec::new();
    for token in tokens[..insert].iter().chain(&tokens[query]) {
        piece(token, read.spelling, &mut pieces)?;
    }
    Ok(Expr(pieces))
}

/// Every parenthesis that opens is closed, and the other way round: the query stands inside of others.
fn closed(tokens: &[TokenWithSpan]) -> Result<(), Refused> {
    let mut depth = 0_i32;
    for token in tokens {
        depth += match token.token {
            Token::LParen => 1,
            Token::RParen => -1,
            _ => 0,
        };
        if depth < 0 {
            break;
        }
    }
    if depth == 0 {
        Ok(())
    } else {
        Err(Refused::new("a parenthesis of the query isn't closed, or closes nothing", "mend the query"))
    }
}

fn piece(token: &TokenWithSpan, spelling: Spelling, out: &mut Vec<Piece>) -> Result<(), Refused> {
    let piece = match &token.token {
        Token::Placeholder(number) => Piece::Param(number[1..].parse().unwrap_or(0)),
        Token::Word(word) if word.quote_style.is_some() => Piece::Name(word.value.clone()),
        Token::Word(word) if word.value.starts_with('@') => {
            return Err(Refused::new(
                format!("`{}` is a variable of the session", word.value),
                "give its value as a parameter",
            ));
        }
        Token::SingleQuotedString(text)
        | Token::DoubleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::NationalStringLiteral(text) => Piece::Text(text.clone()),
        Token::DollarQuotedString(text) => Piece::Text(text.value.clone()),
        Token::HexStringLiteral(digits) => Piece::Each(hex(digits)),
        Token::StringConcat => Piece::Each(Each {
            what: "`||`".to_owned(),
            postgres: (spelling == Spelling::OnConflict).then(|| "||".to_owned()),
            sqlite: (spelling == Spelling::OnConflict).then(|| "||".to_owned()),
            mysql: (spelling == Spelling::OnDuplicateKey).then(|| "||".to_owned()),
        }),
        Token::DoubleColon => Piece::Each(Each {
            what: "`::`".to_owned(),
            postgres: Some("::".to_owned()),
            sqlite: None,
            mysql: None,
        }),
        other => Piece::Sql(other.to_string()),
    };
    // A point holds names together, and a parenthesis a function's name and its arguments: MySQL minds a blank there.
    let is_glued = matches!(
        token.token,
        Token::Period | Token::LParen | Token::Comma | Token::RParen | Token::DoubleColon
    );
    let follows_point =
        matches!(out.last(), Some(Piece::Sql(sql)) if sql.ends_with('.') || sql.ends_with('('));
    if !out.is_empty() && !is_glued && !follows_point {
        out.push(Piece::Sql(" ".to_owned()));
    }
    out.push(piece);
    Ok(())
}

/// Bytes: PostgreSQL takes `X'…'` for bits.
pub(super) fn hex(digits: &str) -> Each {
    Each {
        what: "bytes in hex".to_owned(),
        postgres: Some(format!("'\\x{digits}'::bytea")),
        sqlite: Some(format!("X'{digits}'")),
        mysql: Some(format!("X'{digits}'")),
    }
}
