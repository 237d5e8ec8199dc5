//! SQLAlchemy's constructs, written as the SQL that they send: `insert(t).values(…).on_conflict_do_update(…)`.
//!
//! What a construct doesn't show (a condition that isn't a comparison of a column) becomes a placeholder.

use tree_sitter::Node;

use super::calls::{insert_text, last_word, quoted, word};
use super::{Reader, span};
use crate::code::{Argument, Value};
use crate::sql::Text;

/// Methods that add to a statement.
const MORE: [&str; 9] = [
    "on_conflict_do_nothing",
    "on_conflict_do_update",
    "on_duplicate_key_update",
    "values",
    "where",
    "filter",
    "filter_by",
    "prefix_with",
    "returning",
];

/// A chain of calls, from the inside: `insert(t)`, `.values(…)`, …
struct Link<'t> {
    name: String,
    arguments: Option<Node<'t>>,
    /// What the chain starts from, if it is a method of it: `orders.insert()`.
    object: Option<Node<'t>>,
}

impl<'t> Reader<'t> {
    /// The SQL of a construct; `None` if the call is none.
    pub(super) fn core_text(&mut self, node: Node<'t>) -> Option<Text> {
        let sql = self.core_sql(node)?;
        let mut text = Text::new();
        text.push_for(&sql, span(node));
        Some(text)
    }

    /// What `.values(…)` binds.
    pub(super) fn core_arguments(&mut self, node: Node<'t>) -> Vec<Argument> {
        if node.kind() != "call" {
            return if matches!(node.kind(), "identifier" | "attribute") {
                self.known(self.source(node)).map(|it| it.arguments.clone()).unwrap_or_default()
            } else {
                Vec::new()
            };
        }
        let links = self.chain(node);
        let base = links.first().and_then(|it| it.object).filter(|it| it.kind() == "identifier");
        let known = base.and_then(|it| self.known(self.source(it)));
        let mut found =
            known.filter(|it| it.text.is_some()).map(|it| it.arguments.clone()).unwrap_or_default();
        for link in links {
            if link.name == "values" {
                found.extend(self.pairs(link.arguments));
            }
        }
        found
    }

    /// `orders = Table("orders", metadata, …)`.
    pub(super) fn table_object(&mut self, node: Node<'t>) -> Option<String> {
        if node.kind() != "call" {
            return None;
        }
        let function = node.child_by_field_name("function")?;
        if last_word(self.source(function)) != "Table" {
            return None;
        }
        match self.value_of(node.child_by_field_name("arguments")?.named_child(0)?) {
            Value::Text(name) => Some(name),
            _ => None,
        }
    }

    fn chain(&self, node: Node<'t>) -> Vec<Link<'t>> {
        let mut links = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at.filter(|it| it.kind() == "call" && links.len() < 30) {
            let Some(function) = node.child_by_field_name("function") else { break };
            let arguments = node.child_by_field_name("arguments");
            let object = function.child_by_field_name("object");
            let name = last_word(self.source(function)).trim().to_owned();
            links.push(Link { name, arguments, object });
            at = object;
        }
        links.reverse();
        links
    }

    fn core_sql(&mut self, node: Node<'t>) -> Option<String> {
        let links = self.chain(node);
        let first = links.first()?;
        // `stmt = stmt.on_conflict_do_update(…)`: what the name already holds, and more.
        if let Some(object) = first.object.filter(|it| it.kind() == "identifier")
            && let Some(known) = self.known(self.source(object)).and_then(|it| it.text.clone())
            && MORE.contains(&first.name.as_str())
        {
            let base = known.as_str().to_owned();
            return (!base.contains(crate::sql::HOLE)).then(|| self.more(base, &links));
        }
        let is_method = first.object.is_some_and(|it| {
            let source = self.source(it);
            self.tables.contains_key(source) || self.tables.contains_key(last_word(source))
        });
        let table_node = if is_method {
            first.object
        } else {
            first
                .arguments
                .and_then(|it| it.named_child(0))
                .filter(|it| matches!(it.kind(), "identifier" | "attribute"))
        };
        let table = self.table_name(table_node?)?;
        match first.name.as_str() {
            "insert" | "pg_insert" | "sqlite_insert" | "mysql_insert" | "upsert"
                if is_method || links.len() > 1 || self.has_database =>
            {
                Some(self.insert_sql(&table, &links))
            }
            "update" if is_method || links.len() > 1 => {
                let pairs: Vec<_> =
                    links.iter().filter(|it| it.name == "values").filter_map(|it| it.arguments).collect();
                let mut sets = Vec::new();
                for arguments in pairs {
                    for pair in self.pairs(Some(arguments)) {
                        sets.extend(pair.name.map(|name| format!("{} = :{}", quoted(&name), word(&name))));
                    }
                }
                if sets.is_empty() {
                    sets.push("\"{values}\" = :values".into());
                }
                Some(format!("UPDATE {table} SET {}{}", sets.join(", "), self.filter(&links)))
            }
            "delete" if is_method || links.len() > 1 || self.has_database => {
                Some(format!("DELETE FROM {table}{}", self.filter(&links)))
            }
            "select" | "query" if self.has_database => {
                Some(format!("SELECT * FROM {table}{}", self.filter(&links)))
            }
            _ => None,
        }
    }

    fn insert_sql(&mut self, table: &str, links: &[Link<'t>]) -> String {
        let mut names: Vec<String> = Vec::new();
        for link in links.iter().filter(|it| it.name == "values") {
            names.extend(self.pairs(link.arguments).into_iter().filter_map(|it| it.name));
        }
        let listed: Vec<&str> = names.iter().map(String::as_str).collect();
        let sql = insert_text(table, &listed);
        self.more(sql, links)
    }

    /// What the chain adds to a statement.
    fn more(&mut self, mut sql: String, links: &[Link<'t>]) -> String {
        if !sql.starts_with("INSERT") {
            let filter = self.filter(links);
            let filter =
                if sql.contains(" WHERE ") { filter.replacen(" WHERE ", " AND ", 1) } else { filter };
            return sql + &filter;
        }
        if let Some(table) =
            sql.strip_suffix(" DEFAULT VALUES").and_then(|it| it.strip_prefix("INSERT INTO "))
        {
            let values: Vec<_> =
                links.iter().filter(|it| it.name == "values").filter_map(|it| it.arguments).collect();
            let names: Vec<String> =
                values.into_iter().flat_map(|it| self.pairs(Some(it))).filter_map(|it| it.name).collect();
            sql = insert_text(table, &names.iter().map(String::as_str).collect::<Vec<_>>());
        }
        for link in links {
            let is_update = match link.name.as_str() {
                "on_conflict_do_nothing" => false,
                "on_conflict_do_update" => true,
                "on_duplicate_key_update" => {
                    sql.push_str(" ON DUPLICATE KEY UPDATE \"{values}\" = :values");
                    continue;
                }
                "prefix_with" => {
                    if let Some(Value::Text(prefix)) =
                        link.arguments.and_then(|it| it.named_child(0)).map(|it| self.value_of(it))
                    {
                        sql = sql.replacen("INSERT", &format!("INSERT {prefix}"), 1);
                    }
                    continue;
                }
                _ => continue,
            };
            let nodes = keywords(link.arguments);
            sql.push_str(" ON CONFLICT");
            if let Some(Value::Text(name)) = self.keyword(&nodes, "constraint").map(|it| self.value_of(it)) {
                sql.push_str(&format!(" ON CONSTRAINT {}", quoted(&name)));
            } else if let Some(elements) = self.keyword(&nodes, "index_elements") {
                let columns = self.column_names(elements);
                let columns = if columns.is_empty() { vec!["{index_elements}".to_owned()] } else { columns };
                sql.push_str(&format!(
                    " ({})",
                    columns.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(", ")
                ));
                if self.keyword(&nodes, "index_where").is_some() {
                    sql.push_str(" WHERE :index_where");
                }
            }
            if !is_update {
                sql.push_str(" DO NOTHING");
                continue;
            }
            let sets: Vec<String> = match self.keyword(&nodes, "set_") {
                Some(node) => self.sets(node),
                None => Vec::new(),
            };
            let sets =
                if sets.is_empty() { vec!["\"{set_}\" = excluded.\"{set_}\"".to_owned()] } else { sets };
            sql.push_str(&format!(" DO UPDATE SET {}", sets.join(", ")));
            if self.keyword(&nodes, "where").is_some() {
                sql.push_str(" WHERE :where");
            }
        }
        sql
    }

    /// `set_={"a": stmt.excluded.a}`.
    fn sets(&mut self, node: Node<'t>) -> Vec<String> {
        let mut sets = Vec::new();
        let mut cursor = node.walk();
        let pairs: Vec<_> = node.named_children(&mut cursor).filter(|it| it.kind() == "pair").collect();
        for pair in pairs {
            let (Some(key), Some(value)) =
                (pair.child_by_field_name("key"), pair.child_by_field_name("value"))
            else {
                continue;
            };
            let name = match self.value_of(key) {
                Value::Text(name) => name,
                _ => last_word(self.source(key)).to_owned(),
            };
            let written = self.source(value);
            let value = if written.contains("excluded") {
                format!("excluded.{}", quoted(last_word(written)))
            } else if written.ends_with(&format!(".c.{name}")) {
                // What the row holds: nothing is set.
                quoted(&name)
            } else if self.value_of(value) == Value::Clock {
                "now()".into()
            } else if written.contains('+') {
                format!("{} + :{}", quoted(&name), word(&name))
            } else {
                format!(":{}", word(&name))
            };
            sets.push(format!("{} = {value}", quoted(&name)));
        }
        sets
    }

    /// The WHERE of a chain's conditions.
    fn filter(&mut self, links: &[Link<'t>]) -> String {
        let mut conditions = Vec::new();
        for link in links.iter().filter(|it| matches!(it.name.as_str(), "where" | "filter" | "filter_by")) {
            let Some(arguments) = link.arguments else { continue };
            let mut cursor = arguments.walk();
            let nodes: Vec<_> = arguments.named_children(&mut cursor).collect();
            for node in nodes {
                conditions.push(self.condition(node));
            }
        }
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) }
    }

    fn condition(&mut self, node: Node<'t>) -> String {
        let source = self.source(node);
        if node.kind() == "keyword_argument" {
            let name = node.child_by_field_name("name").map_or("", |it| self.source(it));
            return format!("{} = :{}", quoted(name), word(name));
        }
        if node.kind() == "comparison_operator"
            && let Some(left) = node.named_child(0).filter(|it| it.kind() == "attribute")
        {
            let column = last_word(self.source(left));
            let operator = node.child(1).map_or("=", |it| self.source(it));
            let operator = match operator {
                "==" => "=",
                "!=" => "<>",
                "<" | ">" | "<=" | ">=" => operator,
                _ => "=",
            };
            return format!("{} {operator} :{}", quoted(column), word(column));
        }
        let is_negated = source.starts_with('~') || source.starts_with("not_(");
        for (method, operator) in [
            (".notin_(", "NOT IN"),
            (".not_in(", "NOT IN"),
            (".in_(", if is_negated { "NOT IN" } else { "IN" }),
        ] {
            if let Some((before, _)) = source.split_once(method) {
                let column = last_word(before.trim_start_matches('~').trim_start_matches("not_("));
                return format!("{} {operator} (:{})", quoted(column), word(column));
            }
        }
        ":condition".into()
    }

    /// `.values(a=…)`, `.values({"a": …})`, `.values([{…}, …])`.
    fn pairs(&mut self, arguments: Option<Node<'t>>) -> Vec<Argument> {
        let Some(arguments) = arguments else { return Vec::new() };
        let mut cursor = arguments.walk();
        let nodes: Vec<_> = arguments.named_children(&mut cursor).collect();
        let mut found = Vec::new();
        for node in nodes {
            if node.kind() == "keyword_argument" {
                let name = node.child_by_field_name("name").map(|it| self.source(it).to_owned());
                found.push(Argument { name, value: self.value_of(node), span: span(node) });
            } else {
                found.extend(self.elements(node).into_iter().filter(|it| it.name.is_some()));
            }
        }
        found
    }

    fn column_names(&mut self, node: Node<'t>) -> Vec<String> {
        let mut cursor = node.walk();
        let nodes: Vec<_> = node.named_children(&mut cursor).collect();
        nodes
            .into_iter()
            .map(|it| match self.value_of(it) {
                Value::Text(name) => name,
                _ => last_word(self.source(it)).to_owned(),
            })
            .collect()
    }

    fn table_name(&self, node: Node<'t>) -> Option<String> {
        let source = self.source(node);
        let source = source.strip_suffix(".__table__").unwrap_or(source);
        if let Some(table) = self.tables.get(source) {
            return Some(table.split('.').map(quoted).collect::<Vec<_>>().join("."));
        }
        matches!(node.kind(), "identifier" | "attribute").then(|| quoted(&format!("{{{source}}}")))
    }
}

fn keywords(arguments: Option<Node<'_>>) -> Vec<Node<'_>> {
    let Some(arguments) = arguments else { return Vec::new() };
    let mut cursor = arguments.walk();
    arguments.named_children(&mut cursor).collect()
}
