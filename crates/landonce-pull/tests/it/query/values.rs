//! Every type's value comes as it is, or is a bad record (C05, C09, C10).

use landonce_testkit::{mariadb, postgres};

use super::Source;
use crate::given::{Target, pipeline};

/// What lands of one row: the members of its record, as JSON.
async fn landed(source: &Source, sql: &str, more: &str) -> Vec<String> {
    let target = Target::sqlite();
    let url = source.url();
    let pipeline = pipeline(&format!(
        "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{id: text}}}}\nsource:\n  query:\n    url: {url}\n    sql: |\n      {sql}\n{more}"
    ));
    target.fetch(&pipeline).await.unwrap_or_else(|error| panic!("{error}"));
    target.rows("SELECT payload FROM t ORDER BY id").into_iter().map(|mut row| row.remove(0)).collect()
}

fn assert_members(found: &str, want: &[(&str, &str)]) {
    let mut want = want.to_vec();
    // The target's JSON column has its members in this order.
    want.sort_by_key(|(name, _)| (name.len(), *name));
    let want: Vec<String> = want.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    assert_eq!(found, format!("{{{}}}", want.join(",")));
}

#[tokio::test]
async fn postgres_values_are_exact() {
    let source = Source::Postgres(postgres::database().await);
    source
        .execute(
            "CREATE TYPE mood AS ENUM ('fine', 'so \"so\"'); CREATE DOMAIN price AS numeric(30,8); CREATE TYPE pair AS (a int8, b text); \
             SET TimeZone = 'America/New_York'",
        )
        .await;
    let sql = "SELECT 'x' AS id, 9007199254740993::int8 AS big, 12345678901234567.12345678::price AS money, \
               (repeat('9', 60) || '.5')::numeric AS long, 0.1::float8 AS f8, 0.1::float4 AS f4, 1e300::float8 AS far, 'NaN'::float8 AS nan, \
               '-Infinity'::numeric AS least, true AS yes, NULL::int AS nothing, 'tab\t\"q\" é' AS text, 'so \"so\"'::mood AS mood, \
               '2026-03-29 01:30:00.123456+02'::timestamptz AS at, '2026-03-29 02:30:00'::timestamp AS civil, 'infinity'::timestamptz AS never, \
               '0044-03-15 BC'::date AS ides, '15000-12-31'::date AS late, '24:00:00'::time AS day_end, \
               '1 mon 2 days 03:04:05.6'::interval AS span, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS uuid, \
               '\\x00ff10'::bytea AS bytes, repeat('a', 60)::bytea AS more_bytes, '{\"a\": 1.10}'::json AS doc, '{\"b\":1.10,\"a\":[]}'::jsonb AS docb, \
               ARRAY[1.50,NULL]::numeric[] AS list, ARRAY[['a','b']] AS grid, ROW(9007199254740993,'z')::pair AS pair, \
               '10.0.0.0/8'::inet AS net, '[1,5)'::int4range AS range -- the end";
    let found = landed(&source, sql, "").await;
    let nines = format!("{}.5", "9".repeat(60));
    let bytes = format!("\"{}\"", "YWFh".repeat(20));
    assert_members(
        &found[0],
        &[
            ("big", "9007199254740993"),
            ("money", "12345678901234567.12345678"),
            ("long", &nines),
            ("f8", "0.1"),
            ("f4", "0.1"),
            ("far", "1e+300"),
            ("nan", "\"NaN\""),
            ("least", "\"-Infinity\""),
            ("yes", "true"),
            ("nothing", "null"),
            ("text", "\"tab\\t\\\"q\\\" é\""),
            ("mood", "\"so \\\"so\\\"\""),
            ("at", "\"2026-03-28T23:30:00.123456+00:00\""),
            ("civil", "\"2026-03-29T02:30:00\""),
            ("never", "\"infinity\""),
            ("ides", "\"0044-03-15 BC\""),
            ("late", "\"15000-12-31\""),
            ("day_end", "\"24:00:00\""),
            ("span", "\"1 mon 2 days 03:04:05.6\""),
            ("uuid", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""),
            ("bytes", "\"AP8Q\""),
            ("more_bytes", &bytes),
            ("doc", "{\"a\": 1.10}"),
            ("docb", "{\"a\": [], \"b\": 1.10}"),
            ("list", "[1.50,null]"),
            ("grid", "[[\"a\",\"b\"]]"),
            ("pair", "{\"a\":9007199254740993,\"b\":\"z\"}"),
            ("net", "\"10.0.0.0/8\""),
            ("range", "\"[1,5)\""),
        ],
    );
}

#[tokio::test]
async fn mariadb_values_are_exact() {
    let source = Source::Mariadb(mariadb::database().await);
    source
        .execute(
            "SET sql_mode = ''; SET time_zone = '-05:00'; \
             CREATE TABLE s (id varchar(9), big bigint, huge bigint unsigned, money decimal(30,8), filled decimal(6,2) zerofill, f8 double, f4 float, \
             yes boolean, bits bit(10), text text character set latin1, mood enum('fine','not'), at timestamp(6) NULL, civil datetime, never date, \
             late date, span time(3), year year, bytes varbinary(9), doc json, uuid uuid, nothing int); \
             INSERT INTO s VALUES ('x', 9007199254740993, 18446744073709551615, 1234567890123456789012.12345678, 1.5, 0.1, 0.1, 1, b'1000000001', \
             'é\"', 'not', '2026-03-28 18:30:00.123456', '2026-03-29 02:30:00', '0000-00-00', '9999-12-31', '-30:00:00.5', 2026, x'00ff10', \
             '{\"a\": 1.10}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL)",
        )
        .await;
    let found = landed(&source, "SELECT * FROM s", "    types: {doc: json, yes: boolean}").await;
    assert_members(
        &found[0],
        &[
            ("big", "9007199254740993"),
            ("huge", "18446744073709551615"),
            ("money", "1234567890123456789012.12345678"),
            ("filled", "1.50"),
            ("f8", "0.1"),
            ("f4", "0.1"),
            ("yes", "true"),
            ("bits", "513"),
            ("text", "\"é\\\"\""),
            ("mood", "\"not\""),
            ("at", "\"2026-03-28T23:30:00.123456Z\""),
            ("civil", "\"2026-03-29T02:30:00\""),
            ("never", "\"0000-00-00\""),
            ("late", "\"9999-12-31\""),
            ("span", "\"-30:00:00.500000\""),
            ("year", "2026"),
            ("bytes", "\"AP8Q\""),
            ("doc", "{\"a\": 1.10}"),
            ("uuid", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""),
            ("nothing", "null"),
        ],
    );
}

#[tokio::test]
async fn sqlite_values_are_exact() {
    let source = Source::Sqlite(tempfile::tempdir().unwrap());
    source.execute("CREATE TABLE s (id text)").await;
    let sql = "SELECT 'x' AS id, 9223372036854775807 AS big, 0.1 AS real, 1e300 AS far, 9e999 AS inf, 1 AS yes, x'00ff10' AS bytes, \
               'é\"' AS text, '{\"a\":1.10}' AS doc, NULL AS nil";
    let found = landed(&source, sql, "    types: {doc: json, yes: boolean}").await;
    assert_members(
        &found[0],
        &[
            ("big", "9223372036854775807"),
            ("real", "0.1"),
            ("far", "1e300"),
            ("inf", "\"Infinity\""),
            ("yes", "true"),
            ("bytes", "\"AP8Q\""),
            ("text", "\"é\\\"\""),
            ("doc", "{\"a\":1.10}"),
            ("nil", "null"),
        ],
    );
}

#[tokio::test]
async fn what_fits_no_column_is_a_bad_record_and_never_altered() {
    let postgres = Source::Postgres(postgres::database().await);
    let sqlite = Source::Sqlite(tempfile::tempdir().unwrap());
    sqlite.execute("CREATE TABLE s (id text)").await;
    for (source, sql, column, want) in [
        (&postgres, "SELECT 'NaN'::float8 AS v", "float", "a number is due"),
        (&postgres, "SELECT 'infinity'::timestamptz AS v", "timestamptz", "infinity"),
        (&postgres, "SELECT '24:00:00'::time AS v, 1 AS w", "timestamp", "24:00"),
        (&postgres, "SELECT 1.005::numeric AS v", "decimal(10,2)", "never rounded"),
        (&sqlite, "SELECT CAST(x'ff' AS text) AS v", "text", "isn't UTF-8"),
        (&sqlite, "SELECT 'a' || char(0) || 'b' AS v", "text", "U+0000"),
    ] {
        let target = Target::sqlite();
        let pipeline = pipeline(&format!(
            "pipeline: p\nidentity: {{hash_of: all}}\ntarget: {{table: t, columns: {{v: '{column}'}}}}\nsource: {{query: {{url: '{}', sql: \"{sql}\"}}}}",
            source.url()
        ));
        let told = target.fetch(&pipeline).await.unwrap_err().to_string();
        assert!(told.contains(want), "{sql}: {told}");
    }
    for (types, want) in [("{doc: json}", "doc"), ("{yes: boolean}", "0 or 1 is due")] {
        let target = Target::sqlite();
        let pipeline = pipeline(&format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nsource: {{query: {{url: '{}', sql: \"SELECT 1 AS id, '1,\\\"id\\\":2' AS doc, 2 AS yes\", types: {types}}}}}",
            sqlite.url()
        ));
        let told = target.fetch(&pipeline).await.unwrap_err().to_string();
        assert!(told.contains(want), "{types}: {told}");
    }
}
