//! An HTTP receiver that keeps everything it is sent, checks signatures with the standard's official library, and misbehaves
//! as it is told.
//!
//! It answers each request with the first of these that there is: what [`Receiver::script_for`] has for the request's key, what
//! [`Receiver::script`] has, what [`Setup::plan`] says, and `200`.
//!
//! ```text
//! let receiver = Receiver::start(Setup { secrets: vec![SECRET.into()], ..Setup::of_key("/flight_id") }).await;
//! receiver.script([Reply::status(503).retry_after("2"), Reply::CutAfterHead]);
//! … send to receiver.url() …
//! let got = receiver.wait_for(10, "the third attempt", |got| got.len() == 3).await;
//! assert!(got.iter().all(Received::is_signed));
//! ```

mod connection;
mod reply;
mod tls;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::HeaderMap;
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::wait;

pub use reply::Reply;
pub use tls::Certificates;

type KeyOf = dyn Fn(&Received) -> Option<String> + Send + Sync;
type Plan = dyn Fn(&Received, usize) -> Option<Reply> + Send + Sync;

/// How a receiver is made. By default it speaks plain HTTP, checks no signature and knows no keys.
#[derive(Default)]
pub struct Setup {
    /// `whsec_…`: a request is signed when any of its signatures fits any of them. Empty: nothing is checked.
    pub secrets: Vec<String>,
    /// What a request is about: its change, its entity.
    pub key: Option<Box<KeyOf>>,
    /// What is answered to a request that no script has an answer for; it gets how many of the same id came before.
    pub plan: Option<Box<Plan>>,
    /// Speaks TLS with these.
    pub tls: Option<Certificates>,
}

impl Setup {
    /// The key is what a JSON pointer (`/flight_id`) finds in the body.
    pub fn of_key(pointer: &'static str) -> Self {
        let key = move |received: &Received| {
            let body: serde_json::Value = serde_json::from_slice(&received.body).ok()?;
            Some(match body.pointer(pointer)? {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        };
        Self { key: Some(Box::new(key)), ..Self::default() }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("tls", &self.tls).finish_non_exhaustive()
    }
}

/// A request that has arrived whole.
#[derive(Debug, Clone)]
pub struct Received {
    /// The header `webhook-id`, or `idempotency-key` where there is none.
    pub id: Option<String>,
    /// `POST`, say.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, byte for byte.
    pub body: Bytes,
    /// What it is about, by [`Setup::key`].
    pub key: Option<String>,
    /// What the official library says of the signature; `None` when there are no secrets to check it with.
    pub signature: Option<Result<(), String>>,
    /// What it was answered.
    pub reply: Reply,
}

impl Received {
    /// A signature was checked and fits.
    pub fn is_signed(&self) -> bool {
        self.signature == Some(Ok(()))
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// A running receiver. Dropping it cuts every connection to it.
#[derive(Debug)]
pub struct Receiver {
    url: String,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    setup: Setup,
    webhooks: Vec<Webhook>,
    state: Mutex<State>,
    /// How many have arrived.
    arrived: watch::Sender<usize>,
    /// Counts the calls of [`Receiver::release`].
    releases: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    received: Vec<Received>,
    script: VecDeque<Reply>,
    scripts: BTreeMap<String, VecDeque<Reply>>,
    seen: BTreeMap<String, usize>,
    now: usize,
    most: usize,
    connections: u64,
}

impl Receiver {
    /// Starts one on a free port of 127.0.0.1.
    ///
    /// # Panics
    ///
    /// When there is no free port, or a secret is none.
    pub async fn start(setup: Setup) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port for the receiver");
        let address = listener.local_addr().expect("a bound listener has an address");
        let scheme = if setup.tls.is_some() { "https" } else { "http" };
        let webhooks =
            setup.secrets.iter().map(|secret| Webhook::new(secret).expect("a secret in base64")).collect();
        let shared = Arc::new(Shared {
            setup,
            webhooks,
            state: Mutex::default(),
            arrived: watch::Sender::new(0),
            releases: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(connection::accept(listener, Arc::clone(&shared)));
        Self { url: format!("{scheme}://{address}/"), shared, accepting }
    }

    /// Where it is: `http://127.0.0.1:49152/`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What has arrived so far, in order of arrival.
    pub fn received(&self) -> Vec<Received> {
        self.shared.state().received.clone()
    }

    /// How often each id has arrived.
    pub fn count_by_id(&self) -> BTreeMap<String, usize> {
        self.count(|received| received.id.clone())
    }

    /// How often each key has arrived.
    pub fn count_by_key(&self) -> BTreeMap<String, usize> {
        self.count(|received| received.key.clone())
    }

    fn count(&self, by: impl Fn(&Received) -> Option<String>) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for one in self.shared.state().received.iter().filter_map(by) {
            *counts.entry(one).or_default() += 1;
        }
        counts
    }

    /// The most requests that were under way at once.
    pub fn most_at_once(&self) -> usize {
        self.shared.state().most
    }

    /// How many connections were made to it.
    pub fn connections(&self) -> u64 {
        self.shared.state().connections
    }

    /// Answers the next requests so, one each, whatever they are about.
    pub fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.shared.state().script.extend(replies);
    }

    /// Answers the next requests of a key so, one each.
    pub fn script_for(&self, key: &str, replies: impl IntoIterator<Item = Reply>) {
        self.shared.state().scripts.entry(key.to_owned()).or_default().extend(replies);
    }

    /// Lets every request that hangs now be answered with `200`.
    pub fn release(&self) {
        self.shared.releases.send_modify(|count| *count += 1);
    }

    /// What has arrived, as soon as that fulfils a condition.
    ///
    /// # Panics
    ///
    /// When it doesn't within so many seconds; the message names the caller and `what` was waited for.
    #[track_caller]
    pub fn wait_for(
        &self,
        seconds: u64,
        what: &str,
        is_there: impl Fn(&[Received]) -> bool,
    ) -> impl Future<Output = Vec<Received>> {
        let caller = Location::caller();
        async move {
            self.wait(seconds, what, caller, |state| is_there(&state.received)).await;
            self.received()
        }
    }

    /// As soon as so many requests have arrived, or so many different ids: how many of each have. It costs the same however many
    /// there are.
    ///
    /// # Panics
    ///
    /// As [`wait_for`](Self::wait_for).
    #[track_caller]
    pub fn wait_for_count(
        &self,
        seconds: u64,
        requests: usize,
        ids: usize,
    ) -> impl Future<Output = (usize, usize)> {
        let caller = Location::caller();
        let are_there = move |state: &State| state.received.len() >= requests || state.seen.len() >= ids;
        async move {
            self.wait(seconds, "more requests", caller, are_there).await;
            let state = self.shared.state();
            (state.received.len(), state.seen.len())
        }
    }

    async fn wait(&self, seconds: u64, what: &str, caller: &Location<'_>, is_there: impl Fn(&State) -> bool) {
        let mut arrived = self.shared.arrived.subscribe();
        // The sender lives as long as this receiver: it can't be gone.
        let wanted = arrived.wait_for(|_| is_there(&self.shared.state()));
        let _ = wait::within(seconds, &format!("{what} ({caller})"), wanted).await;
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("setup", &self.setup).finish_non_exhaustive()
    }
}

impl Shared {
    /// Nothing here panics while it holds the lock, except a test's own closure; what it saw is whole even then.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills in what is known of a request, decides the answer, and keeps it.
    fn record(&self, mut received: Received) -> Reply {
        received.key = self.setup.key.as_ref().and_then(|key| key(&received));
        if !self.webhooks.is_empty() {
            let mut verdict = Err(String::new());
            for webhook in &self.webhooks {
                verdict = verdict.or_else(|_| {
                    webhook.verify(&received.body, &received.headers).map_err(|error| error.to_string())
                });
            }
            received.signature = Some(verdict);
        }
        let mut state = self.state();
        let before = received.id.clone().map_or(0, |id| {
            let seen = state.seen.entry(id).or_default();
            *seen += 1;
            *seen - 1
        });
        let of_key = received.key.as_ref().and_then(|key| state.scripts.get_mut(key)?.pop_front());
        let reply = of_key
            .or_else(|| state.script.pop_front())
            .or_else(|| self.setup.plan.as_ref().and_then(|plan| plan(&received, before)))
            .unwrap_or_default();
        received.reply = reply.clone();
        state.received.push(received);
        drop(state);
        self.arrived.send_modify(|count| *count += 1);
        reply
    }
}
