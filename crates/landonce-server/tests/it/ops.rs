//! What machines that watch are told.

use landonce::Code;
use landonce_testkit::postgres;
use landonce_testkit::proxy::{Fault, Proxy};

use crate::served::{ORDERS, Server, orders};

#[tokio::test]
async fn figures_say_what_was_done() {
    let server = Server::sqlite("", &[ORDERS]).await;
    server.deliver("a", orders(3)).await;
    server.deliver("a", orders(3)).await;
    server.deliver("b", "{\"version\":1}\n").await;
    let figures = server.get("/metrics").await;
    assert!(figures.header("content-type").starts_with("text/plain"));
    for line in [
        "landonce_batches_total{pipeline=\"orders\",status=\"processed\"} 1",
        "landonce_batches_total{pipeline=\"orders\",status=\"skipped_duplicate\"} 1",
        "landonce_batches_failed_total{pipeline=\"orders\",code=\"L0401\"} 1",
        "landonce_records_total{pipeline=\"orders\",outcome=\"inserted\"} 3",
        "landonce_http_requests_total{method=\"POST\",route=\"/v1/pipelines/{name}/batches\",status=\"200\"} 2",
        "landonce_http_problems_total{code=\"L0401\"} 1",
        "landonce_http_requests_in_flight 1",
        "landonce_http_connections 1",
        "landonce_store_up 1",
        "landonce_build_info{version=",
        "landonce_http_request_duration_seconds_bucket{",
        "landonce_batch_duration_seconds_count{pipeline=\"orders\"} 2",
        "landonce_held_waiting{pipeline=\"orders\"} 0",
    ] {
        assert!(figures.text.contains(line), "{line}\n{}", figures.text);
    }
}

#[tokio::test]
async fn a_server_is_ready_while_its_store_answers() {
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let url = proxy.url().to_owned();
    let server = Server::on(database, &url, "", &[ORDERS]).await;
    assert_eq!(server.get("/readyz").await.status, 200);
    proxy.arm(Fault::CutAtConnect.times(1000));
    let away = server.get("/readyz").await;
    assert_eq!(away.problem(), "503 L0601 same_key");
    assert!(!away.header("retry-after").is_empty());
    assert_eq!(server.get("/livez").await.status, 200, "restarting it would mend nothing");
    assert!(server.get("/metrics").await.text.contains("landonce_store_up 0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_is_a_reason_to_come_again() {
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let url = proxy.url().to_owned();
    let server = Server::on(database, &url, "", &[ORDERS]).await;
    proxy.arm(Fault::CutAtConnect.times(1000));
    let away = server.deliver("k", orders(2)).await;
    assert_eq!(away.problem(), "503 L0601 same_key", "{away:?}");
    assert!(!away.header("retry-after").is_empty());
    assert!(!away.text.contains("password") && !away.text.contains(&url));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_lost_between_us_and_the_database_is_recovered() {
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let url = proxy.url().to_owned();
    let server = Server::on(database, &url, "", &[ORDERS]).await;
    server.deliver("first", orders(1)).await;
    let cut = proxy.arm(Fault::CutAfterCommit);
    let landed = server.deliver("k", orders(3)).await;
    assert_eq!(cut.fired(), 1);
    assert_eq!(
        (landed.field("status").as_str(), landed.field("commit").as_str()),
        ("processed", "recovered")
    );
    assert_eq!(server.rows("orders").await, 3);
}

#[tokio::test]
async fn every_problem_points_at_its_page() {
    let server = Server::sqlite("", &[ORDERS]).await;
    for code in Code::ALL {
        let page = server.get(&format!("/problems/{code}")).await;
        assert!(page.status == 200 && page.text.contains("**What to do**"), "{code}: {page:?}");
    }
    assert_eq!(server.get("/problems/L9999").await.problem(), "404 L1025 stop");
}

#[tokio::test]
async fn a_request_keeps_its_id_and_gets_one_where_it_has_none() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let given = server.send(hyper::Method::GET, "/livez", &[("x-request-id", "a-1")], "").await;
    assert_eq!(given.header("x-request-id"), "a-1");
    for strange in ["a b", "\"<script>\"", &"a".repeat(200)] {
        let made = server.send(hyper::Method::GET, "/livez", &[("x-request-id", strange)], "").await;
        assert_eq!(made.header("x-request-id").len(), 36, "{strange}");
    }
}
