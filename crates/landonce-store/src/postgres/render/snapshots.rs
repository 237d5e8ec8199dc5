//! The statements of plans that differ in what matters, whole, as the server gets them.

use landonce_core::column::Type;
use landonce_core::plan::{
    Absent, From, Guard, KeyForm, Match, PlanColumn, TableName, TablePlan, Tombstone, WriteMode,
};

use super::*;

fn column(name: &str, ty: Type) -> PlanColumn {
    PlanColumn { name: name.into(), from: From::Field(name.into()), ty, sql_type: None, nullable: true }
}

/// A table of landonce's own: hashed key, digest, version.
fn own() -> TablePlan {
    let rest = PlanColumn { from: From::Rest, nullable: false, ..column("payload", Type::Json) };
    TablePlan {
        table: TableName { schema: Some("public".into()), name: "duty_event".into() },
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

/// A user's table, matched on its own columns, one of which takes NULL; changes that keep what they don't name.
fn theirs() -> TablePlan {
    let key = PlanColumn { nullable: false, ..column("order", Type::INTEGER) };
    let rest = PlanColumn { from: From::Rest, ..column("rest", Type::Json) };
    TablePlan {
        columns: vec![key, column("line", Type::TEXT), column("note", Type::Json), rest],
        matching: Match::Columns(vec![0, 1]),
        guard: Guard::Columns,
        run_id: None,
        revision: None,
        version: None,
        absent: Absent::Keep,
        has_deletes: true,
        sender_id: false,
        create: false,
        ..own()
    }
}

fn facts(plan: &TablePlan, relation: Option<Relation>) -> Facts {
    let mut facts = crate::postgres::facts::made(plan);
    facts.relation = relation;
    for (fact, column) in facts.columns.iter_mut().zip(&plan.columns) {
        if column.name == "note" {
            (fact.wire, fact.compare) = (Wire::Json, Compare::Json);
        }
    }
    facts
}

macro_rules! rendered {
    ($plan:expr, $relation:expr, $($statement:tt)+) => {{
        let plan = $plan;
        let facts = facts(&plan, $relation);
        Render::new(&plan, &facts).unwrap().$($statement)+
    }};
}

const TABLE: Option<Relation> = Some(Relation::Table);

#[test]
fn the_target_landonce_makes_has_key_digest_run_and_revision() {
    let sql = rendered!(own(), None, create_target().unwrap());
    insta::assert_snapshot!(sql, @r#"
    CREATE TABLE "public"."duty_event" (
      "landonce_key" uuid PRIMARY KEY,
      "landonce_digest" bytea NOT NULL,
      "updated_at" timestamptz,
      "payload" jsonb NOT NULL,
      "run_id" uuid NOT NULL,
      "revision" bigint NOT NULL
    );
    CREATE INDEX ON "public"."duty_event" ("landonce_digest")
    "#);
}

#[test]
fn the_stage_takes_its_types_from_the_target() {
    let sql = rendered!(own(), TABLE, create_stage().unwrap());
    insta::assert_snapshot!(sql, @r#"
    CREATE TEMPORARY TABLE landonce_stage ON COMMIT DROP AS
    SELECT t."landonce_key" AS landonce_key, t."landonce_digest" AS landonce_digest, t."updated_at" AS c0, false AS landonce_may_repeat, 0::bigint AS landonce_number, 0::bigint AS landonce_offset, 0::integer AS landonce_len FROM "public"."duty_event" t
    WITH NO DATA
    "#);
}

#[test]
fn the_stage_of_a_table_to_come_spells_its_types() {
    let sql = rendered!(own(), None, create_stage().unwrap());
    insta::assert_snapshot!(sql, @r#"
    CREATE TEMPORARY TABLE landonce_stage ON COMMIT DROP AS
    SELECT NULL::uuid AS landonce_key, NULL::bytea AS landonce_digest, NULL::timestamptz AS c0, false AS landonce_may_repeat, 0::bigint AS landonce_number, 0::bigint AS landonce_offset, 0::integer AS landonce_len
    WITH NO DATA
    "#);
}

#[test]
fn one_join_tells_records_apart() {
    let sql = rendered!(own(), TABLE, classify(false));
    insta::assert_snapshot!(sql, @r#"
    CREATE TEMPORARY TABLE landonce_todo ON COMMIT DROP AS
    SELECT d.class, d.landonce_number, d.landonce_offset, d.landonce_len, d.landonce_key, d.landonce_digest
    FROM (
      SELECT s.*, (CASE WHEN t.is_there IS NULL THEN 1 WHEN t."updated_at" > s.c0 THEN 4 WHEN NOT (t."landonce_digest" IS DISTINCT FROM s.landonce_digest) THEN 0 WHEN t."updated_at" = s.c0 THEN 3 ELSE 2 END)::smallint AS class
      FROM pg_temp.landonce_stage s
      LEFT JOIN (SELECT t."landonce_key", t."landonce_digest", t."updated_at", true AS is_there FROM "public"."duty_event" t) t ON t."landonce_key" = s.landonce_key
    ) d
    WHERE d.class <> 0
    ORDER BY d.landonce_key
    "#);
}

#[test]
fn folding_keeps_the_first_of_the_highest_version() {
    let sql = rendered!(own(), TABLE, fold());
    insta::assert_snapshot!(sql, @r#"
    WITH repeated AS (
      SELECT DISTINCT s.landonce_key FROM pg_temp.landonce_stage s WHERE s.landonce_may_repeat
    ), folded AS MATERIALIZED (
      SELECT k.* FROM (
        SELECT s.at, s.landonce_number, s.landonce_offset, s.landonce_len, row_number() OVER w AS nth, s.c0 = first_value(s.c0) OVER w AND (s.landonce_digest IS DISTINCT FROM first_value(s.landonce_digest) OVER w) AS is_conflict
        FROM (SELECT s.*, s.ctid AS at FROM pg_temp.landonce_stage s JOIN repeated r ON r.landonce_key = s.landonce_key) s
        WINDOW w AS (PARTITION BY s.landonce_key ORDER BY s.c0 DESC, s.landonce_offset)
      ) k WHERE k.nth > 1
    ), gone AS (
      DELETE FROM pg_temp.landonce_stage s WHERE s.ctid = ANY (ARRAY(SELECT f.at FROM folded f))
    )
    SELECT count(*) FILTER (WHERE NOT f.is_conflict), array_agg(f.landonce_number ORDER BY f.landonce_offset) FILTER (WHERE f.is_conflict), array_agg(f.landonce_offset ORDER BY f.landonce_offset) FILTER (WHERE f.is_conflict), array_agg(f.landonce_len ORDER BY f.landonce_offset) FILTER (WHERE f.is_conflict)
    FROM folded f
    "#);
}

#[test]
fn folding_keeps_the_turns_of_puts_and_deletes() {
    let sql = rendered!(TablePlan { has_deletes: true, ..own() }, TABLE, fold());
    insta::assert_snapshot!(sql, @r#"
    WITH repeated AS (
      SELECT DISTINCT s.landonce_key FROM pg_temp.landonce_stage s WHERE s.landonce_may_repeat
    ), folded AS MATERIALIZED (
      SELECT k.* FROM (
        SELECT s.at, s.landonce_number, s.landonce_offset, s.landonce_len, row_number() OVER w AS nth, s.turn = 0 AND (s.landonce_digest IS DISTINCT FROM first_value(s.landonce_digest) OVER w) AS is_conflict
        FROM (
        SELECT s.*, CASE WHEN NOT s.is_top THEN 3 WHEN s.landonce_offset < s.turned THEN 2
                         WHEN s.landonce_offset = s.turned THEN 1 ELSE 0 END AS turn
        FROM (
          SELECT s.*, max(s.landonce_offset) FILTER (WHERE s.landonce_is_delete AND s.is_top) OVER (PARTITION BY s.landonce_key) AS turned
          FROM (SELECT s.*, s.ctid AS at, (s.c0 IS NULL OR s.c0 = max(s.c0) OVER (PARTITION BY s.landonce_key)) AS is_top FROM pg_temp.landonce_stage s JOIN repeated r ON r.landonce_key = s.landonce_key) s
        ) s
      ) s
        WINDOW w AS (PARTITION BY s.landonce_key ORDER BY s.turn, s.landonce_offset)
      ) k WHERE k.nth > 1
    ), gone AS (
      DELETE FROM pg_temp.landonce_stage s WHERE s.ctid = ANY (ARRAY(SELECT f.at FROM folded f))
    )
    SELECT count(*) FILTER (WHERE NOT f.is_conflict), array_agg(f.landonce_number ORDER BY f.landonce_offset) FILTER (WHERE f.is_conflict), array_agg(f.landonce_offset ORDER BY f.landonce_offset) FILTER (WHERE f.is_conflict), array_agg(f.landonce_len ORDER BY f.landonce_offset) FILTER (WHERE f.is_conflict)
    FROM folded f
    "#);
}

#[test]
fn the_write_is_guarded_and_in_key_order() {
    let sql = rendered!(own(), TABLE, write());
    insta::assert_snapshot!(sql, @r#"
    WITH written AS (
      INSERT INTO "public"."duty_event" AS t ("landonce_key", "landonce_digest", "updated_at", "payload", "run_id", "revision")
      SELECT r.landonce_key, r.landonce_digest, r.c0, r.c1, $1::uuid, 1
      FROM pg_temp.landonce_rows r
      ORDER BY r.landonce_key
      ON CONFLICT ("landonce_key") DO UPDATE SET "landonce_digest" = EXCLUDED."landonce_digest", "updated_at" = EXCLUDED."updated_at", "payload" = EXCLUDED."payload", "run_id" = EXCLUDED."run_id", "revision" = coalesce(t."revision", 0) + 1
      WHERE t."landonce_digest" IS DISTINCT FROM EXCLUDED."landonce_digest"
      AND (t."updated_at" < EXCLUDED."updated_at" OR t."updated_at" IS NULL)
      RETURNING t.xmax = 0 AS is_new
    )
    SELECT count(*) FILTER (WHERE w.is_new), count(*) FILTER (WHERE NOT w.is_new) FROM written w
    "#);
}

#[test]
fn what_a_write_left_is_told_apart_again() {
    let sql = rendered!(own(), TABLE, left());
    insta::assert_snapshot!(sql, @r#"
    SELECT count(*) FILTER (WHERE d.class = 4 AND d.is_another), array_agg(d.landonce_number ORDER BY d.landonce_offset) FILTER (WHERE d.class = 3 AND d.is_another), array_agg(d.landonce_offset ORDER BY d.landonce_offset) FILTER (WHERE d.class = 3 AND d.is_another), array_agg(d.landonce_len ORDER BY d.landonce_offset) FILTER (WHERE d.class = 3 AND d.is_another), array_agg(d.landonce_number ORDER BY d.landonce_offset) FILTER (WHERE d.class = 1), array_agg(d.landonce_offset ORDER BY d.landonce_offset) FILTER (WHERE d.class = 1), array_agg(d.landonce_len ORDER BY d.landonce_offset) FILTER (WHERE d.class = 1)
    FROM (
      SELECT s.*, (CASE WHEN t.is_there IS NULL THEN 1 WHEN t."updated_at" > s.c0 THEN 4 WHEN NOT (t."landonce_digest" IS DISTINCT FROM s.landonce_digest) THEN 0 WHEN t."updated_at" = s.c0 THEN 3 ELSE 2 END)::smallint AS class, t.is_there AND t."run_id"::text IS DISTINCT FROM $1::uuid::text AS is_another
      FROM pg_temp.landonce_stage s JOIN pg_temp.landonce_rows r ON r.landonce_key = s.landonce_key
      LEFT JOIN (SELECT t."landonce_key", t."landonce_digest", t."updated_at", t."run_id", true AS is_there FROM "public"."duty_event" t) t ON t."landonce_key" = s.landonce_key
    ) d
    "#);
}

#[test]
fn equal_content_is_looked_for_in_batch_and_target() {
    let sql = rendered!(own(), TABLE, same_content(false));
    insta::assert_snapshot!(sql, @r#"
    WITH told AS (
      SELECT s.landonce_digest, s.landonce_number, s.landonce_offset, s.landonce_len, row_number() OVER w AS nth, first_value(s.landonce_key) OVER w AS first0
      FROM pg_temp.landonce_todo s WHERE s.class = 1
      WINDOW w AS (PARTITION BY s.landonce_digest ORDER BY s.landonce_offset)
    ), stored AS (
      SELECT DISTINCT t."landonce_digest" AS digest FROM "public"."duty_event" t
      WHERE t."landonce_digest" IN (SELECT s.landonce_digest FROM pg_temp.landonce_todo s WHERE s.class = 1)
    ), pairs AS MATERIALIZED (
      SELECT k.* FROM told k LEFT JOIN stored o ON o.digest = k.landonce_digest WHERE k.nth > 1 OR o.digest IS NOT NULL
    )
    SELECT (SELECT count(*) FROM pairs), p.landonce_number, p.landonce_offset, p.landonce_len, coalesce((SELECT t."landonce_key"::text FROM "public"."duty_event" t WHERE t."landonce_digest" = p.landonce_digest LIMIT 1), p.first0::text)
    FROM pairs p ORDER BY p.landonce_offset LIMIT $1
    "#);
}

#[test]
fn a_partitioned_table_counts_by_what_was_there_before() {
    let sql = rendered!(TablePlan { version: None, ..own() }, Some(Relation::Partitioned), write());
    insta::assert_snapshot!(sql, @r#"
    WITH before AS MATERIALIZED (
      SELECT r.landonce_key, true AS is_there FROM pg_temp.landonce_rows r JOIN "public"."duty_event" o ON o."landonce_key" = r.landonce_key
    ), written AS (
      INSERT INTO "public"."duty_event" AS t ("landonce_key", "landonce_digest", "updated_at", "payload", "run_id", "revision")
      SELECT r.landonce_key, r.landonce_digest, r.c0, r.c1, $1::uuid, 1
      FROM pg_temp.landonce_rows r
      ORDER BY r.landonce_key
      ON CONFLICT ("landonce_key") DO UPDATE SET "landonce_digest" = EXCLUDED."landonce_digest", "updated_at" = EXCLUDED."updated_at", "payload" = EXCLUDED."payload", "run_id" = EXCLUDED."run_id", "revision" = coalesce(t."revision", 0) + 1
      WHERE t."landonce_digest" IS DISTINCT FROM EXCLUDED."landonce_digest"
      RETURNING t."landonce_key" AS landonce_key
    )
    SELECT count(*) FILTER (WHERE b.is_there IS NULL), count(b.is_there)
    FROM written w LEFT JOIN before b ON w.landonce_key = b.landonce_key
    "#);
}

#[test]
fn insert_once_does_nothing_to_a_row_that_is_there() {
    let sql = rendered!(TablePlan { mode: WriteMode::InsertOnce, ..own() }, TABLE, write());
    insta::assert_snapshot!(sql, @r#"
    WITH written AS (
      INSERT INTO "public"."duty_event" AS t ("landonce_key", "landonce_digest", "updated_at", "payload", "run_id", "revision")
      SELECT r.landonce_key, r.landonce_digest, r.c0, r.c1, $1::uuid, 1
      FROM pg_temp.landonce_rows r
      ORDER BY r.landonce_key
      ON CONFLICT ("landonce_key") DO NOTHING
      RETURNING 1
    )
    SELECT count(*), 0::bigint FROM written w
    "#);
}

#[test]
fn a_change_is_looked_up_by_its_identity() {
    let sql = rendered!(theirs(), TABLE, create_rows().unwrap());
    insta::assert_snapshot!(sql, @r#"
    CREATE TEMPORARY TABLE landonce_rows ON COMMIT DROP AS
    SELECT t."order" AS c0, t."line" AS c1, t."note" AS c2, t."rest" AS c3, 0::bigint AS landonce_present FROM "public"."duty_event" t
    WITH NO DATA;
    CREATE INDEX ON pg_temp.landonce_rows (c0, c1)
    "#);
}

#[test]
fn a_change_is_compared_by_the_columns_it_has() {
    let sql = rendered!(theirs(), TABLE, classify(false));
    insta::assert_snapshot!(sql, @r#"
    CREATE TEMPORARY TABLE landonce_todo ON COMMIT DROP AS
    SELECT d.class, d.landonce_number, d.landonce_offset, d.landonce_len
    FROM (
      SELECT s.*, (CASE WHEN t.is_there IS NULL AND s.landonce_is_delete THEN 0 WHEN t.is_there IS NULL THEN 1 WHEN s.landonce_is_delete THEN 5 WHEN NOT (((s.landonce_present & 4 <> 0 AND (t."note")::jsonb IS DISTINCT FROM (s.c2)::jsonb) OR t."rest" IS DISTINCT FROM CASE WHEN jsonb_typeof(t."rest") = 'object' AND s.c3 IS NOT NULL THEN t."rest" || s.c3 ELSE coalesce(s.c3, t."rest") END)) THEN 0 ELSE 2 END)::smallint AS class
      FROM pg_temp.landonce_stage s
      LEFT JOIN (SELECT t."order", t."line", t."note", t."rest", true AS is_there FROM "public"."duty_event" t) t ON t."order" = s.c0 AND (t."line" = s.c1 OR (t."line" IS NULL AND s.c1 IS NULL))
    ) d
    WHERE d.class <> 0
    ORDER BY d.c0, d.c1
    "#);
}

#[test]
fn a_change_is_merged_with_the_row_that_is_locked() {
    let sql = rendered!(theirs(), TABLE, write());
    insta::assert_snapshot!(sql, @r#"
    WITH written AS (
      INSERT INTO "public"."duty_event" AS t ("order", "line", "note", "rest")
      SELECT r.c0, r.c1, CASE WHEN r.landonce_present & 4 <> 0 THEN r.c2 ELSE o."note" END, CASE WHEN jsonb_typeof(o."rest") = 'object' AND r.c3 IS NOT NULL THEN o."rest" || r.c3 ELSE coalesce(r.c3, o."rest") END
      FROM pg_temp.landonce_rows r
      LEFT JOIN "public"."duty_event" o ON o."order" = r.c0 AND (o."line" = r.c1 OR (o."line" IS NULL AND r.c1 IS NULL))
      ORDER BY r.c0, r.c1
      ON CONFLICT ("order", "line") DO UPDATE SET ("note", "rest") = (SELECT CASE WHEN p.landonce_present & 4 <> 0 THEN p.c2 ELSE t."note" END, CASE WHEN jsonb_typeof(t."rest") = 'object' AND p.c3 IS NOT NULL THEN t."rest" || p.c3 ELSE coalesce(p.c3, t."rest") END FROM pg_temp.landonce_rows p WHERE EXCLUDED."order" = p.c0 AND (EXCLUDED."line" = p.c1 OR (EXCLUDED."line" IS NULL AND p.c1 IS NULL)))
      WHERE EXISTS (SELECT FROM pg_temp.landonce_rows p WHERE EXCLUDED."order" = p.c0 AND (EXCLUDED."line" = p.c1 OR (EXCLUDED."line" IS NULL AND p.c1 IS NULL)) AND ((p.landonce_present & 4 <> 0 AND (t."note")::jsonb IS DISTINCT FROM (p.c2)::jsonb) OR t."rest" IS DISTINCT FROM CASE WHEN jsonb_typeof(t."rest") = 'object' AND p.c3 IS NOT NULL THEN t."rest" || p.c3 ELSE coalesce(p.c3, t."rest") END))
      RETURNING t.xmax = 0 AS is_new
    )
    SELECT count(*) FILTER (WHERE w.is_new), count(*) FILTER (WHERE NOT w.is_new) FROM written w
    "#);
}

#[test]
fn deletes_lock_in_key_order_first() {
    let sql = rendered!(theirs(), TABLE, delete());
    insta::assert_snapshot!(sql, @r#"
    WITH doomed AS MATERIALIZED (
      SELECT s.c0, s.c1
      FROM "public"."duty_event" t JOIN pg_temp.landonce_stage s ON t."order" = s.c0 AND (t."line" = s.c1 OR (t."line" IS NULL AND s.c1 IS NULL))
      WHERE s.landonce_is_delete
      ORDER BY s.c0, s.c1
      FOR UPDATE OF t
    )
    DELETE FROM "public"."duty_event" t USING doomed d WHERE t."order" = d.c0 AND (t."line" = d.c1 OR (t."line" IS NULL AND d.c1 IS NULL))
    "#);
}

#[test]
fn deletes_that_retire_keep_the_version() {
    let tombstone = Tombstone { at: "retired_at".into(), by: Some("retired_by".into()), by_type: None };
    let plan = TablePlan { has_deletes: true, tombstone: Some(tombstone), sender_id: false, ..own() };
    let sql = rendered!(plan.clone(), TABLE, retire().unwrap());
    insta::assert_snapshot!(sql, @r#"
    WITH doomed AS MATERIALIZED (
      SELECT s.landonce_key, s.c0 AS given_version, t."retired_at" IS NULL AS is_new
      FROM "public"."duty_event" t JOIN pg_temp.landonce_stage s ON t."landonce_key" = s.landonce_key
      WHERE s.landonce_is_delete AND (t."retired_at" IS NULL OR t."updated_at" < s.c0) AND (t."updated_at" > s.c0) IS NOT TRUE
      ORDER BY s.landonce_key
      FOR NO KEY UPDATE OF t
    ), marked AS (
      UPDATE "public"."duty_event" t SET "retired_at" = coalesce(t."retired_at", pg_catalog.now()), "retired_by" = CASE WHEN d.is_new THEN CAST($1 AS uuid) ELSE t."retired_by" END, "revision" = coalesce(t."revision", 0) + d.is_new::int, "updated_at" = coalesce(d.given_version, t."updated_at")
      FROM doomed d WHERE t."landonce_key" = d.landonce_key
      RETURNING d.is_new
    )
    SELECT count(*) FILTER (WHERE m.is_new) FROM marked m
    "#);
    insta::assert_snapshot!(rendered!(plan, TABLE, returning().unwrap()), @r#"
    SELECT 0::bigint, count(*)
    FROM (SELECT s.* FROM pg_temp.landonce_todo d JOIN pg_temp.landonce_stage s ON s.landonce_offset = d.landonce_offset WHERE d.class IN (2)) s JOIN "public"."duty_event" t ON t."landonce_key" = s.landonce_key
    WHERE t."retired_at" IS NOT NULL
    "#);
}

fn given() -> Vec<Given> {
    let given =
        |column, passed_as, cast: Option<&str>| Given { column, passed_as, cast: cast.map(str::to_owned) };
    vec![
        given(StageColumn::Key, "uuid", None),
        given(StageColumn::Digest, "bytea", None),
        given(StageColumn::Column(0), "timestamptz", None),
        given(StageColumn::Column(1), "text", Some("citext")),
    ]
}

#[test]
fn events_are_claimed_and_written_by_one_statement() {
    let wants = Wants { rows: false, same_content: true };
    let sql = rendered!(own(), TABLE, arrive(&given(), "mark", "{}", wants));
    insta::assert_snapshot!(sql, @r#"
    WITH given AS MATERIALIZED (
      SELECT g.landonce_nth, g.landonce_inbox, g.landonce_batch, g.landonce_of, g.landonce_run, g.landonce_source, g.landonce_subject, g.landonce_key, g.landonce_digest, g.c0, g.c1::citext AS c1
      FROM unnest($3::bytea[], $4::text[], $5::bytea[], $6::uuid[], $7::text[], $8::uuid[], $9::uuid[], $10::bytea[], $11::timestamptz[], $12::text[])
        WITH ORDINALITY AS g(landonce_inbox, landonce_batch, landonce_of, landonce_run, landonce_source, landonce_subject, landonce_key, landonce_digest, c0, c1, landonce_nth)
      WHERE $1::text = E'mark' AND $2::text IS NOT NULL
    ), claimed AS (
    INSERT INTO landonce.inbox AS i (key, pipeline, batch_id, batch_digest, run_id, source, subject, outcome, settled_at)
      SELECT s.landonce_inbox, $2::text, s.landonce_batch, s.landonce_of, s.landonce_run, s.landonce_source, s.landonce_subject,
             E'{}'::jsonb, clock_timestamp()
      FROM given s ORDER BY s.landonce_inbox
      ON CONFLICT (key) DO NOTHING
      RETURNING i.key
    ), written AS (
      INSERT INTO "public"."duty_event" AS t ("landonce_key", "landonce_digest", "updated_at", "payload", "run_id", "revision")
      SELECT r.landonce_key, r.landonce_digest, r.c0, r.c1, r.landonce_run, 1
      FROM given r JOIN claimed c ON c.key = r.landonce_inbox
      ORDER BY r.landonce_key
      ON CONFLICT ("landonce_key") DO UPDATE SET "landonce_digest" = EXCLUDED."landonce_digest", "updated_at" = EXCLUDED."updated_at", "payload" = EXCLUDED."payload", "run_id" = EXCLUDED."run_id", "revision" = coalesce(t."revision", 0) + 1
      WHERE t."landonce_digest" IS DISTINCT FROM EXCLUDED."landonce_digest"
      AND (t."updated_at" < EXCLUDED."updated_at" OR t."updated_at" IS NULL)
      RETURNING t.xmax = 0 AS is_new, NULL::text AS row_text, t."landonce_key" AS landonce_key
    )
    SELECT s.landonce_nth, c.key IS NOT NULL, w.is_new, w.row_text, CASE WHEN w.is_new THEN (SELECT concat_ws(', ', t."landonce_key"::text) FROM "public"."duty_event" t WHERE t."landonce_digest" >= s.landonce_digest AND t."landonce_digest" <= s.landonce_digest ORDER BY t."landonce_digest" LIMIT 1) END
    FROM given s LEFT JOIN claimed c ON c.key = s.landonce_inbox
    LEFT JOIN written w ON c.key IS NOT NULL AND w.landonce_key = s.landonce_key
    "#);
}

#[test]
fn one_event_is_bound_value_by_value_and_undoes_itself() {
    let wants = Wants { rows: false, same_content: false };
    let sql = rendered!(own(), TABLE, arrive_one(&given(), "mark", "{}", wants, true));
    insta::assert_snapshot!(sql, @r#"
    WITH given AS NOT MATERIALIZED (
      SELECT 1::bigint AS landonce_nth, $3::bytea AS landonce_inbox, $4::text AS landonce_batch, $5::bytea AS landonce_of, $6::uuid AS landonce_run, $7::text AS landonce_source, $8::uuid AS landonce_subject, $9::uuid AS landonce_key, $10::bytea AS landonce_digest, $11::timestamptz AS c0, $12::text::citext AS c1
      WHERE $1::text = E'mark' AND $2::text IS NOT NULL
    ), claimed AS (
    INSERT INTO landonce.inbox AS i (key, pipeline, batch_id, batch_digest, run_id, source, subject, outcome, settled_at)
      SELECT s.landonce_inbox, $2::text, s.landonce_batch, s.landonce_of, s.landonce_run, s.landonce_source, s.landonce_subject,
             E'{}'::jsonb, clock_timestamp()
      FROM given s
      ON CONFLICT (key) DO NOTHING
      RETURNING i.key
    ), written AS (
      INSERT INTO "public"."duty_event" AS t ("landonce_key", "landonce_digest", "updated_at", "payload", "run_id", "revision")
      SELECT r.landonce_key, r.landonce_digest, r.c0, r.c1, r.landonce_run, 1
      FROM given r CROSS JOIN claimed c
      ON CONFLICT ("landonce_key") DO UPDATE SET "landonce_digest" = EXCLUDED."landonce_digest", "updated_at" = EXCLUDED."updated_at", "payload" = EXCLUDED."payload", "run_id" = EXCLUDED."run_id", "revision" = coalesce(t."revision", 0) + 1
      WHERE t."landonce_digest" IS DISTINCT FROM EXCLUDED."landonce_digest"
      AND (t."updated_at" < EXCLUDED."updated_at" OR t."updated_at" IS NULL)
      RETURNING t.xmax = 0 AS is_new, NULL::text AS row_text, t."landonce_key" AS landonce_key
    )
    SELECT s.landonce_nth, EXISTS (SELECT FROM claimed), (SELECT w.is_new FROM written w), (SELECT w.row_text FROM written w), NULL::text,
           1 / (CASE WHEN EXISTS (SELECT FROM claimed) AND (SELECT w.is_new FROM written w) IS NOT TRUE THEN 0 ELSE 1 END)
    FROM given s
    "#);
}
