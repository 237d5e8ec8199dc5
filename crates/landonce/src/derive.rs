//! Derived tables (F6, G6): every period that is due is computed by its query and applied as a difference, in one transaction
//! each, in the order in which the tables are computed from each other.
//!
//! Which periods are due is told by the marks that batches leave in their own transactions, never by a clock. A computation owns
//! its base while it runs: no batch is under way then, so that what it sees is what the marks were left for. A crash anywhere
//! leaves the mark, and the next run finishes.

mod check;
mod periods;

use landonce_core::period::Period;
use landonce_core::pipeline::{Base, Derived, Pipeline};
use landonce_core::plan::{self, TableShape};
use landonce_core::retry::Advice;
use landonce_store::due::Due;
use landonce_store::seam::{Access, Connection, Derives, Fault};
use uuid::Uuid;

pub(crate) use check::check;
pub use check::{Checked, Differing};
pub use landonce_store::seam::Difference;
pub(crate) use periods::any as any_period;

use crate::error::{Error, Repr};
use crate::failpoint;
use crate::ingest::{Connect, marks};
use crate::retry::RetryPolicy;

/// How derived tables are computed.
#[derive(Debug, Clone, Default)]
pub struct Deriving {
    /// Which periods.
    pub which: Which,
    /// The run's id, for marks that one derived table leaves for another; a UUIDv7 made now when left out.
    pub run_id: Option<Uuid>,
    /// When a period's transaction is run again.
    pub retry: RetryPolicy,
}

/// Which periods of derived tables are computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Which {
    /// Those that batches have marked as due.
    #[default]
    Due,
    /// All that the base or the derived table has rows of.
    All,
    /// Of those, the ones that have a day from one to another, both included.
    Between(jiff::civil::Date, jiff::civil::Date),
}

/// What became of a derived table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivation {
    /// The table, as it is declared.
    pub table: String,
    /// The periods that were computed, by start.
    pub periods: Vec<DerivedPeriod>,
}

/// What became of one of its periods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedPeriod {
    /// Its label.
    pub label: String,
    /// How many rows it has now.
    pub rows: u64,
    /// Rows that were inserted.
    pub inserted: u64,
    /// Rows that were updated.
    pub updated: u64,
    /// Rows that were deleted.
    pub deleted: u64,
}

/// Computes what is due, or what is asked for.
pub(crate) async fn derive<D: Connect>(
    database: &D,
    pipeline: &Pipeline,
    options: &Deriving,
) -> Result<Vec<Derivation>, Error> {
    let run_id = options.run_id.unwrap_or_else(Uuid::now_v7);
    let mut run = Computing { database, connection: None, pipeline, options, run_id };
    let mut tables = Vec::new();
    for (at, derived) in pipeline.derived().iter().enumerate() {
        let Done::Prepared(prepared) = run.until_done(&Step::Prepare(at)).await? else {
            return Err(Error::internal("a table was prepared without a word"));
        };
        let mut periods = Vec::new();
        for due in &prepared.dues {
            let step = Step::Compute { at, due, shape: &prepared.shape };
            if let Done::Computed(computed) = run.until_done(&step).await? {
                tracing::debug!(table = %derived.table, period = due.label, ?computed, "computed");
                periods.extend(computed);
            }
        }
        tables.push(Derivation { table: derived.name(), periods });
    }
    Ok(tables)
}

struct Computing<'r, D: Connect> {
    database: &'r D,
    connection: Option<D::Connection>,
    pipeline: &'r Pipeline,
    options: &'r Deriving,
    run_id: Uuid,
}

/// What is done in one go, and again when it fails for a passing reason: each is safe to repeat.
enum Step<'s> {
    /// Makes the table if there is none, and lists what is to be computed.
    Prepare(usize),
    /// Computes one recorded period.
    Compute { at: usize, due: &'s Due, shape: &'s TableShape },
}

enum Done {
    Prepared(Prepared),
    Computed(Vec<DerivedPeriod>),
}

struct Prepared {
    shape: TableShape,
    dues: Vec<Due>,
}

impl<D: Connect> Computing<'_, D> {
    /// A COMMIT without an answer needs no question: the marks are there or they aren't.
    async fn until_done(&mut self, step: &Step<'_>) -> Result<Done, Error> {
        let policy = &self.options.retry;
        let started = std::time::Instant::now();
        let (mut attempts, mut was_internal) = (0, false);
        loop {
            attempts += 1;
            let failed = match self.once(step).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            self.connection = None;
            let Repr::Store(error) = failed.repr() else { return Err(failed) };
            let is_again = match error.advice() {
                Advice::Again | Advice::Resolve => true,
                Advice::Once => !std::mem::replace(&mut was_internal, true),
                Advice::IfTimeoutsRetried => policy.timeouts,
                Advice::Never | Advice::NoSpace => false,
            };
            let wait = policy.wait(attempts);
            if !is_again || attempts >= policy.attempts || started.elapsed() + wait > policy.deadline {
                return Err(failed);
            }
            tracing::info!(attempts, %error, "again after {} ms", wait.as_millis());
            tokio::time::sleep(wait).await;
        }
    }

    async fn once(&mut self, step: &Step<'_>) -> Result<Done, Error> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.database.connect().await?),
        };
        match step {
            Step::Prepare(at) => {
                prepare(connection, self.pipeline, *at, self.options.which).await.map(Done::Prepared)
            }
            Step::Compute { at, due, shape } => {
                connection.begin(Access::Write).await?;
                let is_asked_for = self.options.which != Which::Due;
                let of = Of { pipeline: self.pipeline, at: *at, shape, is_asked_for, run_id: self.run_id };
                let computed = of.compute(&mut connection.work(), due).await;
                match computed {
                    Ok(computed) => {
                        connection.commit().await?;
                        failpoint::at("derived");
                        Ok(Done::Computed(computed))
                    }
                    Err(error) => {
                        connection.rollback().await;
                        Err(error)
                    }
                }
            }
        }
    }
}

async fn prepare<C: Connection>(
    connection: &mut C,
    pipeline: &Pipeline,
    at: usize,
    which: Which,
) -> Result<Prepared, Error> {
    let derived = &pipeline.derived()[at];
    connection.migrate().await?;
    let mut shape = connection.shape(&derived.table).await?;
    if shape.is_none() {
        connection.create_target(&plan::derived(derived, None, &periods::any(derived)?)?).await?;
        shape = connection.shape(&derived.table).await?;
    }
    let shape =
        shape.ok_or_else(|| Error::internal(format!("`{}` was made and isn't there", derived.table)))?;
    let mut dues = connection.work().due(pipeline.name(), &derived.name()).await?;
    if which != Which::Due {
        for period in periods::known(connection, pipeline, at).await? {
            let due = periods::due(&period);
            if !dues.contains(&due) {
                dues.push(due);
            }
        }
    }
    if let Which::Between(from, to) = which {
        dues.retain(|due| {
            derived.covering(due.start, due.end).iter().any(|period| periods::has_day(period, from, to))
        });
    }
    dues.sort_by_key(|due| (due.start, due.end));
    Ok(Prepared { shape, dues })
}

/// A derived table inside a transaction.
struct Of<'o> {
    pipeline: &'o Pipeline,
    at: usize,
    shape: &'o TableShape,
    is_asked_for: bool,
    run_id: Uuid,
}

impl Of<'_> {
    fn derived(&self) -> &Derived {
        &self.pipeline.derived()[self.at]
    }

    /// Computes the periods that a recorded one covers; none when somebody else has done so meanwhile.
    async fn compute<W: landonce_store::seam::Work>(
        &self,
        work: &mut W,
        due: &Due,
    ) -> Result<Vec<DerivedPeriod>, Error> {
        let derived = self.derived();
        work.own_base(&self.pipeline.target().table).await?;
        failpoint::at("base_owned");
        if work.unmark(self.pipeline.name(), &derived.name(), due).await? == 0 && !self.is_asked_for {
            return Ok(Vec::new());
        }
        let mut computed = Vec::new();
        for period in derived.covering(due.start, due.end) {
            computed.push(self.one(work, &period).await?);
        }
        failpoint::at("applied");
        Ok(computed)
    }

    async fn one<W: landonce_store::seam::Work>(
        &self,
        work: &mut W,
        period: &Period,
    ) -> Result<DerivedPeriod, Error> {
        let derived = self.derived();
        let plan = plan::derived(derived, Some(self.shape), period)?;
        let at = |error: landonce_store::Error| error.while_doing(&format!("period {period}"));
        let found =
            work.compute(&plan, &derived.query.of(period), derived.calendar.zone()).await.map_err(at)?;
        if let Some(fault) = found.fault {
            return Err(fault_of(derived, period, &fault));
        }
        failpoint::at("computed");
        let base = Base::Derived(self.at);
        let behind = marks::of(self.pipeline, base, &plan)?;
        let mut touched = marks::Touched::at(behind.iter().map(|(column, _)| *column));
        let applied = work.apply(&plan, &touched.columns()).await.map_err(at)?;
        for (column, at) in &applied.touched {
            touched.add(*column, [*at]);
        }
        marks::mark(work, self.pipeline, base, &plan, &touched, self.run_id).await?;
        Ok(DerivedPeriod {
            label: period.label().to_owned(),
            rows: found.rows,
            inserted: applied.inserted,
            updated: applied.updated,
            deleted: applied.deleted,
        })
    }
}

/// Why a query's rows can't be a period's, and what to do.
fn fault_of(derived: &Derived, period: &Period, fault: &Fault) -> Error {
    let name = |at: &usize| derived.columns[*at].name.as_str();
    let key = derived.key.iter().map(name).collect::<Vec<_>>().join(", ");
    let field = name(&derived.field);
    let told = match fault {
        Fault::NullKey(row) => format!(
            "gives the row {row}, in which a column of the key ({key}) is NULL; leave such rows out, or put a value in its place \
             (coalesce)"
        ),
        Fault::Outside(row) => format!(
            "gives the row {row}, whose `{field}` isn't in the period; limit it with {{period.start}} and {{period.end}}, or with \
             {{period.date}}"
        ),
        Fault::Repeated(row) => {
            format!(
                "gives several rows with the key {row} ({key}); group by the key, or declare a longer one"
            )
        }
        Fault::Float(column) => format!(
            "gives a floating-point number for `{column}`, and what such numbers add up to depends on their order; use decimal_sum, \
             decimal_add, decimal_sub or decimal_mul, which are exact"
        ),
    };
    Repr::DerivedRows { table: derived.name(), period: period.label().to_owned(), told }.into()
}
