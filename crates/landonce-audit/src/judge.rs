//! Applies the rules, and makes findings of what they hit.

use std::collections::BTreeMap;

use crate::allow;
use crate::code::{Span, Unit};
use crate::finding::{Finding, Lines, Meta, Report, Said};
use crate::read;
use crate::rule::{Hit, Project, Rule};
use crate::schema::Schema;

/// Applies the rules; `place` names the live database.
pub(crate) fn judge(
    units: &[Unit],
    schema: &Schema,
    place: &str,
    rules: &[&'static Rule],
    report: &mut Report,
) {
    let project = Project::new(units, schema);
    let mut hits: BTreeMap<Option<usize>, Vec<(&Rule, Hit)>> = BTreeMap::new();
    for rule in rules {
        let mut found = Vec::new();
        (rule.check)(&project, &mut found);
        for hit in found {
            hits.entry(hit.unit).or_default().push((*rule, hit));
        }
    }
    for (rule, hit) in hits.remove(&None).unwrap_or_default() {
        let mut finding = make(rule, hit, None);
        finding.file = place.into();
        report.findings.push(finding);
    }
    let ran = |id: &str| rules.iter().any(|it| it.id == id);
    for (index, unit) in units.iter().enumerate() {
        let lines = Lines::new(&unit.text);
        let found: Vec<(Span, Finding)> = hits
            .remove(&Some(index))
            .unwrap_or_default()
            .into_iter()
            .map(|(rule, hit)| (hit.span, make(rule, hit, Some((unit, &lines)))))
            .collect();
        allow::apply(unit, &lines, &ran, found, &mut report.findings, &mut report.allowed);
        report.unread.extend(read::unread(unit, &lines));
    }
    report.findings.sort_by(|a, b| {
        (&a.file, a.line, a.column, a.rule, &a.message).cmp(&(&b.file, b.line, b.column, b.rule, &b.message))
    });
    // One text that is sent from two places is one finding.
    report.findings.dedup_by(|a, b| {
        (&a.file, a.line, a.column, a.end_line, a.end_column, a.rule)
            == (&b.file, b.line, b.column, b.end_line, b.end_column, b.rule)
            && a.message == b.message
    });
    report
        .unread
        .dedup_by(|a, b| (&a.file, a.line, a.column, &a.message) == (&b.file, b.line, b.column, &b.message));
}

fn make(rule: &Rule, hit: Hit, unit: Option<(&Unit, &Lines<'_>)>) -> Finding {
    let meta = Meta { id: rule.id, why: rule.why };
    let level = hit.level;
    let said = Said { message: hit.message, fix: hit.fix, is_fix_safe: hit.is_fix_safe };
    Finding::new(&meta, level, unit.map(|(unit, lines)| (unit, lines, hit.span)), said)
}
