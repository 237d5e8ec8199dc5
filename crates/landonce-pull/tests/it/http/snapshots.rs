//! Absence is concluded from a whole reading only (C32, C33); pages that shift meanwhile are read again.

use std::sync::{Arc, Mutex};

use landonce::{Pipeline, Status};

use super::{CURSOR, Does, Server, by_cursor, duties, duty, list, slice};
use crate::given::{Target, counts, pipeline};

const OFFSET: &str =
    "records: items, total: total, page: {offset: {param: offset, limit: {param: limit, value: 4}}}";

fn snapshot(url: &str, http: &str) -> Pipeline {
    pipeline(&format!(
        "pipeline: roster\nidentity: [duty_id]\ntarget: {{table: roster, columns: {{duty_id: integer, updated_at: timestamptz}}}}\n\
         source:\n  http: {{url: '{url}', {}, {http}}}\nwrite: {{mode: snapshot, absent: retire}}\n",
        super::QUICK
    ))
}

type Rows = Arc<Mutex<Vec<String>>>;

fn offset_page(rows: &[String], offset: usize) -> Does {
    Does::json(format!(r#"{{"total":{},"items":{}}}"#, rows.len(), list(slice(rows, offset, 4))))
}

#[tokio::test]
async fn an_empty_list_after_twelve_rows_is_held_and_a_row_that_left_is_retired() {
    for target in Target::both().await {
        let rows: Rows = Arc::new(Mutex::new(duties(0..12)));
        let given = Arc::clone(&rows);
        let server = Server::start(move |asked, _| super::cursor_page(&given.lock().unwrap(), asked, 5));
        let http = format!("{CURSOR}, total: meta.total");
        let pipeline = snapshot(&server.url("/r"), &http);
        target.fetch(&pipeline).await.unwrap();
        let state = target.state().await;
        // The same again: nothing is written.
        assert_eq!(target.fetch(&pipeline).await.unwrap()[0].status, Status::SkippedDuplicate);
        state.assert_same(&target.state().await);

        rows.lock().unwrap().clear();
        let receipts = target.fetch(&pipeline).await.unwrap();
        assert_eq!(receipts[0].status, Status::Held);
        let fresh = target.like().await;
        let like = Server::start(by_cursor(duties(0..12), 50));
        fresh.fetch(&snapshot(&like.url("/r"), &http)).await.unwrap();
        target.rows_as(&fresh, "roster").await;

        *rows.lock().unwrap() = duties(1..12);
        let receipts = target.fetch(&pipeline).await.unwrap();
        assert_eq!((receipts[0].status, receipts[0].outcome.retired), (Status::Processed, 1));
    }
}

#[tokio::test]
async fn no_row_is_retired_by_a_reading_that_failed() {
    for target in Target::both().await {
        let honest = Server::start(by_cursor(duties(0..12), 5));
        let address = honest.url("/r");
        target.fetch(&snapshot(&address, CURSOR)).await.unwrap();
        let state = target.state().await;
        let rows = duties(0..12);
        let server = Server::start(move |asked, _| match asked.number("cursor") {
            10 => Does::status(500, "oops"),
            _ => super::cursor_page(&rows, asked, 5),
        });
        target.fetch(&snapshot(&server.url("/r"), CURSOR)).await.unwrap_err();
        // That feed is another one by its address, so it has a position of its own, and no rows.
        let (before, after) = (state, target.state().await);
        let position = if target.is_postgres() { "landonce.position" } else { "landonce_position" };
        before.without_tables(&[position]).assert_same(&after.without_tables(&[position]));
    }
}

#[tokio::test]
async fn pages_that_shift_while_they_are_read_are_read_again() {
    let with_total = OFFSET;
    let without = "records: items, page: {offset: {param: offset, limit: {param: limit, value: 4}}}";
    for http in [with_total, without] {
        for target in Target::both().await {
            let rows: Rows = Arc::new(Mutex::new(duties(10..22)));
            let given = Arc::clone(&rows);
            let server = Server::start(move |asked, before| {
                let mut rows = given.lock().unwrap();
                // A row comes in at the front behind the first page: the fifth row comes twice.
                if before == 1 {
                    rows.insert(0, duty(1, "2026-03-01T12:00:00Z"));
                }
                offset_page(&rows, asked.number("offset"))
            });
            let receipts = target.fetch(&snapshot(&server.url("/r"), http)).await.unwrap();
            assert_eq!(counts(&receipts), [13, 13, 0, 0]);
            let fresh = target.like().await;
            let all = rows.lock().unwrap().clone();
            let like = Server::start(by_cursor(all, 50));
            fresh.fetch(&snapshot(&like.url("/r"), CURSOR)).await.unwrap();
            target.rows_as(&fresh, "roster").await;
        }
    }
}

#[tokio::test]
async fn a_row_that_leaves_while_pages_are_read_makes_no_other_vanish() {
    let rows: Rows = Arc::new(Mutex::new(duties(0..12)));
    let given = Arc::clone(&rows);
    let server = Server::start(move |asked, before| {
        let mut rows = given.lock().unwrap();
        // Behind the first page its first row leaves: the fifth is on no page of this reading.
        if before == 1 {
            rows.remove(0);
        }
        offset_page(&rows, asked.number("offset"))
    });
    let target = Target::sqlite();
    let receipts = target.fetch(&snapshot(&server.url("/r"), OFFSET)).await.unwrap();
    assert_eq!(counts(&receipts), [11, 11, 0, 0]);
    assert_eq!(target.rows("SELECT min(duty_id), max(duty_id) FROM roster"), [["1", "11"]]);
}

#[tokio::test]
async fn totals_that_never_agree_are_an_error() {
    let growing = Server::start(|asked, before| {
        let rows = duties(0..8);
        let items = list(slice(&rows, asked.number("offset"), 4));
        Does::json(format!(r#"{{"total":{},"items":{items}}}"#, 100 + before))
    });
    let wrong = Server::start(|asked, _| {
        let rows = duties(0..8);
        Does::json(format!(r#"{{"total":9,"items":{}}}"#, list(slice(&rows, asked.number("offset"), 4))))
    });
    for (server, told) in [(&growing, "went from"), (&wrong, "`total` says 9 records, and 8 were read")] {
        let target = Target::sqlite();
        let error = target.fetch(&snapshot(&server.url("/r"), OFFSET)).await.unwrap_err();
        assert_eq!(error.code().as_str(), "L1124");
        assert!(error.to_string().contains(told), "{error}");
        assert!(!target.has("roster"), "nothing was written");
        assert_eq!(server.asked().len(), 9, "it was read three times");
    }
}

#[tokio::test]
async fn a_period_is_fetched_by_its_address() {
    let server = Server::start(|asked, _| {
        let day = asked.param("day").unwrap();
        Does::json(list(&[duty(day[8..].parse().unwrap(), &format!("{day}T12:00:00Z"))]))
    });
    let pipeline = pipeline(&format!(
        "pipeline: roster\nidentity: [duty_id]\ntarget: {{table: roster, columns: {{duty_id: integer, updated_at: timestamptz}}}}\n\
         source: {{http: {{url: '{}?day={{period.date}}'}}}}\n\
         write: {{mode: overwrite_period, period: {{field: updated_at, every: day, tz: UTC}}}}\n",
        server.url("/r")
    ));
    let target = Target::sqlite();
    let error = target.fetch(&pipeline).await.unwrap_err();
    assert!(error.to_string().contains("--period"), "{error}");
    for day in ["2026-03-01", "2026-03-02", "2026-03-01"] {
        target.fetch(&pipeline.in_period(day).unwrap()).await.unwrap();
    }
    assert_eq!(target.rows("SELECT duty_id FROM roster ORDER BY 1"), [["1"], ["2"]]);
    assert_eq!(
        target.rows("SELECT part FROM landonce_position ORDER BY 1"),
        [["2026-03-01"], ["2026-03-02"]],
        "each period has a position of its own"
    );
}
