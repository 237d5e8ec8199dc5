//! Pipelines that look right on an empty table, or by their exit code, and aren't: each was called safe once.

use landonce_prove::{Class, Plan, Report, Scenario, Weight};
use landonce_testkit::postgres;

const SCHEMA: &str = "psql -X -q -v ON_ERROR_STOP=1 \"$DATABASE_URL\" -c \
     'CREATE TABLE reading (day date, n int); CREATE TABLE customer (id int PRIMARY KEY, gone_at timestamptz)'";

async fn proved(scenario: Scenario, script: &str, input: &str) -> Report {
    let url = postgres::database().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in.csv");
    std::fs::write(&file, input).unwrap();
    let words = ["sh", "-e", "-c", script, "sh", "{input}"];
    let plan = Plan::new(url.url(), words)
        .setup(SCHEMA)
        .folder(folder.path())
        .input(file)
        .scenarios([scenario])
        .trials(2);
    landonce_prove::prove(&plan, &mut |_| {}).await.unwrap()
}

fn classes(report: &Report) -> Vec<Class> {
    let findings = report.scenarios.iter().flat_map(|scenario| &scenario.findings);
    findings.map(|finding| finding.class).collect()
}

#[tokio::test]
async fn a_period_that_is_emptied_in_a_transaction_of_its_own_is_seen_in_a_repeat() {
    let script = "psql -X -q -v ON_ERROR_STOP=1 <<SQL\n\
        DELETE FROM reading WHERE day = '2026-06-01';\n\
        INSERT INTO reading SELECT '2026-06-01', g FROM generate_series(1, 9) g;\nSQL";
    let report = proved(Scenario::Killed, script, "1\n").await;
    assert_eq!(classes(&report), [Class::HalfVisible], "{report}");
    let one = script.replace("DELETE", "BEGIN;\nDELETE").replace("\nSQL", "\nCOMMIT;\nSQL");
    let report = proved(Scenario::Killed, &one, "1\n").await;
    assert_eq!(classes(&report), [], "{report}");
}

#[tokio::test]
async fn rows_marked_as_gone_with_the_time_of_it_are_deleted_by_absence() {
    let script = "psql -X -q -v ON_ERROR_STOP=1 <<SQL\n\
        BEGIN;\nCREATE TEMP TABLE s (id int);\n\\copy s FROM '$1' CSV\n\
        INSERT INTO customer SELECT id FROM s ON CONFLICT DO NOTHING;\n\
        UPDATE customer SET gone_at = now() WHERE gone_at IS NULL AND id NOT IN (SELECT id FROM s);\nCOMMIT;\nSQL";
    let report = proved(Scenario::Truncated, script, "1\n2\n3\n4\n").await;
    assert_eq!(classes(&report), [Class::DeleteByAbsence], "{report}");
}

#[tokio::test]
async fn less_in_staging_is_a_remark() {
    let script = "psql -X -q -v ON_ERROR_STOP=1 <<SQL\n\
        CREATE TABLE IF NOT EXISTS stg_customer (id int);\nBEGIN;\nTRUNCATE stg_customer;\n\\copy stg_customer FROM '$1' CSV\n\
        INSERT INTO customer SELECT id FROM stg_customer ON CONFLICT DO NOTHING;\nCOMMIT;\nSQL";
    let report = proved(Scenario::Truncated, script, "1\n2\n3\n4\n").await;
    let found: Vec<_> = report.scenarios.iter().flat_map(|scenario| &scenario.findings).collect();
    assert!(!found.is_empty(), "{report}");
    for finding in found {
        assert_eq!((finding.class, finding.weight), (Class::DeleteByAbsence, Weight::Remark), "{report}");
    }
}

#[tokio::test]
async fn a_webhook_is_there_in_every_run_and_calls_go_nowhere() {
    let script = "test -n \"$2\" && test -n \"$HTTPS_PROXY\" && psql -X -q -v ON_ERROR_STOP=1 -c \
        'INSERT INTO customer VALUES (1) ON CONFLICT DO NOTHING'";
    let url = postgres::database().await;
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan::new(url.url(), ["sh", "-c", script, "sh", "x", "{hook}"])
        .setup(SCHEMA)
        .folder(folder.path())
        .scenarios([Scenario::Twice]);
    let report = landonce_prove::prove(&plan, &mut |_| {}).await.unwrap();
    assert_eq!(report.exit_code(), 0, "{report}");
}

#[tokio::test]
async fn a_command_that_names_the_original_itself_does_not_reach_it() {
    let url = postgres::database().await;
    url.client().await.batch_execute("CREATE TABLE reading (n int)").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let original = url.name().to_owned();
    let script = format!("psql -X -q -d {original} -c 'INSERT INTO reading VALUES (1)'");
    let plan = Plan::new(url.url(), ["sh", "-c", &script]).folder(folder.path()).scenarios([Scenario::Twice]);
    let report = landonce_prove::prove(&plan, &mut |_| {}).await.unwrap();
    assert_eq!(report.exit_code(), 2, "{report}");
    assert!(report.to_string().contains("clone only"), "{report}");
    let rows = url.client().await.query_one("SELECT count(*) FROM reading", &[]).await.unwrap();
    assert_eq!(rows.get::<_, i64>(0), 0, "{report}");
}
