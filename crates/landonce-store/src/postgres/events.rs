//! Events on PostgreSQL: BEGIN and one statement go out together, COMMIT follows: two round trips for any number of events. One event that
//! is as expected, new or a duplicate, takes a single one: its statement is a transaction of its own, and undoes itself otherwise.
//!
//! The statement is a prepared one of this connection's: its plan costs as much as its work. Behind a pooler in transaction mode it
//! may be gone, or be another's; then the way goes on with unnamed statements.

use bytes::{BufMut, BytesMut};
use futures_util::future::join;
use landonce_core::outcome::Outcome;
use landonce_core::plan::{Absent, Match, StageColumn, TableName, TablePlan, WriteMode};
use landonce_core::retry::{Code, Phase};
use landonce_core::value::Value;
use sha2::{Digest, Sha256};
use tokio_postgres::types::{IsNull, ToSql, Type as Pg, to_sql_checked};
use tokio_postgres::{Row, Statement};

use super::catalog::{self, Catalog, Compare, Relation};
use super::connect::Options;
use super::render::{self, Facts, GIVEN, Given, Render, Wants, class};
use super::wire::{self, Wire};
use super::{Session, errors, facts, inbox, quote};
use crate::error::{Error, Result};
use crate::inbox::{InboxKey, Settled};
use crate::seam::{Access, Arrival, Arrived, Connection, EXPECTED, Events, Fate, Told};

/// The most columns that go the short way: a statement's parameters are an array each.
const MOST_COLUMNS: usize = 200;

/// How many events go by a transaction after one that was neither new nor a duplicate: the next are likely to be so, too.
const SKIPS: u32 = 16;

/// What a plan's events need on this connection.
#[derive(Debug)]
pub struct Way {
    table: String,
    /// For one event in a transaction of its own, whose parameters are values.
    at_once: Asked,
    /// How many events go without an attempt at that, since one has been in vain.
    skips: u32,
    /// The same inside a transaction.
    one: Asked,
    /// For several, whose parameters are arrays.
    many: Asked,
    arrived: String,
    mark: String,
    /// How each value goes, by [`TablePlan::row_columns`]; `None` for a row's place, which stays here.
    wires: Vec<Option<Wire>>,
    /// The types of the arrays.
    arrays: Vec<Pg>,
}

/// A statement of this connection's.
#[derive(Debug)]
struct Asked {
    sql: String,
    types: Vec<Pg>,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// Not prepared yet.
    ToPrepare,
    Prepared(Statement),
    /// A pooler stands in between.
    Unnamed,
}

impl Events for Session {
    type Way = Way;

    async fn way(&mut self, plan: &TablePlan, wants_rows: bool) -> Result<Option<Way>> {
        if plan.create || plan.columns.len() > MOST_COLUMNS || !is_simple(plan) {
            return Ok(None);
        }
        let Some(catalog) = catalog::load(&self.link(), &plan.table).await? else { return Ok(None) };
        // A partitioned table or a view doesn't tell whether a row is new.
        if catalog.relation != Relation::Table {
            return Ok(None);
        }
        let facts = facts::of(plan, &catalog)?;
        if is_coarse(plan, &facts, &catalog) {
            return Ok(None);
        }
        let Some(given) = given(plan, &facts, &catalog) else { return Ok(None) };
        let same_content = plan.sender_id && self.finds_content(&catalog.table, plan).await?;
        let render = Render::new(plan, &facts)?;
        let outcome = spelled(&EXPECTED)?;
        let wants = Wants { rows: wants_rows, same_content };
        let unmarked = render.arrive(&given, "", &outcome, wants);
        let mark = hex::encode(&Sha256::digest(&unmarked)[..8]);
        let beside = GIVEN.iter().map(|(_, ty)| array(ty));
        let arrays: Vec<Pg> = beside.chain(given.iter().map(|given| array(given.passed_as))).collect();
        let asked = |sql: String, types: Vec<Pg>| Asked {
            sql,
            types: [Pg::TEXT, Pg::TEXT].into_iter().chain(types).collect(),
            form: Form::ToPrepare,
        };
        let items: Vec<Pg> = arrays.iter().map(item).collect();
        Ok(Some(Way {
            table: plan.table.to_string(),
            at_once: asked(render.arrive_one(&given, &mark, &outcome, wants, true), items.clone()),
            // Limits of ours hold inside a transaction only.
            skips: if self.options == Options::default() { 0 } else { u32::MAX },
            one: asked(render.arrive_one(&given, &mark, &outcome, wants, false), items),
            many: asked(render.arrive(&given, &mark, &outcome, wants), arrays.clone()),
            arrived: render.arrived(&given, &mark),
            mark,
            wires: wires(plan, &facts),
            arrays,
        }))
    }

    async fn arrive_at_once(&mut self, way: &mut Way, arrival: &Arrival<'_>) -> Result<Option<Told>> {
        if self.is_begun || way.skips > 0 {
            way.skips = way.skips.saturating_sub(u32::from(way.skips < u32::MAX));
            return Ok(None);
        }
        let sent = encode(way, std::slice::from_ref(arrival))?;
        let asked = &mut way.at_once;
        if matches!(asked.form, Form::ToPrepare) {
            match self.client.prepare_typed(&asked.sql, &asked.types).await {
                Ok(statement) => asked.form = Form::Prepared(statement),
                Err(_) => return Ok(None), // the transaction says why
            }
        }
        let params = sent.iter().map(|sent| sent as &(dyn ToSql + Sync));
        let rows = if let Form::Prepared(statement) = &asked.form {
            let params: Vec<_> = params.collect();
            self.client.query(statement, &params).await
        } else {
            let params: Vec<_> = params.zip(asked.types.iter().cloned()).collect();
            self.client.query_typed(&asked.sql, &params).await
        };
        let told = match rows {
            Ok(rows) => rows.first().and_then(of_row),
            Err(error) => {
                let phase = errors::commit_phase(&error);
                if phase != Phase::CommitRefused {
                    let doing = format!("writing into {}", way.table);
                    return Err(errors::failed(&error, &self.lost, &doing).in_phase(phase));
                }
                if is_anothers(&error) {
                    asked.form = Form::Unnamed;
                }
                None
            }
        };
        if told.is_none() {
            way.skips = SKIPS;
        }
        Ok(told)
    }

    async fn arrive(&mut self, way: &mut Way, arrivals: &[Arrival<'_>]) -> Result<Arrived> {
        let sent = encode(way, arrivals)?;
        let doing = format!("writing into {}", way.table);
        let asked = if arrivals.len() == 1 { &mut way.one } else { &mut way.many };
        let rows = loop {
            let rows = self.claim_and_write(asked, &sent).await;
            let is_lost = match &rows {
                Ok(rows) => rows.len() != arrivals.len(),
                Err(error) => is_anothers(error),
            };
            if !is_lost || matches!(asked.form, Form::Unnamed) {
                break rows.map_err(|error| errors::failed(&error, &self.lost, &doing))?;
            }
            tracing::debug!("the prepared statement isn't ours any more; going on with unnamed ones");
            self.rollback().await;
            asked.form = Form::Unnamed;
        };
        if rows.len() != arrivals.len() {
            return Err(Error::refused(format!(
                "{doing}: {} events were sent and {} answered",
                arrivals.len(),
                rows.len()
            )));
        }
        let mut told: Vec<Option<Told>> = vec![None; arrivals.len()];
        for row in &rows {
            if let Some(slot) = told.get_mut(number(row)) {
                *slot = of_row(row);
            }
        }
        if told.iter().any(Option::is_none) {
            let aside = self.tell_apart(way, &sent, &mut told).await?;
            if !aside.is_empty() {
                return Ok(Arrived::But(aside));
            }
        }
        Ok(Arrived::All(told.into_iter().flatten().collect()))
    }

    async fn restate(&mut self, outcomes: &[(InboxKey, Outcome)]) -> Result<()> {
        let keys: Vec<&[u8]> = outcomes.iter().map(|(key, _)| key.0.as_slice()).collect();
        let outcomes: Vec<String> =
            outcomes.iter().map(|(_, outcome)| spelled(outcome)).collect::<Result<_>>()?;
        let params: [(&(dyn ToSql + Sync), Pg); 2] = [(&keys, Pg::BYTEA_ARRAY), (&outcomes, Pg::TEXT_ARRAY)];
        self.is_sound = false;
        let settled = self.link().execute("settling events in the inbox", render::RESTATE, &params).await?;
        if settled == keys.len() as u64 {
            return Ok(());
        }
        Err(Error::refused("settling events in the inbox: a claim of this transaction isn't there any more"))
    }

    async fn look_up_all(&mut self, keys: &[InboxKey]) -> Result<Vec<Settled>> {
        let keys: Vec<&[u8]> = keys.iter().map(|key| key.0.as_slice()).collect();
        let params: [(&(dyn ToSql + Sync), Pg); 1] = [(&keys, Pg::BYTEA_ARRAY)];
        let rows = self.link().query("looking into the inbox", &render::look_up_all(), &params).await?;
        rows.iter().map(inbox::settled).collect()
    }
}

impl Session {
    /// One round trip: the answers come one behind the other. A statement behind a BEGIN that failed fails too, since the
    /// transaction or the connection is gone.
    async fn claim_and_write(
        &mut self,
        asked: &mut Asked,
        sent: &[Sent],
    ) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
        // Left to itself, the server plans a statement over arrays anew each time, which costs more than to run it.
        let sql = self.beginning(Access::Write, "; SET LOCAL plan_cache_mode = force_generic_plan");
        if matches!(asked.form, Form::ToPrepare) {
            asked.form = Form::Prepared(self.client.prepare_typed(&asked.sql, &asked.types).await?);
        }
        self.is_begun = true;
        let params = sent.iter().map(|sent| sent as &(dyn ToSql + Sync));
        let begin = self.client.batch_execute(&sql);
        let (answer, rows) = if let Form::Prepared(statement) = &asked.form {
            let params: Vec<_> = params.collect();
            join(begin, self.client.query(statement, &params)).await
        } else {
            let params: Vec<_> = params.zip(asked.types.iter().cloned()).collect();
            join(begin, self.client.query_typed(&asked.sql, &params)).await
        };
        self.is_sound = answer.is_ok() && rows.is_ok();
        answer.and(rows)
    }

    /// What of the claimed events wasn't written: their rows are there, or somebody's trigger has skipped them. Returns those that
    /// can't land this way.
    async fn tell_apart(
        &mut self,
        way: &Way,
        sent: &[Sent],
        told: &mut [Option<Told>],
    ) -> Result<Vec<usize>> {
        self.is_sound = false;
        let params: Vec<(&(dyn ToSql + Sync), Pg)> =
            sent.iter().map(|sent| sent as _).zip(way.many.types.iter().cloned()).collect();
        let doing = format!("comparing events with {}", way.table);
        let mut aside = Vec::new();
        for row in self.link().query(&doing, &way.arrived, &params).await? {
            let at = number(&row);
            let Some(slot @ None) = told.get_mut(at) else { continue };
            match row.get::<_, i16>(1) {
                class::NEW | class::CONFLICT => aside.push(at),
                class::STALE => *slot = Some(Told::of(Fate::Stale)),
                // Changed: somebody's trigger has kept it from being updated.
                _ => *slot = Some(Told::of(Fate::Unchanged)),
            }
        }
        aside.sort_unstable();
        Ok(aside)
    }

    /// Whether an index leads to rows by their digest.
    async fn finds_content(&self, table: &TableName, plan: &TablePlan) -> Result<bool> {
        let landonce_core::plan::Guard::Digest { column } = &plan.guard else { return Ok(false) };
        let sql = "\
SELECT EXISTS (
  SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  WHERE i.indrelid = pg_catalog.to_regclass($1) AND a.attname = $2 AND i.indisvalid AND i.indpred IS NULL)";
        let name = quote::table(table)?;
        let params: [(&(dyn ToSql + Sync), Pg); 2] = [(&name, Pg::TEXT), (column, Pg::TEXT)];
        Ok(self.link().one("looking for an index of contents", sql, &params).await?.get(0))
    }
}

/// Plans whose records do more than to be written, or whose rows the statement can't hold, go the long way.
fn is_simple(plan: &TablePlan) -> bool {
    plan.absent == Absent::Replace
        && !plan.has_deletes
        && plan.scope.is_none()
        && plan.tombstone.is_none()
        && plan.history.is_none()
        && (plan.mode == WriteMode::InsertOnce || !plan.columns.is_empty())
}

/// The database may take two identities for one that are two by their bytes (citext, collations, padding). Then which event of a
/// group a row belongs to can't be told by it.
fn is_coarse(plan: &TablePlan, facts: &Facts, catalog: &Catalog) -> bool {
    let Match::Columns(of) = &plan.matching else { return false };
    of.iter().any(|&at| {
        let is_padded = catalog
            .column(&plan.columns[at].name)
            .is_some_and(|column| column.shape.sql_type.starts_with("character("));
        is_padded || facts.columns.get(at).is_none_or(|fact| fact.compare != Compare::Plain)
    })
}

/// How the rows' columns are given; `None` when one of them can't be an item of an array.
fn given(plan: &TablePlan, facts: &Facts, catalog: &Catalog) -> Option<Vec<Given>> {
    let render_columns = plan.row_columns().into_iter();
    let columns = render_columns
        .filter(|column| matches!(column, StageColumn::Key | StageColumn::Digest | StageColumn::Column(_)));
    columns
        .map(|column| {
            let StageColumn::Column(at) = column else {
                let passed_as = if column == StageColumn::Key { name(&facts.key)? } else { "bytea" };
                return Some(Given { column, passed_as, cast: None });
            };
            let fact = facts.columns.get(at)?;
            if fact.must_fit.is_some() {
                return None;
            }
            let passed_as = name(&fact.wire)?;
            let found = catalog.column(&plan.columns[at].name)?;
            let own = fact.staged_as.as_ref().unwrap_or(&found.shape.sql_type);
            // Only text stands for types of other names (enums, citext, varchar); its limits were checked when it was read.
            let cast = (fact.wire == Wire::Text && own != "text").then(|| own.clone());
            Some(Given { column, passed_as, cast })
        })
        .collect()
}

/// The type whose array holds values of a wire form.
fn name(wire: &Wire) -> Option<&'static str> {
    Some(match wire {
        Wire::Boolean => "boolean",
        Wire::Int2 => "smallint",
        Wire::Int4 => "integer",
        Wire::Int8 => "bigint",
        Wire::Numeric => "numeric",
        Wire::Float4 => "real",
        Wire::Float8 => "double precision",
        Wire::Text => "text",
        Wire::Uuid => "uuid",
        Wire::Date => "date",
        Wire::Timestamp => "timestamp",
        Wire::Timestamptz => "timestamptz",
        Wire::Bytes => "bytea",
        Wire::Json => "json",
        Wire::Jsonb => "jsonb",
        Wire::Geometry | Wire::Array { .. } => return None,
    })
}

/// The array type of one of these names.
fn array(name: &str) -> Pg {
    match name {
        "boolean" => Pg::BOOL_ARRAY,
        "smallint" => Pg::INT2_ARRAY,
        "integer" => Pg::INT4_ARRAY,
        "bigint" => Pg::INT8_ARRAY,
        "numeric" => Pg::NUMERIC_ARRAY,
        "real" => Pg::FLOAT4_ARRAY,
        "double precision" => Pg::FLOAT8_ARRAY,
        "uuid" => Pg::UUID_ARRAY,
        "date" => Pg::DATE_ARRAY,
        "timestamp" => Pg::TIMESTAMP_ARRAY,
        "timestamptz" => Pg::TIMESTAMPTZ_ARRAY,
        "bytea" => Pg::BYTEA_ARRAY,
        "json" => Pg::JSON_ARRAY,
        "jsonb" => Pg::JSONB_ARRAY,
        _ => Pg::TEXT_ARRAY,
    }
}

fn wires(plan: &TablePlan, facts: &Facts) -> Vec<Option<Wire>> {
    let wire = |column: StageColumn| match column {
        StageColumn::Key => Some(facts.key.clone()),
        StageColumn::Digest => Some(Wire::Bytes),
        StageColumn::Column(at) => facts.columns.get(at).map(|fact| fact.wire.clone()),
        _ => None,
    };
    plan.row_columns().into_iter().map(wire).collect()
}

/// A parameter of the statement.
#[derive(Debug)]
enum Sent {
    Text(String),
    /// Items as fields, one behind the other: the body of an array is made of nothing else. Where the parameter is a value, there is one.
    Items {
        item: u32,
        count: usize,
        has_null: bool,
        fields: Vec<u8>,
    },
}

impl ToSql for Sent {
    fn to_sql(
        &self,
        ty: &Pg,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Sent::Text(text) => return text.to_sql(ty, out),
            Sent::Items { has_null: true, count: 1, .. } if !is_array(ty) => return Ok(IsNull::Yes),
            Sent::Items { fields, .. } if !is_array(ty) => out.put_slice(fields.get(4..).unwrap_or_default()),
            Sent::Items { item, count, has_null, fields } => {
                out.put_i32(1);
                out.put_i32(i32::from(*has_null));
                out.put_u32(*item);
                out.put_i32(*count as i32);
                out.put_i32(1);
                out.put_slice(fields);
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Pg) -> bool {
        true
    }

    to_sql_checked!();
}

fn is_array(ty: &Pg) -> bool {
    matches!(ty.kind(), tokio_postgres::types::Kind::Array(_))
}

/// What an array is one of.
fn item(array: &Pg) -> Pg {
    match array.kind() {
        tokio_postgres::types::Kind::Array(item) => item.clone(),
        _ => array.clone(),
    }
}

/// The statement's parameters.
fn encode(way: &Way, arrivals: &[Arrival<'_>]) -> Result<Vec<Sent>> {
    let pipeline = arrivals.first().map_or("", |arrival| arrival.claim.pipeline.as_str());
    let mut columns: Vec<(Vec<u8>, bool)> = vec![Default::default(); way.arrays.len()];
    let mut put = |at: usize, wire: &Wire, value: &Value<'_>| {
        let (fields, has_null) = &mut columns[at];
        *has_null |= *value == Value::Null;
        wire::field(fields, wire, value).map_err(|_| {
            Error::refused(format!(
                "a value doesn't belong to the plan of {}: a fault in landonce",
                way.table
            ))
        })
    };
    for Arrival { claim, values } in arrivals {
        claim.has_only_text()?;
        put(0, &Wire::Bytes, &Value::Bytes(claim.key().0.as_slice().into()))?;
        put(1, &Wire::Text, &Value::Text(claim.batch_id.as_str().into()))?;
        put(2, &Wire::Bytes, &Value::Bytes(claim.digest.as_slice().into()))?;
        put(3, &Wire::Uuid, &Value::Uuid(*claim.run_id.as_bytes()))?;
        put(4, &Wire::Text, &Value::Text(claim.source.as_str().into()))?;
        put(5, &Wire::Uuid, &claim.subject.map_or(Value::Null, Value::Uuid))?;
        let mut at = GIVEN.len();
        for (wire, value) in way.wires.iter().zip(*values) {
            let Some(wire) = wire else { continue };
            put(at, wire, value)?;
            at += 1;
        }
    }
    let items = columns.into_iter().zip(&way.arrays).map(|((fields, has_null), ty)| Sent::Items {
        item: item(ty).oid(),
        count: arrivals.len(),
        has_null,
        fields,
    });
    Ok([Sent::Text(way.mark.clone()), Sent::Text(pipeline.to_owned())].into_iter().chain(items).collect())
}

/// An event's index from 0.
fn number(row: &Row) -> usize {
    row.get::<_, i64>(0).saturating_sub(1) as usize
}

/// `None` for an event that is claimed and not written.
fn of_row(row: &Row) -> Option<Told> {
    let (is_claimed, is_new): (bool, Option<bool>) = (row.get(1), row.get(2));
    if !is_claimed {
        return Some(Told::of(Fate::Found));
    }
    let fate = if is_new? { Fate::Inserted } else { Fate::Updated };
    let row_text = if fate == Fate::Inserted { row.get(3) } else { None };
    Some(Told { fate, row: row_text, same_content: row.get(4) })
}

/// What a server says of a statement that isn't there, or isn't the one that was meant.
fn is_anothers(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| matches!(code.code(), "26000" | "42P05" | "08P01" | "22P03" | "42804"))
}

fn spelled(outcome: &Outcome) -> Result<String> {
    serde_json::to_string(outcome).map_err(|error| Error {
        code: Code::Landonce,
        ..Error::refused(format!("the outcome can't be spelled as JSON: {error}"))
    })
}
