//! The statements of a derived table, whole, as the database gets them.

use landonce_core::column::Type;
use landonce_core::pipeline::Part;
use landonce_core::plan::{
    Absent, Bound, From, Guard, Match, PlanColumn, Scope, Span, TableName, TablePlan, WriteMode,
};

use super::Render;
use crate::seam::Look;
use crate::sqlite::catalog::Facts;

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
    let facts = Facts::made(&plan, true);
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
fn what_a_batch_touches_is_told_in_days_and_minutes() {
    let sql = rendered(|render| {
        let looks = [(0, Look::Before), (2, Look::After), (0, Look::Missing)];
        let told = looks.into_iter().filter_map(|(column, look)| render.touched(column, look));
        told.chain([render.values(2)]).collect()
    });
    insta::assert_snapshot!(sql, @r#"
    SELECT DISTINCT substr(t."day", 1, 10)
    FROM temp.landonce_todo AS d CROSS JOIN temp.landonce_stage AS s ON s.rowid = d.staged CROSS JOIN "main"."sums" AS t ON t."day" = s.c0 AND t."shop" = s.c1
    WHERE d.class IN (2, 5)

    SELECT DISTINCT CASE WHEN t."seen_at" GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:*Z' THEN substr(t."seen_at", 1, 16) || 'Z' ELSE t."seen_at" END
    FROM temp.landonce_todo AS d CROSS JOIN temp.landonce_stage AS s ON s.rowid = d.staged CROSS JOIN "main"."sums" AS t ON t."day" = s.c0 AND t."shop" = s.c1
    WHERE d.class IN (1, 2)

    SELECT DISTINCT substr(t."day", 1, 10) FROM "main"."sums" AS t WHERE t."day" >= '2026-03-01' AND t."day" < '2026-03-02' AND t."day" GLOB '????-??-??'
      AND ((t."day", t."shop") IN (SELECT s.c0, s.c1 FROM temp.landonce_stage s)) IS NOT TRUE

    SELECT DISTINCT CASE WHEN t."seen_at" GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:*Z' THEN substr(t."seen_at", 1, 16) || 'Z' ELSE t."seen_at" END FROM "main"."sums" AS t
    "#);
}

#[test]
fn a_period_is_computed_in_the_tables_own_types() {
    let sql = rendered(|render| {
        let mut all = render.compute(&QUERY);
        all.extend([render.floats(), render.faults().unwrap()]);
        all
    });
    insta::assert_snapshot!(sql, @r#"
    DROP TABLE IF EXISTS temp.landonce_raw;
    DROP TABLE IF EXISTS temp.landonce_derived;
    DROP TABLE IF EXISTS temp.landonce_compared;


    CREATE TABLE temp.landonce_raw AS SELECT q."day" AS c0, q."shop" AS c1, q."seen_at" AS c2 FROM (
    SELECT … WHERE at >= '2026-03-01T00:00:00.000000Z' AND day = '2026-03-01''2026-W09'
    ) AS q

    CREATE TABLE temp.landonce_derived (c0 TEXT, c1 TEXT, c2 TEXT)

    INSERT INTO temp.landonce_derived SELECT * FROM temp.landonce_raw

    SELECT coalesce((SELECT 'day' FROM temp.landonce_raw WHERE typeof(c0) = 'real' LIMIT 1), (SELECT 'shop' FROM temp.landonce_raw WHERE typeof(c1) = 'real' LIMIT 1), (SELECT 'seen_at' FROM temp.landonce_raw WHERE typeof(c2) = 'real' LIMIT 1), NULL)

    SELECT (SELECT json_array(CASE WHEN typeof(s.c0) = 'blob' THEN hex(s.c0) ELSE s.c0 END, CASE WHEN typeof(s.c1) = 'blob' THEN hex(s.c1) ELSE s.c1 END, CASE WHEN typeof(s.c2) = 'blob' THEN hex(s.c2) ELSE s.c2 END) FROM temp.landonce_derived s WHERE s.c0 IS NULL OR s.c1 IS NULL LIMIT 1),
           (SELECT json_array(CASE WHEN typeof(s.c0) = 'blob' THEN hex(s.c0) ELSE s.c0 END, CASE WHEN typeof(s.c1) = 'blob' THEN hex(s.c1) ELSE s.c1 END, CASE WHEN typeof(s.c2) = 'blob' THEN hex(s.c2) ELSE s.c2 END) FROM temp.landonce_derived s WHERE (s.c0 >= '2026-03-01' AND s.c0 < '2026-03-02' AND s.c0 GLOB '????-??-??' AND length(s.c0) = 10) IS NOT TRUE LIMIT 1),
           (SELECT json_array(CASE WHEN typeof(s.c0) = 'blob' THEN hex(s.c0) ELSE s.c0 END, CASE WHEN typeof(s.c1) = 'blob' THEN hex(s.c1) ELSE s.c1 END) FROM temp.landonce_derived s GROUP BY s.c0, s.c1 HAVING count(*) > 1 LIMIT 1)
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
    SELECT substr(t."day", 1, 10) FROM "main"."sums" AS t WHERE t."day" >= '2026-03-01' AND t."day" < '2026-03-02' AND t."day" GLOB '????-??-??' AND NOT EXISTS (SELECT 1 FROM temp.landonce_derived AS s WHERE t."day" = s.c0 AND t."shop" = s.c1 AND NOT (t."seen_at" IS NOT s.c2))
    UNION
    SELECT substr(s.c0, 1, 10) FROM temp.landonce_derived AS s WHERE NOT EXISTS (SELECT 1 FROM "main"."sums" AS t WHERE t."day" = s.c0 AND t."shop" = s.c1 AND NOT (t."seen_at" IS NOT s.c2))

    DELETE FROM "main"."sums" AS t WHERE t."day" >= '2026-03-01' AND t."day" < '2026-03-02' AND t."day" GLOB '????-??-??'
      AND NOT EXISTS (SELECT 1 FROM temp.landonce_derived AS s WHERE t."day" = s.c0 AND t."shop" = s.c1)

    UPDATE OR ABORT "main"."sums" AS t SET "seen_at" = s.c2
    FROM temp.landonce_derived AS s WHERE t."day" = s.c0 AND t."shop" = s.c1 AND (t."seen_at" IS NOT s.c2)

    INSERT OR ABORT INTO "main"."sums" ("day", "shop", "seen_at")
    SELECT s.c0, s.c1, s.c2 FROM temp.landonce_derived AS s
    WHERE NOT EXISTS (SELECT 1 FROM "main"."sums" AS t WHERE t."day" = s.c0 AND t."shop" = s.c1)
    ORDER BY s.c0, s.c1
    "#);
}

#[test]
fn a_comparison_pairs_rows_of_one_key() {
    let sql = rendered(|render| {
        let mut all = render.fill_compared().unwrap();
        all.push(render.compared());
        all
    });
    insta::assert_snapshot!(sql, @r#"
    CREATE TABLE temp.landonce_compared (is_query, c0 TEXT, c1 TEXT, c2 TEXT)

    INSERT INTO temp.landonce_compared SELECT 1, s.* FROM temp.landonce_derived s

    INSERT INTO temp.landonce_compared SELECT 0, t."day", t."shop", t."seen_at" FROM "main"."sums" AS t WHERE t."day" >= '2026-03-01' AND t."day" < '2026-03-02' AND t."day" GLOB '????-??-??'

    SELECT count(*) OVER (), CASE WHEN q.nth IS NOT NULL THEN json_array(CASE WHEN typeof(q.c0) = 'blob' THEN hex(q.c0) ELSE q.c0 END, CASE WHEN typeof(q.c1) = 'blob' THEN hex(q.c1) ELSE q.c1 END, CASE WHEN typeof(q.c2) = 'blob' THEN hex(q.c2) ELSE q.c2 END) END, CASE WHEN t.nth IS NOT NULL THEN json_array(CASE WHEN typeof(t.c0) = 'blob' THEN hex(t.c0) ELSE t.c0 END, CASE WHEN typeof(t.c1) = 'blob' THEN hex(t.c1) ELSE t.c1 END, CASE WHEN typeof(t.c2) = 'blob' THEN hex(t.c2) ELSE t.c2 END) END
    FROM (SELECT *, row_number() OVER (PARTITION BY c0, c1) AS nth FROM temp.landonce_compared WHERE is_query = 1) AS q FULL JOIN (SELECT *, row_number() OVER (PARTITION BY c0, c1) AS nth FROM temp.landonce_compared WHERE is_query = 0) AS t ON q.c0 = t.c0 AND q.c1 = t.c1 AND q.nth = t.nth
    WHERE q.nth IS NULL OR t.nth IS NULL OR q.c2 IS NOT t.c2
    ORDER BY coalesce(q.c0, t.c0), coalesce(q.c1, t.c1) LIMIT ?1
    "#);
}
