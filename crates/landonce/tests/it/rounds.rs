//! A batch leaves what its records would leave one by one, also where one waits for another; and a second delivery finds
//! nothing left to do.

use crate::given::{Given, counts, on_every_store, pipeline};

on_every_store!(
    changes_to_one_identity_are_merged_in_their_order,
    a_refused_record_does_not_take_the_good_one_before_it_along,
    a_value_that_a_later_record_sets_free_is_taken_in_the_same_batch,
    a_delete_sets_free_what_a_put_of_the_same_batch_wants,
    a_parent_that_comes_later_is_waited_for,
    what_is_refused_for_good_is_kept_once,
);

async fn changes_to_one_identity_are_merged_in_their_order(given: Given) {
    // C14, within one batch: the default for a table of somebody else's whose columns nobody declared.
    given.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT)").await;
    let changes = pipeline("identity: [id]\ntarget: {table: t}");
    let lines = [r#"{"id":1,"a":"A"}"#, r#"{"id":2,"a":"x"}"#, r#"{"id":1,"b":"B"}"#, r#"{"id":1,"a":"A2"}"#];
    let first = given.deliver_as(&changes, "1", &lines).await.unwrap();
    assert_eq!(counts(&first), "read 4, inserted 2, updated 2");
    assert_eq!(given.column("SELECT a || coalesce(b, '-') FROM t ORDER BY id").await, ["A2B", "x-"]);
    given.deliver_as(&changes, "2", &lines).await.unwrap();
    assert_eq!(given.column("SELECT a || coalesce(b, '-') FROM t ORDER BY id").await, ["A2B", "x-"]);

    let versioned = pipeline(
        "identity: [id]\ntarget: {table: v, columns: {n: integer, a: text, b: text}}\nwrite: {version: n, absent: keep}",
    );
    let lines = [r#"{"id":1,"n":1,"a":"A"}"#, r#"{"id":1,"n":3,"b":"B"}"#, r#"{"id":1,"n":2,"a":"old"}"#];
    let receipt = given.deliver_as(&versioned, "3", &lines).await.unwrap();
    assert_eq!(counts(&receipt), "read 3, inserted 1, updated 1, stale 1");
    assert_eq!(given.column("SELECT a || b FROM v").await, ["AB"]);
}

async fn a_refused_record_does_not_take_the_good_one_before_it_along(given: Given) {
    given.execute("CREATE TABLE chk(id INTEGER PRIMARY KEY, v INTEGER CHECK (v > 0))").await;
    let keeping = pipeline(
        "identity: [id]\ntarget: {table: chk, columns: {id: integer, v: integer}}\non_bad_record: {quarantine: {max: 9}}",
    );
    let lines = [r#"{"id":1,"v":5}"#, r#"{"id":1,"v":-5}"#, r#"{"id":2,"v":7}"#, r#"{"id":2,"v":8}"#];
    let receipt = given.deliver(&keeping, &lines).await.unwrap();
    assert_eq!(counts(&receipt), "read 4, inserted 2, duplicates 1, quarantined 1");
    assert_eq!(given.column("SELECT v FROM chk ORDER BY id").await, ["5", "8"]);

    given.execute("CREATE TABLE one(id INTEGER PRIMARY KEY, v INTEGER CHECK (v > 0))").await;
    let once = pipeline(
        "identity: [id]\ntarget: {table: one, columns: {id: integer, v: integer}}\nwrite: {mode: insert_once}\non_bad_record: {quarantine: {max: 9}}",
    );
    let receipt =
        given.deliver_as(&once, "once", &[r#"{"id":1,"v":-7}"#, r#"{"id":1,"v":1}"#]).await.unwrap();
    // Once the identity is there, insert-once has no use for the other record, and a second delivery says the same.
    assert_eq!(counts(&receipt), "read 2, inserted 1, unchanged 1");
    assert_eq!(given.column("SELECT v FROM one").await, ["1"]);
}

async fn a_value_that_a_later_record_sets_free_is_taken_in_the_same_batch(given: Given) {
    given
        .execute("CREATE TABLE em(id INTEGER PRIMARY KEY, email TEXT UNIQUE); INSERT INTO em VALUES (1, 'a'), (2, 'b')")
        .await;
    // Also in fail mode: the batch as a whole is right.
    let declared = pipeline("identity: [id]\ntarget: {table: em, columns: {id: integer, email: text}}");
    let lines = [r#"{"id":1,"email":"b"}"#, r#"{"id":2,"email":"c"}"#];
    assert_eq!(counts(&given.deliver_as(&declared, "1", &lines).await.unwrap()), "read 2, updated 2");
    assert_eq!(given.column("SELECT email FROM em ORDER BY id").await, ["b", "c"]);
    assert_eq!(counts(&given.deliver_as(&declared, "2", &lines).await.unwrap()), "read 2, unchanged 2");
}

async fn a_delete_sets_free_what_a_put_of_the_same_batch_wants(given: Given) {
    given
        .execute(
            "CREATE TABLE em(id INTEGER PRIMARY KEY, email TEXT UNIQUE); INSERT INTO em VALUES (2, 'abc')",
        )
        .await;
    let declared = pipeline(
        "identity: [id]\ntarget: {table: em, columns: {id: integer, email: text}}\nwrite: {delete_when: {field: op, equals: [d]}}",
    );
    let lines = [r#"{"id":2,"op":"d"}"#, r#"{"id":4,"email":"abc","op":"u"}"#];
    assert_eq!(
        counts(&given.deliver_as(&declared, "1", &lines).await.unwrap()),
        "read 2, inserted 1, deleted 1"
    );
    assert_eq!(given.column("SELECT id FROM em").await, ["4"]);
}

async fn a_parent_that_comes_later_is_waited_for(given: Given) {
    given.execute("CREATE TABLE node(k INTEGER PRIMARY KEY, p INTEGER REFERENCES node(k), ok INTEGER CHECK (ok > 0))").await;
    let keeping = pipeline(
        "identity: [k]\ntarget: {table: node, columns: {k: integer, p: integer, ok: integer}}\non_bad_record: {quarantine: {max: 9}}",
    );
    let lines = [
        r#"{"k":1,"p":2,"ok":1}"#,
        r#"{"k":2,"p":3,"ok":1}"#,
        r#"{"k":3,"p":null,"ok":1}"#,
        r#"{"k":4,"p":1,"ok":-1}"#,
        r#"{"k":5,"p":99,"ok":1}"#,
    ];
    let first = given.deliver_as(&keeping, "1", &lines).await.unwrap();
    assert_eq!(counts(&first), "read 5, inserted 3, quarantined 2");
    let again = given.deliver_as(&keeping, "2", &lines).await.unwrap();
    assert_eq!(counts(&again), "read 5, unchanged 3, quarantined 2");
}

async fn what_is_refused_for_good_is_kept_once(given: Given) {
    given.execute("CREATE TABLE chk(id INTEGER PRIMARY KEY, v INTEGER CHECK (v > 0))").await;
    let keeping = pipeline(
        "identity: [id]\ntarget: {table: chk, columns: {id: integer, v: integer}}\non_bad_record: {quarantine: {max: 99}}",
    );
    let lines: Vec<String> = (0..60).map(|id| format!(r#"{{"id":{id},"v":{}}}"#, id % 3 - 1)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let receipt = given.deliver(&keeping, &lines).await.unwrap();
    assert_eq!(counts(&receipt), "read 60, inserted 20, quarantined 40");
    assert_eq!(given.store.quarantine(None, 100).await.unwrap().len(), 40);
}
