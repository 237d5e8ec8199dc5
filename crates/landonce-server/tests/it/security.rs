//! Who may do what, from where, and what is told to whom.

use axum::http::{HeaderMap, HeaderValue};
use landonce::Store;
use landonce_server::auth::{May, Who};
use landonce_server::config::Token;
use landonce_server::{App, Config};

use crate::served::{ORDERS, Server, orders};

const PATH: &str = "/v1/pipelines/orders/batches";
const OTHER: &str = "pipeline: other\nidentity: [id]\ntarget: {table: other}\n";

/// Tokens for a writer of `orders`, a reader and an operator, and the file that declares them.
fn tokens() -> ([String; 3], String) {
    let made = [(); 3].map(|()| Token::generate());
    let [write, read, operate] = [&made[0].1, &made[1].1, &made[2].1];
    let file = format!(
        "
tokens:
  - {{name: shop, hash: '{write}', may: [write], pipelines: [orders]}}
  - {{name: board, hash: '{read}', may: [read]}}
  - {{name: ann, hash: '{operate}', may: [read, operate]}}
"
    );
    (made.map(|(token, _)| token), file)
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[tokio::test]
async fn tokens_are_good_for_what_the_file_says() {
    let ([shop, board, ann], file) = tokens();
    let server = Server::sqlite(&file, &[ORDERS, OTHER]).await;
    let nobody = server.post(PATH, &[], orders(1)).await;
    assert_eq!(nobody.problem(), "401 L1021 stop");
    assert!(nobody.header("www-authenticate").starts_with("Bearer"));
    for wrong in ["Bearer lo_00", "Bearer ", "Basic YTpi", "lo_00"] {
        let answer = server.post(PATH, &[("authorization", wrong)], orders(1)).await;
        assert_eq!(answer.problem(), "401 L1021 stop", "{wrong}");
    }
    let twice = [("authorization", &*bearer(&shop)), ("authorization", &*bearer(&shop))];
    assert_eq!(server.post(PATH, &twice, orders(1)).await.status, 401);
    for token in [&board, &ann] {
        let answer = server.post(PATH, &[("authorization", &bearer(token))], orders(1)).await;
        assert_eq!(answer.problem(), "403 L1022 stop");
    }
    // Whoever may not isn't told whether there is such a pipeline.
    for other in ["other", "none"] {
        let path = format!("/v1/pipelines/{other}/batches");
        let answer = server.post(&path, &[("authorization", &bearer(&shop))], orders(1)).await;
        assert_eq!(answer.problem(), "403 L1022 stop", "{other}");
    }
    assert_eq!(server.rows("landonce_inbox").await, 0);
    let landed = server.post(PATH, &[("authorization", &bearer(&shop))], orders(1)).await;
    assert_eq!((landed.status, landed.field("source").as_str()), (200, "http: shop.json"), "{landed:?}");

    let list = async |token: &str| {
        let headers = [("authorization", &*bearer(token))];
        server.send(hyper::Method::GET, "/v1/pipelines", &headers, "").await.text
    };
    assert!(list(&shop).await.contains("orders") && !list(&shop).await.contains("other"));
    assert!(list(&board).await.contains("other"));
    let metrics = async |token: &str| {
        let headers = [("authorization", &*bearer(token))];
        server.send(hyper::Method::GET, "/metrics", &headers, "").await.status
    };
    assert_eq!((metrics(&shop).await, metrics(&board).await), (403, 200));
}

#[tokio::test]
async fn a_request_under_a_strange_name_is_misdirected() {
    let server =
        Server::sqlite("hosts: [Ingest.example]\npublic_url: https://data.example:8443", &[ORDERS]).await;
    let status = async |host: &str| {
        server.send(hyper::Method::GET, "/v1/pipelines", &[("host", host)], "").await.status
    };
    for known in [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1:8080",
        "[::1]",
        "ingest.example",
        "data.example:8443",
        "10.0.0.7",
    ] {
        assert_eq!(status(known).await, 200, "{known}");
    }
    for strange in
        ["evil.example", "localhost.evil.example", "ingest.example.evil.example", "evil.example:8080"]
    {
        assert_eq!(status(strange).await, 421, "{strange}");
    }
    assert!(
        server
            .raw("GET /v1/pipelines HTTP/1.1\r\nconnection: close\r\n\r\n")
            .await
            .starts_with("HTTP/1.1 400")
    );
    let twice =
        "GET /v1/pipelines HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(server.raw(twice).await.starts_with("HTTP/1.1 400"));
    let probe = server.send(hyper::Method::GET, "/livez", &[("host", "pod-7.cluster")], "").await;
    assert_eq!(probe.status, 200);
}

#[tokio::test]
async fn another_sites_page_can_not_act_through_a_browser() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let ours = format!("http://{}", server.at);
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let answer = server.post(PATH, &[(name, value)], orders(1)).await;
        assert_eq!(answer.problem(), "403 L1023 stop", "{name}: {value}");
    }
    assert_eq!(server.rows("orders").await, 0);
    let own = server.post(PATH, &[("origin", &ours), ("sec-fetch-site", "same-origin")], orders(1)).await;
    assert_eq!(own.status, 200, "{own:?}");
    let asked = server.send(hyper::Method::OPTIONS, PATH, &[("origin", "https://evil.example")], "").await;
    assert!(!asked.headers.contains_key("access-control-allow-origin"), "{asked:?}");
}

#[tokio::test]
async fn every_answer_keeps_browsers_from_being_turned_against_us() {
    let server = Server::sqlite("public_url: https://data.example", &[ORDERS]).await;
    for path in ["/livez", "/nothing", "/v1/pipelines", "/metrics"] {
        let answer = server.get(path).await;
        assert!(answer.header("content-security-policy").contains("default-src 'self'"), "{path}");
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
        assert!(answer.header("strict-transport-security").starts_with("max-age="));
        assert!(!answer.headers.contains_key("server"));
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn a_browser_logs_in_and_out() {
    let ([_, board, _], file) = tokens();
    let server = Server::sqlite(&file, &[ORDERS]).await;
    let html = [("accept", "text/html")];
    let led = server.send(hyper::Method::GET, "/metrics?a=b", &html, "").await;
    assert_eq!((led.status, led.header("location")), (303, "/login?next=/metrics%3Fa%3Db"));

    let form = [("content-type", "application/x-www-form-urlencoded")];
    let wrong = server.post("/login", &form, "token=lo_00&next=/x").await;
    assert_eq!((wrong.status, wrong.header("location")), (303, "/login?failed=1&next=/x"));
    assert_eq!(wrong.header("set-cookie"), "");
    let empty = server.post("/login", &form, "token=+&next=/x").await;
    assert_eq!((empty.header("location"), empty.header("set-cookie")), ("/login?failed=1&next=/x", ""));
    let away = server.post("/login", &form, format!("token={board}&next=//evil.example")).await;
    assert_eq!(away.header("location"), "/");

    let login = server.post("/login", &form, format!("token={board}&next=/metrics")).await;
    assert_eq!((login.status, login.header("location")), (303, "/metrics"));
    let cookie = login.header("set-cookie").split(';').next().unwrap().to_owned();
    assert!(!cookie.contains(&board));
    let with = [("cookie", cookie.as_str())];
    assert_eq!(server.send(hyper::Method::GET, "/metrics", &with, "").await.status, 200);
    // A session does no more than its token.
    assert_eq!(server.post(PATH, &with, orders(1)).await.problem(), "403 L1022 stop");
    // No secret of the page, no logout.
    let forged = server.post("/logout", &[form[0], with[0]], "csrf=00").await;
    assert_eq!(forged.problem(), "403 L1023 stop");
    assert_eq!(server.send(hyper::Method::GET, "/metrics", &with, "").await.status, 200);
    let elsewhere = [form[0], ("origin", "https://evil.example")];
    assert_eq!(server.post("/login", &elsewhere, format!("token={board}")).await.status, 403);
}

#[tokio::test]
async fn a_form_is_taken_from_its_own_session_only() {
    let ([_, _, ann], file) = tokens();
    let app = |yaml: &str| {
        App::new(Config::parse(yaml).unwrap(), Store::open("sqlite:none.db").unwrap(), Vec::new())
    };
    let from = |headers: &[(&'static str, &str)]| {
        headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect::<HeaderMap>()
    };
    let open = app("{}");
    let nobody = HeaderMap::new();
    let csrf = open.csrf(&nobody);
    assert_eq!(open.check_form(&nobody, csrf.as_str()), Ok(Who { name: "local".to_owned() }));
    assert_eq!(open.check_form(&nobody, "").unwrap_err().code, "L1023");
    assert_eq!(app("{}").check_form(&nobody, csrf.as_str()).unwrap_err().code, "L1023", "another server's");
    let cross = from(&[("host", "localhost:1"), ("origin", "http://evil.example")]);
    assert_eq!(open.check_form(&cross, csrf.as_str()).unwrap_err().code, "L1023");
    let same = from(&[("host", "localhost:1"), ("origin", "http://localhost:1")]);
    assert!(open.check_form(&same, csrf.as_str()).is_ok());

    let closed = app(&file);
    assert_eq!(closed.check_form(&nobody, closed.csrf(&nobody).as_str()).unwrap_err().status, 401);
    let program = from(&[("authorization", &bearer(&ann))]);
    assert_eq!(closed.check_form(&program, ""), Ok(Who { name: "ann".to_owned() }));
    assert!(closed.allow(&program, May::Operate, None).is_ok());
}

#[tokio::test]
async fn sql_and_paths_in_names_are_only_names() {
    let server = Server::sqlite("", &[ORDERS]).await;
    let evil = "'); DROP TABLE orders; --";
    let landed = server.deliver(&format!("\"{evil}\""), orders(1)).await;
    assert_eq!(landed.field("batch_id"), evil, "{landed:?}");
    let asked = server.get("/v1/pipelines/orders/batches/'%29%3B%20DROP%20TABLE%20orders%3B%20--").await;
    assert_eq!(asked.field("batch_id"), evil);
    for path in [
        "/v1/pipelines/%00/batches/a",
        "/v1/pipelines/orders/batches/%00",
        "/problems/..%2F..%2Fetc%2Fpasswd",
    ] {
        assert!((400..500).contains(&server.get(path).await.status), "{path}");
    }
    for path in ["/v1/pipelines/%ff/batches/a", "/%2e%2e/%2e%2e/etc/passwd", "//evil.example/"] {
        let heard =
            server.raw(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")).await;
        assert!(heard.starts_with("HTTP/1.1 4"), "{path}: {heard}");
    }
    assert_eq!(server.rows("orders").await, 1);
}
