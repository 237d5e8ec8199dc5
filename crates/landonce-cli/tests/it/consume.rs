//! `landonce consume` and `position` as they are typed: exit codes, what is said, what is left (C62).

use landonce_testkit::kafka::Broker;
use rdkafka::config::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

use crate::folder::Folder;

fn produce(broker: &str, values: &[&str]) {
    let producer: BaseProducer = ClientConfig::new().set("bootstrap.servers", broker).create().unwrap();
    for value in values {
        let record: BaseRecord<'_, str, str> = BaseRecord::to("t").partition(0).payload(value);
        producer.send(record).map_err(|(error, _)| error).unwrap();
    }
    producer.flush(std::time::Duration::from_secs(30)).unwrap();
}

fn yaml(broker: &str) -> String {
    format!(
        "pipeline: flights\nstore: sqlite:f.db\nidentity: [id]\ntarget: {{table: flight, columns: {{id: integer}}}}\nsource:\n  \
         kafka: {{brokers: ['{broker}'], group: g, topics: [t], properties: {{session.timeout.ms: '6000'}}}}\n"
    )
}

#[test]
fn a_bad_message_ends_the_worker_with_2_and_a_person_may_put_the_position_behind_it() {
    let broker = Broker::start(&["t:1"]);
    let folder = Folder::new();
    folder.write("p.yaml", yaml(broker.address()));
    produce(broker.address(), &["{\"id\":1}", "{\"id\":2}"]);
    let ran = folder.run(&["consume", "p.yaml", "--until-end"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("2 messages in 1 batches: read 2"), "{}", ran.stdout);

    produce(broker.address(), &["{\"id\":", "{\"id\":4}"]);
    let ran = folder.run(&["consume", "p.yaml", "--until-end"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("error[L0401]: kafka t/0: 1 record is bad"), "{}", ran.stderr);
    assert!(ran.stderr.contains("record 2:"), "{}", ran.stderr);
    let listed = folder.run(&["position", "list", "p.yaml", "--output", "json"]).json();
    assert_eq!(listed["positions"][0]["next"], "2");

    let set = |more: &[&str]| {
        let mut args = vec!["position", "set", "p.yaml", "kafka g t", "0"];
        args.extend(more);
        folder.run(&args)
    };
    let ran = set(&["--next", "3"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "flights kafka g t 0: from 2 to 3\n"), "{}", ran.stderr);
    let ran = folder.run(&["consume", "p.yaml", "--until-end", "--output", "json"]);
    assert_eq!((ran.code, &ran.json()["outcome"]["inserted"]), (0, &1.into()), "{}", ran.stderr);
    let done = rusqlite::Connection::open(folder.path("f.db")).unwrap();
    let acts: Vec<(String, String)> = done
        .prepare("SELECT what, detail FROM landonce_action")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(acts, [("put a position elsewhere".to_owned(), "from 2 to 3".to_owned())]);
    let all: i64 = done.query_row("SELECT count(*) FROM flight", [], |row| row.get(0)).unwrap();
    assert_eq!(all, 3);
}

#[test]
fn a_position_that_is_misspelt_is_no_new_one() {
    let folder = Folder::new();
    folder.write("p.yaml", yaml("127.0.0.1:1"));
    let ran = folder.run(&["position", "set", "p.yaml", "kafka g u", "0", "--next", "3"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("has no part `0` of `kafka g u`"), "{}", ran.stderr);
    let ran = folder.run(&["position", "set", "p.yaml", "kafka g t", "0", "--next", "3", "--new"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for next in ["abc", "-5", "1.5"] {
        let next = format!("--next={next}");
        let ran = folder.run(&["position", "set", "p.yaml", "kafka g t", "0", &next]);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains("is told by its number"), "{ran}");
    }
    let ran = folder.run(&["status", "p.yaml", "--positions"]);
    assert!(ran.stdout.contains("kafka g t") && ran.stdout.contains(" 3 "), "{}", ran.stdout);
}

#[test]
fn what_is_no_stream_is_not_consumed_and_a_stream_is_not_run() {
    let folder = Folder::new();
    folder.write("p.yaml", "pipeline: p\nidentity: [id]\ntarget: {table: t}\nsource: {file: x.ndjson}\n");
    let ran = folder.run(&["consume", "p.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("`source.file`, which is no stream"), "{}", ran.stderr);
}
