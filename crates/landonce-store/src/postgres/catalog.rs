//! What PostgreSQL's catalogue says of a table: its columns in our words and in wire form, its unique indexes, its kind.
//!
//! Four queries, and a pure resolution of types behind them: domains down to what they stand on, arrays to their items,
//! type modifiers to limits. Permissions are not asked: the statement that needs one is told.

use std::collections::HashMap;

use futures_util::try_join;
use landonce_core::column::Type;
use landonce_core::plan::{ShapeColumn, TableName, TableShape, UniqueIndex};
use tokio_postgres::Row;
use tokio_postgres::types::Type as Pg;

use super::link::{Link, Params};
use super::quote;
use super::wire::Wire;
use crate::error::{Error, Result};

/// A table that exists.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) table: TableName,
    pub(super) relation: Relation,
    /// COPY puts rows past rewrite rules and can't enforce row-level security.
    pub(super) takes_copy: bool,
    pub(super) columns: Vec<Column>,
    pub(super) unique: Vec<UniqueIndex>,
}

/// What can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Table,
    Partitioned,
    View,
    Foreign,
}

/// A column, for the plan and for the wire.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) shape: ShapeColumn,
    /// `None` when landonce doesn't write the type.
    pub(super) wire: Option<Wire>,
    pub(super) compare: Compare,
    /// How many digits of a second a timestamp(p) keeps; the server would round silently.
    pub(super) fraction: Option<i32>,
    /// What a domain stands on that takes no NULL: a record that is a delete or a change has NULL where it has nothing.
    pub(super) base_type: Option<String>,
}

/// How two values of a column are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Compare {
    /// By the type's own equality.
    Plain,
    /// Text whose equality is coarser (citext, a collation that folds case): by its bytes. Its content has changed
    /// nevertheless.
    Text,
    /// An array of such text.
    TextArray,
    /// json has none: as jsonb.
    Json,
    /// Nor has json[]: as jsonb[].
    JsonArray,
    /// PostGIS's `=` looks at bounding boxes in older versions: as EWKB, by the function in PostGIS's schema.
    Geometry { schema: String },
}

const RELATION: &str = "\
SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text,
       pg_catalog.row_security_active(c.oid), c.relhasrules
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass($1)";

const COLUMNS: &str = "\
SELECT a.attname::text, a.atttypid, a.atttypmod, a.attnotnull,
       a.attgenerated <> '' OR a.attidentity = 'a', a.atthasdef OR a.attidentity <> '',
       pg_catalog.format_type(a.atttypid, a.atttypmod), coalesce(l.collisdeterministic, true)
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum";

const TYPES: &str = "\
WITH RECURSIVE reached(oid) AS (
  SELECT a.atttypid FROM pg_catalog.pg_attribute a
  WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
  UNION
  SELECT u.oid
  FROM reached r JOIN pg_catalog.pg_type t ON t.oid = r.oid
  CROSS JOIN LATERAL (VALUES (t.typbasetype), (CASE WHEN t.typcategory = 'A' THEN t.typelem END)) u(oid)
  WHERE u.oid <> 0
)
SELECT t.oid, n.nspname::text, t.typname::text, t.typtype::text, t.typbasetype, t.typtypmod,
       CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0::oid END, t.typnotnull, t.typdefault IS NOT NULL,
       pg_catalog.format_type(t.typbasetype, t.typtypmod),
       ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM reached r
JOIN pg_catalog.pg_type t ON t.oid = r.oid
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace";

// PostgreSQL 14 has no indnullsnotdistinct: read through JSON, a column that isn't there is a null.
const UNIQUE: &str = "\
SELECT c.relname::text,
       ARRAY(SELECT a.attname::text
             FROM unnest(i.indkey) WITH ORDINALITY k(attnum, at)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE k.at <= i.indnkeyatts ORDER BY k.at),
       coalesce((to_jsonb(i) ->> 'indnullsnotdistinct')::bool, false), i.indisprimary
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indisready AND i.indimmediate
  AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY i.indisprimary DESC, c.relname";

/// Looks a table up; `None` when there is no table or view of that name.
pub(super) async fn load(link: &Link<'_>, table: &TableName) -> Result<Option<Catalog>> {
    let doing = format!("looking up table {table}");
    let name = quote::table(table)?;
    let Some(relation) = link.query(&doing, RELATION, &[(&name, Pg::TEXT)]).await?.pop() else {
        return Ok(None);
    };
    let (oid, kind): (u32, String) = (relation.get(0), relation.get(3));
    let kind = match kind.as_str() {
        "r" => Relation::Table,
        "p" => Relation::Partitioned,
        "v" => Relation::View,
        "f" => Relation::Foreign,
        "m" => {
            return Err(Error::refused(format!(
                "{table} is a materialized view: nothing can be written to it"
            )));
        }
        _ => return Err(Error::refused(format!("{table} is neither a table nor a view"))),
    };
    let params: Params<'_> = &[(&oid, Pg::OID)];
    // Asked together: one round trip.
    let (columns, types, unique) = try_join!(
        link.query(&doing, COLUMNS, params),
        link.query(&doing, TYPES, params),
        link.query(&doing, UNIQUE, params),
    )?;
    let types = Types(types.iter().map(|row| (row.get(0), PgType::read(row))).collect());
    let columns: Vec<Column> = columns.iter().map(|row| column(row, &types)).collect();
    let nullable = |name: &String| columns.iter().any(|has| has.shape.name == *name && has.shape.nullable);
    let unique = unique
        .iter()
        .map(|row| {
            let (name, names, is_not_distinct): (String, Vec<String>, bool) =
                (row.get(0), row.get(1), row.get(2));
            let is_primary: bool = row.get(3);
            let is_null_safe = is_not_distinct || !names.iter().any(nullable);
            UniqueIndex { name, columns: names, is_null_safe, is_primary }
        })
        .collect();
    let has_filter: bool = relation.get(4);
    let has_rules: bool = relation.get(5);
    Ok(Some(Catalog {
        table: TableName { schema: Some(relation.get(1)), name: relation.get(2) },
        relation: kind,
        takes_copy: matches!(kind, Relation::Table | Relation::Partitioned) && !has_filter && !has_rules,
        columns,
        unique,
    }))
}

impl Catalog {
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.shape.name == name)
    }

    pub(super) fn into_shape(self) -> TableShape {
        TableShape {
            table: self.table,
            columns: self.columns.into_iter().map(|column| column.shape).collect(),
            unique: self.unique,
            is_view: self.relation == Relation::View,
            is_loosely_typed: false,
        }
    }
}

fn column(row: &Row, types: &Types) -> Column {
    let (oid, modifier, is_deterministic): (u32, i32, bool) = (row.get(1), row.get(2), row.get(7));
    let (is_not_null, has_default): (bool, bool) = (row.get(3), row.get(5));
    let resolved = types.resolve(oid, modifier);
    let is_exact = resolved.is_exact && is_deterministic;
    let compare = match (&resolved.ty, is_exact) {
        (Some(Type::Text { .. }), false) => Compare::Text,
        (Some(Type::Array(_)), false) => Compare::TextArray,
        _ => resolved.compare,
    };
    Column {
        shape: ShapeColumn {
            name: row.get(0),
            ty: resolved.ty,
            sql_type: row.get(6),
            nullable: !is_not_null && !resolved.is_not_null,
            is_generated: row.get(4),
            has_default: has_default || resolved.has_default,
            is_exact,
        },
        wire: resolved.wire,
        compare,
        fraction: resolved.fraction,
        base_type: resolved.is_not_null.then_some(resolved.base_type).flatten(),
    }
}

/// A row of `pg_type`.
#[derive(Debug, Default)]
struct PgType {
    schema: String,
    name: String,
    kind: String,
    base: u32,
    modifier: i32,
    item: u32,
    is_not_null: bool,
    has_default: bool,
    /// The base type of a domain, as a cast spells it.
    base_type: Option<String>,
    labels: Vec<String>,
}

impl PgType {
    fn read(row: &Row) -> Self {
        Self {
            schema: row.get(1),
            name: row.get(2),
            kind: row.get(3),
            base: row.get(4),
            modifier: row.get(5),
            item: row.get(6),
            is_not_null: row.get(7),
            has_default: row.get(8),
            base_type: row.get::<_, Option<String>>(9).filter(|name| name != "-"),
            labels: row.get(10),
        }
    }
}

/// All types that a table's columns reach, by oid.
struct Types(HashMap<u32, PgType>);

/// A type in our words.
#[derive(Debug)]
struct Resolved {
    ty: Option<Type>,
    wire: Option<Wire>,
    compare: Compare,
    fraction: Option<i32>,
    is_exact: bool,
    is_not_null: bool,
    has_default: bool,
    base_type: Option<String>,
}

impl Resolved {
    fn unknown() -> Self {
        Self {
            ty: None,
            wire: None,
            compare: Compare::Plain,
            fraction: None,
            is_exact: true,
            is_not_null: false,
            has_default: false,
            base_type: None,
        }
    }

    fn known(ty: Type, wire: Wire) -> Self {
        Self { ty: Some(ty), wire: Some(wire), ..Self::unknown() }
    }
}

impl Types {
    fn resolve(&self, oid: u32, modifier: i32) -> Resolved {
        let Some(found) = self.0.get(&oid) else { return Resolved::unknown() };
        match found.kind.as_str() {
            "d" => {
                let base = self.resolve(found.base, found.modifier);
                Resolved {
                    is_not_null: base.is_not_null || found.is_not_null,
                    has_default: base.has_default || found.has_default,
                    base_type: base.base_type.or_else(|| found.base_type.clone()),
                    ..base
                }
            }
            "e" => {
                let name = if found.schema == "public" || found.schema == "pg_catalog" {
                    found.name.clone()
                } else {
                    format!("{}.{}", found.schema, found.name)
                };
                Resolved::known(Type::Enum { labels: found.labels.clone(), name }, Wire::Text)
            }
            _ if found.item != 0 => self.array(found, modifier),
            _ if found.name == "citext" => {
                Resolved { is_exact: false, ..Resolved::known(Type::TEXT, Wire::Text) }
            }
            _ if found.name == "geometry" => geometry(&found.schema, modifier),
            _ if found.schema == "pg_catalog" => built_in(&found.name, modifier),
            _ => Resolved::unknown(),
        }
    }

    fn array(&self, found: &PgType, modifier: i32) -> Resolved {
        if matches!(found.name.as_str(), "int2vector" | "oidvector") {
            return Resolved::unknown();
        }
        let item = self.resolve(found.item, modifier);
        let (Some(ty), Some(wire)) = (item.ty, item.wire) else { return Resolved::unknown() };
        let compare = match item.compare {
            Compare::Json => Compare::JsonArray,
            // No function compares arrays of geometries as bytes.
            Compare::Geometry { .. } => return Resolved::unknown(),
            other => other,
        };
        Resolved {
            compare,
            is_exact: item.is_exact,
            fraction: item.fraction,
            ..Resolved::known(
                Type::Array(Box::new(ty)),
                Wire::Array { item: Box::new(wire), oid: found.item },
            )
        }
    }
}

fn built_in(name: &str, modifier: i32) -> Resolved {
    // varchar(n), char(n) and numeric(p,s) carry four bytes of header in their modifier.
    let length = (modifier >= 4).then_some((modifier - 4) as u32);
    let timestamp = |ty, wire| {
        let fraction = (0..6).contains(&modifier).then_some(modifier);
        Resolved { fraction, ..Resolved::known(ty, wire) }
    };
    match name {
        "bool" => Resolved::known(Type::Boolean, Wire::Boolean),
        "int2" => Resolved::known(Type::Integer { bits: 16 }, Wire::Int2),
        "int4" => Resolved::known(Type::Integer { bits: 32 }, Wire::Int4),
        "int8" => Resolved::known(Type::INTEGER, Wire::Int8),
        "numeric" => {
            let limits = length.map(|packed| {
                // The scale is eleven bits with a sign (negative ones since PostgreSQL 15).
                let scale = ((packed & 0x7ff) as i32 ^ 1024) - 1024;
                ((packed >> 16) as u16, scale as i16)
            });
            Resolved::known(Type::Decimal { limits }, Wire::Numeric)
        }
        "float4" => Resolved::known(Type::Float { bits: 32 }, Wire::Float4),
        "float8" => Resolved::known(Type::Float { bits: 64 }, Wire::Float8),
        "text" => Resolved::known(Type::TEXT, Wire::Text),
        "varchar" => Resolved::known(Type::Text { max: length }, Wire::Text),
        // Trailing spaces don't count: 'a' and 'a ' are equal there.
        "bpchar" => Resolved { is_exact: false, ..Resolved::known(Type::Text { max: length }, Wire::Text) },
        "name" => Resolved::known(Type::Text { max: Some(63) }, Wire::Text),
        "uuid" => Resolved::known(Type::Uuid, Wire::Uuid),
        "date" => Resolved::known(Type::Date, Wire::Date),
        "timestamp" => timestamp(Type::Timestamp, Wire::Timestamp),
        "timestamptz" => timestamp(Type::Timestamptz, Wire::Timestamptz),
        "bytea" => Resolved::known(Type::Bytes, Wire::Bytes),
        "json" => Resolved { compare: Compare::Json, ..Resolved::known(Type::Json, Wire::Json) },
        "jsonb" => Resolved::known(Type::Json, Wire::Jsonb),
        _ => Resolved::unknown(),
    }
}

/// PostGIS packs kind, SRID and dimensions into the modifier.
fn geometry(schema: &str, modifier: i32) -> Resolved {
    const KINDS: [&str; 7] = [
        "Point",
        "LineString",
        "Polygon",
        "MultiPoint",
        "MultiLineString",
        "MultiPolygon",
        "GeometryCollection",
    ];
    let (kind, srid) = if modifier < 0 {
        (None, 0)
    } else {
        // GeoJSON has no measures, and its third dimension is optional: a column that demands either isn't ours.
        if modifier & 0b11 != 0 {
            return Resolved::unknown();
        }
        let kind = ((modifier & 0xfc) >> 2) as usize;
        let srid = ((modifier & 0x0fff_ff00) - (modifier & 0x1000_0000)) >> 8;
        match kind {
            0 => (None, srid),
            _ => match KINDS.get(kind - 1) {
                Some(kind) => (Some((*kind).to_owned()), srid),
                None => return Resolved::unknown(),
            },
        }
    };
    let srid = if srid == 0 { 4326 } else { srid };
    Resolved {
        compare: Compare::Geometry { schema: schema.to_owned() },
        ..Resolved::known(Type::Geometry { kind, srid }, Wire::Geometry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(given: Vec<(u32, PgType)>) -> Types {
        Types(given.into_iter().collect())
    }

    fn built(name: &str) -> PgType {
        PgType { schema: "pg_catalog".into(), name: name.into(), kind: "b".into(), ..PgType::default() }
    }

    #[test]
    fn modifiers_become_limits() {
        let ty = |name, modifier| built_in(name, modifier).ty.unwrap().to_string();
        assert_eq!(ty("varchar", 24), "varchar(20)");
        assert_eq!(ty("varchar", -1), "text");
        assert_eq!(ty("numeric", ((20 << 16) | 8) + 4), "decimal(20,8)");
        assert_eq!(ty("numeric", ((3 << 16) | 0x7fe) + 4), "decimal(3,-2)");
        assert_eq!(ty("numeric", -1), "decimal");
        assert_eq!(built_in("timestamptz", 3).fraction, Some(3));
        assert_eq!(built_in("timestamptz", 6).fraction, None);
    }

    #[test]
    fn domains_resolve_to_what_they_stand_on() {
        let amount = PgType {
            kind: "d".into(),
            base: 1700,
            modifier: ((10 << 16) | 2) + 4,
            is_not_null: true,
            ..built("amount")
        };
        let types = types(vec![(1, amount), (1700, built("numeric"))]);
        let resolved = types.resolve(1, -1);
        assert_eq!(resolved.ty.unwrap().to_string(), "decimal(10,2)");
        assert_eq!(resolved.wire, Some(Wire::Numeric));
        assert!(resolved.is_not_null);
    }

    #[test]
    fn arrays_carry_the_oid_of_their_items() {
        let moods = PgType { item: 7, ..built("_mood") };
        let mood =
            PgType { kind: "e".into(), schema: "public".into(), labels: vec!["ok".into()], ..built("mood") };
        let types = types(vec![(8, moods), (7, PgType { schema: "public".into(), ..mood })]);
        let resolved = types.resolve(8, -1);
        assert_eq!(resolved.ty.unwrap().to_string(), "enum(mood)[]");
        assert_eq!(resolved.wire, Some(Wire::Array { item: Box::new(Wire::Text), oid: 7 }));
    }

    #[test]
    fn geometry_modifiers_are_unpacked() {
        let ty = |modifier| geometry("public", modifier).ty.map(|ty| ty.to_string());
        // What PostGIS 3.3 stores for geometry(MultiPolygon,4326), geometry(Point,2249), geometry(PointZ,4326), geometry.
        assert_eq!(ty((4326 << 8) | (6 << 2)).as_deref(), Some("geometry(MultiPolygon,4326)"));
        assert_eq!(ty((2249 << 8) | (1 << 2)).as_deref(), Some("geometry(Point,2249)"));
        assert_eq!(ty((4326 << 8) | (1 << 2) | 2), None);
        assert_eq!(ty(-1).as_deref(), Some("geometry(Geometry,4326)"));
    }

    #[test]
    fn types_that_are_not_written_are_not_guessed() {
        for name in ["interval", "point", "xml", "money", "inet", "tsvector"] {
            assert_eq!(built_in(name, -1).ty, None, "{name}");
        }
    }
}
