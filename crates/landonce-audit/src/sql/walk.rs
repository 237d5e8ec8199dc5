//! Walks over syntax trees, all of them by one visitor: the parser's code for it is made anew for every type of visitor, and
//! there is a lot of it.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, ObjectName, Select, Statement, Visit, Visitor};

/// Calls `look` with every expression, outer ones first, until it breaks.
pub(crate) fn expressions<B>(
    node: &impl Visit,
    mut look: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk(node, |node| if let Node::Expr(expr) = node { look(expr) } else { ControlFlow::Continue(()) })
}

/// Calls `look` with the name of every relation.
pub(crate) fn relations<B>(
    node: &impl Visit,
    mut look: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk(node, |node| if let Node::Relation(name) = node { look(name) } else { ControlFlow::Continue(()) })
}

/// Calls `look` with every SELECT.
pub(crate) fn selects<B>(
    node: &impl Visit,
    mut look: impl FnMut(&Select) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk(node, |node| if let Node::Select(select) = node { look(select) } else { ControlFlow::Continue(()) })
}

/// Calls `look` with every statement, those inside of others too.
pub(crate) fn statements<B>(
    node: &impl Visit,
    mut look: impl FnMut(&Statement) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk(node, |node| if let Node::Statement(tree) = node { look(tree) } else { ControlFlow::Continue(()) })
}

/// What a walk comes by.
enum Node<'a> {
    Expr(&'a Expr),
    Relation(&'a ObjectName),
    Select(&'a Select),
    Statement(&'a Statement),
}

struct Walker<'a>(&'a mut dyn FnMut(Node<'_>) -> ControlFlow<()>);

impl Visitor for Walker<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        (self.0)(Node::Expr(expr))
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        (self.0)(Node::Relation(relation))
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        (self.0)(Node::Select(select))
    }

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        (self.0)(Node::Statement(statement))
    }
}

fn walk<B>(node: &impl Visit, mut look: impl FnMut(Node<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
    let mut found = ControlFlow::Continue(());
    let _ = node.visit(&mut Walker(&mut |node| match look(node) {
        ControlFlow::Continue(()) => ControlFlow::Continue(()),
        broken @ ControlFlow::Break(_) => {
            found = broken;
            ControlFlow::Break(())
        }
    }));
    found
}
