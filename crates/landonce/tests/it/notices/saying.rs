//! What is said: filters, templates, ordering keys, and the values of every type.

use landonce::Pipeline;

use super::{land, messages, notifying, outbox};
use crate::given::{Given, on_every_store, pipeline};

on_every_store!(
    only_what_is_asked_for_is_told,
    several_topics_hear_of_one_change,
    messages_of_one_ordering_key_have_one_lane,
    values_are_exact_and_spelled_the_same_on_every_store,
    a_geometry_is_geojson_on_every_store,
    an_entity_without_columns_is_its_key,
    what_a_target_lacks_is_said_before_anything_is_written,
    a_table_of_somebody_elses_tells_too,
);

async fn only_what_is_asked_for_is_told(given: Given) {
    let pipeline = notifying("", "{topic: t, on: [inserted, updated], columns: [v], where: {n: [1, 2]}}");
    land(&given, &pipeline, "1", &[r#"{"id":1,"v":"a","n":1}"#, r#"{"id":2,"v":"a","n":3}"#]).await;
    assert_eq!(messages(&given).await, [r#"inserted {"id":1}"#]);
    // Another column; then the right one in a row of another kind; then the right one.
    land(&given, &pipeline, "2", &[r#"{"id":1,"v":"a","n":2}"#, r#"{"id":2,"v":"b","n":3}"#]).await;
    land(&given, &pipeline, "3", &[r#"{"id":1,"v":"b","n":2}"#]).await;
    assert_eq!(messages(&given).await, [r#"inserted {"id":1}"#, r#"updated {"id":1}"#]);
}

async fn several_topics_hear_of_one_change(given: Given) {
    let pipeline = notifying("", "{topic: one}, {topic: two, on: [updated]}, {topic: one}");
    land(&given, &pipeline, "1", &[r#"{"id":1,"v":"a"}"#]).await;
    let receipt = land(&given, &pipeline, "2", &[r#"{"id":1,"v":"b"}"#]).await;
    // A topic is told of a change once, however many entries say so.
    assert_eq!(receipt.notes.enqueued, 2);
    assert_eq!(outbox(&given, "topic || ' ' || kind").await, ["one inserted", "one updated", "two updated"]);
}

async fn messages_of_one_ordering_key_have_one_lane(given: Given) {
    let pipeline = notifying("", "{topic: own}, {topic: by-n, order_by: [n]}, {topic: all, order_by: all}");
    land(&given, &pipeline, "1", &[r#"{"id":1,"n":7}"#, r#"{"id":2,"n":7}"#, r#"{"id":3,"n":8}"#]).await;
    land(&given, &pipeline, "2", &[r#"{"id":1,"n":8}"#]).await;
    let lanes = async |topic: &str| {
        let table = given.system("outbox");
        given.column(&format!("SELECT DISTINCT lane FROM {table} WHERE topic = '{topic}'")).await.len()
    };
    assert_eq!((lanes("own").await, lanes("by-n").await, lanes("all").await), (3, 2, 1));
    let table = given.system("outbox");
    let ordering =
        format!("SELECT ordering FROM {table} WHERE topic = 'by-n' AND entity = '{{\"id\":1}}' ORDER BY seq");
    assert_eq!(given.column(&ordering).await, [r#"{"n":7}"#, r#"{"n":8}"#]);
    assert_eq!(outbox(&given, "coalesce(ordering, 'none')").await[..3], ["none", r#"{"n":7}"#, "*"]);
}

async fn values_are_exact_and_spelled_the_same_on_every_store(given: Given) {
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {id: integer, d: decimal, two: 'decimal(10,2)', f: float, yes: boolean, day: date, \
         at: timestamptz, local: timestamp, u: uuid, b: bytes, j: json, tags: 'text[]', times: 'timestamptz[]', s: text}}\n\
         notify: [{topic: t, payload: '{new}'}]",
    );
    if given.is_postgres() {
        let name = given.column("SELECT current_database()").await.remove(0);
        given.execute(&format!("ALTER DATABASE \"{name}\" SET timezone = 'Asia/Kathmandu'")).await;
        given.execute(&format!("ALTER DATABASE \"{name}\" SET datestyle = 'German'")).await;
        given.execute(&format!("ALTER DATABASE \"{name}\" SET bytea_output = 'escape'")).await;
    }
    let line = r#"{"id":9007199254740993,"d":12345678901234567890.123456789012345678901,"two":1.50,"f":0.1,"yes":true,"day":"2026-03-01","at":"2026-03-01T05:30:00.123456+01:00","local":"2026-03-01T05:30:00","u":"00112233-4455-6677-8899-AABBCCDDEEFF","b":"3q2+7w==","j":{"b":1.50,"a":[null,"é\n\"",9007199254740993]},"tags":["x","y, \"z\""],"times":["2026-03-01T05:30:00+01:00"],"s":"a\"\\\u2028é\t","more":{"z":1,"y":2}}"#;
    land(&given, &pipeline, "1", &[line]).await;
    let payload = outbox(&given, "payload").await.remove(0);
    assert_eq!(
        payload,
        "{\"id\":9007199254740993,\"d\":12345678901234567890.123456789012345678901,\"two\":1.5,\"f\":0.1,\"yes\":true,\"day\":\"2026-03-01\",\
         \"at\":\"2026-03-01T04:30:00.123456Z\",\"local\":\"2026-03-01T05:30:00.000000\",\"u\":\"00112233-4455-6677-8899-aabbccddeeff\",\
         \"b\":\"\\\\xdeadbeef\",\"j\":{\"a\":[null,\"é\\n\\\"\",9007199254740993],\"b\":1.5},\"tags\":[\"x\",\"y, \\\"z\\\"\"],\
         \"times\":[\"2026-03-01T04:30:00.000000Z\"],\"s\":\"a\\\"\\\\\u{2028}é\\t\",\"payload\":{\"more\":{\"y\":2,\"z\":1}}}"
    );
    assert_eq!(outbox(&given, "entity").await, [r#"{"id":9007199254740993}"#]);
}

async fn a_geometry_is_geojson_on_every_store(given: Given) {
    if given.is_postgres() {
        given.execute("CREATE EXTENSION postgis").await;
    }
    let pipeline = pipeline(
        "identity: [id]\ntarget: {table: t, rest: ignore, columns: {id: integer, shape: 'geometry(Geometry,4326)'}}\n\
         notify: [{topic: t, payload: '{new.shape}'}]",
    );
    let shapes = [
        r#"{"coordinates":[[[[13.405,52.52],[13.5,52.52],[13.5,52.6000001],[13.405,52.52]]]],"type":"MultiPolygon"}"#,
        r#"{"coordinates":[-0.123456789012345,51.5],"type":"Point"}"#,
    ];
    let lines: Vec<String> =
        shapes.iter().enumerate().map(|(id, shape)| format!(r#"{{"id":{id},"shape":{shape}}}"#)).collect();
    land(&given, &pipeline, "1", &lines.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let mut told = outbox(&given, "payload").await;
    told.sort_unstable_by_key(String::len);
    assert_eq!(told, [shapes[1], shapes[0]]);
    // A row without one.
    land(&given, &pipeline, "2", &[r#"{"id":1}"#]).await;
    assert_eq!(outbox(&given, "payload").await[2..], ["null"]);
}

async fn an_entity_without_columns_is_its_key(given: Given) {
    let pipeline = pipeline(
        "identity: {hash_of: all}\ntarget: {table: t}\nnotify: [{topic: t, payload: '{entity.landonce_key}'}]",
    );
    land(&given, &pipeline, "1", &[r#"{"a":1}"#]).await;
    let key = given.column("SELECT landonce_key FROM t").await.remove(0).replace('-', "");
    assert_eq!(outbox(&given, "payload").await[0].replace(['-', '"'], ""), key);
    assert_eq!(outbox(&given, "entity").await[0].replace('-', ""), format!("{{\"landonce_key\":\"{key}\"}}"));
}

async fn what_a_target_lacks_is_said_before_anything_is_written(given: Given) {
    let refused = async |pipeline: &Pipeline, want: &str| {
        let error = given.deliver(pipeline, &[r#"{"id":1,"v":"a"}"#]).await.unwrap_err();
        assert!(error.to_string().contains(want), "{error}");
    };
    refused(&notifying("", "{topic: t, payload: '{new.vv}'}"), "has no column `vv`; did you mean `v`?").await;
    // Not even the table has been made.
    given.execute("CREATE TABLE t (x integer); DROP TABLE t").await;
    given.execute("CREATE TABLE own (id integer PRIMARY KEY, v text)").await;
    let own = pipeline("identity: [id]\ntarget: {table: own}\nnotify: [{topic: t}]");
    refused(&own, "there is none; add it (bigint NOT NULL DEFAULT 1)").await;
    given.execute("ALTER TABLE own ADD COLUMN landonce_revision bigint NOT NULL DEFAULT 1").await;
    refused(&own, "add it (").await;
    assert_eq!(given.count("own").await, 0);
    given
        .execute(&format!(
            "ALTER TABLE own ADD COLUMN landonce_run_id {}",
            if given.is_postgres() { "uuid" } else { "text" }
        ))
        .await;
    land(&given, &own, "1", &[r#"{"id":1,"v":"a"}"#]).await;
    assert_eq!(messages(&given).await, [r#"inserted {"id":1}"#]);
}

async fn a_table_of_somebody_elses_tells_too(given: Given) {
    let run = if given.is_postgres() { "uuid" } else { "text" };
    given
        .execute(&format!(
            "CREATE TABLE own (a text, b integer, v varchar(20), other text DEFAULT 'x', landonce_revision bigint, landonce_run_id {run}, UNIQUE (a, b));
             INSERT INTO own (a, b, v) VALUES ('k', 1, 'theirs')"
        ))
        .await;
    let pipeline = pipeline(
        "identity: [a, b]\ntarget: {table: own}\nnotify: [{topic: t, payload: '{kind} {entity} {old.v} {new.v}'}]",
    );
    land(&given, &pipeline, "1", &[r#"{"a":"k","b":1,"v":"ours"}"#, r#"{"a":"k","b":2,"v":"ours"}"#]).await;
    assert_eq!(
        outbox(&given, "payload").await,
        [r#""updated {\"a\":\"k\",\"b\":1} theirs ours""#, r#""inserted {\"a\":\"k\",\"b\":2}  ours""#]
    );
}
