//! `landonce sql`: an upsert as a store spells it; who tells the key; what isn't taken.

use landonce_testkit::postgres;
use snapbox::str;

use crate::folder::{Folder, said};

const ODKU: &str = "INSERT INTO Account (id, n) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = n + VALUES(n)";

#[test]
fn a_statement_is_spelled_for_a_kind_of_store() {
    let folder = Folder::new();
    said(
        &folder.run(&["sql", ODKU, "--for", "postgres", "--key", "id"]),
        str![[r#"
exit 0
--- stdout
INSERT INTO "account" ("id", "n") VALUES ($1, $2) ON CONFLICT ("id") DO UPDATE SET "n" = "account"."n" + excluded."n"
--- stderr
key: id
who wrote: a row counts 1, whether it is new or changed

"#]],
    );
    said(
        &folder.run(&[
            "sql",
            "INSERT INTO t (id, v) VALUES ($2, $1) ON CONFLICT (id) DO NOTHING",
            "--for",
            "mariadb",
        ]),
        str![[r#"
exit 0
--- stdout
INSERT INTO `t` (`id`, `v`) VALUES (?, ?) ON DUPLICATE KEY UPDATE `id` = IF(CAST(`t`.`id` AS BINARY) = CAST(VALUES(`id`) AS BINARY) OR ~0 + COALESCE(LENGTH(CONCAT('the row that is there has another key: another unique index is in conflict, or the index takes two keys for one', `t`.`id`)), 1), `t`.`id`, `t`.`id`)
--- stderr
key: id
bound in this order: $2, $1
who wrote: a row counts 1 when this call wrote it, 0 when it was there already; not on a connection that counts found rows (CLIENT_FOUND_ROWS), where it counts 1 then too

"#]],
    );
}

#[test]
fn the_guides_statements_are_what_the_program_prints() {
    const GUIDE: &str = include_str!("../../../../docs/guides/sql.md");
    let block = GUIDE.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let mut lines = block.lines();
    let mut commands = 0;
    while let Some(command) = lines.next() {
        let command = command.strip_prefix("$ landonce sql '").unwrap();
        let (statement, flags) = command.split_once("' ").unwrap();
        let args: Vec<&str> = ["sql", statement].into_iter().chain(flags.split(' ')).collect();
        let ran = Folder::new().run(&args);
        assert_eq!(ran.stdout.trim_end(), lines.next().unwrap(), "{statement}");
        commands += 1;
    }
    assert_eq!(commands, 3);
}

#[test]
fn the_object_of_json_says_all_of_it() {
    let ran = Folder::new().run(&[
        "sql",
        "UPSERT INTO s.t (id, v) VALUES (:id, :v), (:other, :v)",
        "--for",
        "mysql",
        "--key",
        "id",
        "--output",
        "json",
    ]);
    let json = ran.json();
    assert_eq!(json["store"], "mysql");
    assert_eq!(json["table"], "s.t");
    assert_eq!(json["key"], serde_json::json!(["id"]));
    assert_eq!(json["params"], serde_json::json!([":id", ":v", ":other", ":v"]));
    assert!(
        json["sql"]
            .as_str()
            .unwrap()
            .starts_with("INSERT INTO `s`.`t` (`id`, `v`) VALUES (?, ?), (?, ?) AS `new` ON")
    );
    assert!(json["row_count"].as_str().unwrap().contains("2 when it has changed"));
}

#[test]
fn a_statement_comes_from_stdin_too() {
    let ran = Folder::new().run_with_stdin(&["sql", "-", "--for", "sqlite", "--key", "id"], ODKU.as_bytes());
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.starts_with("INSERT OR ABORT INTO \"Account\""), "{ran}");
}

#[test]
fn a_store_tells_the_key() {
    let folder = Folder::new();
    let conn = rusqlite::Connection::open(folder.path("shop.db")).unwrap();
    conn.execute_batch(
        "CREATE TABLE account (id TEXT NOT NULL PRIMARY KEY, code TEXT UNIQUE, email TEXT UNIQUE, n INT)",
    )
    .unwrap();
    let store = ["--store", "sqlite:shop.db"];
    let ran = folder.run(&[&["sql", ODKU], &store[..]].concat());
    assert!(ran.stdout.contains("ON CONFLICT (\"id\") DO UPDATE"), "{ran}");
    // Any other store's spelling, by this one's catalogue.
    let ran = folder.run(&[&["sql", ODKU, "--for", "mysql"], &store[..]].concat());
    assert!(ran.stdout.contains("ON DUPLICATE KEY UPDATE"), "{ran}");
    let ambiguous = "INSERT INTO account (code, email) VALUES (?, ?) ON DUPLICATE KEY UPDATE n = 1";
    said(
        &folder.run(&[&["sql", ambiguous], &store[..]].concat()),
        str![[r#"
exit 2
--- stdout
--- stderr
error: the statement doesn't say which unique index it means, and (email) and (code) could each find a row
  = help: give the key's columns

"#]],
    );
    said(
        &folder.run(&[&["sql", ambiguous, "--key", "n"], &store[..]].concat()),
        str![[r#"
exit 2
--- stdout
--- stderr
error: no unique index of account is on exactly (n)
  = help: it has (email), (code), (id)

"#]],
    );
    let ran = folder.run(&[&["sql", "UPSERT INTO gone (id) VALUES (1)"], &store[..]].concat());
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("has no table gone"), "{ran}");
}

#[test]
fn a_store_that_isnt_there_isnt_made() {
    let folder = Folder::new();
    let ran = folder.run(&["sql", ODKU, "--store", "sqlite:none.db"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(!folder.path("none.db").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_constraints_columns_are_named_by_the_store() {
    let database = postgres::database().await;
    let client = database.client().await;
    client
        .batch_execute(
            "CREATE TABLE Account (tenant text, code text, id bigint PRIMARY KEY, CONSTRAINT by_code UNIQUE (tenant, code))",
        )
        .await
        .unwrap();
    let folder = Folder::new();
    let store = ["--store", &database.url()];
    let sql = "INSERT INTO Account (tenant, code, id) VALUES ($1, $2, $3) ON CONFLICT ON CONSTRAINT by_code DO NOTHING";
    said(
        &folder.run(&[&["sql", sql], &store[..]].concat()),
        str![[r#"
exit 2
--- stdout
--- stderr
error: the constraint `by_code` is no conflict target that every store has, and its columns can change under its name
  = help: write ON CONFLICT (tenant, code)

"#]],
    );
    // And the primary key, also for another store's spelling, whose names aren't made lower case.
    let ran = folder.run(
        &[&["sql", "UPSERT INTO Account (ID, code) VALUES ($1, $2)", "--for", "mariadb"], &store[..]]
            .concat(),
    );
    assert!(ran.stdout.starts_with("INSERT INTO `Account` (`ID`, `code`)"), "{ran}");
}

#[test]
fn what_cant_be_said_is_refused_with_what_to_write() {
    let folder = Folder::new();
    said(
        &folder.run(&["sql", "REPLACE INTO t (id) VALUES (1)", "--for", "mysql"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: REPLACE deletes every row that is in conflict, also on other unique indexes, and with it what refers to them
  = help: write INSERT … ON CONFLICT (key) DO UPDATE SET …, or UPSERT INTO

"#]],
    );
    said(
        &folder.run(&["sql", ODKU]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: which store should the statement be spelled for?
  = help: add `--store URL`, or `--for postgres`, sqlite, mariadb or mysql

"#]],
    );
    said(
        &folder.run(&["sql", ODKU, "--for", "oracle"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: there is no store `oracle`
  = help: write postgres, sqlite, mariadb or mysql

"#]],
    );
    said(
        &folder.run(&["sql", ODKU, "--for", "mysql"]),
        str![[r#"
exit 2
--- stdout
--- stderr
error: the statement doesn't say which unique index it means, and any of them could find a row
  = help: give the key's columns, or a store whose catalogue knows them

"#]],
    );
}
