//! What fails for a passing reason is asked for again (F4, F5), and the target is as if it hadn't.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{CURSOR, Does, Server, by_cursor, cursor_page, duties, list, roster};
use crate::given::{Target, counts};

fn gzip(body: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_source_that_misbehaves_in_every_passing_way_lands_what_an_honest_one_does() {
    let rows = duties(0..50);
    let honest = Server::start(by_cursor(rows.clone(), 10));
    let (targets, honest_targets) = (Target::both().await, Target::both().await);
    for (target, like) in targets.iter().zip(&honest_targets) {
        let rows = rows.clone();
        // Each page fails in its own ways before it comes.
        let server = Server::start(move |asked, before| match before {
            0 => Does::status(429, "slow down").with("retry-after", "0"),
            1 => Does::status(503, "").with("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"),
            3 | 11 => cursor_page(&rows, asked, 10).cut(),
            4 => Does::status(500, "oops"),
            6 => Does::Raw(Vec::new()),
            7 => Does::Raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"dat\r\n".to_vec()),
            8 => Does::status(408, ""),
            10 => {
                let Does::Answer(_, _, body) = cursor_page(&rows, asked, 10) else { panic!("an answer") };
                let zipped = gzip(std::str::from_utf8(&body).unwrap());
                // Its length is right: only the stream's own trailer is missing.
                Does::Answer(200, Vec::new(), zipped[..zipped.len() - 6].to_vec())
                    .with("content-encoding", "gzip")
            }
            _ => cursor_page(&rows, asked, 10),
        });
        let receipts = target.fetch(&roster(&server.url("/roster"), CURSOR, "")).await.unwrap();
        assert_eq!(counts(&receipts), [50, 50, 0, 0]);
        assert_eq!(server.asked().len(), 5 + 9, "every failure was one more request");
        like.fetch(&roster(&honest.url("/roster"), CURSOR, "")).await.unwrap();
        target.rows_as(like, "roster").await;
    }
}

#[tokio::test]
async fn a_silent_source_is_asked_again_and_given_up_in_time() {
    let rows = duties(0..3);
    let server =
        Server::start(move |_, before| if before == 0 { Does::Silent } else { Does::json(list(&rows)) });
    let target = Target::sqlite();
    let pipeline = roster(&server.url("/"), "timeout: 300ms", "");
    assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [3, 3, 0, 0]);

    let server = Server::start(|_, _| Does::Silent);
    let pipeline = roster(&server.url("/"), "timeout: 100ms, deadline: 250ms", "");
    let error = target.fetch(&pipeline).await.unwrap_err();
    assert_eq!(error.code().as_str(), "L1121");
    assert!(error.to_string().contains("no answer within 0.1 s"), "{error}");
}

#[tokio::test]
async fn retry_after_is_kept_to() {
    let rows = duties(0..3);
    let server = Server::start(move |_, before| match before {
        0 => Does::status(429, "").with("retry-after", "1"),
        _ => Does::json(list(&rows)),
    });
    Target::sqlite().fetch(&roster(&server.url("/"), "", "")).await.unwrap();
    let asked = server.asked();
    assert!(asked[1].at - asked[0].at >= Duration::from_secs(1));

    // Longer than the deadline allows: it is given up at once.
    let server = Server::start(|_, _| Does::status(503, "").with("retry-after", "3600"));
    let error = Target::sqlite().fetch(&roster(&server.url("/"), "", "")).await.unwrap_err();
    assert_eq!((server.asked().len(), error.code().as_str()), (1, "L1121"));
    assert!(error.to_string().contains("3600 s"), "{error}");
}

#[tokio::test]
async fn a_source_that_stays_broken_ends_the_run_behind_the_pieces_that_have_landed() {
    let rows = duties(0..30);
    let all = rows.clone();
    let server = Server::start(move |asked, _| match asked.number("cursor") {
        20 => Does::status(502, "bad gateway"),
        _ => cursor_page(&rows, asked, 10),
    });
    for target in Target::both().await {
        let pipeline = roster(&server.url("/"), CURSOR, "  batch: {records: 10}\n");
        let error = target.fetch(&pipeline).await.unwrap_err();
        assert!(error.to_string().contains("status 502: bad gateway; it was asked 4 times"), "{error}");
        let [like_sqlite, like_postgres] = Target::both().await;
        let like = if target.is_postgres() { &like_postgres } else { &like_sqlite };
        let few = Server::start(by_cursor(all[..10].to_vec(), 10));
        like.fetch(&roster(&few.url("/"), CURSOR, "")).await.unwrap();
        target.rows_as(like, "roster").await;
    }
}

#[tokio::test]
async fn the_rate_is_kept_to() {
    let server = Server::start(by_cursor(duties(0..40), 10));
    let pipeline = roster(&server.url("/"), &format!("{CURSOR}, rate: 20/s"), "");
    Target::sqlite().fetch(&pipeline).await.unwrap();
    let asked = server.asked();
    assert_eq!(asked.len(), 4);
    assert!(
        asked[3].at - asked[0].at >= Duration::from_millis(140),
        "three times 50 ms, by the server's clock"
    );
}
