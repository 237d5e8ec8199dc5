//! The payments example, by many senders at once: every payment changes the balance once (I8), every counter counts it once (I4).

use futures_util::future::join_all;
use landonce_testkit::wait::within;

use super::scene::Scene;

const YAML: &str = include_str!("../../../../../examples/payments/payments.yaml");
const SCHEMA: &str = include_str!("../../../../../examples/payments/schema.sql");

fn both() -> [String; 2] {
    let field = "  fields: {payment: event_id}\n";
    assert!(YAML.contains(field));
    [YAML.to_owned(), YAML.replace(field, &format!("{field}  group: {{}}\n"))]
}

fn payment(customer: &str, amount: u64) -> String {
    format!("{{\"type\":\"payment.succeeded\",\"customer_id\":\"{customer}\",\"amount\":{amount}}}")
}

async fn forty_payments_each_twice_at_once(scene: &Scene) {
    scene.execute(SCHEMA).await;
    let mut senders = join_all((0..80).map(|_| scene.sender())).await;
    let posts = senders.iter_mut().enumerate().map(|(at, sender)| async move {
        let number = at as u64 / 2 + 1;
        // Every tenth is of somebody whom nobody knows.
        let customer = if number.is_multiple_of(10) { "eve" } else { "ada" };
        (number, sender.event(&format!("evt_{number}"), &payment(customer, number)).await)
    });
    let answers = within(120, "eighty answers", join_all(posts)).await;
    let mut processed = 0;
    for (number, answer) in &answers {
        if number.is_multiple_of(10) {
            assert_eq!((answer.status, &answer.body["retry"]), (422, &"stop".into()), "{}", answer.text);
        } else {
            assert_eq!(answer.status, 200, "{}", answer.text);
            processed += usize::from(answer.body["status"] == "processed");
        }
    }
    assert_eq!(processed, 36);
    let due: u64 = (1..=40).filter(|number: &u64| !number.is_multiple_of(10)).sum();
    let balance = "SELECT balance FROM customer WHERE customer_id = 'ada'";
    assert_eq!(scene.column(balance).await, [due.to_string()]);
    assert_eq!(scene.column("SELECT payments FROM tally").await, ["36"]);
    assert_eq!(scene.column("SELECT count(*) FROM payment").await, ["36"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_at_once_lose_no_update_and_count_once() {
    for yaml in both() {
        forty_payments_each_twice_at_once(&Scene::postgres(&yaml).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_store_books_payments_at_once_just_as_well() {
    for yaml in both() {
        forty_payments_each_twice_at_once(&Scene::sqlite(&yaml).await).await;
    }
}

#[tokio::test]
async fn a_payment_of_nobody_leaves_nothing_and_is_booked_once_he_is_known() {
    for yaml in both() {
        let scene = Scene::sqlite(&yaml).await;
        scene.execute(SCHEMA).await;
        let before = scene.dump().await;
        let mut sender = scene.sender().await;
        assert_eq!(sender.event("evt_1", &payment("eve", 5)).await.status, 422);
        before.assert_same(&scene.dump().await);
        scene.execute("INSERT INTO customer VALUES ('eve', 0)").await;
        assert_eq!(sender.event("evt_1", &payment("eve", 5)).await.short(), "200 processed");
        assert_eq!(sender.event("evt_1", &payment("eve", 5)).await.short(), "200 duplicate");
        let balance = "SELECT balance FROM customer WHERE customer_id = 'eve'";
        assert_eq!(scene.column(balance).await, ["5"]);
    }
}
