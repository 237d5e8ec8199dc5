//! The statements of notifications, whole, as SQLite gets them.

use landonce_core::column::Type;
use landonce_core::plan::{
    Absent, From, Guard, KeyForm, Match, Owned, PlanColumn, Scope, TableName, TablePlan, Tombstone, WriteMode,
};

use super::Render;
use crate::seam::Look;
use crate::sqlite::catalog::Facts;

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
    let facts = Facts::made(&plan, true);
    of(&Render::new(&plan, &facts).unwrap()).join("\n\n")
}

#[test]
fn rows_are_remembered_before_they_are_written() {
    let sql = rendered(|render| {
        let looks = [Look::Before, Look::Missing].map(|look| render.remember(look).unwrap());
        [vec![render.create_old()], looks.to_vec()].concat()
    });
    insta::assert_snapshot!(sql, @r#"
    CREATE TABLE temp.landonce_old AS SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired FROM "main"."crew" AS t WHERE 0

    INSERT INTO temp.landonce_old SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired FROM temp.landonce_todo AS d CROSS JOIN temp.landonce_stage AS s ON s.rowid = d.staged CROSS JOIN "main"."crew" AS t ON t."landonce_key" = s.landonce_key
    WHERE d.class IN (2, 5)

    INSERT INTO temp.landonce_old SELECT t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired FROM "main"."crew" AS t
    WHERE t."base" = ?1
      AND t."retired_at" IS NULL
      AND ((t."landonce_key") IN (SELECT s.landonce_key FROM temp.landonce_stage s)) IS NOT TRUE
    "#);
}

#[test]
fn what_has_happened_is_asked_of_the_target() {
    let sql = rendered(|render| {
        let [create, fill] = render.fill_changes(true);
        vec![create, fill, render.next_changes(true), render.next_changes(false)]
    });
    insta::assert_snapshot!(sql, @r#"
    CREATE TABLE temp.landonce_changes (id INTEGER PRIMARY KEY, old, staged)

    INSERT INTO temp.landonce_changes (old, staged)
    SELECT c.old, c.staged FROM (
      SELECT o.rowid AS old, NULL AS staged, o.landonce_key AS k0
      FROM temp.landonce_old AS o
      WHERE coalesce((SELECT coalesce(t."revision", 0) FROM "main"."crew" AS t WHERE t."landonce_key" = o.landonce_key), 9223372036854775807) > coalesce(o.landonce_revision, 0)
      UNION ALL
      SELECT NULL AS old, s.rowid AS staged, s.landonce_key AS k0
      FROM temp.landonce_todo AS d CROSS JOIN temp.landonce_stage AS s ON s.rowid = d.staged CROSS JOIN "main"."crew" AS t ON t."landonce_key" = s.landonce_key
      WHERE d.class = 1 AND t."run_id" = ?1
    ) AS c ORDER BY c.k0

    SELECT c.id, c.old IS NOT NULL, t."landonce_key" IS NOT NULL, o.landonce_key, o.c0, o.c1, o.c2, o.c3, o.landonce_revision, o.landonce_is_retired, t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired
    FROM temp.landonce_changes AS c LEFT JOIN temp.landonce_old AS o ON o.rowid = c.old LEFT JOIN temp.landonce_stage AS s ON s.rowid = c.staged LEFT JOIN "main"."crew" AS t ON t."landonce_key" = coalesce(o.landonce_key, s.landonce_key)
    WHERE c.id > ?1 ORDER BY c.id LIMIT ?2

    SELECT c.id, c.old IS NOT NULL, t."landonce_key" IS NOT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, t."landonce_key" AS landonce_key, t."base" AS c0, t."seen_at" AS c1, t."times" AS c2, t."rest" AS c3, t."revision" AS landonce_revision, t."retired_at" IS NOT NULL AS landonce_is_retired
    FROM temp.landonce_changes AS c CROSS JOIN temp.landonce_stage AS s ON s.rowid = c.staged LEFT JOIN "main"."crew" AS t ON t."landonce_key" = s.landonce_key
    WHERE c.id > ?1 ORDER BY c.id LIMIT ?2
    "#);
}
