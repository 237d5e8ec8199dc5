//! A fix is called safe only where it changes no result for data that is right today, by what the rule says of it.

use landonce_audit::{Options, Report, audit, report, rule};

use super::rules::fixtures;

async fn audited(sql: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.sql");
    std::fs::write(&path, sql).unwrap();
    audit(&Options { paths: vec![path], ..Options::default() }).await.unwrap()
}

const PRICES: &str =
    "CREATE TABLE prices (sku text PRIMARY KEY, price numeric, body json, seen_at timestamptz);\n";

async fn is_safe(statement: &str, rule: &str) -> bool {
    let report = audited(&format!("{PRICES}{statement}")).await;
    let found: Vec<_> = report.findings.iter().filter(|it| it.rule == rule).collect();
    assert_eq!(found.len(), 1, "{statement}: {:?}", report.findings);
    found[0].is_fix_safe
}

#[tokio::test]
async fn a_guard_is_safe_where_it_only_leaves_equal_rows_alone() {
    let upsert = |set: &str, end: &str| {
        format!(
            "INSERT INTO prices (sku, price, body, seen_at) SELECT sku, price, body, seen_at FROM s ON CONFLICT (sku) DO UPDATE SET {set} {end};"
        )
    };
    let rule = "unguarded-upsert";
    assert!(is_safe(&upsert("price = EXCLUDED.price", ""), rule).await);
    // Equal rows would be missing from what is returned.
    assert!(!is_safe(&upsert("price = EXCLUDED.price", "RETURNING sku"), rule).await);
    // json has no equality: the guard would fail.
    assert!(!is_safe(&upsert("price = EXCLUDED.price, body = EXCLUDED.body", ""), rule).await);
    // Somebody may read the stamp.
    assert!(!is_safe(&upsert("price = EXCLUDED.price, seen_at = now()", ""), rule).await);
    // What is set isn't what is compared.
    assert!(!is_safe(&upsert("price = round(EXCLUDED.price)", ""), rule).await);
    // The columns aren't known.
    let unknown =
        "INSERT INTO others (k, v) SELECT k, v FROM s ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v;";
    assert!(!is_safe(unknown, rule).await);
}

#[tokio::test]
async fn columns_in_place_of_a_constraint_are_safe_where_they_are_known() {
    let named = |name: &str| {
        format!("INSERT INTO prices (sku) SELECT sku FROM s ON CONFLICT ON CONSTRAINT {name} DO NOTHING;")
    };
    assert!(is_safe(&named("prices_pkey"), "conflict-on-constraint").await);
    assert!(!is_safe(&named("prices_other"), "conflict-on-constraint").await);
}

#[tokio::test]
async fn people_and_programs_are_told_of_it() {
    let statement = "INSERT INTO prices (sku, price) SELECT sku, price FROM s ON CONFLICT (sku) DO UPDATE SET price = EXCLUDED.price;";
    let report = audited(&format!("{PRICES}{statement}")).await;
    assert!(report::terminal(&report, false).contains("to the DO UPDATE. (the fix is safe)"));
    let json: serde_json::Value = serde_json::from_str(&report::json(&report)).unwrap();
    assert_eq!(json["findings"][0]["is_fix_safe"], true);
    let sarif: serde_json::Value = serde_json::from_str(&report::sarif(&report)).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["properties"]["isFixSafe"], true);
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let conditions = rules.iter().filter(|it| it["properties"]["fixIsSafeWhen"].is_string()).count();
    // Two rules, and the comment that allows nothing.
    assert_eq!(conditions, 3);
}

#[tokio::test]
async fn a_rule_whose_fix_is_never_safe_never_says_so() {
    let report = audit(&Options { paths: vec![fixtures()], ..Options::default() }).await.unwrap();
    assert!(report.findings.len() > 60);
    for finding in &report.findings {
        let rule = rule::all().iter().find(|it| it.id == finding.rule).unwrap();
        assert!(
            !finding.is_fix_safe || rule.safe_fix.is_some(),
            "{} {}",
            finding.rule,
            finding.file.display()
        );
    }
    for rule in rule::all() {
        let page = rule::page(rule.id).unwrap();
        let (_, section) = page.split_once("## Whether the fix is safe\n\n").unwrap();
        assert_eq!(section.starts_with("Never: "), rule.safe_fix.is_none(), "{}", rule.id);
        assert_eq!(section.starts_with("Safe where "), rule.safe_fix.is_some(), "{}", rule.id);
    }
}
