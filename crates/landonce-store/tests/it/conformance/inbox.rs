//! A batch lands once (F3): its claim is part of its transaction.

use landonce_core::outcome::Outcome;
use landonce_store::inbox::Claimed;
use landonce_store::seam::{Access, Connection, Work};

use super::bench::{Bench, claim, int, land, put, set_up, text, things};

pub(crate) async fn a_batch_is_claimed_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let plan = things();
    land(&mut connection, &plan, "b1", &[put([int(1), text("a")])]).await;

    let mut redelivery = claim("b1");
    redelivery.run_id = super::bench::run_id(999);
    redelivery.digest = [7; 32];
    connection.begin(Access::Write).await.unwrap();
    let found = connection.work().claim(&redelivery).await.unwrap();
    connection.rollback().await;
    let Claimed::Found(settled) = found else { panic!("claimed twice") };
    // Whether it is the same batch is for the engine to tell: it is told all.
    assert_eq!((settled.digest, settled.run_id), (claim("b1").digest, claim("b1").run_id));
    assert_eq!(
        (settled.pipeline.as_str(), settled.batch_id.as_str(), settled.source.as_str()),
        ("p", "b1", "a test")
    );
    assert_eq!(connection.look_up(&redelivery.key()).await.unwrap(), Some(settled));

    let mut other = claim("b1");
    "another pipeline".clone_into(&mut other.pipeline);
    connection.begin(Access::Write).await.unwrap();
    assert_eq!(connection.work().claim(&other).await.unwrap(), Claimed::New);
    connection.rollback().await;
}

pub(crate) async fn a_claim_goes_with_its_transaction(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    set_up(&mut connection, &things()).await;
    for _ in 0..2 {
        connection.begin(Access::Write).await.unwrap();
        assert_eq!(connection.work().claim(&claim("b1")).await.unwrap(), Claimed::New);
        connection.rollback().await;
        assert_eq!(connection.look_up(&claim("b1").key()).await.unwrap(), None);
    }
    assert!(bench.rows(&format!("SELECT 1 FROM {}", inbox(bench))).await.is_empty());
}

pub(crate) async fn a_look_needs_no_tables(bench: &mut impl Bench) {
    assert_eq!(bench.connect().await.look_up(&claim("b1").key()).await.unwrap(), None);
    assert_eq!(bench.connect_to_look().await.look_up(&claim("b1").key()).await.unwrap(), None);
}

pub(crate) async fn an_outcome_is_kept_as_it_was(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    let outcome = Outcome {
        read: u64::from(u32::MAX) * 7,
        inserted: 1,
        updated: 2,
        unchanged: 3,
        stale: 4,
        conflicts: 5,
        duplicates: 6,
        quarantined: 7,
        deleted: 8,
        removed: 9,
        retired: 10,
        restored: 11,
    };
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    work.claim(&claim("b1")).await.unwrap();
    work.settle(&claim("b1"), &outcome).await.unwrap();
    drop(work);
    connection.commit().await.unwrap();
    let settled = bench.connect_to_look().await.look_up(&claim("b1").key()).await.unwrap().unwrap();
    assert_eq!(settled.outcome, outcome);
    let at = settled.settled_at.as_bytes();
    assert!(at.len() > 20 && at[10] == b'T' && at.ends_with(b"Z"), "{}", settled.settled_at);
}

pub(crate) async fn a_batch_settles_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    let error = connection.work().settle(&claim("b1"), &Outcome::default()).await.unwrap_err();
    connection.rollback().await;
    assert!(error.to_string().contains("has not been claimed"), "{error}");
    land(&mut connection, &things(), "b1", &[]).await;
    connection.begin(Access::Write).await.unwrap();
    assert!(connection.work().settle(&claim("b1"), &Outcome::default()).await.is_err());
    connection.rollback().await;
}

fn inbox<B: Bench>(_: &B) -> &'static str {
    B::DIALECT.inbox()
}
