//! A sender's id that isn't constant (G3): the same content under another id is told, not silently stored twice.

use landonce_core::plan::TablePlan;
use landonce_store::seam::{Access, Connection, SameContent, Work};

use super::bench::{Bench, Record, int, land, look_in, put, set_up, text, things};

async fn same_content<C: Connection>(connection: &mut C, records: &[Record], samples: usize) -> SameContent {
    let plan = by_sender();
    set_up(connection, &plan).await;
    connection.begin(Access::Write).await.unwrap();
    let mut work = connection.work();
    look_in(&mut work, &plan, records).await;
    let found = work.same_content(samples).await.unwrap();
    drop(work);
    connection.rollback().await;
    found
}

fn by_sender() -> TablePlan {
    TablePlan { sender_id: true, ..things() }
}

pub(crate) async fn equal_content_under_another_id_is_told(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    land(&mut connection, &by_sender(), "b1", &[put([int(1), text("a")]), put([int(2), text("b")])]).await;
    let found = same_content(&mut connection, &[put([int(1), text("a")]), put([int(3), text("c")])], 5).await;
    assert_eq!(found, SameContent::default());
    let found = same_content(&mut connection, &[put([int(3), text("c")]), put([int(4), text("b")])], 5).await;
    assert_eq!((found.count, found.samples.len(), found.samples[0].0.number), (1, 1, 2));
    assert_eq!(found.samples[0].1.len(), 36, "the stored row's key as text: {found:?}");
}

pub(crate) async fn equal_content_inside_a_batch_is_told(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let records: Vec<Record> =
        (0..10).map(|id| put([int(id), text(if id < 7 { "same" } else { "other" })])).collect();
    let found = same_content(&mut connection, &records, 3).await;
    assert_eq!(found.count, 6 + 2);
    assert_eq!(found.samples.iter().map(|(place, _)| place.number).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(found.samples.iter().all(|(_, key)| *key == found.samples[0].1 && key.len() == 36), "{found:?}");
    assert_eq!(same_content(&mut connection, &records, 0).await.count, 8);
}
