//! PostgreSQL's lexical rules as far as a statement's verb and end need them: comments (nested), strings, dollar quotes,
//! quoted names, parentheses, and the bodies of SQL functions (`BEGIN ATOMIC … END`), whose semicolons end nothing.

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A keyword or an unquoted name.
    Word(&'a [u8]),
    /// A quoted name.
    Name,
    Open,
    Close,
    /// The semicolon that ends a statement.
    End,
    /// The number 0.
    Zero,
    /// A string, a number, an operator.
    Other,
}

impl Token<'_> {
    /// Whether it is this word, in any case.
    pub(super) fn is(self, lower: &str) -> bool {
        matches!(self, Token::Word(word) if word.eq_ignore_ascii_case(lower.as_bytes()))
    }
}

/// Reads a text piece by piece.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
    depth: usize,
    is_at_end: bool,
    /// In a CREATE: a `BEGIN ATOMIC` would open a body.
    expects_bodies: bool,
    is_behind_begin: bool,
    /// How many `BEGIN ATOMIC` and CASE are open.
    bodies: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            rest: text,
            depth: 0,
            is_at_end: false,
            expects_bodies: false,
            is_behind_begin: false,
            bodies: 0,
        }
    }

    /// How many parentheses are open.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Whether the last token ended a statement.
    pub(super) fn is_at_end_of_statement(&self) -> bool {
        self.is_at_end
    }

    /// The statement is a CREATE: it may have a body.
    pub(super) fn expect_bodies(&mut self) {
        self.expects_bodies = true;
    }

    /// The next token; `None` at the text's end.
    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let token = self.piece()?;
        self.is_at_end = token == Token::End;
        if self.is_at_end {
            (self.expects_bodies, self.is_behind_begin, self.bodies, self.depth) = (false, false, 0, 0);
        } else if self.expects_bodies {
            self.follow_bodies(token);
        }
        Some(token)
    }

    fn follow_bodies(&mut self, token: Token<'_>) {
        if self.is_behind_begin && token.is("atomic") || self.bodies > 0 && token.is("case") {
            self.bodies += 1;
        } else if token.is("end") {
            self.bodies = self.bodies.saturating_sub(1);
        }
        self.is_behind_begin = token.is("begin");
    }

    fn piece(&mut self) -> Option<Token<'a>> {
        loop {
            let (&first, behind) = self.rest.split_first()?;
            match first {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.rest = behind,
                b'-' if behind.first() == Some(&b'-') => {
                    self.skip_past(|byte| byte == b'\n' || byte == b'\r');
                }
                b'/' if behind.first() == Some(&b'*') => self.skip_comment(),
                b'\'' => return Some(self.string(1, false)),
                b'"' => {
                    self.string(1, false);
                    return Some(Token::Name);
                }
                b'$' => return Some(self.dollar()),
                b'(' => {
                    self.rest = behind;
                    self.depth += 1;
                    return Some(Token::Open);
                }
                b')' => {
                    self.rest = behind;
                    self.depth = self.depth.saturating_sub(1);
                    return Some(Token::Close);
                }
                b';' => {
                    self.rest = behind;
                    // Inside parentheses it parts a rule's actions, inside a body its statements.
                    let is_inner = self.depth > 0 || self.bodies > 0;
                    return Some(if is_inner { Token::Other } else { Token::End });
                }
                b'0'..=b'9' => return Some(self.number()),
                _ if is_word(first) => return Some(self.word()),
                _ => {
                    self.rest = behind;
                    return Some(Token::Other);
                }
            }
        }
    }

    fn word(&mut self) -> Token<'a> {
        let end = self.rest.iter().position(|&byte| !is_inside_word(byte)).unwrap_or(self.rest.len());
        let (word, behind) = self.rest.split_at(end);
        if behind.first() == Some(&b'\'') && word.len() == 1 {
            // E'…' has escapes; N'…', B'…' and X'…' have none.
            let has_escapes = word[0].eq_ignore_ascii_case(&b'e');
            return self.string(2, has_escapes);
        }
        self.rest = behind;
        if word.len() == 1 && word[0].eq_ignore_ascii_case(&b'u') {
            // U&'…' and U&"…"
            match behind {
                [b'&', b'\'', ..] => return self.string(2, false),
                [b'&', b'"', ..] => {
                    self.string(2, false);
                    return Token::Name;
                }
                _ => {}
            }
        }
        Token::Word(word)
    }

    fn number(&mut self) -> Token<'a> {
        let end = self
            .rest
            .iter()
            .position(|&byte| !(is_inside_word(byte) || byte == b'.'))
            .unwrap_or(self.rest.len());
        let (number, behind) = self.rest.split_at(end);
        self.rest = behind;
        if number == b"0" { Token::Zero } else { Token::Other }
    }

    /// A string or a quoted name. The quote that opens it ends at `begin`; a doubled one doesn't close it.
    fn string(&mut self, begin: usize, has_escapes: bool) -> Token<'a> {
        let quote = self.rest[begin - 1];
        let mut at = begin;
        while let Some(&byte) = self.rest.get(at) {
            at += 1;
            if byte == b'\\' && has_escapes {
                at += 1;
            } else if byte == quote {
                if self.rest.get(at) != Some(&quote) {
                    break;
                }
                at += 1;
            }
        }
        self.rest = self.rest.get(at..).unwrap_or_default();
        Token::Other
    }

    /// `$tag$…$tag$`, or a parameter, or a lone dollar.
    fn dollar(&mut self) -> Token<'a> {
        let behind = &self.rest[1..];
        let tag = behind.iter().position(|&byte| byte == b'$' || !is_inside_word(byte));
        let opens = tag.filter(|&end| behind[end] == b'$' && !behind.first().is_some_and(u8::is_ascii_digit));
        let Some(end) = opens else {
            self.rest = behind;
            return Token::Other;
        };
        let (tag, body) = self.rest.split_at(end + 2);
        let close = body.windows(tag.len()).position(|window| window == tag);
        self.rest = close.map_or(&[], |at| &body[at + tag.len()..]);
        Token::Other
    }

    fn skip_past(&mut self, ends: impl Fn(u8) -> bool) {
        let end = self.rest.iter().position(|&byte| ends(byte)).unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    fn skip_comment(&mut self) {
        let mut open = 0_usize;
        loop {
            match self.rest {
                [b'/', b'*', behind @ ..] => {
                    open += 1;
                    self.rest = behind;
                }
                [b'*', b'/', behind @ ..] => {
                    open -= 1;
                    self.rest = behind;
                    if open == 0 {
                        return;
                    }
                }
                [_, behind @ ..] => self.rest = behind,
                [] => return,
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_inside_word(byte: u8) -> bool {
    is_word(byte) || byte.is_ascii_digit() || byte == b'$'
}
