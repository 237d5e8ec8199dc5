//! DDL in a program's strings that no call was seen to take: a list of migrations, a constant that another file sends.
//!
//! It says what the tables are, and nothing of what runs when.

use tree_sitter::{Language as Grammar, Node};

use super::{Call, Function, MAPPED, Span, Step, Use, Value, syntax};
use crate::file::{File, Language};
use crate::sql::{Style, Text, read};
use sqlparser::ast::Statement as Tree;

/// Longer strings are data.
const LONGEST: usize = 20_000;

/// The tables that strings of a file declare, as one function that nobody calls.
pub(super) fn read_file(file: &File, text: &str, known: &[Span]) -> Option<Function> {
    if !is_ddl(text) {
        return None;
    }
    let tree = syntax::parse(&grammar(file)?, text)?;
    let mut body = Vec::new();
    let mut waiting = vec![tree.root_node()];
    while let Some(node) = waiting.pop() {
        if is_string(node) {
            let span = syntax::span(node);
            if !known.iter().any(|it| it.start < span.end && span.start < it.end) {
                body.extend(declared(node, text));
            }
            continue;
        }
        let mut cursor = node.walk();
        waiting.extend(node.named_children(&mut cursor));
    }
    body.sort_by_key(Step::span);
    let span = Span { start: 0, end: text.len() };
    (!body.is_empty()).then(|| Function { name: String::new(), span, decorators: Vec::new(), body })
}

fn grammar(file: &File) -> Option<Grammar> {
    Some(match file.language {
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        Language::Go => tree_sitter_go::LANGUAGE.into(),
        Language::Java => tree_sitter_java::LANGUAGE.into(),
        Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        _ => return None,
    })
}

/// A string, but none that documents.
fn is_string(node: Node<'_>) -> bool {
    let is_statement = node.parent().is_some_and(|parent| parent.kind() == "expression_statement");
    !is_statement
        && matches!(
            node.kind(),
            "string"
                | "concatenated_string"
                | "template_string"
                | "raw_string_literal"
                | "interpreted_string_literal"
                | "string_literal"
                | "text_block"
        )
}

fn is_ddl(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    text.contains("create table") || text.contains("create unique index")
}

/// The tables of one string, or of several that stand side by side.
fn declared(node: Node<'_>, text: &str) -> Option<Step> {
    let span = syntax::span(node);
    text.get(span.start..span.end).filter(|written| written.len() < LONGEST && is_ddl(written))?;
    let mut sql = Text::new();
    if node.kind() == "concatenated_string" {
        let mut cursor = node.walk();
        for part in node.named_children(&mut cursor).filter(|part| part.kind() == "string") {
            add(part, text, &mut sql)?;
        }
    } else {
        add(node, text, &mut sql)?;
    }
    let mut statements = read(&sql, &Style::default(), &mut Vec::new());
    statements
        .retain(|it| matches!(it.tree, Tree::CreateTable(_) | Tree::CreateIndex(_) | Tree::AlterTable(_)));
    let call = Call { span, callee: MAPPED.to_owned(), arguments: Vec::new(), assigned_to: None };
    (!statements.is_empty())
        .then(|| Step::Sql(Box::new(Use { span, call, statements, arguments: Vec::new(), is_many: false })))
}

/// Adds what a string says. A template's parts are left open.
fn add(node: Node<'_>, text: &str, sql: &mut Text) -> Option<()> {
    let span = syntax::span(node);
    let written = text.get(span.start..span.end)?;
    let start = written.find(['"', '\'', '`']).unwrap_or(0);
    let is_open = written.starts_with('`') || written[..start].contains(['f', 'F']);
    let quotes: &[char] = &['"', '\'', '`', '#'];
    let inside = written[start..].trim_start_matches(quotes).trim_end_matches(quotes);
    let mut rest = inside;
    let mut at = span.start + written.find(inside).unwrap_or(start);
    while let Some(open) = rest.find('{').filter(|_| is_open) {
        let close = rest[open..].find('}').map(|close| open + close)?;
        let before = rest[..open].trim_end_matches('$');
        sql.push(before, at);
        let hole = Span { start: at + before.len(), end: at + close + 1 };
        let name = rest[open + 1..close].to_owned();
        sql.push_hole(name.clone(), Value::Name(name), hole);
        at += close + 1;
        rest = &rest[close + 1..];
    }
    sql.push(rest, at);
    Some(())
}
