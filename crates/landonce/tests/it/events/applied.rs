//! What a new record brings about, in its own transaction (I4, I8): once, however often and however many at once it is delivered.

use std::time::Duration;

use landonce::{Batch, Kind, Pipeline, RetryPolicy};
use landonce_testkit::wait;

use super::{at_once, event, inlet, land, land_one, open, pipeline};
use crate::given::{Given, counts, on_every_store, patient};

on_every_store!(
    fifty_copies_of_a_payment_change_the_balance_once,
    two_hundred_payments_of_one_customer_lose_no_update,
    a_payment_that_nobody_can_book_fails_alone,
    counters_count_each_event_once,
    a_batch_applies_what_is_new_in_it,
    a_statement_that_does_not_fit_is_refused_at_once,
);

fn payments(rest: &str) -> Pipeline {
    pipeline(&format!(
        "identity: {{sender_id: payment}}
target: {{table: payment, columns: {{customer: text, amount: integer}}}}
write: {{mode: insert_once}}
apply:
  - sql: UPDATE account SET balance = balance + :amount WHERE customer = :customer
{rest}"
    ))
}

async fn accounts(given: &Given) {
    given
        .execute(
            "CREATE TABLE account (customer text PRIMARY KEY, balance bigint NOT NULL CHECK (balance < 100000));
             INSERT INTO account VALUES ('ann', 0), ('bob', 0);",
        )
        .await;
}

async fn balance(given: &Given, customer: &str) -> i64 {
    let sql = format!("SELECT balance FROM account WHERE customer = '{customer}'");
    given.column(&sql).await[0].parse().unwrap()
}

fn payment(nth: u32, customer: &str, amount: i64) -> String {
    format!(r#"{{"payment":"pay_{nth}","customer":"{customer}","amount":{amount}}}"#)
}

async fn fifty_copies_of_a_payment_change_the_balance_once(given: Given) {
    accounts(&given).await;
    let inlet = inlet(&given, &payments("    rows: 1")).await;
    let told = at_once(&inlet, vec![event("evt_1", &payment(1, "ann", 500)); 50]).await;
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    // The same payment in another event is booked already.
    land_one(&inlet, "evt_2", &payment(1, "ann", 500)).await.unwrap();
    assert_eq!(balance(&given, "ann").await, 500);
}

async fn two_hundred_payments_of_one_customer_lose_no_update(given: Given) {
    accounts(&given).await;
    let inlet = inlet(&given, &payments("    rows: 1")).await;
    let events = (0..200).map(|nth| event(&format!("evt_{nth}"), &payment(nth, "ann", i64::from(nth))));
    let told = at_once(&inlet, events.clone().collect()).await;
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    assert_eq!(balance(&given, "ann").await, 199 * 200 / 2);
    // And again in one call, as a sender that got no answer would.
    let told = inlet.land(events.collect()).await.unwrap();
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    assert_eq!(balance(&given, "ann").await, 199 * 200 / 2);
    assert_eq!(given.count("payment").await, 200);
}

async fn a_payment_that_nobody_can_book_fails_alone(given: Given) {
    accounts(&given).await;
    let inlet = inlet(&given, &payments("    rows: 1")).await;
    let bodies =
        [payment(1, "ann", 1), payment(2, "nobody", 2), payment(3, "bob", 3), payment(4, "bob", 100_000)];
    let events: Vec<(&str, &str)> =
        ["e1", "e2", "e3", "e4"].into_iter().zip(bodies.iter().map(String::as_str)).collect();
    let told = land(&inlet, &events).await;
    let failed: Vec<bool> = told.iter().map(Result::is_err).collect();
    assert_eq!(failed, [false, true, false, true]);
    let unknown = told[1].as_ref().unwrap_err();
    assert_eq!((unknown.kind(), unknown.code().as_str()), (Kind::BadRecords, "L0401"));
    assert!(unknown.to_string().contains("changed 0 rows, and `rows` says 1"), "{unknown}");
    let over = told[3].as_ref().unwrap_err();
    assert_eq!(over.kind(), Kind::BadRecords, "{over}");
    assert_eq!((balance(&given, "ann").await, balance(&given, "bob").await), (1, 3));
    assert_eq!((given.count("payment").await, given.count(&given.system("inbox")).await), (2, 2));
    // Once there is such a customer, the next delivery books it.
    given.execute("INSERT INTO account VALUES ('nobody', 0)").await;
    land_one(&inlet, events[1].0, events[1].1).await.unwrap();
    assert_eq!(balance(&given, "nobody").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_whose_row_is_held_holds_nobody_else() {
    let given = Given::postgres().await;
    accounts(&given).await;
    let few = RetryPolicy { attempts: 2, deadline: Duration::from_secs(2), ..patient().retry };
    let inlet = open(&given.store, &payments("    rows: 1"), few).await;
    let holder = given.database().client().await;
    holder.batch_execute("BEGIN; UPDATE account SET balance = 1 WHERE customer = 'ann'").await.unwrap();
    let body = payment(1, "ann", 500);
    let landing = land_one(&inlet, "evt_1", &body);
    let error = wait::within(30, "an answer", landing).await.unwrap_err();
    assert_eq!((error.kind(), error.code().as_str()), (Kind::Exhausted, "L0603"), "{error}");
    land_one(&inlet, "evt_2", &payment(2, "bob", 7)).await.unwrap();
    holder.batch_execute("ROLLBACK").await.unwrap();
    land_one(&inlet, "evt_1", &payment(1, "ann", 500)).await.unwrap();
    assert_eq!((balance(&given, "ann").await, balance(&given, "bob").await), (500, 7));
}

async fn counters_count_each_event_once(given: Given) {
    given.execute("CREATE TABLE tally (kind text PRIMARY KEY, n integer NOT NULL)").await;
    let counting = pipeline(
        "identity: [id]
target: {table: t, columns: {kind: text}}
apply:
  - sql: |
      INSERT INTO tally (kind, n) VALUES (:kind, 1) -- :not_a_parameter
      ON CONFLICT (kind) DO UPDATE SET n = tally.n + 1",
    );
    let inlet = inlet(&given, &counting).await;
    // Two events of each record, and each of them twice.
    let events = (0..120).map(|nth| {
        let body = format!(r#"{{"id":{},"kind":"{}"}}"#, nth % 30, ["a", "b", "it's"][nth % 3]);
        event(&format!("e{}", nth % 60), &body)
    });
    let told = at_once(&inlet, events.collect()).await;
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    let rows = given.count("t").await;
    let tallied = given.column("SELECT sum(n) FROM tally").await;
    assert_eq!((rows, tallied.as_slice()), (30, ["30".to_owned()].as_slice()));
    // An update is nothing new.
    land_one(&inlet, "another", r#"{"id":0,"kind":"changed"}"#).await.unwrap();
    assert_eq!(given.column("SELECT sum(n) FROM tally").await, tallied);
}

async fn a_batch_applies_what_is_new_in_it(given: Given) {
    accounts(&given).await;
    let payments = payments("    rows: 1");
    let lines = |range: std::ops::Range<u32>, customer: &str| {
        range.map(|nth| payment(nth, customer, 1)).collect::<Vec<_>>().join("\n")
    };
    let batch = |text: String| Batch::from_bytes("payments.ndjson", text);
    let first = given.deliver_batch(&payments, &batch(lines(0..40, "ann"))).await.unwrap();
    assert_eq!(counts(&first), "read 40, inserted 40");
    given.deliver_batch(&payments, &batch(lines(0..40, "ann"))).await.unwrap();
    let more = given.deliver_batch(&payments, &batch(lines(30..50, "ann"))).await.unwrap();
    assert_eq!(counts(&more), "read 20, inserted 10, unchanged 10");
    assert_eq!(balance(&given, "ann").await, 50);
    let wrong = format!("{}\n{}", lines(60..70, "ann"), lines(70..71, "nobody"));
    let error = given.deliver_batch(&payments, &batch(wrong)).await.unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecords);
    assert!(error.to_string().contains("`apply` (statement 1)"), "{error}");
    assert_eq!((balance(&given, "ann").await, given.count("payment").await), (50, 50));
}

async fn a_statement_that_does_not_fit_is_refused_at_once(given: Given) {
    for (sql, why) in [
        ("UPDATE account SET balance = :amuont", "records fill no such column"),
        ("UPDATE account SET balance = :tags", "only single values"),
    ] {
        let declared = pipeline(&format!(
            "identity: [id]\ntarget: {{table: t, columns: {{amount: integer, tags: 'text[]'}}}}\napply: [{{sql: '{sql}'}}]"
        ));
        let refused =
            landonce::events::Inlet::open(&given.store, &declared, landonce::events::Width::default()).await;
        let refused = refused.unwrap_err();
        assert!(refused.to_string().contains(why), "{refused}");
    }
    let periods = "pipeline: p\nidentity: [id]\ntarget: {table: t}\nwrite: {mode: snapshot, absent: delete}\nsource: {format: json, complete: json_closed}\napply: [{sql: DELETE FROM a}]";
    let refused = Pipeline::from_yaml(periods).unwrap_err();
    assert!(refused.to_string().contains("goes with `write.mode: insert_once` or `upsert`"), "{refused}");
}
