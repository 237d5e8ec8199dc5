//! Which of two records of one identity counts: the rule of the mode, without SQL.

use std::cmp::Ordering;

use landonce_core::column::Type;
use landonce_core::plan::{Guard, Match, StageColumn, TablePlan, WriteMode};
use rusqlite::types::ValueRef;

use super::functions::{compare_decimals, same_json};
use super::render::kept_columns;

/// What becomes of a record that comes behind one of its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// The earlier one counts.
    Drop,
    /// This one counts.
    Replace {
        /// By a higher version, so that conflicts with the earlier one don't matter any more.
        is_newer: bool,
    },
    /// The earlier one counts; this one has its version and other content.
    Conflict,
}

/// The rule of a plan. Records are a row id and then the stage's cells.
pub(super) struct Rule {
    identity: usize,
    is_insert_once: bool,
    is_delete: Option<usize>,
    /// (cell, whether it is text to be compared as a decimal)
    version: Option<(usize, bool)>,
    /// (cell, whether it is compared as JSON)
    content: Vec<(usize, bool)>,
}

impl Rule {
    pub(super) fn new(plan: &TablePlan) -> Self {
        let columns = kept_columns(plan);
        let at = |column| columns.iter().position(|has| *has == column).map(|at| at + 1);
        let is_json = |at: usize| matches!(plan.columns[at].ty, Type::Json | Type::Array(_));
        let identity = match &plan.matching {
            Match::Key { .. } => 1,
            Match::Columns(of) => of.len(),
        };
        let mut content: Vec<(usize, bool)> = match &plan.guard {
            Guard::Digest { .. } => at(StageColumn::Digest).map(|cell| (cell, false)).into_iter().collect(),
            Guard::Columns => (0..plan.columns.len())
                .filter(|at| !plan.unguarded.contains(at))
                .filter_map(|column| Some((at(StageColumn::Column(column))?, is_json(column))))
                .filter(|(cell, _)| *cell > identity)
                .collect(),
        };
        content.extend(at(StageColumn::Present).map(|cell| (cell, false)));
        let version = plan.version.filter(|_| plan.mode == WriteMode::Upsert);
        let is_decimal = |at: usize| matches!(plan.columns[at].ty, Type::Decimal { .. });
        Self {
            identity,
            is_insert_once: plan.mode == WriteMode::InsertOnce,
            is_delete: at(StageColumn::IsDelete),
            version: version.and_then(|column| Some((at(StageColumn::Column(column))?, is_decimal(column)))),
            content,
        }
    }

    /// The identity's cells.
    pub(super) fn identity<'r, 'v>(&self, record: &'r [ValueRef<'v>]) -> &'r [ValueRef<'v>] {
        &record[1..=self.identity]
    }

    /// What becomes of `next`, which comes behind `kept`.
    pub(super) fn fold(&self, kept: &[ValueRef<'_>], next: &[ValueRef<'_>]) -> Fold {
        let is_delete =
            |record: &[ValueRef<'_>]| self.is_delete.is_some_and(|at| record[at] == ValueRef::Integer(1));
        // A put and a delete keep their order: the last one counts, in every mode, unless it is older.
        let is_turn = is_delete(kept) || is_delete(next);
        let replaced = Fold::Replace { is_newer: false };
        let Some((at, is_decimal)) = self.version else {
            return if self.is_insert_once && !is_turn { Fold::Drop } else { replaced };
        };
        match compare(next[at], kept[at], is_decimal) {
            Ordering::Less => Fold::Drop,
            Ordering::Greater => Fold::Replace { is_newer: true },
            Ordering::Equal if is_turn => replaced,
            Ordering::Equal if self.is_same_content(kept, next) => Fold::Drop,
            Ordering::Equal => Fold::Conflict,
        }
    }

    fn is_same_content(&self, a: &[ValueRef<'_>], b: &[ValueRef<'_>]) -> bool {
        let text = |cell: ValueRef<'_>| match cell {
            ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        };
        self.content.iter().all(|&(at, is_json)| {
            a[at] == b[at] || (is_json && same_json(text(a[at]).as_deref(), text(b[at]).as_deref()))
        })
    }
}

/// Orders two versions: integers, decimals as text, or times in fixed-width text.
fn compare(a: ValueRef<'_>, b: ValueRef<'_>, is_decimal: bool) -> Ordering {
    match (a, b) {
        (ValueRef::Integer(a), ValueRef::Integer(b)) => a.cmp(&b),
        (ValueRef::Text(a), ValueRef::Text(b)) if is_decimal => {
            let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
            compare_decimals(text(a), text(b)).unwrap_or_else(|| a.cmp(b))
        }
        (ValueRef::Text(a), ValueRef::Text(b)) => a.cmp(b),
        // A delete record without a version stands where it came.
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use landonce_core::plan::{Absent, From, KeyForm, PlanColumn, TableName};

    use super::*;

    fn rule(mode: WriteMode, version: Option<Type>) -> Rule {
        Rule::new(&plan(mode, version))
    }

    fn plan(mode: WriteMode, version: Option<Type>) -> TablePlan {
        let is_versioned = version.is_some();
        let column = |name: &str, ty| PlanColumn {
            name: name.into(),
            from: From::Field(name.into()),
            ty,
            sql_type: None,
            nullable: true,
        };
        TablePlan {
            table: TableName { schema: None, name: "t".into() },
            create: true,
            columns: vec![column("j", Type::Json), column("v", version.unwrap_or(Type::INTEGER))],
            matching: Match::Key { column: "k".into(), form: KeyForm::Uuid },
            guard: Guard::Columns,
            run_id: None,
            revision: None,
            version: is_versioned.then_some(1),
            mode,
            absent: Absent::Replace,
            unguarded: Vec::new(),
            has_deletes: true,
            scope: None,
            tombstone: None,
            history: None,
            sender_id: false,
        }
    }

    /// A record: its row id, key, content, version, whether it deletes, and its place.
    fn record<'v>(json: &'v str, version: ValueRef<'v>, is_delete: i64) -> Vec<ValueRef<'v>> {
        let zero = ValueRef::Integer(0);
        let (key, json) = (ValueRef::Blob(b"k"), ValueRef::Text(json.as_bytes()));
        vec![zero, key, json, version, ValueRef::Integer(is_delete), zero, zero, zero]
    }

    const REPLACE: Fold = Fold::Replace { is_newer: false };
    const NEWER: Fold = Fold::Replace { is_newer: true };

    #[test]
    fn without_a_version_the_order_decides() {
        let (put, gone) = (record("{}", ValueRef::Null, 0), record("{}", ValueRef::Null, 1));
        let (upsert, once) = (rule(WriteMode::Upsert, None), rule(WriteMode::InsertOnce, None));
        for (kept, next, by_upsert, by_once) in [
            (&put, &put, REPLACE, Fold::Drop),
            (&put, &gone, REPLACE, REPLACE),
            (&gone, &put, REPLACE, REPLACE),
        ] {
            assert_eq!((upsert.fold(kept, next), once.fold(kept, next)), (by_upsert, by_once));
        }
    }

    #[test]
    fn with_a_version_the_higher_counts_and_the_same_must_be_the_same() {
        let text = |text: &'static str| ValueRef::Text(text.as_bytes());
        for (ty, low, high) in [
            (Type::INTEGER, ValueRef::Integer(-1), ValueRef::Integer(1)),
            (Type::DECIMAL, text("9.5"), text("10.25")),
            (Type::Date, text("2024-09-30"), text("2024-10-01")),
        ] {
            let rule = rule(WriteMode::Upsert, Some(ty));
            let fold = |a: (&str, ValueRef<'_>, i64), b: (&str, ValueRef<'_>, i64)| {
                rule.fold(&record(a.0, a.1, a.2), &record(b.0, b.1, b.2))
            };
            assert_eq!(fold(("{}", low, 0), ("{}", high, 0)), NEWER);
            assert_eq!(fold(("{}", high, 0), ("{}", low, 0)), Fold::Drop);
            assert_eq!(fold(("{\"a\":1,\"b\":2}", low, 0), ("{\"b\":2.0,\"a\":1}", low, 0)), Fold::Drop);
            assert_eq!(fold(("{}", low, 0), ("[]", low, 0)), Fold::Conflict);
            assert_eq!(fold(("{}", low, 0), ("{}", low, 1)), REPLACE);
            assert_eq!(fold(("{}", high, 0), ("{}", low, 1)), Fold::Drop);
            assert_eq!(fold(("{}", high, 0), ("{}", ValueRef::Null, 1)), REPLACE);
        }
    }

    #[test]
    fn changes_of_one_version_are_the_same_only_if_they_bring_the_same_fields() {
        let plan = TablePlan { absent: Absent::Keep, ..plan(WriteMode::Upsert, Some(Type::INTEGER)) };
        let change = |present| {
            let mut change = record("{}", ValueRef::Integer(1), 0);
            change.insert(4, ValueRef::Integer(present));
            change
        };
        assert_eq!(Rule::new(&plan).fold(&change(0b11), &change(0b11)), Fold::Drop);
        assert_eq!(Rule::new(&plan).fold(&change(0b11), &change(0b10)), Fold::Conflict);
    }
}
