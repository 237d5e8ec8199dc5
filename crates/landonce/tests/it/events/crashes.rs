//! A process killed with SIGKILL while events land (F4): at every failpoint, whole groups are there or none of them, and the sender's
//! retry leaves what an undisturbed one leaves.
//!
//! The process is this test's own program, started again with the store's URL in its environment.

use std::process::Command;

use landonce_testkit::crash;
use landonce_testkit::dump::Dump;

use super::{Event, event, inlet, open, pipeline};
use crate::given::{Given, on_every_store, patient};

on_every_store!(a_process_killed_at_any_step_leaves_whole_groups);

const URL: &str = "LANDONCE_TEST_EVENTS_URL";

fn payments() -> landonce::Pipeline {
    pipeline(
        "identity: [id]
target: {table: payment, columns: {id: integer, amount: integer}}
notify: [{topic: payments, on: [inserted]}]
apply: [{sql: UPDATE account SET balance = balance + :amount, rows: 1}]",
    )
}

fn events() -> Vec<Event> {
    [(1, 10), (2, 20), (3, 30)]
        .map(|(id, amount)| event(&format!("e{id}"), &format!(r#"{{"id":{id},"amount":{amount}}}"#)))
        .into()
}

/// The process that is killed. Without a URL there is nothing to do.
#[tokio::test(flavor = "multi_thread")]
async fn the_process_that_is_killed() {
    let Ok(url) = std::env::var(URL) else { return };
    let store = landonce::Store::open(&url).unwrap();
    let inlet = open(&store, &payments(), patient().retry).await;
    let told = inlet.land(events()).await.unwrap();
    assert!(told.iter().all(Result::is_ok), "{told:?}");
}

fn process(given: &Given) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "events::crashes::the_process_that_is_killed"]).env(URL, &given.url);
    command
}

async fn state(given: &Given) -> Dump {
    let outbox = given.system("outbox");
    // A sequence's numbers don't come back with their transaction.
    let columns: &[&str] = if given.is_postgres() {
        &["run_id", "enqueued_at", "due_at", "seq"]
    } else {
        &["run_id", "enqueued_at", "due_at"]
    };
    let times: Vec<(&str, &str)> = columns.iter().map(|column| (outbox.as_str(), *column)).collect();
    given.state().await.without(&times)
}

async fn fresh(like: &Given) -> Given {
    let given = if like.is_postgres() { Given::postgres().await } else { Given::sqlite() };
    given.execute("CREATE TABLE account (balance integer NOT NULL); INSERT INTO account VALUES (0)").await;
    let first = inlet(&given, &payments()).await;
    first.land(vec![event("e0", r#"{"id":0,"amount":1}"#)]).await.unwrap();
    given
}

async fn a_process_killed_at_any_step_leaves_whole_groups(given: Given) {
    let undisturbed = fresh(&given).await;
    let before = state(&undisturbed).await;
    let output = process(&undisturbed).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let after = state(&undisturbed).await;
    assert_ne!(before, after);
    for name in landonce::failpoint::EVENTS {
        let given = fresh(&given).await;
        let killed = crash::at_failpoint(process(&given), name).await;
        assert!(killed.is_ok(), "never came to `{name}`: {killed:?}");
        let left = if *name == "events_committed" { &after } else { &before };
        left.assert_same(&state(&given).await);
        assert!(process(&given).output().unwrap().status.success());
        after.assert_same(&state(&given).await);
        assert_eq!(given.column("SELECT balance FROM account").await, ["61"]);
    }
}
