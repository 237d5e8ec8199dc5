//! A stream of JetStream to consume: a real server, messages put into it, and a worker.

use std::time::Duration;

use async_nats::jetstream::{self, Context, stream::Config};
use landonce::{Pipeline, Store};
use landonce_stream::desk::Settings;
use landonce_stream::nats::Nats;
use landonce_stream::{Error, Options, Tally, consume};
use landonce_testkit::nats::Server;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A server with a stream `ORDERS` of `orders.>`, changed as is said.
pub(crate) async fn orders(server: &Server, change: impl FnOnce(Config) -> Config) -> Context {
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let config = Config { name: "ORDERS".into(), subjects: vec!["orders.>".into()], ..Config::default() };
    context.create_stream(change(config)).await.unwrap();
    context
}

/// Puts messages in: a subject and a value each.
pub(crate) async fn publish(context: &Context, messages: impl IntoIterator<Item = (String, String)>) {
    let mut acks = Vec::new();
    for (subject, value) in messages {
        acks.push(context.publish(subject, value.into()).await.unwrap());
        if acks.len() >= 500 {
            for ack in acks.drain(..) {
                ack.await.unwrap();
            }
        }
    }
    for ack in acks {
        ack.await.unwrap();
    }
}

/// Events `numbers` of a part, which are in that part's order: ids that repeat, and a value that tells which is last.
pub(crate) fn events(part: &str, numbers: std::ops::Range<u64>) -> Vec<(String, String)> {
    numbers
        .map(|number| {
            let id = number / 2 * 2;
            (format!("orders.{part}"), format!("{{\"id\":\"{part}-{id}\",\"v\":{number}}}"))
        })
        .collect()
}

/// A pipeline that reads the stream; `more` are further keys of `source.nats`.
pub(crate) fn pipeline(server: &Server, more: &str) -> Pipeline {
    Pipeline::from_yaml(&declared(server, more)).unwrap()
}

/// The text of its file.
pub(crate) fn declared(server: &Server, more: &str) -> String {
    format!(
        "pipeline: orders\nidentity: [id]\ntarget: {{table: orders, columns: {{v: integer}}}}\nsource:\n  batch: {{wait_ms: 20}}\n  nats:\n    \
         servers: ['{}']\n    stream: ORDERS\n{more}",
        server.url()
    )
}

/// Consumes to the end.
pub(crate) async fn until_end(pipeline: &Pipeline, store: &Store) -> Result<Tally, Error> {
    let (_stop, stopped) = watch::channel(false);
    let settings = Settings { until_end: true, ..Settings::default() };
    let options = Options { settings, ..Options::default() };
    let source = Box::new(Nats::open(pipeline, &[])?);
    tokio::time::timeout(Duration::from_mins(1), consume(pipeline, store, source, options, stopped))
        .await
        .expect("an end within a minute")
}

/// A worker that goes on until it is stopped.
pub(crate) struct Worker {
    stop: watch::Sender<bool>,
    ended: JoinHandle<Result<Tally, Error>>,
}

impl Worker {
    pub(crate) fn start(pipeline: &Pipeline, store: &Store) -> Self {
        Self::of(Nats::open(pipeline, &[]).unwrap(), pipeline, store)
    }

    pub(crate) fn of(source: Nats, pipeline: &Pipeline, store: &Store) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (pipeline, store) = (pipeline.clone(), store.clone());
        let ended = tokio::spawn(async move {
            consume(&pipeline, &store, Box::new(source), Options::default(), stopped).await
        });
        Self { stop, ended }
    }

    pub(crate) async fn stop(self) -> Result<Tally, Error> {
        self.stop.send_replace(true);
        self.ended().await
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(self) -> Result<Tally, Error> {
        tokio::time::timeout(Duration::from_mins(1), self.ended)
            .await
            .expect("an end within a minute")
            .unwrap()
    }
}

/// Where each part stands: its name, and where to go on; by name.
pub(crate) async fn positions(store: &Store) -> Vec<(String, Option<String>)> {
    let all = store.positions(None).await.unwrap();
    let mut all: Vec<_> = all.into_iter().map(|one| (one.part.part, one.next)).collect();
    all.sort();
    all
}

/// Waits until parts stand there.
pub(crate) async fn stands(store: &Store, want: &[(&str, &str)]) {
    let want: Vec<_> =
        want.iter().map(|(part, next)| ((*part).to_owned(), Some((*next).to_owned()))).collect();
    let what = format!("positions {want:?}");
    landonce_testkit::wait::until(60, &what, async || (positions(store).await == want).then_some(())).await;
}
