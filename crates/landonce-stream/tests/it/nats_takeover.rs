//! Two workers with the same parts: C37 and C38 (whoever was taken over lands nothing any more), and that they don't take a part from
//! each other for ever.

use landonce::Store;
use landonce_stream::nats::Nats;
use landonce_testkit::nats::Server;
use landonce_testkit::{postgres, wait};

use crate::jetstream::{Worker, events, orders, pipeline, publish, stands};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_lost_its_part_stands_by_and_goes_on_when_the_other_one_is_silent() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let pipeline = pipeline(&server, "    stand_by_s: 2\n");
    let epoch = async || store.positions(None).await.unwrap().first().map(|one| one.epoch);

    let one = Worker::start(&pipeline, &store);
    publish(&context, events("eu", 0..100)).await;
    stands(&store, &[("", "101")]).await;
    assert_eq!(epoch().await, Some(1));
    let other = Worker::start(&pipeline, &store);
    wait::until(30, "the other one's epoch", async || (epoch().await == Some(2)).then_some(())).await;
    // Both read what comes now; one of them lands it.
    publish(&context, events("eu", 100..200)).await;
    stands(&store, &[("", "201")]).await;
    publish(&context, events("eu", 200..300)).await;
    stands(&store, &[("", "301")]).await;
    assert_eq!(epoch().await, Some(2), "the one that lost it hasn't taken it back");

    // The other one ends; what comes then waits for the one that stands by.
    let landed = other.stop().await.unwrap();
    assert_eq!(landed.messages, 200);
    publish(&context, events("eu", 300..400)).await;
    stands(&store, &[("", "401")]).await;
    assert_eq!(epoch().await, Some(3));
    let tally = one.stop().await.unwrap();
    assert_eq!((tally.messages, tally.fenced), (200, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_divide_the_parts_as_they_are_told() {
    let server = Server::start();
    let context = orders(&server, |config| config).await;
    let database = postgres::database().await;
    let store = Store::open(&database.url()).unwrap();
    let pipeline = pipeline(&server, "    parts: [orders.eu, orders.us]\n");
    let of = |part: &str| Worker::of(Nats::open(&pipeline, &[part.to_owned()]).unwrap(), &pipeline, &store);
    let (eu, us) = (of("orders.eu"), of("orders.us"));
    publish(&context, events("eu", 0..300)).await;
    publish(&context, events("us", 0..200)).await;
    stands(&store, &[("orders.eu", "301"), ("orders.us", "501")]).await;
    let (eu, us) = (eu.stop().await.unwrap(), us.stop().await.unwrap());
    assert_eq!((eu.messages, us.messages, eu.fenced + us.fenced), (300, 200, 0));
    let told = Nats::open(&pipeline, &["orders.jp".into()]).unwrap_err().to_string();
    assert!(told.contains("`orders.jp` is none of the parts"), "{told}");
}
