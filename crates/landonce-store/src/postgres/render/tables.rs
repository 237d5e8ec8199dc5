//! Tables as SQL: the target that landonce makes, and the temporary ones.

use landonce_core::column::Type;
use landonce_core::plan::{Absent, Guard, KeyForm, Match, StageColumn, TablePlan};

use super::{Fact, ROWS, Render, STAGE, TODO, list, staged};
use crate::error::{Error, Result};
use crate::postgres::quote;

impl Render<'_> {
    /// The stage, empty. Its columns have exactly the target's types and collations, so that equality here is equality
    /// there.
    pub(in crate::postgres) fn create_stage(&self) -> Result<String> {
        self.create_temporary(STAGE, &self.plan.stage_columns())
    }

    /// The table for a chunk of rows, empty.
    pub(in crate::postgres) fn create_rows(&self) -> Result<String> {
        let mut sql = self.create_temporary(ROWS, &self.row_columns())?;
        if self.plan.absent == Absent::Keep {
            // The write statement looks a row's presence bits up by its identity.
            let keys = list(self.identity().into_iter().map(|(_, staged, _)| staged));
            sql.push_str(&format!(";\nCREATE INDEX ON {ROWS} ({keys})"));
        }
        Ok(sql)
    }

    /// What a chunk's rows hold in the database: a row's place stays on our side.
    pub(in crate::postgres) fn row_columns(&self) -> Vec<StageColumn> {
        let mut columns = self.plan.row_columns();
        columns
            .retain(|column| !matches!(column, StageColumn::Number | StageColumn::Offset | StageColumn::Len));
        columns
    }

    /// The stage's COPY.
    pub(in crate::postgres) fn copy_stage(&self) -> String {
        copy(STAGE, self.plan.stage_columns().into_iter().map(staged))
    }

    /// The chunk's COPY.
    pub(in crate::postgres) fn copy_rows(&self) -> String {
        copy(ROWS, self.row_columns().into_iter().map(staged))
    }

    fn create_temporary(&self, table: &str, columns: &[StageColumn]) -> Result<String> {
        let mut checks = String::new();
        let spelled = columns
            .iter()
            .map(|&column| {
                let name = staged(column);
                let fact = match column {
                    StageColumn::Column(at) => self.facts.columns.get(at).map(|fact| (at, fact)),
                    _ => None,
                };
                if let Some((at, Fact { must_fit: Some(fit), .. })) = fact {
                    let check = quote::name(&format!("{} keeps every digit", self.plan.columns[at].name))
                        .unwrap_or_else(|_| "\"every digit is kept\"".to_owned());
                    checks.push_str(&format!(
                        ";\nALTER TABLE {table} ADD CONSTRAINT {check} CHECK ({name} IS NULL OR {name}::{fit} = {name})"
                    ));
                }
                match (column, self.facts.relation) {
                    (StageColumn::Key | StageColumn::Digest | StageColumn::Column(_), Some(_)) => {
                        let source = self.target_column(column);
                        let cast = fact.and_then(|(_, fact)| fact.staged_as.as_ref());
                        let cast = cast.map(|ty| format!("::{ty}")).unwrap_or_default();
                        Ok(format!("t.{source}{cast} AS {name}"))
                    }
                    (StageColumn::Key | StageColumn::Digest | StageColumn::Column(_), None) => {
                        Ok(format!("NULL::{} AS {name}", self.own_type(column)?))
                    }
                    (StageColumn::Present | StageColumn::Number | StageColumn::Offset, _) => {
                        Ok(format!("0::bigint AS {name}"))
                    }
                    (StageColumn::Len, _) => Ok(format!("0::integer AS {name}")),
                    (StageColumn::IsDelete | StageColumn::MayRepeat, _) => Ok(format!("false AS {name}")),
                }
            })
            .collect::<Result<Vec<_>>>()?
            .join(", ");
        let from =
            if self.facts.relation.is_some() { format!(" FROM {} t", self.target) } else { String::new() };
        let name = table.trim_start_matches("pg_temp.");
        Ok(format!(
            "CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS\nSELECT {spelled}{from}\nWITH NO DATA{checks}"
        ))
    }

    /// The records that need something done, empty: for a transaction that can't make tables any more.
    pub(in crate::postgres) fn create_todo(&self) -> String {
        let extra = self.todo_extra().map(|column| format!(", s.{column}")).collect::<String>();
        let name = TODO.trim_start_matches("pg_temp.");
        format!(
            "CREATE TEMPORARY TABLE {name} ON COMMIT DROP AS\nSELECT 0::smallint AS class, s.landonce_number, \
             s.landonce_offset, s.landonce_len{extra} FROM {STAGE} s\nWITH NO DATA"
        )
    }

    /// What else the records that need something done remember, for the look at equal content (G3).
    pub(super) fn todo_extra(&self) -> impl Iterator<Item = String> + use<'_> {
        let is_wanted = self.plan.sender_id;
        let keys = self.identity().into_iter().map(|(_, staged, _)| staged);
        keys.chain([staged(StageColumn::Digest)]).filter(move |_| is_wanted)
    }

    /// The name in the target of what a staged column becomes.
    pub(super) fn target_column(&self, column: StageColumn) -> &str {
        match column {
            StageColumn::Key => self.key.as_deref().unwrap_or_default(),
            StageColumn::Digest => self.digest.as_deref().unwrap_or_default(),
            StageColumn::Column(at) => &self.names[at],
            _ => "",
        }
    }

    fn own_type(&self, column: StageColumn) -> Result<String> {
        Ok(match column {
            StageColumn::Key => key_type(self.plan).to_owned(),
            StageColumn::Column(at) => sql_type(&self.plan.columns[at].ty)?,
            _ => "bytea".to_owned(),
        })
    }

    /// The target that landonce makes (with [`TablePlan::create`]), with the index that G3 looks into.
    pub(in crate::postgres) fn create_target(&self) -> Result<String> {
        let mut columns = Vec::new();
        if let Some(key) = &self.key {
            columns.push(format!("{key} {} PRIMARY KEY", key_type(self.plan)));
        }
        if let Some(digest) = &self.digest {
            columns.push(format!("{digest} bytea NOT NULL"));
        }
        for (name, column) in self.names.iter().zip(&self.plan.columns) {
            let not_null = if column.nullable { "" } else { " NOT NULL" };
            columns.push(format!("{name} {}{not_null}", sql_type(&column.ty)?));
        }
        if let Some(run_id) = &self.run_id {
            columns.push(format!("{run_id} uuid NOT NULL"));
        }
        if let Some(revision) = &self.revision {
            columns.push(format!("{revision} bigint NOT NULL"));
        }
        if let Some(retired_at) = &self.retired_at {
            columns.push(format!("{retired_at} timestamptz"));
        }
        if let Some(retired_by) = &self.retired_by {
            columns.push(format!("{retired_by} uuid"));
        }
        if matches!(self.plan.matching, Match::Columns(_)) {
            let keys = list(self.identity().into_iter().map(|(name, _, _)| name.to_owned()));
            columns.push(format!("PRIMARY KEY ({keys})"));
        }
        let mut sql = format!("CREATE TABLE {} (\n  {}\n)", self.target, columns.join(",\n  "));
        if self.plan.sender_id
            && let (Guard::Digest { .. }, Some(digest)) = (&self.plan.guard, &self.digest)
        {
            sql.push_str(&format!(";\nCREATE INDEX ON {} ({digest})", self.target));
        }
        if let Some(scope) = &self.plan.scope {
            // A load of one period looks at its rows only.
            let owner = scope.owner.iter().map(|owned| owned.column);
            let columns = owner.chain(scope.period.iter().map(|span| span.column));
            let names: Vec<String> = columns.map(|at| self.names[at].clone()).collect();
            if !names.is_empty() {
                sql.push_str(&format!(";\nCREATE INDEX ON {} ({})", self.target, names.join(", ")));
            }
        }
        Ok(sql)
    }
}

fn copy(table: &str, columns: impl Iterator<Item = String>) -> String {
    format!("COPY {table} ({}) FROM STDIN (FORMAT BINARY)", list(columns))
}

const fn key_type(plan: &TablePlan) -> &'static str {
    match plan.matching {
        Match::Key { form: KeyForm::Uuid, .. } | Match::Columns(_) => "uuid",
        Match::Key { form: KeyForm::Bytes, .. } => "bytea",
        Match::Key { form: KeyForm::Hex, .. } => "text",
    }
}

/// The type that landonce gives a column of its own table.
pub(in crate::postgres) fn sql_type(ty: &Type) -> Result<String> {
    Ok(match ty {
        Type::Scalar | Type::Text { max: None } => "text".to_owned(),
        Type::Text { max: Some(most) } => format!("varchar({most})"),
        Type::Integer { bits: 16 } => "smallint".to_owned(),
        Type::Integer { bits: 32 } => "integer".to_owned(),
        Type::Integer { .. } => "bigint".to_owned(),
        Type::Decimal { limits: None } => "numeric".to_owned(),
        Type::Decimal { limits: Some((precision, scale)) } => format!("numeric({precision},{scale})"),
        Type::Float { bits: 32 } => "real".to_owned(),
        Type::Float { .. } => "double precision".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Date => "date".to_owned(),
        Type::Timestamptz => "timestamptz".to_owned(),
        Type::Timestamp => "timestamp".to_owned(),
        Type::Uuid => "uuid".to_owned(),
        Type::Bytes => "bytea".to_owned(),
        Type::Json => "jsonb".to_owned(),
        Type::Enum { name, .. } => name.split('.').map(quote::name).collect::<Result<Vec<_>>>()?.join("."),
        Type::Array(item) if matches!(**item, Type::Array(_)) => {
            return Err(Error::refused("an array of arrays can't be a column"));
        }
        Type::Array(item) => format!("{}[]", sql_type(item)?),
        Type::Geometry { kind, srid } => {
            format!("geometry({},{srid})", kind.as_deref().unwrap_or("Geometry"))
        }
    })
}
