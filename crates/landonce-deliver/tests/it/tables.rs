//! A table of another database gets each message once, however often it is handed over.

use std::path::Path;

use landonce_deliver::destination::Destination as _;
use landonce_deliver::destination::sql::{SqlSpec, Table};
use landonce_store::outbox::Parcel;
use landonce_testkit::postgres::{self, TestDatabase};
use landonce_testkit::proxy::{Fault, Proxy};

use crate::parcels::{answer, parcel, with_environment};

fn table(url: &str) -> Table {
    let spec = SqlSpec { store: "${URL}".into(), table: "notices".into() };
    with_environment(&[("URL", url)], |environment| spec.open(Path::new(""), environment).unwrap())
}

fn parcels(numbers: impl IntoIterator<Item = u64>) -> Vec<Parcel> {
    numbers.into_iter().map(|n| parcel(n, &format!("{{\"n\":{n},\"exact\":9007199254740993.10}}"))).collect()
}

async fn hand(table: &Table, parcels: &[Parcel]) -> Vec<(&'static str, String)> {
    let answers = table.send(parcels).await;
    answers.iter().map(|one| answer(one)).map(|(what, told)| (what, told.to_owned())).collect()
}

/// How many rows, and how often they were written.
async fn rows(database: &TestDatabase) -> (i64, i64) {
    let row = database
        .client()
        .await
        .query_one("SELECT count(*), count(DISTINCT id) FROM notices", &[])
        .await
        .unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_a_row_with_its_id_and_exact_payload() {
    let database = postgres::database().await;
    let answers = hand(&table(&database.url()), &parcels([1])).await;
    assert_eq!(answers, [("taken", "landed".to_owned())]);
    let row = database
        .client()
        .await
        .query_one("SELECT id::text, topic, kind, entity->>'flight', payload->>'exact' FROM notices", &[])
        .await
        .unwrap();
    let texts: Vec<String> = (0..5).map(|at| row.get(at)).collect();
    assert_eq!(texts, [&parcel(1, "").id.to_string(), "crew", "updated", "B6-1", "9007199254740993.10"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_messages_again_or_among_others_write_nothing() {
    let database = postgres::database().await;
    let table = table(&database.url());
    assert!(table.takes() > 1);
    hand(&table, &parcels(0..300)).await;
    let again = hand(&table, &parcels(0..300)).await;
    assert!(again.iter().all(|one| *one == ("taken", "had landed before".to_owned())), "{again:?}");
    let among_others = hand(&table, &parcels(150..450)).await;
    assert!(among_others.iter().all(|(what, _)| *what == "taken"), "{among_others:?}");
    assert_eq!(rows(&database).await, (450, 450));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_answer_to_commit_is_lost_it_is_looked_up() {
    let database = postgres::database().await;
    let proxy = Proxy::start(&database.url()).await;
    let table = table(proxy.url());
    hand(&table, &parcels([0])).await;
    let cut = proxy.arm(Fault::CutAfterCommit);
    let answers = hand(&table, &parcels([1, 2])).await;
    assert_eq!(cut.fired(), 1);
    assert!(answers.iter().all(|(what, _)| *what == "taken"), "{answers:?}");
    // And when it can't be looked up either, the same messages come again.
    let cut = proxy.arm(Fault::CutAfterCommit);
    proxy.arm(Fault::CutAtConnect.times(3).after(&cut));
    let answers = hand(&table, &parcels([3, 4])).await;
    assert!(answers.iter().all(|(what, _)| *what == "later for all"), "{answers:?}");
    let answers = hand(&table, &parcels([3, 4])).await;
    assert!(answers.iter().all(|(what, _)| *what == "taken"), "{answers:?}");
    assert_eq!(rows(&database).await, (5, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_the_table_refuses_keeps_no_other_back() {
    let database = postgres::database().await;
    let client = database.client().await;
    client
        .batch_execute(
            "CREATE TABLE notices (id uuid PRIMARY KEY, topic text, kind text, entity jsonb, payload jsonb,
               received_at timestamptz NOT NULL DEFAULT now(), CHECK (payload->>'n' <> '7'))",
        )
        .await
        .unwrap();
    let mut some = parcels(0..20);
    some[3].payload = "{".into();
    some[5].payload = "{\"text\":\"\\u0000\"}".into();
    let answers = hand(&table(&database.url()), &some).await;
    for (at, (what, told)) in answers.iter().enumerate() {
        let expected = match at {
            3 | 5 => "never",
            7 => "later",
            _ => "taken",
        };
        assert_eq!(*what, expected, "{at}: {told}");
    }
    assert_eq!(rows(&database).await, (17, 17));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_the_receiver_has_changed_is_not_touched() {
    let database = postgres::database().await;
    let client = database.client().await;
    // Its own table, without landonce's digest: only the columns could tell that a row isn't as it came.
    let sql =
        "CREATE TABLE notices (id uuid PRIMARY KEY, topic text, kind text, entity jsonb, payload jsonb)";
    client.batch_execute(sql).await.unwrap();
    let table = table(&database.url());
    hand(&table, &parcels(0..20)).await;
    client.batch_execute("UPDATE notices SET kind = 'done'").await.unwrap();
    hand(&table, &parcels(10..30)).await;
    let done = client.query_one("SELECT count(*) FROM notices WHERE kind = 'done'", &[]).await.unwrap();
    assert_eq!(done.get::<_, i64>(0), 20);
    assert_eq!(rows(&database).await, (30, 30));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_speaks_for_all_messages_and_shows_no_password() {
    let database = postgres::database().await;
    database.client().await.batch_execute("CREATE TABLE notices (id uuid PRIMARY KEY)").await.unwrap();
    let nobody = "postgres://u:s3kr3t@127.0.0.1:1/d".to_owned();
    for url in [nobody, database.url()] {
        let answers = hand(&table(&url), &parcels([1, 2])).await;
        assert!(answers.iter().all(|(what, _)| *what == "later for all"), "{answers:?}");
        assert!(!answers[0].1.contains("s3kr3t") && answers[0].1.starts_with('L'), "{answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_is_a_database_too() {
    let folder = tempfile::tempdir().unwrap();
    let table = table(&format!("sqlite:{}", folder.path().join("their.db").display()));
    for _ in 0..2 {
        let answers = hand(&table, &parcels(0..3)).await;
        assert!(answers.iter().all(|(what, _)| *what == "taken"), "{answers:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_is_refused_with_its_key() {
    let open = |store: &str, table: &str| {
        let spec = SqlSpec { store: store.into(), table: table.into() };
        with_environment(&[], |environment| spec.open(Path::new(""), environment).unwrap_err().to_string())
    };
    assert!(open("mysql://u:s3kr3t@h/d", "t").starts_with("store: store: `mysql:` is no store"));
    assert!(!open("mysql://u:s3kr3t@h/d", "t").contains("s3kr3t"));
    assert!(open("sqlite:x.db", "").starts_with("table: "));
    assert!(open("sqlite:x.db", &"t".repeat(100)).starts_with("table: "));
}
