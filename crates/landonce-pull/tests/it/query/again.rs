//! A query that is asked again lands what has come since, once (C37, C38), also when a run was cut off.

use std::fmt::Write as _;

use super::Source;
use crate::given::{Target, counts, pipeline};

fn orders(source: &Source, since: &str, more: &str) -> landonce::Pipeline {
    pipeline(&format!(
        "pipeline: orders\nidentity: [id]\ntarget: {{table: orders, columns: {{id: integer, amount: 'decimal(20,8)'}}}}\nsource:\n  query:\n    \
         url: '{}'\n    sql: SELECT id, amount, updated_at FROM orders WHERE updated_at >= {{since}} ORDER BY updated_at\n    since: {since}\n{more}",
        source.url()
    ))
}

const SINCE: &str = "{column: updated_at, start: '2020-01-01T00:00:00Z', overlap: 5m}";

async fn prepare(source: &Source) {
    let moment = source.moment();
    source
        .execute(&format!(
            "CREATE TABLE orders (id int PRIMARY KEY, amount decimal(20,8), updated_at {moment})"
        ))
        .await;
}

/// A moment of the second of noon, as the source takes it.
fn noon(source: &Source, micros: u32) -> String {
    match source {
        Source::Sqlite(_) => format!("2026-03-01T12:00:00.{micros:06}Z"),
        Source::Postgres(_) => format!("2026-03-01 12:00:00.{micros:06}+00"),
        Source::Mariadb(_) => format!("2026-03-01 12:00:00.{micros:06}"),
    }
}

async fn insert(source: &Source, ids: std::ops::Range<u32>, at: &str) {
    let mut sql = "INSERT INTO orders VALUES ".to_owned();
    for id in ids {
        let _ = write!(sql, "({id}, {id}.12345678, '{at}'),");
    }
    source.execute(sql.trim_end_matches(',')).await;
}

#[tokio::test]
async fn a_second_run_lands_nothing_and_a_late_row_of_the_same_moment_comes_in_once() {
    for source in Source::all().await {
        prepare(&source).await;
        insert(&source, 0..10, &noon(&source, 5)).await;
        let pipeline = orders(&source, SINCE, "");
        for target in Target::both().await {
            let first = target.fetch(&pipeline).await.unwrap();
            assert_eq!(counts(&first), [10, 10, 0, 0]);
            let state = target.state().await;
            target.fetch(&pipeline).await.unwrap();
            state.assert_same(&target.state().await);
        }
        let [sqlite, postgres] = Target::both().await;
        for target in [&sqlite, &postgres] {
            target.fetch(&pipeline).await.unwrap();
        }
        // C37: committed behind the run, with a value equal to the highest that was read, and with one below it.
        insert(&source, 10..11, &noon(&source, 5)).await;
        insert(&source, 11..12, &noon(&source, 1)).await;
        for target in [&sqlite, &postgres] {
            assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [12, 2, 0, 10]);
            let state = target.state().await;
            target.fetch(&pipeline).await.unwrap();
            state.assert_same(&target.state().await);
            assert_eq!(
                target.state().await.rows(if target.url.starts_with("sqlite") {
                    "orders"
                } else {
                    "public.orders"
                }),
                Some(12)
            );
        }
    }
}

#[tokio::test]
async fn a_change_there_and_back_is_two_changes() {
    for source in Source::all().await {
        source.execute("CREATE TABLE orders (id int, amount int)").await;
        source.execute("INSERT INTO orders VALUES (1, 5)").await;
        let pipeline = pipeline(&format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{id: integer, amount: integer}}}}\nsource: {{query: {{url: '{}', sql: \
             'SELECT id, amount FROM orders'}}}}",
            source.url()
        ));
        let target = Target::sqlite();
        for (amount, want) in [(5, [1, 1, 0, 0]), (6, [1, 0, 1, 0]), (5, [1, 0, 1, 0]), (6, [1, 0, 1, 0])] {
            source.execute(&format!("UPDATE orders SET amount = {amount}")).await;
            assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), want);
            let state = target.state().await;
            target.fetch(&pipeline).await.unwrap();
            state.assert_same(&target.state().await);
        }
        assert_eq!(target.rows("SELECT amount FROM t"), [["6"]]);
    }
}

#[tokio::test]
async fn pieces_that_end_inside_one_second_lose_nothing_when_a_run_is_cut_off() {
    for source in Source::all().await {
        prepare(&source).await;
        for (part, at) in
            [noon(&source, 1), noon(&source, 2), noon(&source, 2), noon(&source, 3)].iter().enumerate()
        {
            insert(&source, part as u32 * 25..part as u32 * 25 + 25, at).await;
        }
        let ordered = "{column: updated_at, start: '2020-01-01T00:00:00Z', ordered: true}";
        for (since, again) in [(ordered, [75, 60, 0, 15]), (SINCE, [60, 60, 0, 0])] {
            let pipeline = orders(&source, since, "  batch: {records: 40}\n");
            let target = Target::sqlite();
            // C38: the first piece ends among rows of one moment.
            assert_eq!(counts(&target.fetch_until(&pipeline, 1).await.unwrap()), [40, 40, 0, 0]);
            let rest = target.fetch(&pipeline).await.unwrap();
            // In order, it goes on at the last value; else from the beginning, where the first piece is known to have landed.
            assert_eq!(counts(&rest), again, "{since}");
            assert_eq!(
                target.rows("SELECT count(*), count(DISTINCT id), max(landonce_revision) FROM orders"),
                [["100", "100", "1"]]
            );
            let state = target.state().await;
            target.fetch(&orders(&source, since, "")).await.unwrap();
            assert_eq!(
                state.without(&[]).rows("orders"),
                target.state().await.rows("orders"),
                "other pieces, the same rows"
            );
        }
    }
}

#[tokio::test]
async fn numbers_are_gone_on_from_exactly() {
    for source in Source::all().await {
        source.execute("CREATE TABLE e (id bigint, v int)").await;
        source.execute("INSERT INTO e VALUES (9007199254740992, 1), (9007199254740993, 2)").await;
        let pipeline = |overlap: u8| {
            pipeline(&format!(
                "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{id: integer}}}}\nsource: {{query: {{url: '{}', sql: \
                 'SELECT id, v FROM e WHERE id >= {{since}}', since: {{column: id, start: '0', overlap: '{overlap}'}}}}}}",
                source.url()
            ))
        };
        let target = Target::sqlite();
        assert_eq!(counts(&target.fetch(&pipeline(0)).await.unwrap()), [2, 2, 0, 0]);
        source.execute("INSERT INTO e VALUES (9007199254740994, 3)").await;
        // A double can't tell …992 from …993.
        assert_eq!(counts(&target.fetch(&pipeline(0)).await.unwrap()), [2, 1, 0, 1]);
        assert_eq!(counts(&target.fetch(&pipeline(2)).await.unwrap()), [3, 0, 0, 3]);
    }
}

#[tokio::test]
async fn another_query_begins_anew() {
    let source = Source::Sqlite(tempfile::tempdir().unwrap());
    prepare(&source).await;
    insert(&source, 0..3, &noon(&source, 1)).await;
    insert(&source, 3..5, "2026-03-02T00:00:00.000000Z").await;
    let target = Target::sqlite();
    let asked = |columns: &str| {
        pipeline(&format!(
            "pipeline: orders\nidentity: [id]\ntarget: {{table: orders, columns: {{id: integer}}}}\nsource: {{query: {{url: '{}', sql: 'SELECT \
             {columns} FROM orders WHERE updated_at >= {{since}}', since: {{column: updated_at, start: '2020'}}}}}}",
            source.url()
        ))
    };
    assert_eq!(counts(&target.fetch(&asked("id, updated_at")).await.unwrap()), [5, 5, 0, 0]);
    assert_eq!(counts(&target.fetch(&asked("id, amount, updated_at")).await.unwrap()), [5, 0, 5, 0]);
}

#[tokio::test]
async fn a_transaction_that_commits_late_is_found_within_the_overlap() {
    let source = Source::Postgres(landonce_testkit::postgres::database().await);
    prepare(&source).await;
    let Source::Postgres(database) = &source else { unreachable!() };
    let late = database.client().await;
    late.batch_execute("BEGIN; INSERT INTO orders VALUES (1, 1, '2026-03-01 12:00:00.000001+00')")
        .await
        .unwrap();
    insert(&source, 2..3, &noon(&source, 2)).await;
    let target = Target::sqlite();
    let (with, without) = (
        orders(&source, SINCE, ""),
        orders(&source, "{column: updated_at, start: '2020-01-01T00:00:00Z'}", ""),
    );
    let other = Target::sqlite();
    for (target, pipeline) in [(&target, &with), (&other, &without)] {
        assert_eq!(counts(&target.fetch(pipeline).await.unwrap()), [1, 1, 0, 0]);
    }
    late.batch_execute("COMMIT").await.unwrap();
    assert_eq!(counts(&target.fetch(&with).await.unwrap()), [2, 1, 0, 1]);
    // What the guide says of a query without an overlap.
    other.fetch(&without).await.unwrap();
    assert_eq!(other.rows("SELECT id FROM orders"), [["2"]]);
}

#[tokio::test]
async fn a_period_is_bound_and_holds_exactly_its_rows() {
    for source in Source::all().await {
        let moment = source.moment();
        source.execute(&format!("CREATE TABLE s (id int, at {moment})")).await;
        // Text is compared by its bytes, so SQLite's has the spelling of what is bound.
        let written = |day: u8| match &source {
            Source::Sqlite(_) => format!("2026-03-{day:02}T00:00:00Z"),
            _ => format!("2026-03-{day:02} 00:00:00"),
        };
        if matches!(source, Source::Postgres(_)) {
            source.execute("ALTER TABLE s ALTER at TYPE timestamptz USING at AT TIME ZONE 'UTC'; SET TimeZone = 'UTC'").await;
        }
        for (id, day) in [(1, 1), (2, 1), (3, 2)] {
            let zone = if matches!(source, Source::Postgres(_)) { "+00" } else { "" };
            source.execute(&format!("INSERT INTO s VALUES ({id}, '{}{zone}')", written(day))).await;
        }
        let days = pipeline(&format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{id: integer, day: date}}}}\nwrite: {{mode: overwrite_period, allow_empty: true, period: \
             {{field: day, every: day, tz: UTC}}}}\nsource:\n  query:\n    url: '{}'\n    sql: SELECT id, {{period.date}} AS day FROM s WHERE at >= {{period.start}} \
             AND at < {{period.end}}\n",
            source.url()
        ));
        let target = Target::sqlite();
        for (day, want) in
            [("2026-03-01", [2, 2, 0, 0]), ("2026-03-02", [1, 1, 0, 0]), ("2026-03-03", [0, 0, 0, 0])]
        {
            let found = target.fetch(&days.in_period(day).unwrap()).await;
            assert_eq!(counts(&found.unwrap_or_else(|error| panic!("{error}"))), want);
        }
        source.execute("DELETE FROM s WHERE id = 1").await;
        target.fetch(&days.in_period("2026-03-01").unwrap()).await.unwrap();
        assert_eq!(
            target.rows("SELECT id, day FROM t ORDER BY id"),
            [["2", "2026-03-01"], ["3", "2026-03-02"]]
        );
    }
}
