//! The short way and the long way leave the same tables, to the last value.

use landonce_testkit::seed;
use rand::RngExt as _;

use super::{Event, inlet, pipeline};
use crate::given::{Given, on_every_store};

on_every_store!(the_short_way_leaves_what_the_long_way_leaves, a_redelivery_changes_nothing);

const PIPELINES: [&str; 4] = [
    "identity: [id]\ntarget: {table: t, columns: {n: integer, at: timestamptz, price: decimal}}\nwrite: {version: n}",
    "identity: [id]\ntarget: {table: t}",
    "identity: [id]\ntarget: {table: t, columns: {n: integer}}\nwrite: {mode: insert_once}",
    "identity: {hash_of: all}\nvolatile: [at]\ntarget: {table: t}\nwrite: {mode: insert_once}",
];

fn random_event(random: &mut impl rand::Rng) -> Event {
    let id = random.random_range(0..6);
    let n = random.random_range(0..4);
    let v = ["a", "b", "ü\\\"'"][random.random_range(0..3)].replace('\\', "\\\\").replace('"', "\\\"");
    let at = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"][random.random_range(0..2)];
    let price = ["1.10", "1.1", "99999999999.000001", "null"][random.random_range(0..4)];
    Event {
        id: (random.random_range(0..4) > 0).then(|| format!("e{}", random.random_range(0..40))),
        body: format!(r#"{{"id":{id},"n":{n},"v":"{v}","at":"{at}","price":{price}}}"#).into_bytes(),
        source: "hook".to_owned(),
    }
}

async fn another(given: &Given) -> Given {
    if given.is_postgres() { Given::postgres().await } else { Given::sqlite() }
}

async fn the_short_way_leaves_what_the_long_way_leaves(given: Given) {
    let mut random = seed::rng();
    for declared in PIPELINES {
        let (short, long) = (another(&given).await, another(&given).await);
        let archive = tempfile::tempdir().unwrap();
        // Whatever has an archive goes the long way.
        let archived = format!("{declared}\narchive: {}", archive.path().display());
        let (quick, slow) =
            (inlet(&short, &pipeline(declared)).await, inlet(&long, &pipeline(&archived)).await);
        for _ in 0..4 {
            let events: Vec<Event> =
                (0..random.random_range(1..12)).map(|_| random_event(&mut random)).collect();
            let told = quick.land(events.clone()).await.unwrap();
            let mut want = Vec::new();
            for event in events {
                want.extend(slow.land(vec![event]).await.unwrap());
            }
            for (told, want) in told.iter().zip(&want) {
                match (told, want) {
                    (Ok(told), Ok(want)) => {
                        assert_eq!((told.status, told.outcome), (want.status, want.outcome));
                        assert_eq!(told.batch_id, want.batch_id);
                    }
                    (Err(told), Err(want)) => assert_eq!(told.to_string(), want.to_string()),
                    other => panic!("{other:?}"),
                }
            }
        }
        short.state().await.assert_same(&long.state().await);
    }
    drop(given);
}

async fn a_redelivery_changes_nothing(given: Given) {
    let mut random = seed::rng();
    let inlet = inlet(&given, &pipeline(PIPELINES[1])).await;
    let events: Vec<Event> = (0..20).map(|_| random_event(&mut random)).collect();
    inlet.land(events.clone()).await.unwrap();
    let before = given.dump().await;
    let told = inlet.land(events).await.unwrap();
    assert!(told.iter().flatten().all(|receipt| receipt.status == landonce::Status::SkippedDuplicate));
    before.assert_same(&given.dump().await);
}
