//! Tables from DDL, wherever it stands: in scripts, in migrations, in the strings of programs.

use sqlparser::ast::{
    AlterTableOperation, ColumnDef, ColumnOption, CreateIndex, CreateTable, GeneratedAs, IndexColumn,
    NullsDistinctOption, ObjectName, Spanned, Statement as Tree, TableConstraint,
};

use super::{Column, Schema, Table, Unique};
use crate::code::{MAPPED, Unit};
use crate::sql::{Statement, expr};

/// Collects every declaration. What is declared twice is what it was first; columns and constraints are added.
pub(crate) fn collect(units: &[Unit]) -> Schema {
    let mut schema = Schema::default();
    let mut later = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        for usage in unit.uses() {
            for statement in &usage.statements {
                match &statement.tree {
                    Tree::CreateTable(create) => {
                        create_table(&mut schema, create, statement, index, usage.call.callee == MAPPED);
                    }
                    Tree::CreateIndex(_) | Tree::AlterTable(_) => later.push(statement),
                    _ => {}
                }
            }
        }
    }
    // A migration may stand in a file that sorts before the one that makes the table.
    for statement in later {
        match &statement.tree {
            Tree::CreateIndex(create) => create_index(&mut schema, create, statement),
            Tree::AlterTable(alter) => {
                let name = expr::name(&alter.name);
                for operation in &alter.operations {
                    alter_table(&mut schema, &name, operation, statement);
                }
            }
            _ => {}
        }
    }
    schema.shorten();
    super::rowid::mark(&mut schema, units);
    schema
}

fn create_table(
    schema: &mut Schema,
    create: &CreateTable,
    statement: &Statement,
    unit: usize,
    is_mapped: bool,
) {
    let key = expr::name(&create.name);
    if schema.tables.contains_key(&key) || (create.columns.is_empty() && create.constraints.is_empty()) {
        return;
    }
    let span = statement.place(create.name.span());
    let mut table =
        Table { name: written(&create.name), declared: Some((unit, span)), is_mapped, ..Table::default() };
    for column in &create.columns {
        add_column(schema, &mut table, column, statement);
    }
    for constraint in &create.constraints {
        add_constraint(schema, &mut table, constraint, statement);
    }
    // Another table may have pointed here before this one was read.
    if let Some(known) = schema.pointed_at(&key) {
        table.is_referenced = known;
    }
    schema.tables.insert(key, table);
}

fn create_index(schema: &mut Schema, create: &CreateIndex, statement: &Statement) {
    if !create.unique {
        return;
    }
    let Some(table) = find(schema, &expr::name(&create.table_name)) else { return };
    table.unique.push(Unique {
        name: create.name.as_ref().map(expr::name),
        columns: create.columns.iter().map(index_column).collect(),
        is_partial: create.predicate.is_some(),
        nulls_not_distinct: create.nulls_distinct == Some(false),
        span: Some(statement.span),
    });
}

fn alter_table(schema: &mut Schema, name: &str, operation: &AlterTableOperation, statement: &Statement) {
    let Some(mut table) = find(schema, name).cloned() else { return };
    match operation {
        AlterTableOperation::AddConstraint { constraint, .. } => {
            add_constraint(schema, &mut table, constraint, statement);
        }
        AlterTableOperation::AddColumn { column_def, .. } => {
            add_column(schema, &mut table, column_def, statement);
        }
        AlterTableOperation::AlterColumn { column_name, op } => {
            let name = expr::ident(column_name).to_lowercase();
            if let Some(column) = table.columns.iter_mut().find(|it| it.name == name) {
                match op {
                    sqlparser::ast::AlterColumnOperation::SetNotNull => column.is_not_null = true,
                    sqlparser::ast::AlterColumnOperation::DropNotNull => column.is_not_null = false,
                    sqlparser::ast::AlterColumnOperation::SetDefault { value } => {
                        column.is_generated |= expr::is_random(value) || expr::is_sequence(value);
                        column.default = Some(value.to_string());
                    }
                    sqlparser::ast::AlterColumnOperation::AddGenerated { .. } => column.is_generated = true,
                    _ => {}
                }
            }
        }
        _ => return,
    }
    if let Some(place) = find(schema, name) {
        *place = table;
    }
}

fn add_column(schema: &mut Schema, table: &mut Table, column: &ColumnDef, statement: &Statement) {
    let type_name = column.data_type.to_string();
    let name = expr::ident(&column.name).to_lowercase();
    let span = Some(statement.place(column.name.span));
    let mut it = Column {
        name: name.clone(),
        is_generated: type_name.to_lowercase().contains("serial"),
        is_not_null: type_name.to_lowercase().contains("serial"),
        type_name,
        default: None,
        span,
    };
    for option in &column.options {
        let constraint = option.name.as_ref().map(|it| it.value.clone());
        match &option.option {
            ColumnOption::NotNull => it.is_not_null = true,
            ColumnOption::Default(value) => {
                it.default = Some(value.to_string());
                it.is_generated |= expr::is_random(value) || expr::is_sequence(value);
            }
            ColumnOption::PrimaryKey(_) => {
                it.is_not_null = true;
                table.primary_key = vec![name.clone()];
            }
            ColumnOption::Unique(unique) => table.unique.push(Unique {
                name: constraint,
                columns: vec![name.clone()],
                is_partial: false,
                nulls_not_distinct: unique.nulls_distinct == NullsDistinctOption::NotDistinct,
                span,
            }),
            ColumnOption::ForeignKey(key) => schema.point_at(&expr::name(&key.foreign_table)),
            ColumnOption::Generated { generated_as, generation_expr: None, .. } => {
                it.is_generated = matches!(generated_as, GeneratedAs::Always | GeneratedAs::ByDefault);
                it.is_not_null = true;
            }
            ColumnOption::Identity(_) => it.is_generated = true,
            ColumnOption::DialectSpecific(tokens) => {
                let words = tokens.iter().map(ToString::to_string).collect::<String>().to_uppercase();
                it.is_generated |= words.contains("AUTO_INCREMENT") || words.contains("AUTOINCREMENT");
            }
            _ => {}
        }
    }
    if table.columns.iter().all(|known| known.name != it.name) {
        table.columns.push(it);
    }
}

fn add_constraint(
    schema: &mut Schema,
    table: &mut Table,
    constraint: &TableConstraint,
    statement: &Statement,
) {
    match constraint {
        TableConstraint::PrimaryKey(key) => {
            table.primary_key = key.columns.iter().map(index_column).collect();
            for column in table.columns.iter_mut().filter(|it| table.primary_key.contains(&it.name)) {
                column.is_not_null = true;
            }
        }
        TableConstraint::Unique(unique) => table.unique.push(Unique {
            name: unique.name.as_ref().or(unique.index_name.as_ref()).map(expr::ident),
            columns: unique.columns.iter().map(index_column).collect(),
            is_partial: false,
            nulls_not_distinct: unique.nulls_distinct == NullsDistinctOption::NotDistinct,
            span: Some(statement.place(constraint.span())),
        }),
        TableConstraint::ForeignKey(key) => schema.point_at(&expr::name(&key.foreign_table)),
        _ => {}
    }
}

/// A column by its name, an expression as written.
fn index_column(column: &IndexColumn) -> String {
    match &column.column.expr {
        sqlparser::ast::Expr::Identifier(it) => it.value.to_lowercase(),
        other => other.to_string(),
    }
}

fn written(name: &ObjectName) -> String {
    expr::name(name)
}

fn find<'a>(schema: &'a mut Schema, name: &str) -> Option<&'a mut Table> {
    if schema.tables.contains_key(name) {
        return schema.tables.get_mut(name);
    }
    let bare = name.rsplit_once('.').map_or(name, |(_, last)| last).to_owned();
    let suffix = format!(".{bare}");
    let key = schema
        .tables
        .keys()
        .find(|key| **key == bare || (!name.contains('.') && key.ends_with(&suffix)))?
        .clone();
    schema.tables.get_mut(&key)
}

impl Schema {
    /// A foreign key points to this table, which may not be known yet.
    fn point_at(&mut self, name: &str) {
        self.referenced.insert(name.to_owned());
        if let Some(table) = find(self, name) {
            table.is_referenced = true;
        }
    }

    fn pointed_at(&self, name: &str) -> Option<bool> {
        self.referenced.contains(name).then_some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{File, Language};

    fn schema(sql: &str) -> Schema {
        let file = File { path: "x.sql".into(), language: Language::Sql, project: None };
        collect(&[crate::code::read(&file, sql.to_owned())])
    }

    #[test]
    fn keys_come_from_every_form_of_ddl() {
        let schema = schema(
            "CREATE UNIQUE INDEX i ON s.t (b) WHERE c;
             CREATE TABLE s.t (id bigserial PRIMARY KEY, a text UNIQUE, b int NOT NULL, c bool, u uuid DEFAULT gen_random_uuid());
             ALTER TABLE s.t ADD CONSTRAINT k UNIQUE NULLS NOT DISTINCT (a, c);
             CREATE TABLE child (t bigint REFERENCES s.t (id));",
        );
        let table = schema.table("t").unwrap();
        assert_eq!(table.primary_key, ["id"]);
        assert!(table.is_referenced);
        assert!(table.column("id").unwrap().is_generated && table.column("u").unwrap().is_generated);
        let unique: Vec<_> = table
            .unique
            .iter()
            .map(|it| (it.columns.join(","), it.is_partial, it.nulls_not_distinct))
            .collect();
        assert_eq!(
            unique,
            [("a".into(), false, false), ("b".into(), true, false), ("a,c".into(), false, true)]
        );
    }

    #[test]
    fn identity_and_auto_increment_are_generated() {
        let schema = schema(
            "CREATE TABLE a (id bigint GENERATED ALWAYS AS IDENTITY, x int GENERATED ALWAYS AS (1 + 1) STORED);
             CREATE TABLE b (id int AUTO_INCREMENT PRIMARY KEY);
             CREATE TABLE c (id INTEGER PRIMARY KEY AUTOINCREMENT);",
        );
        assert!(schema.table("a").unwrap().column("id").unwrap().is_generated);
        assert!(!schema.table("a").unwrap().column("x").unwrap().is_generated);
        assert!(schema.table("b").unwrap().column("id").unwrap().is_generated);
        assert!(schema.table("c").unwrap().column("id").unwrap().is_generated);
    }
}
