//! The statements of a derived table, whole, as the database gets them.

use landonce_core::column::Type;
use landonce_core::pipeline::Part;
use landonce_core::plan::{
    Absent, Bound, From, Guard, Match, PlanColumn, Scope, Span, TableName, TablePlan, WriteMode,
};

use super::Render;
use crate::postgres::catalog::Relation;
use crate::seam::Look;

/// Sums by day and shop, of 2026-03-01.
fn sums() -> TablePlan {
    let column = |name: &str, ty| PlanColumn {
        name: name.into(),
        from: From::Field(name.into()),
        ty,
        sql_type: None,
        nullable: false,
    };
    let span = Span { column: 0, start: Bound::Date(20_513), end: Bound::Date(20_514) };
    TablePlan {
        table: TableName { schema: Some("main".into()), name: "sums".into() },
        create: true,
        columns: vec![
            column("day", Type::Date),
            column("shop", Type::TEXT),
            column("seen_at", Type::Timestamptz),
        ],
        matching: Match::Columns(vec![0, 1]),
        guard: Guard::Columns,
        run_id: None,
        revision: None,
        version: None,
        mode: WriteMode::Upsert,
        absent: Absent::Replace,
        unguarded: Vec::new(),
        has_deletes: true,
        scope: Some(Scope { period: Some(span), owner: Vec::new() }),
        tombstone: None,
        history: None,
        sender_id: false,
    }
}

fn rendered(of: impl FnOnce(&Render<'_>) -> Vec<String>) -> String {
    let plan = sums();
    let mut facts = crate::postgres::facts::made(&plan);
    facts.relation = Some(Relation::Table);
    of(&Render::new(&plan, &facts).unwrap()).join("\n\n")
}

const QUERY: [Part<'_>; 5] = [
    Part::Sql("SELECT … WHERE at >= "),
    Part::At(Bound::Timestamptz(1_772_323_200_000_000)),
    Part::Sql(" AND day = "),
    Part::At(Bound::Date(20_513)),
    Part::Text("2026-W09"),
];

#[test]
fn what_a_batch_touches_is_told_in_days_and_quarters_of_an_hour() {
    let sql = rendered(|render| {
        let looks = [
            (0, Look::Before, false),
            (2, Look::After, false),
            (0, Look::After, true),
            (0, Look::Missing, false),
        ];
        let told =
            looks.into_iter().filter_map(|(column, look, is_new)| render.touched(column, look, is_new));
        told.chain([render.values(2)]).collect()
    });
    insta::assert_snapshot!(sql, @r#"
    SELECT DISTINCT CASE WHEN isfinite(t."day"::timestamp) THEN ((t."day"::timestamp)::date - DATE '1970-01-01')::bigint END
    FROM (SELECT s.* FROM pg_temp.landonce_todo d JOIN pg_temp.landonce_stage s ON s.landonce_offset = d.landonce_offset WHERE d.class IN (2, 5)) s JOIN "main"."sums" t ON t."day" = s.c0 AND t."shop" = s.c1

    SELECT DISTINCT CASE WHEN isfinite(t."seen_at"::timestamptz) THEN floor(extract(epoch FROM t."seen_at"::timestamptz) / 900)::bigint END
    FROM (SELECT s.* FROM pg_temp.landonce_todo d JOIN pg_temp.landonce_stage s ON s.landonce_offset = d.landonce_offset WHERE d.class IN (1, 2)) s JOIN "main"."sums" t ON t."day" = s.c0 AND t."shop" = s.c1

    SELECT DISTINCT CASE WHEN isfinite(t."day"::timestamp) THEN ((t."day"::timestamp)::date - DATE '1970-01-01')::bigint END
    FROM (SELECT s.* FROM pg_temp.landonce_stage s WHERE NOT s.landonce_is_delete) s JOIN "main"."sums" t ON t."day" = s.c0 AND t."shop" = s.c1

    SELECT DISTINCT CASE WHEN isfinite(t."day"::timestamp) THEN ((t."day"::timestamp)::date - DATE '1970-01-01')::bigint END FROM "main"."sums" t WHERE t."day" >= CAST('2026-03-01' AS date) AND t."day" < CAST('2026-03-02' AS date)
        AND NOT EXISTS (SELECT FROM pg_temp.landonce_stage s WHERE t."day" = s.c0 AND t."shop" = s.c1)

    SELECT DISTINCT CASE WHEN isfinite(t."seen_at"::timestamptz) THEN floor(extract(epoch FROM t."seen_at"::timestamptz) / 900)::bigint END FROM "main"."sums" t
    "#);
}

#[test]
fn a_period_is_computed_in_the_tables_own_types() {
    let sql =
        rendered(|render| vec![render.create_derived(), render.compute(&QUERY), render.faults().unwrap()]);
    insta::assert_snapshot!(sql, @r#"
    DROP TABLE IF EXISTS pg_temp.landonce_derived;
    CREATE TEMPORARY TABLE landonce_derived ON COMMIT DROP AS
    SELECT t."day" AS c0, t."shop" AS c1, t."seen_at" AS c2 FROM "main"."sums" t
    WITH NO DATA

    INSERT INTO pg_temp.landonce_derived (c0, c1, c2)
    SELECT q."day", q."shop", q."seen_at" FROM (
    SELECT … WHERE at >= TIMESTAMPTZ '2026-03-01T00:00:00.000000Z' AND day = DATE '2026-03-01'E'2026-W09'
    ) q

    SELECT (SELECT json_build_array(s.c0, s.c1, s.c2)::text FROM pg_temp.landonce_derived s WHERE s.c0 IS NULL OR s.c1 IS NULL LIMIT 1),
           (SELECT json_build_array(s.c0, s.c1, s.c2)::text FROM pg_temp.landonce_derived s WHERE (s.c0 >= CAST('2026-03-01' AS date) AND s.c0 < CAST('2026-03-02' AS date)) IS NOT TRUE LIMIT 1),
           (SELECT json_build_array(s.c0, s.c1)::text FROM pg_temp.landonce_derived s GROUP BY s.c0, s.c1 HAVING count(*) > 1 LIMIT 1)
    "#);
}

#[test]
fn only_what_differs_is_written() {
    let sql = rendered(|render| {
        vec![
            render.differing(0).unwrap(),
            render.delete_vanished().unwrap(),
            render.update_differing().unwrap(),
            render.insert_computed(),
        ]
    });
    insta::assert_snapshot!(sql, @r#"
    SELECT CASE WHEN isfinite(t."day"::timestamp) THEN ((t."day"::timestamp)::date - DATE '1970-01-01')::bigint END FROM "main"."sums" t WHERE t."day" >= CAST('2026-03-01' AS date) AND t."day" < CAST('2026-03-02' AS date) AND NOT EXISTS (SELECT FROM pg_temp.landonce_derived s WHERE t."day" = s.c0 AND t."shop" = s.c1 AND NOT (t."seen_at" IS DISTINCT FROM s.c2))
    UNION
    SELECT CASE WHEN isfinite(s.c0::timestamp) THEN ((s.c0::timestamp)::date - DATE '1970-01-01')::bigint END FROM pg_temp.landonce_derived s WHERE NOT EXISTS (SELECT FROM "main"."sums" t WHERE t."day" = s.c0 AND t."shop" = s.c1 AND NOT (t."seen_at" IS DISTINCT FROM s.c2))

    DELETE FROM "main"."sums" t WHERE t."day" >= CAST('2026-03-01' AS date) AND t."day" < CAST('2026-03-02' AS date)
      AND NOT EXISTS (SELECT FROM pg_temp.landonce_derived s WHERE t."day" = s.c0 AND t."shop" = s.c1)

    UPDATE "main"."sums" t SET "seen_at" = s.c2
    FROM pg_temp.landonce_derived s WHERE t."day" = s.c0 AND t."shop" = s.c1 AND (t."seen_at" IS DISTINCT FROM s.c2)

    INSERT INTO "main"."sums" ("day", "shop", "seen_at")
    SELECT s.c0, s.c1, s.c2 FROM pg_temp.landonce_derived s
    WHERE NOT EXISTS (SELECT FROM "main"."sums" t WHERE t."day" = s.c0 AND t."shop" = s.c1)
    ORDER BY s.c0, s.c1
    "#);
}

#[test]
fn both_sides_of_a_comparison_are_seen_at_one_moment() {
    let sql = rendered(|render| {
        vec![render.create_compared(), render.fill_compared(&QUERY).unwrap(), render.compared()]
    });
    insta::assert_snapshot!(sql, @r#"
    DROP TABLE IF EXISTS pg_temp.landonce_compared;
    CREATE TEMPORARY TABLE landonce_compared ON COMMIT DROP AS
    SELECT false AS is_query, t."day" AS c0, t."shop" AS c1, t."seen_at" AS c2 FROM "main"."sums" t
    WITH NO DATA

    WITH q AS (INSERT INTO pg_temp.landonce_compared (is_query, c0, c1, c2)
    SELECT true, q."day", q."shop", q."seen_at" FROM (
    SELECT … WHERE at >= TIMESTAMPTZ '2026-03-01T00:00:00.000000Z' AND day = DATE '2026-03-01'E'2026-W09'
    ) q
    ), t AS (INSERT INTO pg_temp.landonce_compared (is_query, c0, c1, c2)
    SELECT false, t."day", t."shop", t."seen_at" FROM "main"."sums" t WHERE t."day" >= CAST('2026-03-01' AS date) AND t."day" < CAST('2026-03-02' AS date)
    )
    SELECT 1

    SELECT count(*) OVER (), CASE WHEN q.nth IS NOT NULL THEN json_build_array(q.c0, q.c1, q.c2)::text END, CASE WHEN t.nth IS NOT NULL THEN json_build_array(t.c0, t.c1, t.c2)::text END
    FROM (SELECT *, row_number() OVER (PARTITION BY c0, c1) AS nth FROM pg_temp.landonce_compared WHERE is_query) q FULL JOIN (SELECT *, row_number() OVER (PARTITION BY c0, c1) AS nth FROM pg_temp.landonce_compared WHERE NOT is_query) t ON q.c0 = t.c0 AND q.c1 = t.c1 AND q.nth = t.nth
    WHERE q.nth IS NULL OR t.nth IS NULL OR q.c2 IS DISTINCT FROM t.c2
    ORDER BY coalesce(q.c0, t.c0), coalesce(q.c1, t.c1) LIMIT $1
    "#);
}
