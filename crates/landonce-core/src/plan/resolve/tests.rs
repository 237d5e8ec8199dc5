//! Pipelines against catalogues that don't exist, fit, or don't fit.

use super::*;
use crate::plan::{TableName, UniqueIndex};
use crate::spec::Spec;

fn pipeline(yaml: &str) -> Pipeline {
    Pipeline::new(Spec::parse(&format!("pipeline: p\n{yaml}")).unwrap()).unwrap()
}

fn column(name: &str, ty: Type) -> ShapeColumn {
    ShapeColumn {
        name: name.into(),
        sql_type: ty.to_string(),
        ty: Some(ty),
        nullable: true,
        is_generated: false,
        has_default: false,
        is_exact: true,
    }
}

fn shape(columns: Vec<ShapeColumn>, unique: &[&[&str]]) -> TableShape {
    TableShape {
        table: TableName { schema: Some("public".into()), name: "t".into() },
        columns,
        unique: unique
            .iter()
            .map(|columns| UniqueIndex {
                name: "t_key".into(),
                columns: columns.iter().map(|name| (*name).to_owned()).collect(),
                is_null_safe: true,
                is_primary: false,
            })
            .collect(),
        is_view: false,
        is_loosely_typed: false,
    }
}

#[test]
fn a_table_that_landonce_makes_has_identity_columns_payload_and_managed_ones() {
    let plan = resolve(
        &pipeline("identity: [a, b]\ntarget: {table: t, columns: {b: timestamptz, n: integer}}"),
        None,
    )
    .unwrap();
    let names: Vec<_> =
        plan.columns.iter().map(|column| (column.name.as_str(), column.ty.to_string())).collect();
    assert_eq!(
        names,
        [
            ("a", "scalar".into()),
            ("b", "timestamptz".to_string()),
            ("n", "integer".into()),
            ("payload", "json".into())
        ]
    );
    assert!(plan.create);
    assert_eq!(plan.matching, Match::Key { column: "landonce_key".into(), form: KeyForm::Uuid });
    assert_eq!(plan.guard, Guard::Digest { column: "landonce_digest".into() });
}

#[test]
fn a_table_of_somebody_else_is_matched_on_its_own_columns() {
    let shape = shape(vec![column("id", Type::INTEGER), column("v", Type::TEXT)], &[&["id"]]);
    let plan =
        resolve(&pipeline("identity: [id]\ntarget: {table: t, columns: {v: text}}"), Some(&shape)).unwrap();
    assert_eq!(plan.matching, Match::Columns(vec![0]));
    assert_eq!(plan.guard, Guard::Columns);
    assert_eq!((plan.run_id, plan.revision), (None, None));
    assert_eq!(plan.columns[0].ty, Type::INTEGER);
}

#[test]
fn undeclared_columns_are_never_emptied_by_records_that_do_not_know_them() {
    let mut with_default = column("status", Type::TEXT);
    with_default.has_default = true;
    let shape =
        shape(vec![column("id", Type::INTEGER), column("notes", Type::TEXT), with_default], &[&["id"]]);
    let plan = resolve(&pipeline("identity: [id]\ntarget: {table: t}"), Some(&shape)).unwrap();
    assert_eq!(plan.absent, Absent::Keep);
    assert_eq!(plan.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["id", "notes"]);
}

#[test]
fn an_identity_that_nothing_enforces_is_refused() {
    let pipeline = pipeline("identity: [id]\ntarget: {table: t}");
    let none = shape(vec![column("id", Type::INTEGER)], &[]);
    assert!(
        resolve(&pipeline, Some(&none))
            .unwrap_err()
            .to_string()
            .contains("CREATE UNIQUE INDEX ON public.t (\"id\")")
    );
    let partitioned = shape(vec![column("id", Type::INTEGER), column("day", Type::Date)], &[&["id", "day"]]);
    assert!(resolve(&pipeline, Some(&partitioned)).unwrap_err().to_string().contains("several rows"));
}

#[test]
fn what_does_not_fit_the_catalogue_is_told() {
    let shape = shape(vec![column("id", Type::INTEGER), column("amount", Type::DECIMAL)], &[&["id"]]);
    let told = |yaml: &str| resolve(&pipeline(yaml), Some(&shape)).unwrap_err().to_string();
    assert!(
        told("identity: [id]\ntarget: {table: t, columns: {amuont: decimal}}")
            .contains("did you mean `amount`?")
    );
    assert!(
        told("identity: [id]\ntarget: {table: t, columns: {amount: date}}")
            .contains("is decimal in the database and date")
    );
    assert!(
        told("identity: [id]\ntarget: {table: t, columns: {amount: decimal}}\nwrite: {version: v}")
            .contains("`v` has no column")
    );
    assert!(told("identity: {hash_of: all}\ntarget: {table: t}").contains("has no column `landonce_key`"));
}

#[test]
fn a_catalogue_of_storage_classes_takes_the_declared_meaning() {
    let mut shape = shape(
        vec![column("id", Type::TEXT), column("at", Type::TEXT), column("ok", Type::INTEGER)],
        &[&["id"]],
    );
    shape.is_loosely_typed = true;
    let declared = "identity: [id]\ntarget: {table: t, columns: {at: timestamptz, ok: boolean}}";
    let plan = resolve(&pipeline(declared), Some(&shape)).unwrap();
    assert_eq!(plan.columns[1].ty, Type::Timestamptz);
    assert_eq!(plan.columns[2].ty, Type::Boolean);
    let narrow = "identity: [id]\ntarget: {table: t, columns: {ok: int}}";
    assert_eq!(resolve(&pipeline(narrow), Some(&shape)).unwrap().columns[1].ty, Type::Integer { bits: 32 });
}

#[test]
fn changes_are_told_only_by_a_revision_and_a_run() {
    for (without, want) in [
        (
            "landonce_revision",
            "a column `landonce_revision`, which counts a row's real changes, and there is none; add it (bigint NOT NULL DEFAULT 1)",
        ),
        (
            "landonce_run_id",
            "a column `landonce_run_id`, which names the run that made the last one, and there is none; add it (uuid)",
        ),
    ] {
        let notifying = pipeline("identity: [id]\ntarget: {table: t}\nnotify: [{topic: t}]");
        let silent = pipeline("identity: [id]\ntarget: {table: t}");
        let mut columns = vec![
            column("id", Type::TEXT),
            column("landonce_revision", Type::INTEGER),
            column("landonce_run_id", Type::Uuid),
        ];
        columns.retain(|column| column.name != without);
        let shape = shape(columns, &[&["id"]]);
        assert!(resolve(&silent, Some(&shape)).is_ok());
        let error = resolve(&notifying, Some(&shape)).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
}
