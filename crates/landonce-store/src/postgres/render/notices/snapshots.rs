//! The statements of notifications, whole, as the server gets them.

use landonce_core::column::Type;
use landonce_core::plan::{
    Absent, From, Guard, KeyForm, Match, Owned, PlanColumn, Scope, TableName, TablePlan, Tombstone, WriteMode,
};

use super::Render;
use crate::postgres::catalog::Relation;
use crate::seam::Look;

/// A snapshot of one owner, which retires.
fn crew() -> TablePlan {
    let column = |name: &str, ty| PlanColumn {
        name: name.into(),
        from: From::Field(name.into()),
        ty,
        sql_type: None,
        nullable: true,
    };
    TablePlan {
        table: TableName { schema: None, name: "crew".into() },
        create: false,
        columns: vec![
            column("base", Type::TEXT),
            column("seen_at", Type::Timestamptz),
            column("times", Type::Array(Box::new(Type::Timestamp))),
            column("rest", Type::Json),
        ],
        matching: Match::Key { column: "landonce_key".into(), form: KeyForm::Bytes },
        guard: Guard::Digest { column: "landonce_digest".into() },
        run_id: Some("run_id".into()),
        revision: Some("revision".into()),
        version: None,
        mode: WriteMode::Upsert,
        absent: Absent::Replace,
        unguarded: Vec::new(),
        has_deletes: false,
        scope: Some(Scope { period: None, owner: vec![Owned { column: 0, value: "BER".into() }] }),
        tombstone: Some(Tombstone { at: "retired_at".into(), by: None, by_type: None }),
        history: None,
        sender_id: false,
    }
}

fn rendered(of: impl FnOnce(&Render<'_>) -> Vec<String>) -> String {
    let plan = crew();
    let mut facts = crate::postgres::facts::made(&plan);
    facts.relation = Some(Relation::Table);
    of(&Render::new(&plan, &facts).unwrap()).join("\n\n")
}

#[test]
fn rows_are_remembered_and_locked_in_key_order() {
    let sql = rendered(|render| {
        let looks = [Look::Before, Look::Missing].map(|look| render.remember(look, false).unwrap());
        [vec![render.create_old()], looks.to_vec()].concat()
    });
    insta::assert_snapshot!(sql, @r#"
    DROP TABLE IF EXISTS pg_temp.landonce_old;
    CREATE TEMPORARY TABLE landonce_old ON COMMIT DROP AS
    SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired FROM "crew" t
    WITH NO DATA

    INSERT INTO pg_temp.landonce_old
    SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired
    FROM (SELECT s.* FROM pg_temp.landonce_todo d JOIN pg_temp.landonce_stage s ON s.landonce_offset = d.landonce_offset WHERE d.class IN (2, 5)) s JOIN "crew" t ON t."landonce_key" = s.landonce_key
    ORDER BY t."landonce_key"
    FOR NO KEY UPDATE OF t

    INSERT INTO pg_temp.landonce_old
    SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired
    FROM "crew" t
    WHERE t."base" = CAST($1 AS text)
        AND t."retired_at" IS NULL
        AND NOT EXISTS (SELECT FROM pg_temp.landonce_stage s WHERE t."landonce_key" = s.landonce_key)
    ORDER BY t."landonce_key"
    FOR UPDATE OF t
    "#);
}

#[test]
fn nothing_is_remembered_of_a_table_without_rows() {
    rendered(|render| {
        assert!(
            render.remember(Look::Before, true).is_none() && render.remember(Look::After, false).is_none()
        );
        Vec::new()
    });
}

#[test]
fn what_has_happened_is_asked_of_the_target() {
    let run = "0190b6f2-0000-7000-8000-000000000001";
    let sql =
        rendered(|render| vec![render.open_changes(run, false, true), render.open_changes(run, true, false)]);
    insta::assert_snapshot!(sql, @r#"
    DECLARE landonce_changes NO SCROLL CURSOR FOR
    SELECT c.kind, c.key, c.revision, c.old, c.new FROM (
    SELECT (CASE WHEN t.landonce_is_there IS NULL THEN 5 WHEN o.landonce_is_retired AND NOT t.landonce_is_retired THEN 4
                   WHEN t.landonce_is_retired AND NOT o.landonce_is_retired THEN 3 ELSE 2 END)::smallint AS kind,
             encode(o.landonce_key, 'hex') AS key, coalesce(t.landonce_revision, o.landonce_revision, 0)::bigint AS revision,
             '[' || coalesce((to_json((o.c0)::text))::text, 'null') || ',' || coalesce((CASE WHEN isfinite(o.c1) THEN to_json(to_char((o.c1)::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) ELSE to_json((o.c1)::text) END)::text, 'null') || ',' || coalesce((CASE WHEN o.c2 IS NOT NULL THEN (SELECT coalesce(json_agg(CASE WHEN isfinite(u.v) THEN to_json(to_char(u.v, 'YYYY-MM-DD"T"HH24:MI:SS.US')) ELSE to_json((u.v)::text) END ORDER BY u.n), '[]') FROM unnest(o.c2) WITH ORDINALITY u (v, n)) END)::text, 'null') || ',' || coalesce(((o.c3)::jsonb)::text, 'null') || ']' AS old, CASE WHEN t.landonce_is_there THEN '[' || coalesce((to_json((t.c0)::text))::text, 'null') || ',' || coalesce((CASE WHEN isfinite(t.c1) THEN to_json(to_char((t.c1)::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) ELSE to_json((t.c1)::text) END)::text, 'null') || ',' || coalesce((CASE WHEN t.c2 IS NOT NULL THEN (SELECT coalesce(json_agg(CASE WHEN isfinite(u.v) THEN to_json(to_char(u.v, 'YYYY-MM-DD"T"HH24:MI:SS.US')) ELSE to_json((u.v)::text) END ORDER BY u.n), '[]') FROM unnest(t.c2) WITH ORDINALITY u (v, n)) END)::text, 'null') || ',' || coalesce(((t.c3)::jsonb)::text, 'null') || ']' END AS new, o.landonce_key AS k0
      FROM pg_temp.landonce_old o LEFT JOIN (SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired, true AS landonce_is_there FROM "crew" t) t ON t.landonce_key = o.landonce_key
      WHERE t.landonce_is_there IS NULL OR coalesce(t.landonce_revision, 0)::bigint > coalesce(o.landonce_revision, 0)::bigint
      UNION ALL
    SELECT (CASE WHEN coalesce(t.landonce_revision, 0)::bigint = 1 THEN 1 ELSE 0 END)::smallint AS kind, encode(t.landonce_key, 'hex') AS key, coalesce(t.landonce_revision, 0)::bigint AS revision,
             NULL::text AS old, '[' || coalesce((to_json((t.c0)::text))::text, 'null') || ',' || coalesce((CASE WHEN isfinite(t.c1) THEN to_json(to_char((t.c1)::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) ELSE to_json((t.c1)::text) END)::text, 'null') || ',' || coalesce((CASE WHEN t.c2 IS NOT NULL THEN (SELECT coalesce(json_agg(CASE WHEN isfinite(u.v) THEN to_json(to_char(u.v, 'YYYY-MM-DD"T"HH24:MI:SS.US')) ELSE to_json((u.v)::text) END ORDER BY u.n), '[]') FROM unnest(t.c2) WITH ORDINALITY u (v, n)) END)::text, 'null') || ',' || coalesce(((t.c3)::jsonb)::text, 'null') || ']' AS new, t.landonce_key AS k0
      FROM (SELECT s.* FROM pg_temp.landonce_todo d JOIN pg_temp.landonce_stage s ON s.landonce_offset = d.landonce_offset WHERE d.class IN (1, 2)) s JOIN (SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired, t."run_id"::text AS landonce_run FROM "crew" t) t ON t.landonce_key = s.landonce_key
      WHERE t.landonce_run = E'0190b6f2-0000-7000-8000-000000000001' AND NOT EXISTS (SELECT FROM pg_temp.landonce_old o WHERE o.landonce_key = s.landonce_key)
    ) c ORDER BY c.k0

    DECLARE landonce_changes NO SCROLL CURSOR FOR
    SELECT c.kind, c.key, c.revision, c.old, c.new FROM (
    SELECT (CASE WHEN coalesce(t.landonce_revision, 0)::bigint = 1 THEN 1 ELSE 0 END)::smallint AS kind, encode(t.landonce_key, 'hex') AS key, coalesce(t.landonce_revision, 0)::bigint AS revision,
             NULL::text AS old, '[' || coalesce((to_json((t.c0)::text))::text, 'null') || ',' || coalesce((CASE WHEN isfinite(t.c1) THEN to_json(to_char((t.c1)::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) ELSE to_json((t.c1)::text) END)::text, 'null') || ',' || coalesce((CASE WHEN t.c2 IS NOT NULL THEN (SELECT coalesce(json_agg(CASE WHEN isfinite(u.v) THEN to_json(to_char(u.v, 'YYYY-MM-DD"T"HH24:MI:SS.US')) ELSE to_json((u.v)::text) END ORDER BY u.n), '[]') FROM unnest(t.c2) WITH ORDINALITY u (v, n)) END)::text, 'null') || ',' || coalesce(((t.c3)::jsonb)::text, 'null') || ']' AS new, t.landonce_key AS k0
      FROM (SELECT s.* FROM pg_temp.landonce_stage s) s JOIN (SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired, t."run_id"::text AS landonce_run FROM "crew" t) t ON t.landonce_key = s.landonce_key
      WHERE t.landonce_run = E'0190b6f2-0000-7000-8000-000000000001'
    ) c ORDER BY c.k0
    "#);
}
