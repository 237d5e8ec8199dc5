//! A pipeline held against a catalogue: which columns, which match, which guard; or why it can't be.

mod derived;
mod notices;
mod scope;

use super::{
    Absent, From, Guard, KeyForm, Match, PlanColumn, ShapeColumn, TableName, TablePlan, TableShape, Tombstone,
};
use crate::column::Type;
use crate::pipeline::{DeclaredForm, IdentityFrom, Pipeline, Rest, Whole};

pub use derived::derived;

/// The name of the JSON column for fields without a column, when nobody declares another.
const PAYLOAD: &str = "payload";

/// Why a pipeline can't write into a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table `{table}`: {message}")]
pub struct PlanError {
    /// The table.
    pub table: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// Holds a pipeline against what the catalogue has: `None` when the table doesn't exist and landonce makes it.
pub fn resolve(pipeline: &Pipeline, shape: Option<&TableShape>) -> Result<TablePlan, PlanError> {
    let resolver = Resolver { pipeline, shape };
    resolver.plan().map_err(|message| PlanError { table: pipeline.target.table.to_string(), message })
}

struct Resolver<'a> {
    pipeline: &'a Pipeline,
    shape: Option<&'a TableShape>,
}

type Resolved<T> = Result<T, String>;

impl Resolver<'_> {
    fn plan(&self) -> Resolved<TablePlan> {
        let (pipeline, managed) = (self.pipeline, &self.pipeline.target.managed);
        let form = self.form()?;
        let columns = self.columns(form)?;
        let at = |field: &str| columns.iter().position(|column| column.from == From::Field(field.to_owned()));
        let matching = match form {
            DeclaredForm::Key(form) => {
                self.unique_on(&[&managed.key])?;
                Match::Key { column: managed.key.clone(), form }
            }
            DeclaredForm::Columns => {
                let mut of = Vec::new();
                for field in self.identity_fields() {
                    of.push(
                        at(field).ok_or_else(|| format!("the identity's field `{field}` has no column"))?,
                    );
                }
                let names: Vec<&str> = of.iter().map(|&at| columns[at].name.as_str()).collect();
                self.unique_on(&names)?;
                Match::Columns(of)
            }
        };
        let absent = self.absent();
        let has = |column: &str| self.shape.is_none_or(|shape| shape.column(column).is_some());
        let guard = if absent == Absent::Replace && has(&managed.digest) {
            Guard::Digest { column: managed.digest.clone() }
        } else {
            Guard::Columns
        };
        let version = self.version(&columns)?;
        let scope = scope::resolve(pipeline, &columns)?;
        let unguarded = columns
            .iter()
            .enumerate()
            .filter(
                |(_, column)| matches!(&column.from, From::Field(field) if pipeline.volatile.contains(field)),
            )
            .map(|(at, _)| at)
            .collect();
        let is_sender_id = matches!(pipeline.identity.from, IdentityFrom::SenderId(_));
        let plan = TablePlan {
            table: self.shape.map_or_else(|| pipeline.target.table.clone(), |shape| shape.table.clone()),
            create: self.shape.is_none(),
            matching,
            version,
            run_id: has(&managed.run_id).then(|| managed.run_id.clone()),
            revision: has(&managed.revision).then(|| managed.revision.clone()),
            mode: pipeline.write.mode,
            absent,
            unguarded,
            has_deletes: pipeline.write.delete_when.is_some(),
            scope,
            tombstone: self.tombstone()?,
            history: self.history()?,
            sender_id: is_sender_id && matches!(guard, Guard::Digest { .. }),
            guard,
            columns,
        };
        self.notices(&plan)?;
        Ok(plan)
    }

    fn identity_fields(&self) -> &[String] {
        match &self.pipeline.identity.from {
            IdentityFrom::Fields { names, .. } => names,
            IdentityFrom::SenderId(field) => std::slice::from_ref(field),
            IdentityFrom::Content(_) => &[],
        }
    }

    /// The key's form: as declared; else what the table's key column is; else a uuid for a table that landonce makes, and
    /// the natural key's own columns for a table that is somebody else's.
    fn form(&self) -> Resolved<DeclaredForm> {
        let key = &self.pipeline.target.managed.key;
        let Some(shape) = self.shape else {
            return Ok(self.pipeline.identity.form.unwrap_or(DeclaredForm::Key(KeyForm::Uuid)));
        };
        let declared = self.pipeline.identity.form;
        let Some(column) = shape.column(key) else {
            let is_plain = matches!(
                self.pipeline.identity.from,
                IdentityFrom::Fields { joined: None, .. } | IdentityFrom::SenderId(_)
            );
            return match declared {
                Some(DeclaredForm::Columns) => Ok(DeclaredForm::Columns),
                None if is_plain && !self.pipeline.identity.null_is_value => Ok(DeclaredForm::Columns),
                _ => Err(format!(
                    "has no column `{key}` for the hashed key; add one with a unique constraint (or name it under \
                     `target.managed.key`), or match on the natural key's own columns with `identity: {{fields: […], as: columns}}`"
                )),
            };
        };
        let found = match (&column.ty, shape.is_loosely_typed) {
            (Some(Type::Uuid), _) => Some(KeyForm::Uuid),
            (Some(Type::Bytes), false) => Some(KeyForm::Bytes),
            (Some(Type::Text { .. } | Type::Scalar), _) => Some(KeyForm::Hex),
            // SQLite's BLOB holds either form: the declared one, else the default.
            (Some(Type::Bytes), true) => match declared {
                Some(DeclaredForm::Key(form @ (KeyForm::Uuid | KeyForm::Bytes))) => Some(form),
                _ => Some(KeyForm::Uuid),
            },
            _ => None,
        };
        match (found, declared) {
            (_, Some(DeclaredForm::Columns)) => Ok(DeclaredForm::Columns),
            (Some(found), None) => Ok(DeclaredForm::Key(found)),
            (Some(found), Some(DeclaredForm::Key(want))) if found == want => Ok(DeclaredForm::Key(found)),
            _ => Err(format!(
                "its key column `{key}` is {}; uuid, bytea or text (for `as: hex`) is due, as the pipeline declares",
                column.sql_type
            )),
        }
    }

    fn columns(&self, form: DeclaredForm) -> Resolved<Vec<PlanColumn>> {
        let target = &self.pipeline.target;
        let mut columns: Vec<PlanColumn> = Vec::new();
        // Identity fields first, each in its declared column or one of its own name.
        for field in self.identity_fields() {
            match target.columns.iter().find(|column| &column.field == field) {
                Some(declared) => columns.push(self.column(&declared.name, field, Some(&declared.ty))?),
                None if self.shape.is_some_and(|shape| shape.column(field).is_none())
                    && form != DeclaredForm::Columns =>
                {
                    // A table of somebody else's with a key column of ours: the field lands in the rest.
                }
                None => {
                    let default = if form == DeclaredForm::Columns { Type::TEXT } else { Type::Scalar };
                    let declared = self.shape.is_none().then_some(&default);
                    let mut column = self.column(field, field, declared)?;
                    if form != DeclaredForm::Columns && column.ty == Type::TEXT {
                        column.ty = Type::Scalar;
                    }
                    columns.push(column);
                }
            }
        }
        for declared in &target.columns {
            if !columns.iter().any(|column| column.name == declared.name) {
                columns.push(self.column(&declared.name, &declared.field, Some(&declared.ty))?);
            }
        }
        if self.is_implicit() {
            self.implicit_columns(&mut columns);
        }
        if let Some(rest) = self.rest()? {
            if columns.iter().any(|column| column.name == rest.name) {
                return Err(format!(
                    "`{}` is both a column and the rest's column; name another under `target.rest`",
                    rest.name
                ));
            }
            columns.push(rest);
        }
        if columns.len() > 63 && self.absent() == Absent::Keep {
            return Err(format!("has {} mapped columns; `absent: keep` takes at most 63", columns.len()));
        }
        if form == DeclaredForm::Columns {
            for column in &mut columns {
                if matches!(&column.from, From::Field(field) if self.identity_fields().contains(field)) {
                    column.nullable = false;
                }
            }
        }
        Ok(columns)
    }

    /// A table that exists, and a pipeline that declares no columns: fields go to the columns of their names.
    fn is_implicit(&self) -> bool {
        self.shape.is_some_and(|shape| shape.column(&self.pipeline.target.managed.digest).is_none())
            && self.pipeline.target.columns.is_empty()
    }

    fn implicit_columns(&self, columns: &mut Vec<PlanColumn>) {
        let Some(shape) = self.shape else { return };
        let managed = &self.pipeline.target.managed;
        let is_managed = |name: &String| managed.names().contains(&name.as_str());
        let is_rest = |name: &str| match &self.pipeline.target.rest {
            Rest::Column(rest) => rest == name,
            Rest::Default => name == PAYLOAD,
            Rest::Ignore | Rest::Refuse => false,
        };
        for column in &shape.columns {
            let is_taken = columns.iter().any(|taken| taken.name == column.name);
            if is_taken
                || column.is_generated
                || column.has_default
                || is_managed(&column.name)
                || is_rest(&column.name)
            {
                continue;
            }
            if let Some(ty) = &column.ty {
                columns.push(planned(column, &column.name, ty.clone()));
            }
        }
    }

    fn absent(&self) -> Absent {
        // Columns that nobody declared must not be emptied by records that don't know them.
        // But a record of a period is a whole row: after the run nothing of the row before is left.
        let keeps = self.is_implicit() && self.pipeline.whole().is_none();
        let default = if keeps { Absent::Keep } else { Absent::Replace };
        self.pipeline.write.absent.unwrap_or(default)
    }

    fn column(&self, name: &str, field: &str, declared: Option<&Type>) -> Resolved<PlanColumn> {
        let Some(shape) = self.shape else {
            let ty = declared.cloned().unwrap_or(Type::Scalar);
            let from = From::Field(field.to_owned());
            return Ok(PlanColumn { name: name.to_owned(), from, ty, sql_type: None, nullable: true });
        };
        let column = shape.column(name).ok_or_else(|| no_column(shape, name))?;
        if column.is_generated {
            return Err(format!("the database fills `{name}` itself; take it out of `target.columns`"));
        }
        let ty = agreed(declared, column, shape.is_loosely_typed)?;
        Ok(planned(column, field, ty))
    }

    fn rest(&self) -> Resolved<Option<PlanColumn>> {
        let made = |name: &str| PlanColumn {
            name: name.to_owned(),
            from: From::Rest,
            ty: Type::Json,
            sql_type: None,
            nullable: false,
        };
        match (&self.pipeline.target.rest, self.shape) {
            (Rest::Ignore | Rest::Refuse, _) => Ok(None),
            (Rest::Default, None) => Ok(Some(made(PAYLOAD))),
            (Rest::Column(name), None) => Ok(Some(made(name))),
            (rest, Some(shape)) => {
                let name = if let Rest::Column(name) = rest { name } else { PAYLOAD };
                let declared = self.pipeline.target.columns.iter().any(|column| column.name == name);
                match shape.column(name) {
                    Some(column) if !declared && holds_json(column, shape) && !column.is_generated => {
                        let from = From::Rest;
                        Ok(Some(PlanColumn { from, ..planned(column, name, Type::Json) }))
                    }
                    Some(column) if *rest != Rest::Default => {
                        Err(format!("the rest's column `{name}` is {}; json is due", column.sql_type))
                    }
                    None if *rest != Rest::Default => Err(no_column(shape, name)),
                    _ => Ok(None),
                }
            }
        }
    }

    fn history(&self) -> Resolved<Option<TableName>> {
        if !matches!(self.pipeline.whole(), Some(Whole::Snapshot(of)) if of.has_history) {
            return Ok(None);
        }
        let revision = &self.pipeline.target.managed.revision;
        if self.shape.is_some_and(|shape| shape.column(revision).is_none()) {
            return Err(format!(
                "`write.history` tells versions apart by a column `{revision}`, and there is none; add it (bigint, NOT NULL DEFAULT 1), \
                 or name another under `target.managed.revision`"
            ));
        }
        let table = self.shape.map_or(&self.pipeline.target.table, |shape| &shape.table);
        let name = format!("{}_history", table.name);
        if name.len() > 63 {
            return Err(format!(
                "`{name}` is {} bytes long, and PostgreSQL cuts names after 63: shorten the table's",
                name.len()
            ));
        }
        Ok(Some(TableName { schema: table.schema.clone(), name }))
    }

    fn tombstone(&self) -> Resolved<Option<Tombstone>> {
        let write = &self.pipeline.write;
        let key = match self.pipeline.whole() {
            Some(whole) if whole.retires() => "write.absent: retire",
            None if write.retires_deleted && write.delete_when.is_some() => "write.deleted: retire",
            _ => return Ok(None),
        };
        let managed = &self.pipeline.target.managed;
        let Some(shape) = self.shape else {
            let (at, by) = (managed.retired_at.clone(), Some(managed.retired_by.clone()));
            return Ok(Some(Tombstone { at, by, by_type: None }));
        };
        match shape.column(&managed.retired_at) {
            Some(at) if !at.is_generated && matches!(at.ty, Some(Type::Timestamptz | Type::Timestamp)) => {}
            Some(at) if shape.is_loosely_typed && matches!(at.ty, Some(Type::Text { .. })) => {}
            Some(at) => {
                return Err(format!(
                    "`{key}`: the column `{}` is {}; timestamptz is due",
                    at.name, at.sql_type
                ));
            }
            None => {
                return Err(format!(
                    "`{key}` marks rows in a column `{}`, and there is none; add it (ALTER TABLE {} ADD COLUMN \
                     \"{}\" {};), or name another under `target.managed.retired_at`",
                    managed.retired_at,
                    shape.table,
                    managed.retired_at.replace('"', "\"\""),
                    if shape.is_loosely_typed { "text" } else { "timestamptz" },
                ));
            }
        }
        if let Some(at) = shape.column(&managed.retired_at).filter(|at| !at.nullable) {
            return Err(format!(
                "the column `{}` is NOT NULL; NULL is what it holds in a row that isn't retired",
                at.name
            ));
        }
        let by = shape.column(&managed.retired_by);
        if let Some(by) = by
            && !matches!(by.ty, Some(Type::Uuid | Type::Text { .. }))
        {
            return Err(format!("the column `{}` is {}; uuid or text is due", by.name, by.sql_type));
        }
        Ok(Some(Tombstone {
            at: managed.retired_at.clone(),
            by: by.map(|by| by.name.clone()),
            by_type: by.map(|by| by.sql_type.clone()),
        }))
    }

    fn version(&self, columns: &[PlanColumn]) -> Resolved<Option<usize>> {
        let Some(field) = &self.pipeline.write.version else { return Ok(None) };
        let at = columns.iter().position(|column| column.from == From::Field(field.clone()));
        match at {
            Some(at) if columns[at].ty.is_ordered() => Ok(Some(at)),
            Some(at) => Err(format!(
                "`write.version`: `{field}` is {}; integer, decimal, timestamptz, timestamp or date is due",
                columns[at].ty
            )),
            None => Err(format!(
                "`write.version`: `{field}` has no column; declare one with an ordered type, for example `columns: {{{field}: timestamptz}}`"
            )),
        }
    }

    /// The identity must be enforced by the database itself, or two writers at once make two rows.
    fn unique_on(&self, names: &[&str]) -> Resolved<()> {
        let Some(shape) = self.shape else { return Ok(()) };
        if shape.is_view || shape.unique_on(names).is_some() {
            return Ok(());
        }
        let quoted: Vec<String> =
            names.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
        let list = quoted.join(", ");
        let wider = shape
            .unique
            .iter()
            .find(|index| names.iter().all(|name| index.columns.iter().any(|has| has == name)));
        Err(match wider {
            Some(index) => format!(
                "its unique index `{}` is on ({}), which lets one identity ({}) stand in several rows (a partition key in it does that); \
                 make the identity those columns, or add a unique constraint on exactly ({list})",
                index.name,
                index.columns.join(", "),
                names.join(", ")
            ),
            None => format!(
                "nothing enforces the identity ({}); add it: CREATE UNIQUE INDEX ON {} ({list});",
                names.join(", "),
                shape.table
            ),
        })
    }
}

fn planned(column: &ShapeColumn, field: &str, ty: Type) -> PlanColumn {
    PlanColumn {
        name: column.name.clone(),
        from: From::Field(field.to_owned()),
        ty,
        sql_type: Some(column.sql_type.clone()),
        nullable: column.nullable,
    }
}

fn no_column(shape: &TableShape, name: &str) -> String {
    let nearest = shape
        .columns
        .iter()
        .map(|column| (strsim::damerau_levenshtein(name, &column.name), &column.name))
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 3);
    match nearest {
        Some((_, known)) => format!("has no column `{name}`; did you mean `{known}`?"),
        None => format!("has no column `{name}`"),
    }
}

fn holds_json(column: &ShapeColumn, shape: &TableShape) -> bool {
    matches!((&column.ty, shape.is_loosely_typed), (Some(Type::Json), _) | (Some(Type::Text { .. }), true))
}

/// The declared type and the catalogue's made one: the catalogue's limits, the declared meaning.
fn agreed(declared: Option<&Type>, column: &ShapeColumn, is_loose: bool) -> Resolved<Type> {
    let Some(found) = &column.ty else {
        return Err(format!(
            "landonce doesn't write columns of type {} (`{}`); leave it out, or give it a text column",
            column.sql_type, column.name
        ));
    };
    let Some(declared) = declared else { return Ok(found.clone()) };
    let agrees = match (declared, found) {
        (Type::Scalar | Type::Text { .. }, Type::Text { .. } | Type::Enum { .. })
        | (Type::Enum { .. }, Type::Enum { .. })
        | (Type::Integer { .. }, Type::Integer { .. } | Type::Decimal { .. })
        | (Type::Decimal { .. }, Type::Decimal { .. })
        | (Type::Float { .. }, Type::Float { .. })
        | (Type::Geometry { .. }, Type::Geometry { .. }) => true,
        (Type::Array(want), Type::Array(has)) => {
            std::mem::discriminant(&**want) == std::mem::discriminant(&**has)
        }
        _ => declared == found,
    };
    if agrees && is_loose && !matches!(found, Type::Text { .. }) {
        // A storage class has no limits of its own: those that the pipeline declares hold in every run.
        return Ok(declared.clone());
    }
    if agrees && !is_loose {
        return Ok(if *declared == Type::Scalar { Type::Scalar } else { found.clone() });
    }
    let is_stored_as = is_loose
        && match found {
            Type::Text { .. } => !matches!(
                declared,
                Type::Integer { .. }
                    | Type::Float { .. }
                    | Type::Boolean
                    | Type::Bytes
                    | Type::Geometry { .. }
            ),
            Type::Integer { .. } => matches!(declared, Type::Integer { .. } | Type::Boolean),
            Type::Bytes => matches!(declared, Type::Bytes | Type::Geometry { .. }),
            _ => false,
        };
    if is_stored_as {
        return Ok(declared.clone());
    }
    Err(format!("`{}` is {} in the database and {declared} in the pipeline", column.name, column.sql_type))
}

#[cfg(test)]
mod tests;
