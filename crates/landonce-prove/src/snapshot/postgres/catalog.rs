//! What there is in a PostgreSQL database: relations, columns, keys, sequences and the rest, a query for each.
//!
//! Schemas of the server are left out, and what belongs to an extension, but for its tables that hold rows of users.

use std::collections::HashMap;
use std::fmt;

use tokio_postgres::{Error, Transaction};

use crate::snapshot::name;

/// Everything but rows and the states of sequences.
#[derive(Debug)]
pub(super) struct Catalog {
    pub(super) relations: Vec<Relation>,
    pub(super) sequences: Vec<Sequence>,
    pub(super) prepared: Vec<String>,
    pub(super) objects: Vec<String>,
}

/// Something with rows.
#[derive(Debug)]
pub(super) struct Relation {
    pub(super) oid: u32,
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// A materialised view that was never filled can't be read.
    pub(super) is_readable: bool,
    /// Of an extension's table: which rows are the user's, with its WHERE.
    pub(super) condition: String,
    pub(super) columns: Vec<RelationColumn>,
    pub(super) key: Vec<String>,
    pub(super) unique: Vec<Vec<String>>,
}

/// What kind of relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Table,
    /// The root; its partitions are part of it.
    Partitioned,
    /// A materialised view.
    View,
}

/// A column of it.
#[derive(Debug)]
pub(super) struct RelationColumn {
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) is_generated: bool,
    pub(super) default: Option<String>,
    pub(super) references: Option<(String, String)>,
    /// The sequence that belongs to it.
    pub(super) sequence: Option<u32>,
}

/// A sequence's name.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) oid: u32,
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) start: i64,
}

/// Where a sequence stands.
#[derive(Debug)]
pub(super) struct SequenceState {
    pub(super) name: String,
    pub(super) last: i64,
    pub(super) is_called: bool,
    pub(super) start: i64,
}

impl SequenceState {
    /// Whether it is as it was made.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_called && self.last == self.start
    }
}

impl fmt::Display for SequenceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.last, if self.is_called { "" } else { " (not used yet)" })
    }
}

pub(super) async fn read(transaction: &Transaction<'_>) -> Result<Catalog, Error> {
    let mut relations = relations(transaction).await?;
    let oids: Vec<u32> = relations.iter().map(|relation| relation.oid).collect();
    let mut columns = columns(transaction, &oids).await?;
    let mut keys = keys(transaction, &oids).await?;
    for relation in &mut relations {
        relation.columns = columns.remove(&relation.oid).unwrap_or_default();
        let sets = keys.remove(&relation.oid).unwrap_or_default();
        relation.key = sets.iter().find(|set| set.is_key).map(|set| set.columns.clone()).unwrap_or_default();
        relation.unique = sets.into_iter().map(|set| set.columns).collect();
    }
    Ok(Catalog {
        relations,
        sequences: read_sequences(transaction).await?,
        prepared: texts(
            transaction,
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() ORDER BY gid",
        )
        .await?,
        objects: texts(transaction, OBJECTS).await?,
    })
}

async fn texts(transaction: &Transaction<'_>, query: &str) -> Result<Vec<String>, Error> {
    Ok(transaction.query(query, &[]).await?.iter().map(|row| row.get(0)).collect())
}

async fn relations(transaction: &Transaction<'_>) -> Result<Vec<Relation>, Error> {
    const RELATIONS: &str = r"
        SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text, c.relispopulated, coalesce(x.condition, '')
        FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN LATERAL (
            SELECT config.condition
            FROM pg_extension e, unnest(e.extconfig, e.extcondition) AS config(relation, condition)
            WHERE config.relation = c.oid LIMIT 1
        ) x ON true
        WHERE c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition AND c.relpersistence <> 't'
          AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
          AND (x.condition IS NOT NULL OR NOT EXISTS (
              SELECT FROM pg_depend d
              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))
        ORDER BY 2, 3";
    let rows = transaction.query(RELATIONS, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| Relation {
            oid: row.get(0),
            schema: row.get(1),
            name: row.get(2),
            kind: match row.get(3) {
                "p" => Kind::Partitioned,
                "m" => Kind::View,
                _ => Kind::Table,
            },
            is_readable: row.get(4),
            condition: row.get(5),
            columns: Vec::new(),
            key: Vec::new(),
            unique: Vec::new(),
        })
        .collect())
}

async fn columns(
    transaction: &Transaction<'_>,
    oids: &[u32],
) -> Result<HashMap<u32, Vec<RelationColumn>>, Error> {
    // A column with two foreign keys: one of them is told.
    const COLUMNS: &str = "
        SELECT a.attrelid, a.attname::text, format_type(a.atttypid, a.atttypmod), a.attidentity::text,
               a.attgenerated::text, pg_get_expr(d.adbin, d.adrelid), s.objid, f.schema, f.relation, f.attribute
        FROM pg_attribute a
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN LATERAL (
            SELECT d.objid FROM pg_depend d JOIN pg_class q ON q.oid = d.objid AND q.relkind = 'S'
            WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
              AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum AND d.deptype IN ('a', 'i')
            ORDER BY d.objid LIMIT 1
        ) s ON true
        LEFT JOIN LATERAL (
            SELECT n.nspname::text, c.relname::text, r.attname::text
            FROM pg_constraint k
            CROSS JOIN LATERAL unnest(k.conkey, k.confkey) AS pair(mine, its)
            JOIN pg_class c ON c.oid = k.confrelid
            JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute r ON r.attrelid = k.confrelid AND r.attnum = pair.its
            WHERE k.contype = 'f' AND k.conparentid = 0 AND k.conrelid = a.attrelid AND pair.mine = a.attnum
            ORDER BY k.oid LIMIT 1
        ) f(schema, relation, attribute) ON true
        WHERE a.attrelid = ANY($1) AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY a.attrelid, a.attnum";
    let mut columns: HashMap<u32, Vec<RelationColumn>> = HashMap::new();
    for row in transaction.query(COLUMNS, &[&oids]).await? {
        let (identity, generated): (&str, &str) = (row.get(3), row.get(4));
        let mut default: Option<String> = row.get(5);
        if !identity.is_empty() {
            let when = if identity == "a" { "always" } else { "by default" };
            default = Some(format!("generated {when} as identity"));
        }
        let is_generated =
            !identity.is_empty() || generated.is_empty() && default.as_deref().is_some_and(is_generator);
        let target: Option<(String, String, String)> = match (row.get(7), row.get(8), row.get(9)) {
            (Some(schema), Some(relation), Some(attribute)) => Some((schema, relation, attribute)),
            _ => None,
        };
        columns.entry(row.get(0)).or_default().push(RelationColumn {
            name: row.get(1),
            type_name: row.get(2),
            is_generated,
            default,
            references: target
                .map(|(schema, relation, attribute)| (name::join([schema.as_str(), &relation]), attribute)),
            sequence: row.get(6),
        });
    }
    Ok(columns)
}

/// Whether a default makes up an id.
fn is_generator(default: &str) -> bool {
    ["nextval(", "gen_random_uuid(", "uuid_generate_", "uuidv4(", "uuidv7(", "gen_random_bytes(", "random("]
        .iter()
        .any(|function| default.contains(function))
}

/// Columns that are unique together.
#[derive(Debug)]
struct UniqueSet {
    is_key: bool,
    columns: Vec<String>,
}

async fn keys(transaction: &Transaction<'_>, oids: &[u32]) -> Result<HashMap<u32, Vec<UniqueSet>>, Error> {
    const KEYS: &str = "
        SELECT i.indrelid, i.indisprimary OR bool_and(a.attnotnull), array_agg(a.attname::text ORDER BY k.place)
        FROM pg_index i
        CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, place)
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
        WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
          AND k.place <= i.indnkeyatts AND i.indrelid = ANY($1)
        GROUP BY i.indexrelid, i.indrelid, i.indisprimary
        ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid";
    let mut keys: HashMap<u32, Vec<UniqueSet>> = HashMap::new();
    for row in transaction.query(KEYS, &[&oids]).await? {
        keys.entry(row.get(0)).or_default().push(UniqueSet { is_key: row.get(1), columns: row.get(2) });
    }
    Ok(keys)
}

pub(super) async fn read_sequences(transaction: &Transaction<'_>) -> Result<Vec<Sequence>, Error> {
    const SEQUENCES: &str = r"
        SELECT c.oid, n.nspname::text, c.relname::text, s.seqstart
        FROM pg_sequence s
        JOIN pg_class c ON c.oid = s.seqrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
          AND NOT EXISTS (SELECT FROM pg_depend d
                          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
        ORDER BY 2, 3";
    let rows = transaction.query(SEQUENCES, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| Sequence { oid: row.get(0), schema: row.get(1), name: row.get(2), start: row.get(3) })
        .collect())
}

/// Kind and name of what else a run can leave behind.
const OBJECTS: &str = r"
    WITH own_schema AS (
        SELECT oid, nspname FROM pg_namespace
        WHERE nspname NOT LIKE 'pg\_%' AND nspname <> 'information_schema'
    ), part AS (
        SELECT classid, objid FROM pg_depend WHERE deptype = 'e'
    ), object(class, id, text) AS (
        SELECT 'pg_namespace'::regclass, oid, format('schema %I', nspname) FROM own_schema
        UNION ALL
        SELECT 'pg_class'::regclass, c.oid, format('%s %I.%I',
            CASE c.relkind WHEN 'v' THEN 'view' WHEN 'f' THEN 'foreign table' WHEN 'm' THEN 'materialized view'
                           WHEN 'i' THEN 'index' WHEN 'I' THEN 'index' ELSE 'partition' END, n.nspname, c.relname)
        FROM pg_class c JOIN own_schema n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('v', 'f', 'm', 'i', 'I') OR c.relispartition AND c.relkind IN ('r', 'p')
        UNION ALL
        SELECT 'pg_proc'::regclass, p.oid,
               format('function %I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
        FROM pg_proc p JOIN own_schema n ON n.oid = p.pronamespace
        UNION ALL
        SELECT 'pg_type'::regclass, t.oid, format('type %I.%I', n.nspname, t.typname)
        FROM pg_type t JOIN own_schema n ON n.oid = t.typnamespace LEFT JOIN pg_class c ON c.oid = t.typrelid
        WHERE t.typtype IN ('d', 'e', 'r') OR c.relkind = 'c'
        UNION ALL
        SELECT 'pg_trigger'::regclass, t.oid, format('trigger %I on %I.%I', t.tgname, n.nspname, c.relname)
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN own_schema n ON n.oid = c.relnamespace
        WHERE NOT t.tgisinternal
        UNION ALL
        SELECT 'pg_constraint'::regclass, k.oid, format('constraint %I on %I.%I', k.conname, n.nspname, c.relname)
        FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN own_schema n ON n.oid = c.relnamespace
        WHERE k.contype IN ('c', 'f', 'x')
        UNION ALL
        SELECT 'pg_extension'::regclass, oid, format('extension %I', extname) FROM pg_extension
        UNION ALL
        SELECT 'pg_publication'::regclass, oid, format('publication %I', pubname) FROM pg_publication
        UNION ALL
        SELECT 'pg_event_trigger'::regclass, oid, format('event trigger %I', evtname) FROM pg_event_trigger
    )
    SELECT text FROM object o
    WHERE NOT EXISTS (SELECT FROM part WHERE part.classid = o.class AND part.objid = o.id)
    UNION ALL
    SELECT format('replication slot %I', slot_name) FROM pg_replication_slots WHERE database = current_database()
    UNION ALL
    SELECT format('%s large objects', count(*)) FROM pg_largeobject_metadata HAVING count(*) > 0
    ORDER BY 1";
