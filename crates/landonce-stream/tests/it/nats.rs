//! NATS JetStream as a source: C37 (the place moves with the rows), H2 (a consumer that dies gets it again, and nothing doubles), and
//! what a message becomes.

use landonce::Store;
use landonce::position::Part;
use landonce_testkit::dump::sqlite;
use landonce_testkit::nats::Server;
use landonce_testkit::postgres;

use crate::jetstream::{Worker, events, orders, pipeline, positions, publish, stands, until_end};

#[tokio::test(flavor = "multi_thread")]
async fn parts_land_to_their_end_and_a_second_pass_changes_nothing() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    for round in 0..5 {
        for part in ["eu", "us", "asia.jp"] {
            publish(&context, events(part, round * 100..round * 100 + 100)).await;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let store = Store::open(&format!("sqlite:{}", path.display())).unwrap();
    let pipeline = pipeline(&server, "    parts: [orders.eu, orders.us, 'orders.asia.>']\n");

    let tally = until_end(&pipeline, &store).await.unwrap();
    assert_eq!((tally.messages, tally.outcome.read, tally.fenced), (1500, 1500, 0));
    let first = sqlite(&path).without_tables(&["landonce_position", "landonce_inbox", "landonce_ledger"]);
    assert_eq!(first.rows("orders"), Some(750));
    let want = [("orders.asia.>", "1501"), ("orders.eu", "1301"), ("orders.us", "1401")];
    stands(&store, &want.map(|(part, next)| (part, next))).await;

    // Nothing is left; and from the beginning again, nothing changes.
    assert_eq!(until_end(&pipeline, &store).await.unwrap().messages, 0);
    for (part, _) in positions(&store).await {
        let part = Part { pipeline: "orders".into(), source: "nats ORDERS".into(), part };
        store.put_position(&part, None, "a test").await.unwrap();
    }
    let again = until_end(&pipeline, &store).await.unwrap();
    assert_eq!(again.messages, 1500);
    let later = sqlite(&path).without_tables(&["landonce_position", "landonce_inbox", "landonce_ledger"]);
    let last: Vec<_> = positions(&store).await.into_iter().filter_map(|(_, next)| next).collect();
    assert_eq!(last, want.map(|(_, next)| next));
    first.assert_same(&later);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_is_waited_for_and_nothing_is_left_out() {
    let mut server = Server::start();
    let context = orders(&server, |config| config).await;
    publish(&context, events("eu", 0..1000)).await;
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let pipeline = pipeline(&server, "");
    let worker = Worker::start(&pipeline, &store);
    stands(&store, &[("", "1001")]).await;
    server.restart();
    // The client that publishes connects again, too.
    let context = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
    publish(&context, events("us", 0..1000)).await;
    stands(&store, &[("", "2001")]).await;
    let tally = worker.stop().await.unwrap();
    assert_eq!((tally.messages, tally.outcome.read), (2000, 2000));
    let client = database.client().await;
    let row = client.query_one("SELECT count(*), sum(v)::bigint FROM orders", &[]).await.unwrap();
    // The last one of each id: the odd numbers up to 999, twice.
    assert_eq!((row.get::<_, i64>(0), row.get::<_, Option<i64>>(1)), (1000, Some(500_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_comes_with_its_subject_its_headers_and_its_time() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Trace", "t-1");
    context
        .publish_with_headers("orders.eu.paid", headers, "{\"id\":\"1\",\"v\":1}".into())
        .await
        .unwrap()
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let store = Store::open(&format!("sqlite:{}", path.display())).unwrap();
    let yaml = format!(
        "pipeline: orders\nidentity: [id]\ntarget: {{table: orders, columns: {{subject: text, n: integer, trace: text, part: text}}}}\nsource:\n  \
         message: {{fields: {{subject: topic, n: offset, trace: {{header: trace}}, part: partition}}}}\n  \
         nats: {{servers: ['{}'], stream: ORDERS, parts: ['orders.eu.*']}}\n",
        server.url()
    );
    let pipeline = landonce::Pipeline::from_yaml(&yaml).unwrap();
    until_end(&pipeline, &store).await.unwrap();
    let shown = format!("{:?}", sqlite(&path));
    for want in ["orders.eu.paid", "t-1", "orders.eu.*"] {
        assert!(shown.contains(want), "{want}: {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_s_puts_and_deletes_are_its_rows() {
    let server = Server::start();
    let context = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
    // A bucket of the key-value store is a stream, and its operations are messages.
    let config = async_nats::jetstream::stream::Config {
        name: "KV_users".into(),
        subjects: vec!["$KV.users.>".into()],
        max_messages_per_subject: 1,
        ..Default::default()
    };
    context.create_stream(config).await.unwrap();
    let put = |key: &str, v: u64| (format!("$KV.users.{key}"), format!("{{\"v\":{v}}}"));
    publish(&context, [put("a", 1), put("b", 1), put("a", 2), put("c.d", 1)]).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.db");
    let store = Store::open(&format!("sqlite:{}", path.display())).unwrap();
    let yaml = format!(
        "pipeline: users\nidentity: [name]\ntarget: {{table: users, columns: {{name: text, v: integer}}}}\nsource:\n  \
         message: {{key: {{as: text, field: name}}}}\n  nats: {{servers: ['{}'], stream: KV_users}}\n",
        server.url()
    );
    let pipeline = landonce::Pipeline::from_yaml(&yaml).unwrap();
    until_end(&pipeline, &store).await.unwrap();
    assert_eq!(sqlite(&path).rows("users"), Some(3));
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("KV-Operation", "DEL");
    context.publish_with_headers("$KV.users.b", headers, "".into()).await.unwrap().await.unwrap();
    // What the bucket has dropped for newer values is nothing that is lost.
    publish(&context, (0..20).map(|v| put("a", v))).await;
    let tally = until_end(&pipeline, &store).await.unwrap();
    assert_eq!(tally.outcome.removed + tally.outcome.deleted, 1, "{tally:?}");
    assert_eq!(sqlite(&path).rows("users"), Some(2));
}
