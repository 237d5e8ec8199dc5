//! A corpus of pipelines that are right, in the styles that people write: at most one finding in twenty may be wrong.

use landonce_audit::{Options, audit};

use super::rules::{files, fixtures};

/// Every finding over `fixtures/correct/` is a false alarm. They are counted against what is found in the broken fixtures, of
/// which each has one fault.
#[tokio::test]
async fn at_most_one_finding_in_twenty_is_wrong() {
    let correct = fixtures().join("correct");
    let paths = vec![correct.clone(), fixtures().join("schema.sql")];
    let report = audit(&Options { paths, ..Options::default() }).await.unwrap();
    let wrong: Vec<String> = report
        .findings
        .iter()
        .map(|it| format!("{}:{} {} {}", it.file.display(), it.line, it.rule, it.message))
        .collect();
    let broken = files(&fixtures())
        .iter()
        .filter(|path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("broken"))
        })
        .count();
    assert!(
        files(&correct).len() >= 40 && report.statements >= 40,
        "{} files, {} statements",
        report.files,
        report.statements
    );
    println!(
        "{} of {} findings are wrong; {} statements",
        wrong.len(),
        wrong.len() + broken,
        report.statements
    );
    assert!(wrong.len() * 20 <= wrong.len() + broken, "{}", wrong.join("\n"));
}
