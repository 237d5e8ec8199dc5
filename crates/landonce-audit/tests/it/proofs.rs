//! What `prove` shows by running, the audit tells by reading, where reading can tell; where it can't is written down.

use std::collections::BTreeSet;
use std::path::Path;

use landonce_audit::{Options, audit};

use super::rules::files;

/// A broken program of `prove`, and the rule that names its fault.
const TOLD: [(&str, &str); 28] = [
    ("accumulated/broken.asyncpg.py", "counter-without-inbox"),
    ("accumulated/broken.psycopg.py", "counter-without-inbox"),
    ("accumulated/broken.sh", "counter-without-inbox"),
    ("appended/broken.asyncpg.py", "generated-identity"),
    ("appended/broken.psycopg.py", "generated-identity"),
    ("appended/broken.sh", "generated-identity"),
    ("blind-replay/broken.asyncpg.py", "unconditional-append"),
    ("blind-replay/broken.psycopg.py", "unconditional-append"),
    ("blind-replay/broken.sh", "unconditional-append"),
    ("check-then-insert/broken.asyncpg.py", "check-then-insert"),
    ("check-then-insert/broken.psycopg.py", "check-then-insert"),
    ("check-then-insert/broken.sh", "check-then-insert"),
    ("delete-by-absence/broken.asyncpg.py", "delete-by-absence"),
    ("delete-by-absence/broken.psycopg.py", "delete-by-absence"),
    ("delete-by-absence/broken.sh", "delete-by-absence"),
    ("effect-lost/broken.psycopg.py", "side-effect-in-task"),
    ("effect-lost/broken.sh", "side-effect-in-task"),
    ("effect-repeated/broken.psycopg.py", "side-effect-in-task"),
    ("effect-repeated/broken.sh", "side-effect-in-task"),
    ("futile-retry/broken.psycopg.py", "retry-on-constraint-error"),
    ("half-visible/broken.psycopg.py", "commit-per-row"),
    ("half-visible/broken.sh", "commit-per-row"),
    ("period-from-clock/broken.asyncpg.py", "period-from-clock"),
    ("period-from-clock/broken.psycopg.py", "period-from-clock"),
    ("removed/broken.psycopg.py", "delete-by-absence"),
    ("restamped/broken.asyncpg.py", "unguarded-upsert"),
    ("restamped/broken.psycopg.py", "unguarded-upsert"),
    ("rewritten/broken.psycopg.py", "unguarded-upsert"),
];

/// Classes of which no program is told by reading: the documentation says why.
const UNTOLD: [&str; 12] = [
    "bookkeeping-apart",
    "false-success",
    "hangs",
    "not-retried",
    "partial-load",
    "prepared-left",
    "renumbered",
    "shared-staging",
    "staging-left",
    "statement-retry",
    "stuck",
    "torn-record",
];

#[tokio::test]
async fn a_fault_that_reading_can_tell_is_named_by_its_rule_and_its_twin_is_left_in_peace() {
    let proofs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../landonce-prove/fixtures");
    let mut wrong = Vec::new();
    for (name, rule) in TOLD {
        let broken = proofs.join(name);
        let mended = proofs.join(name.replace("broken.", "mended."));
        for (path, is_broken) in [(broken, true), (mended, false)] {
            let own = if is_broken { "setup.broken.sql" } else { "setup.mended.sql" };
            let tables = ["setup.sql", own].map(|name| path.with_file_name(name));
            let paths = std::iter::once(path.clone()).chain(tables.into_iter().filter(|path| path.exists()));
            let report = audit(&Options { paths: paths.collect(), ..Options::default() }).await.unwrap();
            let found: BTreeSet<&str> = report.findings.iter().map(|it| it.rule).collect();
            if is_broken != found.contains(rule) || !is_broken && !found.is_empty() {
                wrong.push(format!("{}: {found:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_class_is_told_or_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/reference/audit/README.md")).unwrap();
    let told: BTreeSet<&str> = TOLD.iter().filter_map(|(name, _)| name.split('/').next()).collect();
    let proofs = root.join("../landonce-prove/fixtures");
    let broken = files(&proofs).into_iter().filter(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("broken."))
    });
    let classes: BTreeSet<String> =
        broken.filter_map(|path| Some(path.parent()?.file_name()?.to_str()?.to_owned())).collect();
    assert!(classes.len() >= 25, "{classes:?}");
    for class in &classes {
        let is_untold = UNTOLD.contains(&class.as_str());
        assert!(told.contains(class.as_str()) != is_untold, "{class}");
        if is_untold {
            assert!(page.contains(&format!("| `{class}` |")), "{class} is not in the README of the audit");
        }
    }
}
