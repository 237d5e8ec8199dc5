//! Sends webhooks, as many as a server takes or at a fixed rate, and tells what became of them.
//!
//! ```text
//! load_hooks load URL [--seconds 10] [--connections 64] [--rate N] [--again SHARE] [--prefix evt] [--window SECONDS]
//! load_hooks replay URL github|stripe < DELIVERIES.ndjson
//! ```
//!
//! `load` signs events by Standard Webhooks with the secret in LOAD_SECRET, over connections that are kept. Each id is new, but for a
//! share of events that are sent again under their id. With `--rate`, a latency counts from the moment at which the event was due, so
//! that a server that stalls can't hide it. It prints a JSON object at the end, and one each window.
//!
//! `replay` posts each recorded delivery twice, out of order, on eight connections (Stripe's signed anew with its test secret, since their
//! time is over), and prints the answers by their number.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for a terminal")]

mod figures;
mod replay;
mod wire;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use figures::Figures;
use landonce_core::webhook::{ID, SIGNATURE, Secret, TIMESTAMP, sign};
use wire::Wire;

struct Load {
    url: wire::Place,
    connections: u32,
    length: Duration,
    /// Events a second, over all connections.
    rate: Option<f64>,
    again: f64,
    prefix: String,
    window: Option<Duration>,
    secret: Secret,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["load", url, options @ ..] => load(Arc::new(Load::new(url, options))).await,
        ["replay", url, sender] => replay::replay(url, sender).await,
        _ => println!("load_hooks load URL [options], or load_hooks replay URL github|stripe"),
    }
}

impl Load {
    fn new(url: &str, options: &[&str]) -> Self {
        let option = |name: &str| {
            options.iter().position(|has| *has == name).map(|at| options[at + 1].parse::<f64>().unwrap())
        };
        let prefix = options.iter().position(|has| *has == "--prefix").map_or("evt", |at| options[at + 1]);
        Self {
            url: wire::Place::of(url),
            connections: option("--connections").map_or(64, |count| count as u32),
            length: Duration::from_secs_f64(option("--seconds").unwrap_or(10.0)),
            rate: option("--rate"),
            again: option("--again").unwrap_or(0.0),
            prefix: prefix.to_owned(),
            window: option("--window").map(Duration::from_secs_f64),
            secret: Secret::parse(&std::env::var("LOAD_SECRET").unwrap()).unwrap(),
        }
    }
}

async fn load(load: Arc<Load>) {
    let started = Instant::now();
    let all = Arc::new(Mutex::new(Figures::default()));
    let window = Arc::new(Mutex::new(Figures::default()));
    let senders: Vec<_> = (0..load.connections)
        .map(|at| tokio::spawn(send(Arc::clone(&load), at, started, [Arc::clone(&all), Arc::clone(&window)])))
        .collect();
    if let Some(every) = load.window {
        let mut ticks = tokio::time::interval_at((started + every).into(), every);
        while started.elapsed() + every <= load.length {
            ticks.tick().await;
            println!("{}", std::mem::take(&mut *window.lock().unwrap()).told(every));
        }
    }
    for sender in senders {
        sender.await.unwrap();
    }
    println!("{}", all.lock().unwrap().told(started.elapsed()));
}

/// One connection's events.
async fn send(load: Arc<Load>, connection: u32, started: Instant, figures: [Arc<Mutex<Figures>>; 2]) {
    let mut wire = Wire::new(load.url.clone());
    let every = load.rate.map(|rate| Duration::from_secs_f64(f64::from(load.connections) / rate));
    let mut repeats = 0.0;
    for number in 0_u32.. {
        // The connections' moments are spread over the interval.
        let due = match every {
            Some(every) => started + every * connection / load.connections + every * number,
            None => Instant::now(),
        };
        if due.duration_since(started) >= load.length {
            return;
        }
        if started.elapsed() >= load.length {
            // It fell behind for good: what was due and not sent is told.
            let Some(every) = every else { return };
            let behind = load.length.saturating_sub(due.duration_since(started)).div_duration_f64(every);
            figures[0].lock().unwrap().miss(behind);
            return;
        }
        if every.is_some() {
            tokio::time::sleep_until(due.into()).await;
        }
        let id = format!("{}_{connection}_{number}", load.prefix);
        let status = post(&mut wire, &load, &id, connection, number).await;
        tell(&figures, due, &status, wire::PROCESSED);
        repeats += load.again;
        if repeats >= 1.0 {
            repeats -= 1.0;
            let at = Instant::now();
            let status = post(&mut wire, &load, &id, connection, number).await;
            tell(&figures, at, &status, wire::DUPLICATE);
        }
    }
}

fn tell(figures: &[Arc<Mutex<Figures>>; 2], due: Instant, status: &str, wanted: &str) {
    let took = due.elapsed();
    for figures in figures {
        figures.lock().unwrap().add(took, status, wanted);
    }
}

async fn post(wire: &mut Wire, load: &Load, id: &str, connection: u32, number: u32) -> String {
    let customer = (connection * 31 + number * 17) % 10_000 + 1;
    let body = format!(
        "{{\"type\":\"payment.succeeded\",\"customer_id\":{customer},\"amount\":{},\"currency\":\"EUR\",\"method\":{{\"kind\":\"card\",\
         \"brand\":\"visa\",\"last4\":\"4242\"}},\"note\":\"order {number} of connection {connection}, paid at once\"}}",
        number % 10_000 + 1,
    );
    let at = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
    let signature = sign(std::slice::from_ref(&load.secret), id, at, body.as_bytes());
    let at = at.to_string();
    let headers =
        [("content-type", "application/json"), (ID, id), (TIMESTAMP, &at), (SIGNATURE, signature.as_str())];
    wire.post(&headers, body.as_bytes()).await
}
