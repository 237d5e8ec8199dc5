//! Pipelines that are fetched: `run`, `plan` and `backfill` of them (F5).

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use landonce_testkit::dump;
use landonce_testkit::source::{Asked, Does, Server};
use snapbox::str;

use crate::folder::{Folder, Ran, said};

/// Thirty duties, ten a page.
pub(crate) fn page(asked: &Asked) -> Does {
    let from = asked.number("cursor");
    let duty =
        |id: usize| format!(r#"{{"duty_id":{id},"crew":"c{}","updated_at":"2026-03-01T12:00:00Z"}}"#, id % 3);
    let items: Vec<String> = (from..from + 10).map(duty).collect();
    let next = if from < 20 { (from + 10).to_string() } else { "null".into() };
    Does::json(format!(r#"{{"items":[{}],"next":{next}}}"#, items.join(",")))
}

pub(crate) fn honest() -> Server {
    Server::start(|asked, _| page(asked))
}

pub(crate) fn roster(server: &Server) -> Folder {
    let folder = Folder::new();
    folder.write(
        "roster.yaml",
        format!(
            "pipeline: roster\nidentity: [duty_id]\ntarget: {{table: roster, columns: {{duty_id: integer, updated_at: timestamptz}}}}\n\
             source:\n  http:\n    url: {}\n    records: items\n    page: {{cursor: {{param: cursor, from: next}}}}\n    \
             retry: {{attempts: 1}}\n    since: {{param: since, field: updated_at}}\n  batch: {{records: 10}}\n",
            server.url("/roster")
        ),
    );
    folder
}

#[test]
fn a_run_tells_each_piece_and_a_second_run_writes_nothing() {
    let server = honest();
    let folder = roster(&server);
    let run = folder.run(&["run", "roster.yaml"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run}");
    assert_eq!(run.stdout.matches("read 10 = inserted 10").count(), 3, "{run}");
    assert!(run.stdout.contains("3 batches: 3 processed\n  counts    read 30 = inserted 30\n"), "{run}");
    let said = folder.run(&["run", "roster.yaml", "--output", "json"]).json();
    assert_eq!((&said["status"], &said["batches"][0]["unchanged"]), (&"processed".into(), &10.into()));
    assert_eq!(said["batches"].as_array().unwrap().len(), 3);
}

#[test]
fn a_plan_shows_the_first_piece_and_takes_nothing_over() {
    let server = honest();
    let folder = roster(&server);
    let plan = folder.run(&["plan", "roster.yaml", "--output", "json"]).json();
    assert_eq!((&plan["status"], &plan["inserted"]), (&"would_process".into(), &10.into()));
    let plan = folder.run(&["plan", "roster.yaml"]);
    assert!(
        plan.stdout.ends_with("nothing was written; this is the first piece that a run would fetch\n"),
        "{plan}"
    );
    assert_eq!(folder.names(), ["roster.yaml"]);
}

#[test]
fn a_refusal_is_a_failure_with_its_page() {
    let server = Server::start(|_, _| Does::status(401, "who are you?"));
    let folder = roster(&server);
    let ran = folder.run(&["run", "roster.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("error[L1122]: http://127.0.0.1:"), "{ran}");
    assert!(ran.stderr.contains("status 401: who are you?\n  = help: landonce explain L1122\n"), "{ran}");
    let said = folder.run(&["run", "roster.yaml", "--output", "json"]).json();
    assert_eq!(
        (&said["status"], &said["batches"][0]["error"]["code"]),
        (&"failed".into(), &"L1122".into()),
        "{said}"
    );
}

#[test]
fn an_identity_that_no_record_has_is_told_with_what_was_meant() {
    let folder = roster(&honest());
    let yaml = std::fs::read_to_string(folder.path("roster.yaml")).unwrap();
    let server = honest();
    let url = yaml.lines().find_map(|line| line.trim().strip_prefix("url: ")).unwrap().to_owned();
    folder.write("wrong.yaml", yaml.replace("[duty_id]", "[dutyid]").replace(&url, &server.url("/roster")));
    let ran = folder.run(&["run", "wrong.yaml"]);
    assert!(ran.stderr.contains("did you mean `duty_id` by `dutyid`?"), "{ran}");
}

#[test]
fn what_makes_no_sense_beside_a_fetch_is_refused() {
    let folder = roster(&honest());
    said(
        &folder.run(&["run", "roster.yaml", "--batch-id", "x"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: --batch-id for what is fetched: its pieces have ids of their own
  = help: leave --batch-id out, or give the data with --input FILE

"#]],
    );
    let ran = folder.run(&["run", "roster.yaml", "--period", "2026-03-01"]);
    assert!(ran.stderr.contains("isn't loaded by periods"), "{ran}");
}

#[test]
fn periods_are_fetched_one_by_one_and_only_what_is_missing() {
    let server = Server::start(|asked, _| match asked.param("day").as_deref() {
        Some("2026-03-02") => Does::status(404, "no such day"),
        Some(day) => Does::json(format!(r#"[{{"duty_id":"{day}","day":"{day}"}}]"#)),
        None => panic!("which day?"),
    });
    let folder = Folder::new();
    let write = |path: &str| {
        folder.write(
            "days.yaml",
            format!(
                "pipeline: days\nidentity: [duty_id]\ntarget: {{table: days, columns: {{day: date}}}}\n\
                 source: {{http: {{url: '{}{path}', retry: {{attempts: 1}}}}}}\n\
                 write: {{mode: overwrite_period, period: {{field: day, every: day, tz: UTC}}}}\n",
                server.url("/r")
            ),
        );
    };
    write("?day={period.date}");
    let window = ["backfill", "days.yaml", "--from", "2026-03-01", "--to", "2026-03-03", "--output", "json"];
    let ran = folder.run(&window);
    assert_eq!(ran.code, 2, "{ran}");
    let rows = dump::sqlite(folder.path("landonce.db")).rows("days");
    assert_eq!(rows, Some(2));
    let asked = server.asked().len();
    folder.run(&[&window[..], &["--missing"]].concat());
    assert_eq!(server.asked().len(), asked + 1, "only the one that failed");
    let ran = folder.run(&["run", "days.yaml", "--period", "2026-03-01", "--output", "json"]);
    assert_eq!(ran.json()["status"], "skipped_duplicate");

    write("");
    let ran = folder.run(&window);
    assert!(ran.to_string().contains("source.http is the same for every period"), "{ran}");
}

#[test]
fn the_example_lands_its_roster_once() {
    let folder = Folder::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/roster");
    folder.write("roster.yaml", std::fs::read(example.join("roster.yaml")).unwrap());
    let python = std::env::var("LANDONCE_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut api = Command::new(python)
        .arg(example.join("server.py"))
        .env("ROSTER_TOKEN", "any-word")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(api.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let run = || {
        let mut command = folder.command(&["run", "roster.yaml", "--output", "json"]);
        command.env("ROSTER_URL", url.trim()).env("ROSTER_TOKEN", "any-word");
        Ran::of(command)
    };
    let first = run();
    let rows = dump::sqlite(folder.path("roster.db"));
    let second = run();
    api.kill().unwrap();
    api.wait().unwrap();
    assert_eq!((first.code, second.code), (0, 0), "{first}{second}");
    assert_eq!(first.json()["batches"][0]["inserted"], 200);
    assert_eq!(rows.rows("duty"), Some(200));
    assert_eq!(second.json()["status"], "skipped_duplicate");
    let taken = ["epoch", "owner", "taken_at"];
    let but_taken = |dump: dump::Dump| {
        taken.iter().fold(dump, |dump, column| dump.without(&[("landonce_position", column)]))
    };
    but_taken(rows).assert_same(&but_taken(dump::sqlite(folder.path("roster.db"))));
}
