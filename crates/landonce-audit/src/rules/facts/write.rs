//! What a statement writes: every INSERT, UPDATE, DELETE, MERGE, TRUNCATE, COPY in it, those inside of a WITH included.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, CopySource, Delete, DoUpdate, Expr, FromTable, Insert,
    Merge, MergeAction, MergeUpdateKind, ObjectName, OnConflictAction, OnInsert, Query, SelectItem, SetExpr,
    SqliteOnConflict, Statement as Tree, TableFactor, TableObject, TableWithJoins, Update,
};

use super::tables::Name;
use crate::schema::Table;
use crate::sql::walk;

/// A write.
#[derive(Clone)]
pub(crate) struct Write<'a> {
    pub(crate) table: Name,
    pub(crate) kind: Kind<'a>,
}

/// Which kind of write.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    Insert(&'a Insert),
    Update(&'a Update),
    Delete(&'a Delete),
    Merge(&'a Merge),
    Truncate,
    Copy(&'a [sqlparser::ast::Ident]),
    Drop,
    Create,
}

/// Everything that a statement writes, inner statements first.
pub(crate) fn writes(tree: &Tree) -> Vec<Write<'_>> {
    let mut found = Vec::new();
    // The visitor lends each node for the call only, so nested statements are looked for by hand.
    gather(tree, &mut found);
    found
}

fn gather<'a>(tree: &'a Tree, found: &mut Vec<Write<'a>>) {
    match tree {
        Tree::Insert(insert) => {
            if let Some(source) = &insert.source {
                gather_query(source, found);
            }
            if let TableObject::TableName(name) = &insert.table {
                found.push(Write { table: Name::of(name), kind: Kind::Insert(insert) });
            }
        }
        Tree::Update(update) => {
            if let Some(name) = relation(&update.table.relation) {
                found.push(Write { table: Name::of(name), kind: Kind::Update(update) });
            }
        }
        Tree::Delete(delete) => {
            if let Some(name) = delete_target(delete) {
                found.push(Write { table: Name::of(name), kind: Kind::Delete(delete) });
            }
        }
        Tree::Merge(merge) => {
            if let Some(name) = relation(&merge.table) {
                found.push(Write { table: Name::of(name), kind: Kind::Merge(merge) });
            }
        }
        Tree::Truncate(truncate) => {
            found.extend(
                truncate
                    .table_names
                    .iter()
                    .map(|target| Write { table: Name::of(&target.name), kind: Kind::Truncate }),
            );
        }
        Tree::Copy { source: CopySource::Table { table_name, columns }, to: false, .. } => {
            found.push(Write { table: Name::of(table_name), kind: Kind::Copy(columns) });
        }
        Tree::CreateTable(create) if !create.if_not_exists => {
            found.push(Write { table: Name::of(&create.name), kind: Kind::Create });
        }
        Tree::Drop { object_type: sqlparser::ast::ObjectType::Table, names, .. } => {
            found.extend(names.iter().map(|name| Write { table: Name::of(name), kind: Kind::Drop }));
        }
        Tree::Query(query) => gather_query(query, found),
        _ => {}
    }
}

fn gather_query<'a>(query: &'a Query, found: &mut Vec<Write<'a>>) {
    if let Some(with) = &query.with {
        with.cte_tables.iter().for_each(|cte| gather_query(&cte.query, found));
    }
    match &*query.body {
        SetExpr::Insert(inner) | SetExpr::Update(inner) | SetExpr::Delete(inner) | SetExpr::Merge(inner) => {
            gather(inner, found);
        }
        SetExpr::Query(inner) => gather_query(inner, found),
        _ => {}
    }
}

fn relation(factor: &TableFactor) -> Option<&ObjectName> {
    match factor {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

fn delete_target(delete: &Delete) -> Option<&ObjectName> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let first: &TableWithJoins = from.first()?;
    // DELETE t FROM t JOIN …: the first list names the target.
    relation(&first.relation)
}

/// Every table that is named in something.
pub(crate) fn relations<V: sqlparser::ast::Visit>(node: &V) -> Vec<Name> {
    let mut found = Vec::new();
    let _ = walk::relations(node, |name| {
        found.push(Name::of(name));
        ControlFlow::<()>::Continue(())
    });
    found
}

/// Whether a statement, or one inside of it, takes a lock that keeps others from doing the same.
pub(crate) fn is_lock(tree: &Tree) -> bool {
    if matches!(tree, Tree::Lock(_) | Tree::LockTables { .. }) {
        return true;
    }
    let text = tree.to_string().to_ascii_lowercase();
    text.contains("advisory")
        || text.contains("get_lock(")
        || text.contains("serializable")
        || text.contains("applock")
        || text.contains("for update")
        || text.contains("for no key update")
        || text.contains("holdlock")
}

/// Whether a statement opens or closes a transaction.
pub(crate) enum Boundary {
    Begin,
    End,
}

pub(crate) fn boundary(tree: &Tree) -> Option<Boundary> {
    match tree {
        Tree::StartTransaction { .. } => Some(Boundary::Begin),
        Tree::Commit { .. } | Tree::Rollback { savepoint: None, .. } => Some(Boundary::End),
        _ => None,
    }
}

/// How an INSERT meets a row that is there already.
#[derive(Clone, Copy)]
pub(crate) enum Conflict<'a> {
    /// It fails, or there is no key and it appends.
    None,
    /// The row stays.
    Nothing(Option<&'a ConflictTarget>),
    /// The row is set.
    Update(Option<&'a ConflictTarget>, &'a DoUpdate),
    /// MySQL's ON DUPLICATE KEY UPDATE.
    Duplicate(&'a [Assignment]),
    /// REPLACE INTO, INSERT OR REPLACE: the row is deleted and inserted.
    Replace,
    /// INSERT OVERWRITE: the partition is replaced.
    Overwrite,
}

pub(crate) fn conflict(insert: &Insert) -> Conflict<'_> {
    match (&insert.on, insert.or) {
        (Some(OnInsert::DuplicateKeyUpdate(assignments)), _) => Conflict::Duplicate(assignments),
        (Some(OnInsert::OnConflict(on)), _) => match &on.action {
            OnConflictAction::DoNothing => Conflict::Nothing(on.conflict_target.as_ref()),
            OnConflictAction::DoUpdate(update) => Conflict::Update(on.conflict_target.as_ref(), update),
        },
        (_, Some(SqliteOnConflict::Ignore)) => Conflict::Nothing(None),
        (_, Some(SqliteOnConflict::Replace)) => Conflict::Replace,
        _ if insert.ignore => Conflict::Nothing(None),
        _ if insert.replace_into => Conflict::Replace,
        _ if insert.overwrite => Conflict::Overwrite,
        _ => Conflict::None,
    }
}

/// The columns of ON CONFLICT (…).
pub(crate) fn target_columns(target: Option<&ConflictTarget>) -> Vec<String> {
    match target {
        Some(ConflictTarget::Columns { columns, .. }) => {
            columns.iter().map(|column| column.value.to_ascii_lowercase()).collect()
        }
        _ => Vec::new(),
    }
}

/// The columns of an INSERT, in lower case; those of the table where it names none.
pub(crate) fn columns(insert: &Insert, table: Option<&Table>) -> Vec<String> {
    if insert.columns.is_empty() {
        return table
            .map(|table| table.columns.iter().map(|column| column.name.clone()).collect())
            .unwrap_or_default();
    }
    insert.columns.iter().map(|column| Name::of(column).bare).collect()
}

/// What an INSERT gives to its column number `at`: one expression for a SELECT, one per row for VALUES.
pub(crate) fn given(insert: &Insert, at: usize) -> Vec<&Expr> {
    let Some(source) = &insert.source else { return Vec::new() };
    match &*source.body {
        SetExpr::Values(values) => values.rows.iter().filter_map(|row| row.content.get(at)).collect(),
        SetExpr::Select(select) => match select.projection.get(at) {
            Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => vec![expr],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Whether an INSERT takes its rows from a query over tables.
pub(crate) fn select_source(insert: &Insert) -> Option<&Query> {
    let source = insert.source.as_deref()?;
    (!matches!(&*source.body, SetExpr::Values(_))).then_some(source)
}

/// The columns that an assignment sets, in lower case.
pub(crate) fn assigned(assignment: &Assignment) -> Vec<String> {
    match &assignment.target {
        AssignmentTarget::ColumnName(name) => vec![Name::of(name).bare],
        AssignmentTarget::Tuple(names) => names.iter().map(|name| Name::of(name).bare).collect(),
    }
}

/// The assignments of MERGE … WHEN MATCHED THEN UPDATE that isn't guarded by a condition.
pub(crate) fn merge_updates(merge: &Merge) -> Option<&[Assignment]> {
    merge.clauses.iter().find_map(|clause| match &clause.action {
        MergeAction::Update(update) if clause.predicate.is_none() && update.update_predicate.is_none() => {
            match &update.kind {
                MergeUpdateKind::Set(assignments) => Some(assignments.as_slice()),
                MergeUpdateKind::Wildcard => Some(&[][..]),
            }
        }
        _ => None,
    })
}

/// Whether anything but reading happens.
pub(crate) fn is_write(tree: &Tree) -> bool {
    walk::statements(tree, |inner| match inner {
        Tree::Insert(_) | Tree::Update(_) | Tree::Delete(_) | Tree::Merge(_) | Tree::Truncate(_) => {
            ControlFlow::Break(())
        }
        Tree::Copy { to: false, .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}
