//! Faults that more than one class could be said of: each is called what it is, so that the fix fits.

use landonce_prove::{Class, Plan, Report, Scenario};
use landonce_testkit::postgres;

const SCHEMA: &str = "psql -X -q -v ON_ERROR_STOP=1 \"$DATABASE_URL\" -c \
     'CREATE TABLE reading (day date, n int); CREATE TABLE mark (name text PRIMARY KEY); \
      CREATE TABLE account (id int PRIMARY KEY, balance int); INSERT INTO account VALUES (1, 100)'";

/// Every transaction of the script is one `-c`.
async fn proved(scenario: Scenario, script: &str) -> Report {
    let url = postgres::database().await;
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan::new(url.url(), ["bash", "-e", "-c", script])
        .setup(SCHEMA)
        .folder(folder.path())
        .scenarios([scenario])
        .trials(8);
    landonce_prove::prove(&plan, &mut |_| {}).await.unwrap()
}

fn found(report: &Report) -> Vec<(Class, &str)> {
    let findings = report.scenarios.iter().flat_map(|scenario| &scenario.findings);
    findings.map(|finding| (finding.class, finding.message.as_str())).collect()
}

fn classes(report: &Report) -> Vec<Class> {
    found(report).into_iter().map(|(class, _)| class).collect()
}

/// The sum is added to only if the mark is new, in a transaction of its own.
const MARKED_APART: &str = "new=$(psql -X -q -A -t -v ON_ERROR_STOP=1 -c \
     \"INSERT INTO mark VALUES ('a') ON CONFLICT DO NOTHING RETURNING name\")\n\
     test -z \"$new\" || psql -X -q -v ON_ERROR_STOP=1 -c 'UPDATE account SET balance = balance + 10'";

#[tokio::test]
async fn a_sum_that_is_not_added_to_after_a_lost_answer_is_no_replay() {
    let report = proved(Scenario::AckLost, MARKED_APART).await;
    assert_eq!(classes(&report), [Class::BookkeepingApart], "{report}");
}

#[tokio::test]
async fn rows_that_are_missing_after_a_lost_answer_were_marked_as_done() {
    let script = MARKED_APART
        .replace("UPDATE account SET balance = balance + 10", "INSERT INTO reading VALUES (NULL, 1)");
    let report = proved(Scenario::AckLost, &script).await;
    assert_eq!(classes(&report), [Class::BookkeepingApart], "{report}");
}

#[tokio::test]
async fn an_append_whose_answer_was_lost_is_a_replay() {
    let script = "psql -X -q -v ON_ERROR_STOP=1 -c 'INSERT INTO reading VALUES (NULL, 1)'";
    let report = proved(Scenario::AckLost, script).await;
    assert_eq!(classes(&report), [Class::BlindReplay], "{report}");
}

/// A lock that is a row: whoever dies while holding it holds it for ever.
const LOCK_ROW: &str = "psql -X -q -v ON_ERROR_STOP=1 <<SQL\n\
     INSERT INTO mark VALUES ('lock');\n\
     INSERT INTO account VALUES (2, 5) ON CONFLICT DO NOTHING;\n\
     DELETE FROM mark WHERE name = 'lock';\nSQL";

#[tokio::test]
async fn a_lock_that_is_left_makes_later_runs_stuck_also_in_a_repeat() {
    let report = proved(Scenario::Killed, LOCK_ROW).await;
    assert_eq!(classes(&report), [Class::Stuck], "{report}");
    let only_in_a_repeat = LOCK_ROW.replace(
        "INSERT INTO mark VALUES ('lock')",
        "INSERT INTO mark SELECT 'lock' WHERE EXISTS (SELECT FROM account WHERE id = 2)",
    );
    let report = proved(Scenario::Killed, &only_in_a_repeat).await;
    assert_eq!(classes(&report), [Class::Stuck], "{report}");
}

#[tokio::test]
async fn a_failure_that_leaves_later_runs_stuck_was_not_made_good() {
    let report = proved(Scenario::Refused, LOCK_ROW).await;
    let found = found(&report);
    assert!(found.iter().any(|(class, _)| *class == Class::Stuck), "{report}");
    // At the first write nothing is held yet, and the next run does make it good.
    let made_good = report.scenarios.iter().flat_map(|scenario| &scenario.findings);
    for finding in made_good.filter(|finding| finding.class == Class::NotRetried) {
        assert!(finding.trials.iter().all(|trial| trial.contains("at write 1 of")), "{report}");
    }
}

#[tokio::test]
async fn a_period_that_two_replace_at_once_is_in_each_others_way() {
    let script = "psql -X -q -v ON_ERROR_STOP=1 <<SQL\n\
        DELETE FROM reading WHERE day = '2026-06-01';\n\
        INSERT INTO reading VALUES ('2026-06-01', 1), ('2026-06-01', 2);\nSQL";
    let report = proved(Scenario::Together, script).await;
    assert_eq!(classes(&report), [Class::SharedStaging], "{report}");
    let looked = "found=$(psql -X -q -A -t -v ON_ERROR_STOP=1 -c 'SELECT count(*) FROM reading')\n\
        test \"$found\" != 0 || psql -X -q -v ON_ERROR_STOP=1 -c 'INSERT INTO reading VALUES (NULL, 1)'";
    let report = proved(Scenario::Together, looked).await;
    assert_eq!(classes(&report), [Class::CheckThenInsert], "{report}");
}

/// The scenarios for which the index has a dot at this class.
fn documented(class: Class) -> Vec<String> {
    let index = include_str!("../../../../docs/reference/prove/README.md");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().replace('`', "")).collect::<Vec<_>>();
    let head = cells(index.lines().find(|line| line.starts_with("| class |")).unwrap());
    let start = format!("| [{class}](");
    let row = cells(index.lines().find(|line| line.starts_with(&start)).unwrap());
    head.into_iter().zip(row).filter(|(_, cell)| cell == "●").map(|(name, _)| name).collect()
}

#[tokio::test]
async fn the_index_says_where_a_class_is_looked_for() {
    let counted = "psql -X -q -v ON_ERROR_STOP=1 -c 'UPDATE account SET balance = balance + 10'";
    let appended = "psql -X -q -v ON_ERROR_STOP=1 -c 'INSERT INTO reading VALUES (NULL, 1)'";
    let runs = [
        (Scenario::Killed, counted, Class::Accumulated),
        (Scenario::Killed, appended, Class::Appended),
        (Scenario::Together, counted, Class::Accumulated),
        (Scenario::Together, appended, Class::Appended),
        (Scenario::Refused, MARKED_APART, Class::BookkeepingApart),
    ];
    for (scenario, script, class) in runs {
        let report = proved(scenario, script).await;
        assert!(classes(&report).contains(&class), "{report}");
        for class in classes(&report) {
            let documented = documented(class);
            assert!(
                documented.iter().any(|name| name == scenario.name()),
                "{class}: {documented:?}\n{report}"
            );
        }
    }
}
