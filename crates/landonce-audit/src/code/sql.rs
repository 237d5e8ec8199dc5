//! A plain SQL script: one function without a name whose statements run one after another.

use super::{Call, Function, Span, Step, Unread, Use};
use crate::sql::{Style, Text, read};

/// Reads a script.
pub(crate) fn read_file(text: &str) -> (Vec<Function>, Vec<Unread>) {
    let mut unread = Vec::new();
    let style = Style { is_script: true, ..Style::default() };
    let statements = read(&Text::verbatim(text, 0), &style, &mut unread);
    let body = statements
        .into_iter()
        .map(|statement| {
            let span = statement.span;
            let call = Call { span, callee: String::new(), arguments: Vec::new(), assigned_to: None };
            Step::Sql(Box::new(Use {
                span,
                call,
                statements: vec![statement],
                arguments: Vec::new(),
                is_many: false,
            }))
        })
        .collect();
    let span = Span { start: 0, end: text.len() };
    (vec![Function { name: String::new(), span, decorators: Vec::new(), body }], unread)
}
