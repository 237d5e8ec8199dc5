//! What can't be read fails, in time and in plain words: nothing is concluded from it (C33), and the source stays as it is.

use landonce_testkit::dump::{self, Tables};
use landonce_testkit::wait;

use super::Source;
use crate::given::{Target, counts, pipeline};

fn asked(source: &Source, sql: &str, more: &str) -> landonce::Pipeline {
    pipeline(&format!(
        "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{id: integer}}}}\nsource:\n  query:\n    url: '{}'\n    sql: |\n      {sql}\n{more}",
        source.url()
    ))
}

#[tokio::test]
async fn a_query_that_writes_is_refused_and_nothing_is_written() {
    let [sqlite, postgres, mariadb] = Source::all().await;
    for source in [&sqlite, &postgres, &mariadb] {
        source.execute("CREATE TABLE s (id int); INSERT INTO s VALUES (1)").await;
    }
    postgres
        .execute("CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM s; RETURN 1; END $$; CREATE SEQUENCE n")
        .await;
    let Source::Postgres(database) = &postgres else { unreachable!() };
    let looked = async || dump::postgres(&database.client().await, Tables::All).await;
    let before = (dump::sqlite(sqlite.url().trim_start_matches("sqlite:")), looked().await);
    for (source, sql) in [
        (&postgres, "SELECT f() AS id"),
        (&postgres, "SELECT nextval('n') AS id"),
        (&postgres, "WITH gone AS (DELETE FROM s RETURNING id) SELECT id FROM gone"),
        (&postgres, "SELECT set_config('transaction_read_only', 'off', false) AS id"),
        (&sqlite, "WITH x AS (SELECT 2 AS id) INSERT INTO s SELECT id FROM x RETURNING id"),
        (&mariadb, "WITH x AS (SELECT 2 AS id) UPDATE s SET id = 2"),
    ] {
        let told = Target::sqlite().fetch(&asked(source, sql, "")).await.unwrap_err();
        assert_eq!(told.code().as_str(), "L1122", "{sql}: {told}");
    }
    before.0.assert_same(&dump::sqlite(sqlite.url().trim_start_matches("sqlite:")));
    before.1.assert_same(&looked().await);
    for source in [&postgres, &mariadb] {
        let target = Target::sqlite();
        assert_eq!(
            counts(&target.fetch(&asked(source, "SELECT id FROM s", "")).await.unwrap()),
            [1, 1, 0, 0]
        );
        assert_eq!(target.rows("SELECT id FROM t"), [["1"]]);
    }
}

#[tokio::test]
async fn a_write_inside_a_function_says_that_the_source_is_only_read() {
    let [_, postgres, _] = Source::all().await;
    postgres.execute("CREATE SEQUENCE n").await;
    let told = Target::sqlite().fetch(&asked(&postgres, "SELECT nextval('n') AS id", "")).await.unwrap_err();
    assert!(told.to_string().contains("only read"), "{told}");
    assert_eq!(told.code().as_str(), "L1122");
}

#[tokio::test]
async fn what_is_declared_wrongly_is_told_with_what_there_is() {
    let [sqlite, postgres, mariadb] = Source::all().await;
    for source in [&sqlite, &postgres, &mariadb] {
        source.execute("CREATE TABLE s (id int, name text)").await;
        for (sql, more, want) in [
            ("SELECT id, id FROM s", "", "two columns have the name `id`"),
            ("SELECT id FROM s", "    types: {ok: boolean}", "no column `ok`; it has `id`"),
            (
                "SELECT id FROM s WHERE id >= {since}",
                "    since: {column: updated, start: '0'}",
                "no column `updated`",
            ),
            ("SELECT id FROM none", "", "none"),
            ("SELECT id FROM s WHERE", "", "s"),
        ] {
            let told = Target::sqlite().fetch(&asked(source, sql, more)).await.unwrap_err().to_string();
            assert!(told.contains(want), "{sql}: {told}");
        }
    }
    for source in [&postgres, &mariadb] {
        source.execute("INSERT INTO s VALUES (1, 'b')").await;
        let more = "    since: {column: name, start: 'a'}";
        let told = Target::sqlite()
            .fetch(&asked(source, "SELECT id, name FROM s WHERE name >= {since}", more))
            .await;
        assert!(told.unwrap_err().to_string().contains("order"));
    }
    postgres.execute("CREATE TABLE e (id int, at timestamptz); INSERT INTO e VALUES (1, 'infinity')").await;
    let more = "    since: {column: at, start: '2020-01-01'}";
    let told =
        Target::sqlite().fetch(&asked(&postgres, "SELECT id, at FROM e WHERE at >= {since}", more)).await;
    assert!(told.unwrap_err().to_string().contains("`infinity`"));
}

#[tokio::test]
async fn a_database_that_is_not_there_or_silent_is_told_without_a_secret() {
    let [sqlite, postgres, mariadb] = Source::all().await;
    for scheme in ["postgres", "mysql"] {
        let pipeline = pipeline(&format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t}}\nsource: {{query: {{url: '{scheme}://u:sesame@127.0.0.1:1/d', sql: 'SELECT 1 AS id'}}}}"
        ));
        let told = Target::sqlite().fetch(&pipeline).await.unwrap_err();
        assert_eq!(told.code().as_str(), "L1121", "{told}");
        assert!(
            told.to_string().contains("127.0.0.1:1") && !format!("{told:?}").contains("sesame"),
            "{told}"
        );
    }
    let missing = pipeline(
        "pipeline: p\nidentity: [id]\ntarget: {table: t}\nsource: {query: {url: 'sqlite:/no/such.db', sql: 'SELECT 1 AS id'}}",
    );
    assert!(Target::sqlite().fetch(&missing).await.unwrap_err().to_string().contains("/no/such.db"));
    sqlite.execute("CREATE TABLE s (id int)").await;
    let forever =
        "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n WHERE id < 0";
    for (source, sql) in [
        (&sqlite, forever),
        (&postgres, "SELECT 1 AS id FROM pg_sleep(600)"),
        (&mariadb, "SELECT SLEEP(600) AS id"),
    ] {
        let told = Target::sqlite().fetch(&asked(source, sql, "    timeout: 300ms")).await.unwrap_err();
        assert!(told.to_string().contains("no row within 0.3 s"), "{told}");
        assert_eq!(told.code().as_str(), "L1121");
    }
    let Source::Mariadb(database) = &mariadb else { unreachable!() };
    let mut client = database.client().await;
    // The query doesn't work on for nobody.
    wait::until(30, "the query's end", async || {
        use mysql_async::prelude::Queryable as _;
        let running: Option<u64> = client
            .query_first(
                "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(600)%'",
            )
            .await
            .unwrap();
        (running == Some(0)).then_some(())
    })
    .await;
    client.disconnect().await.unwrap();
}

#[tokio::test]
async fn a_source_that_is_cut_off_lands_whole_pieces_and_the_next_run_the_rest() {
    let [_, postgres, _] = Source::all().await;
    postgres
        .execute("CREATE TABLE s (id int, at timestamptz); INSERT INTO s SELECT n, '2026-03-01'::timestamptz + n * interval '1 s' FROM generate_series(1, 50000) n")
        .await;
    let Source::Postgres(database) = &postgres else { unreachable!() };
    // A row that fails behind all the others stands for a connection that is lost there.
    let cut = "SELECT CASE WHEN id = 50000 THEN pg_terminate_backend(pg_backend_pid())::int ELSE id END AS id, at FROM s WHERE at >= {since} ORDER BY at";
    let more = "    since: {column: at, start: '2020-01-01', ordered: true}\n  batch: {records: 10000}\n";
    let target = Target::sqlite();
    let told = target.fetch(&asked(&postgres, cut, more)).await.unwrap_err();
    assert_eq!(told.code().as_str(), "L1121", "{told}");
    let rows = target.rows("SELECT count(*) FROM t");
    assert_eq!(rows, [["40000"]], "what was landed is whole pieces");
    // The same query without the cut is another one: it begins anew, and finds what has landed equal.
    let whole = "SELECT id, at FROM s WHERE at >= {since} ORDER BY at";
    let counted = counts(&target.fetch(&asked(&postgres, whole, more)).await.unwrap());
    assert_eq!(counted, [50000, 10000, 0, 40000]);
    let left = dump::postgres(&database.client().await, Tables::All).await;
    assert_eq!(left.tables().count(), 1, "the source has no table of ours");
}

#[tokio::test]
async fn a_snapshot_whose_query_fails_or_is_cut_off_retires_nothing() {
    for source in Source::all().await {
        source.execute("CREATE TABLE s (id int); INSERT INTO s VALUES (1), (2), (3)").await;
        let snapshot = |sql: &str| {
            pipeline(&format!(
                "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{id: integer}}}}\nwrite: {{mode: snapshot, absent: retire, plausible: {{rows: 100%, retired: 100%, changed: 100%}}}}\n\
                 source: {{query: {{url: '{}', sql: '{sql}'}}}}",
                source.url()
            ))
        };
        let target = Target::sqlite();
        // The end of the query is the proof that it is all; no `complete` is declared.
        assert_eq!(counts(&target.fetch(&snapshot("SELECT id FROM s")).await.unwrap()), [3, 3, 0, 0]);
        let state = target.state().await;
        let failing = match &source {
            Source::Sqlite(_) => {
                "SELECT abs(CASE WHEN id = 3 THEN -9223372036854775807 - 1 ELSE id END) AS id FROM s"
            }
            Source::Postgres(_) => "SELECT 6 / (3 - id) AS id FROM s",
            Source::Mariadb(_) => "SELECT CASE WHEN id = 3 THEN (SELECT id FROM s) ELSE id END AS id FROM s",
        };
        assert!(target.fetch(&snapshot(failing)).await.is_err());
        assert_eq!(state.rows("t"), target.state().await.rows("t"));
        assert_eq!(target.rows("SELECT count(*) FROM t WHERE landonce_retired_at IS NULL"), [["3"]]);
        source.execute("DELETE FROM s WHERE id = 2").await;
        target.fetch(&snapshot("SELECT id FROM s")).await.unwrap();
        assert_eq!(target.rows("SELECT id FROM t WHERE landonce_retired_at IS NOT NULL"), [["2"]]);
    }
}
