//! Held payloads: kept to the byte, once, until somebody decides; and what a snapshot is weighed against.

use landonce_core::outcome::Outcome;
use landonce_store::held::{Hold, State};
use landonce_store::inbox::{Claim, Claimed};
use landonce_store::seam::{Access, Connection, Work};

use super::bench::{Bench, Dialect, claim, look_in, run_id, things};

fn hold(digest: u8, run: u128) -> Hold {
    Hold {
        pipeline: "p".to_owned(),
        digest: [digest; 32],
        batch_id: None,
        run_id: run_id(run),
        source: "parcels.geojson".to_owned(),
        reasons: vec![
            "it doesn't have 7 of the 12 rows".to_owned(),
            "naïve — \"quoted\"\n\u{1F600}".to_owned(),
        ],
        outcome: Outcome { read: 5, unchanged: 5, retired: 7, ..Outcome::default() },
        is_complete: true,
    }
}

/// Bytes that no two pieces have in common, with zeros and invalid UTF-8 among them.
fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

async fn keep<C: Connection>(connection: &mut C, hold: &Hold, bytes: &[u8]) -> State {
    connection.migrate().await.unwrap();
    let mut bytes = bytes;
    connection.hold(hold, &mut bytes).await.unwrap()
}

fn held_table<B: Bench>(_: &B) -> (&'static str, &'static str) {
    match B::DIALECT {
        Dialect::Sqlite => ("landonce_held", "landonce_held_piece"),
        Dialect::Postgres => ("landonce.held", "landonce.held_piece"),
    }
}

/// What is kept of a payload, put together.
async fn kept(bench: &mut impl Bench) -> Vec<String> {
    let (_, pieces) = held_table(bench);
    let sql = match held_table(bench).0 {
        "landonce_held" => format!("SELECT length(bytes), lower(hex(bytes)) FROM {pieces} ORDER BY key, nth"),
        _ => format!("SELECT length(bytes), encode(bytes, 'hex') FROM {pieces} ORDER BY key, nth"),
    };
    bench.rows(&sql).await.into_iter().map(|mut row| row.remove(1)).collect()
}

async fn states(bench: &mut impl Bench) -> Vec<Vec<String>> {
    let (held, _) = held_table(bench);
    bench.rows(&format!("SELECT state, run_id, decided_by FROM {held} ORDER BY key")).await
}

pub(crate) async fn a_held_payload_is_kept_to_the_byte_and_once(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    let bytes = payload(3 * (1 << 20) + 17);
    assert_eq!(keep(&mut connection, &hold(1, 1), &bytes).await, State::Held);
    let pieces = kept(bench).await;
    assert_eq!(pieces.len(), 4);
    assert_eq!(pieces.concat(), hex::encode(&bytes));
    let (held, _) = held_table(bench);
    let row = format!("SELECT * FROM {held}");
    let before = bench.rows(&row).await;
    // Redelivered by another run.
    assert_eq!(keep(&mut connection, &hold(1, 2), &bytes).await, State::Held);
    assert_eq!(bench.rows(&row).await, before);
    assert_eq!(kept(bench).await, pieces);
    // Another pipeline's payload of the same bytes is another one; so is an empty one.
    let other = Hold { pipeline: "q".to_owned(), ..hold(1, 3) };
    assert_eq!(keep(&mut connection, &other, b"").await, State::Held);
    assert_eq!((states(bench).await.len(), kept(bench).await.len()), (2, 4));
    assert_eq!(connection.held_as(&hold(1, 9).key()).await.unwrap(), Some(State::Held));
    assert_eq!(connection.held_as(&hold(2, 9).key()).await.unwrap(), None);
}

pub(crate) async fn a_decision_drops_the_payload(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    for (digest, state) in [(1, State::Released), (2, State::Landed), (3, State::Rejected)] {
        keep(&mut connection, &hold(digest, 1), b"some bytes").await;
        keep(&mut connection, &hold(9, 1), b"others").await;
        let key = hold(digest, 1).key();
        assert!(connection.decide(&key, state, run_id(7)).await.unwrap());
        assert_eq!(connection.held_as(&key).await.unwrap(), Some(state));
        assert_eq!(kept(bench).await, [hex::encode("others")], "only its own pieces");
        // Decided once.
        assert!(!connection.decide(&key, State::Rejected, run_id(8)).await.unwrap());
        assert_eq!(connection.held_as(&key).await.unwrap(), Some(state));
    }
    assert!(!connection.decide(&hold(4, 1).key(), State::Landed, run_id(7)).await.unwrap());
    let decided = states(bench).await;
    assert_eq!(decided.iter().filter(|row| row[2] == run_id(7).to_string()).count(), 3, "{decided:?}");
}

pub(crate) async fn a_decision_goes_with_its_transaction(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    keep(&mut connection, &hold(1, 1), b"some bytes").await;
    connection.begin(Access::Write).await.unwrap();
    assert!(connection.work().decide(&hold(1, 1).key(), State::Released, run_id(7)).await.unwrap());
    connection.rollback().await;
    assert_eq!(connection.held_as(&hold(1, 1).key()).await.unwrap(), Some(State::Held));
    assert_eq!(kept(bench).await, [hex::encode("some bytes")]);
}

pub(crate) async fn what_was_let_in_is_held_again_and_what_was_rejected_stays(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    for (digest, state) in [(1, State::Released), (2, State::Landed), (3, State::Rejected)] {
        keep(&mut connection, &hold(digest, 1), b"bytes").await;
        connection.decide(&hold(digest, 1).key(), state, run_id(7)).await.unwrap();
    }
    for digest in [1, 2] {
        assert_eq!(keep(&mut connection, &hold(digest, 2), b"bytes").await, State::Held);
    }
    assert_eq!(keep(&mut connection, &hold(3, 2), b"bytes").await, State::Rejected);
    assert_eq!(kept(bench).await.len(), 2, "what is rejected isn't kept");
    let rows = states(bench).await;
    assert_eq!(
        rows.iter()
            .filter(|row| row[0] == "held" && row[1] == run_id(2).to_string() && row[2] == "∅")
            .count(),
        2
    );
    assert_eq!(rows.iter().filter(|row| row[0] == "rejected" && row[1] == run_id(1).to_string()).count(), 1);
}

pub(crate) async fn a_look_for_held_runs_needs_no_tables(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    assert_eq!(connection.held_as(&hold(1, 1).key()).await.unwrap(), None);
    assert!(connection.earlier("p", 7).await.unwrap().is_empty());
}

/// A batch that has landed with so many records.
async fn landed<C: Connection>(connection: &mut C, pipeline: &str, batch: &str, read: u64) -> Claim {
    connection.migrate().await.unwrap();
    let claim = Claim { pipeline: pipeline.to_owned(), ..claim(batch) };
    connection.begin(Access::Write).await.unwrap();
    assert_eq!(connection.work().claim(&claim).await.unwrap(), Claimed::New);
    connection.work().settle(&claim, &Outcome { read, inserted: read, ..Outcome::default() }).await.unwrap();
    connection.commit().await.unwrap();
    claim
}

async fn earlier<C: Connection>(connection: &mut C, most: usize) -> Vec<u64> {
    connection.earlier("p", most).await.unwrap().iter().map(|settled| settled.outcome.read).collect()
}

pub(crate) async fn earlier_loads_come_newest_first_back_to_a_release(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    for (nth, read) in (1..=4).enumerate() {
        landed(&mut connection, "p", &format!("b{nth}"), read).await;
        landed(&mut connection, "q", &format!("q{nth}"), 100).await;
        age(bench).await;
    }
    assert_eq!(earlier(&mut connection, 7).await, [4, 3, 2, 1]);
    assert_eq!(earlier(&mut connection, 2).await, [4, 3]);
    // The load of 3 records was released, that of 4 has landed by itself after being held.
    keep(&mut connection, &hold(3, 1), b"bytes").await;
    connection.decide(&hold(3, 1).key(), State::Released, claim("b2").run_id).await.unwrap();
    keep(&mut connection, &hold(4, 1), b"bytes").await;
    connection.decide(&hold(4, 1).key(), State::Landed, claim("b3").run_id).await.unwrap();
    assert_eq!(earlier(&mut connection, 7).await, [4, 3]);
    assert_eq!(earlier(&mut connection, 1).await, [4]);
}

/// Puts what has landed a day back, so that times differ however fast it goes.
async fn age(bench: &mut impl Bench) {
    let sql = match held_table(bench).0 {
        "landonce_held" => {
            "UPDATE landonce_inbox SET settled_at = strftime('%Y-%m-%dT%H:%M:%fZ', settled_at, '-1 day')"
        }
        _ => "UPDATE landonce.inbox SET settled_at = settled_at - interval '1 day'",
    };
    bench.run(sql).await;
}

pub(crate) async fn an_assertion_is_asked_and_writes_nothing(bench: &mut impl Bench) {
    let plan = things();
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    connection.create_target(&plan).await.unwrap();
    for (query, holds) in [
        ("SELECT count(*) = 0 FROM things", true),
        ("SELECT count(*) > 0 FROM things", false),
        ("SELECT NULL", false),
        ("SELECT v = 'x' FROM things", false),
        ("WITH t AS (SELECT 1 AS n) SELECT n = 1 FROM t", true),
    ] {
        connection.begin(Access::Write).await.unwrap();
        look_in(&mut connection.work(), &plan, &[]).await;
        // NULL has no type of its own everywhere.
        let query = if query == "SELECT NULL" { "SELECT NULL = 1" } else { query };
        assert_eq!(connection.work().holds(query).await.unwrap(), holds, "{query}");
        connection.commit().await.unwrap();
    }
    for query in [
        "INSERT INTO things (id) VALUES (1)",
        "INSERT INTO things (id) VALUES (1) RETURNING true",
        "DROP TABLE things",
        "SELECT no_such_column FROM things",
        "SELECT 'maybe'",
    ] {
        connection.begin(Access::Write).await.unwrap();
        look_in(&mut connection.work(), &plan, &[]).await;
        let told = connection.work().holds(query).await;
        assert!(told.is_err(), "{query}: {told:?}");
        connection.rollback().await;
    }
    assert_eq!(bench.rows("SELECT count(*) FROM things").await, [["0"]]);
}
