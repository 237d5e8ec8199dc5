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
        table: TableName { schema: Some("public".to_owned()), name: table.to_owned() },
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
        table: TableName { schema: Some("public".to_owned()), name: "event".to_owned() },
        columns: vec![column("id", false), column("Flight", true), column("kind", false)],
        primary_key: vec!["id".to_owned()],
        row_number: None,
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
    INSERT INTO pg_temp.landonce_doomed
    SELECT rel, at, kept_rel, kept_at FROM (
      SELECT t.tableoid AS rel, t.ctid AS at,
        first_value(t.tableoid) OVER w AS kept_rel, first_value(t.ctid) OVER w AS kept_at, row_number() OVER w AS nth
      FROM "public"."event" t
      WINDOW w AS (PARTITION BY t."Flight", t."kind" ORDER BY t."kind" ASC NULLS LAST, t."id", t.tableoid, t.ctid)
    ) s WHERE nth > 1
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
    INSERT INTO pg_temp.landonce_moved_1
    SELECT g."id", k."id" FROM pg_temp.landonce_doomed d JOIN "public"."event" g ON g.tableoid = d.rel AND g.ctid = d.at JOIN "public"."event" k ON k.tableoid = d.kept_rel AND k.ctid = d.kept_at
    WHERE g."id" IS NOT NULL AND (g."id") IS DISTINCT FROM (k."id")

    SELECT count(*) OVER (), ARRAY[u0::text, u1::text]::text[], (array_agg(of_row ORDER BY of_row))[1:5]
    FROM (
      SELECT CASE WHEN m.o0 IS NULL THEN c."event" ELSE m.n0 END AS u0, CASE WHEN m.o0 IS NULL THEN c."tag" ELSE c."tag" END AS u1, m.o0 IS NOT NULL AS moves, pg_catalog.concat_ws(', ', c."event"::text, c."tag"::text) AS of_row
      FROM "public"."tag" c LEFT JOIN pg_temp.landonce_moved_1 m ON c."event" = m.o0
      WHERE true
    ) s WHERE u0 IS NOT NULL AND u1 IS NOT NULL
    GROUP BY u0, u1 HAVING count(*) > 1 AND bool_or(moves) ORDER BY u0, u1 LIMIT 5

    UPDATE "public"."tag" c SET "event" = m.n0 FROM pg_temp.landonce_moved_1 m WHERE c."event" = m.o0 AND true

    UPDATE "public"."event" c SET "parent" = m.n0 FROM pg_temp.landonce_moved_0 m WHERE c."parent" = m.o0 AND NOT EXISTS (SELECT FROM pg_temp.landonce_doomed x WHERE x.rel = c.tableoid AND x.at = c.ctid)

    DELETE FROM "public"."event" t USING pg_temp.landonce_doomed d WHERE t.tableoid = d.rel AND t.ctid = d.at
    "##);
}

#[test]
fn a_script_looks_at_the_state_before_it_changes_it() {
    let constraint = Constraint { name: "event_once".to_owned(), columns: key(), guards_nulls: true };
    let statements = [
        scripted::open(&known()).unwrap(),
        scripted::close(&known(), &key(), Some(&constraint)).unwrap(),
        scripted::around_reference(&known(), 1).unwrap().1,
        render::constraint(&known(), &constraint, true).unwrap().0,
    ];
    insta::assert_snapshot!(statements.join("\n"), @r##"
    CREATE TEMP TABLE landonce_rows ON COMMIT DROP AS SELECT g."id", g."Flight", g."kind" FROM "public"."event" g WITH NO DATA;

    DO $landonce$ BEGIN
    IF EXISTS (SELECT FROM (SELECT "Flight", "kind", 1 AS gone, 0 AS stored FROM pg_temp.landonce_rows
      UNION ALL SELECT "Flight", "kind", 0, 1 FROM "public"."event") s
      GROUP BY "Flight", "kind" HAVING sum(gone) > 0 AND sum(stored) <> 1) THEN
      RAISE EXCEPTION USING MESSAGE = 'public.event is not as the repair left it, or this script has run before; nothing is changed';
    END IF;
    END $landonce$;
    ALTER TABLE "public"."event" DROP CONSTRAINT IF EXISTS "event_once";
    DO $landonce$ BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indexrelid = pg_catalog.to_regclass('"public"."event_once"') AND i.indrelid = pg_catalog.to_regclass('"public"."event"') AND true) THEN
      DROP INDEX "public"."event_once";
    END IF;
    END $landonce$;
    INSERT INTO "public"."event" ("id", "Flight", "kind") OVERRIDING SYSTEM VALUE SELECT "id", "Flight", "kind" FROM pg_temp.landonce_rows;

    UPDATE "public"."tag" c SET "event" = r.f0 FROM pg_temp.landonce_references_1 r WHERE c."event" = r.k0 AND c."tag" = r.k1;

    CREATE UNIQUE INDEX CONCURRENTLY "event_once" ON "public"."event" ("Flight", "kind") NULLS NOT DISTINCT
    "##);
}
