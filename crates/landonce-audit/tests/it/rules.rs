//! Every rule finds what it is for, where it is, and nothing in the mended twin. The files are under `fixtures/<rule>/`; a
//! comment `here: rule-id` marks the place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use landonce_audit::{Options, audit, rule};

/// Every file under a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// The findings in one file, audited beside the tables that all fixtures share: `line rule level message`.
async fn findings(path: &Path) -> Vec<(usize, usize, &'static str, String)> {
    let paths = vec![path.to_path_buf(), fixtures().join("schema.sql")];
    let report = audit(&Options { paths, ..Options::default() }).await.unwrap();
    report.findings.iter().map(|it| (it.line, it.end_line, it.rule, it.message.clone())).collect()
}

fn is_named(path: &Path, start: &str) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(start))
}

#[tokio::test]
async fn what_is_broken_is_found_where_it_is_and_by_its_rule() {
    let mut wrong = Vec::new();
    for rule in rule::all() {
        for path in files(&fixtures().join(rule.id)).iter().filter(|path| is_named(path, "broken")) {
            let text = std::fs::read_to_string(path).unwrap();
            let mark = format!("here: {}", rule.id);
            let marked =
                text.lines().position(|line| line.trim_end().ends_with(&mark)).map(|at| at + 1).unwrap();
            let found = findings(path).await;
            let is_there =
                found.iter().any(|(from, to, id, _)| *id == rule.id && (*from..=*to).contains(&marked));
            if !is_there || found.iter().any(|(_, _, id, _)| *id != rule.id) || found.len() != 1 {
                wrong.push(format!("{} (marked {marked}): {found:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_is_mended_is_left_in_peace() {
    let mut wrong = Vec::new();
    for rule in rule::all() {
        for path in files(&fixtures().join(rule.id)).iter().filter(|path| is_named(path, "mended")) {
            let found = findings(path).await;
            if !found.is_empty() {
                wrong.push(format!("{}: {found:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A program of `prove`, and what sets up its tables.
fn beside_its_tables(program: &Path, twin: &str) -> Vec<PathBuf> {
    let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let on = if name.contains(".mysql.") { ".mysql" } else { "" };
    let tables = [format!("setup{on}.sql"), format!("setup.{twin}{on}.sql")];
    let tables = tables.map(|name| program.with_file_name(name)).into_iter().filter(|path| path.exists());
    std::iter::once(program.to_owned()).chain(tables).collect()
}

/// Alone, as somebody would audit it, and beside its tables.
#[tokio::test]
async fn what_passes_every_proof_has_no_error() {
    let proofs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../landonce-prove/fixtures");
    let mended: Vec<PathBuf> = files(&proofs).into_iter().filter(|path| is_named(path, "mended.")).collect();
    assert!(mended.len() >= 50, "{}", mended.len());
    let mut wrong = Vec::new();
    for path in mended {
        for paths in [vec![path.clone()], beside_its_tables(&path, "mended")] {
            let report = audit(&Options { paths, ..Options::default() }).await.unwrap();
            let errors = report.findings.iter().filter(|it| it.level == rule::Level::Error);
            wrong.extend(errors.map(|it| format!("{}:{} {}", it.file.display(), it.line, it.message)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the audit is said to see of the broken twins.
#[tokio::test]
async fn what_fails_a_proof_by_its_text_is_found() {
    let proofs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../landonce-prove/fixtures");
    let mut wrong = Vec::new();
    for (class, id) in [
        ("accumulated", "counter-without-inbox"),
        ("appended", "generated-identity"),
        ("blind-replay", "unconditional-append"),
        ("check-then-insert", "check-then-insert"),
        ("delete-by-absence", "delete-by-absence"),
        ("restamped", "unguarded-upsert"),
        ("rewritten", "unguarded-upsert"),
    ] {
        for path in files(&proofs.join(class)).iter().filter(|path| is_named(path, "broken.")) {
            let paths = beside_its_tables(path, "broken");
            let report = audit(&Options { paths, ..Options::default() }).await.unwrap();
            if !report.findings.iter().any(|it| it.rule == id) {
                wrong.push(format!("{}: {:?}", path.display(), report.findings));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first pipeline that somebody tries has one fault, told once.
#[tokio::test]
async fn an_append_to_a_table_with_a_number_for_a_key_is_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain.sql");
    std::fs::write(&plain, "CREATE TABLE t (id serial primary key, n int); INSERT INTO t (n) VALUES (1);")
        .unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/append/load.py");
    for path in [plain, example] {
        let report = audit(&Options { paths: vec![path], ..Options::default() }).await.unwrap();
        let found: Vec<_> =
            report.findings.iter().chain(&report.unread).map(|it| (it.rule, it.level)).collect();
        assert_eq!(found, [("generated-identity", rule::Level::Error)]);
    }
}

#[test]
fn every_rule_has_both_twins_and_a_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/audit");
    let list = std::fs::read_to_string(docs.join("README.md")).unwrap();
    let mut ids = BTreeSet::new();
    for rule in rule::all() {
        assert!(ids.insert(rule.id), "{} is there twice", rule.id);
        let names = files(&fixtures().join(rule.id));
        assert!(names.iter().any(|path| is_named(path, "broken")), "{}", rule.id);
        assert!(names.iter().any(|path| is_named(path, "mended")), "{}", rule.id);
        let page = std::fs::read_to_string(docs.join(format!("{}.md", rule.id))).unwrap();
        for part in [
            "## The problem",
            "## Why it matters",
            "## The fix",
            "## When it doesn't apply",
            "## How to allow it",
        ] {
            assert!(page.contains(part), "{}: {part}", rule.id);
        }
        assert!(list.contains(&format!("[{0}]({0}.md)", rule.id)), "{}", rule.id);
    }
    assert_eq!(ids.len(), 15);
}
