//! The periods that a derived table can have rows of: those of its base's rows, and those of its own.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use landonce_core::period::Period;
use landonce_core::pipeline::{Base, Derived, Pipeline};
use landonce_core::plan::{self, TablePlan};
use landonce_store::due::Due;
use landonce_store::seam::{Connection, Derives};

use crate::error::Error;
use crate::ingest::marks;
use crate::store::any_period;

/// Some period: the table is the same for all of them.
pub(crate) fn any(derived: &Derived) -> Result<Period, Error> {
    derived.calendar.containing(Timestamp::UNIX_EPOCH).map_err(|error| Error::declaration(error.to_string()))
}

/// All that the base or the derived table has rows of, by start.
pub(super) async fn known<C: Connection>(
    connection: &mut C,
    pipeline: &Pipeline,
    at: usize,
) -> Result<Vec<Period>, Error> {
    let derived = &pipeline.derived()[at];
    let base = match derived.base {
        Base::Target => {
            let shape = connection.shape(&pipeline.target().table).await?;
            plan::resolve(&any_period(pipeline)?, shape.as_ref())?
        }
        Base::Derived(at) => of(connection, &pipeline.derived()[at]).await?,
    };
    let own = of(connection, derived).await?;
    let mut periods = BTreeMap::new();
    for at in connection.work().values(&base, marks::column(derived, &base)?).await? {
        derived.touch(at, &mut periods);
    }
    for at in connection.work().values(&own, derived.field).await? {
        derived.hold(at, &mut periods);
    }
    Ok(periods.into_values().collect())
}

async fn of<C: Connection>(connection: &mut C, derived: &Derived) -> Result<TablePlan, Error> {
    let shape = connection.shape(&derived.table).await?;
    Ok(plan::derived(derived, shape.as_ref(), &any(derived)?)?)
}

/// A period as it would be recorded.
pub(super) fn due(period: &Period) -> Due {
    Due {
        label: period.label().to_owned(),
        start: period.start().as_microsecond(),
        end: period.end().as_microsecond(),
    }
}

/// Whether a period has a day between two, both included. An hour is of its own day.
pub(super) fn has_day(period: &Period, from: Date, to: Date) -> bool {
    period.date() <= to && (period.until() > from || period.date() >= from)
}
