//! Why there is no such period, and what to do instead.

use jiff::Timestamp;

use super::Every;

/// Why a zone, a period or a template can't be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeriodError {
    /// The zone isn't in the IANA database.
    #[error("`{name}` isn't a time zone of the IANA database; {hint}")]
    UnknownZone {
        /// What was given, shortened.
        name: String,
        /// Near names, or what a name looks like.
        hint: String,
    },
    /// The text is no way to write a period.
    #[error("{0}")]
    Unreadable(String),
    /// The text names a period of another length.
    #[error("`{text}` names {}, and this pipeline's periods are {every}s; give one such as {}", .found.with_article(), .every.example())]
    OtherLength {
        /// What was given.
        text: String,
        /// What it names.
        found: Every,
        /// What is due.
        every: Every,
    },
    /// The zone skipped the whole day.
    #[error("{zone} has no {date}: its clocks skipped the day; leave it out")]
    NoSuchDay {
        /// The day.
        date: String,
        /// The zone.
        zone: String,
    },
    /// The zone's clocks don't show this time.
    #[error("the clocks of {zone} skip `{text}`; give a time that they show, such as {near}")]
    Skipped {
        /// The time that was given.
        text: String,
        /// The zone.
        zone: String,
        /// The period that is there instead.
        near: String,
    },
    /// The zone's clocks show this time twice, and the text doesn't tell which is meant.
    #[error("the clocks of {zone} show `{text}` twice; give {first} or {second}")]
    Twice {
        /// The time that was given.
        text: String,
        /// The zone.
        zone: String,
        /// It under the offset that comes first.
        first: String,
        /// It under the other offset.
        second: String,
    },
    /// The text names a time inside a period.
    #[error("`{text}` isn't the start of {}: it is in {label}, which runs from {start} to {end}; give {label}", .every.with_article())]
    NotAStart {
        /// What was given.
        text: String,
        /// The period that it is in.
        label: String,
        /// Its length.
        every: Every,
        /// Its start.
        start: Timestamp,
        /// Its end.
        end: Timestamp,
    },
    /// The text names a period of UTC, as an orchestrator renders it that schedules in UTC.
    #[error(
        "`{text}` names {} of UTC, and this pipeline's periods are {every}s of {zone}; \
         let the schedule run in {zone} (in Airflow, the time zone of the DAG), give a label such as {label}, \
         or declare `tz: UTC`", .every.with_article()
    )]
    OfUtc {
        /// What was given.
        text: String,
        /// Its length.
        every: Every,
        /// The pipeline's zone.
        zone: String,
        /// A label of the pipeline's calendar.
        label: String,
    },
    /// The interval has no length.
    #[error(
        "`{text}` covers nothing, since an interval's end isn't in it (Airflow's CronTriggerTimetable renders such ones); \
         give a label such as {label}"
    )]
    Nothing {
        /// What was given.
        text: String,
        /// The period that the start is in.
        label: String,
    },
    /// The interval ends before it starts.
    #[error("`{text}` ends before it starts; give start and end in this order")]
    Backwards {
        /// What was given.
        text: String,
    },
    /// The interval is whole periods, but more than one.
    #[error(
        "`{text}` covers more than one {every}, {from} to {to}, and a run has one period; \
         use `landonce backfill --from {from} --to {to}`"
    )]
    Several {
        /// What was given.
        text: String,
        /// The length of one.
        every: Every,
        /// The first.
        from: String,
        /// The last.
        to: String,
    },
    /// The interval ends inside a period.
    #[error(
        "`{text}` ends inside {label}, which is over at {end}; give {first}, or an interval of exactly one {every}"
    )]
    EndsInside {
        /// What was given.
        text: String,
        /// The period that its end is in.
        label: String,
        /// That period's end.
        end: Timestamp,
        /// The period that it starts with.
        first: String,
        /// The length of one.
        every: Every,
    },
    /// The last period of a range lies before the first.
    #[error("{to} is before {from}; give the earlier one first")]
    ToBeforeFrom {
        /// The first.
        from: String,
        /// The last.
        to: String,
    },
    /// The template asks for something that a period doesn't have.
    #[error("`{placeholder}` isn't known here; a template of {} may have {known}", .every.with_article())]
    UnknownPlaceholder {
        /// The placeholder, shortened.
        placeholder: String,
        /// The period's length.
        every: Every,
        /// The placeholders that there are.
        known: String,
    },
    /// Outside the years that a period can lie in.
    #[error("the period reaches outside the years 0001–9999; give one inside")]
    OutsideYears,
}

/// jiff's arithmetic fails for nothing but its range, whose ends are at most a day inside the years 0001–9999.
impl From<jiff::Error> for PeriodError {
    fn from(_: jiff::Error) -> Self {
        Self::OutsideYears
    }
}

impl Every {
    const fn with_article(self) -> &'static str {
        match self {
            Self::Hour => "an hour",
            Self::Day => "a day",
            Self::Week => "a week",
            Self::Month => "a month",
        }
    }

    /// A label of such a period, for messages.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Hour => "2026-03-01T05+00:00",
            Self::Day => "2026-03-01",
            Self::Week => "2026-W09",
            Self::Month => "2026-03",
        }
    }
}
