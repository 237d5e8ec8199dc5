//! `try`: what is tried, and which errors are taken by whom.

use tree_sitter::Node;

use super::{Reader, span};
use crate::code::{Handler, Step, Try};

impl<'t> Reader<'t> {
    pub(super) fn try_statement(&mut self, node: Node<'t>, out: &mut Vec<Step>) {
        let mut it = Try { span: span(node), body: Vec::new(), handlers: Vec::new() };
        if let Some(body) = node.child_by_field_name("body") {
            self.block(body, &mut it.body);
        }
        let mut cursor = node.walk();
        let mut finally = Vec::new();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "except_clause" | "except_group_clause" => {
                    let catches =
                        child.child_by_field_name("value").map(|it| self.catches(it)).unwrap_or_default();
                    let mut inner = child.walk();
                    let block = child.named_children(&mut inner).find(|it| it.kind() == "block");
                    let body = self.branch(block);
                    it.handlers.push(Handler { span: span(child), catches, body });
                }
                "else_clause" => {
                    if let Some(body) = child.child_by_field_name("body") {
                        self.block(body, &mut it.body);
                    }
                }
                "finally_clause" => {
                    let mut inner = child.walk();
                    if let Some(block) = child.named_children(&mut inner).find(|it| it.kind() == "block") {
                        self.block(block, &mut finally);
                    }
                }
                _ => {}
            }
        }
        out.push(Step::Try(it));
        out.extend(finally);
    }

    fn catches(&self, value: Node<'t>) -> Vec<String> {
        match value.kind() {
            "as_pattern" => value.named_child(0).map(|it| self.catches(it)).unwrap_or_default(),
            "tuple" => {
                let mut cursor = value.walk();
                value.named_children(&mut cursor).map(|it| self.source(it).to_owned()).collect()
            }
            _ => vec![self.source(value).to_owned()],
        }
    }
}
