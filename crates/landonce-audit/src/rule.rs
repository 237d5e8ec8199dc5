//! What a rule is, and the list of them.

use crate::code::{Span, Unit};
use crate::rules::facts::Facts;
use crate::schema::Schema;

/// A rule: one file under `rules/`, one page under `docs/reference/audit/`, one name that is stable.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// `check-then-insert`
    pub id: &'static str,
    /// One line.
    pub title: &'static str,
    /// What goes wrong, in one or two sentences.
    pub why: &'static str,
    /// How much it matters.
    pub level: Level,
    /// When the fix can be applied without a look; `None` where somebody has to decide every time. A fix is safe if it changes
    /// no result for data that is right today.
    pub safe_fix: Option<&'static str>,
    /// Looks at everything that was read. Order of findings doesn't matter.
    pub check: fn(&Project<'_>, &mut Vec<Hit>),
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Not safe to retry: exit code 1.
    Error,
    /// Costs something, or is unsafe together with something that can't be seen from here; exit code 0.
    Warning,
}

/// Everything that was read.
#[derive(Debug)]
pub struct Project<'a> {
    /// The files.
    pub units: &'a [Unit],
    /// The tables.
    pub schema: &'a Schema,
    /// Both, walked through: built once, before the rules run.
    pub(crate) facts: Facts<'a>,
}

impl<'a> Project<'a> {
    /// Walks through what was read.
    pub(crate) fn new(units: &'a [Unit], schema: &'a Schema) -> Self {
        Self { units, schema, facts: Facts::of(units, schema) }
    }
}

/// What a rule has found.
#[derive(Debug)]
pub struct Hit {
    /// The unit, by its index; `None` for a live schema's table.
    pub unit: Option<usize>,
    /// What is underlined.
    pub span: Span,
    /// How much it matters here; a rule's own level is the gravest that it can give.
    pub level: Level,
    /// What is wrong here, with names: one sentence.
    pub message: String,
    /// What to do: one sentence, with SQL where SQL is the answer.
    pub fix: String,
    /// Whether the fix is safe here, by what the rule's `safe_fix` says.
    pub is_fix_safe: bool,
}

/// Every rule, in the order of their names.
pub fn all() -> &'static [&'static Rule] {
    crate::rules::ALL
}

/// A rule's page, or that of another name which stands in reports (`could-not-read`), as it stands in `docs/reference/audit/`.
pub fn page(id: &str) -> Option<&'static str> {
    macro_rules! page {
        ($name:literal) => {
            include_str!(concat!("../../../docs/reference/audit/", $name, ".md"))
        };
    }
    Some(match id {
        "bad-allow" => page!("bad-allow"),
        "check-then-insert" => page!("check-then-insert"),
        "commit-per-row" => page!("commit-per-row"),
        "conflict-on-constraint" => page!("conflict-on-constraint"),
        "could-not-read" => page!("could-not-read"),
        "counter-without-inbox" => page!("counter-without-inbox"),
        "delete-by-absence" => page!("delete-by-absence"),
        "generated-identity" => page!("generated-identity"),
        "joined-key-without-separator" => page!("joined-key-without-separator"),
        "nullable-unique" => page!("nullable-unique"),
        "period-from-clock" => page!("period-from-clock"),
        "retry-on-constraint-error" => page!("retry-on-constraint-error"),
        "side-effect-in-task" => page!("side-effect-in-task"),
        "statement-retry" => page!("statement-retry"),
        "unconditional-append" => page!("unconditional-append"),
        "unguarded-upsert" => page!("unguarded-upsert"),
        "unused-allow" => page!("unused-allow"),
        "volatile-key" => page!("volatile-key"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_a_report_has_its_page() {
        let others = [crate::UNREAD.id, crate::allow::BAD.id, crate::allow::UNUSED.id];
        for id in all().iter().map(|rule| rule.id).chain(others) {
            assert!(page(id).is_some_and(|page| page.starts_with(&format!("# {id}\n"))), "{id}");
        }
    }
}
