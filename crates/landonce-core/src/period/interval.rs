//! Intervals of ISO 8601 that are exactly one period: start and end, or start and duration.

use jiff::Timestamp;

use super::written::{self, Reach, Written};
use super::{Calendar, NANOSECOND, Period, PeriodError};
use crate::bad_record::shorten;

/// One end of an interval.
struct Side {
    at: Timestamp,
    /// It carries its offset, so that no zone had to be asked.
    is_instant: bool,
}

impl Calendar {
    pub(super) fn of_interval(&self, text: &str, start: &str, end: &str) -> Result<Period, PeriodError> {
        let written_start = written::read(start, self.every)?;
        if let Some(day) = written_start.day().filter(|_| self.every.holds_whole_days()) {
            self.check_day(day)?;
        }
        let start = self.side(start, written_start)?;
        let touched = self.containing(start.at)?;
        let end = if end.starts_with('P') {
            if touched.start != start.at {
                return Err(self.not_a_start(text, touched, start.at, None));
            }
            self.reached(start.at, written::read_reach(end)?)?
        } else {
            let end = self.side(end, written::read(end, self.every)?)?;
            if end.is_instant != start.is_instant {
                return Err(PeriodError::Unreadable(format!(
                    "`{}` mixes a time with an offset and one without; give both with, or both without",
                    shorten(text)
                )));
            }
            end.at
        };
        self.exactly_one(text, touched, start.at, end)
    }

    fn exactly_one(
        &self,
        text: &str,
        touched: Period,
        start: Timestamp,
        end: Timestamp,
    ) -> Result<Period, PeriodError> {
        let text = text.to_owned();
        if end < start {
            return Err(PeriodError::Backwards { text });
        }
        if end == start {
            return Err(PeriodError::Nothing { text, label: touched.label });
        }
        if touched.start != start {
            return Err(self.not_a_start(&text, touched, start, Some(end)));
        }
        if touched.end == end {
            return Ok(touched);
        }
        let last = self.containing(end.checked_sub(NANOSECOND)?)?;
        if last.end == end {
            return Err(PeriodError::Several {
                text,
                every: self.every,
                from: touched.label,
                to: last.label,
            });
        }
        // A day of 23 hours starts with one of UTC, and ends earlier.
        if let Some(error) = self.of_utc(&text, &touched, start, Some(end)) {
            return Err(error);
        }
        Err(PeriodError::EndsInside {
            text,
            label: last.label,
            end: last.end,
            first: touched.label,
            every: self.every,
        })
    }

    fn side(&self, text: &str, written: Written) -> Result<Side, PeriodError> {
        if let Some(day) = written.day().filter(|_| self.every.holds_whole_days()) {
            return Ok(Side { at: self.start_of_day(day)?, is_instant: false });
        }
        let (at, is_instant) = match written {
            Written::Instant(at) => (at, true),
            Written::Hour(named, Some(offset)) => (offset.to_timestamp(named)?, true),
            Written::Day(day) => (self.start_of_day(day)?, false),
            Written::Civil(civil) | Written::Hour(civil, None) => {
                (self.instant_shown_as(text, civil)?, false)
            }
            Written::Week(_) | Written::Month(_) => {
                return Err(PeriodError::Unreadable(format!(
                    "`{}` is no end of an interval; give a date or an instant",
                    shorten(text)
                )));
            }
        };
        Ok(Side { at, is_instant })
    }

    /// Where a duration from a period's start ends. From the start of a day, calendar parts lead to the start of another,
    /// whatever the clocks show there.
    fn reached(&self, start: Timestamp, reach: Reach) -> Result<Timestamp, PeriodError> {
        Ok(match reach {
            Reach::Exact(duration) => start.checked_add(duration)?,
            Reach::Calendar(span) => {
                let civil = self.tz.to_datetime(start);
                if start == self.start_of_day(civil.date())? {
                    self.start_of_day(civil.date().checked_add(span)?)?
                } else {
                    self.tz.to_ambiguous_timestamp(civil.checked_add(span)?).compatible()?
                }
            }
        })
    }
}
