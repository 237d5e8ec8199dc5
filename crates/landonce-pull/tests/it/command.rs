//! A program's output lands when the program has ended well, and not before (C33, F4); nothing of it stays behind.

use std::path::Path;

use landonce_testkit::wait;

use crate::given::{Target, counts, pipeline};

/// A pipeline that runs a shell's script in a folder.
fn of(script: &str, folder: &Path, more: &str) -> landonce::Pipeline {
    std::fs::write(folder.join("script.sh"), script).unwrap();
    pipeline(&format!(
        "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{id: integer}}}}\nsource:\n  command:\n    run: [sh, script.sh]\n    folder: '{}'\n{more}",
        folder.display()
    ))
}

const THREE: &str = "printf '{\"id\":1,\"n\":12345678901234567890.10}\\n{\"id\":2}\\n{\"id\":3}\\n'\n";

async fn is_gone(pid: &str) {
    let stat = format!("/proc/{}/stat", pid.trim());
    wait::until(30, "the process's end", async || {
        // A process that is dead and not yet reaped is gone, too.
        let is_there = std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        (!is_there).then_some(())
    })
    .await;
}

#[tokio::test]
async fn output_lands_exactly_and_a_second_run_lands_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = of(THREE, folder.path(), "");
    for target in Target::both().await {
        assert_eq!(counts(&target.fetch(&pipeline).await.unwrap()), [3, 3, 0, 0]);
        let state = target.state().await;
        target.fetch(&pipeline).await.unwrap();
        state.assert_same(&target.state().await);
    }
    let target = Target::sqlite();
    target.fetch(&pipeline).await.unwrap();
    assert_eq!(target.rows("SELECT payload FROM t WHERE id = 1"), [["{\"n\":12345678901234567890.10}"]]);
    // Another output, and the first one again: each is a change (A, B, A).
    for (script, want) in
        [("echo '{\"id\":2,\"n\":5}'", [1, 0, 1, 0]), (THREE, [3, 0, 1, 2]), ("", [0, 0, 0, 0])]
    {
        assert_eq!(counts(&target.fetch(&of(script, folder.path(), "")).await.unwrap()), want);
    }
}

#[tokio::test]
async fn a_program_that_fails_lands_nothing_and_its_last_words_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for (end, want) in [
        ("echo it broke: $KEY >&2; exit 3", "exit code 3; its last words:\n  it broke: ***"),
        ("kill -9 $$", "killed by signal 9; it said nothing"),
        ("yes line | head -c 100000 >&2; echo the last >&2; exit 1", "line\n  the last"),
    ] {
        let target = Target::sqlite();
        // PATH stands for a secret that every environment has.
        let more = "    env: {KEY: '${PATH}'}\n";
        let told = target.fetch(&of(&format!("{THREE}{end}"), folder.path(), more)).await.unwrap_err();
        assert!(told.to_string().contains(want), "{told}");
        assert!(told.to_string().len() < 1000, "{told}");
        assert_eq!(told.code().as_str(), "L1125");
        assert_eq!(target.rows("SELECT count(*) FROM landonce_inbox"), [["0"]]);
    }
    let absent = pipeline(
        "pipeline: p\nidentity: [id]\ntarget: {table: t}\nsource: {command: {run: [no-such-program]}}",
    );
    let told = Target::sqlite().fetch(&absent).await.unwrap_err().to_string();
    assert!(told.contains("`no-such-program` can't be started: it isn't there"), "{told}");
}

#[tokio::test]
async fn a_program_whose_time_is_over_is_killed_with_all_it_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{THREE}sleep 600 & echo $! > child\necho waiting >&2\nwait\n");
    let target = Target::sqlite();
    let told =
        target.fetch(&of(&script, folder.path(), "    timeout: 700ms\n")).await.unwrap_err().to_string();
    assert!(told.contains("still running after 0.7 s") && told.contains("waiting"), "{told}");
    is_gone(&std::fs::read_to_string(folder.path().join("child")).unwrap()).await;
    assert_eq!(target.rows("SELECT count(*) FROM landonce_inbox"), [["0"]]);
    // One that closes its output and goes on says nothing, either.
    let script = format!("{THREE}exec >&-\nsleep 600\n");
    let told =
        target.fetch(&of(&script, folder.path(), "    timeout: 700ms\n")).await.unwrap_err().to_string();
    assert!(told.contains("still running"), "{told}");
}

#[tokio::test]
async fn a_run_that_is_stopped_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let pipeline = of("sleep 600 & echo $! > part; mv part child\nwait\n", folder.path(), "");
    let target = Target::sqlite();
    let child = folder.path().join("child");
    let started = wait::until(30, "the program's start", async || std::fs::read_to_string(&child).ok());
    let pid = tokio::select! {
        ended = target.fetch(&pipeline) => panic!("{ended:?}"),
        pid = started => pid,
    };
    is_gone(&pid).await;
}

#[tokio::test]
async fn what_a_program_leaves_running_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("{THREE}sleep 600 > /dev/null 2>&1 & echo $! > child\n");
    assert_eq!(counts(&Target::sqlite().fetch(&of(&script, folder.path(), "")).await.unwrap()), [3, 3, 0, 0]);
    is_gone(&std::fs::read_to_string(folder.path().join("child")).unwrap()).await;
}

#[tokio::test]
async fn a_program_has_its_own_environment_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    // Cargo sets this one for every test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let script = "[ -z \"$CARGO_MANIFEST_DIR\" ] && [ -n \"$PATH\" ] && [ \"$MORE\" = 'a b' ] || exit 9\n";
    let pipeline = of(&format!("{script}{THREE}"), folder.path(), "    env: {MORE: a b}\n");
    assert_eq!(counts(&Target::sqlite().fetch(&pipeline).await.unwrap()), [3, 3, 0, 0]);
    let unset = of(THREE, folder.path(), "    env: {MORE: '${LANDONCE_NO_SUCH}'}\n");
    let told = Target::sqlite().fetch(&unset).await.unwrap_err().to_string();
    assert!(told.contains("source.command.env.MORE") && told.contains("LANDONCE_NO_SUCH"), "{told}");
}

#[tokio::test]
async fn a_period_is_put_in_and_a_snapshot_is_proven_by_the_programs_end() {
    let folder = tempfile::tempdir().unwrap();
    let days = pipeline(&format!(
        "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{id: text, day: date}}}}\nwrite: {{mode: overwrite_period, period: {{field: day, every: day, tz: UTC}}}}\n\
         source:\n  format: csv\n  command:\n    run: [printf, 'id,day\\n%s,%s\\n', 'x{{period.date}}', '{{period.date}}']\n    folder: '{}'\n",
        folder.path().display()
    ));
    let target = Target::sqlite();
    for day in ["2026-03-01", "2026-03-02", "2026-03-01"] {
        target.fetch(&days.in_period(day).unwrap()).await.unwrap();
    }
    assert_eq!(
        target.rows("SELECT id, day FROM t ORDER BY id"),
        [["x2026-03-01", "2026-03-01"], ["x2026-03-02", "2026-03-02"]]
    );
    assert!(target.fetch(&days).await.unwrap_err().to_string().contains("--period"));

    let target = Target::sqlite();
    let more = "  format: ndjson\nwrite: {mode: snapshot, absent: retire, plausible: {rows: 100%, retired: 100%, changed: 100%}}\n";
    target.fetch(&of(THREE, folder.path(), more)).await.unwrap();
    assert!(target.fetch(&of("echo '{\"id\":1}'; exit 1", folder.path(), more)).await.is_err());
    assert_eq!(target.rows("SELECT count(*) FROM t WHERE landonce_retired_at IS NULL"), [["3"]]);
    target.fetch(&of("echo '{\"id\":1}'; echo '{\"id\":3}'", folder.path(), more)).await.unwrap();
    assert_eq!(target.rows("SELECT id FROM t WHERE landonce_retired_at IS NOT NULL"), [["2"]]);
}
