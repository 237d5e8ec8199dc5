//! A table that is somebody else's (C11, C17): its types, its names, its own columns left alone.

use landonce::Kind;
use landonce_testkit::dump::physical;

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    undeclared_and_generated_columns_are_left_alone,
    awkward_names_are_only_names,
    an_identity_that_nothing_enforces_is_refused_before_any_write,
    triggers_are_silent_on_an_equal_re_run,
);

async fn undeclared_and_generated_columns_are_left_alone(given: Given) {
    given.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, doubled INTEGER GENERATED ALWAYS AS (id * 2) STORED, notes TEXT, made TEXT DEFAULT 'x')").await;
    let some = pipeline("identity: [id]\ntarget: {table: t, columns: {id: integer, v: text}}");
    given.deliver(&some, &[r#"{"id":1,"v":"a"}"#]).await.unwrap();
    given.execute("UPDATE t SET notes = 'mine', made = 'y'").await;
    let receipt = given.deliver(&some, &[r#"{"id":1,"v":"b"}"#]).await.unwrap();
    assert_eq!(counts(&receipt), "read 1, updated 1");
    assert_eq!(given.column("SELECT v || doubled || notes || made FROM t").await, ["b2miney"]);
    // No declared columns at all: an absent field empties nothing.
    let none = pipeline("identity: [id]\ntarget: {table: t}");
    let receipt = given.deliver(&none, &[r#"{"id":1,"v":"c"}"#]).await.unwrap();
    assert_eq!(counts(&receipt), "read 1, updated 1");
    assert_eq!(given.column("SELECT v || notes FROM t").await, ["cmine"]);
    assert_eq!(
        counts(&given.deliver_as(&none, "again", &[r#"{"id":1,"v":"c"}"#]).await.unwrap()),
        "read 1, unchanged 1"
    );
}

async fn awkward_names_are_only_names(given: Given) {
    given
        .execute(
            r#"CREATE TABLE "Or""der"("order" INTEGER PRIMARY KEY, "createdAt" TEXT, "sel ect;--" TEXT)"#,
        )
        .await;
    let named = pipeline(
        "identity: [order]\ntarget: {table: 'Or\"der', columns: {order: integer, createdAt: text, 'sel ect;--': text}}",
    );
    let line = r#"{"order":1,"createdAt":"now","sel ect;--":"'); DROP TABLE x;--"}"#;
    assert_eq!(counts(&given.deliver(&named, &[line]).await.unwrap()), "read 1, inserted 1");
    assert_eq!(counts(&given.deliver_as(&named, "again", &[line]).await.unwrap()), "read 1, unchanged 1");
    assert_eq!(given.column(r#"SELECT "sel ect;--" FROM "Or""der""#).await, ["'); DROP TABLE x;--"]);
}

async fn an_identity_that_nothing_enforces_is_refused_before_any_write(given: Given) {
    given.execute("CREATE TABLE t(id INTEGER, v TEXT)").await;
    let pipeline = pipeline("identity: [id]\ntarget: {table: t, columns: {id: integer, v: text}}");
    let error = given.deliver(&pipeline, &[r#"{"id":1,"v":"a"}"#]).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Target);
    assert!(error.to_string().contains("CREATE UNIQUE INDEX"), "{error}");
    assert_eq!(given.count("t").await, 0);
}

async fn triggers_are_silent_on_an_equal_re_run(given: Given) {
    // C50
    given.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE fired(n INTEGER)").await;
    given
        .execute(if given.is_postgres() {
            "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO fired VALUES (1); RETURN NEW; END $$;
             CREATE TRIGGER g BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()"
        } else {
            "CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO fired VALUES (1); END;
             CREATE TRIGGER h AFTER UPDATE ON t BEGIN INSERT INTO fired VALUES (1); END"
        })
        .await;
    let pipeline = pipeline("identity: [id]\ntarget: {table: t, columns: {id: integer, v: text}}");
    let lines: Vec<String> = (0..200).map(|id| format!(r#"{{"id":{id},"v":"x"}}"#)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    given.deliver_as(&pipeline, "a", &lines).await.unwrap();
    let fired = given.count("fired").await;
    assert_eq!(counts(&given.deliver_as(&pipeline, "b", &lines).await.unwrap()), "read 200, unchanged 200");
    assert_eq!((fired, given.count("fired").await), (200, 200));
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_types_are_those_of_the_catalogue() {
    // C11
    let given = Given::postgres().await;
    given
        .execute(
            "CREATE EXTENSION IF NOT EXISTS citext; CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN positive AS int CHECK (VALUE > 0);
             CREATE TABLE t(id uuid PRIMARY KEY, m mood, tags text[], j jsonb, p positive, c citext, \"order\" int, \"createdAt\" timestamptz(3), code char(3), price numeric(10,2))",
        )
        .await;
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}\non_bad_record: {quarantine: {max: 9}}");
    let good = r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","m":"ok","tags":["a","b"],"j":{"x":1,"y":[2]},"p":5,"c":"Text","order":1,"createdAt":"2024-01-01T00:00:00.123Z","code":"abc","price":1.50}"#;
    let unknown_label = r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf7","m":"glad"}"#;
    let outside_domain = r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf8","p":-5}"#;
    let too_fine = r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf9","price":1.505}"#;
    let receipt = given.deliver(&pipeline, &[good, unknown_label, outside_domain, too_fine]).await.unwrap();
    assert_eq!(counts(&receipt), "read 4, inserted 1, quarantined 3");
    let client = given.database().client().await;
    let before = physical(&client, "public.t").await;
    // The same content in another spelling: JSON key order and white space are no change.
    let respelled = r#"{"j":{"y": [2], "x": 1.0},"id":"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6","m":"ok","tags":["a","b"],"p":5,"c":"Text","order":1,"createdAt":"2024-01-01T01:00:00.123+01:00","code":"abc","price":1.5}"#;
    assert_eq!(counts(&given.deliver(&pipeline, &[respelled]).await.unwrap()), "read 1, unchanged 1");
    assert_eq!(before, physical(&client, "public.t").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_key_in_the_only_unique_index_is_refused() {
    // C17
    let given = Given::postgres().await;
    given.execute("CREATE TABLE t(id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day); CREATE TABLE t1 PARTITION OF t DEFAULT").await;
    let narrow = pipeline("identity: [id]\ntarget: {table: t, columns: {id: integer, day: date}}");
    let error = given.deliver(&narrow, &[r#"{"id":1,"day":"2024-01-01"}"#]).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Target);
    let wide = pipeline("identity: [id, day]\ntarget: {table: t, columns: {id: integer, day: date}}");
    assert_eq!(
        counts(&given.deliver(&wide, &[r#"{"id":1,"day":"2024-01-01"}"#]).await.unwrap()),
        "read 1, inserted 1"
    );
    assert_eq!(
        counts(&given.deliver_as(&wide, "2", &[r#"{"id":1,"day":"2024-01-01"}"#]).await.unwrap()),
        "read 1, unchanged 1"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn geometry_lands_in_postgis_and_rounding_makes_export_noise_no_change() {
    // J11
    let given = Given::postgres().await;
    given.execute("CREATE EXTENSION postgis").await;
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: parcel, columns: {shape: {type: 'geometry(MultiPolygon,4326)', field: geometry, round: 6}}}",
    );
    let ring = |x: &str| {
        format!(
            r#"{{"id":"7","geometry":{{"type":"Polygon","coordinates":[[[{x},42.0],[1,42.0],[1,43],[{x},42.0]]]}}}}"#
        )
    };
    given.deliver(&pipeline, &[&ring("0.0000001")]).await.unwrap();
    assert_eq!(
        given.column("SELECT ST_GeometryType(shape) || ST_SRID(shape) FROM parcel").await,
        ["ST_MultiPolygon4326"]
    );
    assert_eq!(
        counts(&given.deliver(&pipeline, &[&ring("0.0000002")]).await.unwrap()),
        "read 1, unchanged 1"
    );
    assert_eq!(counts(&given.deliver(&pipeline, &[&ring("0.1")]).await.unwrap()), "read 1, updated 1");
}
