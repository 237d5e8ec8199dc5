//! The four write patterns side by side (J12), on a fixture of 1,000 rows: rows after one run, rows after two, rows
//! rewritten by the second. The table in `docs/concepts/write-patterns.md` is this test's.

use landonce_testkit::dump::physical;
use landonce_testkit::postgres;

/// Each pattern's name, its table, the statement that loads the stage, and what must come out.
const PATTERNS: [(&str, &str, &str, [usize; 3]); 4] = [
    ("append", "CREATE TABLE t(id int, v text)", "INSERT INTO t SELECT id, v FROM s", [1000, 2000, 0]),
    (
        "serial key",
        "CREATE TABLE t(n bigserial PRIMARY KEY, id int, v text)",
        "INSERT INTO t(id, v) SELECT id, v FROM s",
        [1000, 2000, 0],
    ),
    (
        "unguarded upsert",
        "CREATE TABLE t(id int PRIMARY KEY, v text)",
        "INSERT INTO t SELECT id, v FROM s ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v",
        [1000, 1000, 1000],
    ),
    (
        "guarded upsert",
        "CREATE TABLE t(id int PRIMARY KEY, v text)",
        "INSERT INTO t SELECT id, v FROM s ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v WHERE t.v IS DISTINCT FROM EXCLUDED.v",
        [1000, 1000, 0],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn the_four_patterns_of_j12() {
    let table = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/concepts/write-patterns.md"
    ))
    .unwrap();
    for (name, create, load, want) in PATTERNS {
        let database = postgres::database().await;
        let client = database.client().await;
        client
            .batch_execute("CREATE TABLE s AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, 1000) i")
            .await
            .unwrap();
        client.batch_execute(create).await.unwrap();
        client.batch_execute(load).await.unwrap();
        let once = physical(&client, "public.t").await;
        client.batch_execute(load).await.unwrap();
        let twice = physical(&client, "public.t").await;
        // A row of the first run whose place and version are gone has been rewritten.
        let rewritten = once
            .iter()
            .filter(|row| !twice.iter().any(|later| later.ctid == row.ctid && later.xmin == row.xmin))
            .count();
        assert_eq!([once.len(), twice.len(), rewritten], want, "{name}");
        let line = format!("| {name} | {} | {} | {} |", want[0], want[1], want[2]);
        assert!(table.contains(&line), "docs/concepts/write-patterns.md lacks: {line}");
    }
}
