//! The statements of plans that differ in what matters, whole, as SQLite gets them.

use landonce_core::column::Type;
use landonce_core::plan::{
    Absent, From, Guard, KeyForm, Match, PlanColumn, TableName, TablePlan, Tombstone, WriteMode,
};

use super::*;
use crate::sqlite::catalog::Identity;

fn column(name: &str, ty: Type) -> PlanColumn {
    PlanColumn { name: name.into(), from: From::Field(name.into()), ty, sql_type: None, nullable: true }
}

/// A table of landonce's own: hashed key, digest, version.
fn own() -> TablePlan {
    let rest = PlanColumn { from: From::Rest, nullable: false, ..column("payload", Type::Json) };
    TablePlan {
        table: TableName { schema: None, name: "duty_event".into() },
        create: true,
        columns: vec![column("updated_at", Type::Timestamptz), rest],
        matching: Match::Key { column: "landonce_key".into(), form: KeyForm::Uuid },
        guard: Guard::Digest { column: "landonce_digest".into() },
        run_id: Some("run_id".into()),
        revision: Some("revision".into()),
        version: Some(0),
        mode: WriteMode::Upsert,
        absent: Absent::Replace,
        unguarded: Vec::new(),
        has_deletes: false,
        scope: None,
        tombstone: None,
        history: None,
        sender_id: true,
    }
}

/// A user's table, matched on its own columns, one of which folds case; changes that keep what they don't name.
fn theirs() -> TablePlan {
    let typed = |name, ty, sql_type: &str| PlanColumn { sql_type: Some(sql_type.into()), ..column(name, ty) };
    let key = PlanColumn { nullable: false, ..typed("order", Type::INTEGER, "INTEGER") };
    let rest = PlanColumn { from: From::Rest, ..typed("rest", Type::Json, "JSON") };
    let email = typed("e\"mail", Type::TEXT, "TEXT");
    TablePlan {
        columns: vec![
            key,
            email,
            typed("note", Type::TEXT, "TEXT"),
            typed("total", Type::DECIMAL, "TEXT"),
            rest,
        ],
        matching: Match::Columns(vec![0, 1]),
        guard: Guard::Columns,
        run_id: None,
        revision: None,
        version: Some(3),
        absent: Absent::Keep,
        has_deletes: true,
        sender_id: false,
        create: false,
        ..own()
    }
}

fn facts(plan: &TablePlan) -> Facts {
    let mut facts = Facts::made(plan, true);
    if plan.create {
        facts.guard_index = Some("landonce_guard_duty_event".into());
    } else {
        let collation = Some("NOCASE".to_owned());
        facts.identity = vec![
            Identity { affinity: Affinity::Integer, collation: None },
            Identity { affinity: Affinity::Text, collation },
        ];
    }
    facts
}

macro_rules! rendered {
    ($plan:expr, $render:ident => $sql:expr) => {{
        let plan = $plan;
        let facts = facts(&plan);
        let $render = Render::new(&plan, &facts).unwrap();
        $sql
    }};
}

#[test]
fn the_target_landonce_makes_is_strict_and_has_an_index_that_tells_records_apart() {
    let sql = rendered!(own(), render => render.create_target().unwrap());
    insta::assert_snapshot!(sql, @r#"
    CREATE TABLE IF NOT EXISTS "main"."duty_event" (
      "landonce_key" BLOB NOT NULL PRIMARY KEY,
      "updated_at" TEXT,
      "payload" TEXT NOT NULL,
      "landonce_digest" BLOB NOT NULL,
      "run_id" TEXT NOT NULL,
      "revision" INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS "main"."landonce_guard_duty_event" ON "duty_event" ("landonce_key", "landonce_digest");
    CREATE INDEX IF NOT EXISTS "main"."landonce_content_duty_event" ON "duty_event" ("landonce_digest");
    "#);
    let natural = TablePlan { matching: Match::Columns(vec![0]), sender_id: false, ..own() };
    let sql = rendered!(natural, render => render.create_target().unwrap());
    insta::assert_snapshot!(sql, @r#"
    CREATE TABLE IF NOT EXISTS "main"."duty_event" (
      "updated_at" TEXT NOT NULL,
      "payload" TEXT NOT NULL,
      "landonce_digest" BLOB NOT NULL,
      "run_id" TEXT NOT NULL,
      "revision" INTEGER NOT NULL,
      UNIQUE ("updated_at")
    ) STRICT;
    CREATE INDEX IF NOT EXISTS "main"."landonce_guard_duty_event" ON "duty_event" ("updated_at", "landonce_digest");
    "#);
}

#[test]
fn the_stage_compares_identities_as_the_target_does() {
    let of = |render: &Render<'_>| {
        [
            render.create_stage(),
            render.stage(),
            render.scan(),
            render.same_identity().unwrap_or("bytes decide".into()),
        ]
        .join("\n")
    };
    insta::assert_snapshot!(rendered!(own(), render => of(&render)), @r#"
    CREATE TABLE temp.landonce_stage (landonce_key, landonce_digest, c0, landonce_number, landonce_offset, landonce_len);
    CREATE TABLE temp.landonce_todo (id INTEGER PRIMARY KEY, class, number, "offset", len, staged, digest);

    INSERT INTO temp.landonce_stage VALUES (?1, ?2, ?3, ?5, ?6, ?7)
    SELECT s.rowid, s.* FROM temp.landonce_stage s ORDER BY s.landonce_key, s.landonce_offset
    bytes decide
    "#);
    insta::assert_snapshot!(rendered!(theirs(), render => of(&render)), @r#"
    CREATE TABLE temp.landonce_stage (c0 INTEGER, c1 TEXT, c2, c3, c4, landonce_present, landonce_is_delete, landonce_number, landonce_offset, landonce_len);
    CREATE TABLE temp.landonce_todo (id INTEGER PRIMARY KEY, class, number, "offset", len, staged, digest);

    INSERT INTO temp.landonce_stage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9, ?10, ?11)
    SELECT s.rowid, s.* FROM temp.landonce_stage s ORDER BY s.c0, s.c1 COLLATE "NOCASE", s.landonce_offset
    SELECT ?1 IS ?3 AND ?2 COLLATE "NOCASE" IS ?4
    "#);
}

#[test]
fn a_record_is_told_apart_by_one_look() {
    let of = |render: &Render<'_>| render.look(&kept_columns(render.plan));
    insta::assert_snapshot!(rendered!(own(), render => of(&render)), @r#"
    SELECT CASE WHEN t."updated_at" > ?3 THEN 4 WHEN NOT (t."landonce_digest" IS NOT ?2) THEN 0 WHEN t."updated_at" = ?3 THEN 3 ELSE 2 END
    FROM "main"."duty_event" AS t WHERE t."landonce_key" = ?1
    "#);
    let unversioned = TablePlan { version: None, ..own() };
    insta::assert_snapshot!(rendered!(unversioned, render => of(&render)), @r#"
    SELECT CASE WHEN NOT (t."landonce_digest" IS NOT ?2) THEN 0 ELSE 2 END
    FROM "main"."duty_event" AS t INDEXED BY "landonce_guard_duty_event" WHERE t."landonce_key" = ?1
    "#);
    insta::assert_snapshot!(rendered!(theirs(), render => of(&render)), @r#"
    SELECT CASE WHEN landonce_decimal_cmp(t."total", ?4) > 0 THEN 4 WHEN ?7 THEN 5 WHEN NOT (((?6 & 4) <> 0 AND t."note" COLLATE BINARY IS NOT ?3) OR ((?6 & 8) <> 0 AND t."total" IS NOT ?4) OR NOT landonce_json_eq(t."rest", landonce_merge(t."rest", ?5))) THEN 0 WHEN landonce_decimal_cmp(t."total", ?4) = 0 THEN 3 ELSE 2 END
    FROM "main"."duty_event" AS t WHERE t."order" = ?1 AND t."e""mail" COLLATE "NOCASE" = ?2
    "#);
    let once = TablePlan { mode: WriteMode::InsertOnce, ..own() };
    insta::assert_snapshot!(rendered!(once, render => of(&render)), @r#"
    SELECT 0
    FROM "main"."duty_event" AS t WHERE t."landonce_key" = ?1
    "#);
}

#[test]
fn a_row_is_written_only_where_it_differs() {
    insta::assert_snapshot!(rendered!(own(), render => render.write()), @r#"
    INSERT OR ABORT INTO "main"."duty_event" AS t ("landonce_key", "updated_at", "payload", "landonce_digest", "run_id", "revision")
    VALUES (?1, ?3, ?4, ?2, ?8, 1)
    ON CONFLICT ("landonce_key") DO UPDATE SET
      "updated_at" = excluded."updated_at",
      "payload" = excluded."payload",
      "landonce_digest" = excluded."landonce_digest",
      "run_id" = excluded."run_id",
      "revision" = coalesce(t."revision", 0) + 1
    WHERE (t."updated_at" IS NULL OR t."updated_at" < ?3) AND (t."landonce_digest" IS NOT ?2)
    "#);
    insta::assert_snapshot!(rendered!(theirs(), render => render.write()), @r#"
    INSERT OR ABORT INTO "main"."duty_event" AS t ("order", "e""mail", "note", "total", "rest")
    VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT ("order", "e""mail" COLLATE "NOCASE") DO UPDATE SET
      "note" = CASE WHEN (?6 & 4) <> 0 THEN excluded."note" ELSE t."note" END,
      "total" = CASE WHEN (?6 & 8) <> 0 THEN excluded."total" ELSE t."total" END,
      "rest" = landonce_merge(t."rest", excluded."rest")
    WHERE coalesce(landonce_decimal_cmp(t."total", ?4), -1) < 0 AND (((?6 & 4) <> 0 AND t."note" COLLATE BINARY IS NOT ?3) OR ((?6 & 8) <> 0 AND t."total" IS NOT ?4) OR NOT landonce_json_eq(t."rest", landonce_merge(t."rest", ?5)))
    "#);
    let once = TablePlan { mode: WriteMode::InsertOnce, ..own() };
    insta::assert_snapshot!(rendered!(once, render => render.write()), @r#"
    INSERT OR ABORT INTO "main"."duty_event" AS t ("landonce_key", "updated_at", "payload", "landonce_digest", "run_id", "revision")
    VALUES (?1, ?3, ?4, ?2, ?8, 1)
    ON CONFLICT ("landonce_key") DO NOTHING
    "#);
}

#[test]
fn a_row_is_deleted_by_its_identity() {
    let of = |render: &Render<'_>| [render.deletes(), render.delete()].join("\n");
    insta::assert_snapshot!(rendered!(theirs(), render => of(&render)), @r#"
    SELECT s.c0, s.c1 FROM temp.landonce_todo d JOIN temp.landonce_stage s ON s.rowid = d.staged WHERE d.class = 5 ORDER BY d.id
    DELETE FROM "main"."duty_event" AS t WHERE t."order" = ?1 AND t."e""mail" COLLATE "NOCASE" = ?2
    "#);
}

#[test]
fn a_delete_that_retires_keeps_the_version() {
    let tombstone = Tombstone { at: "retired_at".into(), by: Some("retired_by".into()), by_type: None };
    let plan = TablePlan { has_deletes: true, tombstone: Some(tombstone), sender_id: false, ..own() };
    let of = |render: &Render<'_>| {
        [Some(render.deletes()), render.retire(), render.retire_again(), render.returning()]
            .map(Option::unwrap)
            .join("\n")
    };
    insta::assert_snapshot!(rendered!(plan, render => of(&render)), @r#"
    SELECT s.landonce_key, s.c0 FROM temp.landonce_todo d JOIN temp.landonce_stage s ON s.rowid = d.staged WHERE d.class = 5 ORDER BY d.id
    UPDATE "main"."duty_event" AS t SET "retired_at" = strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z', "retired_by" = ?3, "revision" = coalesce("revision", 0) + 1, "updated_at" = coalesce(?2, "updated_at")
    WHERE t."landonce_key" = ?1 AND t."retired_at" IS NULL
    UPDATE "main"."duty_event" AS t SET "updated_at" = ?2
    WHERE t."landonce_key" = ?1 AND t."retired_at" IS NOT NULL AND (t."updated_at" IS NULL OR t."updated_at" < ?2)
    SELECT 0, count(*) FROM temp.landonce_todo AS d CROSS JOIN temp.landonce_stage AS s ON s.rowid = d.staged CROSS JOIN "main"."duty_event" AS t ON t."landonce_key" = s.landonce_key
    WHERE d.class = 2 AND t."retired_at" IS NOT NULL
    "#);
}

#[test]
fn equal_content_is_found_by_its_digest() {
    let of =
        |render: &Render<'_>| [new_content(), render.stored_content(), render.staged_identity()].join("\n");
    insta::assert_snapshot!(rendered!(own(), render => of(&render)), @r#"
    SELECT d.digest, d.number, d."offset", d.len, d.staged FROM temp.landonce_todo d WHERE d.class = 1 ORDER BY d.digest, d."offset"
    SELECT t."landonce_key" FROM "main"."duty_event" AS t WHERE t."landonce_digest" = ?1 LIMIT 1
    SELECT s.landonce_key FROM temp.landonce_stage s WHERE s.rowid = ?1
    "#);
}

#[test]
fn what_is_to_be_written_is_read_in_pages() {
    insta::assert_snapshot!([remember(), next()].join("\n"), @r#"
    INSERT INTO temp.landonce_todo (class, number, "offset", len, staged, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    SELECT d.id, d.class, d.number, d."offset", d.len FROM temp.landonce_todo d WHERE d.id > ?1 AND d.class <= 3 ORDER BY d.id LIMIT ?2
    "#);
}
