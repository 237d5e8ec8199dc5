//! Cuts a text into statements and makes each readable to a SQL parser.
//!
//! Placeholders of every driver become `$1`, `$2` … in order of appearance, parts known only at run time become quoted
//! names, templates become what they mean. psql's own commands and the data after `COPY … FROM stdin` are taken out.

mod lexeme;

use lexeme::{comment, inner, is_end_of_other, is_keyword, near, server_copy, skip_block};

use super::Style;
use super::template::{self, Expression, Tag};
use super::text::{HOLE, Hole, Text};
use crate::code::{Span, Value};

/// A statement that is yet to be parsed.
#[derive(Debug)]
pub(super) struct Piece {
    /// The readable text.
    pub(super) text: Text,
    /// Where it stands in the file.
    pub(super) span: Span,
    /// What each `$k` was.
    pub(super) placeholders: Vec<String>,
    /// What was known only at run time.
    pub(super) holes: Vec<Hole>,
}

/// A text, cut.
pub(super) fn split(text: &Text, style: &Style) -> Vec<Piece> {
    let mut splitter = Splitter::new(text, style);
    splitter.run();
    splitter.done
}

struct Splitter<'a> {
    from: &'a Text,
    s: &'a str,
    style: &'a Style,
    at: usize,
    /// Up to here the input has been taken over.
    taken: usize,
    out: Text,
    first: Option<usize>,
    last: usize,
    placeholders: Vec<String>,
    holes: Vec<Hole>,
    /// Of all holes of the text, how many have been met.
    met: usize,
    /// How many positional placeholders of the whole text have been met: statements in one text share their arguments.
    positions: usize,
    /// The last word, in capitals, if nothing came after it.
    word: String,
    /// The first words of the statement, in capitals.
    head: Vec<String>,
    /// The last character that isn't white space.
    before: char,
    /// Open BEGIN and CASE in a routine's body.
    depth: usize,
    delimiter: String,
    /// Template blocks that are open: whether each one's text is left out.
    blocks: Vec<bool>,
    done: Vec<Piece>,
}

impl<'a> Splitter<'a> {
    fn new(from: &'a Text, style: &'a Style) -> Self {
        Self {
            from,
            s: from.as_str(),
            style,
            at: 0,
            taken: 0,
            out: Text::new(),
            first: None,
            last: 0,
            placeholders: Vec::new(),
            holes: Vec::new(),
            met: 0,
            positions: 0,
            word: String::new(),
            head: Vec::new(),
            before: ' ',
            depth: 0,
            delimiter: ";".into(),
            blocks: Vec::new(),
            done: Vec::new(),
        }
    }

    fn run(&mut self) {
        while self.at < self.s.len() {
            let rest = &self.s[self.at..];
            let is_line_start = self.at == 0 || self.s.as_bytes()[self.at - 1] == b'\n';
            if self.style.is_script && is_line_start && self.script_line(rest) {
                continue;
            }
            if rest.starts_with(self.delimiter.as_str()) && self.depth == 0 {
                let width = self.delimiter.len();
                self.end(width);
                continue;
            }
            self.token(rest);
        }
        self.take();
        self.finish();
    }

    /// psql's `\commands`, mysql's DELIMITER, SQL Server's GO and lines of bare slashes.
    fn script_line(&mut self, rest: &str) -> bool {
        let line = rest.lines().next().unwrap_or("");
        let trimmed = line.trim();
        let upper = trimmed.to_ascii_uppercase();
        if let Some(delimiter) = upper.strip_prefix("DELIMITER ") {
            self.skip_line(line);
            delimiter.trim().clone_into(&mut self.delimiter);
            return true;
        }
        if upper == "GO" || trimmed == "/" {
            self.end(line.len());
            return true;
        }
        if !trimmed.starts_with('\\') {
            return false;
        }
        if let Some(copy) = trimmed.strip_prefix("\\copy ") {
            // The client's COPY is the server's COPY with a file: same effect, same syntax but for the file's name.
            let start = self.at + (line.len() - line.trim_start().len()) + 1;
            self.take();
            self.finish();
            self.first = Some(start);
            self.last = self.at + line.trim_end().len();
            let span = self.from.span(start, self.last);
            self.out.push_for(&server_copy(copy), span);
            self.at += line.len();
            self.taken = self.at;
            self.finish();
            return true;
        }
        let sends = ["\\g", "\\gexec", "\\gset", "\\gx"].iter().any(|command| trimmed.starts_with(command));
        if sends {
            self.end(line.len());
        } else {
            self.skip_line(line);
        }
        true
    }

    fn skip_line(&mut self, line: &str) {
        self.take();
        self.at += line.len();
        self.taken = self.at;
    }

    fn token(&mut self, rest: &str) {
        let Some(c) = rest.chars().next() else { return };
        let width = match c {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment(rest),
            '\'' => return self.quoted(rest, '\'', self.has_backslashes()),
            '"' => return self.quoted(rest, '"', false),
            '`' => return self.quoted(rest, '`', false),
            '{' if rest.starts_with("{{") || rest.starts_with("{%") || rest.starts_with("{#") => {
                return self.template(rest);
            }
            HOLE => return self.hole(rest),
            '$' => return self.dollar(rest),
            '#' if rest.starts_with("#{") => return self.braced(rest, 2),
            '%' if self.style.percent => return self.percent(rest),
            '?' => return self.question(rest),
            ':' => return self.colon(rest),
            '@' => return self.at_sign(rest),
            '\\' if self.style.is_script => {
                match ["\\gset", "\\gexec", "\\gx", "\\g"].iter().find(|c| rest.starts_with(**c)) {
                    Some(_) => return self.end(rest.lines().next().unwrap_or("").len()),
                    None => 1,
                }
            }
            _ if c.is_alphabetic() || c == '_' => return self.read_word(rest),
            _ => {
                if !c.is_whitespace() {
                    self.mark(c.len_utf8());
                    self.before = c;
                    self.word.clear();
                }
                c.len_utf8()
            }
        };
        self.at += width;
    }

    fn read_word(&mut self, rest: &str) {
        let width = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.mark(width);
        self.word = rest[..width].to_ascii_uppercase();
        if self.head.len() < 8 {
            self.head.push(self.word.clone());
        }
        self.before = 'a';
        self.at += width;
        if self.is_routine() {
            match self.word.as_str() {
                "BEGIN" | "CASE" => self.depth += 1,
                "END" if !is_end_of_other(&self.s[self.at..]) => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// CREATE TRIGGER, PROCEDURE, FUNCTION with a body of statements, as SQLite and MySQL write it.
    fn is_routine(&self) -> bool {
        self.head.first().is_some_and(|word| word == "CREATE")
            && self
                .head
                .iter()
                .any(|word| matches!(word.as_str(), "TRIGGER" | "PROCEDURE" | "FUNCTION" | "EVENT"))
    }

    fn has_backslashes(&self) -> bool {
        self.word == "E" && self.at > 0 && !self.s.as_bytes()[self.at - 1].is_ascii_whitespace()
    }

    fn quoted(&mut self, rest: &str, quote: char, has_backslashes: bool) {
        let mut end = rest.len();
        let mut characters = rest.char_indices().skip(1).peekable();
        let mut holes = Vec::new();
        while let Some((at, c)) = characters.next() {
            if c == '\\' && (has_backslashes || rest[at..].starts_with("\\'")) && quote == '\'' {
                // MySQL's way to write a quote; where it isn't meant so, the text would end in a backslash: rare.
                if has_backslashes || rest[at + 2..].contains('\'') {
                    characters.next();
                }
            } else if c == quote {
                if characters.peek().is_some_and(|(_, next)| *next == quote) {
                    characters.next();
                } else {
                    end = at + c.len_utf8();
                    break;
                }
            } else if c == HOLE {
                holes.push(at);
            }
        }
        self.mark(end);
        let start = self.at;
        for at in holes {
            self.at = start + at;
            let hole = self.next_hole();
            self.replace(HOLE.len_utf8(), &format!("{{{}}}", inner(&hole.written, quote)));
            self.holes.push(hole);
        }
        if self.style.percent && rest[..end].contains("%%") {
            let mut at = 0;
            while let Some(found) = rest[at..end].find("%%") {
                self.at = start + at + found;
                self.replace(2, "%");
                at += found + 2;
            }
        }
        self.at = start + end;
        self.before = quote;
        self.word.clear();
    }

    fn next_hole(&mut self) -> Hole {
        let hole = self.from.holes().get(self.met).cloned();
        self.met += 1;
        hole.unwrap_or_else(|| Hole {
            written: "?".into(),
            value: Value::Name("?".into()),
            span: self.from.span(self.at, self.at + 1),
        })
    }

    /// A part known at run time, with what it touches: `stg_{name}_v1` is one name.
    fn hole(&mut self, rest: &str) {
        let hole = self.next_hole();
        let mut name = format!("{{{}}}", inner(&hole.written, '"'));
        let mut width = HOLE.len_utf8();
        let prefix = self.taken_back();
        self.holes.push(hole);
        while let Some(c) = rest[width..].chars().next() {
            if c == HOLE {
                self.at += width;
                let next = self.next_hole();
                self.at -= width;
                name.push_str(&format!("{{{}}}", inner(&next.written, '"')));
                self.holes.push(next);
            } else if c.is_alphanumeric() || c == '_' {
                name.push(c);
            } else {
                break;
            }
            width += c.len_utf8();
        }
        self.at -= prefix.len();
        let name = format!("\"{prefix}{name}\"");
        let width = width + prefix.len();
        self.mark(width);
        self.replace(width, &name);
        self.before = 'a';
        self.word.clear();
    }

    /// The letters that stand directly before this place and haven't been taken over.
    fn taken_back(&self) -> String {
        let done = &self.s[self.taken..self.at];
        let start = done
            .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
            .map_or(0, |at| at + done[at..].chars().next().map_or(1, char::len_utf8));
        done[start..].to_owned()
    }

    fn dollar(&mut self, rest: &str) {
        let name: usize =
            rest[1..].find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len() - 1);
        let after = 1 + name;
        if rest[1..].starts_with('{') {
            return self.braced(rest, 2);
        }
        let is_number = name > 0 && rest[1..after].bytes().all(|b| b.is_ascii_digit());
        if !is_number && rest[after..].starts_with('$') {
            let tag = &rest[..=after];
            let end = rest[tag.len()..].find(tag).map_or(rest.len(), |at| at + 2 * tag.len());
            self.mark(end);
            self.at += end;
            self.before = '\'';
            self.word.clear();
            return;
        }
        if name == 0 {
            self.mark(1);
            self.at += 1;
            self.before = '$';
        } else {
            let written = rest[1..after].to_owned();
            self.placeholder(after, written);
        }
    }

    /// `#{name}` and `${name}`.
    fn braced(&mut self, rest: &str, open: usize) {
        let Some(close) = near(rest, "}") else {
            self.mark(open);
            self.at += open;
            return;
        };
        let written = rest[open..close].trim().to_owned();
        if rest.starts_with('#') {
            let name = written.split(',').next().unwrap_or("").trim().to_owned();
            return self.placeholder(close + 1, name);
        }
        let span = self.from.span(self.at, self.at + close + 1);
        let name = format!("\"{{{}}}\"", inner(&written, '"'));
        self.holes.push(Hole { value: Value::Name(written.clone()), written, span });
        self.mark(close + 1);
        self.replace(close + 1, &name);
        self.before = 'a';
        self.word.clear();
    }

    /// `%s`, `%(name)s`, `%%`.
    fn percent(&mut self, rest: &str) {
        let bytes = rest.as_bytes();
        match bytes.get(1) {
            Some(b's' | b'b' | b't') if !bytes.get(2).is_some_and(u8::is_ascii_alphanumeric) => {
                self.positions += 1;
                self.placeholder(2, self.positions.to_string());
            }
            Some(b'(') => match near(rest, ")") {
                Some(close) if matches!(bytes.get(close + 1), Some(b's' | b'b' | b't' | b'd')) => {
                    self.placeholder(close + 2, rest[2..close].to_owned());
                }
                _ => self.plain('%'),
            },
            Some(b'%') => {
                self.mark(2);
                self.replace(2, "%");
                self.before = '%';
                self.word.clear();
            }
            _ => self.plain('%'),
        }
    }

    fn question(&mut self, rest: &str) {
        let next = rest[1..].chars().next().unwrap_or(' ');
        let after = rest[1..].trim_start().chars().next().unwrap_or(' ');
        let follows_value =
            matches!(self.before, 'a' | '\'' | '"' | '`' | ')' | ']') && !is_keyword(&self.word);
        if matches!(next, '|' | '&') || (follows_value && matches!(after, '\'' | '$' | '?' | HOLE)) {
            return self.plain('?');
        }
        // `?1` is SQLite's numbered form.
        let digits = rest[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - 1);
        if digits > 0 {
            return self.placeholder(1 + digits, rest[1..=digits].to_owned());
        }
        self.positions += 1;
        self.placeholder(1, self.positions.to_string());
    }

    /// `:name`, psql's `:'name'` and `:"name"`; not `::type`, `a[1:n]` or `path:field`.
    fn colon(&mut self, rest: &str) {
        if rest.starts_with("::") || rest.starts_with(":=") {
            self.mark(2);
            self.at += 2;
            self.before = ':';
            self.word.clear();
            return;
        }
        let previous = self.s[..self.at].chars().next_back().unwrap_or(' ');
        let touches = previous.is_alphanumeric() || matches!(previous, '_' | '"' | ')' | ']' | ':');
        let body = &rest[1..];
        if let Some(quote @ ('\'' | '"')) = body.chars().next()
            && self.style.is_script
            && let Some(close) = body[1..].find(quote)
        {
            let name = body[1..=close].to_owned();
            if quote == '"' {
                let span = self.from.span(self.at, self.at + close + 3);
                let written = format!("\"{{{}}}\"", inner(&name, '"'));
                self.holes.push(Hole { value: Value::Name(name.clone()), written: name, span });
                self.mark(close + 3);
                self.replace(close + 3, &written);
                self.before = 'a';
                self.word.clear();
                return;
            }
            return self.placeholder(close + 3, name);
        }
        let starts = body.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        if touches || !starts {
            return self.plain(':');
        }
        let width = body.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(body.len());
        self.placeholder(1 + width, body[..width].to_owned());
    }

    /// `@name` of pgx and BigQuery; a variable of MySQL and SQL Server is left alone where it is set or declared.
    fn at_sign(&mut self, rest: &str) {
        let body = &rest[1..];
        let starts = body.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
        let previous = self.s[..self.at].chars().next_back().unwrap_or(' ');
        let is_variable =
            matches!(self.head.first().map(String::as_str), Some("SET" | "DECLARE" | "EXEC" | "CREATE"));
        if !starts
            || is_variable
            || !matches!(previous, ' ' | '\n' | '\t' | '(' | ',' | '=' | '+' | '-' | '<' | '>')
        {
            return self.plain('@');
        }
        let width = body.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(body.len());
        self.placeholder(1 + width, body[..width].to_owned());
    }

    fn plain(&mut self, c: char) {
        self.mark(c.len_utf8());
        self.at += c.len_utf8();
        self.before = c;
        self.word.clear();
    }

    fn placeholder(&mut self, width: usize, written: String) {
        self.placeholders.push(written);
        let name = format!("${}", self.placeholders.len());
        self.mark(width);
        self.replace(width, &name);
        self.before = 'a';
        self.word = "$".into();
    }

    fn template(&mut self, rest: &str) {
        let (close, kind) = if rest.starts_with("{{") {
            ("}}", '{')
        } else if rest.starts_with("{%") {
            ("%}", '%')
        } else {
            ("#}", '#')
        };
        let Some(end) = near(rest, close) else { return self.plain('{') };
        let inside = &rest[2..end];
        let width = end + 2;
        match kind {
            '{' => match template::expression(inside, self.style.this.as_deref()) {
                Expression::Nothing => self.replace(width, " "),
                Expression::Table(name) => {
                    self.mark(width);
                    self.replace(width, &name);
                    self.before = 'a';
                    self.word.clear();
                }
                Expression::Hole(value) => {
                    let written = inside.trim().trim_matches('-').trim().to_owned();
                    let span = self.from.span(self.at, self.at + width);
                    let name = format!("\"{{{}}}\"", inner(&written, '"'));
                    self.holes.push(Hole { written, value, span });
                    self.mark(width);
                    self.replace(width, &name);
                    self.before = 'a';
                    self.word.clear();
                }
            },
            '%' => self.block(inside, width, rest),
            _ => self.replace(width, " "),
        }
    }

    fn block(&mut self, inside: &str, width: usize, rest: &str) {
        match template::tag(inside) {
            Tag::Open => self.blocks.push(false),
            Tag::Close => {
                self.blocks.pop();
            }
            Tag::Plain => {}
            Tag::Otherwise | Tag::Hidden => {
                let is_hidden = template::tag(inside) == Tag::Hidden;
                let skipped = width + skip_block(&rest[width..]);
                if !is_hidden {
                    self.blocks.pop();
                }
                return self.replace(skipped, " ");
            }
        }
        self.replace(width, " ");
    }

    /// Takes the input over, as it is, up to this place.
    fn take(&mut self) {
        if self.taken < self.at {
            self.out.push_part(self.from, self.taken, self.at);
            self.taken = self.at;
        }
    }

    fn replace(&mut self, width: usize, text: &str) {
        self.take();
        let span = self.from.span(self.at, self.at + width);
        self.out.push_for(text, span);
        self.at += width;
        self.taken = self.at;
    }

    /// Something that belongs to the statement stands here.
    fn mark(&mut self, width: usize) {
        self.first.get_or_insert(self.at);
        self.last = self.last.max(self.at + width);
    }

    /// The statement ends here, with a delimiter of this width.
    fn end(&mut self, width: usize) {
        self.take();
        self.at += width;
        self.taken = self.at;
        let is_data = self.style.is_script
            && self.head.first().is_some_and(|word| word == "COPY")
            && self.out.as_str().to_ascii_uppercase().contains("FROM STDIN");
        self.finish();
        if is_data {
            let rest = &self.s[self.at..];
            let end = rest.find("\n\\.").map_or(rest.len(), |at| {
                at + 1 + rest[at + 1..].find('\n').map_or(rest.len() - at - 1, |line| line)
            });
            self.at += end;
            self.taken = self.at;
        }
    }

    fn finish(&mut self) {
        let text = std::mem::take(&mut self.out);
        let placeholders = std::mem::take(&mut self.placeholders);
        let holes = std::mem::take(&mut self.holes);
        self.head.clear();
        self.word.clear();
        self.before = ' ';
        self.depth = 0;
        if let Some(first) = self.first.take() {
            let span = self.from.span(first, self.last);
            self.done.push(Piece { text, span, placeholders, holes });
        }
        self.last = 0;
    }
}
