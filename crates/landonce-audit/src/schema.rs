//! What is known of tables: from DDL among the files, from a dbt project, or from a live database.

mod declared;
mod postgres;
mod rowid;
mod sqlite;

use std::collections::{BTreeMap, BTreeSet};

use crate::Error;
use crate::code::Span;

pub(crate) use declared::collect;

/// The tables that are known, by lower-case name without quotes; with the schema where it is given, and also without
/// where that is unambiguous.
#[derive(Debug, Default)]
pub struct Schema {
    /// By name.
    pub tables: BTreeMap<String, Table>,
    /// Tables that foreign keys point to.
    referenced: BTreeSet<String>,
}

impl Schema {
    /// A table by its name as a statement has it: `orders`, `shop.orders`. A name with its schema also finds the table that
    /// was declared without, and the other way round where that is unambiguous.
    pub fn table(&self, name: &str) -> Option<&Table> {
        if let Some(table) = self.tables.get(name).or_else(|| self.tables.get(&name.to_lowercase())) {
            return Some(table);
        }
        let (schema, bare) = name.rsplit_once('.')?;
        // A schema that only the run knows: the table of that name, if there is but one.
        if schema.contains('{') {
            return self.tables.get(&bare.to_lowercase());
        }
        self.tables.get(&bare.to_lowercase()).filter(|table| !table.name.contains('.'))
    }

    /// Makes tables with a schema known without it, where only one has that name.
    pub(crate) fn shorten(&mut self) {
        let mut bare: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in self.tables.keys() {
            if let Some((_, last)) = name.rsplit_once('.') {
                bare.entry(last.to_owned()).or_default().push(name.clone());
            }
        }
        for (last, names) in bare {
            if let [only] = names.as_slice()
                && !self.tables.contains_key(&last)
                && let Some(table) = self.tables.get(only).cloned()
            {
                self.tables.insert(last, table);
            }
        }
    }

    /// Takes over what a live database says: it knows better than files, except where a table is declared.
    pub(crate) fn take_live(&mut self, live: Schema) {
        for (key, mut table) in live.tables {
            let bare = key.strip_prefix("public.").map(str::to_owned);
            for key in std::iter::once(key).chain(bare) {
                table.declared = self.tables.get(&key).and_then(|it| it.declared).or(table.declared);
                self.tables.insert(key, table.clone());
            }
        }
    }

    /// Tables once each, however many names find them.
    pub fn each(&self) -> impl Iterator<Item = &Table> {
        self.tables
            .iter()
            .filter(|(key, table)| table.name.to_lowercase() == key.to_lowercase())
            .map(|(_, table)| table)
    }
}

impl Table {
    /// A column by its name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|it| it.name == name.to_lowercase())
    }

    /// Every set of columns that no two rows share: the primary key, then unique constraints and indexes over whole tables.
    pub fn keys(&self) -> Vec<&[String]> {
        let primary = Some(self.primary_key.as_slice()).filter(|it| !it.is_empty());
        primary
            .into_iter()
            .chain(self.unique.iter().filter(|it| !it.is_partial).map(|it| it.columns.as_slice()))
            .collect()
    }
}

/// Reads a live database's tables into the schema; gives its place, for messages. It is read in a transaction that can only
/// read.
pub(crate) async fn read_live(url: &str, schema: &mut Schema) -> Result<String, Error> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        postgres::read(url, schema).await
    } else {
        sqlite::read(
            url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")).unwrap_or(url),
            schema,
        )
    }
}

/// A table.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Its name as written.
    pub name: String,
    /// Where it is declared: index into the units, and the place; `None` for a live one.
    pub declared: Option<(usize, Span)>,
    /// In order.
    pub columns: Vec<Column>,
    /// The primary key's columns.
    pub primary_key: Vec<String>,
    /// Every unique constraint or index: (name, columns, is_partial, treats_nulls_as_equal).
    pub unique: Vec<Unique>,
    /// Columns that other tables' foreign keys point to.
    pub is_referenced: bool,
    /// Declared to a mapper (SQLAlchemy), or in a string that no call takes: what writes to it isn't all in sight.
    pub is_mapped: bool,
}

/// A column.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Its name, lower-case.
    pub name: String,
    /// Its type as written.
    pub type_name: String,
    /// Whether NULL is impossible.
    pub is_not_null: bool,
    /// serial, identity, AUTO_INCREMENT, a default of nextval, gen_random_uuid() and the like.
    pub is_generated: bool,
    /// Its default as written.
    pub default: Option<String>,
    /// Where it is declared.
    pub span: Option<Span>,
}

/// A unique constraint or index.
#[derive(Debug, Clone, Default)]
pub struct Unique {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its columns, lower-case; an expression as written.
    pub columns: Vec<String>,
    /// Has a WHERE.
    pub is_partial: bool,
    /// NULLS NOT DISTINCT.
    pub nulls_not_distinct: bool,
    /// Where it is declared.
    pub span: Option<Span>,
}
