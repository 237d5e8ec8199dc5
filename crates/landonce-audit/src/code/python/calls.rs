//! Calls: which take SQL, what they bind to it, and the rest as they are.

use tree_sitter::Node;

use super::{Reader, callee, short, span};
use crate::code::{Argument, Call, Loop, Step, Unread, Use, Value};
use crate::sql::{self, Style, Text};

/// Methods that take SQL, whatever the object is.
const TAKES_SQL: [&str; 31] = [
    "execute",
    "executemany",
    "executescript",
    "execute_async",
    "exec_driver_sql",
    "mogrify",
    "copy",
    "copy_expert",
    "fetch",
    "fetchrow",
    "fetchval",
    "fetch_one",
    "fetch_all",
    "fetch_val",
    "iterate",
    "stream",
    "scalar",
    "scalars",
    "execute_values",
    "execute_batch",
    "query",
    "raw",
    "run",
    "get_records",
    "get_first",
    "get_pandas_df",
    "read_sql",
    "read_sql_query",
    "prepare",
    "execute_query",
    "sql",
];
/// Of these, those that are so surely a database's that SQL which can't be read is worth a word.
const SURELY: [&str; 9] = [
    "execute",
    "executemany",
    "executescript",
    "exec_driver_sql",
    "copy_expert",
    "execute_values",
    "execute_batch",
    "fetchrow",
    "fetchval",
];
/// Calls with SQL for an argument that don't send it.
const NOT_SENT: [&str; 26] = [
    "print",
    "debug",
    "info",
    "warning",
    "error",
    "exception",
    "critical",
    "log",
    "text",
    "SQL",
    "dedent",
    "format",
    "strip",
    "join",
    "Exception",
    "ValueError",
    "RuntimeError",
    "compile",
    "match",
    "search",
    "startswith",
    "endswith",
    "append",
    "assertEqual",
    "parse",
    "parse_one",
];
/// Calls that only make a text or a part of one.
const SILENT: [&str; 12] = [
    "text",
    "SQL",
    "Identifier",
    "Literal",
    "Placeholder",
    "dedent",
    "cleandoc",
    "str",
    "int",
    "float",
    "len",
    "repr",
];

impl<'t> Reader<'t> {
    /// An expression's calls, in the order in which they run. `target` takes the result of the outermost.
    pub(super) fn expression(&mut self, node: Node<'t>, target: Option<String>, out: &mut Vec<Step>) {
        self.deeper((), |it| it.expression_inside(node, target, out));
    }

    fn expression_inside(&mut self, node: Node<'t>, target: Option<String>, out: &mut Vec<Step>) {
        match node.kind() {
            "call" => self.call(node, target, out),
            "await" | "parenthesized_expression" => {
                if let Some(inner) = node.named_child(0) {
                    self.expression(inner, target, out);
                }
            }
            "named_expression" => {
                if let (Some(name), Some(value)) =
                    (node.child_by_field_name("name"), node.child_by_field_name("value"))
                {
                    self.expression(value, Some(self.source(name).to_owned()), out);
                    let known = self.evaluate(value);
                    self.names.insert(self.source(name).to_owned(), std::rc::Rc::new(known));
                }
            }
            "list_comprehension"
            | "generator_expression"
            | "set_comprehension"
            | "dictionary_comprehension" => {
                let mut body = Vec::new();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    self.expression(
                        child,
                        None,
                        if child.kind() == "for_in_clause" { &mut *out } else { &mut body },
                    );
                }
                if !body.is_empty() {
                    out.push(Step::Loop(Loop { span: span(node), head: short(self.source(node)), body }));
                }
            }
            "string" | "identifier" | "integer" | "float" | "comment" => {
                if node.kind() == "string" && node.named_child_count() > 2 {
                    self.inner(node, out);
                }
            }
            "function_definition" | "class_definition" | "decorated_definition" => {}
            _ => self.inner(node, out),
        }
    }

    fn inner(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.expression(child, None, out);
        }
    }

    fn call(&mut self, node: Node<'t>, target: Option<String>, out: &mut Vec<Step>) {
        let (Some(function), Some(list)) =
            (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
        else {
            return;
        };
        if let Some(object) = function.child_by_field_name("object") {
            self.expression(object, None, out);
        } else if function.kind() != "identifier" {
            self.expression(function, None, out);
        }
        self.inner(list, out);
        let name = callee(self.source(function));
        let method = last_word(&name).to_owned();
        let mut cursor = list.walk();
        let nodes: Vec<Node<'t>> = if list.kind() == "argument_list" {
            list.named_children(&mut cursor).filter(|it| it.kind() != "comment").take(60).collect()
        } else {
            vec![list]
        };
        let arguments: Vec<Argument> = nodes
            .iter()
            .map(|it| Argument {
                name: it
                    .child_by_field_name("name")
                    .filter(|_| it.kind() == "keyword_argument")
                    .map(|it| self.source(it).to_owned()),
                value: self.value_of(*it),
                span: span(*it),
            })
            .collect();
        self.note(&name, &method, &nodes);
        let call = Call { span: span(node), callee: name, arguments, assigned_to: target };
        if self.known_loads(&call, &method, &nodes, out) || self.sql_call(&call, &method, &nodes, out) {
            return;
        }
        if method == "Table" {
            self.mapped_table(node, out);
        }
        if !SILENT.contains(&method.as_str()) && self.text_of(node).is_none() {
            out.push(Step::Call(call));
        }
    }

    /// What a call tells about names: an operator's function, a list's new element.
    fn note(&mut self, callee: &str, last: &str, nodes: &[Node<'t>]) {
        for node in nodes.iter().filter(|it| it.kind() == "keyword_argument") {
            if node.child_by_field_name("name").is_some_and(|it| self.source(it) == "python_callable")
                && let Some(value) = node.child_by_field_name("value")
            {
                self.callables.push((last.to_owned(), last_word(self.source(value)).to_owned()));
            }
        }
        if last == "append"
            && let Some(name) = callee.strip_suffix(".append")
            && let Some(first) = nodes.first()
        {
            let arguments = self.elements(*first);
            if !arguments.is_empty()
                && let Some(known) = self.known(name)
            {
                let mut known = (*known).clone();
                known.arguments = arguments;
                self.names.insert(name.to_owned(), std::rc::Rc::new(known));
            }
        }
    }

    /// Calls that load rows without SQL of their own: `copy_from`, `copy_records_to_table`, `session.add(Model(…))`.
    fn known_loads(&mut self, call: &Call, last: &str, nodes: &[Node<'t>], out: &mut Vec<Step>) -> bool {
        let (index, keyword) = match last {
            "copy_records_to_table" | "copy_to_table" => (0, "table_name"),
            "copy_from" => (1, "table"),
            "add" if call.callee.contains("session") => return self.added(call, nodes, out),
            _ => return false,
        };
        let Some(node) = self.argument(nodes, index, keyword) else { return false };
        let Value::Text(table) = self.value_of(node) else { return false };
        let columns: Vec<String> = match self.keyword(nodes, "columns").map(|it| self.value_of(it)) {
            Some(Value::Many(names)) => names
                .iter()
                .filter_map(|it| if let Value::Text(it) = it { Some(quoted(it)) } else { None })
                .collect(),
            _ => Vec::new(),
        };
        let schema = match self.keyword(nodes, "schema_name").map(|it| self.value_of(it)) {
            Some(Value::Text(schema)) => format!("{}.", quoted(&schema)),
            _ => String::new(),
        };
        let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
        let written = table.split('.').map(quoted).collect::<Vec<_>>().join(".");
        Self::synthetic(&format!("COPY {schema}{written}{columns} FROM STDIN"), call, Vec::new(), true, out)
    }

    /// `session.add(Order(id=…))` is an INSERT.
    fn added(&mut self, call: &Call, nodes: &[Node<'t>], out: &mut Vec<Step>) -> bool {
        let Some(first) = nodes.first() else { return false };
        let made = if first.kind() == "call" { Some(*first) } else { None };
        let Some(made) = made else { return false };
        let class = made.child_by_field_name("function").map_or("", |it| self.source(it)).to_owned();
        let Some(table) = self.tables.get(&class).cloned() else { return false };
        let mut arguments = Vec::new();
        if let Some(list) = made.child_by_field_name("arguments") {
            let mut cursor = list.walk();
            for keyword in list.named_children(&mut cursor).filter(|it| it.kind() == "keyword_argument") {
                let name = keyword.child_by_field_name("name").map(|it| self.source(it).to_owned());
                arguments.push(Argument { name, value: self.value_of(keyword), span: span(keyword) });
            }
        }
        let names: Vec<&str> = arguments.iter().filter_map(|it| it.name.as_deref()).collect();
        let sql = insert_text(&quoted(&table), &names);
        Self::synthetic(&sql, call, arguments, false, out)
    }

    /// A step for a statement that follows from a call.
    pub(super) fn synthetic(
        sql: &str,
        call: &Call,
        arguments: Vec<Argument>,
        is_many: bool,
        out: &mut Vec<Step>,
    ) -> bool {
        let Some(statement) = sql::made(sql, call.span) else { return false };
        out.push(Step::Sql(Box::new(Use {
            span: call.span,
            call: call.clone(),
            statements: vec![statement],
            arguments,
            is_many,
        })));
        true
    }

    /// A call with SQL in it; whether it was one.
    fn sql_call(&mut self, call: &Call, last: &str, nodes: &[Node<'t>], out: &mut Vec<Step>) -> bool {
        if NOT_SENT.contains(&last) {
            return false;
        }
        let takes = TAKES_SQL.contains(&last);
        let position = usize::from(
            matches!(last, "execute_values" | "execute_batch") || (last == "mogrify" && nodes.len() > 2),
        );
        let mut texts: Vec<(Node<'t>, Text)> = Vec::new();
        if takes {
            if let Some(node) = self.argument(nodes, position, "sql").or_else(|| self.keyword(nodes, "query"))
            {
                texts.extend(self.text_of(node).map(|text| (node, text)));
                if texts.is_empty() && node.kind() == "list" {
                    texts = self.texts_in(node);
                }
            }
        } else if let Some(node) = self.keyword(nodes, "sql") {
            texts.extend(self.text_of(node).map(|text| (node, text)));
            if texts.is_empty() {
                texts = self.texts_in(node);
            }
        } else {
            for node in nodes.iter().copied() {
                let node = node
                    .child_by_field_name("value")
                    .filter(|_| node.kind() == "keyword_argument")
                    .unwrap_or(node);
                if matches!(node.kind(), "string" | "concatenated_string" | "binary_operator" | "call")
                    && let Some(text) = self.text_of(node)
                {
                    texts.push((node, text));
                }
            }
        }
        texts.retain(|(_, text)| {
            sql::looks_like_sql(text.as_str()) || (SURELY.contains(&last) && Self::is_whole_hole(text))
        });
        if texts.is_empty() {
            self.unreadable(last, nodes, position);
            return false;
        }
        let mut done = false;
        for (node, text) in texts {
            if Self::is_whole_hole(&text) {
                self.unread.push(Unread { span: span(node), why: unknown_sql(&short(self.source(node))) });
                continue;
            }
            done |= self.send(call, last, nodes, node, &text, out);
        }
        done
    }

    fn send(
        &mut self,
        call: &Call,
        last: &str,
        nodes: &[Node<'t>],
        node: Node<'t>,
        text: &Text,
        out: &mut Vec<Step>,
    ) -> bool {
        let mut text = text.clone();
        // psycopg2 puts the rows where the first %s stands.
        let is_values = last == "execute_values";
        if is_values {
            text = self.with_rows(&text, nodes);
        }
        let style = Style { percent: true, is_script: false, this: None };
        let before = self.unread.len();
        let statements = sql::read(&text, &style, &mut self.unread);
        if statements.is_empty() && self.unread.len() == before {
            return false;
        }
        let whole = text.whole();
        let (bound, is_list) = self.bound(nodes, node);
        let is_many = is_list
            || matches!(last, "executemany" | "execute_values" | "execute_batch")
            || statements.iter().any(|it| matches!(it.tree, sqlparser::ast::Statement::Copy { .. }));
        let mut arguments = bound;
        arguments.extend(self.core_arguments(node));
        out.push(Step::Sql(Box::new(Use {
            span: whole,
            call: call.clone(),
            statements,
            arguments,
            is_many,
        })));
        true
    }

    /// `VALUES %s` of execute_values with as many placeholders as the rows or the template have.
    fn with_rows(&mut self, text: &Text, nodes: &[Node<'t>]) -> Text {
        let s = text.as_str();
        let Some(at) = s.find("%s") else { return text.clone() };
        let template = self.argument(nodes, 3, "template").map(|it| self.value_of(it));
        let row = if let Some(Value::Text(template)) = template {
            template
        } else {
            let count = nodes.get(2).map_or(0, |it| self.elements(*it).len());
            let listed = s[..at].rfind(')').and_then(|close| {
                let open = s[..close].rfind('(')?;
                Some(s[open..close].split(',').count())
            });
            let count = if count > 0 { count } else { listed.unwrap_or(1) };
            format!("({})", vec!["%s"; count].join(", "))
        };
        let mut filled = Text::new();
        filled.push_stretch(text, 0, at);
        filled.push_for(&row, text.span(at, at + 2));
        filled.push_stretch(text, at + 2, s.len());
        filled
    }

    /// What is bound: the arguments after the SQL, a tuple, list or dict taken apart; whether it is a list of rows.
    fn bound(&mut self, nodes: &[Node<'t>], sql: Node<'t>) -> (Vec<Argument>, bool) {
        let position =
            nodes.iter().position(|it| span(*it).start <= span(sql).start && span(*it).end >= span(sql).end);
        let rest: Vec<Node<'t>> = nodes.iter().skip(position.map_or(0, |it| it + 1)).copied().collect();
        let positional: Vec<_> = rest.iter().filter(|it| it.kind() != "keyword_argument").copied().collect();
        let named: Option<Node<'t>> = ["params", "parameters", "vars", "args", "argslist", "values"]
            .iter()
            .find_map(|name| self.keyword(&rest, name));
        let first = positional.first().copied().or(named);
        let Some(first) = first else { return (Vec::new(), false) };
        let is_list = first.kind() == "list"
            && first.named_child(0).is_some_and(|it| matches!(it.kind(), "tuple" | "list" | "dictionary"))
            || first.kind() == "list_comprehension";
        if positional.len() <= 1 {
            let elements = self.elements(first);
            if !elements.is_empty() {
                return (elements, is_list);
            }
        }
        if positional.is_empty() {
            return (vec![Argument { name: None, value: self.value_of(first), span: span(first) }], is_list);
        }
        let arguments = positional
            .into_iter()
            .map(|it| Argument { name: None, value: self.value_of(it), span: span(it) })
            .collect();
        (arguments, is_list)
    }

    fn texts_in(&mut self, list: Node<'t>) -> Vec<(Node<'t>, Text)> {
        let mut cursor = list.walk();
        let nodes: Vec<_> = list.named_children(&mut cursor).collect();
        nodes.into_iter().filter_map(|it| self.text_of(it).map(|text| (it, text))).collect()
    }

    fn is_whole_hole(text: &Text) -> bool {
        let s = text.as_str().trim_start();
        s.starts_with(sql::HOLE)
    }

    /// A database's call whose SQL isn't known.
    fn unreadable(&mut self, last: &str, nodes: &[Node<'t>], position: usize) {
        if !SURELY.contains(&last) || !self.has_database {
            return;
        }
        let Some(node) = self.argument(nodes, position, "sql").or_else(|| self.keyword(nodes, "query"))
        else {
            return;
        };
        if self.text_of(node).is_some() || matches!(node.kind(), "integer" | "list" | "lambda") {
            return;
        }
        self.unread.push(Unread { span: span(node), why: unknown_sql(&short(self.source(node))) });
    }

    fn argument(&self, nodes: &[Node<'t>], index: usize, keyword: &str) -> Option<Node<'t>> {
        self.keyword(nodes, keyword)
            .or_else(|| nodes.get(index).filter(|it| it.kind() != "keyword_argument").copied())
            .or_else(|| {
                ["statement", "stmt", "operation", "command"]
                    .iter()
                    .find_map(|name| self.keyword(nodes, name))
            })
    }

    pub(super) fn keyword(&self, nodes: &[Node<'t>], name: &str) -> Option<Node<'t>> {
        nodes
            .iter()
            .filter(|it| it.kind() == "keyword_argument")
            .find(|it| it.child_by_field_name("name").is_some_and(|it| self.source(it) == name))
            .and_then(|it| it.child_by_field_name("value"))
    }
}

/// The last name of a dotted callee.
pub(super) fn last_word(callee: &str) -> &str {
    callee.rsplit('.').next().unwrap_or(callee)
}

/// A name as SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', ""))
}

/// An INSERT with a named placeholder a column.
pub(super) fn insert_text(table: &str, columns: &[&str]) -> String {
    if columns.is_empty() {
        return format!("INSERT INTO {table} DEFAULT VALUES");
    }
    let names: Vec<String> = columns.iter().map(|it| quoted(it)).collect();
    let values: Vec<String> = columns.iter().map(|it| format!(":{}", word(it))).collect();
    format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", "))
}

/// A name as a placeholder's name.
pub(super) fn word(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if word.starts_with(|c: char| c.is_ascii_digit()) { format!("_{word}") } else { word }
}

fn unknown_sql(written: &str) -> String {
    format!("the SQL is only known at run time: `{written}`")
}
