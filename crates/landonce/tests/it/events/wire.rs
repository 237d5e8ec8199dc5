//! Events over a wire that breaks, by way of poolers, and how often they go there and back.

use landonce::{Commit, Kind, RetryPolicy, Status, Store};
use landonce_testkit::dump::physical;
use landonce_testkit::proxy::{Fault, Proxy};

use super::{at_once, event, land, land_one, open, pipeline};
use crate::given::{Given, patient};
use crate::poolers::pooler;

const PIPELINE: &str = "identity: [id]\ntarget: {table: t}\nwrite: {mode: insert_once}";

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_one_round_trip_and_a_group_two() {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let inlet = open(&Store::open(proxy.url()).unwrap(), &pipeline(PIPELINE), patient().retry).await;
    land_one(&inlet, "e1", r#"{"id":1}"#).await.unwrap();
    let (before, connections) = (proxy.statements().len(), proxy.connections());
    land_one(&inlet, "e2", r#"{"id":2}"#).await.unwrap();
    let shown = |from: usize| -> Vec<String> {
        let first = |sql: &String| sql.split([' ', '\n']).next().unwrap_or_default().to_owned();
        proxy.statements()[from..].iter().map(first).collect()
    };
    assert_eq!(shown(before), ["WITH"]);
    let many: Vec<(String, String)> =
        (10..60).map(|nth| (format!("e{nth}"), format!(r#"{{"id":{nth}}}"#))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(id, body)| (id.as_str(), body.as_str())).collect();
    let before = proxy.statements().len();
    assert!(land(&inlet, &many).await.iter().all(Result::is_ok));
    // BEGIN goes out with the statement behind it.
    assert_eq!(shown(before), ["BEGIN", "WITH", "COMMIT"]);
    assert_eq!(proxy.connections(), connections);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_recovered() {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let inlet = open(&Store::open(proxy.url()).unwrap(), &pipeline(PIPELINE), patient().retry).await;
    land_one(&inlet, "e0", r#"{"id":0}"#).await.unwrap();
    let cut = proxy.arm(Fault::CutAfterCommit);
    let second = proxy.arm(Fault::refuse("inbox", "40001").times(2).after(&cut));
    let told = land(&inlet, &[("e0", r#"{"id":0}"#), ("e1", r#"{"id":1}"#), ("e2", r#"{"id":2}"#)]).await;
    assert_eq!((cut.fired(), second.fired()), (1, 2));
    let told: Vec<(Status, Commit)> = told
        .into_iter()
        .map(|told| {
            let told = told.unwrap();
            (told.status, told.commit)
        })
        .collect();
    let ours = (Status::Processed, Commit::Recovered);
    assert_eq!(told, [(Status::SkippedDuplicate, Commit::Clean), ours, ours]);
    assert_eq!(given.count("t").await, 3);
    let before = proxy.arm(Fault::CutBeforeCommit);
    let told = land(&inlet, &[("e3", r#"{"id":3}"#), ("e4", r#"{"id":4}"#)]).await.pop().unwrap().unwrap();
    assert_eq!((before.fired(), told.commit, told.attempts), (1, Commit::Clean, 2));
    assert_eq!(given.count("t").await, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duplicate_that_nobody_could_be_asked_about_is_unresolved() {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let inlet = open(&Store::open(proxy.url()).unwrap(), &pipeline(PIPELINE), patient().retry).await;
    land_one(&inlet, "e0", r#"{"id":0}"#).await.unwrap();
    let asked = proxy.arm(Fault::refuse("WHERE key = ANY", "42501"));
    let mut told = land(&inlet, &[("e0", r#"{"id":0}"#), ("e1", r#"{"id":1}"#)]).await;
    assert_eq!(told.pop().unwrap().unwrap().status, Status::Processed);
    let error = told.pop().unwrap().unwrap_err();
    assert_eq!(
        (asked.fired(), error.kind(), error.code().as_str()),
        (1, Kind::Unresolved, "L0605"),
        "{error}"
    );
    assert_eq!(given.count("t").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_whose_answer_never_comes_is_unresolved_and_its_redelivery_a_duplicate() {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let few = RetryPolicy { attempts: 2, ..patient().retry };
    let inlet = open(&Store::open(proxy.url()).unwrap(), &pipeline(PIPELINE), few).await;
    land_one(&inlet, "e0", r#"{"id":0}"#).await.unwrap();
    let mut stalled = proxy.arm(Fault::StallAnswer("INSERT INTO landonce.inbox".to_owned()));
    let landing = tokio::spawn(async move { land_one(&inlet, "e1", r#"{"id":1}"#).await });
    stalled.wait(30).await;
    drop(proxy);
    let error = landing.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), Kind::Unresolved, "{error}");
    let inlet = super::inlet(&given, &pipeline(PIPELINE)).await;
    let again = land_one(&inlet, "e1", r#"{"id":1}"#).await.unwrap();
    assert_eq!((again.status, given.count("t").await), (Status::SkippedDuplicate, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wire_that_is_cut_at_any_statement_loses_nothing_and_doubles_nothing() {
    let given = Given::postgres().await;
    let proxy = Proxy::start(&given.url).await;
    let inlet = open(&Store::open(proxy.url()).unwrap(), &pipeline(PIPELINE), patient().retry).await;
    for nth in 1.. {
        let cut = proxy.arm(Fault::CutAtFrame(nth));
        let one = land_one(&inlet, &format!("one{nth}"), &format!(r#"{{"id":"one{nth}"}}"#)).await;
        let (a, b) = (format!("a{nth}"), format!("b{nth}"));
        let bodies = [format!(r#"{{"id":"{a}"}}"#), format!(r#"{{"id":"{b}"}}"#)];
        let two = land(&inlet, &[(&a, &bodies[0]), (&b, &bodies[1])]).await;
        for told in std::iter::once(one).chain(two) {
            assert_eq!(told.unwrap().status, Status::Processed);
        }
        assert_eq!(given.count("t").await, nth * 3);
        if cut.fired() == 0 {
            assert!(nth > 4, "hardly a frame was cut");
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_land_once_through_a_pooler_in_transaction_mode() {
    let given = Given::postgres().await;
    let pooler = pooler(&given.url).await;
    let url = format!("postgres://postgres@127.0.0.1:{}/{}", pooler.port, given.database().name());
    let store = Store::open(&url).unwrap();
    // Two pipelines of one shape: their statements must not be taken for each other.
    let inlets = [
        open(&store, &pipeline(PIPELINE), patient().retry).await,
        open(&store, &pipeline(&PIPELINE.replace("table: t", "table: u")), patient().retry).await,
    ];
    for round in 0..3 {
        for (which, inlet) in inlets.iter().enumerate() {
            let events = (0..40)
                .map(|nth| {
                    event(
                        &format!("{which}/{}", nth % 20 + round * 10),
                        &format!(r#"{{"id":{}}}"#, nth % 20 + round * 10),
                    )
                })
                .collect();
            let told = at_once(inlet, events).await;
            assert!(told.iter().all(Result::is_ok), "{told:?}");
        }
    }
    assert_eq!((given.count("t").await, given.count("u").await), (40, 40));
    assert_eq!(given.count("landonce.inbox").await, 80);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redelivered_event_writes_nothing_at_all() {
    let given = Given::postgres().await;
    let inlet = super::inlet(&given, &pipeline(PIPELINE)).await;
    let events = [("e1", r#"{"id":1}"#), ("e2", r#"{"id":2}"#)];
    land(&inlet, &events).await;
    let client = given.database().client().await;
    let versions = async || {
        let mut rows = Vec::new();
        for table in ["public.t", "landonce.inbox"] {
            let found = physical(&client, table).await;
            rows.extend(found.into_iter().map(|row| (row.ctid, row.xmin, row.xmax)));
        }
        rows
    };
    let before = versions().await;
    assert_eq!(before.len(), 4);
    for _ in 0..5 {
        let told = land(&inlet, &events).await;
        assert!(told.iter().all(|told| told.as_ref().unwrap().status == Status::SkippedDuplicate));
    }
    for (id, body) in events {
        assert_eq!(land_one(&inlet, id, body).await.unwrap().status, Status::SkippedDuplicate);
    }
    assert_eq!(before, versions().await);
}
