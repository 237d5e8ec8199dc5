//! The script brings back exactly what was there, whatever types, names and values it was.

use super::Scene;

const POSTGRES: &str = r#"
CREATE TYPE mood AS ENUM ('ok', 'so la la');
CREATE DOMAIN short AS varchar(9) NOT NULL;
CREATE TABLE "order" (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "createdAt" timestamptz, a text, "B" int,
  doc json, docb jsonb, arr text[], raw bytea, m mood, n numeric, c char(5), iv interval, fl float8, f4 float4, ip inet,
  pt point, rng int4range, s short DEFAULT '', d date, ts timestamp, bits varbit, mac macaddr, names name, money8 int8,
  twice int GENERATED ALWAYS AS ("B" * 2) STORED, parent bigint REFERENCES "order"(id));
INSERT INTO "order" ("createdAt", a, "B", doc, docb, arr, raw, m, n, c, iv, fl, f4, ip, pt, rng, s, d, ts, bits, mac, names) VALUES
 ('2020-01-01 00:00:00.123456+02', E'x''\\y\n', 1, '{"a": 1,  "b":"\u00e9", "a": 2}', '{"z": 1e2}', '{"a,b",NULL,"q\"uote","{}"}', '\x00ff',
  'so la la', 1.500, 'ab', '1 mon 2 days 03:00:00.000001', 0.1, 0.1, '1.2.3.4/24', '(1.5,2)', '[1,5)', 'é', '0044-03-15 BC', 'infinity', '101',
  '08:00:2b:01:02:03', 'n'),
 ('2019-01-01', E'x''\\y\n', 1, '{"a": 2}', NULL, '{}', '', 'ok', 'NaN', NULL, NULL, '-Infinity', 'NaN', '::1', NULL, 'empty', '', NULL, NULL, '', NULL, NULL),
 ('2018-12-31', NULL, 1, 'null', 'null', '[2:3]={a,b}', NULL, NULL, 123456789012345678901234567890.123456789, '', '-3 years', 5e-324, 1e-45, NULL, NULL,
  NULL, 'x', 'infinity', '2024-02-29 23:59:59.999999', NULL, NULL, NULL),
 ('infinity', NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'y', NULL, NULL, NULL, NULL, NULL),
 (NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'z', NULL, NULL, NULL, NULL, NULL);
UPDATE "order" SET parent = 1 WHERE id = 2;
UPDATE "order" SET parent = 5 WHERE id = 1;
CREATE TABLE "line item" ("Id" int, part int, "orderId" int NOT NULL REFERENCES "order"(id), PRIMARY KEY (part, "Id"));
INSERT INTO "line item" SELECT g, g % 3, 1 + g % 5 FROM generate_series(1, 30) g;
CREATE VIEW seen AS SELECT id, a FROM "order";
"#;

#[tokio::test]
async fn postgres_types_and_names() {
    let scene = Scene::postgres(POSTGRES).await;
    let args = ["dedupe", "--table", "public.order", "--key", "a,B"];
    scene
        .round_trip(&args, async |scene| {
            // createdAt is the one column that says when; a row that doesn't say is never first.
            assert_eq!(
                scene.value("SELECT string_agg(id::text, ',' ORDER BY id) FROM \"order\"").await,
                "2,3"
            );
        })
        .await;
}

#[tokio::test]
async fn a_script_is_read_the_same_by_a_server_with_other_settings() {
    let scene = Scene::postgres(POSTGRES).await;
    let name = scene.database.as_ref().unwrap().name().to_owned();
    for setting in [
        "DateStyle = 'SQL, DMY'",
        "IntervalStyle = 'sql_standard'",
        "bytea_output = 'escape'",
        "extra_float_digits = -15",
        "TimeZone = 'Asia/Kathmandu'",
    ] {
        scene.sql(&format!("ALTER DATABASE \"{name}\" SET {setting}")).await;
    }
    scene.round_trip(&["dedupe", "--table", "order", "--key", "a,B"], async |_| {}).await;
}

#[tokio::test]
async fn partitioned_tables_and_partitioned_references() {
    let scene = Scene::postgres(
        "CREATE TABLE t (id int, day date NOT NULL, k text NOT NULL, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
         CREATE TABLE t1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
         CREATE TABLE t2 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
         INSERT INTO t VALUES (1, '2024-01-05', 'a'), (2, '2024-01-05', 'a'), (3, '2024-02-05', 'a'), (4, '2024-02-05', 'a');
         CREATE TABLE c (n int PRIMARY KEY, t int, day date, FOREIGN KEY (t, day) REFERENCES t) PARTITION BY HASH (n);
         CREATE TABLE c0 PARTITION OF c FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE c1 PARTITION OF c FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         INSERT INTO c VALUES (1, 2, '2024-01-05'), (2, 4, '2024-02-05'), (3, NULL, '2024-02-05'), (4, 1, '2024-01-05');",
    )
    .await;
    scene
        .round_trip(&["dedupe", "--table", "t", "--key", "k,day"], async |scene| {
            assert_eq!(scene.value("SELECT string_agg(t::text, ',' ORDER BY n) FROM c").await, "1,3,1");
        })
        .await;
    let refused = scene.repair(&["dedupe", "--table", "t1", "--key", "k,day"]);
    assert!(refused.code == 2 && refused.stderr.contains("partition"), "{refused}");
}

#[tokio::test]
async fn a_trigger_that_keeps_rows_is_told_and_nothing_is_changed() {
    let scene = Scene::postgres(
        "CREATE TABLE t (id int PRIMARY KEY, k text); INSERT INTO t VALUES (1, 'a'), (2, 'a'), (3, 'a');
         CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF OLD.id = 2 THEN RETURN NULL; END IF; RETURN OLD; END';
         CREATE TRIGGER keeper BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION keep();",
    )
    .await;
    let before = scene.state().await;
    let planned = scene.repair(&["dedupe", "--table", "t", "--key", "k"]);
    assert!(planned.stdout.contains("triggers fire") && planned.stdout.contains("keeper"), "{planned}");
    let refused = scene.repair(&["dedupe", "--table", "t", "--key", "k", "--apply"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("1 of 2 rows"), "{refused}");
    scene.assert_state(&before).await;
    assert!(scene.scripts().is_empty(), "{:?}", scene.scripts());
}

const SQLITE: &str = r#"
CREATE TABLE "order" (
  id INTEGER PRIMARY KEY AUTOINCREMENT, "createdAt" TEXT, a TEXT COLLATE NOCASE, "B" INT, raw BLOB, n NUMERIC, r REAL, anything,
  twice INT GENERATED ALWAYS AS ("B" * 2) STORED, virt INT AS ("B" + 1), parent INTEGER REFERENCES "order"(id));
INSERT INTO "order" (id, "createdAt", a, "B", raw, n, r, anything) VALUES
 (1, '2020-01-01', 'x''y', 1, x'00ff', 1.5, 0.1, 'txt'), (2, '2019-01-01', 'X''Y', 1, 'text in a blob', 'abc', 2, 9e999),
 (3, '2021-01-01', NULL, 1, NULL, NULL, NULL, NULL), (4, '2022-01-01', NULL, 1, x'', 1e300, -0.0, 'a' || char(0) || 'b'),
 (5, NULL, NULL, 1, CAST(x'ff41' AS TEXT), 007, 5, 5), (6, '2023', 'single', 1, 1, 1, 1, 1.0);
UPDATE "order" SET parent = 1 WHERE id IN (2, 6);
UPDATE "order" SET parent = 5 WHERE id = 1;
CREATE TABLE "line item" ("orderId" INT NOT NULL REFERENCES "order" ON DELETE CASCADE, t TEXT);
WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20) INSERT INTO "line item" SELECT 1 + n % 6, 't' || (n % 3) FROM n;
CREATE TABLE tag (o INT REFERENCES "order"(id), tag TEXT, PRIMARY KEY (o, tag)) WITHOUT ROWID;
INSERT INTO tag VALUES (1, 'one'), (2, 'two'), (4, 'x');
CREATE TABLE plain (a, b);
INSERT INTO plain VALUES (1, 2), (3, 4), (1, 2), (1, 5), (NULL, 1), (NULL, 1);
DELETE FROM plain WHERE a = 3;
CREATE TABLE "key only" (a TEXT, b INT, c NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT INTO "key only" VALUES ('k', 1, 'v'), ('k', 2, 'v'), ('l', 1, 'w');
CREATE TABLE copy AS SELECT rowid AS own, * FROM plain;
"#;

#[tokio::test]
async fn sqlite_storage_classes_row_numbers_and_names() {
    for (table, key) in [("order", "a,B"), ("plain", "a"), ("key only", "a,c")] {
        let scene = Scene::sqlite(SQLITE).await;
        scene.round_trip(&["dedupe", "--table", table, "--key", key], async |_| {}).await;
        // A dump has no row numbers.
        let differing = "SELECT count(*) FROM copy JOIN plain ON own = plain.rowid WHERE copy.a IS plain.a AND copy.b IS plain.b";
        assert_eq!(scene.value(differing).await, "5");
    }
}

#[tokio::test]
async fn geometries() {
    let scene = Scene::postgres(
        "CREATE EXTENSION postgis;
         CREATE TABLE parcel (id int PRIMARY KEY, cadastral text, shape geometry(MultiPolygon, 4326), middle geography(Point));
         INSERT INTO parcel SELECT n, 'p' || n % 3, ST_Multi(ST_GeomFromText('POLYGON((0 0, 0.1 ' || n || ', 1 0.30000000000000004, 0 0))', 4326)),
           ST_Point(n / 7.0, 1)::geography FROM generate_series(1, 9) n;",
    )
    .await;
    scene
        .round_trip(&["dedupe", "--table", "parcel", "--key", "cadastral"], async |scene| {
            assert_eq!(scene.value("SELECT count(*) FROM parcel").await, "3");
        })
        .await;
}
