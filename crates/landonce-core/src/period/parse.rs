//! From a text to the one period that it names: a label, a date, an instant. Intervals are the next module's.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::written::{self, Written};
use super::{Calendar, Every, Period, PeriodError};

impl Calendar {
    /// The period that a text names. Taken are
    ///
    /// - its label;
    /// - the date that it begins with (not for hours);
    /// - the instant at which it starts (RFC 3339), or its date and time in the calendar's zone, without an offset;
    /// - the interval from its start to its end (ISO 8601), each an instant (as Airflow renders `data_interval_start` and
    ///   `data_interval_end`) or both dates or times in the calendar's zone, with the end not included:
    ///   `2026-03-01/2026-03-02`; or start and duration: `2026-03-01/P1D`.
    ///
    /// Nothing is rounded: a text that names no period exactly is an error that says which period it touches.
    pub fn parse(&self, text: &str) -> Result<Period, PeriodError> {
        if let Some((start, end)) = text.split_once('/') {
            return self.of_interval(text, start, end);
        }
        let written = written::read(text, self.every)?;
        if let Some(day) = written.day().filter(|_| self.every.holds_whole_days()) {
            return self.beginning_with(text, day);
        }
        match (self.every, written) {
            (Every::Month, Written::Month(first)) | (Every::Week, Written::Week(first)) => {
                self.days_from(first)
            }
            (Every::Hour, Written::Hour(named, offset)) => self.hour_named(text, named, offset),
            (Every::Hour, Written::Civil(civil)) if civil == full_hour(civil) => {
                self.hour_named(text, civil, None)
            }
            (_, Written::Civil(civil) | Written::Hour(civil, None)) => {
                self.starting_at(text, self.instant_shown_as(text, civil)?)
            }
            (_, Written::Hour(named, Some(offset))) => self.starting_at(text, offset.to_timestamp(named)?),
            (_, Written::Instant(start)) => self.starting_at(text, start),
            (every, Written::Day(_)) => Err(other_length(text, Every::Day, every)),
            (every, Written::Week(_)) => Err(other_length(text, Every::Week, every)),
            (every, Written::Month(_)) => Err(other_length(text, Every::Month, every)),
        }
    }

    /// The period that starts at an instant, exactly.
    pub(super) fn starting_at(&self, text: &str, start: Timestamp) -> Result<Period, PeriodError> {
        let period = self.containing(start)?;
        if period.start == start { Ok(period) } else { Err(self.not_a_start(text, period, start, None)) }
    }

    /// Why a time that is inside a period names none.
    pub(super) fn not_a_start(
        &self,
        text: &str,
        period: Period,
        start: Timestamp,
        end: Option<Timestamp>,
    ) -> PeriodError {
        self.of_utc(text, &period, start, end).unwrap_or_else(|| inside(text, period))
    }

    /// The error for what would be a period of UTC: that is what a schedule in UTC hands over.
    pub(super) fn of_utc(
        &self,
        text: &str,
        period: &Period,
        start: Timestamp,
        end: Option<Timestamp>,
    ) -> Option<PeriodError> {
        let utc = Self { every: self.every, tz: TimeZone::UTC };
        let found = utc
            .containing(start)
            .ok()
            .filter(|found| found.start == start && end.is_none_or(|end| end == found.end))?;
        Some(PeriodError::OfUtc {
            text: text.to_owned(),
            every: self.every,
            zone: self.zone().to_owned(),
            label: if self.every == Every::Hour { period.label.clone() } else { found.label },
        })
    }

    /// Refuses a day that the zone skipped.
    pub(super) fn check_day(&self, day: Date) -> Result<(), PeriodError> {
        if self.start_of_day(day)? == self.start_of_day(day.tomorrow()?)? {
            return Err(PeriodError::NoSuchDay { date: day.to_string(), zone: self.zone().to_owned() });
        }
        Ok(())
    }

    /// The instant at which the clocks show a time, if there is exactly one.
    pub(super) fn instant_shown_as(&self, text: &str, civil: DateTime) -> Result<Timestamp, PeriodError> {
        let shown = self.tz.to_ambiguous_timestamp(civil);
        match shown.offset() {
            AmbiguousOffset::Unambiguous { offset } => Ok(offset.to_timestamp(civil)?),
            AmbiguousOffset::Gap { .. } => Err(PeriodError::Skipped {
                text: text.to_owned(),
                zone: self.zone().to_owned(),
                near: self.containing(shown.compatible()?)?.label,
            }),
            AmbiguousOffset::Fold { before, after } => Err(PeriodError::Twice {
                text: text.to_owned(),
                zone: self.zone().to_owned(),
                first: with_offset(civil, before)?,
                second: with_offset(civil, after)?,
            }),
        }
    }

    fn beginning_with(&self, text: &str, day: Date) -> Result<Period, PeriodError> {
        self.check_day(day)?;
        let period = self.days_from(self.every.first_day(day)?)?;
        if period.date() == day {
            return Ok(period);
        }
        Err(inside(text, period))
    }

    fn hour_named(&self, text: &str, named: DateTime, offset: Option<Offset>) -> Result<Period, PeriodError> {
        if let Some(offset) = offset {
            return match self.hour_under(named, offset)? {
                Some(hour) => Ok(hour),
                // Another offset than the zone's still tells an instant.
                None => self.starting_at(text, offset.to_timestamp(named)?),
            };
        }
        let mut hours = self.hours_shown_as(named)?;
        match (hours.pop(), hours.first()) {
            (Some(hour), None) => Ok(hour),
            (Some(last), Some(first)) => Err(PeriodError::Twice {
                text: text.to_owned(),
                zone: self.zone().to_owned(),
                first: first.label.clone(),
                second: last.label,
            }),
            (None, _) => {
                let behind = self.tz.to_ambiguous_timestamp(named).compatible()?;
                Err(PeriodError::Skipped {
                    text: text.to_owned(),
                    zone: self.zone().to_owned(),
                    near: self.containing(behind)?.label,
                })
            }
        }
    }
}

fn inside(text: &str, period: Period) -> PeriodError {
    PeriodError::NotAStart {
        text: text.to_owned(),
        label: period.label,
        every: period.every,
        start: period.start,
        end: period.end,
    }
}

fn full_hour(civil: DateTime) -> DateTime {
    civil.date().at(civil.hour(), 0, 0, 0)
}

fn with_offset(civil: DateTime, offset: Offset) -> Result<String, PeriodError> {
    Ok(offset.to_timestamp(civil)?.display_with_offset(offset).to_string())
}

fn other_length(text: &str, found: Every, every: Every) -> PeriodError {
    PeriodError::OtherLength { text: text.to_owned(), found, every }
}

#[cfg(test)]
mod tests;
