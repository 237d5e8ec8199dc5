//! Every class has a small broken pipeline that is caught with the right class, and a mended twin that passes (X1, J2).
//!
//! `fixtures/manifest.json` lists them all; here each class runs in psycopg and as a shell script around psql, or in the
//! languages that it has, under its own scenario. Those of MariaDB run in `mysql/fixtures.rs`, by the same code.

use std::path::{Path, PathBuf};
use std::time::Duration;

use landonce_prove::{Plan, Report, Scenario, Verdict};
use landonce_testkit::{mariadb, postgres};

#[derive(serde::Deserialize)]
struct Case {
    class: String,
    scenario: String,
    language: String,
    file: String,
    setup: Option<String>,
    input: Option<String>,
    expect: Vec<String>,
    extra_args: Vec<String>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn cases() -> Vec<Case> {
    let manifest = std::fs::read_to_string(fixtures().join("manifest.json")).unwrap();
    serde_json::from_str(&manifest).unwrap()
}

/// Which classes have twins for MariaDB, and in which languages.
pub(crate) fn mysql_twins() -> Vec<(String, String)> {
    let mut twins: Vec<_> =
        cases().into_iter().filter(Case::is_mysql).map(|case| (case.class, case.language)).collect();
    twins.sort();
    twins.dedup();
    twins
}

/// The Python that has psycopg, asyncpg and PyMySQL; `scripts/test` makes one.
fn python() -> String {
    std::env::var("LANDONCE_TEST_PYTHON").unwrap_or_else(|_| "python3".into())
}

impl Case {
    fn is_mysql(&self) -> bool {
        self.language.starts_with("mysql.")
    }

    fn is_shell(&self) -> bool {
        Path::new(&self.file).extension().is_some_and(|extension| extension == "sh")
    }

    /// The shell command that makes the tables.
    fn setup(&self) -> Option<String> {
        let file = Path::new(self.setup.as_ref()?).file_name().unwrap().to_str().unwrap();
        Some(if self.is_mysql() {
            format!("mariadb {MARIADB} <{file}")
        } else {
            format!("psql -X -q -v ON_ERROR_STOP=1 -f {file} \"$DATABASE_URL\"")
        })
    }

    async fn prove(&self) -> Report {
        if self.is_mysql() {
            let database = mariadb::database().await;
            landonce_prove::prove(&plan(self, &database.url()), &mut |_| {}).await.unwrap()
        } else {
            let database = postgres::database().await;
            landonce_prove::prove(&plan(self, &database.url()), &mut |_| {}).await.unwrap()
        }
    }
}

/// Where `mariadb` finds the clone.
const MARIADB: &str = "--no-defaults --skip-ssl --host=\"$MYSQL_HOST\" --port=\"$MYSQL_TCP_PORT\" \
                       --user=\"$MYSQL_USER\" \"$MYSQL_DATABASE\"";

fn plan(case: &Case, url: &str) -> Plan {
    let folder = fixtures().join(Path::new(&case.file).parent().unwrap());
    let name = Path::new(&case.file).file_name().unwrap().to_str().unwrap().to_owned();
    let program = if case.is_shell() { "bash".to_owned() } else { python() };
    let scenario = Scenario::ALL.into_iter().find(|scenario| scenario.name() == case.scenario).unwrap();
    let command = [vec![program, name, "{input}".into()], case.extra_args.clone()].concat();
    // Two at once meet at every write of these small programs; elsewhere some moments do.
    let trials = if scenario == Scenario::Together { 8 } else { 6 };
    let mut plan = Plan::new(url, command).folder(folder).scenarios([scenario]).trials(trials);
    if case.class == "hangs" {
        plan = plan.timeout(Duration::from_secs(8));
    }
    if let Some(setup) = case.setup() {
        plan = plan.setup(setup);
    }
    if let Some(input) = &case.input {
        plan = plan.input(fixtures().join(input));
    }
    plan
}

fn classes(report: &Report) -> Vec<&str> {
    let findings = report.scenarios.iter().flat_map(|scenario| &scenario.findings);
    findings.map(|finding| finding.class.name()).collect()
}

pub(crate) async fn both_twins(class: &str, language: &str) {
    let mut seen = (0, 0);
    let twins = cases().into_iter().filter(|case| case.class == class && case.language == language);
    for case in twins {
        let report = case.prove().await;
        if case.expect.is_empty() {
            seen.1 += 1;
            assert_eq!(report.verdict, Verdict::Safe, "{}\n{report}", case.file);
        } else {
            seen.0 += 1;
            for expected in &case.expect {
                assert!(
                    classes(&report).contains(&expected.as_str()),
                    "{}: no {expected}\n{report}",
                    case.file
                );
            }
        }
    }
    assert!(seen.0 > 0 && seen.1 > 0, "{class} has no {language} twins: {seen:?}");
}

/// `class: languages`, one test a class.
macro_rules! every_class {
    ($($name:ident: $class:literal in $($language:literal)+;)*) => {
        $(#[tokio::test]
        async fn $name() {
            $(both_twins($class, $language).await;)+
        })*

        #[test]
        fn no_class_is_left_out() {
            let here = [$($class),*];
            for case in cases() {
                assert!(here.contains(&case.class.as_str()), "{}", case.class);
            }
        }
    };
}

every_class! {
    appended: "appended" in "psycopg" "asyncpg" "sh";
    accumulated: "accumulated" in "psycopg" "sh";
    removed: "removed" in "psycopg";
    restamped: "restamped" in "psycopg" "sh";
    rewritten: "rewritten" in "psycopg";
    renumbered: "renumbered" in "psycopg";
    blind_replay: "blind-replay" in "psycopg" "asyncpg";
    false_success: "false-success" in "psycopg" "sh";
    partial_load: "partial-load" in "psycopg" "sh";
    half_visible: "half-visible" in "psycopg";
    bookkeeping_apart: "bookkeeping-apart" in "psycopg";
    staging_left: "staging-left" in "psycopg";
    prepared_left: "prepared-left" in "psycopg";
    stuck: "stuck" in "psycopg";
    hangs: "hangs" in "psycopg";
    check_then_insert: "check-then-insert" in "psycopg" "asyncpg";
    shared_staging: "shared-staging" in "psycopg";
    not_retried: "not-retried" in "psycopg";
    statement_retry: "statement-retry" in "psycopg";
    futile_retry: "futile-retry" in "psycopg";
    delete_by_absence: "delete-by-absence" in "psycopg" "sh";
    torn_record: "torn-record" in "psycopg";
    period_from_clock: "period-from-clock" in "psycopg" "sh";
    effect_repeated: "effect-repeated" in "psycopg";
    effect_lost: "effect-lost" in "psycopg";
}
