//! What every frontend over tree-sitter needs: parsing, places, and the places where the syntax is broken.

use tree_sitter::{Language, Node, Parser, Tree};

use super::{Span, Unread};

/// Parses; `None` if the grammar can't be used.
pub(crate) fn parse(language: &Language, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    parser.parse(text, None)
}

/// A node's place.
pub(crate) fn span(node: Node<'_>) -> Span {
    Span { start: node.start_byte(), end: node.end_byte() }
}

/// A text in at most 200 bytes, its white space made one.
pub(crate) fn short(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if out.len() + word.len() > 200 {
            out.push('…');
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// A callee as written, without white space; at most 300 bytes of its end, which says most.
pub(crate) fn callee(text: &str) -> String {
    let mut out: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if out.len() > 300 {
        let mut from = out.len() - 300;
        while !out.is_char_boundary(from) {
            from += 1;
        }
        out.drain(..from);
    }
    out
}

/// Where the syntax is broken, if that matters: the file is about a database. At most three places.
pub(crate) fn errors(root: Node<'_>, matters: bool) -> Vec<Unread> {
    let mut found = Vec::new();
    if !matters || !root.has_error() {
        return found;
    }
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            found.push(Unread { span: span(node), why: "the syntax isn't understood here".into() });
            if found.len() == 3 {
                return found;
            }
        } else if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}
