//! Keys and values in the database itself (C02, C05, C06, C09, C10, C20): exact, or a bad record.

use landonce::Batch;

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    a_null_in_a_key_makes_no_second_row,
    large_integers_and_money_are_exact,
    every_type_comes_back_as_it_went_in,
    six_thousand_rows_of_twelve_columns_are_one_transaction,
    dates_are_exact_or_bad,
    csv_rows_are_the_same_with_and_without_a_byte_order_mark,
    natural_columns_are_a_key_without_a_hash,
);

async fn a_null_in_a_key_makes_no_second_row(given: Given) {
    // C02
    let lines = [r#"{"a":"x","b":1}"#, r#"{"a":"y","b":null}"#];
    let refusing = pipeline("identity: [a, b]\ntarget: {table: t}");
    given.deliver(&refusing, &lines).await.unwrap_err();
    let taking = pipeline("identity: {fields: [a, b], null_key: as_value}\ntarget: {table: t}");
    for id in ["1", "2"] {
        given.deliver_as(&taking, id, &lines).await.unwrap();
        assert_eq!(given.count("t").await, 2);
    }
}

async fn large_integers_and_money_are_exact(given: Given) {
    // C05, C09
    let money = pipeline("identity: [id]\ntarget: {table: t, columns: {id: decimal, m: 'decimal(30,8)'}}");
    let lines = [
        r#"{"id":9196877626998784,"m":123456789012345678.12345678}"#,
        r#"{"id":9196877626998785,"m":"0.00000001"}"#,
        r#"{"id":18446744073709551615,"m":-1}"#,
        r#"{"id":1234567890123456789012345,"m":0}"#,
    ];
    given.deliver_as(&money, "json", &lines).await.unwrap();
    assert_eq!(
        given.column("SELECT CAST(id AS TEXT) FROM t ORDER BY length(CAST(id AS TEXT)), 1").await,
        ["9196877626998784", "9196877626998785", "18446744073709551615", "1234567890123456789012345"]
    );
    let exact =
        given.column("SELECT CAST(m AS TEXT) FROM t WHERE CAST(id AS TEXT) = '9196877626998784'").await;
    assert_eq!(exact, ["123456789012345678.12345678"]);
    let csv = "id,m\n9196877626998784,123456789012345678.12345678\n9196877626998785,0.00000001\n18446744073709551615,-1\n1234567890123456789012345,0\n";
    let receipt = given.deliver_batch(&money, &Batch::from_bytes("e.csv", csv)).await.unwrap();
    assert_eq!(counts(&receipt), "read 4, unchanged 4");
}

async fn every_type_comes_back_as_it_went_in(given: Given) {
    let typed = pipeline(
        "identity: [id]
target:
  table: t
  columns:
    id: uuid
    s: text
    i: integer
    d: decimal
    f: float
    b: boolean
    day: date
    at: timestamptz
    local: timestamp
    raw: bytes
    j: json
    tags: text[]
    numbers: integer[]",
    );
    let line = r#"{"id":"F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6","s":"é\"\\\n","i":-9223372036854775808,"d":-1.50,"f":0.1,"b":true,"day":"0001-01-01","at":"2013-03-02T23:55:00.000001-05:00","local":"9999-12-31 23:59:59","raw":"AP8=","j":{"b":[1,2.50],"a":null},"tags":["a,b","\"q\"",""],"numbers":[1,-2],"rest":[true]}"#;
    for id in ["1", "2"] {
        let receipt = given.deliver_as(&typed, id, &[line]).await.unwrap();
        assert_eq!(receipt.outcome.inserted, u64::from(id == "1"));
    }
    let one = |column: &'static str| {
        let given = &given;
        async move { given.column(&format!("SELECT {column} FROM t")).await.remove(0) }
    };
    assert_eq!(one("id").await, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
    assert_eq!(one("s").await, "é\"\\\n");
    assert_eq!(one("i").await, "-9223372036854775808");
    assert_eq!(one("CAST(d AS TEXT)").await, "-1.5");
    assert_eq!(one("f").await, "0.1");
    assert_eq!(one("day").await, "0001-01-01");
    let (at, local, raw, tags) = if given.is_postgres() {
        ("at AT TIME ZONE 'UTC'", "local", "encode(raw, 'hex')", "array_to_string(tags, '|')")
    } else {
        ("at", "local", "hex(raw)", "json_extract(tags, '$[0]') || '|' || json_extract(tags, '$[1]') || '|'")
    };
    assert!(one(at).await.starts_with(if given.is_postgres() {
        "2013-03-03 04:55:00.000001"
    } else {
        "2013-03-03T04:55:00.000001Z"
    }));
    assert!(one(local).await.starts_with("9999-12-31"));
    assert_eq!(one(raw).await.to_lowercase(), "00ff");
    assert_eq!(one(tags).await, "a,b|\"q\"|");
}

async fn six_thousand_rows_of_twelve_columns_are_one_transaction(given: Given) {
    // C06: more bound values than a statement can take.
    let columns: Vec<String> = (0..12).map(|n| format!("c{n}: integer")).collect();
    let wide =
        pipeline(&format!("identity: [id]\ntarget: {{table: t, columns: {{{}}}}}", columns.join(", ")));
    let lines: Vec<String> = (0..6_000)
        .map(|id| {
            format!(
                "{{\"id\":{id},{}}}",
                (0..12).map(|n| format!("\"c{n}\":{}", id * 12 + n)).collect::<Vec<_>>().join(",")
            )
        })
        .collect();
    let receipt = given.deliver_batch(&wide, &Batch::from_bytes("e.ndjson", lines.join("\n"))).await.unwrap();
    assert_eq!(counts(&receipt), "read 6000, inserted 6000");
    assert_eq!(given.count(&given.system("inbox")).await, 1);
    assert_eq!(
        given.column("SELECT sum(c11) FROM t").await,
        [(0..6_000_i64).map(|id| id * 12 + 11).sum::<i64>().to_string()]
    );
}

async fn dates_are_exact_or_bad(given: Given) {
    // C10
    let dated = pipeline(
        "identity: [id]\ntarget: {table: t, columns: {at: timestamptz, day: date}}\non_bad_record: {quarantine: {max: 99}}",
    );
    let bad = ["0000-00-00", "15000-12-31", "infinity", "2024-02-30"]
        .map(|day| format!(r#"{{"id":"{day}","day":"{day}"}}"#));
    let bad_at = [
        "2024-06-01T24:00:00Z",
        "2016-12-31T23:59:60Z",
        "2024-06-01T00:00:00",
        "2024-06-01T00:00:00.0000001Z",
    ]
    .map(|at| format!(r#"{{"id":"{at}","at":"{at}"}}"#));
    let good = [r#"{"id":"a","day":"0001-01-01"}"#, r#"{"id":"b","day":"9999-12-31"}"#];
    let lines: Vec<&str> = bad.iter().chain(&bad_at).map(String::as_str).chain(good).collect();
    let receipt = given.deliver(&dated, &lines).await.unwrap();
    assert_eq!(counts(&receipt), "read 10, inserted 2, quarantined 8");
    assert_eq!(given.column("SELECT day FROM t ORDER BY 1").await, ["0001-01-01", "9999-12-31"]);
}

async fn csv_rows_are_the_same_with_and_without_a_byte_order_mark(given: Given) {
    // C20
    let quoted = pipeline("identity: ['id,x']\ntarget: {table: t, columns: {'id,x': integer, note: text}}");
    let with = "\u{feff}\"id,x\",note\r\n1,\"two\r\nlines\"\r\n2,plain\r\n3,";
    let without = "\"id,x\",note\r\n1,\"two\r\nlines\"\r\n2,plain\r\n3,\r\n";
    let first = given.deliver_batch(&quoted, &Batch::from_bytes("one.csv", with)).await.unwrap();
    assert_eq!(counts(&first), "read 3, inserted 3");
    let next = given.deliver_batch(&quoted, &Batch::from_bytes("two.csv", without)).await.unwrap();
    assert_eq!(counts(&next), "read 3, unchanged 3");
    assert_eq!(given.column("SELECT note FROM t ORDER BY \"id,x\"").await, ["two\r\nlines", "plain", ""]);
}

async fn natural_columns_are_a_key_without_a_hash(given: Given) {
    // J3
    let natural = pipeline(
        "identity: {fields: [source, parcel, day], as: columns}\ntarget: {table: t, columns: {day: date}}",
    );
    let line = |value: u8| format!(r#"{{"source":"county","parcel":"7","day":"2024-01-01","v":{value}}}"#);
    assert_eq!(counts(&given.deliver(&natural, &[&line(1)]).await.unwrap()), "read 1, inserted 1");
    assert_eq!(counts(&given.deliver(&natural, &[&line(2)]).await.unwrap()), "read 1, updated 1");
    assert_eq!(
        counts(&given.deliver_as(&natural, "again", &[&line(2)]).await.unwrap()),
        "read 1, unchanged 1"
    );
    given.deliver(&natural, &[r#"{"source":"county","parcel":null,"day":"2024-01-01"}"#]).await.unwrap_err();
    assert_eq!(given.count("t").await, 1);
}
