//! Periods: hours, days, weeks and months of a declared time zone, for pipelines that load one period a run.
//!
//! A [`Calendar`] cuts the time line of one zone into [`Period`]s. They are half-open, meet exactly, and overlap nowhere,
//! whatever the zone's clocks do. Which period a run loads is always handed in ([`Calendar::parse`]); nothing here knows
//! what time it is.
//!
//! ```
//! use landonce_core::period::{Calendar, Every};
//!
//! let days = Calendar::new(Every::Day, "Europe/Berlin")?;
//! let day = days.parse("2026-03-29")?;
//! assert_eq!(day.fill("s3://in/{period.date}.csv?until={period.end}")?, "s3://in/2026-03-29.csv?until=2026-03-29T22:00:00Z");
//! assert_eq!(day.end().duration_since(day.start()).as_hours(), 23); // the clocks go forward on this day
//! # Ok::<(), landonce_core::period::PeriodError>(())
//! ```
//!
//! # Where a period begins and ends
//!
//! A day begins with the first instant at which the zone's clocks show its 00:00, or that they show behind a shift that
//! skips 00:00. It ends where the next one begins; so it has 23, 25, 23½ or more hours where a shift wants it. Where
//! clocks go back over midnight, the day before shows again for a while: that while belongs to the day that has already
//! begun. A day that a zone skipped (Samoa's 2011-12-30) doesn't exist. Weeks (ISO 8601, from Monday) and months begin
//! with their first day.
//!
//! An hour is a clock hour under one UTC offset: from HH:00 to HH+1:00, cut short where the offset changes. Shifts by
//! whole hours at a full hour, nearly all there are, cut nothing: one hour is left out or comes twice, under two offsets.
//! Lord Howe's half-hour shifts leave one hour of 30 minutes each: 02:30–03:00 in spring, the second 01:30–02:00 in autumn.
//!
//! # Labels
//!
//! A period's label is its name wherever it is a key. [`Calendar::parse`] reads it back.
//!
//! | every | label | |
//! |---|---|---|
//! | hour | `2026-11-01T01-04:00` | always with its offset: 01:00 comes twice in such a night |
//! | day | `2026-03-01` | |
//! | week | `2026-W09` | the year is that of ISO 8601, which holds the week's Thursday |
//! | month | `2026-03` | |

mod bounds;
mod error;
mod fill;
mod interval;
mod parse;
mod written;
mod zone;

use std::fmt;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use error::PeriodError;

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// How long a period is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Every {
    /// A clock hour.
    Hour,
    /// A civil day.
    Day,
    /// A week of ISO 8601, from Monday.
    Week,
    /// A month of the calendar.
    Month,
}

impl Every {
    /// The word in a pipeline file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// Whether a civil date tells the period that it is in. An hour's records need an instant.
    pub const fn holds_whole_days(self) -> bool {
        !matches!(self, Self::Hour)
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A time zone's time line, cut into periods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Calendar {
    every: Every,
    tz: TimeZone,
}

/// One period of a [`Calendar`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Period {
    every: Every,
    start: Timestamp,
    end: Timestamp,
    label: String,
    /// What the label names: the full hour, or 00:00 of the first day.
    named: DateTime,
    /// The first day behind it; for an hour its own day, so that no date is in it.
    until: Date,
}

/// The periods from one to another, both included. Made by [`Calendar::between`].
#[derive(Debug, Clone)]
pub struct Periods<'a> {
    calendar: &'a Calendar,
    upcoming: Option<Period>,
    last_start: Timestamp,
}

impl Calendar {
    /// The calendar of a zone, by its name in the IANA database. The one that is built in counts, not the machine's, so
    /// that two machines agree.
    ///
    /// # Errors
    /// [`PeriodError::UnknownZone`], with the names that are near.
    pub fn new(every: Every, zone: &str) -> Result<Self, PeriodError> {
        Ok(Self { every, tz: zone::find(zone)? })
    }

    /// How long its periods are.
    pub const fn every(&self) -> Every {
        self.every
    }

    /// The zone's name.
    pub fn zone(&self) -> &str {
        self.tz.iana_name().unwrap_or("UTC")
    }

    /// The period that an instant is in.
    ///
    /// # Errors
    /// [`PeriodError::OutsideYears`] outside the years 0001–9999.
    pub fn containing(&self, instant: Timestamp) -> Result<Period, PeriodError> {
        match self.every {
            Every::Hour => self.hour_at(instant),
            Every::Day | Every::Week | Every::Month => self.days_at(instant),
        }
    }

    /// The period that a civil date is one of the days of.
    ///
    /// # Errors
    /// As for [`Calendar::containing`], and for a calendar of hours, where a date is in no period.
    pub fn containing_date(&self, date: Date) -> Result<Period, PeriodError> {
        if !self.every.holds_whole_days() {
            return Err(PeriodError::Unreadable(format!("{date} is in no hour: an instant is due")));
        }
        self.days_from(self.every.first_day(date)?)
    }

    /// The period that begins where this one ends.
    ///
    /// # Errors
    /// As for [`Calendar::containing`].
    pub fn next(&self, period: &Period) -> Result<Period, PeriodError> {
        self.containing(period.end)
    }

    /// The period that ends where this one begins.
    ///
    /// # Errors
    /// As for [`Calendar::containing`].
    pub fn previous(&self, period: &Period) -> Result<Period, PeriodError> {
        self.containing(period.start.checked_sub(NANOSECOND)?)
    }

    /// All periods from one to another, both included, in order.
    ///
    /// # Errors
    /// [`PeriodError::ToBeforeFrom`].
    pub fn between(&self, from: &Period, to: &Period) -> Result<Periods<'_>, PeriodError> {
        if to.start < from.start {
            return Err(PeriodError::ToBeforeFrom { from: from.label.clone(), to: to.label.clone() });
        }
        Ok(Periods { calendar: self, upcoming: Some(from.clone()), last_start: to.start })
    }
}

impl Period {
    /// How long it is.
    pub const fn every(&self) -> Every {
        self.every
    }

    /// Its first instant.
    pub const fn start(&self) -> Timestamp {
        self.start
    }

    /// The first instant behind it.
    pub const fn end(&self) -> Timestamp {
        self.end
    }

    /// Its stable name: one calendar has no two periods of one label.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The civil date that it begins with, in its calendar's zone.
    pub fn date(&self) -> Date {
        self.named.date()
    }

    /// The first civil date behind it. For an hour its own date, so that no date is in it.
    pub fn until(&self) -> Date {
        self.until
    }

    /// Whether an instant is in it: the start is, the end isn't.
    pub fn contains(&self, instant: Timestamp) -> bool {
        self.start <= instant && instant < self.end
    }

    /// Whether a civil date is one of its days. An hour has none: see [`Every::holds_whole_days`].
    pub fn contains_date(&self, date: Date) -> bool {
        self.date() <= date && date < self.until
    }

    /// Whether it is over at an instant, so that a run at that time can have all of it.
    pub fn is_over_at(&self, instant: Timestamp) -> bool {
        self.end <= instant
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

impl Iterator for Periods<'_> {
    type Item = Period;

    fn next(&mut self) -> Option<Period> {
        let period = self.upcoming.take()?;
        if period.start < self.last_start {
            // What lies before a period that exists is inside the years of the calendar.
            self.upcoming = self.calendar.next(&period).ok();
        }
        Some(period)
    }
}

#[cfg(test)]
mod tests;
