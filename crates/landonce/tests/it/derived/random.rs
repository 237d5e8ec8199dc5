//! Any batches, in any order, by any number of workers, with derives in between: in the end the tables are equal to their
//! queries.

use landonce_testkit::seed;
use rand::RngExt as _;
use rand::rngs::StdRng;

use super::{assert_equal, derive, flight, flights, marks};
use crate::given::{Given, on_every_store};

on_every_store!(any_batches_leave_what_the_queries_give, batches_and_derives_at_once_lose_nothing);

/// A batch of puts and deletes on few rows, days and crews, so that rows move and periods empty.
fn batch(rng: &mut StdRng) -> Vec<String> {
    let line = |rng: &mut StdRng| {
        let id = rng.random_range(0..12_u32);
        if rng.random_bool(0.2) {
            return format!(r#"{{"id":"{id}","op":"d"}}"#);
        }
        let day = format!("2026-0{}-0{}", rng.random_range(3..5_u8), rng.random_range(1..4_u8));
        let crew = ["ann", "bob", "Ünal"][rng.random_range(0..3_usize)];
        flight(&id.to_string(), &day, crew, rng.random_range(1..4))
    };
    let len = rng.random_range(1..8);
    (0..len).map(|_| line(rng)).collect()
}

async fn any_batches_leave_what_the_queries_give(given: Given) {
    let mut rng = seed::rng();
    let pipeline = flights();
    for nth in 0..40 {
        let lines = batch(&mut rng);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        given.deliver_as(&pipeline, &nth.to_string(), &lines).await.unwrap();
        if rng.random_bool(0.4) {
            derive(&given, &pipeline).await;
            assert!(marks(&given).await.is_empty());
            assert_equal(&given, &pipeline).await;
        }
    }
    derive(&given, &pipeline).await;
    assert_equal(&given, &pipeline).await;
    let sum = "SELECT coalesce(sum(minutes), 0) FROM";
    let of_base = given.column(&format!("{sum} flight")).await;
    assert_eq!(of_base, given.column(&format!("{sum} crew_day")).await);
    assert_eq!(of_base, given.column(&format!("{sum} crew_month")).await);
}

async fn batches_and_derives_at_once_lose_nothing(given: Given) {
    let mut rng = seed::rng();
    let pipeline = flights();
    given.store.set_up(&pipeline).await.unwrap();
    let mut deliveries: Vec<Vec<Vec<String>>> = Vec::new();
    for _ in 0..4 {
        deliveries.push((0..15).map(|_| batch(&mut rng)).collect());
    }
    let worker = async |nth: usize, batches: &[Vec<String>]| {
        for (at, lines) in batches.iter().enumerate() {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            given.deliver_as(&pipeline, &format!("{nth}-{at}"), &lines).await.unwrap();
            if at % 4 == nth {
                derive(&given, &pipeline).await;
            }
        }
    };
    let [a, b, c, d] = deliveries.as_slice() else { panic!("four") };
    tokio::join!(worker(0, a), worker(1, b), worker(2, c), worker(3, d));
    derive(&given, &pipeline).await;
    assert!(marks(&given).await.is_empty());
    assert_equal(&given, &pipeline).await;
}
