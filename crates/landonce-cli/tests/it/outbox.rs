//! The outbox: what waits, what was sent and what nobody took is listed, shown, sent again, given up and forgotten.

use landonce::outbox::{Notice, enqueue_in};
use snapbox::str;

use crate::folder::{Folder, Ran, said};

fn outbox(folder: &Folder, args: &[&str]) -> Ran {
    let output = if args.contains(&"--output") { &[][..] } else { &["--output", "text"][..] };
    folder.run(&[&["outbox"], args, &["--store", "sqlite:test.db"], output].concat())
}

fn sql(folder: &Folder, sql: &str) {
    rusqlite::Connection::open(folder.path("test.db")).unwrap().execute_batch(sql).unwrap();
}

/// Six messages: 1 waits for its second attempt, 2 is leased, 3 is sent, 4 and 5 are dead, 6 is another topic's.
fn folder() -> Folder {
    let folder = Folder::new();
    let url = format!("sqlite:{}", folder.path("test.db").display());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(landonce::Store::open(&url).unwrap().migrate()).unwrap();
    let mut connection = rusqlite::Connection::open(folder.path("test.db")).unwrap();
    let mut transaction = connection.transaction().unwrap();
    let notices: Vec<Notice> = (1..=6)
        .map(|n| {
            let topic = if n == 6 { "bells \"and\\whistles\"" } else { "orders" };
            Notice::new("shop", topic, format!("{{\"id\":{n}}}"), "paid", format!("{{\"n\":{n}}}"))
                .kind("inserted")
        })
        .collect();
    runtime.block_on(enqueue_in(&mut transaction, &notices)).unwrap();
    transaction.commit().unwrap();
    sql(
        &folder,
        "UPDATE landonce_outbox SET enqueued_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-49 hours');
         UPDATE landonce_outbox SET attempts = 1, answer = '503', due_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '1 hour') WHERE seq = 1;
         UPDATE landonce_outbox SET fence = 1, leased_by = 'host/7/1', leased_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '1 hour')
         WHERE seq = 2;
         UPDATE landonce_outbox SET state = 'sent', attempts = 1, answer = '200',
           sent_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-48 hours') WHERE seq = 3;
         UPDATE landonce_outbox SET state = 'dead', attempts = 12, answer = '410' WHERE seq IN (4, 5);",
    );
    folder
}

/// The ids by `seq`.
fn ids(folder: &Folder) -> Vec<String> {
    let ran = outbox(folder, &["list", "--output", "json"]);
    let mut messages = ran.json()["messages"].as_array().unwrap().clone();
    messages.sort_by_key(|message| message["seq"].as_i64());
    messages.iter().map(|message| message["id"].as_str().unwrap().to_owned()).collect()
}

fn states(folder: &Folder) -> Vec<String> {
    let ran = outbox(folder, &["list", "--output", "json"]);
    let mut messages = ran.json()["messages"].as_array().unwrap().clone();
    messages.sort_by_key(|message| message["seq"].as_i64());
    messages.iter().map(|message| message["state"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn messages_are_listed_newest_first() {
    let folder = folder();
    said(
        &outbox(&folder, &["list"]),
        str![[r#"
exit 0
--- stdout
id             enqueued at (UTC)    state    topic                 kind      about     attempts  answer
0e8c9581-bcda  [TIME]  pending  bells "and\whistles"  inserted  {"id":6}  0
eb43a5d5-0afc  [TIME]  dead     orders                inserted  {"id":5}  12        410
fbcf23a6-b497  [TIME]  dead     orders                inserted  {"id":4}  12        410
c16d4fcb-c10c  [TIME]  sent     orders                inserted  {"id":3}  1         200
be26dd66-b779  [TIME]  leased   orders                inserted  {"id":2}  0
fafa0c13-790b  [TIME]  pending  orders                inserted  {"id":1}  1         503
landonce outbox show ID shows one
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["list", "--topic", "orders", "--state", "dead", "--limit", "1"]),
        str![[r#"
exit 0
--- stdout
id             enqueued at (UTC)    state  topic   kind      about     attempts  answer
eb43a5d5-0afc  [TIME]  dead   orders  inserted  {"id":5}  12        410
landonce outbox show ID shows one
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["list", "--topic", "nothing"]),
        str![[r#"
exit 0
--- stdout
no such message in sqlite:test.db
--- stderr

"#]],
    );
}

#[test]
fn a_message_is_shown_whole_by_the_beginning_of_its_id() {
    let folder = folder();
    let ids = ids(&folder);
    said(
        &outbox(&folder, &["show", &ids[1][..13]]),
        str![[r#"
exit 0
--- stdout
be26dd66-b779-8c3c-a0a0-c6c07529850e
  topic      orders
  state      pending
  about      {"id":2} (inserted)
  from       shop
  enqueued   [TIME]
  due        [TIME]
  leased     until [TIME] by host/7/1
  attempts   0
  payload    {"n":2}
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["show", &ids[2], "--output", "json"]),
        str![[r#"
exit 0
--- stdout
{
  "store": "sqlite:test.db",
  "messages": [
    {
      "id": "c16d4fcb-c10c-8bbc-9ab2-5b8a9ba6a820",
      "seq": 3,
      "topic": "orders",
      "state": "sent",
      "producer": "shop",
      "kind": "inserted",
      "entity": "{\"id\":3}",
      "ordering": null,
      "run_id": null,
      "enqueued_at": "[TIME]",
      "due_at": null,
      "attempts": 1,
      "leased_by": null,
      "leased_until": null,
      "answer": "200",
      "sent_at": "[TIME]",
      "corrected_by": null,
      "payload": "{\"n\":3}"
    }
  ]
}
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["show", "0123456789ab"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: no message has an id that begins with `0123456789ab`
  = help: `landonce outbox list` shows the ids

"#]],
    );
    said(
        &outbox(&folder, &["show", ""]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: which message?
  = help: `landonce outbox list` shows the ids

"#]],
    );
}

#[test]
fn named_messages_are_retried_redriven_resent_and_discarded() {
    let folder = folder();
    let ids = ids(&folder);
    said(
        &outbox(&folder, &["retry", &ids[0]]),
        str![[r#"
exit 0
--- stdout
retried 1 message
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["redrive", &ids[3][..13], &ids[2]]),
        str![[r#"
exit 1
--- stdout
redriven 1 of 2 messages
only a dead or discarded message can be
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["resend", &ids[2], "--output", "json"]),
        str![[r#"
exit 0
--- stdout
{
  "status": "resent",
  "count": 1
}
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["discard", &ids[1], &ids[4], &ids[5]]),
        str![[r#"
exit 1
--- stdout
discarded 2 of 3 messages
only a pending or dead message can be, and none that a worker holds
--- stderr

"#]],
    );
    assert_eq!(states(&folder), ["pending", "pending", "pending", "pending", "discarded", "discarded"]);
}

#[test]
fn a_whole_topic_is_changed_only_when_that_is_said() {
    let folder = folder();
    let ids = ids(&folder);
    said(
        &outbox(&folder, &["redrive"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: which messages?
  = help: name their ids, or `--topic TOPIC --all` (`landonce outbox redrive --help`)

"#]],
    );
    said(
        &outbox(&folder, &["redrive", "--topic", "orders"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: that would redrive every message of `orders` that it can be done with
  = help: add `--all` if that is meant, or name the messages' ids

"#]],
    );
    said(
        &outbox(&folder, &["redrive", "--all", &ids[0]]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: ids and --all
  = help: name messages, or take all of a topic

"#]],
    );
    assert_eq!(states(&folder), ["pending", "pending", "sent", "dead", "dead", "pending"]);
    assert_eq!(outbox(&folder, &["discard", &ids[3]]).code, 0);
    said(
        &outbox(&folder, &["redrive", "--topic", "orders", "--all"]),
        str![[r#"
exit 0
--- stdout
redriven 1 message
--- stderr

"#]],
    );
    assert_eq!(
        states(&folder),
        ["pending", "pending", "sent", "discarded", "pending", "pending"],
        "what a person has discarded stays so unless it is asked for"
    );
    said(
        &outbox(&folder, &["redrive", "--topic", "orders", "--all", "--state", "discarded"]),
        str![[r#"
exit 0
--- stdout
redriven 1 message
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["resend", "--topic", "orders", "--all"]),
        str![[r#"
exit 0
--- stdout
resent 1 message
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["retry", "--topic", "orders", "--all"]),
        str![[r#"
exit 0
--- stdout
retried 1 message
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["discard", "--topic", "orders", "--all"]),
        str![[r#"
exit 0
--- stdout
discarded 4 messages
--- stderr

"#]],
    );
    assert_eq!(
        states(&folder),
        ["discarded", "pending", "discarded", "discarded", "discarded", "pending"],
        "what a worker holds stays"
    );
}

#[test]
fn a_topics_figures_are_told_in_three_forms() {
    let folder = folder();
    sql(
        &folder,
        "INSERT INTO landonce_outbox_pause VALUES ('orders', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '3630 seconds'), '429')",
    );
    said(
        &outbox(&folder, &["stats"]),
        str![[r#"
exit 0
--- stdout
topic                 pending  leased  retrying  attempts  oldest  dead  pause
bells "and\whistles"  1        0       0         0         2d 1h   0
orders                2        1       1         1         2d 1h   2     1h 0m more: 429
--- stderr

"#]],
    );
    let json = outbox(&folder, &["stats", "--output", "json"]).json();
    let topics = json["topics"].as_array().unwrap();
    assert_eq!(topics.len(), 2, "{json}");
    let orders = &topics[1];
    for (field, value) in [("pending", 2), ("leased", 1), ("retrying", 1), ("attempts", 1), ("dead", 2)] {
        assert_eq!(orders[field], value, "{field} of {json}");
    }
    let oldest = orders["oldest_seconds"].as_f64().unwrap();
    assert!((49.0 * 3_600.0..49.1 * 3_600.0).contains(&oldest), "{json}");
    assert_eq!(orders["pause_reason"], "429");
    let prometheus = outbox(&folder, &["stats", "--output", "prometheus"]);
    assert_eq!(prometheus.code, 0, "{prometheus}");
    let lines: Vec<&str> = prometheus.stdout.lines().collect();
    for line in [
        "# TYPE landonce_outbox_pending gauge",
        "landonce_outbox_pending{topic=\"orders\"} 2",
        "landonce_outbox_leased{topic=\"orders\"} 1",
        "landonce_outbox_dead{topic=\"orders\"} 2",
        r#"landonce_outbox_pending{topic="bells \"and\\whistles\""} 1"#,
        r#"landonce_outbox_paused_seconds{topic="bells \"and\\whistles\""} 0"#,
    ] {
        assert!(lines.contains(&line), "{line} in {prometheus}");
    }
    said(
        &folder.run(&["status", "--output", "prometheus"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: --output prometheus is for figures
  = help: `landonce outbox stats` has some

"#]],
    );
}

#[test]
fn pruning_forgets_what_was_done_with_long_ago() {
    let folder = folder();
    said(
        &outbox(&folder, &["prune", "--older-than", "3d"]),
        str![[r#"
exit 0
--- stdout
pruned 0 messages
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["prune", "--older-than", "36h"]),
        str![[r#"
exit 0
--- stdout
pruned 1 message
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["prune", "--older-than", "36h", "--output", "json"]),
        str![[r#"
exit 0
--- stdout
{
  "status": "pruned",
  "count": 0
}
--- stderr

"#]],
    );
    assert_eq!(states(&folder), ["pending", "pending", "dead", "dead", "pending"]);
    let wrong = outbox(&folder, &["prune", "--older-than", "soon"]);
    assert_eq!(wrong.code, 2, "{wrong}");
    assert!(wrong.stderr.contains("a number and a unit are due"), "{wrong}");
}

#[test]
fn looking_makes_no_database_and_a_change_says_what_is_missing() {
    let folder = Folder::new();
    said(
        &outbox(&folder, &["list"]),
        str![[r#"
exit 0
--- stdout
no such message in sqlite:test.db
--- stderr

"#]],
    );
    said(
        &outbox(&folder, &["stats"]),
        str![[r#"
exit 0
--- stdout
nothing waits and nothing is dead in sqlite:test.db
--- stderr

"#]],
    );
    assert_eq!(folder.names(), [""; 0]);
    said(
        &outbox(&folder, &["retry", "--topic", "t", "--all"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error[L0602]: changing messages: landonce's own tables are missing; `landonce setup` makes them
  = help: landonce explain L0602

"#]],
    );
}

#[test]
fn a_pause_is_ended_by_a_person() {
    let folder = folder();
    sql(
        &folder,
        "INSERT INTO landonce_outbox_pause VALUES ('orders', strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '1 day'), '429')",
    );
    let paused = |folder: &Folder| {
        let topics = outbox(folder, &["stats", "--output", "json"]).json();
        topics["topics"].as_array().unwrap().iter().any(|topic| topic["paused_seconds"].is_number())
    };
    assert!(paused(&folder));
    let ran = outbox(&folder, &["resume", "--topic", "orders"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "orders goes on\n"), "{ran}");
    assert!(!paused(&folder));
    let again = outbox(&folder, &["resume", "--topic", "orders", "--output", "json"]);
    assert_eq!((again.code, &again.json()["status"]), (1, &"not_paused".into()), "{again}");
}
