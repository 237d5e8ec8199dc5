//! A part's position moves with its batch, and only for whoever has the part (F4).

use landonce_store::position::{Advance, Advanced, Part};
use landonce_store::seam::{Access, Connection, Work};

use super::bench::{Bench, run_id};

fn part(name: &str) -> Part {
    Part { pipeline: "p".into(), source: "kafka g topic".into(), part: name.into() }
}

fn advance(epoch: u64, from: Option<&str>, to: &str) -> Advance {
    let mark = Some(to.as_bytes().to_vec());
    Advance { part: part("3"), epoch, from: from.map(str::to_owned), to: to.into(), mark }
}

/// Moves in a transaction of its own, and commits what was moved.
async fn moved<C: Connection>(connection: &mut C, advance: &Advance) -> Advanced {
    connection.begin(Access::Write).await.unwrap();
    let advanced = connection.work().advance(advance, run_id(1)).await.unwrap();
    if advanced == Advanced::Moved {
        connection.commit().await.unwrap();
    } else {
        connection.rollback().await;
    }
    advanced
}

pub(crate) async fn a_part_goes_on_where_its_last_batch_ended(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    let first = connection.take_part(&part("3"), "one").await.unwrap();
    assert_eq!((first.epoch, first.next, first.mark), (1, None, None));
    assert_eq!(moved(&mut connection, &advance(1, None, "10")).await, Advanced::Moved);
    assert_eq!(moved(&mut connection, &advance(1, Some("10"), "30")).await, Advanced::Moved);
    let second = connection.take_part(&part("3"), "two").await.unwrap();
    assert_eq!((second.epoch, second.next, second.mark), (2, Some("30".into()), Some(b"30".to_vec())));
    // Another part is another part, whatever their names share.
    assert_eq!(connection.take_part(&part("33"), "one").await.unwrap().epoch, 1);
    assert_eq!(connection.take_part(&part(""), "one").await.unwrap().next, None);
}

pub(crate) async fn who_was_taken_over_moves_nothing(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    connection.take_part(&part("3"), "one").await.unwrap();
    connection.take_part(&part("3"), "two").await.unwrap();
    let lost = moved(&mut connection, &advance(1, None, "10")).await;
    assert_eq!(lost, Advanced::Lost { epoch: Some(2), owner: "two".into(), next: None });
    // Nor does whoever has it, from a place at which it isn't.
    let lost = moved(&mut connection, &advance(2, Some("5"), "10")).await;
    assert_eq!(lost, Advanced::Lost { epoch: Some(2), owner: "two".into(), next: None });
    assert_eq!(moved(&mut connection, &advance(2, None, "10")).await, Advanced::Moved);
    // Whose answer was lost asks again.
    assert_eq!(moved(&mut connection, &advance(2, None, "10")).await, Advanced::Already);
    let nowhere = Advance { part: part("4"), ..advance(1, None, "10") };
    let lost = moved(&mut connection, &nowhere).await;
    assert_eq!(lost, Advanced::Lost { epoch: None, owner: String::new(), next: None });
}

pub(crate) async fn a_move_goes_with_its_transaction(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    connection.take_part(&part("3"), "one").await.unwrap();
    connection.begin(Access::Write).await.unwrap();
    assert_eq!(connection.work().advance(&advance(1, None, "10"), run_id(1)).await.unwrap(), Advanced::Moved);
    connection.rollback().await;
    assert_eq!(connection.positions(Some("p")).await.unwrap()[0].next, None);
}

pub(crate) async fn a_person_puts_a_part_elsewhere_and_its_owner_loses_it(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    assert_eq!(connection.positions(None).await.unwrap(), []);
    assert_eq!(bench.connect_to_look().await.positions(None).await.unwrap(), []);
    connection.migrate().await.unwrap();
    connection.take_part(&part("3"), "one").await.unwrap();
    connection.put_position(&part("3"), Some("7"), "a person").await.unwrap();
    assert!(matches!(
        moved(&mut connection, &advance(1, None, "10")).await,
        Advanced::Lost { epoch: Some(2), .. }
    ));
    connection.put_position(&part("11"), None, "a person").await.unwrap();
    let found = connection.positions(Some("p")).await.unwrap();
    let told: Vec<_> = found
        .iter()
        .map(|at| (at.part.part.as_str(), at.next.as_deref(), at.epoch, at.owner.as_str()))
        .collect();
    assert_eq!(told, [("3", Some("7"), 2, "a person"), ("11", None, 1, "a person")]);
    assert_eq!(connection.positions(Some("another")).await.unwrap(), []);
}
