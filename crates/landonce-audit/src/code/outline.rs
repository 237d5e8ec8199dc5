//! Steps as indented lines, for tests of frontends.

use super::{Function, Step};

/// All functions, each with its steps.
pub(crate) fn outline(functions: &[Function]) -> String {
    let mut out = String::new();
    for function in functions.iter().filter(|it| !it.body.is_empty() || !it.name.is_empty()) {
        let decorators: String = function.decorators.iter().map(|it| format!("@{it} ")).collect();
        out.push_str(&format!("{decorators}fn {}\n", function.name));
        steps(&function.body, 1, &mut out);
    }
    out
}

fn steps(body: &[Step], depth: usize, out: &mut String) {
    let pad = "  ".repeat(depth);
    for step in body {
        match step {
            Step::Sql(it) => {
                let many = if it.is_many { " many" } else { "" };
                for statement in &it.statements {
                    out.push_str(&format!("{pad}sql{many} {} | {}", it.call.callee, statement.tree));
                    let bound: Vec<String> = statement
                        .placeholders
                        .iter()
                        .map(|key| format!("{key}={:?}", it.bound(key)))
                        .collect();
                    if !bound.is_empty() {
                        out.push_str(&format!(" | {}", bound.join(" ")));
                    }
                    out.push('\n');
                }
            }
            Step::Call(it) => {
                let target = it.assigned_to.as_ref().map(|it| format!("{it} = ")).unwrap_or_default();
                out.push_str(&format!("{pad}call {target}{}\n", it.callee));
            }
            Step::Loop(it) => {
                out.push_str(&format!("{pad}loop {}\n", it.head));
                steps(&it.body, depth + 1, out);
            }
            Step::Branch(it) => {
                steps(&it.condition, depth, out);
                out.push_str(&format!("{pad}if {}\n", it.test));
                steps(&it.then, depth + 1, out);
                if !it.otherwise.is_empty() {
                    out.push_str(&format!("{pad}else\n"));
                    steps(&it.otherwise, depth + 1, out);
                }
            }
            Step::Try(it) => {
                out.push_str(&format!("{pad}try\n"));
                steps(&it.body, depth + 1, out);
                for handler in &it.handlers {
                    out.push_str(&format!("{pad}catch {}\n", handler.catches.join(", ")));
                    steps(&handler.body, depth + 1, out);
                }
            }
            Step::Scope(it) => {
                out.push_str(&format!("{pad}scope {}\n", it.opener.callee));
                steps(&it.body, depth + 1, out);
            }
        }
    }
}
