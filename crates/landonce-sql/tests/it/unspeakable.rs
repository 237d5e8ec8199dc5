//! Statements that aren't taken: each says what is wrong with it, and what to write.

use landonce_core::plan::{TableName, TableShape, UniqueIndex};
use landonce_sql::{Dialect, Keys, parse, render};

use crate::world::owned;

fn refused(sql: &str) -> String {
    match parse(sql) {
        Ok(spelled) => panic!("{sql} is taken: {spelled:?}"),
        Err(refused) => refused.to_string(),
    }
}

#[test]
fn what_is_like_an_upsert_and_isnt_is_refused_with_what_to_write() {
    for (sql, why, fix) in [
        ("REPLACE INTO t (id, v) VALUES (1, 2)", "REPLACE deletes", "ON CONFLICT (key) DO UPDATE"),
        ("INSERT OR REPLACE INTO t (id, v) VALUES (1, 2)", "REPLACE deletes", "ON CONFLICT (key) DO UPDATE"),
        ("INSERT IGNORE INTO t (id, v) VALUES (1, 2)", "swallows", "DO NOTHING"),
        ("INSERT OR IGNORE INTO t (id, v) VALUES (1, 2)", "swallows", "DO NOTHING"),
        ("INSERT OR ROLLBACK INTO t (id, v) VALUES (1, 2)", "the transaction, not of the row", "DO NOTHING"),
        ("INSERT IGNORE INTO t (id) VALUES (1) ON DUPLICATE KEY UPDATE id = id", "swallows", "DO NOTHING"),
        ("INSERT INTO t (id, v) VALUES (1, 2)", "plain INSERT", "ON CONFLICT (key)"),
        (
            "MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id) VALUES (1)",
            "MERGE",
            "ON CONFLICT",
        ),
        (
            "INSERT INTO t (id, v) VALUES (1, 2) ON CONFLICT DO UPDATE SET v = 1",
            "whichever row",
            "ON CONFLICT (its columns)",
        ),
        (
            "INSERT INTO t (id, v) VALUES (1, 2) ON CONFLICT (id) WHERE v > 0 DO NOTHING",
            "partial",
            "complete unique index",
        ),
        (
            "UPSERT INTO t (id) VALUES (1) ON CONFLICT (id) DO NOTHING",
            "UPSERT says itself",
            "leave the ON clause out",
        ),
        ("UPSERT INTO t VALUES (1, 2)", "doesn't name its columns", "(columns)"),
        ("INSERT INTO t DEFAULT VALUES ON CONFLICT (id) DO NOTHING", "doesn't name its columns", "(columns)"),
        (
            "INSERT INTO t (id) OVERRIDING SYSTEM VALUE VALUES (1) ON CONFLICT (id) DO NOTHING",
            "OVERRIDING",
            "leave it out",
        ),
        ("UPDATE t SET a = 1", "isn't a statement that inserts", "UPSERT INTO"),
        ("SELECT 1", "isn't a statement that inserts", "UPSERT INTO"),
        ("", "no statement", "give one"),
        ("UPSERT INTO t (id) VALUES (1); DELETE FROM t", "several statements", "one at a time"),
        ("UPSERT INTO t (id) VALUES ('1)", "can't be read", "look there"),
        ("UPSERT INTO t (id) VALUES (1", "isn't understood", "look there"),
        ("UPSERT INTO t (id) SELECT 1) x", "parenthesis", "mend the query"),
        ("UPSERT INTO t (id) (SELECT 1)", "neither VALUES nor a query", "without parentheses"),
        (
            "WITH x AS (SELECT 1) UPSERT INTO t (id) WITH y AS (SELECT 1) SELECT 1",
            "one behind it",
            "write one",
        ),
        ("UPSERT INTO a.b.c.d (id) VALUES (1)", "more parts", "schema.table"),
        ("WITH x AS (SELECT 1) INSERT INTO t (id) VALUES (1) ON CONFLICT (id) DO NOTHING", "WITH", "SELECT"),
        (
            "INSERT INTO t (id, v) VALUES (1, 2) ON CONFLICT (id) DO NOTHING RETURNING *",
            "RETURNING *",
            "one by one",
        ),
        ("UPSERT INTO t (a, b) VALUES ($1, ?)", "in another way", "alike"),
    ] {
        let said = refused(sql);
        assert!(said.contains(why) && said.contains(fix), "{sql}\n{said}");
    }
}

#[test]
fn values_that_would_mean_another_thing_elsewhere_are_refused_there() {
    let on = |set: &str, dialect| {
        let sql = format!("INSERT INTO t (id, v) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET v = {set}");
        let upsert = parse(&sql).unwrap().upsert(dialect, &Keys::Unknown).unwrap();
        render(&upsert, dialect).map(|rendered| rendered.sql).map_err(|refused| refused.to_string())
    };
    for (set, what) in [
        ("t.v / 2", "`/`"),
        ("t.v || excluded.v", "`||`"),
        ("greatest(t.v, excluded.v)", "function `greatest`"),
        ("CAST(t.v AS INT)", "cast to INT"),
    ] {
        assert!(on(set, Dialect::Postgres).is_ok(), "{set}");
        let said = on(set, Dialect::MariaDb).unwrap_err();
        assert!(said.contains("MariaDB has no") && said.contains(what), "{said}");
    }
    let said = on("excluded.v::numeric", Dialect::Sqlite).unwrap_err();
    assert!(said.contains("SQLite has no cast `::NUMERIC`"), "{said}");
}

#[test]
fn values_that_mean_something_else_on_each_store_are_refused_on_all() {
    for set in
        ["t.v LIKE 'a%'", "(SELECT max(v) FROM s)", "t.v -> 'a'", "t.v & 1", "INTERVAL '1 day'", "x.v", "@v"]
    {
        let said =
            refused(&format!("INSERT INTO t (id, v) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET v = {set}"));
        assert!(said.contains("; "), "{said}");
    }
    assert!(refused("UPSERT INTO t (id, v) VALUES (1, \"text\")").contains("single quotes"));
    assert!(
        refused("INSERT INTO t (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET v = excluded.v")
            .contains("doesn't give it")
    );
}

#[test]
fn mysqls_assignments_that_see_each_other_are_refused() {
    let said =
        refused("INSERT INTO t (id, a, b) VALUES (1, 2, 3) ON DUPLICATE KEY UPDATE a = VALUES(a), b = a + 1");
    assert!(said.contains("`b` is made of `a` behind an assignment to it"), "{said}");
    parse("INSERT INTO t (id, a, b) VALUES (1, 2, 3) ON DUPLICATE KEY UPDATE b = a + 1, a = VALUES(a)")
        .unwrap();
}

fn shape(unique: &[(&str, &[&str], bool)]) -> TableShape {
    TableShape {
        table: TableName { schema: None, name: "account".into() },
        columns: Vec::new(),
        unique: unique
            .iter()
            .map(|(name, columns, is_primary)| UniqueIndex {
                name: (*name).to_owned(),
                columns: owned(columns),
                is_null_safe: true,
                is_primary: *is_primary,
            })
            .collect(),
        is_view: false,
        is_loosely_typed: false,
    }
}

fn key(sql: &str, keys: &Keys<'_>) -> Result<Vec<String>, String> {
    let upsert = parse(sql).unwrap().upsert(Dialect::MariaDb, keys);
    upsert.map(|upsert| upsert.key).map_err(|refused| refused.to_string())
}

const ALL: &[(&str, &[&str], bool)] = &[
    ("account_pkey", &["id"], true),
    ("by_code", &["tenant", "code"], false),
    ("by_email", &["email"], false),
];

#[test]
fn a_constraint_by_name_is_refused_and_its_columns_are_named() {
    let sql = "INSERT INTO account (tenant, code) VALUES (1, 2) ON CONFLICT ON CONSTRAINT by_code DO NOTHING";
    let said = key(sql, &Keys::Catalogue(&shape(ALL))).unwrap_err();
    assert!(said.contains("`by_code`") && said.contains("write ON CONFLICT (tenant, code)"), "{said}");
    let said = key(sql, &Keys::Unknown).unwrap_err();
    assert!(said.contains("pg_get_constraintdef") && said.contains("conname = 'by_code'"), "{said}");
    let said = key(&sql.replace("by_code", "gone"), &Keys::Catalogue(&shape(ALL))).unwrap_err();
    assert!(said.contains("no unique constraint `gone`") && said.contains("(tenant, code)"), "{said}");
    let given = owned(&["tenant"]);
    assert!(key(sql, &Keys::Given(&given)).unwrap_err().contains("write ON CONFLICT (tenant)"));
}

#[test]
fn upsert_takes_the_primary_key_of_the_catalogue() {
    let sql = "UPSERT INTO account (ID, email) VALUES (1, 2)";
    assert_eq!(key(sql, &Keys::Catalogue(&shape(ALL))), Ok(owned(&["ID"])));
    assert!(key(sql, &Keys::Unknown).unwrap_err().contains("primary key"));
    let none = shape(&ALL[1..]);
    assert!(key(sql, &Keys::Catalogue(&none)).unwrap_err().contains("no primary key"));
    let given = owned(&["email"]);
    assert_eq!(key(sql, &Keys::Given(&given)), Ok(owned(&["email"])));
}

#[test]
fn on_duplicate_key_takes_the_one_index_that_the_rows_give_or_asks() {
    let all = shape(ALL);
    let sql = |columns: &str| {
        format!("INSERT INTO account ({columns}) SELECT 1 ON DUPLICATE KEY UPDATE note = 'x'")
    };
    let of = |columns: &str| key(&sql(columns), &Keys::Catalogue(&all));
    assert_eq!(of("tenant, code, note"), Ok(owned(&["tenant", "code"])));
    assert_eq!(of("id, tenant, code, email"), Ok(owned(&["id"])), "the primary key comes first");
    let said = of("tenant, code, email").unwrap_err();
    assert!(said.contains("(tenant, code) and (email) could each find a row"), "{said}");
    let said = of("tenant, note").unwrap_err();
    assert!(said.contains("no unique index") && said.contains("(email)"), "{said}");
    assert!(key(&sql("tenant"), &Keys::Unknown).unwrap_err().contains("doesn't say which unique index"));
}

#[test]
fn a_key_without_a_unique_index_is_refused_where_the_catalogue_is_known() {
    let sql = "INSERT INTO account (tenant, email) VALUES (1, 2) ON CONFLICT (tenant) DO NOTHING";
    let said = key(sql, &Keys::Catalogue(&shape(ALL))).unwrap_err();
    assert!(
        said.contains("no unique index of account is on exactly (tenant)") && said.contains("it has (id)"),
        "{said}"
    );
    let given = owned(&["email"]);
    assert!(
        key(sql, &Keys::Given(&given))
            .unwrap_err()
            .contains("the statement's key is (tenant), and (email) was given")
    );
}
