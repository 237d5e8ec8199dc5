//! What `status` and `quarantine` show: batches that have landed, bad records that are kept.

use landonce_core::bad_record::{BadKind, BadRecord};
use landonce_store::quarantine::BadRow;
use landonce_store::reads::Reads as _;
use landonce_store::seam::{Access, Connection, Work};

use super::{Bench, Dialect, int, land, put, run_id, text, things};

pub(crate) async fn batches_and_bad_records_are_listed(bench: &mut impl Bench) {
    let mut connection = bench.connect().await;
    for n in 0..3 {
        land(&mut connection, &things(), &format!("b{n}"), &[put([int(n), text("v")])]).await;
    }
    connection.begin(Access::Write).await.unwrap();
    let bad = |pipeline, raw| BadRow {
        pipeline,
        batch_id: "b0",
        run_id: run_id(1),
        source: "a test",
        number: 7,
        bad: BadRecord::new(BadKind::Syntax, "a", "not JSON"),
        raw,
    };
    let kept = [bad("p", b"one" as &[u8]), bad("p", b"two"), bad("q", b"three")];
    connection.work().keep_bad(&kept).await.unwrap();
    connection.work().resolve_bad(&[kept[1].id()], run_id(2)).await.unwrap();
    connection.commit().await.unwrap();

    let mut connection = bench.connect_to_look().await;
    let batches = connection.batches(2).await.unwrap();
    assert_eq!(batches.len(), 2);
    assert!(batches[0].settled_at >= batches[1].settled_at);
    assert_eq!(batches[0].outcome.read, 1);
    assert_eq!(connection.batches(100).await.unwrap().len(), 3);

    let pipelines = |entries: Vec<landonce_store::quarantine::Entry>| -> Vec<String> {
        entries
            .into_iter()
            .map(|entry| format!("{} {}", entry.pipeline, String::from_utf8(entry.raw).unwrap()))
            .collect()
    };
    let mut all = pipelines(connection.quarantine(None, 10).await.unwrap());
    all.sort();
    assert_eq!(all, ["p one", "q three"]);
    assert_eq!(pipelines(connection.quarantine(Some("q"), 10).await.unwrap()), ["q three"]);
    assert!(connection.quarantine(None, 0).await.unwrap().is_empty());

    let id = hex::encode(kept[1].id());
    let entry = connection.quarantine_entry(&id[..12].to_uppercase()).await.unwrap().unwrap();
    assert_eq!((entry.id, entry.resolved_by, entry.run_id), (kept[1].id(), Some(run_id(2)), run_id(1)));
    assert_eq!((entry.number, entry.kind.as_str(), entry.field.as_str()), (7, "syntax", "a"));
    assert_eq!(connection.quarantine_entry("0000000000").await.unwrap(), None);
    for (prefix, says) in [("", "hex digits"), ("xyz", "hex digits"), ("%", "hex digits")] {
        let error = connection.quarantine_entry(prefix).await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

pub(crate) async fn a_prefix_of_several_ids_is_refused<B: Bench>(bench: &mut B) {
    let mut connection = bench.connect().await;
    connection.migrate().await.unwrap();
    for last in ["00", "01"] {
        let id = format!("{}{last}", "ab".repeat(31));
        let (id, empty) = match B::DIALECT {
            Dialect::Postgres => (format!("'\\x{id}'"), "''"),
            Dialect::Sqlite => (format!("x'{id}'"), "x''"),
        };
        let table = B::DIALECT.quarantine();
        let columns = "id, pipeline, batch_id, run_id, source, number, kind, field, detail, raw";
        let values = format!("{id}, 'p', 'b', '{}', 's', 1, 'k', '', '', {empty}", run_id(1));
        bench.run(&format!("INSERT INTO {table} ({columns}) VALUES ({values})")).await;
    }
    let error = connection.quarantine_entry("abab").await.unwrap_err();
    assert!(error.to_string().contains("several entries begin with abab"), "{error}");
}

pub(crate) async fn without_tables_there_is_nothing_to_show(bench: &mut impl Bench) {
    let mut connection = bench.connect_to_look().await;
    assert!(connection.batches(10).await.unwrap().is_empty());
    assert!(connection.quarantine(None, 10).await.unwrap().is_empty());
    assert_eq!(connection.quarantine_entry("ab").await.unwrap(), None);
}
