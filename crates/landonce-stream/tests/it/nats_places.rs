//! Where a part is begun at, and what has become of it meanwhile: C39 (a stream made anew is no old one), C40 (nothing is skipped
//! silently).

use std::time::Duration;

use async_nats::jetstream::stream::RetentionPolicy;
use landonce::Store;
use landonce_stream::Error;
use landonce_stream::nats::Nats;
use landonce_testkit::nats::Server;
use tempfile::TempDir;

use crate::jetstream::{Worker, events, orders, pipeline, publish, stands, until_end};

fn store() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&format!("sqlite:{}", folder.path().join("t.db").display())).unwrap();
    (folder, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_made_anew_is_an_error_unless_it_is_declared() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    publish(&context, events("eu", 0..50)).await;
    let (_folder, store) = store();
    let strict = pipeline(&server, "");
    until_end(&strict, &store).await.unwrap();
    context.delete_stream("ORDERS").await.unwrap();
    let context = orders(&server, |config| config).await;
    // Shorter than it was, then longer, with other messages.
    publish(&context, events("us", 0..20)).await;
    let told = until_end(&strict, &store).await.unwrap_err();
    assert!(matches!(told, Error::Recreated(_)) && told.code().as_str() == "L1103", "{told}");
    publish(&context, events("us", 20..80)).await;
    let told = until_end(&strict, &store).await.unwrap_err();
    assert!(told.to_string().contains("another message than the one that was landed stands at 50"), "{told}");
    let tally = until_end(&pipeline(&server, "    on_recreated: earliest\n"), &store).await.unwrap();
    assert_eq!((tally.messages, tally.outcome.inserted), (80, 40));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_made_anew_while_it_is_read_is_told_as_well() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    publish(&context, events("eu", 0..50)).await;
    let (_folder, store) = store();
    let worker = Worker::start(&pipeline(&server, ""), &store);
    stands(&store, &[("", "51")]).await;
    context.delete_stream("ORDERS").await.unwrap();
    let context = orders(&server, |config| config).await;
    publish(&context, events("us", 0..200)).await;
    let told = worker.ended().await.unwrap_err();
    assert!(matches!(told, Error::Recreated(_)), "{told}");
    stands(&store, &[("", "51")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_gone_before_they_landed_are_told() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    publish(&context, events("eu", 0..50)).await;
    let (_folder, store) = store();
    let strict = pipeline(&server, "");
    until_end(&strict, &store).await.unwrap();
    publish(&context, events("eu", 50..100)).await;
    context.get_stream("ORDERS").await.unwrap().purge().sequence(81).await.unwrap();
    let told = until_end(&strict, &store).await.unwrap_err();
    assert!(matches!(told, Error::Lost(_)) && told.to_string().contains("30 numbers are gone"), "{told}");
    stands(&store, &[("", "51")]).await;
    let tally = until_end(&pipeline(&server, "    on_lost: continue\n"), &store).await.unwrap();
    assert_eq!(tally.messages, 20);
    // One that is deleted in the middle is a gap like any other.
    publish(&context, events("eu", 100..110)).await;
    context.get_stream("ORDERS").await.unwrap().delete_message(105).await.unwrap();
    assert_eq!(until_end(&strict, &store).await.unwrap().messages, 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_may_begin_behind_what_is_there() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    publish(&context, events("eu", 0..50)).await;
    let (_folder, store) = store();
    let latest = pipeline(&server, "    start: latest\n");
    assert_eq!(until_end(&latest, &store).await.unwrap().messages, 0);
    stands(&store, &[("", "51")]).await;
    publish(&context, events("eu", 50..60)).await;
    assert_eq!(until_end(&latest, &store).await.unwrap().messages, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_part_moves_on_with_the_numbers_of_the_others() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    publish(&context, events("eu", 0..10)).await;
    let (_folder, store) = store();
    let pipeline = pipeline(&server, "    parts: [orders.eu]\n");
    let source = Nats::open(&pipeline, &[]).unwrap().with_quiet(Duration::ZERO);
    let worker = Worker::of(source, &pipeline, &store);
    stands(&store, &[("orders.eu", "11")]).await;
    publish(&context, events("us", 0..500)).await;
    stands(&store, &[("orders.eu", "511")]).await;
    worker.stop().await.unwrap();
    // What went before that number was nobody's, and what stands there is known again.
    context.get_stream("ORDERS").await.unwrap().purge().sequence(510).await.unwrap();
    publish(&context, events("eu", 10..20)).await;
    assert_eq!(until_end(&pipeline, &store).await.unwrap().messages, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_lets_messages_go_when_acknowledged_is_refused() {
    for retention in [RetentionPolicy::WorkQueue, RetentionPolicy::Interest] {
        let server = Server::start();
        orders(&server, |config| async_nats::jetstream::stream::Config { retention, ..config }).await;
        let (_folder, store) = store();
        let told = until_end(&pipeline(&server, ""), &store).await.unwrap_err();
        assert!(matches!(told, Error::Declared(_)) && told.to_string().contains("limits"), "{told}");
    }
}
