//! Values and conditions, from the syntax tree to pieces that every store spells.
//!
//! What means the same everywhere is written alike, or translated. What a store has alone, or means differently (`/` on whole numbers,
//! casts, most functions), is kept for the stores that the statement was written for, and refused on the others.

use landonce_core::plan::TableName;
use sqlparser::ast::{
    self, BinaryOperator, CastKind, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    InTarget, Insert, UnaryOperator, Value,
};

use super::statement::{alike, folded};
use super::tokens::Read;
use super::{Spelling, query};
use crate::upsert::{Each, Expr, Piece};
use crate::{Dialect, Refused};

/// Where an expression stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a row that comes: there is no column to read.
    Row,
    /// In what is updated, or its condition.
    Update,
}

/// What the names in a statement stand for.
pub(super) struct Scope<'a> {
    spelling: Spelling,
    dialect: Dialect,
    table: &'a TableName,
    columns: &'a [String],
    /// What else the row that is there is called.
    alias: Option<String>,
    /// What the row that comes is called.
    incoming: Option<String>,
    /// What the columns of the row that comes are called (`AS new (m, n)`).
    renamed: Vec<String>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(
        read: &Read,
        insert: &Insert,
        dialect: Dialect,
        table: &'a TableName,
        columns: &'a [String],
    ) -> Result<Self, Refused> {
        let row = insert.insert_alias.as_ref();
        let renamed: Vec<String> = row
            .and_then(|row| row.col_aliases.as_ref())
            .map(|names| names.iter().map(|name| name.value.clone()).collect())
            .unwrap_or_default();
        if !renamed.is_empty() && renamed.len() != columns.len() {
            return Err(Refused::new(
                format!("{} names are given for {} columns", renamed.len(), columns.len()),
                "name each of them",
            ));
        }
        let incoming = match read.spelling {
            Spelling::OnDuplicateKey => row.map(|row| row.row_alias.to_string().replace('`', "")),
            Spelling::OnConflict | Spelling::Upsert => Some("excluded".to_owned()),
        };
        let alias = read.alias.as_ref().map(|word| word.value.clone());
        Ok(Self { spelling: read.spelling, dialect, table, columns, alias, incoming, renamed })
    }

    /// A column's name, in the spelling of the statement's column list if it is there.
    pub(super) fn column(&self, ident: &Ident) -> String {
        let name = folded(ident, self.dialect);
        if ident.quote_style.is_some() || self.columns.contains(&name) {
            return name;
        }
        self.columns.iter().find(|column| alike(column, &name)).cloned().unwrap_or(name)
    }

    /// These parts before a column's name mean the row that is there.
    pub(super) fn is_stored(&self, parts: &[Ident]) -> bool {
        match parts {
            [table] => match &self.alias {
                Some(alias) => alike(&table.value, alias),
                None => alike(&table.value, &self.table.name),
            },
            [schema, table] => {
                self.table.schema.as_ref().is_some_and(|own| alike(own, &schema.value))
                    && alike(&table.value, &self.table.name)
            }
            _ => false,
        }
    }

    pub(super) fn expr(&self, expr: &ast::Expr, place: Place) -> Result<Expr, Refused> {
        let mut speller = Speller { scope: self, place, out: Vec::new() };
        speller.expr(expr)?;
        Ok(Expr(speller.out))
    }
}

struct Speller<'s> {
    scope: &'s Scope<'s>,
    place: Place,
    out: Vec<Piece>,
}

impl Speller<'_> {
    fn sql(&mut self, sql: &str) {
        match self.out.last_mut() {
            Some(Piece::Sql(before)) => before.push_str(sql),
            _ => self.out.push(Piece::Sql(sql.to_owned())),
        }
    }

    /// What only the stores that the statement was written for take, or mean so.
    fn own(&mut self, what: impl Into<String>, sql: &str) {
        let is = |spelling: Spelling| (self.scope.spelling == spelling).then(|| sql.to_owned());
        self.out.push(Piece::Each(Each {
            what: what.into(),
            postgres: is(Spelling::OnConflict),
            sqlite: is(Spelling::OnConflict),
            mysql: is(Spelling::OnDuplicateKey),
        }));
    }

    fn expr(&mut self, expr: &ast::Expr) -> Result<(), Refused> {
        use ast::Expr as E;
        match expr {
            E::Value(value) => self.value(&value.value)?,
            E::Identifier(name) => self.name(name)?,
            E::CompoundIdentifier(parts) => self.qualified(parts)?,
            E::Nested(inner) => {
                self.sql("(");
                self.expr(inner)?;
                self.sql(")");
            }
            E::UnaryOp { op, expr } => {
                match op {
                    UnaryOperator::Minus => self.sql("-"),
                    UnaryOperator::Plus => self.sql("+"),
                    UnaryOperator::Not => self.sql("NOT "),
                    other => return Err(unknown(&format!("the operator {other}"))),
                }
                // `--` would begin a comment.
                let is_sign = matches!(**expr, E::UnaryOp { .. }) && *op != UnaryOperator::Not;
                self.sql(if is_sign { " " } else { "" });
                self.expr(expr)?;
            }
            E::BinaryOp { left, op, right } => self.binary(left, op, right)?,
            E::IsNull(inner) => self.behind(inner, " IS NULL")?,
            E::IsNotNull(inner) => self.behind(inner, " IS NOT NULL")?,
            E::IsTrue(inner) => self.behind(inner, " IS TRUE")?,
            E::IsNotTrue(inner) => self.behind(inner, " IS NOT TRUE")?,
            E::IsFalse(inner) => self.behind(inner, " IS FALSE")?,
            E::IsNotFalse(inner) => self.behind(inner, " IS NOT FALSE")?,
            E::IsDistinctFrom(left, right) => self.is_distinct(left, right, true)?,
            E::IsNotDistinctFrom(left, right) => self.is_distinct(left, right, false)?,
            E::Between { expr, negated, low, high } => {
                self.expr(expr)?;
                self.sql(if *negated { " NOT BETWEEN " } else { " BETWEEN " });
                self.expr(low)?;
                self.sql(" AND ");
                self.expr(high)?;
            }
            E::In { expr, target: InTarget::List(list), negated, .. } => {
                self.expr(expr)?;
                self.sql(if *negated { " NOT IN (" } else { " IN (" });
                self.list(list)?;
                self.sql(")");
            }
            E::Case { operand, conditions, else_result, .. } => {
                self.sql("CASE");
                if let Some(operand) = operand {
                    self.sql(" ");
                    self.expr(operand)?;
                }
                for when in conditions {
                    self.sql(" WHEN ");
                    self.expr(&when.condition)?;
                    self.sql(" THEN ");
                    self.expr(&when.result)?;
                }
                if let Some(result) = else_result {
                    self.sql(" ELSE ");
                    self.expr(result)?;
                }
                self.sql(" END");
            }
            E::Cast { kind, expr, data_type, format: None } => {
                self.cast(kind, expr, &data_type.to_string())?;
            }
            E::Function(function) => self.function(function)?,
            other => return Err(unknown(&shown(other))),
        }
        Ok(())
    }

    fn list(&mut self, list: &[ast::Expr]) -> Result<(), Refused> {
        for (at, item) in list.iter().enumerate() {
            self.sql(if at == 0 { "" } else { ", " });
            self.expr(item)?;
        }
        Ok(())
    }

    fn behind(&mut self, inner: &ast::Expr, sql: &str) -> Result<(), Refused> {
        self.expr(inner)?;
        self.sql(sql);
        Ok(())
    }

    fn binary(&mut self, left: &ast::Expr, op: &BinaryOperator, right: &ast::Expr) -> Result<(), Refused> {
        let sql = match op {
            BinaryOperator::Plus => " + ",
            BinaryOperator::Minus => " - ",
            BinaryOperator::Multiply => " * ",
            BinaryOperator::Eq => " = ",
            BinaryOperator::NotEq => " <> ",
            BinaryOperator::Lt => " < ",
            BinaryOperator::LtEq => " <= ",
            BinaryOperator::Gt => " > ",
            BinaryOperator::GtEq => " >= ",
            BinaryOperator::And => " AND ",
            BinaryOperator::Or => " OR ",
            BinaryOperator::Spaceship => return self.is_distinct(left, right, false),
            // `||` joins texts here and merges JSON or arrays there; in MySQL it is OR.
            BinaryOperator::StringConcat | BinaryOperator::Divide | BinaryOperator::Modulo => {
                self.expr(left)?;
                self.own(format!("`{op}`"), &format!(" {op} "));
                return self.expr(right);
            }
            other => return Err(unknown(&format!("the operator {other}"))),
        };
        self.expr(left)?;
        self.sql(sql);
        self.expr(right)
    }

    fn is_distinct(&mut self, left: &ast::Expr, right: &ast::Expr, is_distinct: bool) -> Result<(), Refused> {
        let [before, between, behind] = Each::distinct(is_distinct).map(Piece::Each);
        self.out.push(before);
        self.expr(left)?;
        self.out.push(between);
        self.expr(right)?;
        self.out.push(behind);
        Ok(())
    }

    fn cast(&mut self, kind: &CastKind, expr: &ast::Expr, ty: &str) -> Result<(), Refused> {
        match kind {
            CastKind::DoubleColon => {
                self.expr(expr)?;
                let is_own = self.scope.spelling != Spelling::OnDuplicateKey;
                self.out.push(Piece::Each(Each {
                    what: format!("cast `::{ty}`"),
                    postgres: is_own.then(|| format!("::{ty}")),
                    sqlite: None,
                    mysql: None,
                }));
            }
            CastKind::Cast => {
                self.own(format!("cast to {ty}"), "CAST(");
                self.expr(expr)?;
                self.sql(&format!(" AS {ty})"));
            }
            CastKind::TryCast | CastKind::SafeCast => return Err(unknown("a cast that may fail")),
        }
        Ok(())
    }

    fn function(&mut self, function: &Function) -> Result<(), Refused> {
        let name = function.name.to_string().to_lowercase();
        let is_plain =
            function.over.is_none() && function.filter.is_none() && function.within_group.is_empty();
        let args = match &function.args {
            FunctionArguments::None => Vec::new(),
            FunctionArguments::List(list)
                if list.duplicate_treatment.is_none() && list.clauses.is_empty() =>
            {
                list.args
                    .iter()
                    .map(|arg| match arg {
                        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr.clone()),
                        other => Err(unknown(&format!("the argument {other}"))),
                    })
                    .collect::<Result<_, _>>()?
            }
            _ => return Err(unknown(&format!("what `{name}` is given"))),
        };
        if !is_plain {
            return Err(unknown(&format!("what `{name}` is given")));
        }
        match (name.as_str(), &args[..]) {
            ("values" | "value", [ast::Expr::Identifier(column)])
                if self.scope.spelling == Spelling::OnDuplicateKey =>
            {
                return self.incoming(self.scope.column(column));
            }
            ("values" | "value", [ast::Expr::CompoundIdentifier(parts)])
                if self.scope.spelling == Spelling::OnDuplicateKey
                    && self.scope.is_stored(&parts[..parts.len() - 1]) =>
            {
                return self.incoming(self.scope.column(&parts[parts.len() - 1]));
            }
            ("now" | "current_timestamp", []) => self.sql("CURRENT_TIMESTAMP"),
            ("current_date", []) => self.sql("CURRENT_DATE"),
            ("coalesce" | "ifnull", [_, _, ..]) => {
                self.sql("COALESCE(");
                self.list(&args)?;
                self.sql(")");
            }
            ("nullif", [_, _]) | ("abs", [_]) => {
                self.sql(&format!("{}(", name.to_uppercase()));
                self.list(&args)?;
                self.sql(")");
            }
            ("if", [condition, yes, no]) => {
                self.sql("CASE WHEN ");
                self.expr(condition)?;
                self.sql(" THEN ");
                self.expr(yes)?;
                self.sql(" ELSE ");
                self.expr(no)?;
                self.sql(" END");
            }
            _ => {
                self.own(format!("function `{name}`"), &format!("{}(", function.name));
                self.list(&args)?;
                self.sql(")");
            }
        }
        Ok(())
    }

    fn value(&mut self, value: &Value) -> Result<(), Refused> {
        match value {
            Value::Number(digits, false) => self.sql(digits),
            Value::Boolean(true) => self.sql("TRUE"),
            Value::Boolean(false) => self.sql("FALSE"),
            Value::Null => self.sql("NULL"),
            Value::Placeholder(number) => self.out.push(Piece::Param(number[1..].parse().unwrap_or(0))),
            Value::SingleQuotedString(text)
            | Value::DoubleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::NationalStringLiteral(text) => self.out.push(Piece::Text(text.clone())),
            Value::DollarQuotedString(text) => self.out.push(Piece::Text(text.value.clone())),
            Value::HexStringLiteral(digits) => self.out.push(Piece::Each(query::hex(digits))),
            other => return Err(unknown(&shown(other))),
        }
        Ok(())
    }

    fn name(&mut self, ident: &Ident) -> Result<(), Refused> {
        if ident.quote_style.is_none() && alike(&ident.value, "default") {
            self.out.push(Piece::Each(Each {
                what: "DEFAULT as a value".to_owned(),
                postgres: Some("DEFAULT".to_owned()),
                sqlite: None,
                mysql: Some("DEFAULT".to_owned()),
            }));
            return Ok(());
        }
        if ident.quote_style.is_none() && ident.value.starts_with(['@', '$']) {
            return Err(Refused::new(
                format!("`{}` is a variable", ident.value),
                "give its value as a parameter: $1, ? or :name",
            ));
        }
        if let Some(at) = self.scope.renamed.iter().position(|name| alike(name, &ident.value)) {
            return self.incoming(self.scope.columns[at].clone());
        }
        self.stored(self.scope.column(ident))
    }

    fn qualified(&mut self, parts: &[Ident]) -> Result<(), Refused> {
        let Some((column, before)) = parts.split_last() else {
            return Err(unknown("a name without parts"));
        };
        if let ([row], Some(incoming)) = (before, &self.scope.incoming)
            && alike(&row.value, incoming)
        {
            let at = self.scope.renamed.iter().position(|name| alike(name, &column.value));
            return match at {
                Some(at) => self.incoming(self.scope.columns[at].clone()),
                None => self.incoming(self.scope.column(column)),
            };
        }
        if !self.scope.is_stored(before) {
            let names: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            return Err(Refused::new(
                format!("`{}` is neither the row that is there nor the one that comes", names.join(".")),
                "write table.column for the one, and excluded.column or VALUES(column) for the other",
            ));
        }
        self.stored(self.scope.column(column))
    }

    fn stored(&mut self, column: String) -> Result<(), Refused> {
        self.in_update(&column)?;
        self.out.push(Piece::Stored(column));
        Ok(())
    }

    fn incoming(&mut self, column: String) -> Result<(), Refused> {
        self.in_update(&column)?;
        if !self.scope.columns.contains(&column) {
            return Err(Refused::new(
                format!("the column `{column}` of the row that comes is used, and the row doesn't give it"),
                "give it a value, or use another column",
            ));
        }
        self.out.push(Piece::Incoming(column));
        Ok(())
    }

    fn in_update(&self, column: &str) -> Result<(), Refused> {
        if self.place == Place::Update {
            return Ok(());
        }
        Err(Refused::new(
            format!("a row that comes can't be made of the column `{column}`"),
            "give a value; a text stands in single quotes",
        ))
    }
}

/// The beginning of what isn't taken.
fn shown(what: &dyn std::fmt::Display) -> String {
    let text = what.to_string();
    let short: String = text.chars().take(60).collect();
    if short.len() < text.len() { format!("`{short}…`") } else { format!("`{text}`") }
}

fn unknown(what: &str) -> Refused {
    Refused::new(
        format!("{what} doesn't mean the same on every store"),
        "compute it in the program, and give it as a parameter",
    )
}
