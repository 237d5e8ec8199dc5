//! A feed that is read again lands what has come since, once (C37, C38), and nothing where nothing has (J2).

use std::sync::{Arc, Mutex};

use super::{Asked, CURSOR, Does, Server, by_cursor, duties, duty, list, roster, slice};
use crate::given::{Target, counts};

const SINCE: &str =
    "since: {param: updated_since, field: updated_at, overlap: 1m, start: '2026-01-01T00:00:00Z'}";

/// An API whose rows a test changes: it gives those that were updated at the time asked for or later, in no order, page by page.
#[derive(Clone, Default)]
struct Api(Arc<Mutex<Vec<(usize, String)>>>);

impl Api {
    fn put(&self, id: usize, updated_at: &str) {
        let mut rows = self.0.lock().unwrap();
        rows.retain(|(has, _)| *has != id);
        rows.push((id, updated_at.to_owned()));
    }

    fn server(&self, size: usize) -> Server {
        let api = self.clone();
        Server::start(move |asked, _| api.page(asked, size))
    }

    fn page(&self, asked: &Asked, size: usize) -> Does {
        let since = asked.param("updated_since").unwrap_or_default();
        let rows = self.0.lock().unwrap();
        let rows: Vec<String> =
            rows.iter().filter(|(_, at)| *at >= since).map(|(id, at)| duty(*id, at)).collect();
        let offset = asked.number("cursor");
        let next = offset + size;
        let next = if next < rows.len() { next.to_string() } else { "null".into() };
        Does::json(format!(
            r#"{{"data":{{"items":{}}},"meta":{{"next":{next}}}}}"#,
            list(slice(&rows, offset, size))
        ))
    }
}

#[tokio::test]
async fn a_second_run_of_unchanged_pages_changes_nothing_anywhere() {
    let api = Api::default();
    for id in 0..25 {
        api.put(id, &format!("2026-03-01T12:00:{:02}Z", (id * 7) % 60));
    }
    let server = api.server(100);
    let incremental = roster(&server.url("/r"), &format!("{CURSOR}, {SINCE}"), "");
    let plain = Server::start(by_cursor(duties(0..25), 100));
    let all = roster(&plain.url("/r"), CURSOR, "");
    for pipeline in [incremental, all] {
        for target in Target::both().await {
            assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [25, 25, 0, 0]);
            // The first run again reads the overlap only, which is another payload; from then on nothing is new.
            target.fetch(&pipeline).await.unwrap();
            let state = target.state().await;
            let receipts = target.fetch(&pipeline).await.unwrap();
            assert_eq!(counts(&receipts), [0, 0, 0, 0], "skipped as a duplicate");
            state.assert_same(&target.state().await);
        }
    }
    let since: Vec<_> = server.asked().iter().filter_map(|asked| asked.param("updated_since")).collect();
    let (start, less) = ("2026-01-01T00:00:00Z", "2026-03-01T11:59:59Z");
    assert_eq!(since, [start, less, less, start, less, less], "of two targets, three runs each");
}

/// So many seconds from now, as an API writes it.
fn from_now(seconds: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let mut text = String::new();
    landonce_core::time::write_timestamptz((now.as_secs() as i64 + seconds) * 1_000_000, &mut text);
    text
}

#[tokio::test]
async fn a_record_with_a_time_that_is_to_come_does_not_keep_the_others_out() {
    for target in Target::both().await {
        let api = Api::default();
        api.put(1, "2026-03-01T12:00:00Z");
        api.put(2, "2999-01-01T00:00:00Z");
        let server = api.server(10);
        let pipeline = roster(&server.url("/r"), &format!("{CURSOR}, {SINCE}"), "");
        assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [2, 2, 0, 0]);
        api.put(3, &from_now(0));
        assert_eq!(counts(&target.fetch(&pipeline).await.unwrap())[1], 1);
    }
}

#[tokio::test]
async fn a_row_that_changes_behind_the_reading_comes_with_the_next_run() {
    for target in Target::both().await {
        let api = Api::default();
        for id in 1..=20 {
            api.put(id, "2026-03-01T12:00:00Z");
        }
        // Behind the first page: a row of it changes, and one of the last page changes later, past the overlap.
        let (inner, moved) = (api.clone(), Arc::new(Mutex::new(false)));
        let by_id = move |asked: &Asked, _: usize| {
            inner.0.lock().unwrap().sort();
            let answer = inner.page(asked, 5);
            if asked.number("cursor") == 0 && !std::mem::replace(&mut *moved.lock().unwrap(), true) {
                inner.put(2, &from_now(10));
                inner.put(20, &from_now(3_600));
                inner.0.lock().unwrap().sort();
            }
            answer
        };
        let server = Server::start(by_id);
        let pipeline = roster(&server.url("/r"), &format!("{CURSOR}, {SINCE}"), "");
        assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [20, 20, 0, 0]);
        assert_eq!(
            counts(&target.fetch(&pipeline).await.unwrap())[2],
            1,
            "the row behind the reading is updated"
        );
    }
}

#[tokio::test]
async fn a_row_committed_with_the_maximum_just_read_is_in_by_the_next_run_once() {
    for target in Target::both().await {
        let api = Api::default();
        api.put(1, "2026-03-01T12:00:00Z");
        api.put(2, "2026-03-01T12:00:05Z");
        let server = api.server(10);
        let pipeline = roster(&server.url("/r"), &format!("{CURSOR}, {SINCE}"), "");
        target.fetch(&pipeline).await.unwrap();
        // One at the very maximum, and one whose transaction began before it and was committed after it.
        api.put(3, "2026-03-01T12:00:05Z");
        api.put(4, "2026-03-01T11:59:10Z");
        let receipts = target.fetch(&pipeline).await.unwrap();
        assert_eq!(counts(&receipts), [4, 2, 0, 2]);
        let like = Server::start(by_cursor(
            [(1, "12:00:00"), (2, "12:00:05"), (3, "12:00:05"), (4, "11:59:10")]
                .map(|(id, at)| duty(id, &format!("2026-03-01T{at}Z")))
                .to_vec(),
            10,
        ));
        let fresh = target.like().await;
        fresh.fetch(&roster(&like.url("/r"), CURSOR, "")).await.unwrap();
        target.rows_as(&fresh, "roster").await;
    }
}

#[tokio::test]
async fn a_page_that_ends_inside_a_second_loses_none_of_it_also_when_the_run_stops_there() {
    let api = Api::default();
    for id in 0..12 {
        api.put(id, "2026-03-01T12:00:00Z");
    }
    let server = api.server(5);
    let pipeline = roster(&server.url("/r"), &format!("{CURSOR}, {SINCE}"), "  batch: {records: 5}\n");
    for target in Target::both().await {
        // It stops behind the first page, in the middle of the second.
        assert_eq!(counts(&target.fetch_until(&pipeline, 1).await.unwrap()), [5, 5, 0, 0]);
        assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [7, 7, 0, 0], "it went on behind it");
        let fresh = target.like().await;
        let like = Server::start(by_cursor(duties(0..12), 100));
        fresh.fetch(&roster(&like.url("/r"), CURSOR, "")).await.unwrap();
        target.rows_as(&fresh, "roster").await;
    }
}

#[tokio::test]
async fn the_position_moves_only_when_all_has_landed_and_never_back() {
    let api = Api::default();
    // The highest comes first: a position that moved with it would pass over the others.
    api.put(0, "2026-03-09T12:00:00Z");
    for id in 1..12 {
        api.put(id, &format!("2026-03-01T12:00:{id:02}Z"));
    }
    let server = api.server(4);
    let by_offset = "page: {offset: {param: cursor}}, records: data.items";
    for paging in [CURSOR, by_offset] {
        let pipeline = roster(&server.url("/r"), &format!("{paging}, {SINCE}"), "  batch: {records: 4}\n");
        let target = Target::sqlite();
        target.fetch_until(&pipeline, 1).await.unwrap();
        target.fetch(&pipeline).await.unwrap();
        assert_eq!(target.rows("SELECT count(*) FROM roster"), [["12"]]);
        assert_eq!(
            target.rows("SELECT next FROM landonce_position"),
            [[r#"{"since":"2026-03-09T12:00:00Z"}"#]]
        );
    }
    // Nothing but an old row: the position stays.
    let target = Target::sqlite();
    let pipeline = roster(&server.url("/r"), &format!("{CURSOR}, {SINCE}"), "");
    target.fetch(&pipeline).await.unwrap();
    api.put(0, "2026-03-09T11:59:30Z");
    target.fetch(&pipeline).await.unwrap();
    assert_eq!(target.rows("SELECT next FROM landonce_position"), [[r#"{"since":"2026-03-09T12:00:00Z"}"#]]);
}

#[tokio::test]
async fn a_cursor_that_has_expired_begins_anew() {
    let rows = duties(0..20);
    let is_gone = Arc::new(Mutex::new(false));
    let gone = Arc::clone(&is_gone);
    let server = Server::start(move |asked, _| {
        if asked.number("cursor") == 10 && std::mem::take(&mut *gone.lock().unwrap()) {
            return Does::status(410, "this cursor has expired");
        }
        super::cursor_page(&rows, asked, 5)
    });
    let pipeline = roster(&server.url("/r"), CURSOR, "  batch: {records: 5}\n");
    let target = Target::sqlite();
    target.fetch_until(&pipeline, 2).await.unwrap();
    *is_gone.lock().unwrap() = true;
    assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [20, 10, 0, 10]);
}

#[tokio::test]
async fn content_that_comes_back_lands_again() {
    let body = Arc::new(Mutex::new(String::new()));
    let given = Arc::clone(&body);
    let server = Server::start(move |_, _| Does::json(given.lock().unwrap().clone()));
    let pipeline = roster(&server.url("/r"), "", "");
    let row =
        |hours: &str| format!(r#"[{{"duty_id":1,"hours":{hours},"updated_at":"2026-03-01T00:00:00Z"}}]"#);
    for target in Target::both().await {
        // A → A → B → A: the last one is the bytes of the first, and no duplicate of it.
        for (hours, expected) in
            [("1", [1, 1, 0, 0]), ("1", [0, 0, 0, 0]), ("2", [1, 0, 1, 0]), ("1", [1, 0, 1, 0])]
        {
            *body.lock().unwrap() = row(hours);
            assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), expected, "{hours}");
        }
    }
}

#[tokio::test]
async fn what_is_as_it_was_is_not_sent_again() {
    let rows = duties(0..3);
    let server = Server::start(move |asked, _| match asked.header("if-none-match") {
        Some("\"v1\"") => Does::status(304, ""),
        _ => Does::json(list(&rows)).with("etag", "\"v1\""),
    });
    for target in Target::both().await {
        let pipeline = roster(&server.url("/r"), "", "");
        assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [3, 3, 0, 0]);
        let state = target.state().await;
        assert!(target.fetch(&pipeline).await.unwrap().is_empty());
        state.assert_same(&target.state().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_taken_over_lands_nothing_more() {
    let server = Server::start(by_cursor(duties(0..20), 5));
    let pipeline = roster(&server.url("/r"), CURSOR, "  batch: {records: 5}\n");
    for target in Target::both().await {
        let error = target.fetch_overtaken(&pipeline).await.unwrap_err();
        assert_eq!(error.code().as_str(), "L0504", "{error}");
        let fresh = target.like().await;
        fresh.fetch(&pipeline).await.unwrap();
        target.rows_as(&fresh, "roster").await;
    }
}
