//! A snapshot of PostgreSQL holds every value exactly, whatever its type, and what is physical about a row.

use std::path::Path;

use landonce_prove::snapshot::{Content, Snapshot, calibrate, postgres, within};
use landonce_testkit::postgres::{TestDatabase, database};
use tempfile::TempDir;

/// A database, and its snapshots in folders of their own.
struct Scratch {
    database: TestDatabase,
    folder: TempDir,
    count: u32,
}

impl Scratch {
    async fn new(sql: &str) -> Self {
        let scratch = Self { database: database().await, folder: tempfile::tempdir().unwrap(), count: 0 };
        scratch.run(sql).await;
        scratch
    }

    async fn run(&self, sql: &str) {
        self.database.client().await.batch_execute(sql).await.unwrap();
    }

    async fn snapshot(&mut self) -> Snapshot {
        self.count += 1;
        let folder = self.folder.path().join(self.count.to_string());
        std::fs::create_dir(&folder).unwrap();
        postgres::read(&self.database.url(), &folder).await.unwrap()
    }
}

/// The rows' lines, without versions.
fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split_once('\t').unwrap_or((line, "")).1.to_owned()).collect()
}

#[tokio::test]
async fn values_are_exact_whatever_their_type() {
    let mut db = Scratch::new(
        r#"CREATE TYPE pair AS (a int, b text); CREATE DOMAIN short AS text; CREATE TYPE mood AS ENUM ('so so');
        CREATE TABLE v (n int, num numeric, f float8, g float4, j jsonb, a text[], p pair, b bytea, t text, d short, m mood,
            tv tsvector, ts timestamptz, iv interval, r int4range, x xml, c money, o regclass, bit bit varying);
        INSERT INTO v VALUES
          (1, 1.0, '-0', 0.1, '{"b": 1, "a": 1.0}', '{NULL,"NULL","a b"}', ROW(1, NULL), '\xff00', E'a\tb\nc\\d\re', 'd',
           'so so', 'a:1 b:2', '2026-01-01 00:00+02', '1 mon -1 day', '[1,5)', '<a/>', 1.5, 'pg_class', B'101'),
          (2, 1.00, 'NaN', 'infinity', 'null', '{}', NULL, '', '', NULL, NULL, '', 'infinity', '0', 'empty', NULL, -1, NULL, ''),
          (3, 'NaN', 0.1, 1e-45, '[]', NULL, ROW(NULL, ''), NULL, '\N', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);"#,
    )
    .await;
    let snapshot = db.snapshot().await;
    let table = &snapshot.tables["public.v"];
    let found = lines(&table.file);
    assert_eq!(table.rows, 3);
    assert_eq!(
        found[0],
        "1\t1.0\t-0\t0.1\t{\"a\": 1.0, \"b\": 1}\t{NULL,\"NULL\",\"a b\"}\t(1,)\t\\\\xff00\ta\\tb\\nc\\\\d\\re\td\tso so\t'a':1 'b':2\t\
         2025-12-31 22:00:00+00\t1 mon -1 days\t[1,5)\t<a/>\t$1.50\tpg_class\t101"
    );
    assert!(found[1].starts_with("2\t1.00\tNaN\tInfinity\tnull\t{}\t\\N\t\\\\x\t\t\\N"), "{}", found[1]);
    assert!(found[2].starts_with("3\tNaN\t0.1\t1e-45\t[]\t\\N\t(,\"\")\t\\N\t\\\\N\t\t\\N"), "{}", found[2]);
    assert_eq!(table.columns[18].type_name, "bit varying");
    assert_eq!(table.columns[6].type_name, "public.pair");
}

#[tokio::test]
async fn tables_of_every_shape_are_read() {
    let mut db = Scratch::new(
        r#"CREATE SCHEMA "My.Schema"; CREATE TABLE "My.Schema"."Mixed ""Case""" ("A b" int PRIMARY KEY);
        INSERT INTO "My.Schema"."Mixed ""Case""" VALUES (1);
        CREATE TABLE nothing (); INSERT INTO nothing DEFAULT VALUES; INSERT INTO nothing DEFAULT VALUES;
        CREATE TABLE dropped (a int, b int, c int GENERATED ALWAYS AS (a + 1) STORED); INSERT INTO dropped VALUES (1, 2);
        ALTER TABLE dropped DROP COLUMN b;
        CREATE TABLE part (day date, x int, UNIQUE (day)) PARTITION BY RANGE (day);
        CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
        CREATE TABLE part_2 PARTITION OF part DEFAULT;
        INSERT INTO part VALUES ('2026-01-05', 1), ('2020-01-01', 2);
        CREATE TABLE parent (x int); CREATE TABLE child (y int) INHERITS (parent);
        INSERT INTO parent VALUES (1); INSERT INTO child VALUES (2, 3);
        CREATE MATERIALIZED VIEW seen AS SELECT 1 AS one; CREATE MATERIALIZED VIEW empty AS SELECT 1 AS one WITH NO DATA;
        CREATE UNLOGGED TABLE fast (x int); CREATE TEMP TABLE gone (x int); CREATE VIEW looked AS SELECT 1;"#,
    )
    .await;
    let snapshot = db.snapshot().await;
    let rows: Vec<(&str, u64)> =
        snapshot.tables.iter().map(|(name, table)| (name.as_str(), table.rows)).collect();
    assert_eq!(
        rows,
        [
            (r#""My.Schema"."Mixed ""Case""""#, 1),
            ("public.child", 1),
            ("public.dropped", 1),
            ("public.empty", 0),
            ("public.fast", 0),
            ("public.nothing", 2),
            ("public.parent", 1),
            ("public.part", 2),
            ("public.seen", 1),
        ]
    );
    assert_eq!(lines(&snapshot.tables["public.dropped"].file), ["1\t2"]);
    assert_eq!(snapshot.tables["public.part"].unique, [vec!["day".to_owned()]]);
    assert_eq!(within(&snapshot, &db.snapshot().await, &Content::default()).unwrap().tables.len(), 0);
    for object in ["schema \"My.Schema\"", "view public.looked", "partition public.part_1"] {
        assert!(snapshot.objects.iter().any(|it| it == object), "{object} in {:?}", snapshot.objects);
    }
}

#[tokio::test]
async fn a_table_as_wide_as_can_be_is_read() {
    let columns: Vec<String> = (0..1600).map(|number| format!("c{number} bool")).collect();
    let mut db = Scratch::new(&format!(
        "CREATE TABLE wide ({}); INSERT INTO wide (c0, c1599) VALUES (true, false)",
        columns.join(", ")
    ))
    .await;
    let snapshot = db.snapshot().await;
    assert_eq!(snapshot.tables["public.wide"].columns.len(), 1600);
    assert_eq!(snapshot.tables["public.wide"].rows, 1);
}

#[tokio::test]
async fn what_fills_a_column_and_where_it_points_is_told() {
    let mut db = Scratch::new(
        "CREATE TABLE parent (id bigserial PRIMARY KEY, ident int GENERATED ALWAYS AS IDENTITY UNIQUE,
            token uuid DEFAULT gen_random_uuid(), code text NOT NULL, note text, at timestamptz DEFAULT now());
        CREATE UNIQUE INDEX by_code ON parent (code) INCLUDE (note);
        CREATE UNIQUE INDEX by_note ON parent (note) WHERE note <> ''; CREATE UNIQUE INDEX by_lower ON parent (lower(note));
        CREATE TABLE child (parent_id bigint REFERENCES parent, no int, PRIMARY KEY (parent_id, no));
        CREATE TABLE leaf (a bigint, b int, FOREIGN KEY (a, b) REFERENCES child (parent_id, no));
        CREATE TABLE supplied (id serial PRIMARY KEY, x int); INSERT INTO supplied VALUES (7, 1);
        INSERT INTO parent (code) VALUES ('a'), ('b');",
    )
    .await;
    let snapshot = db.snapshot().await;
    let parent = &snapshot.tables["public.parent"];
    let generated: Vec<bool> = parent.columns.iter().map(|column| column.is_generated).collect();
    assert_eq!(generated, [true, true, true, false, false, false]);
    assert_eq!(parent.columns[5].default.as_deref(), Some("now()"));
    assert_eq!(parent.key, ["id"]);
    assert_eq!(parent.unique, [["id"], ["ident"], ["code"]]);
    let child = &snapshot.tables["public.child"];
    assert_eq!(child.columns[0].references, Some(("public.parent".to_owned(), "id".to_owned())));
    let leaf = &snapshot.tables["public.leaf"];
    assert_eq!(leaf.columns[1].references, Some(("public.child".to_owned(), "no".to_owned())));
    assert!(!snapshot.tables["public.supplied"].columns[0].is_generated, "its sequence was never used");
    assert_eq!(snapshot.sequences["public.parent_id_seq"], "2");
    assert_eq!(snapshot.sequences["public.supplied_id_seq"], "1 (not used yet)");

    let content = calibrate(&snapshot, &db.snapshot().await, &[]).unwrap();
    assert_eq!(content.generated["public.child"], ["parent_id"]);
    assert_eq!(content.generated["public.leaf"], ["a"]);
    assert!(!content.generated.contains_key("public.supplied"));
}

#[tokio::test]
async fn rows_written_anew_are_told_from_rows_that_were_not_touched() {
    let mut db = Scratch::new(
        "CREATE TABLE t (k int PRIMARY KEY, v text); INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 100) i;
        CREATE TABLE part (k int) PARTITION BY LIST (k); CREATE TABLE part_1 PARTITION OF part DEFAULT; INSERT INTO part VALUES (1);",
    )
    .await;
    let before = db.snapshot().await;
    let nothing = Content::default();
    for harmless in ["SELECT * FROM t FOR UPDATE", "VACUUM FREEZE t", "ANALYZE t"] {
        db.run(harmless).await;
    }
    let untouched = db.snapshot().await;
    assert_eq!(
        within(&before, &untouched, &nothing).unwrap(),
        landonce_prove::snapshot::Difference::default()
    );
    assert!(!untouched.differs_from(&before).unwrap());

    db.run("INSERT INTO t SELECT k, v FROM t WHERE k <= 10 ON CONFLICT (k) DO UPDATE SET v = excluded.v; UPDATE part SET k = 1").await;
    let later = db.snapshot().await;
    let found = within(&before, &later, &nothing).unwrap();
    assert_eq!(found.tables["public.t"].rewritten, 10);
    assert_eq!(found.tables["public.part"].rewritten, 1);
    assert!(later.differs_from(&before).unwrap());

    db.run("BEGIN; DELETE FROM t; INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 100) i; COMMIT")
        .await;
    let found = within(&later, &db.snapshot().await, &nothing).unwrap();
    assert_eq!((found.tables["public.t"].added, found.tables["public.t"].rewritten), (0, 100));
}

#[tokio::test]
async fn a_prepared_transaction_and_a_large_object_are_told() {
    let mut db = Scratch::new("CREATE TABLE t (x int)").await;
    let before = db.snapshot().await;
    let gid = format!("left {}", db.database.name());
    db.run("SELECT lo_create(0)").await;
    db.run(&format!("BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION '{gid}'")).await;
    let after = db.snapshot().await;
    let found = within(&before, &after, &Content::default()).unwrap();
    db.run(&format!("ROLLBACK PREPARED '{gid}'")).await;
    assert_eq!(found.prepared, [gid]);
    assert_eq!(found.objects_appeared, ["1 large objects"]);
    assert_eq!(found.tables.len(), 0);
}

#[tokio::test]
async fn settings_of_the_database_do_not_change_the_text() {
    let mut db = Scratch::new("CREATE TABLE t (f float8, at timestamptz, b bytea); INSERT INTO t VALUES (0.1::float8 + 0.2::float8, '2026-01-01 00:00Z', 'a')").await;
    let before = db.snapshot().await;
    let name = db.database.name().to_owned();
    for setting in [
        "extra_float_digits = -10",
        "timezone = 'Asia/Tokyo'",
        "datestyle = 'German'",
        "bytea_output = 'escape'",
    ] {
        db.run(&format!("ALTER DATABASE \"{name}\" SET {setting}")).await;
    }
    let after = db.snapshot().await;
    assert_eq!(lines(&before.tables["public.t"].file), lines(&after.tables["public.t"].file));
    assert!(
        lines(&after.tables["public.t"].file)[0].starts_with("0.30000000000000004\t2026-01-01 00:00:00+00\t")
    );
}

#[tokio::test]
async fn ids_kept_without_a_foreign_key_are_found_when_sequences_are_moved_on() {
    const SETUP: &str = "CREATE TABLE parent (id serial PRIMARY KEY, code text);
        CREATE TABLE child (parent_id int, item text); CREATE TABLE supplied (id serial PRIMARY KEY);
        CREATE SEQUENCE short MAXVALUE 5;";
    const RUN: &str = "INSERT INTO parent (code) VALUES ('a'), ('b'); INSERT INTO supplied VALUES (3);
        INSERT INTO child SELECT id, code FROM parent;";
    let (mut one, mut other) = (Scratch::new(SETUP).await, Scratch::new(SETUP).await);
    postgres::advance_sequences(&other.database.url(), 1000).await.unwrap();
    one.run(RUN).await;
    other.run(RUN).await;
    let content = calibrate(&one.snapshot().await, &other.snapshot().await, &[]).unwrap();
    assert_eq!(content.varying["public.child"], ["parent_id"]);
    assert_eq!(content.generated.keys().collect::<Vec<_>>(), ["public.parent"]);
    assert!(content.unstable.is_empty());
}
