//! Every way of paging reads all of it to its end, and only what the API says is an end.

use super::{CURSOR, Does, Server, by_cursor, duties, list, roster, slice};
use crate::given::{Target, counts};

#[tokio::test]
async fn every_way_of_paging_lands_the_same_rows() {
    let rows = duties(0..23);
    let (offsets, numbers, counted, headers, links, records, ndjson) =
        (rows.clone(), rows.clone(), rows.clone(), rows.clone(), rows.clone(), rows.clone(), rows.clone());
    let servers = [
        (CURSOR, "", Server::start(by_cursor(rows.clone(), 5))),
        (
            "page: {offset: {param: offset, limit: {param: limit, value: 10}}}",
            "",
            // It gives fewer than it is asked for, so a short page is no end.
            Server::start(move |asked, _| Does::json(list(slice(&offsets, asked.number("offset"), 5)))),
        ),
        (
            "page: {number: {param: page, size: {param: per_page, value: 5}}}",
            "",
            Server::start(move |asked, _| {
                let size = asked.number("per_page");
                Does::json(list(slice(&numbers, (asked.number("page") - 1) * size, size)))
            }),
        ),
        (
            "records: items, page: {number: {param: page, start: 0, pages: pages}}",
            "",
            Server::start(move |asked, _| {
                let items = list(slice(&counted, asked.number("page") * 6, 6));
                Does::json(format!(r#"{{"pages":4,"items":{items}}}"#))
            }),
        ),
        (
            "page: {link: next}",
            "",
            Server::start(move |asked, _| {
                let from = asked.number("from");
                let page = Does::json(list(slice(&headers, from, 7)));
                if from + 7 < headers.len() {
                    page.with("link", format!("</r?from=0>; rel=first, </r?from={}>; rel=\"next\"", from + 7))
                } else {
                    page.with("link", "</r?from=0>; rel=first")
                }
            }),
        ),
        (
            "records: value, page: {link: {from: 'links[rel=next].href'}}",
            "",
            Server::start(move |asked, _| {
                let from = asked.number("from");
                let more = from + 7 < links.len();
                let next = if more {
                    format!(r#",{{"rel":"next","href":"?from={}"}}"#, from + 7)
                } else {
                    String::new()
                };
                let items = list(slice(&links, from, 7));
                Does::json(format!(r#"{{"links":[{{"rel":"self","href":"x"}}{next}],"value":{items}}}"#))
            }),
        ),
        (
            "records: data, page: {cursor: {param: starting_after, record: duty_id, more: has_more}}",
            "",
            Server::start(move |asked, _| {
                let from = asked.param("starting_after").map_or(0, |id| id.parse::<usize>().unwrap() + 1);
                let more = from + 4 < records.len();
                Does::json(format!(r#"{{"has_more":{more},"data":{}}}"#, list(slice(&records, from, 4))))
            }),
        ),
        ("", "  format: ndjson\n", Server::start(move |_, _| Does::status(200, &ndjson.join("\n")))),
        ("", "", Server::start(move |_, _| Does::json(list(&rows)))),
    ];
    let [like_sqlite, like_postgres] = Target::both().await;
    for (nth, (http, more, server)) in servers.iter().enumerate() {
        let pipeline = roster(&server.url("/r"), http, more);
        let [sqlite, postgres] = Target::both().await;
        for (target, like) in [(&sqlite, &like_sqlite), (&postgres, &like_postgres)] {
            let receipts = target.fetch(&pipeline).await.unwrap_or_else(|error| panic!("{http}: {error}"));
            assert_eq!(counts(&receipts), [23, 23, 0, 0], "{http}");
            if nth == 0 {
                like.fetch(&pipeline).await.unwrap();
            }
            target.rows_as(like, "roster").await;
        }
    }
}

#[tokio::test]
async fn what_is_no_end_is_an_error_and_never_one() {
    let page = |body: &'static str| Server::start(move |_, _| Does::json(body));
    for (http, server, code, told) in [
        (
            "",
            page(r#"{"error":"no such user"}"#),
            "L1123",
            "no list of records; it begins `{\"error\":\"no such user\"}`",
        ),
        (CURSOR, page(r#"{"error":"no such user"}"#), "L1123", "has no `data.items`"),
        (CURSOR, page(r#"{"data":{"items":null},"meta":{"next":null}}"#), "L1123", "`data.items` is no list"),
        (CURSOR, page(r#"{"data":{"items":[]}}"#), "L1123", "no place for `meta.next`"),
        (CURSOR, page(r#"{"data":{"items":[]},"meta":{"next":[1]}}"#), "L1123", "`meta.next` is neither"),
        (CURSOR, page(r#"{"data":{"items":[{"duty_id":1}"#), "L1123", "isn't whole"),
        (CURSOR, page(""), "L1123", "its body is empty"),
        ("", page(""), "L1123", "its body is empty"),
        ("", page("<html>Sign in</html>"), "L1123", "it begins `<html>Sign in</html>`"),
        (
            CURSOR,
            Server::start(|_, _| {
                Does::status(200, "<!doctype html>").with("content-type", "text/html; charset=utf-8")
            }),
            "L1123",
            "a page of HTML: <!doctype html>",
        ),
        ("", Server::start(|_, _| Does::status(204, "")), "L1123", "status 204"),
        (
            "records: items, total: total",
            page(r#"{"items":[],"total":null}"#),
            "L1123",
            "`total` is no number of records",
        ),
        (
            "records: items, page: {cursor: {param: c, from: next, more: more}}",
            page(r#"{"items":[],"more":true}"#),
            "L1123",
            "says that there are more pages, and names no cursor",
        ),
        (
            "since: {param: s, field: changed}",
            page(r#"[{"duty_id":1}]"#),
            "L1123",
            "none of 1 records has a `changed`",
        ),
    ] {
        let target = Target::sqlite();
        let error = target.fetch(&roster(&server.url("/r"), http, "")).await.unwrap_err();
        assert_eq!(error.code().as_str(), code, "{http}: {error}");
        assert!(error.to_string().contains(told), "{http}: {error}");
        assert!(error.to_string().contains(&server.url("/r")), "{error}");
        assert!(!target.has("roster"), "nothing was written");
    }
}

#[tokio::test]
async fn pages_that_lead_round_in_a_circle_are_an_error() {
    let all = list(&duties(0..3));
    let body = all.clone();
    let looping = Server::start(move |asked, _| {
        let (items, next) = match asked.number("cursor") {
            0 => (list(&duties(0..3)), 1),
            1 => (list(&duties(3..6)), 2),
            _ => (list(&duties(6..9)), 1),
        };
        Does::json(format!(r#"{{"data":{{"items":{items}}},"meta":{{"next":{next}}}}}"#))
    });
    // It ignores the parameter, and gives the first page for ever.
    let ignoring = Server::start(move |_, _| Does::json(body.clone()));
    let endless = Server::start(|asked, _| {
        let page = asked.number("page");
        Does::json(list(&duties(page * 2..page * 2 + 2)))
    });
    for (http, server, told) in [
        (CURSOR, &looping, "go round in a circle"),
        ("page: {number: {param: page}}", &ignoring, "the same records as the one before"),
        ("page: {number: {param: page}}, max_pages: 7", &endless, "7 pages have been read"),
    ] {
        let error = Target::sqlite().fetch(&roster(&server.url("/r"), http, "")).await.unwrap_err();
        assert_eq!(error.code().as_str(), "L1124", "{error}");
        assert!(error.to_string().contains(told), "{error}");
    }
    assert_eq!(endless.asked().len(), 7);
}

#[tokio::test]
async fn one_bad_record_of_a_page_is_bad_by_its_number_and_the_others_land() {
    let server = Server::start(|asked, _| match asked.number("cursor") {
        0 => Does::json(format!(
            r#"{{"data":{{"items":[{},{{"duty_id":7,"a":1,"a":2}}]}},"meta":{{"next":1}}}}"#,
            duties(0..1)[0]
        )),
        _ => Does::json(r#"{"data":{"items":[{"duty_id":"x"}]},"meta":{"next":null}}"#),
    });
    let quarantine = "on_bad_record: {quarantine: {max: 90%}}\n";
    for target in Target::both().await {
        let receipts = target.fetch(&roster(&server.url("/r"), CURSOR, quarantine)).await.unwrap();
        let outcome = receipts[0].outcome;
        assert_eq!((outcome.read, outcome.inserted, outcome.quarantined), (3, 1, 2));
        let numbers: Vec<u64> = receipts[0].notes.kept.iter().map(|kept| kept.number).collect();
        assert_eq!(numbers, [2, 3], "they are numbered over all pages");
    }
}
