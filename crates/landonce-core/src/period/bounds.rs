//! Where periods begin and end. The rules stand in the parent's documentation.

use jiff::civil::{Date, DateTime, ISOWeekDate};
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{SignedDuration, Timestamp, ToSpan};

use super::{Calendar, Every, NANOSECOND, Period, PeriodError};

const HOUR: SignedDuration = SignedDuration::from_hours(1);

impl Calendar {
    /// The day, week or month that an instant is in.
    pub(super) fn days_at(&self, instant: Timestamp) -> Result<Period, PeriodError> {
        let mut period = self.days_from(self.every.first_day(self.tz.to_datetime(instant).date())?)?;
        // Behind clocks that went back over midnight, the date is that of the day before.
        while period.end <= instant {
            period = self.days_from(period.until)?;
        }
        Ok(period)
    }

    /// The day, week or month that begins with a date. Start and end are the same for a day that the zone skipped.
    pub(super) fn days_from(&self, first: Date) -> Result<Period, PeriodError> {
        let until = self.every.first_day_behind(first)?;
        let label = match self.every {
            Every::Week => {
                let week = ISOWeekDate::from_date(first);
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Every::Month => format!("{:04}-{:02}", first.year(), first.month()),
            Every::Hour | Every::Day => first.to_string(),
        };
        if first.year() < 1 {
            return Err(PeriodError::OutsideYears);
        }
        Ok(Period {
            every: self.every,
            start: self.start_of_day(first)?,
            end: self.start_of_day(until)?,
            label,
            named: first.at(0, 0, 0, 0),
            until,
        })
    }

    /// The first instant of a civil day; of a day that the zone skipped, that of the next one.
    pub(super) fn start_of_day(&self, date: Date) -> Result<Timestamp, PeriodError> {
        let midnight = self.tz.to_ambiguous_timestamp(date.at(0, 0, 0, 0));
        let AmbiguousOffset::Gap { before, .. } = midnight.offset() else {
            return Ok(midnight.earlier()?);
        };
        // The shift lies where the offset from before it still holds, or less than the gap's length ahead of that.
        let behind = before.to_timestamp(midnight.datetime())?;
        let shift = self.tz.preceding(behind.checked_add(NANOSECOND)?).next();
        Ok(shift.map_or(behind, |shift| shift.timestamp()))
    }

    /// The hour that an instant is in.
    pub(super) fn hour_at(&self, instant: Timestamp) -> Result<Period, PeriodError> {
        let offset = self.tz.to_offset(instant);
        let shown = offset.to_datetime(instant);
        let named = shown.date().at(shown.hour(), 0, 0, 0);
        if named.year() < 1 {
            return Err(PeriodError::OutsideYears);
        }
        let full_hour = offset.to_timestamp(named)?;
        let next_full_hour = full_hour.checked_add(HOUR)?;
        // Not every transition shifts the clocks: some only change the zone's abbreviation.
        let shift_before = self
            .tz
            .preceding(instant.checked_add(NANOSECOND)?)
            .map(|shift| shift.timestamp())
            .take_while(|at| *at > full_hour)
            .find(|at| self.tz.to_offset(*at - NANOSECOND) != offset);
        let shift_behind = self
            .tz
            .following(instant)
            .take_while(|shift| shift.timestamp() < next_full_hour)
            .find(|shift| shift.offset() != offset)
            .map(|shift| shift.timestamp());
        Ok(Period {
            every: Every::Hour,
            start: shift_before.unwrap_or(full_hour),
            end: shift_behind.unwrap_or(next_full_hour),
            label: hour_label(named, offset),
            named,
            until: named.date(),
        })
    }

    /// The hours that the clocks show on a date as this one, in order: one, two around a shift back, or none.
    pub(super) fn hours_shown_as(&self, named: DateTime) -> Result<Vec<Period>, PeriodError> {
        let mut hours: Vec<Period> = Vec::new();
        for part in [named, named.checked_add(HOUR - NANOSECOND)?] {
            let offsets = match self.tz.to_ambiguous_timestamp(part).offset() {
                AmbiguousOffset::Unambiguous { offset } => [offset, offset],
                AmbiguousOffset::Gap { before, after } | AmbiguousOffset::Fold { before, after } => {
                    [before, after]
                }
            };
            for offset in offsets {
                hours.extend(self.hour_under(named, offset)?);
            }
        }
        hours.sort_by_key(Period::start);
        hours.dedup();
        Ok(hours)
    }

    /// The hour of this name, if the clocks show any part of it under this offset.
    pub(super) fn hour_under(&self, named: DateTime, offset: Offset) -> Result<Option<Period>, PeriodError> {
        let full_hour = offset.to_timestamp(named)?;
        let label = hour_label(named, offset);
        // A shift inside the hour leaves its beginning or its end.
        for instant in [full_hour, full_hour.checked_add(HOUR - NANOSECOND)?] {
            let period = self.hour_at(instant)?;
            if period.label == label {
                return Ok(Some(period));
            }
        }
        Ok(None)
    }
}

impl Every {
    /// The first day of the period that a day is in.
    pub(super) fn first_day(self, date: Date) -> Result<Date, PeriodError> {
        Ok(match self {
            Self::Hour | Self::Day => date,
            Self::Week => date.checked_sub(i32::from(date.weekday().to_monday_zero_offset()).days())?,
            Self::Month => date.first_of_month(),
        })
    }

    /// The first day behind the period that begins with a day.
    fn first_day_behind(self, first: Date) -> Result<Date, PeriodError> {
        Ok(first.checked_add(match self {
            Self::Hour | Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
        })?)
    }
}

/// `2026-11-01T01-04:00`. Seconds of an offset are written where there are any, as in local mean times.
fn hour_label(named: DateTime, offset: Offset) -> String {
    let seconds = offset.seconds().unsigned_abs();
    let sign = if offset.is_negative() { '-' } else { '+' };
    let mut label =
        format!("{}T{:02}{sign}{:02}:{:02}", named.date(), named.hour(), seconds / 3600, seconds / 60 % 60);
    if !seconds.is_multiple_of(60) {
        label.push_str(&format!(":{:02}", seconds % 60));
    }
    label
}
