//! Where a JSON value ends: brackets and strings are followed, nothing else is looked at.
//!
//! No recursion, and a fixed amount of state, so depth costs nothing; a value may come in any number of pieces.

use memchr::memchr2;

use crate::decode::DecodeError;
use crate::decode::window::{Raw, Window, is_white};

/// A value, framed.
pub(in crate::decode) struct Framed {
    /// Where it begins in the text.
    pub(in crate::decode) offset: u64,
    /// How long it is, also if it wasn't kept whole.
    pub(in crate::decode) len: u64,
    pub(in crate::decode) raw: Raw,
    /// Its first byte, which tells its kind.
    pub(in crate::decode) first: u8,
    /// How deep its brackets go.
    pub(in crate::decode) depth: u32,
}

/// Frames the value that begins at the window's first byte. `what` names it for messages. Values beyond `limit` are read
/// over, and their first bytes kept.
pub(in crate::decode) fn frame(
    window: &mut Window,
    limit: u32,
    format: &'static str,
    what: impl Fn() -> String,
) -> Result<Framed, DecodeError> {
    let offset = window.offset();
    let first = window.rest().first().copied().unwrap_or_default();
    let mut scan = Scan::default();
    let (mut seen, mut dropped) = (0, 0);
    loop {
        match scan.feed(&window.rest()[seen..]) {
            Step::End(at) => {
                let len = seen + at;
                let raw = window.close(len, dropped, limit);
                return Ok(Framed { offset, len: dropped + len as u64, raw, first, depth: scan.deepest });
            }
            Step::Stray(at) => {
                let detail = format!("a bracket or comma in {} is out of place", what());
                return Err(DecodeError::malformed(format, window.offset() + (seen + at) as u64, detail));
            }
            Step::More => {
                seen = window.rest().len();
                let less = window.drop_beyond(seen, dropped, limit);
                dropped += less;
                seen -= less as usize;
                if !window.more()? {
                    let detail = format!("the text ends within {}, which begins at byte {offset}", what());
                    return Err(DecodeError::incomplete(detail));
                }
            }
        }
    }
}

/// What a piece of text did to a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The value goes on behind the piece.
    More,
    /// It ends before this position.
    End(usize),
    /// At this position is a bracket that closes another kind, or no value at all.
    Stray(usize),
}

/// The state between two pieces of a value.
#[derive(Debug, Default)]
pub(super) struct Scan {
    state: State,
    /// How many brackets are open.
    depth: u32,
    deepest: u32,
    /// Which of the open brackets are braces, the outermost in the lowest bit. Deeper ones than it has bits are only counted;
    /// such a value is a bad record anyway.
    braces: u128,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// Inside brackets, outside strings.
    Between,
    /// Inside a string.
    Text,
    /// Behind a backslash in a string.
    Escape,
    /// Inside a number, a literal, or anything else that isn't bracketed.
    Bare,
}

impl Scan {
    /// Goes through the next piece.
    pub(super) fn feed(&mut self, piece: &[u8]) -> Step {
        let mut at = 0;
        while at < piece.len() {
            match self.state {
                State::Start => match piece[at] {
                    b',' | b']' | b'}' | b':' => return Step::Stray(at),
                    b'{' | b'[' => self.state = State::Between,
                    b'"' => {
                        self.state = State::Text;
                        at += 1;
                    }
                    _ => self.state = State::Bare,
                },
                State::Bare => {
                    return match piece[at..].iter().position(|&byte| ends_bare(byte)) {
                        Some(more) => Step::End(at + more),
                        None => Step::More,
                    };
                }
                State::Escape => {
                    self.state = State::Text;
                    at += 1;
                }
                State::Text => match memchr2(b'"', b'\\', &piece[at..]) {
                    Some(more) => {
                        at += more + 1;
                        if piece[at - 1] == b'\\' {
                            self.state = State::Escape;
                        } else if self.depth == 0 {
                            return Step::End(at);
                        } else {
                            self.state = State::Between;
                        }
                    }
                    None => return Step::More,
                },
                State::Between => {
                    let Some(more) = piece[at..].iter().position(|&byte| IS_STRUCTURE[byte as usize]) else {
                        return Step::More;
                    };
                    at += more + 1;
                    match piece[at - 1] {
                        b'"' => self.state = State::Text,
                        open @ (b'{' | b'[') => self.open(open == b'{'),
                        close => {
                            if !self.close(close == b'}') {
                                return Step::Stray(at - 1);
                            }
                            if self.depth == 0 {
                                return Step::End(at);
                            }
                        }
                    }
                }
            }
        }
        Step::More
    }

    fn open(&mut self, is_brace: bool) {
        if let Some(bit) = 1_u128.checked_shl(self.depth) {
            self.braces = if is_brace { self.braces | bit } else { self.braces & !bit };
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
    }

    /// Closes the innermost bracket; `false` if it is of the other kind.
    fn close(&mut self, is_brace: bool) -> bool {
        self.depth -= 1;
        1_u128.checked_shl(self.depth).is_none_or(|bit| (self.braces & bit != 0) == is_brace)
    }
}

/// The bytes that matter between strings.
const IS_STRUCTURE: [bool; 256] = {
    let mut table = [false; 256];
    table[b'"' as usize] = true;
    table[b'{' as usize] = true;
    table[b'}' as usize] = true;
    table[b'[' as usize] = true;
    table[b']' as usize] = true;
    table
};

/// What can't be part of a number or a literal.
fn ends_bare(byte: u8) -> bool {
    is_white(byte) || matches!(byte, b',' | b':' | b'"') || IS_STRUCTURE[byte as usize]
}
