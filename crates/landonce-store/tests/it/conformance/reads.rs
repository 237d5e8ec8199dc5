//! What people look at is told page by page, in order, and without landonce's tables is nothing.

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_core::value::Value;
use landonce_store::inbox::{InboxKey, Settled, subject};
use landonce_store::quarantine::BadRow;
use landonce_store::reads::{Action, BatchFilter, Cursor, Equals, Reads, Span};
use landonce_store::seam::{Access, Connection, Work};
use uuid::Uuid;

use super::bench::{Bench, Dialect, by_columns, claim, int, land, put, run_id, set_up, text, things};

/// All there is, in pages of `size`.
async fn pages<C: Reads>(connection: &mut C, pipeline: Option<&str>, size: usize) -> Vec<Settled> {
    let mut filter = BatchFilter { pipeline: pipeline.map(str::to_owned), before: None };
    let mut all: Vec<Settled> = Vec::new();
    loop {
        let page = connection.batches_page(&filter, size).await.unwrap();
        assert!(page.len() <= size);
        let Some(last) = page.last() else { return all };
        filter.before = Some(Cursor::behind(last));
        all.extend(page);
    }
}

pub(crate) async fn batches_come_page_by_page_newest_first(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    set_up(&mut connection, &things()).await;
    for n in 0..7 {
        let mut claim = claim(&format!("b{n}"));
        if n % 3 == 0 { "q" } else { "p" }.clone_into(&mut claim.pipeline);
        connection.begin(Access::Write).await.unwrap();
        connection.work().claim(&claim).await.unwrap();
        super::land_claimed(&mut connection.work(), &things(), &claim, &[put([int(n), text("v")])]).await;
        connection.commit().await.unwrap();
    }
    // Several of one moment: the key decides, and none is lost or told twice between pages.
    bench
        .run(&format!(
            "UPDATE {} SET settled_at = '2026-03-01T00:00:00.000Z' WHERE batch_id < 'b4'",
            inbox(bench)
        ))
        .await;
    let ids = |all: &[Settled]| all.iter().map(|one| one.batch_id.clone()).collect::<Vec<_>>();
    let all = pages(&mut connection, None, 100).await;
    assert_eq!(ids(&all)[..3], ["b6", "b5", "b4"]);
    assert_eq!(all.len(), 7);
    for size in 1..=4 {
        assert_eq!(ids(&pages(&mut connection, None, size).await), ids(&all), "pages of {size}");
        let of_q = pages(&mut connection, Some("q"), size).await;
        let want: Vec<String> =
            all.iter().filter(|one| one.pipeline == "q").map(|one| one.batch_id.clone()).collect();
        assert_eq!(ids(&of_q), want, "pages of {size}");
    }
    assert_eq!(pages(&mut connection, Some("nobody"), 3).await, []);

    let b5 = connection.look_up(&InboxKey::of("p", "b5")).await.unwrap().unwrap();
    assert_eq!(connection.batches_of_run(b5.run_id, 9).await.unwrap(), [b5]);
    assert_eq!(connection.batches_of_run(Uuid::now_v7(), 9).await.unwrap(), []);
    assert_eq!(connection.batches_of_run(Uuid::from_u128(4), 9).await.unwrap(), []);
}

pub(crate) async fn figures_are_sums_by_the_hour(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    for (n, records) in [(0, 2), (1, 3), (2, 1)] {
        let records: Vec<_> = (0..records).map(|at| put([int(n * 10 + at), text("v")])).collect();
        land(&mut connection, &things(), &format!("b{n}"), &records).await;
    }
    let at = |batch: &str, at: &str| {
        format!("UPDATE {} SET settled_at = '{at}' WHERE batch_id = '{batch}'", inbox(bench))
    };
    let moved = [
        at("b0", "2026-03-01T07:00:00.000Z"),
        at("b1", "2026-03-01T07:59:59.999Z"),
        at("b2", "2026-03-01T08:00:00.000Z"),
    ];
    for sql in moved {
        bench.run(&sql).await;
    }
    // 2026-03-01T07:00:00Z
    let seven = 1_772_348_400_000_000;
    let told = |from, to| Span { from: seven + from, to: seven + to };
    let shown = |figures: Vec<landonce_store::reads::Figure>| -> Vec<(i64, u64, u64)> {
        figures.iter().map(|one| ((one.hour - seven) / HOUR, one.batches, one.outcome.read)).collect()
    };
    let figures = connection.figures(told(0, 2 * HOUR)).await.unwrap();
    assert!(figures.iter().all(|one| one.pipeline == "p"));
    assert_eq!(shown(figures), [(0, 2, 5), (1, 1, 1)]);
    assert_eq!(shown(connection.figures(told(0, HOUR)).await.unwrap()), [(0, 2, 5)]);
    assert_eq!(shown(connection.figures(told(1, HOUR + 1)).await.unwrap()), [(0, 1, 3), (1, 1, 1)]);
    let error = connection.figures(told(0, 1000 * HOUR)).await.unwrap_err();
    assert!(error.to_string().contains("32 days"), "{error}");
}

const HOUR: i64 = 3_600_000_000;

pub(crate) async fn events_are_found_by_what_they_are_about(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    for n in 0..4 {
        land(&mut connection, &things(), &format!("b{n}"), &[put([int(n), text("v")])]).await;
    }
    let about = Uuid::from_bytes(subject("p", &[7; 32]));
    assert_ne!(about.into_bytes(), subject("q", &[7; 32]));
    for batch in ["b1", "b3"] {
        let key = hex::encode(InboxKey::of("p", batch).0);
        let sql = match dialect(bench) {
            Dialect::Sqlite => format!(
                "INSERT INTO landonce_subject VALUES (x'{}', x'{key}')",
                hex::encode(about.as_bytes())
            ),
            Dialect::Postgres => {
                format!("UPDATE landonce.inbox SET subject = '{about}' WHERE key = '\\x{key}'")
            }
        };
        bench.run(&sql).await;
    }
    let found = connection.batches_about(about, 9).await.unwrap();
    assert_eq!(found.iter().map(|one| one.batch_id.as_str()).collect::<Vec<_>>(), ["b3", "b1"]);
    assert_eq!(connection.batches_about(about, 1).await.unwrap().len(), 1);
    assert_eq!(connection.batches_about(Uuid::from_bytes(subject("p", &[8; 32])), 9).await.unwrap(), []);
}

pub(crate) async fn what_waits_is_counted_by_pipeline(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    let bad = |pipeline, raw| BadRow {
        pipeline,
        batch_id: "b1",
        run_id: run_id(1),
        source: "a test",
        number: 7,
        bad: BadRecord::new(BadKind::Syntax, "", "not JSON"),
        raw,
    };
    connection.begin(Access::Write).await.unwrap();
    let kept = [bad("p", b"one" as &[u8]), bad("p", b"two"), bad("q", b"three")];
    connection.work().keep_bad(&kept).await.unwrap();
    connection.work().resolve_bad(&[kept[0].id()], run_id(2)).await.unwrap();
    connection.commit().await.unwrap();
    let due = match dialect(bench) {
        Dialect::Sqlite => "landonce_due",
        Dialect::Postgres => "landonce.due",
    };
    for (label, run) in [("2026-03-01", 1), ("2026-03-01", 2), ("2026-03-02", 1)] {
        bench
            .run(&format!(
                "INSERT INTO {due} (pipeline, derived, label, start_us, end_us, run_id) VALUES ('r', 'd', '{label}', 1, 2, '{}')",
                run_id(run)
            ))
            .await;
    }
    let backlog = connection.backlog().await.unwrap();
    let told: Vec<(&str, u64, u64, u64)> = backlog
        .iter()
        .map(|one| (one.pipeline.as_str(), one.quarantined.count, one.held.count, one.due.count))
        .collect();
    assert_eq!(told, [("p", 1, 0, 0), ("q", 1, 0, 0), ("r", 0, 0, 2)]);
    assert!(backlog[0].quarantined.since.as_ref().unwrap().ends_with('Z'));
    assert_eq!(backlog[0].held.since, None);
}

pub(crate) async fn rows_are_found_by_key_by_columns_and_by_run(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = things();
    let records: Vec<_> = (1..=3).map(|n| put([int(n), text("it's \"quoted\"")])).collect();
    land(&mut connection, &plan, "b1", &records).await;
    let run = claim("b1").run_id;
    let of_run = [Equals {
        column: "landonce_run_id".to_owned(),
        value: Value::Uuid(run.into_bytes()),
        is_key: false,
    }];
    let found = connection.rows(&plan, &of_run, 2).await.unwrap().unwrap();
    assert!(found.is_more);
    assert_eq!(found.rows.len(), 2);
    let all = connection.rows(&plan, &of_run, 3).await.unwrap().unwrap();
    assert!(!all.is_more);
    let at = |name: &str| all.columns.iter().position(|column| column == name).unwrap();
    let mut ids: Vec<&str> = all.rows.iter().map(|row| row[at("id")].as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["1", "2", "3"]);
    assert!(all.rows.iter().all(|row| row[at("v")] == r#""it's \"quoted\"""#));
    assert!(all.rows.iter().all(|row| row[at("landonce_run_id")] == format!("\"{run}\"")));

    let key = all.rows[0][at("landonce_key")].trim_matches('"').parse::<Uuid>().unwrap();
    let by_key =
        [Equals { column: "landonce_key".to_owned(), value: Value::Uuid(key.into_bytes()), is_key: true }];
    let one = connection.rows(&plan, &by_key, 2).await.unwrap().unwrap();
    assert_eq!(one.rows, [all.rows[0].clone()]);

    let natural = by_columns(plan.clone(), &[0]);
    let by_column = |value| [Equals { column: "id".to_owned(), value, is_key: false }];
    let two = connection.rows(&natural, &by_column(int(2)), 2).await.unwrap().unwrap();
    assert_eq!(two.rows.iter().map(|row| row[at("id")].as_str()).collect::<Vec<_>>(), ["2"]);
    assert!(connection.rows(&natural, &by_column(Value::Null), 2).await.unwrap().unwrap().rows.is_empty());
    let wrong = [Equals { column: "no\"such".to_owned(), value: int(1), is_key: false }];
    assert!(connection.rows(&natural, &wrong, 1).await.is_err());
    let mut elsewhere = plan;
    "nowhere".clone_into(&mut elsewhere.table.name);
    assert_eq!(connection.rows(&elsewhere, &by_key, 1).await.unwrap(), None);
}

pub(crate) async fn what_was_done_by_hand_is_kept_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    let action = |n: u128, what: &str| Action {
        id: run_id(n),
        at: String::new(),
        who: "token ops'; DROP TABLE x".to_owned(),
        what: what.to_owned(),
        subject: "sha \0".to_owned(),
        detail: "fine".to_owned(),
    };
    for one in [action(1, "held release"), action(2, "quarantine edit"), action(2, "quarantine edit")] {
        connection.record_action(&one).await.unwrap();
    }
    let told = connection.actions(9).await.unwrap();
    assert_eq!(
        told.iter().map(|one| one.what.as_str()).collect::<Vec<_>>(),
        ["quarantine edit", "held release"]
    );
    assert_eq!((told[0].who.as_str(), told[0].subject.as_str()), ("token ops'; DROP TABLE x", "sha \\u0000"));
    assert!(told[0].at >= told[1].at && told[0].at.ends_with('Z'), "{told:?}");
    assert_eq!(connection.actions(1).await.unwrap().len(), 1);
}

pub(crate) async fn without_tables_there_is_nothing_to_look_at(bench: &mut impl Bench) {
    let mut connection = bench.connect_to_look().await;
    assert_eq!(connection.batches_page(&BatchFilter::default(), 9).await.unwrap(), []);
    assert_eq!(connection.batches_of_run(run_id(1), 9).await.unwrap(), []);
    assert_eq!(connection.batches_about(run_id(1), 9).await.unwrap(), []);
    assert_eq!(connection.figures(Span { from: 0, to: 1 }).await.unwrap(), []);
    assert_eq!(connection.backlog().await.unwrap(), []);
    assert_eq!(connection.actions(9).await.unwrap(), []);
}

fn dialect<B: Bench>(_: &B) -> Dialect {
    B::DIALECT
}

fn inbox<B: Bench>(_: &B) -> &'static str {
    B::DIALECT.inbox()
}
