//! What the frontends of JavaScript, Go, Java and Rust must see, and that no text at all makes them fall over.

use std::path::Path;

use super::outline::outline;

fn read(name: &str, text: &str) -> (String, Vec<String>) {
    let (functions, unread) = match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("js") => super::javascript::read_file(text),
        Some("ts" | "tsx") => super::typescript::read_file(Path::new(name), text),
        Some("go") => super::go::read_file(text),
        Some("java") => super::java::read_file(text),
        _ => super::rust::read_file(text),
    };
    (outline(&functions), unread.into_iter().map(|unread| unread.why).collect())
}

#[track_caller]
fn assert_seen(name: &str, text: &str, lines: &[&str]) {
    let (seen, unread) = read(name, text);
    for line in lines {
        assert!(seen.contains(line), "{line}\n is not in\n{seen}\nunread: {unread:?}");
    }
    assert!(unread.is_empty(), "{unread:?}");
}

#[test]
fn parts_of_a_tagged_template_are_bound_and_not_text() {
    assert_seen(
        "a.ts",
        "import postgres from 'postgres';\nasync function f() { await sql.begin(async tx => { \
         await tx`INSERT INTO t (a, b) VALUES (${row.a}, ${Date.now()})` }) }",
        &[
            "scope sql.begin",
            "sql tx | INSERT INTO t (a, b) VALUES ($1, $2) | 1=Some(Name(\"row.a\")) 2=Some(Clock)",
        ],
    );
}

#[test]
fn a_template_with_an_unknown_part_is_reported() {
    let (_, unread) =
        read("a.js", "const pg = require('pg');\npool.query(`INSERT INTO ${table} (a) VALUES ($1)`, [1]);");
    assert_eq!(unread, ["the SQL is assembled at run time from `table`"]);
}

#[test]
fn a_template_with_a_constant_part_is_read() {
    assert_seen(
        "a.js",
        "const pg = require('pg');\nconst t = 'events';\npool.query(`DELETE FROM ${t}`);",
        &["sql pool.query | DELETE FROM events"],
    );
}

#[test]
fn a_builder_that_is_clear_is_its_statement() {
    assert_seen(
        "a.js",
        "const knex = require('knex')({});\nknex('t').insert({ id: uuidv4(), n }).onConflict('id').merge();",
        &[
            "INSERT INTO \"t\" (\"id\", \"n\") VALUES ($1, $2) ON CONFLICT(\"id\") DO UPDATE SET \"n\" = excluded.\"n\" | 1=Some(Random)",
        ],
    );
}

#[test]
fn what_go_defers_happens_at_the_end() {
    let (seen, unread) = read(
        "a.go",
        "package a\nimport \"database/sql\"\nfunc F(db *sql.DB) error {\n tx, err := db.Begin()\n defer tx.Rollback()\n \
         for _, r := range rows { tx.Exec(fmt.Sprintf(\"INSERT INTO %s (a) VALUES ($1)\", T), r.A) }\n return tx.Commit()\n}\n\
         const T = \"t\"",
    );
    assert!(unread.is_empty(), "{unread:?}");
    let at = |line: &str| seen.find(line).unwrap_or_else(|| panic!("{line} is not in\n{seen}"));
    assert!(at("tx = db.Begin") < at("loop for _, r := range rows"));
    assert!(at("INSERT INTO t (a) VALUES ($1)") < at("call tx.Commit"));
    assert!(at("call tx.Commit") < at("call tx.Rollback"));
}

#[test]
fn a_prepared_statement_runs_where_it_is_executed() {
    assert_seen(
        "A.java",
        "import java.sql.*; class A { void f(Connection c) { PreparedStatement p = c.prepareStatement(SQL);\n\
         for (Row r : rows) { p.setString(1, r.id()); p.setObject(2, Instant.now()); p.addBatch(); } p.executeBatch(); }\n\
         static final String SQL = \"INSERT INTO t (a, b) \" + \"VALUES (?, ?)\"; }",
        &["  sql many p.executeBatch | INSERT INTO t (a, b) VALUES ($1, $2) |", "2=Some(Clock)"],
    );
}

#[test]
fn every_name_of_a_multi_catch_is_kept() {
    assert_seen(
        "A.java",
        "class A { @Transactional void f() { try { g(); } catch (AError | BError e) { h(); } } }",
        &["@Transactional fn f", "catch AError, BError"],
    );
}

#[test]
fn literals_in_macros_are_read_with_what_is_bound() {
    assert_seen(
        "a.rs",
        "use sqlx::PgPool; async fn f(run_id: &str) { sqlx::query!(r#\"UPDATE t SET a = $1 WHERE b = $2\"#, Utc::now(), run_id)\
         .execute(&pool).await?; }",
        &["sql sqlx::query! | UPDATE t SET a = $1 WHERE b = $2 | 1=Some(Clock) 2=Some(RunId(\"run_id\"))"],
    );
}

#[test]
fn arms_of_a_match_are_choices() {
    assert_seen(
        "a.rs",
        "fn f() { match c.execute(\"DELETE FROM t\", &[]) { Ok(_) => {}, Err(e) if is_unique(&e) => g(), Err(e) => h() } }",
        &["sql c.execute | DELETE FROM t", "if Err(e) if is_unique(&e)\n"],
    );
}

#[test]
fn nothing_that_is_written_makes_a_frontend_fall_over() {
    let seeds = [
        "f(",
        "[",
        "((((",
        "a.b().c(",
        "\"",
        "`${",
        "`",
        "'",
        "{",
        "x + ",
        "sql`${`",
        "try {",
        "for (",
        "r#\"",
        "format!(\"{",
        "if (a) { ",
        "\u{e000}",
        "é",
        "\\",
        "const a = [a, a]; ",
        "s += s;",
        "match x { ",
        "=> ",
        "async ",
        "%s",
        "fmt.Sprintf(\"%\"",
        "@A(",
    ];
    for name in ["a.js", "a.ts", "a.tsx", "a.go", "A.java", "a.rs"] {
        for seed in seeds {
            read(name, &seed.repeat(400));
            for other in seeds {
                read(name, &format!("{seed}{other}{seed}"));
            }
        }
    }
}

#[test]
fn code_that_is_nested_too_deep_is_reported() {
    let (_, unread) = read("a.js", &format!("{}x{}", "if (a) { ".repeat(2000), "}".repeat(2000)));
    assert_eq!(unread, ["the code is nested too deep to be read"]);
}
