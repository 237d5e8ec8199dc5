//! What a promise is tested on: a database, plans and records made by hand, and one delivery from begin to commit.

use std::borrow::Cow;
use std::collections::HashSet;

use landonce_core::column::Type;
use landonce_core::outcome::Outcome;
use landonce_core::plan::{
    Absent, From, Guard, KeyForm, Match, PlanColumn, StageColumn, TableName, TablePlan, WriteMode,
};
use landonce_core::value::Value;
use landonce_store::inbox::{Claim, Claimed};
use landonce_store::outbox::Outbox;
use landonce_store::reads::Reads;
use landonce_store::repair::Rekey;
use landonce_store::seam::{
    Access, Class, Classified, Connection, Events, Folded, Rows, Todo, Work, Written,
};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A database of one test's own.
pub(crate) trait Bench {
    type Connection: Rekey + Outbox + Events + Reads;
    const DIALECT: Dialect;

    /// A connection that may write.
    async fn connect(&mut self) -> Self::Connection;
    /// A connection for a plan.
    async fn connect_to_look(&mut self) -> Self::Connection;
    /// Runs statements, as the user would.
    async fn run(&mut self, sql: &str);
    /// A query's rows, every value as text, NULL as `∅`.
    async fn rows(&mut self, sql: &str) -> Vec<Vec<String>>;
}

/// What the stores spell differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    pub(crate) fn quarantine(self) -> &'static str {
        match self {
            Self::Sqlite => "landonce_quarantine",
            Self::Postgres => "landonce.quarantine",
        }
    }

    pub(crate) fn inbox(self) -> &'static str {
        match self {
            Self::Sqlite => "landonce_inbox",
            Self::Postgres => "landonce.inbox",
        }
    }
}

/// A record: its columns' values, which of them it has, and whether it deletes.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) values: Vec<Value<'static>>,
    pub(crate) present: i64,
    pub(crate) is_delete: bool,
}

pub(crate) fn put<const N: usize>(values: [Value<'static>; N]) -> Record {
    Record { values: values.into(), present: (1 << N) - 1, is_delete: false }
}

pub(crate) fn delete<const N: usize>(values: [Value<'static>; N]) -> Record {
    Record { is_delete: true, ..put(values) }
}

pub(crate) fn text(value: &str) -> Value<'static> {
    Value::Text(Cow::Owned(value.to_owned()))
}

pub(crate) fn int(value: i64) -> Value<'static> {
    Value::Integer(value)
}

/// A table that landonce makes: a hashed key, a digest, a run id, a revision.
pub(crate) fn plan(table: &str, columns: &[(&str, Type)]) -> TablePlan {
    let column = |(name, ty): &(&str, Type)| PlanColumn {
        name: (*name).to_owned(),
        from: From::Field((*name).to_owned()),
        ty: ty.clone(),
        sql_type: None,
        nullable: true,
    };
    TablePlan {
        table: TableName { schema: None, name: table.to_owned() },
        create: true,
        columns: columns.iter().map(column).collect(),
        matching: Match::Key { column: "landonce_key".to_owned(), form: KeyForm::Uuid },
        guard: Guard::Digest { column: "landonce_digest".to_owned() },
        run_id: Some("landonce_run_id".to_owned()),
        revision: Some("landonce_revision".to_owned()),
        version: None,
        mode: WriteMode::Upsert,
        absent: Absent::Replace,
        unguarded: Vec::new(),
        has_deletes: false,
        scope: None,
        tombstone: None,
        history: None,
        sender_id: false,
    }
}

/// The usual table: `id` identifies, `v` is content.
pub(crate) fn things() -> TablePlan {
    plan("things", &[("id", Type::INTEGER), ("v", Type::TEXT)])
}

/// The same plan, matching on the natural key's own columns.
pub(crate) fn by_columns(mut plan: TablePlan, of: &[usize]) -> TablePlan {
    for &at in of {
        plan.columns[at].nullable = false;
    }
    plan.matching = Match::Columns(of.to_vec());
    plan
}

/// The plan for a table that is somebody else's: the identity's own columns, every column compared.
pub(crate) async fn plan_on<C: Connection>(connection: &mut C, table: &str, identity: &[&str]) -> TablePlan {
    let name = TableName { schema: None, name: table.to_owned() };
    let shape = connection.shape(&name).await.unwrap().expect("the table is there");
    let columns: Vec<PlanColumn> = shape
        .columns
        .iter()
        .map(|column| PlanColumn {
            name: column.name.clone(),
            from: From::Field(column.name.clone()),
            ty: column.ty.clone().expect("a type that landonce writes"),
            sql_type: Some(column.sql_type.clone()),
            nullable: column.nullable,
        })
        .collect();
    let at =
        |name: &&str| columns.iter().position(|column| column.name == *name).expect("a column of that name");
    assert!(shape.unique_on(identity).is_some(), "{:?}", shape.unique);
    TablePlan {
        table: shape.table.clone(),
        create: false,
        matching: Match::Columns(identity.iter().map(at).collect()),
        guard: Guard::Columns,
        run_id: None,
        revision: None,
        columns,
        ..plan(table, &[])
    }
}

/// What one delivery did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Landed {
    pub(crate) folded: Folded,
    pub(crate) classified: Classified,
    pub(crate) todo: Vec<Todo>,
    pub(crate) written: Written,
    pub(crate) deleted: u64,
}

impl Landed {
    /// (inserted, updated, unchanged, stale, conflicts, duplicates, deleted)
    pub(crate) fn counts(&self) -> (u64, u64, u64, u64, u64, u64, u64) {
        let (found, written) = (&self.classified, &self.written);
        (
            written.inserted,
            written.updated,
            found.unchanged + written.unchanged,
            found.stale + written.stale,
            found.conflicts + (self.folded.conflicts.len() + written.conflicts.len()) as u64,
            self.folded.duplicates,
            self.deleted,
        )
    }
}

pub(crate) fn run_id(n: u128) -> Uuid {
    Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + n)
}

pub(crate) fn claim(batch: &str) -> Claim {
    Claim {
        pipeline: "p".to_owned(),
        batch_id: batch.to_owned(),
        digest: Sha256::digest(batch).into(),
        run_id: run_id(Sha256::digest(batch)[0].into()),
        source: "a test".to_owned(),
        subject: None,
    }
}

/// Makes landonce's tables and, if the plan says so, the target.
pub(crate) async fn set_up<C: Connection>(connection: &mut C, plan: &TablePlan) {
    connection.migrate().await.unwrap();
    if plan.create {
        connection.create_target(plan).await.unwrap();
    }
}

/// One delivery under a new batch id, from begin to commit, as the engine makes it.
pub(crate) async fn land<C: Connection>(
    connection: &mut C,
    plan: &TablePlan,
    batch: &str,
    records: &[Record],
) -> Landed {
    set_up(connection, plan).await;
    connection.begin(Access::Write).await.unwrap();
    let landed = land_in(&mut connection.work(), plan, batch, records).await;
    connection.commit().await.unwrap();
    landed
}

/// One delivery inside a transaction that is open.
pub(crate) async fn land_in<W: Work>(
    work: &mut W,
    plan: &TablePlan,
    batch: &str,
    records: &[Record],
) -> Landed {
    let claim = claim(batch);
    assert_eq!(work.claim(&claim).await.unwrap(), Claimed::New);
    land_claimed(work, plan, &claim, records).await
}

/// The delivery of a batch that is claimed.
pub(crate) async fn land_claimed<W: Work>(
    work: &mut W,
    plan: &TablePlan,
    claim: &Claim,
    records: &[Record],
) -> Landed {
    let mut landed = look_in(work, plan, records).await;
    loop {
        let todo = work.next_rows(3).await.unwrap();
        if todo.is_empty() {
            break;
        }
        let mut rows = (work.encoder(plan, &plan.row_columns()))();
        for one in todo.iter().filter(|one| one.class != Class::Conflict) {
            let at = (one.place.number - 1) as usize;
            rows.push(&row(plan, &plan.row_columns(), records, at, false));
        }
        landed.todo.extend(todo);
        let written = work.write(rows, claim.run_id).await.unwrap();
        landed.written.inserted += written.inserted;
        landed.written.updated += written.updated;
        landed.written.unchanged += written.unchanged;
        landed.written.stale += written.stale;
        landed.written.conflicts.extend(written.conflicts);
        landed.written.refused.extend(written.refused);
    }
    landed.deleted = work.delete(claim.run_id).await.unwrap();
    let outcome = Outcome { read: records.len() as u64, ..Outcome::default() };
    work.settle(claim, &outcome).await.unwrap();
    work.close_stage().await.unwrap();
    let (found, written) = (landed.classified, &landed.written);
    assert_eq!(
        landed.folded.duplicates
            + landed.folded.conflicts.len() as u64
            + found.unchanged
            + found.stale
            + found.conflicts
            + found.deletes
            + written.inserted
            + written.updated
            + written.unchanged
            + written.stale
            + (written.conflicts.len() + written.refused.len()) as u64,
        records.len() as u64,
        "every record is in exactly one count: {landed:?}"
    );
    landed
}

/// The first half of a delivery: what a plan looks at.
pub(crate) async fn look_in<W: Work>(work: &mut W, plan: &TablePlan, records: &[Record]) -> Landed {
    work.open_stage(plan).await.unwrap();
    let columns = plan.stage_columns();
    let encoder = work.encoder(plan, &columns);
    let mut seen = HashSet::new();
    for (chunk, some) in records.chunks(4).enumerate() {
        let mut rows = encoder();
        assert!(rows.is_empty());
        for at in 0..some.len() {
            let at = chunk * 4 + at;
            let may_repeat = !seen.insert(hash(plan, &records[at], true));
            rows.push(&row(plan, &columns, records, at, may_repeat));
        }
        assert!(rows.len() == some.len() && rows.size() > 0);
        assert_eq!(work.stage(rows).await.unwrap(), []);
    }
    let folded = work.fold().await.unwrap();
    let classified = work.classify().await.unwrap();
    Landed { folded, classified, ..Landed::default() }
}

/// A staged record or a row, as the columns ask. The key and the digest are any hash of the identity and of the content: a
/// store doesn't know how they are made.
pub(crate) fn row(
    plan: &TablePlan,
    columns: &[StageColumn],
    records: &[Record],
    at: usize,
    may_repeat: bool,
) -> Vec<Value<'static>> {
    let record = &records[at];
    let value = |column: &StageColumn| match column {
        StageColumn::Key => key(plan, record),
        StageColumn::Digest => Value::Bytes(Cow::Owned(hash(plan, record, false).to_vec())),
        StageColumn::Column(at) => record.values[*at].clone(),
        StageColumn::Present => Value::Integer(record.present),
        StageColumn::IsDelete => Value::Boolean(record.is_delete),
        StageColumn::MayRepeat => Value::Boolean(may_repeat),
        StageColumn::Number => Value::Integer(at as i64 + 1),
        StageColumn::Offset => Value::Integer(at as i64 * 100),
        StageColumn::Len => Value::Integer(99),
    };
    columns.iter().map(value).collect()
}

fn key(plan: &TablePlan, record: &Record) -> Value<'static> {
    let hash = hash(plan, record, true);
    let Match::Key { form, .. } = plan.matching else { return Value::Null };
    match form {
        KeyForm::Uuid => Value::Uuid(hash[..16].try_into().unwrap()),
        KeyForm::Bytes => Value::Bytes(Cow::Owned(hash.to_vec())),
        KeyForm::Hex => text(&hex::encode(hash)),
    }
}

/// A hash of the identity (the first column, or those that match), or of all that isn't left out of comparisons.
fn hash(plan: &TablePlan, record: &Record, is_identity: bool) -> [u8; 32] {
    let identity = match &plan.matching {
        Match::Key { .. } => vec![0],
        Match::Columns(of) => of.clone(),
    };
    let taken = |at: &usize| {
        if is_identity {
            identity.contains(at)
        } else {
            !(plan.unguarded.contains(at) || plan.sender_id && *at == 0)
        }
    };
    let taken: Vec<_> = (0..record.values.len()).filter(taken).map(|at| &record.values[at]).collect();
    Sha256::digest(format!("{taken:?}")).into()
}
