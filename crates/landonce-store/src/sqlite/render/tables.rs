//! Tables as SQL: the target that landonce makes, and the temporary ones of a batch.

use landonce_core::column::Type;
use landonce_core::plan::{KeyForm, Match, StageColumn};

use super::{CHANGES, OLD, Render, STAGE, TODO, kept_columns, list, staged};
use crate::error::Result;

impl Render<'_> {
    /// Makes the target, with an index on the identity and then the digest: a re-run of equal content is told from that
    /// index alone, in its order, without reading a row.
    pub(in crate::sqlite) fn create_target(&self) -> Result<String> {
        let mut columns = Vec::new();
        if let (Some(key), Match::Key { form, .. }) = (&self.key, &self.plan.matching) {
            let ty = if *form == KeyForm::Hex { "TEXT" } else { "BLOB" };
            columns.push(format!("{key} {ty} NOT NULL PRIMARY KEY"));
        }
        for (at, column) in self.plan.columns.iter().enumerate() {
            let takes_null = column.nullable && !self.is_identity(at);
            columns.push(format!(
                "{} {}{}",
                self.names[at],
                made(&column.ty),
                if takes_null { "" } else { " NOT NULL" }
            ));
        }
        if let Some(digest) = &self.digest {
            columns.push(format!("{digest} BLOB NOT NULL"));
        }
        if let Some(run_id) = &self.run_id {
            columns.push(format!("{run_id} TEXT NOT NULL"));
        }
        if let Some(revision) = &self.revision {
            columns.push(format!("{revision} INTEGER NOT NULL"));
        }
        columns.extend(self.retired_at.iter().chain(&self.retired_by).map(|name| format!("{name} TEXT")));
        let identity: Vec<String> = self.identity().map(|key| key.name.to_owned()).collect();
        if self.key.is_none() {
            columns.push(format!("UNIQUE ({})", list(identity.clone())));
        }
        let mut sql =
            format!("CREATE TABLE IF NOT EXISTS {} (\n  {}\n) STRICT;\n", self.target, columns.join(",\n  "));
        if let Some(digest) = &self.digest {
            let guard = list(identity.into_iter().chain([digest.clone()]));
            sql.push_str(&self.create_index("guard", &guard)?);
            if self.plan.sender_id {
                sql.push_str(&self.create_index("content", digest)?);
            }
        }
        if let Some(scope) = &self.plan.scope {
            // A load of one period looks at its rows only.
            let owner = scope.owner.iter().map(|owned| owned.column);
            let columns = owner.chain(scope.period.iter().map(|span| span.column));
            let names: Vec<String> = columns.map(|at| self.names[at].clone()).collect();
            if !names.is_empty() {
                sql.push_str(&self.create_index("scope", &list(names))?);
            }
        }
        Ok(sql)
    }

    fn create_index(&self, role: &str, columns: &str) -> Result<String> {
        let table = &self.plan.table;
        let schema = super::quoted(table.schema.as_deref().unwrap_or("main"))?;
        let index = super::quoted(&format!("landonce_{role}_{}", table.name))?;
        Ok(format!(
            "CREATE INDEX IF NOT EXISTS {schema}.{index} ON {} ({columns});\n",
            super::quoted(&table.name)?
        ))
    }

    /// Makes the temporary tables. The identity's columns have the affinity of the target's, so that what the target would
    /// store as one value is one value here.
    pub(in crate::sqlite) fn create_stage(&self) -> String {
        let columns = kept_columns(self.plan).into_iter().map(|column| {
            match self.identity().find(|key| key.column == column && matches!(column, StageColumn::Column(_)))
            {
                Some(key) => format!("{} {}", staged(column), key.affinity.keyword()),
                None => staged(column),
            }
        });
        format!(
            "CREATE TABLE {STAGE} ({});\n\
             CREATE TABLE {TODO} (id INTEGER PRIMARY KEY, class, number, \"offset\", len, staged, digest);\n",
            list(columns)
        )
    }
}

/// Drops the temporary tables.
pub(in crate::sqlite) fn drop_stage() -> String {
    [STAGE, TODO, OLD, CHANGES].map(|table| format!("DROP TABLE IF EXISTS {table};\n")).concat()
}

/// The type of a column that landonce makes. A strict table takes no other class, and TEXT alters no digit.
pub(super) fn made(ty: &Type) -> &'static str {
    match ty {
        Type::Integer { .. } | Type::Boolean => "INTEGER",
        Type::Float { .. } => "REAL",
        Type::Bytes | Type::Geometry { .. } => "BLOB",
        Type::Scalar
        | Type::Text { .. }
        | Type::Decimal { .. }
        | Type::Date
        | Type::Timestamptz
        | Type::Timestamp
        | Type::Uuid
        | Type::Json
        | Type::Enum { .. }
        | Type::Array(_) => "TEXT",
    }
}
