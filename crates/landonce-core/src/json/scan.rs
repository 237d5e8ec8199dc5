//! The scanner: bytes in, spans out, or the first fault with the path at which it stands.

use std::borrow::Cow;

use super::{Json, Kind, MOST_DEPTH, Node, Tape};
use crate::bad_record::{BadKind, BadRecord, shorten};

/// Objects with more members than this are checked for repeated names through a sorted list.
const FEW_MEMBERS: usize = 16;

impl Tape {
    /// Scans one JSON text: exactly one value, white space around it.
    pub fn scan<'t>(&'t mut self, text: &'t [u8]) -> Result<Json<'t>, BadRecord> {
        let text = std::str::from_utf8(text).map_err(|error| {
            let at = error.valid_up_to();
            BadRecord::new(BadKind::Encoding, "", format!("byte {at} isn't UTF-8; write the file as UTF-8"))
        })?;
        if u32::try_from(text.len()).is_err() {
            return Err(BadRecord::new(BadKind::TooLarge, "", "longer than 4 GiB"));
        }
        self.nodes.clear();
        self.open.clear();
        let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0, tape: self };
        if let Err(fault) = scanner.document() {
            return Err(scanner.report(fault));
        }
        Ok(Json { text, nodes: &self.nodes, at: 0 })
    }
}

/// A fault before its path is known.
struct Fault {
    kind: BadKind,
    detail: Cow<'static, str>,
}

impl Fault {
    fn syntax(detail: impl Into<Cow<'static, str>>) -> Self {
        Self { kind: BadKind::Syntax, detail: detail.into() }
    }
}

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    tape: &'t mut Tape,
}

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), Fault> {
        self.space();
        loop {
            // A value is due here.
            let opened = self.value()?;
            if !opened {
                // The value is complete: close whatever closes behind it.
                match self.after_value()? {
                    After::Value => {}
                    After::End => return Ok(()),
                }
            }
        }
    }

    /// Reads the start of a value. True when it opened a container that has something inside.
    fn value(&mut self) -> Result<bool, Fault> {
        match self.bytes.get(self.at) {
            Some(b'"') => self.string().map(|()| false),
            Some(b'{') => {
                self.enter(Kind::Object)?;
                if self.bytes.get(self.at) == Some(&b'}') {
                    self.leave()?;
                    return Ok(false);
                }
                self.name()?;
                Ok(true)
            }
            Some(b'[') => {
                self.enter(Kind::Array)?;
                if self.bytes.get(self.at) == Some(&b']') {
                    self.leave()?;
                    return Ok(false);
                }
                Ok(true)
            }
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| false),
            Some(b't') => self.word("true", Kind::True),
            Some(b'f') => self.word("false", Kind::False),
            Some(b'n') => self.word("null", Kind::Null),
            Some(_) => Err(self.unexpected("a value")),
            None => Err(Fault::syntax("ends where a value is due")),
        }
    }

    fn after_value(&mut self) -> Result<After, Fault> {
        loop {
            self.space();
            let Some(&open) = self.tape.open.last() else {
                return if self.at == self.bytes.len() {
                    Ok(After::End)
                } else {
                    Err(self.unexpected("the end"))
                };
            };
            let kind = self.tape.nodes[open as usize].kind;
            match (self.bytes.get(self.at), kind) {
                (Some(b','), Kind::Object) => {
                    self.at += 1;
                    self.space();
                    self.name()?;
                    return Ok(After::Value);
                }
                (Some(b','), _) => {
                    self.at += 1;
                    self.space();
                    return Ok(After::Value);
                }
                (Some(b'}'), Kind::Object) => self.leave()?,
                (Some(b']'), Kind::Array) => self.leave()?,
                (Some(_), Kind::Object) => return Err(self.unexpected("`,` or `}`")),
                (Some(_), _) => return Err(self.unexpected("`,` or `]`")),
                (None, Kind::Object) => return Err(Fault::syntax("an object isn't closed")),
                (None, _) => return Err(Fault::syntax("an array isn't closed")),
            }
        }
    }

    fn name(&mut self) -> Result<(), Fault> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return Err(self.unexpected("a name in double quotes"));
        }
        self.string()?;
        self.space();
        if self.bytes.get(self.at) != Some(&b':') {
            return Err(self.unexpected("`:`"));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    fn enter(&mut self, kind: Kind) -> Result<(), Fault> {
        if self.tape.open.len() >= MOST_DEPTH {
            return Err(Fault {
                kind: BadKind::TooDeep,
                detail: format!("nested deeper than {MOST_DEPTH} levels").into(),
            });
        }
        self.tape.open.push(self.tape.nodes.len() as u32);
        self.tape.nodes.push(Node { kind, start: self.at as u32, end: 0, next: 0 });
        self.at += 1;
        self.space();
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Fault> {
        self.at += 1;
        let Some(open) = self.tape.open.pop() else { return Ok(()) };
        let next = self.tape.nodes.len() as u32;
        let node = &mut self.tape.nodes[open as usize];
        node.end = self.at as u32;
        node.next = next;
        if node.kind == Kind::Object
            && let Some(name) = self.repeated_name(open as usize)
        {
            // The object is open again for the report, so that the path names it.
            self.tape.open.push(open);
            return Err(Fault {
                kind: BadKind::DuplicateName,
                detail: format!("the name `{}` stands twice in one object", shorten(&name)).into(),
            });
        }
        Ok(())
    }

    fn repeated_name(&self, object: usize) -> Option<String> {
        let object = Json { text: self.text, nodes: &self.tape.nodes, at: object };
        // The first names on the stack: their spans compare as bytes, and only escaped ones need their text.
        let mut few = [("", false); FEW_MEMBERS];
        let mut count = 0;
        for (name, _) in object.members() {
            if count == FEW_MEMBERS {
                count += 1;
                break;
            }
            few[count] = (name.span(), name.kind() == Kind::Escaped);
            count += 1;
        }
        if count <= FEW_MEMBERS {
            let is_any_escaped = few[..count].iter().any(|(_, is_escaped)| *is_escaped);
            if !is_any_escaped {
                let twice = (1..count).find(|&at| few[..at].iter().any(|(name, _)| *name == few[at].0));
                return twice.map(|at| few[at].0.to_owned());
            }
        }
        let mut names: Vec<_> = object.members().filter_map(|(name, _)| name.string()).collect();
        names.sort_unstable();
        names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_string())
    }

    fn string(&mut self) -> Result<(), Fault> {
        let start = self.at + 1;
        let mut at = start;
        let mut kind = Kind::Plain;
        loop {
            at += plain_prefix(&self.bytes[at..]);
            match self.bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    kind = Kind::Escaped;
                    self.at = at;
                    at += self.escape(at)?;
                }
                Some(0..=0x1f) => {
                    self.at = at;
                    return Err(Fault::syntax(format!(
                        "a control character (U+{:04X}) stands unescaped in a string, at byte {at}",
                        self.bytes[at]
                    )));
                }
                Some(_) => at += 1,
                None => return Err(Fault::syntax("a string isn't closed")),
            }
        }
        self.at = at + 1;
        self.push(kind, start, at);
        Ok(())
    }

    /// Checks the escape at `at` and returns its length.
    fn escape(&self, at: usize) -> Result<usize, Fault> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
            Some(b'u') => {
                let unit = self.unit(at + 2)?;
                match unit {
                    0 => Err(Fault {
                        kind: BadKind::Nul,
                        detail: "holds U+0000 (`\\u0000`), which no text column can hold".into(),
                    }),
                    0xD800..=0xDBFF => {
                        let is_pair = self.bytes.get(at + 6) == Some(&b'\\')
                            && self.bytes.get(at + 7) == Some(&b'u')
                            && (0xDC00..=0xDFFF).contains(&self.unit(at + 8)?);
                        if is_pair { Ok(12) } else { Err(lone_surrogate(unit)) }
                    }
                    0xDC00..=0xDFFF => Err(lone_surrogate(unit)),
                    _ => Ok(6),
                }
            }
            _ => Err(Fault::syntax(format!("an unknown escape stands in a string, at byte {at}"))),
        }
    }

    fn unit(&self, at: usize) -> Result<u32, Fault> {
        self.bytes
            .get(at..at + 4)
            .filter(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u32::from_str_radix(hex, 16).ok())
            .ok_or_else(|| Fault::syntax(format!("`\\u` wants four hex digits, at byte {at}")))
    }

    fn number(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let mut at = start;
        let digits = |mut at: usize| {
            while self.bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        if self.bytes[at] == b'-' {
            at += 1;
        }
        let whole = at;
        at = digits(at);
        let has_leading_zero = at - whole > 1 && self.bytes[whole] == b'0';
        let mut is_whole = at > whole && !has_leading_zero;
        if self.bytes.get(at) == Some(&b'.') {
            let fraction = at + 1;
            at = digits(fraction);
            is_whole &= at > fraction;
        }
        if matches!(self.bytes.get(at), Some(b'e' | b'E')) {
            let mut exponent = at + 1;
            if matches!(self.bytes.get(exponent), Some(b'+' | b'-')) {
                exponent += 1;
            }
            at = digits(exponent);
            is_whole &= at > exponent;
        }
        if !is_whole {
            return Err(Fault::syntax(format!("a number is malformed, at byte {start}")));
        }
        self.at = at;
        self.push(Kind::Number, start, at);
        Ok(())
    }

    fn word(&mut self, word: &'static str, kind: Kind) -> Result<bool, Fault> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        let start = self.at;
        self.at += word.len();
        self.push(kind, start, self.at);
        Ok(false)
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        let next = self.tape.nodes.len() as u32 + 1;
        self.tape.nodes.push(Node { kind, start: start as u32, end: end as u32, next });
    }

    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, due: &str) -> Fault {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => Fault::syntax(format!(
                "expected {due} at byte {}, found `{}`",
                self.at,
                shorten(found.encode_utf8(&mut [0; 4]))
            )),
            None => Fault::syntax(format!("ends where {due} is due")),
        }
    }

    /// The fault with the path of the place that the scanner has reached.
    fn report(&self, fault: Fault) -> BadRecord {
        let nodes = &self.tape.nodes;
        let mut path = String::new();
        for (level, &open) in self.tape.open.iter().enumerate() {
            let inner = self.tape.open.get(level + 1).map_or(nodes.len(), |&next| next as usize);
            let view = Json { text: self.text, nodes, at: open as usize };
            // Children before the one we are in. Open containers have no `next` yet, so walk by hand up to `inner`.
            let mut children = Vec::new();
            let mut at = open as usize + 1;
            while at < inner {
                children.push(at);
                at = (nodes[at].next as usize).max(at + 1);
            }
            let is_duplicate_here = fault.kind == BadKind::DuplicateName && level + 1 == self.tape.open.len();
            if view.kind() == Kind::Array {
                path.push_str(&format!("[{}]", children.len()));
            } else if let Some(&name) = children.last()
                && children.len() % 2 == 1
                && !is_duplicate_here
            {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&Json { text: self.text, nodes, at: name }.string().unwrap_or_default());
            }
        }
        BadRecord::new(fault.kind, path, fault.detail)
    }
}

/// How many bytes at the start are neither a quote, a backslash nor a control character; the last few of a text are
/// left to the caller.
fn plain_prefix(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut plain = 0;
    for chunk in bytes.chunks_exact(8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        // The usual trick for "a byte is zero" and "a byte is less than 32", on eight bytes at once. Borrows reach only
        // upwards from a byte that was found, so the lowest one found is always right.
        let (quote, backslash) = (word ^ (ONES * 0x22), word ^ (ONES * 0x5c));
        let found = HIGHS
            & ((quote.wrapping_sub(ONES) & !quote)
                | (backslash.wrapping_sub(ONES) & !backslash)
                | (word.wrapping_sub(ONES * 0x20) & !word));
        if found != 0 {
            return plain + found.trailing_zeros() as usize / 8;
        }
        plain += 8;
    }
    plain
}

enum After {
    Value,
    End,
}

fn lone_surrogate(unit: u32) -> Fault {
    Fault {
        kind: BadKind::LoneSurrogate,
        detail: format!("holds half of a surrogate pair (`\\u{unit:04x}`), which is no character").into(),
    }
}
