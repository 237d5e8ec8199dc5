//! What `scripts/bench-deliver` compares delivery with: a receiver that answers at once, and a bare loop that sends the same signed
//! requests without an outbox.
//!
//! ```text
//! bench_deliver receive             prints its URL; at the end of its input prints how many requests and distinct ids came
//! bench_deliver bare FILE COUNT N   sends COUNT messages to the first destination of a delivery file, N at a time; prints the seconds
//! ```
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for a terminal")]

use std::collections::HashSet;
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use landonce_deliver::Delivery;
use landonce_deliver::destination::Answer;
use landonce_deliver::environment::Environment;
use landonce_store::outbox::Parcel;
use uuid::Uuid;

#[derive(Default)]
struct Seen {
    requests: u64,
    ids: HashSet<String>,
}

async fn receive(
    request: Request<Incoming>,
    seen: Arc<Mutex<Seen>>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let id = request.headers().get("webhook-id").map(|id| id.to_str().unwrap().to_owned());
    let _ = request.into_body().collect().await;
    let mut seen = seen.lock().unwrap();
    seen.requests += 1;
    seen.ids.extend(id);
    let mut response = Response::new(Empty::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

async fn receiver() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}/hook", listener.local_addr().unwrap());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let accepting = {
        let seen = Arc::clone(&seen);
        async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let _ = stream.set_nodelay(true);
                let seen = Arc::clone(&seen);
                let service = service_fn(move |request| receive(request, Arc::clone(&seen)));
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        }
    };
    let ended = tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin()));
    tokio::select! { () = accepting => {}, _ = ended => {} }
    let seen = seen.lock().unwrap();
    println!("{} {}", seen.requests, seen.ids.len());
}

/// The same requests, made by the same code, from messages that lie in memory.
async fn bare(file: &str, count: usize, at_once: usize) {
    let delivery = Delivery::from_file(Path::new(file), Environment::process()).unwrap();
    let destination = delivery.destinations().next().unwrap();
    let parcels: Vec<Parcel> = (0..count).map(parcel).collect();
    let started = Instant::now();
    let taken = futures_util::stream::iter(&parcels)
        .map(|parcel| destination.send(std::slice::from_ref(parcel)))
        .buffer_unordered(at_once)
        .filter(|answers| std::future::ready(matches!(answers[..], [Answer::Taken { .. }])))
        .count()
        .await;
    assert_eq!(taken, count, "every request is answered by 2xx");
    println!("{:.6}", started.elapsed().as_secs_f64());
}

/// As `scripts/bench-deliver` enqueues them.
fn parcel(nth: usize) -> Parcel {
    Parcel {
        id: Uuid::from_u128(nth as u128),
        fence: 1,
        seq: nth as i64,
        topic: "bench".to_owned(),
        lane: Uuid::from_u128(nth as u128),
        entity: format!("{{\"flight_id\":\"B6-{nth}\"}}"),
        kind: "updated".to_owned(),
        payload: format!(
            "{{\"type\":\"bench.updated\",\"entity\":{{\"flight_id\":\"B6-{nth}\"}},\"revision\":2,\"changed\":[\"gate\"],\"old\":{{\"flight_id\":\"B6-{nth}\",\
             \"gate\":\"7\",\"status\":\"scheduled\"}},\"new\":{{\"flight_id\":\"B6-{nth}\",\"gate\":\"9\",\"status\":\"scheduled\"}}}}"
        ),
        attempts: 0,
        age: Duration::ZERO,
    }
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["receive"] => receiver().await,
        ["bare", file, count, at_once] => bare(file, count.parse().unwrap(), at_once.parse().unwrap()).await,
        _ => println!("bench_deliver receive | bare FILE COUNT N"),
    }
}
