//! A window of periods: what `--from` and `--to` name, and what the ledger knows of each period in it.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use landonce::ledger::Entry;
use landonce::{Pipeline, Store};
use landonce_core::period::{Calendar, Every, Period};

use crate::failure::Failure;

/// More periods than this are a slip of the pen: eleven years of hours, 270 of days.
const MOST: usize = 100_000;

/// How far outside a window the ledger is read: a period that was loaded in another zone starts at another instant.
const MARGIN: SignedDuration = SignedDuration::from_hours(48);

/// Periods from one to another, both included.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// All of them, in order; at least one.
    pub(crate) periods: Vec<Period>,
}

/// What has become of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Loaded, by a run that began after its end.
    Complete,
    /// Loaded, by a run that began before its end.
    Partial,
    /// The last attempt failed; an earlier load may be there.
    Failed,
    /// Never loaded.
    Missing,
}

impl State {
    /// All of them, in the order in which they are told.
    pub(crate) const ALL: [Self; 4] = [Self::Complete, Self::Partial, Self::Failed, Self::Missing];

    /// The word.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Missing => "missing",
        }
    }
}

/// A period and what the ledger knows of it.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// The period.
    pub(crate) period: Period,
    /// The ledger's row.
    pub(crate) entry: Option<Entry>,
    /// Whether it is over.
    pub(crate) is_over: bool,
}

impl Known {
    /// What has become of it.
    pub(crate) fn state(&self) -> State {
        match &self.entry {
            Some(Entry { failed: Some(_), .. }) => State::Failed,
            Some(Entry { loaded: Some(loaded), .. }) if loaded.is_complete => State::Complete,
            Some(Entry { loaded: Some(_), .. }) => State::Partial,
            Some(_) | None => State::Missing,
        }
    }

    /// Whether `backfill --missing` loads it: there is nothing, or less than there could be.
    pub(crate) fn is_due(&self) -> bool {
        match self.state() {
            State::Complete => false,
            State::Partial => self.is_over,
            State::Failed | State::Missing => true,
        }
    }
}

/// The calendar that a pipeline is loaded by.
pub(crate) fn calendar(pipeline: &Pipeline) -> Result<&Calendar, Failure> {
    pipeline.declared().calendar().ok_or_else(|| {
        Failure::usage(
            format!("the pipeline `{}` isn't loaded by periods", pipeline.name()),
            "declare `write: {mode: overwrite_period, period: {field: …, every: day, tz: …}}`, or use `landonce run`",
        )
    })
}

/// The first period that a text names: a label of the calendar, or the first one in a day, week or month.
pub(crate) fn first(calendar: &Calendar, text: &str) -> Result<Period, Failure> {
    named(calendar, "--from", text, Period::start)
}

/// The last period that a text names.
pub(crate) fn last(calendar: &Calendar, text: &str) -> Result<Period, Failure> {
    named(calendar, "--to", text, |span| {
        span.end().checked_sub(SignedDuration::from_nanos(1)).unwrap_or_else(|_| span.start())
    })
}

fn named(
    calendar: &Calendar,
    flag: &str,
    text: &str,
    at: impl Fn(&Period) -> Timestamp,
) -> Result<Period, Failure> {
    let error = match calendar.parse(text) {
        Ok(period) => return Ok(period),
        Err(error) => error,
    };
    for every in [Every::Day, Every::Week, Every::Month] {
        // Its label only: an instant inside a period is more likely a mistake than a wish.
        if let Ok(other) = Calendar::new(every, calendar.zone())
            && let Ok(span) = other.parse(text)
            && span.label() == text
            && let Ok(period) = calendar.containing(at(&span))
        {
            return Ok(period);
        }
    }
    Err(Failure::usage(
        format!("{flag} `{}`: {error}", crate::report::line(text)),
        format!(
            "give a label such as {}, a date, a week (2026-W09) or a month (2026-03)",
            calendar.every().example()
        ),
    ))
}

impl Window {
    /// The periods from one to another.
    pub(crate) fn new(calendar: &Calendar, from: &Period, to: &Period) -> Result<Self, Failure> {
        let periods = calendar
            .between(from, to)
            .map_err(|error| Failure::usage(error.to_string(), "give the earlier period with --from"))?;
        let periods: Vec<Period> = periods.take(MOST + 1).collect();
        if periods.len() > MOST {
            return Err(Failure::usage(
                format!(
                    "from {} to {} there are more than {MOST} {}s",
                    from.label(),
                    to.label(),
                    calendar.every()
                ),
                "look whether the years are meant so; a longer window goes in parts",
            ));
        }
        Ok(Self { periods })
    }

    /// What the ledger knows of each, at this moment; and how many of its rows from the window's time are no period of
    /// this calendar (the pipeline had another one when they were loaded).
    pub(crate) async fn look_up(
        &self,
        store: &Store,
        pipeline: &str,
        now: Timestamp,
    ) -> Result<(Vec<Known>, usize), Failure> {
        let (Some(first), Some(last)) = (self.periods.first(), self.periods.last()) else {
            return Ok((Vec::new(), 0));
        };
        let from = first.start().checked_sub(MARGIN).unwrap_or(Timestamp::MIN);
        let to = last.end().checked_add(MARGIN).unwrap_or(Timestamp::MAX);
        let entries = store.periods(pipeline, from.as_microsecond(), to.as_microsecond()).await?;
        let mut by_label: HashMap<String, Entry> =
            entries.into_iter().map(|entry| (entry.label.clone(), entry)).collect();
        let known = self
            .periods
            .iter()
            .map(|period| Known {
                entry: by_label.remove(period.label()),
                is_over: period.is_over_at(now),
                period: period.clone(),
            })
            .collect();
        let window = first.start().as_microsecond()..last.end().as_microsecond();
        let strays = by_label.values().filter(|entry| window.contains(&entry.start)).count();
        Ok((known, strays))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(every: Every, zone: &str, from: &str, to: &str) -> (String, String, usize) {
        let calendar = Calendar::new(every, zone).unwrap();
        let (from, to) = (first(&calendar, from).unwrap(), last(&calendar, to).unwrap());
        let window = Window::new(&calendar, &from, &to).unwrap();
        (from.label().to_owned(), to.label().to_owned(), window.periods.len())
    }

    #[test]
    fn a_longer_label_stands_for_the_periods_in_it() {
        let of = |every, from: &str, to: &str| labels(every, "Europe/Berlin", from, to);
        let told = |from: &str, to: &str, count| (from.to_owned(), to.to_owned(), count);
        assert_eq!(of(Every::Day, "2026-03-28", "2026-03-30"), told("2026-03-28", "2026-03-30", 3));
        assert_eq!(of(Every::Day, "2026-02", "2026-03"), told("2026-02-01", "2026-03-31", 59));
        // The spring day has 23 hours, the autumn day 25.
        assert_eq!(
            of(Every::Hour, "2026-03-29", "2026-03-29"),
            told("2026-03-29T00+01:00", "2026-03-29T23+02:00", 23)
        );
        assert_eq!(
            of(Every::Hour, "2026-10-25", "2026-10-25"),
            told("2026-10-25T00+02:00", "2026-10-25T23+01:00", 25)
        );
        assert_eq!(of(Every::Week, "2026-03-04", "2026-03"), told("2026-W10", "2026-W14", 5));
        assert_eq!(of(Every::Month, "2026-01-15", "2026-W14"), told("2026-01", "2026-04", 4));
    }

    #[test]
    fn what_names_no_period_is_told_with_its_flag() {
        let days = Calendar::new(Every::Day, "Pacific/Apia").unwrap();
        for (text, says) in [
            ("2026-13-01", "--from `2026-13-01`: "),
            ("yesterday", "isn't a period"),
            ("2026-03-01T05:00:00Z", "isn't the start of a day"),
            ("2011-12-30", "its clocks skipped the day"),
        ] {
            let told = first(&days, text).unwrap_err().message();
            assert!(told.contains(says), "{told}");
        }
        let hours = Calendar::new(Every::Hour, "UTC").unwrap();
        let (from, to) = (first(&hours, "2001-01-01").unwrap(), last(&hours, "2026-01-01").unwrap());
        assert!(Window::new(&hours, &from, &to).unwrap_err().message().contains("more than 100000 hours"));
        assert!(Window::new(&hours, &to, &from).unwrap_err().message().contains("is before"));
    }
}
