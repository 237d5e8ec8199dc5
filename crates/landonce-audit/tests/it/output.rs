//! The report is valid SARIF, says where and why for people, and an allowed finding is in it with its reason.

use std::path::PathBuf;

use landonce_audit::{Options, Report, audit, report};

/// Two files: a finding, the same finding allowed, a bad and an unused comment, and SQL that only the run knows.
async fn audited(folder: &std::path::Path) -> Report {
    std::fs::write(
        folder.join("load.py"),
        "import psycopg\n\
         def load(cur, k, table):\n\
         \x20   cur.execute(\"SELECT 1 FROM orders WHERE k = %s\", (k,))\n\
         \x20   if cur.fetchone() is None:\n\
         \x20       cur.execute(\"INSERT INTO orders (k) VALUES (%s)\", (k,))\n\
         def again(cur, k):\n\
         \x20   cur.execute(\"SELECT 1 FROM orders WHERE k = %s\", (k,))\n\
         \x20   if cur.fetchone() is None:\n\
         \x20       # landonce: allow check-then-insert one writer, and a lock on the queue\n\
         \x20       cur.execute(\"INSERT INTO orders (k) VALUES (%s)\", (k,))\n\
         \x20   # landonce: allow check-then-insert\n\
         \x20   # landonce: allow no-such-rule because\n\
         \x20   # landonce: allow period-from-clock nothing here\n\
         def other(cur, table):\n\
         \x20   cur.execute(f\"DELETE FROM {table}\")\n",
    )
    .unwrap();
    std::fs::write(folder.join("t able.sql"), "CREATE TABLE orders (k text NOT NULL);\nNOT SQL AT ALL;\n")
        .unwrap();
    audit(&Options {
        paths: vec![folder.to_path_buf()],
        only: vec!["check-then-insert".into(), "period-from-clock".into()],
        ..Options::default()
    })
    .await
    .unwrap()
}

fn rules(report: &Report) -> Vec<(&'static str, usize)> {
    report.findings.iter().map(|it| (it.rule, it.line)).collect()
}

#[tokio::test]
async fn a_comment_with_a_reason_silences_one_finding_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let report = audited(folder.path()).await;
    assert_eq!(
        rules(&report),
        [("check-then-insert", 5), ("bad-allow", 11), ("bad-allow", 12), ("unused-allow", 13)]
    );
    let allowed: Vec<_> =
        report.allowed.iter().map(|it| (it.finding.rule, it.finding.line, it.reason.as_str())).collect();
    assert_eq!(allowed, [("check-then-insert", 10, "one writer, and a lock on the queue")]);
    assert_eq!(report.exit_code(), 1);
}

#[tokio::test]
async fn what_is_not_read_is_listed_and_does_not_decide() {
    let folder = tempfile::tempdir().unwrap();
    let report = audited(folder.path()).await;
    let unread: Vec<_> = report.unread.iter().map(|it| (it.line, it.message.as_str())).collect();
    assert_eq!(unread.len(), 2, "{unread:?}");
    assert_eq!(unread[0], (15, "the SQL is assembled at run time from `table`"));
    assert!(unread[1].1.starts_with("the SQL doesn't parse"), "{unread:?}");
    let only_unread = Report { findings: Vec::new(), ..report };
    assert_eq!(only_unread.exit_code(), 0);
    assert_eq!(Report { statements: 0, ..only_unread }.exit_code(), 2);
}

#[tokio::test]
async fn sarif_holds_to_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let report = audited(folder.path()).await;
    // One of its patterns has a lone bracket, which only lenient engines take for itself.
    let schema = include_str!("../fixtures/sarif-schema-2.1.0.json").replace("{2}]?$", r"{2}\\]?$");
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let sarif: serde_json::Value = serde_json::from_str(&report::sarif(&report)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&sarif).map(|it| format!("{} at {}", it, it.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), report.findings.len() + report.unread.len() + report.allowed.len());
    let suppressed: Vec<_> =
        results.iter().filter_map(|it| it["suppressions"][0]["justification"].as_str()).collect();
    assert_eq!(suppressed, ["one writer, and a lock on the queue"]);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(sarif["runs"][0]["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
    // The schema refuses what isn't SARIF: else the test above would hold for anything.
    let mut broken = sarif;
    broken["runs"][0]["results"][0]["level"] = "fatal".into();
    assert!(!validator.is_valid(&broken));
}

#[tokio::test]
async fn the_terminal_underlines_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let report = audited(folder.path()).await;
    let text = report::terminal(&report, false).replace(&folder.path().display().to_string(), "DIR");
    insta::assert_snapshot!(text, @r#"
error[check-then-insert]: a query looks for the row before it is inserted: two runs at once both insert into orders, as the table has no unique key
 --> DIR/load.py:5:22
  |
5 |         cur.execute("INSERT INTO orders (k) VALUES (%s)", (k,))
  |                      ^^^^^^^^^^^^^^^^^^
  = why: Two runs at once both look, both find nothing and both insert; the check is worth nothing without a unique key or a lock.
  = fix: Let the database decide: CREATE UNIQUE INDEX ON orders (the columns that identify a row); INSERT INTO orders … ON CONFLICT (the columns that identify a row) DO NOTHING, and look at the row count instead. (look before you apply it)
  = docs: docs/reference/audit/check-then-insert.md

error[bad-allow]: `check-then-insert` is allowed without a reason
  --> DIR/load.py:11:7
   |
11 |     # landonce: allow check-then-insert
   |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = why: A finding that is silenced without a reason, or under a name that no rule has, can't be judged by the next reader.
   = fix: Say why: `landonce: allow check-then-insert because …`. (look before you apply it)
   = docs: docs/reference/audit/bad-allow.md

error[bad-allow]: there is no rule `no-such-rule`
  --> DIR/load.py:12:7
   |
12 |     # landonce: allow no-such-rule because
   |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = why: A finding that is silenced without a reason, or under a name that no rule has, can't be judged by the next reader.
   = fix: Name a rule that exists: `landonce: allow rule-id reason`. (look before you apply it)
   = docs: docs/reference/audit/bad-allow.md

warning[unused-allow]: `period-from-clock` finds nothing here
  --> DIR/load.py:13:7
   |
13 |     # landonce: allow period-from-clock nothing here
   |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = why: A comment that silences nothing will silence what comes to stand there later.
   = fix: Remove the comment. (the fix is safe)
   = docs: docs/reference/audit/unused-allow.md

could not read
  DIR/load.py:15:19: the SQL is assembled at run time from `table`
  DIR/t able.sql:2:1: the SQL doesn't parse: Expected: an SQL statement, found: NOT

allowed[check-then-insert] DIR/load.py:10: one writer, and a lock on the queue

3 errors, 1 warning, 1 allowed, 2 places could not be read in 2 files, 6 statements
"#);
    assert!(report::terminal(&report, true).contains("\u{1b}["));
}

#[tokio::test]
async fn json_has_what_the_report_has() {
    let folder = tempfile::tempdir().unwrap();
    let report = audited(folder.path()).await;
    let json: serde_json::Value = serde_json::from_str(&report::json(&report)).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["findings"].as_array().unwrap().len(), report.findings.len());
    assert_eq!(json["findings"][0]["line"], 5);
}

#[tokio::test]
async fn a_rule_or_a_path_that_is_not_there_is_an_error() {
    let options = Options { only: vec!["nope".into()], ..Options::default() };
    assert!(audit(&options).await.unwrap_err().to_string().contains("there is no rule `nope`"));
    let options = Options { paths: vec![PathBuf::from("/no/such/path")], ..Options::default() };
    assert!(audit(&options).await.unwrap_err().to_string().contains("/no/such/path"));
}
