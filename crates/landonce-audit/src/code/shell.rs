//! Shell scripts: what psql, sqlite3 and mysql are given in arguments, here-documents, here-strings and pipes.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::syntax::{self, callee, short, span};
use super::{Argument, Branch, Call, Function, Loop, Span, Step, Unread, Use, Value};
use crate::sql::{Style, Text, looks_like_sql, read};
use crate::words;

/// Programs that run SQL.
const CLIENTS: [&str; 9] =
    ["psql", "sqlite3", "mysql", "mariadb", "duckdb", "clickhouse-client", "snowsql", "bq", "sqlcmd"];
/// Deeper than this nobody writes.
const DEEPEST: usize = 100;

/// Reads a script.
pub(crate) fn read_file(text: &str) -> (Vec<Function>, Vec<Unread>) {
    let whole = Span { start: 0, end: text.len() };
    let Some(tree) = syntax::parse(&tree_sitter_bash::LANGUAGE.into(), text) else {
        return (Vec::new(), vec![Unread { span: whole, why: "it can't be read as a shell script".into() }]);
    };
    let mut reader = Reader {
        s: text,
        names: BTreeMap::new(),
        wrappers: BTreeMap::new(),
        functions: Vec::new(),
        unread: Vec::new(),
        depth: 0,
    };
    reader.wrappers(tree.root_node());
    reader.assignments(tree.root_node());
    reader.names.retain(|_, value| matches!(value, Value::Clock | Value::Random));
    let mut body = Vec::new();
    reader.inner(tree.root_node(), &mut body);
    let matters = CLIENTS.iter().any(|it| text.contains(it));
    reader.unread.extend(syntax::errors(tree.root_node(), matters));
    reader.functions.push(Function { name: String::new(), span: whole, decorators: Vec::new(), body });
    (reader.functions, reader.unread)
}

/// What the next argument is.
enum Next {
    Sql,
    /// The value of an option that isn't SQL.
    Other,
    Anything,
}

/// What follows an option of a client, short ones bundled (`-qtAc`).
fn after(client: &str, option: &str) -> Next {
    let last = option.chars().next_back().unwrap_or_default();
    // `-dsrc` has its value in it.
    let is_complete = option.len() > 2 && option[1..].starts_with(|first| "dfhLoFPpRTUv".contains(first));
    let is_short = !(option.starts_with("--") || client == "psql" && is_complete);
    let is_sql = match client {
        "psql" => option == "--command" || is_short && last == 'c',
        "mysql" | "mariadb" => option == "--execute" || is_short && last == 'e',
        "duckdb" => matches!(option, "-c" | "-s"),
        "clickhouse-client" | "snowsql" => matches!(option, "--query" | "-q"),
        "sqlcmd" => matches!(option, "-q" | "-Q"),
        _ => false,
    };
    // psql's -v name=value, -f file, -F ' ' and the like.
    let has_value = client == "psql" && is_short && "dfhLoFPpRTUv".contains(last)
        || matches!(client, "sqlite3" | "duckdb")
            && matches!(option, "-cmd" | "-init" | "-separator" | "-nullvalue" | "-newline" | "-vfs" | "-f");
    if is_sql {
        Next::Sql
    } else if has_value {
        Next::Other
    } else {
        Next::Anything
    }
}

struct Reader<'t> {
    s: &'t str,
    /// Variables that hold the clock's reading or chance wherever they are set.
    names: BTreeMap<String, Value>,
    /// Functions that run a client with whatever they are given: `sql() { psql -X "$URL"; }`, and which client.
    wrappers: BTreeMap<&'t str, &'t str>,
    functions: Vec<Function>,
    unread: Vec<Unread>,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn source(&self, node: Node<'t>) -> &'t str {
        self.s.get(node.byte_range()).unwrap_or("")
    }

    /// What the variables are set to. One that is set in several ways is nothing in particular.
    fn assignments(&mut self, root: Node<'t>) {
        let mut waiting = vec![root];
        while let Some(node) = waiting.pop() {
            if node.kind() == "variable_assignment"
                && let (Some(name), Some(value)) =
                    (node.child_by_field_name("name"), node.child_by_field_name("value"))
            {
                let value = value_of(self.source(value).trim_matches('"'));
                let name = self.source(name).to_owned();
                let kept = self.names.entry(name.clone()).or_insert_with(|| value.clone());
                if *kept != value {
                    *kept = Value::Name(name);
                }
            }
            let mut cursor = node.walk();
            waiting.extend(node.named_children(&mut cursor));
        }
    }

    /// The functions whose body is one call of a client, which reads what the function reads.
    fn wrappers(&mut self, root: Node<'t>) {
        let mut waiting = vec![root];
        while let Some(node) = waiting.pop() {
            let mut cursor = node.walk();
            if node.kind() == "function_definition"
                && let (Some(name), Some(body)) =
                    (node.child_by_field_name("name"), node.child_by_field_name("body"))
                && let [command] = body.named_children(&mut cursor).collect::<Vec<_>>().as_slice()
                && command.kind() == "command"
                && let Some(client) = command.child_by_field_name("name").map(|it| self.source(it))
                && CLIENTS.contains(&client)
            {
                self.wrappers.insert(self.source(name), client);
            }
            let mut cursor = node.walk();
            waiting.extend(node.named_children(&mut cursor));
        }
    }

    fn inner(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.step(child, out);
        }
    }

    fn step(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        if self.depth >= DEEPEST {
            return;
        }
        self.depth += 1;
        match node.kind() {
            "command" => self.command(node, None, out),
            "redirected_statement" => self.redirected(node, out),
            "pipeline" => self.pipeline(node, out),
            "while_statement" | "for_statement" | "c_style_for_statement" => {
                let mut body = Vec::new();
                self.inner(node, &mut body);
                let head = short(self.source(node).lines().next().unwrap_or(""));
                out.push(Step::Loop(Loop { span: span(node), head, body }));
            }
            "if_statement" => {
                let mut condition = Vec::new();
                let mut then = Vec::new();
                let mut otherwise = Vec::new();
                let mut test = String::new();
                let mut cursor = node.walk();
                for (index, child) in node.named_children(&mut cursor).enumerate() {
                    match child.kind() {
                        "elif_clause" | "else_clause" => self.inner(child, &mut otherwise),
                        _ if index == 0 => {
                            test = short(self.source(child));
                            self.step(child, &mut condition);
                        }
                        _ => self.step(child, &mut then),
                    }
                }
                out.push(Step::Branch(Branch { span: span(node), test, condition, then, otherwise }));
            }
            "function_definition" => {
                let name = node.child_by_field_name("name").map_or("", |it| self.source(it)).to_owned();
                let mut body = Vec::new();
                if let Some(block) = node.child_by_field_name("body") {
                    self.inner(block, &mut body);
                }
                self.functions.push(Function { name, span: span(node), decorators: Vec::new(), body });
            }
            _ => self.inner(node, out),
        }
        self.depth -= 1;
    }

    /// A command whose input is given in the script.
    fn redirected(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let Some(body) = node.child_by_field_name("body") else { return self.inner(node, out) };
        let mut input = None;
        let mut cursor = node.walk();
        for redirect in node.named_children(&mut cursor) {
            match redirect.kind() {
                "heredoc_redirect" => {
                    let mut inner = redirect.walk();
                    input = redirect
                        .named_children(&mut inner)
                        .find(|it| it.kind() == "heredoc_body")
                        .map(|it| self.text(it));
                }
                "herestring_redirect" => input = redirect.named_child(0).map(|it| self.text(it)),
                _ => {}
            }
        }
        match body.kind() {
            "command" => self.command(body, input, out),
            // Only the last command of a pipe reads what is redirected; a list's loop reads line by line.
            _ => self.step(body, out),
        }
    }

    /// `echo "INSERT …" | psql`.
    fn pipeline(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let mut cursor = node.walk();
        let parts: Vec<_> = node.named_children(&mut cursor).collect();
        let mut before: Option<Text> = None;
        for part in parts {
            if part.kind() == "command" {
                let name = part.child_by_field_name("name").map_or("", |it| self.source(it)).to_owned();
                if matches!(name.as_str(), "echo" | "printf") {
                    let mut inner = part.walk();
                    before = part
                        .children_by_field_name("argument", &mut inner)
                        .map(|it| self.text(it))
                        .find(|it| looks_like_sql(it.as_str()));
                    if before.is_some() {
                        continue;
                    }
                }
                self.command(part, before.take(), out);
            } else {
                self.step(part, out);
            }
        }
    }

    fn command(&mut self, node: Node<'t>, input: Option<Text>, out: &mut Vec<Step>) {
        let name = node.child_by_field_name("name").map_or("", |it| self.source(it)).to_owned();
        let mut cursor = node.walk();
        let nodes: Vec<_> = node.children_by_field_name("argument", &mut cursor).collect();
        // `docker exec db psql …`, `sudo -u postgres psql …` run psql too.
        let program = name.rsplit('/').next().unwrap_or(&name).to_owned();
        let wrapped = self.wrappers.get(program.as_str()).copied();
        let at = if wrapped.is_some() || CLIENTS.contains(&program.as_str()) {
            Some(0)
        } else {
            nodes.iter().position(|it| CLIENTS.contains(&self.source(*it))).map(|it| it + 1)
        };
        let arguments =
            nodes.iter().map(|it| Argument { name: None, value: self.value(*it), span: span(*it) }).collect();
        let call = Call { span: span(node), callee: callee(&name), arguments, assigned_to: None };
        let Some(at) = at else {
            for argument in nodes {
                self.inner(argument, out);
            }
            out.push(Step::Call(call));
            return;
        };
        // What is run in the end, where `docker exec` or `sudo` stands before it.
        let written = wrapped.unwrap_or(program.as_str());
        let client = at.checked_sub(1).map_or(written, |it| self.source(nodes[it]));
        let mut texts = Vec::new();
        let mut next = Next::Anything;
        for (index, argument) in nodes.iter().enumerate().skip(at) {
            let written = self.source(*argument);
            match std::mem::replace(&mut next, Next::Anything) {
                Next::Sql => texts.push(self.text(*argument)),
                Next::Other => {}
                Next::Anything if written.starts_with('-') => {
                    if ["--command=", "--execute=", "--query="].iter().any(|it| written.starts_with(it)) {
                        let text = self.text(*argument);
                        let start = written.find('=').map_or(0, |it| it + 1);
                        let mut cut = Text::new();
                        cut.push_stretch(&text, start.min(text.as_str().len()), text.as_str().len());
                        texts.push(cut);
                    } else {
                        next = after(client, written);
                    }
                }
                // The database's name comes first, then what is to be done with it.
                Next::Anything if matches!(client, "sqlite3" | "duckdb") && index > at => {
                    texts.push(self.text(*argument));
                }
                Next::Anything => {}
            }
        }
        texts.extend(input);
        let style = Style { is_script: true, ..Style::default() };
        let mut is_sent = false;
        for text in texts.iter().filter(|it| !it.is_blank()) {
            let first = text.as_str().trim_start();
            if first.starts_with(crate::sql::HOLE) {
                self.unread
                    .push(Unread { span: text.whole(), why: "the SQL is only known at run time".into() });
                continue;
            }
            if first.starts_with('.') {
                continue;
            }
            let statements = read(text, &style, &mut self.unread);
            if !statements.is_empty() {
                is_sent = true;
                let it = Use {
                    span: text.whole(),
                    call: call.clone(),
                    statements,
                    arguments: Vec::new(),
                    is_many: false,
                };
                out.push(Step::Sql(Box::new(it)));
            }
        }
        if !is_sent {
            out.push(Step::Call(call));
        }
    }

    /// A word's text: quotes taken off, expansions left open.
    fn text(&self, node: Node<'t>) -> Text {
        let mut text = Text::new();
        self.add(node, &mut text, 0);
        text
    }

    fn add(&self, node: Node<'t>, text: &mut Text, depth: usize) {
        let written = self.source(node);
        match node.kind() {
            "raw_string" => text.push(written.trim_matches('\''), node.start_byte() + 1),
            "ansi_c_string" => {
                text.push(written.trim_start_matches('$').trim_matches('\''), node.start_byte() + 2);
            }
            "simple_expansion" | "expansion" | "command_substitution" | "arithmetic_expansion" => {
                let name = written.trim_start_matches('$').trim_matches(['{', '}']);
                let value = self.names.get(name).cloned().unwrap_or_else(|| value_of(written));
                text.push_hole(name, value, span(node));
            }
            "string" | "concatenation" | "heredoc_body" | "string_content"
                if node.named_child_count() > 0 && depth < 8 =>
            {
                let is_string = node.kind() == "string";
                let mut at = node.start_byte() + usize::from(is_string);
                let end = node.end_byte() - usize::from(is_string);
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.verbatim(at, child.start_byte(), text);
                    self.add(child, text, depth + 1);
                    at = child.end_byte();
                }
                self.verbatim(at, end, text);
            }
            "string" => self.verbatim(node.start_byte() + 1, node.end_byte().saturating_sub(1), text),
            _ => self.verbatim(node.start_byte(), node.end_byte(), text),
        }
    }

    /// A stretch as it stands, without the backslashes that keep quotes and dollars from the shell.
    fn verbatim(&self, start: usize, end: usize, text: &mut Text) {
        let Some(stretch) = self.s.get(start..end) else { return };
        let mut from = 0;
        while let Some(found) = stretch[from..].find('\\') {
            let at = from + found;
            if stretch[at + 1..].starts_with(['"', '$', '`']) {
                text.push(&stretch[from..at], start + from);
                text.push(&stretch[at + 1..at + 2], start + at + 1);
                from = at + 2;
            } else {
                text.push(&stretch[from..=at], start + from);
                from = at + 1;
            }
        }
        text.push(&stretch[from..], start + from);
    }

    fn value(&self, node: Node<'t>) -> Value {
        let text = self.text(node);
        match text.holes() {
            [] => Value::Text(text.as_str().to_owned()),
            [only] if text.as_str().chars().count() == 1 => only.value.clone(),
            _ => Value::Joined(text.holes().iter().map(|it| it.value.clone()).collect()),
        }
    }
}

/// What is known of an expansion.
fn value_of(written: &str) -> Value {
    let lower = written.to_lowercase();
    if written.starts_with("$(date") || written.starts_with("`date") {
        Value::Clock
    } else if ["uuidgen", "$random", "/dev/urandom", "openssl rand"].iter().any(|it| lower.contains(it)) {
        Value::Random
    } else if words::is_run_id(&lower) {
        Value::RunId(written.to_owned())
    } else {
        Value::Name(short(written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::outline::outline;

    #[test]
    fn sql_in_every_place_of_a_script() {
        let text = r#"#!/bin/bash
set -e
psql -X -q -v ON_ERROR_STOP=1 "$DATABASE_URL" -c "INSERT INTO a (id, day) VALUES ('$ID', '$(date +%F)')"
psql <<'SQL'
BEGIN;
\copy b from 'x.csv' csv
COMMIT;
SQL
while read -r line; do
  psql -qc "INSERT INTO c VALUES (${line})"
done < rows.txt
echo "DELETE FROM d" | psql
sqlite3 x.db 'INSERT INTO e VALUES (1)'
if [ "$(psql -tc "SELECT count(*) FROM f")" = 0 ]; then psql -c "$SQL"; fi
curl -X POST "$HOOK"
"#;
        let (functions, unread) = read_file(text);
        let out =
            outline(&functions) + &unread.iter().map(|it| format!("unread {}\n", it.why)).collect::<String>();
        insta::assert_snapshot!(out, @r#"
fn 
  call set
  sql psql | INSERT INTO a (id, day) VALUES ('{ID}', '{(date +%F)}')
  sql psql | BEGIN
  sql psql | COPY b FROM 'x.csv' CSV
  sql psql | COMMIT
  loop while read -r line; do
    call read
    sql psql | INSERT INTO c VALUES ("{line}")
  sql psql | DELETE FROM d
  sql sqlite3 | INSERT INTO e VALUES (1)
  sql psql | SELECT count(*) FROM f
  if [ "$(psql -tc "SELECT count(*) FROM f")" = 0 ]
    call psql
  call curl
unread the SQL is assembled at run time from `ID`, `(date +%F)`
unread the SQL is assembled at run time from `line`
unread the SQL is only known at run time
"#);
    }
}
