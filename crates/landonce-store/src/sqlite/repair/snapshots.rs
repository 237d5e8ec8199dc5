//! The statements of a repair, whole, as the database gets them.

use landonce_core::plan::TableName;

use super::{render, scripted};
use crate::repair::{By, Column, Constraint, Doubled, Keep, Known, Reference, Unique};

/// Two references, one of them the table's own and one that is part of its table's key; a nullable key.
fn known() -> Known {
    let column = |name: &str, is_nullable| Column {
        name: name.to_owned(),
        sql_type: "text".to_owned(),
        is_nullable,
        is_generated: false,
        is_moment: false,
    };
    let reference = |table: &str, column: &str, row_key: &[&str]| Reference {
        name: format!("{table}_fkey"),
        table: TableName { schema: None, name: table.to_owned() },
        is_own: table == "event",
        columns: vec![column.to_owned()],
        referenced: vec!["id".to_owned()],
        row_key: row_key.iter().map(ToString::to_string).collect(),
        unique: vec![Unique {
            name: "tag_pkey".to_owned(),
            columns: vec!["event".to_owned(), "tag".to_owned()],
            is_null_safe: true,
            nulls_are_equal: false,
        }],
        triggers: Vec::new(),
        follows_updates: false,
    };
    Known {
        table: TableName { schema: None, name: "event".to_owned() },
        columns: vec![column("id", false), column("Flight", true), column("kind", false)],
        primary_key: vec!["id".to_owned()],
        row_number: Some("rowid".to_owned()),
        unique: Vec::new(),
        references: vec![reference("event", "parent", &["id"]), reference("tag", "event", &["event", "tag"])],
        triggers: Vec::new(),
        can_index_beside: true,
        can_guard_nulls: true,
        guards_nulls_by_expressions: false,
    }
}

fn key() -> Vec<String> {
    vec!["Flight".to_owned(), "kind".to_owned()]
}

#[test]
fn copies_are_marked_by_one_statement_in_which_nulls_are_equal() {
    let doubled = Doubled { by: By::Columns(key()), keep: Some(Keep::Earliest("kind".to_owned())) };
    insta::assert_snapshot!(render::mark(&known(), &doubled).unwrap(), @r##"
    INSERT INTO temp.landonce_doomed
    SELECT g0, k0 FROM (
      SELECT t."rowid" AS g0, first_value(t."rowid") OVER w AS k0, row_number() OVER w AS nth
      FROM main."event" t
      WINDOW w AS (PARTITION BY t."Flight", t."kind" ORDER BY t."kind" ASC NULLS LAST, t."id", t."rowid")
    ) WHERE nth > 1
    "##);
}

#[test]
fn a_reference_is_moved_by_what_it_points_at() {
    let statements = [
        render::moved(&known(), 1).unwrap(),
        render::collisions(&known(), 1, 0, 5).unwrap(),
        render::repoint(&known(), 1).unwrap(),
        render::repoint(&known(), 0).unwrap(),
        render::remove(&known()).unwrap(),
    ];
    insta::assert_snapshot!(statements.join("\n\n"), @r##"
    INSERT INTO temp.landonce_moved_1
    SELECT g."id", k."id" FROM temp.landonce_doomed d JOIN main."event" g ON g."rowid" = d.g0 JOIN main."event" k ON k."rowid" = d.k0
    WHERE g."id" IS NOT NULL AND (g."id" IS NOT k."id");
    CREATE INDEX temp.landonce_moved_1_old ON landonce_moved_1 (o0);

    SELECT count(*) OVER (), group_concat(of_row, char(10)), u0, u1
    FROM (
      SELECT CASE WHEN m.o0 IS NULL THEN c."event" ELSE m.n0 END AS u0, CASE WHEN m.o0 IS NULL THEN c."tag" ELSE c."tag" END AS u1, m.o0 IS NOT NULL AS moves, c."event" || ', ' || c."tag" AS of_row
      FROM main."tag" c LEFT JOIN temp.landonce_moved_1 m ON m.o0 = c."event"
      WHERE true
    ) WHERE u0 IS NOT NULL AND u1 IS NOT NULL
    GROUP BY u0, u1 HAVING count(*) > 1 AND max(moves) ORDER BY u0, u1 LIMIT 5

    UPDATE main."tag" AS c SET "event" = m.n0 FROM temp.landonce_moved_1 m WHERE m.o0 = c."event" AND true

    UPDATE main."event" AS c SET "parent" = m.n0 FROM temp.landonce_moved_0 m WHERE m.o0 = c."parent" AND NOT EXISTS (SELECT 1 FROM temp.landonce_doomed x WHERE c."rowid" = x.g0)

    DELETE FROM main."event" WHERE ("rowid") IN (SELECT g0 FROM temp.landonce_doomed)
    "##);
}

#[test]
fn a_script_looks_at_the_state_before_it_changes_it() {
    let constraint = Constraint { name: "event_once".to_owned(), columns: key(), guards_nulls: true };
    let statements = [
        scripted::open(&known()).unwrap(),
        scripted::close(&known(), &key(), Some(&constraint)).unwrap(),
        scripted::around_reference(&known(), 1).unwrap().1,
        render::constraint(&known(), &constraint, &["NOCASE".to_owned(), "BINARY".to_owned()]).unwrap(),
    ];
    insta::assert_snapshot!(statements.join("\n"), @r##"
    CREATE TABLE temp.landonce_rows AS SELECT g."id" AS c0, g."Flight" AS c1, g."kind" AS c2, g."rowid" AS c3 FROM main."event" g WHERE false;

    CREATE TABLE temp.landonce_state (is_as_left INTEGER CONSTRAINT is_as_the_repair_left_it CHECK (is_as_left));
    INSERT INTO temp.landonce_state SELECT NOT EXISTS (SELECT 1 FROM (SELECT "Flight" AS b0, "kind" AS b1, 1 AS stored, 0 AS gone FROM main."event"
      UNION ALL SELECT c1 AS b0, c2 AS b1, 0, 1 FROM temp.landonce_rows)
      GROUP BY b0, b1 HAVING sum(gone) > 0 AND sum(stored) <> 1);
    DROP INDEX IF EXISTS main."event_once";
    INSERT INTO main."event" ("id", "Flight", "kind", "rowid") SELECT c0, c1, c2, c3 FROM temp.landonce_rows WHERE EXISTS (SELECT 1 FROM temp.landonce_state);

    UPDATE main."tag" AS c SET "event" = r.f0 FROM temp.landonce_references_1 r WHERE c."event" = r.k0 AND c."tag" = r.k1 AND EXISTS (SELECT 1 FROM temp.landonce_state);
    DROP TABLE temp.landonce_references_1;

    CREATE UNIQUE INDEX main."event_once" ON "event" /* two NULLs are equal: "Flight", "kind" */ ("Flight" IS NULL, ifnull("Flight", 0) COLLATE NOCASE, "kind")
    "##);
}
