//! `-- landonce: allow rule-id reason` (in any language's comment) silences one finding, with a reason.
//!
//! It stands on the line before what is found, on its lines, or at the end of the statement. Without a reason, or for a rule
//! that doesn't exist, it silences nothing and is a finding itself; one that silences nothing is a warning.

use crate::code::{Span, Step, Unit};
use crate::finding::{Allowed, Finding, Lines, Meta, Said};
use crate::rule::{self, Level};

/// The comment that allows is wrong.
pub(crate) const BAD: Meta = Meta {
    id: "bad-allow",
    why: "A finding that is silenced without a reason, or under a name that no rule has, can't be judged by the next reader.",
};
/// When it is safe to take away a comment that allows nothing.
pub(crate) const ALWAYS: &str = "Always: the comment does nothing.";

/// The comment that allows has nothing to allow.
pub(crate) const UNUSED: Meta = Meta {
    id: "unused-allow",
    why: "A comment that silences nothing will silence what comes to stand there later.",
};

/// A comment that allows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Allow {
    line: usize,
    span: Span,
    rule: String,
    reason: String,
}

/// Takes out of a unit's findings what comments allow; adds findings about the comments themselves.
pub(crate) fn apply(
    unit: &Unit,
    lines: &Lines<'_>,
    ran: &dyn Fn(&str) -> bool,
    found: Vec<(Span, Finding)>,
    findings: &mut Vec<Finding>,
    allowed: &mut Vec<Allowed>,
) {
    let allows = comments(&unit.text);
    if allows.is_empty() {
        findings.extend(found.into_iter().map(|(_, finding)| finding));
        return;
    }
    let mut used = vec![false; allows.len()];
    let spans = statement_spans(unit);
    for (span, finding) in found {
        let (first, last) = reach(&spans, span, lines);
        let fits = |it: &Allow| {
            it.rule == finding.rule
                && !it.reason.is_empty()
                && ((it.line >= first && it.line <= last) || stands_before(&unit.text, lines, it.line, first))
        };
        match allows.iter().position(fits) {
            Some(index) => {
                used[index] = true;
                allowed.push(Allowed { finding, reason: allows[index].reason.clone() });
            }
            None => findings.push(finding),
        }
    }
    for (allow, is_used) in allows.iter().zip(used) {
        let known = rule::all().iter().any(|it| it.id == allow.rule);
        let (meta, level, message, fix) = if !known {
            let message = if allow.rule.is_empty() {
                "no rule is named".to_owned()
            } else {
                format!("there is no rule `{}`", allow.rule)
            };
            (
                BAD,
                Level::Error,
                message,
                "Name a rule that exists: `landonce: allow rule-id reason`.".to_owned(),
            )
        } else if allow.reason.is_empty() {
            let message = format!("`{}` is allowed without a reason", allow.rule);
            (BAD, Level::Error, message, format!("Say why: `landonce: allow {} because …`.", allow.rule))
        } else if !is_used && ran(&allow.rule) {
            let message = format!("`{}` finds nothing here", allow.rule);
            (UNUSED, Level::Warning, message, "Remove the comment.".to_owned())
        } else {
            continue;
        };
        let said = Said { message, fix, is_fix_safe: meta.id == UNUSED.id };
        findings.push(Finding::new(&meta, level, Some((unit, lines, allow.span)), said));
    }
}

/// Whether only comments and blank lines lie between the line of the comment and the first line.
fn stands_before(text: &str, lines: &Lines<'_>, comment: usize, first: usize) -> bool {
    let _ = text;
    comment < first
        && first - comment <= 10
        && is_comment(lines.line(comment))
        && (comment + 1..first).all(|line| is_comment(lines.line(line)))
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["--", "#", "//", "/*", "*", "{#", "<!--"].iter().any(|mark| line.starts_with(mark))
}

/// The first and the last line of what a finding is about: the statement or call that it stands in.
fn reach(spans: &[Span], span: Span, lines: &Lines<'_>) -> (usize, usize) {
    let (mut start, mut end) = (span.start, span.end);
    for it in spans.iter().filter(|it| it.start <= span.start && span.end <= it.end) {
        start = start.min(it.start);
        end = end.max(it.end);
    }
    (lines.place(start).line, lines.place(end).line)
}

/// The places of statements and calls.
fn statement_spans(unit: &Unit) -> Vec<Span> {
    let mut found = Vec::new();
    for function in &unit.functions {
        collect(&function.body, &mut found);
    }
    found
}

fn collect(steps: &[Step], found: &mut Vec<Span>) {
    for step in steps {
        match step {
            Step::Sql(it) => {
                found.push(it.call.span);
                found.extend(it.statements.iter().map(|it| it.span));
            }
            Step::Call(it) => found.push(it.span),
            Step::Loop(it) => collect(&it.body, found),
            Step::Branch(it) => {
                collect(&it.condition, found);
                collect(&it.then, found);
                collect(&it.otherwise, found);
            }
            Step::Try(it) => {
                collect(&it.body, found);
                for handler in &it.handlers {
                    collect(&handler.body, found);
                }
            }
            Step::Scope(it) => {
                found.push(it.opener.span);
                collect(&it.body, found);
            }
        }
    }
}

/// Every comment that allows, in order.
fn comments(text: &str) -> Vec<Allow> {
    const MARK: &str = "landonce: allow";
    let mut found = Vec::new();
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if let Some(at) = line.find(MARK)
            && ["--", "#", "//", "/*", "*", "<!--"].iter().any(|mark| line[..at].contains(mark))
        {
            let rest = line[at + MARK.len()..].trim_end();
            let rest = ["*/", "#}", "-->"]
                .iter()
                .fold(rest, |rest, end| rest.split(end).next().unwrap_or(rest))
                .trim();
            let (rule, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            found.push(Allow {
                line: index + 1,
                span: Span { start: start + at, end: start + at + MARK.len() + 1 + rest.len() },
                rule: rule.trim_end_matches([':', ',']).to_owned(),
                reason: reason.trim_start_matches(['-', '–', ':', ' ']).trim().to_owned(),
            });
        }
        start += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_of_any_language_allows() {
        for line in [
            "-- landonce: allow check-then-insert one writer only",
            "x() # landonce: allow check-then-insert: one writer only",
            "/* landonce: allow check-then-insert one writer only */ x",
            "{# landonce: allow check-then-insert - one writer only #}",
            "// landonce: allow check-then-insert one writer only",
        ] {
            let found = comments(line);
            assert_eq!(found.len(), 1, "{line}");
            assert_eq!(
                (found[0].rule.as_str(), found[0].reason.as_str()),
                ("check-then-insert", "one writer only"),
                "{line}"
            );
        }
        assert!(comments("print('landonce: allow x y')").is_empty());
    }
}
