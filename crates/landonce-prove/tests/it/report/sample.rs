//! Reports as a proof makes them, and one whose every text is hostile.

use std::time::Duration;

use landonce_prove::class::Class;
use landonce_prove::command::Ended;
use landonce_prove::database::Kind;
use landonce_prove::report::{Evidence, LeftOut, Moment, Run, ScenarioReport, TableCounts, Trial};
use landonce_prove::snapshot::{Change, Sample};
use landonce_prove::{Finding, Report, Scenario, Verdict};

fn ended(code: i32, ms: u64, stdout: &str, stderr: &str) -> Ended {
    Ended {
        code: Some(code),
        signal: None,
        is_timed_out: false,
        took: Duration::from_millis(ms),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}

fn run(role: &str, ended: Ended, writes: u64) -> Run {
    Run { role: role.to_owned(), ended, writes: Some(writes) }
}

fn moment(at: u64, what: &str, is_fault: bool) -> Moment {
    Moment { at, what: what.to_owned(), is_fault }
}

fn trial(id: &str, name: &str, verdict: Verdict, timeline: Vec<Moment>, runs: Vec<Run>) -> Trial {
    Trial { name: name.to_owned(), id: id.to_owned(), timeline, runs, verdict, because: None }
}

fn counts(table: &str, after_one: u64, after_two: u64, rewritten: u64) -> TableCounts {
    TableCounts { table: table.to_owned(), before: 0, after_one, after_two, rewritten }
}

fn sample(change: Change, row: &str) -> Sample {
    Sample { change, row: row.to_owned() }
}

fn finding(class: Class, message: &str, tables: Vec<Evidence>, trials: &[&str], only: &str) -> Finding {
    Finding {
        class,
        weight: class.weight(),
        message: message.to_owned(),
        tables,
        statement: None,
        fix: class.fix(Kind::Postgres).to_owned(),
        sql: class.sql(Kind::Postgres).map(str::to_owned),
        docs: class.docs(),
        trials: trials.iter().map(ToString::to_string).collect(),
        replay: format!(
            "landonce prove --db \"$DATABASE_URL\" --input day.ndjson --seed 7 --only {only} -- python ingest.py {{input}}"
        ),
    }
}

fn scenario(
    scenario: Scenario,
    verdict: Verdict,
    because: Option<&str>,
    trials: Vec<Trial>,
    findings: Vec<Finding>,
) -> ScenarioReport {
    ScenarioReport { scenario, verdict, because: because.map(str::to_owned), trials, findings }
}

/// Nothing done yet.
fn empty(verdict: Verdict, because: &str) -> Report {
    Report {
        version: 1,
        landonce: "0.1.0",
        verdict,
        because: because.to_owned(),
        command: ["python", "ingest.py", "{input}"].map(str::to_owned).to_vec(),
        database: "postgres://db.example:5432/dev".to_owned(),
        seed: 7,
        started_at: "2026-03-01T08:30:00Z".to_owned(),
        took: 42.5,
        tables: Vec::new(),
        left_out: Vec::new(),
        scenarios: Vec::new(),
    }
}

fn clean(role: &str) -> Run {
    run(role, ended(0, 640, "loaded 1000 orders\n", ""), 7)
}

fn two_runs(id: &str, verdict: Verdict) -> Trial {
    let timeline = vec![
        moment(0, "first begins", false),
        moment(640, "first ends: exit 0", false),
        moment(700, "repeat begins", false),
        moment(1340, "repeat ends: exit 0", false),
    ];
    trial(id, "run again on the same input", verdict, timeline, vec![clean("first"), clean("repeat")])
}

fn killed(at: u64, verdict: Verdict) -> Trial {
    let name = format!("killed after write {at} of 7 was done (INSERT)");
    let when = 90 * at;
    let timeline = vec![
        moment(0, "faulted begins", false),
        moment(when, &format!("SIGKILL after write {at}"), true),
        moment(when + 60, "clean re-run begins", false),
        moment(when + 700, "clean re-run ends: exit 0", false),
    ];
    let mut faulted = run("faulted", ended(0, when, "", "opening day.ndjson\n"), at);
    faulted.ended.code = None;
    faulted.ended.signal = Some(9);
    trial(&format!("killed-{at}"), &name, verdict, timeline, vec![faulted, clean("clean re-run")])
}

fn of_twice() -> Vec<Finding> {
    let orders = Evidence {
        table: "public.orders".to_owned(),
        expected: 1000,
        found: 2000,
        added: 1000,
        samples: vec![
            sample(Change::Doubled, "id=1001, order_no=A-1, total=10.00, customer=Zürich Handels AG"),
            sample(Change::Doubled, "id=1002, order_no=A-2, total=12.50, customer=東京商事"),
        ],
        ..Evidence::default()
    };
    let mut appended = finding(
        Class::Appended,
        "The second run on the same input added 1,000 rows to public.orders, all of them copies.",
        vec![orders],
        &["run again on the same input"],
        "twice-1",
    );
    appended.statement =
        Some("INSERT INTO orders (order_no, total, customer)\nVALUES ($1, $2, $3)".to_owned());
    let account = |rewritten| Evidence {
        table: "public.account".to_owned(),
        expected: 12,
        found: 12,
        rewritten,
        ..Evidence::default()
    };
    let rewritten = finding(
        Class::Rewritten,
        "The second run wrote 12 rows of public.account anew whose content was equal.",
        vec![account(12)],
        &["run again on the same input"],
        "twice-1",
    );
    vec![appended, rewritten]
}

fn of_killed() -> Vec<Finding> {
    let half = Evidence {
        table: "public.account".to_owned(),
        expected: 12,
        found: 12,
        changed: 4,
        columns: vec!["balance".to_owned()],
        samples: vec![
            sample(Change::Changed, "id=7: balance: 100.00 → 200.00"),
            sample(Change::Changed, "id=9: balance: 31.20 → 62.40"),
            sample(Change::Removed, "id=12, balance=5.00"),
        ],
        ..Evidence::default()
    };
    let mut partial = finding(
        Class::PartialLoad,
        "After a kill at write 3 of 7 and a clean re-run, 4 rows of public.account differ from those of one clean \
         run.",
        vec![half],
        &[
            "killed after write 3 of 7 was done (INSERT)",
            "killed after write 4 of 7 was done (INSERT)",
            "killed after write 5 of 7 was done (INSERT)",
            "killed after write 6 of 7 was done (INSERT)",
        ],
        "killed-3",
    );
    partial.statement = Some("UPDATE account SET balance = balance + $1 WHERE id = $2".to_owned());
    vec![partial]
}

/// A pipeline that appends, commits halfway, and rewrites its accounts.
pub(super) fn violations() -> Report {
    let mut report = empty(Verdict::Violations, "A retry of this pipeline adds rows and changes balances.");
    report.tables = vec![
        counts("public.orders", 1000, 2000, 0),
        counts("public.account", 12, 12, 12),
        counts("public.loaded_file", 1, 1, 0),
    ];
    report.left_out = vec![
        LeftOut { what: "public.orders.id".to_owned(), why: "filled by a sequence".to_owned() },
        LeftOut { what: "public.orders.loaded_at".to_owned(), why: "varies by itself".to_owned() },
    ];
    report.scenarios = vec![
        scenario(
            Scenario::Twice,
            Verdict::Violations,
            None,
            vec![two_runs("twice-1", Verdict::Violations)],
            of_twice(),
        ),
        scenario(
            Scenario::Killed,
            Verdict::Violations,
            None,
            vec![
                killed(1, Verdict::Safe),
                killed(3, Verdict::Violations),
                killed(4, Verdict::Violations),
                killed(5, Verdict::Violations),
                killed(6, Verdict::Violations),
                killed(7, Verdict::Safe),
            ],
            of_killed(),
        ),
        scenario(
            Scenario::Late,
            Verdict::Unjudged,
            Some(
                "libfaketime isn't installed, and the command asks for no time zone: its clock can't be moved",
            ),
            Vec::new(),
            Vec::new(),
        ),
        scenario(
            Scenario::Notified,
            Verdict::Safe,
            Some("no calls to the outside were seen"),
            Vec::new(),
            Vec::new(),
        ),
    ];
    report
}

/// A pipeline that is safe.
pub(super) fn safe() -> Report {
    let mut report = empty(Verdict::Safe, "Every repeat left the tables as one clean run does.");
    report.tables = vec![counts("public.orders", 1_250_000, 1_250_000, 0)];
    report.scenarios = vec![
        scenario(Scenario::Twice, Verdict::Safe, None, vec![two_runs("twice-1", Verdict::Safe)], Vec::new()),
        scenario(
            Scenario::Killed,
            Verdict::Safe,
            None,
            vec![killed(1, Verdict::Safe), killed(7, Verdict::Safe)],
            Vec::new(),
        ),
    ];
    report
}

/// A command that wrote nothing.
pub(super) fn unjudged() -> Report {
    let mut report = empty(Verdict::Unjudged, "the command wrote nothing: no write was seen in a clean run");
    let because = Some("no write was seen");
    let mut trial = two_runs("twice-1", Verdict::Unjudged);
    trial.because = because.map(str::to_owned);
    report.scenarios = vec![scenario(Scenario::Twice, Verdict::Unjudged, because, vec![trial], Vec::new())];
    report
}

/// Every text tries to be something else: an escape sequence, markup, the end of a CDATA section.
pub(super) fn hostile() -> Report {
    let text = || {
        format!(
            "\u{1b}[2J\u{0}\u{8}\u{fffe}\u{ffff}\u{202e}</pre><script>alert(1)</script>\"'&]]>\r\n\ttail {}",
            "x".repeat(300)
        )
    };
    let mut report = violations();
    report.because = text();
    report.command.push(text());
    report.database = text();
    report.tables[0].table = text();
    report.left_out[0].what = text();
    report.left_out[0].why = text();
    let scenario = &mut report.scenarios[0];
    scenario.because = Some(text());
    for finding in &mut scenario.findings {
        finding.message = text();
        finding.statement = Some(text());
        finding.fix = text();
        finding.sql = None;
        "docs".clone_into(&mut finding.docs);
        finding.trials = vec![text()];
        finding.replay = text();
        for evidence in &mut finding.tables {
            evidence.table = text();
            evidence.columns = vec![text()];
            evidence.samples.push(sample(Change::Added, &text()));
        }
    }
    for trial in &mut scenario.trials {
        trial.name = text();
        trial.id = text();
        trial.because = Some(text());
        for moment in &mut trial.timeline {
            moment.what = text();
        }
        for run in &mut trial.runs {
            run.role = text();
            run.ended.stdout = text();
            run.ended.stderr = text();
        }
    }
    report
}
