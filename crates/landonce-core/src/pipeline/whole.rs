//! The modes in which a run speaks for more than its records: what they ask of a pipeline, and the period of a run.

mod snapshot;

pub(super) use snapshot::of_snapshot;
pub use snapshot::{AbsentRow, Plausible, SnapshotOf};

use super::check::{Checked, fault};
use super::{IdentityFrom, Pipeline, PipelineError};
use crate::bad_record::shorten;
use crate::column::Type;
use crate::period::{Calendar, Every, Period, PeriodError};
use crate::plan::WriteMode;
use crate::spec::{OwnerSpec, PeriodSpec, PlausibleSpec, WriteSpec};

/// What a run speaks for beside its records: after it, these rows are exactly the payload's.
#[derive(Debug, Clone, PartialEq)]
pub enum Whole {
    /// The rows of the run's period (`overwrite_period`).
    Period(PeriodOf),
    /// The rows of the source (`snapshot`).
    Snapshot(SnapshotOf),
}

/// The rows of a period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeriodOf {
    /// The field that lies in the period.
    pub field: String,
    /// The periods.
    pub calendar: Calendar,
    /// Of them only those in which these fields have these values: the source's own.
    pub owner: Vec<(String, String)>,
    /// A payload without records may empty a period that has rows.
    pub allows_empty: bool,
}

impl Whole {
    /// The mode's spelling in pipelines and reports.
    pub const fn mode_name(&self) -> &'static str {
        match self {
            Self::Period(_) => "overwrite_period",
            Self::Snapshot(_) => "snapshot",
        }
    }

    /// The fields and values of the source's own rows.
    pub fn owner(&self) -> &[(String, String)] {
        match self {
            Self::Period(of) => &of.owner,
            Self::Snapshot(of) => &of.owner,
        }
    }

    /// Absent rows are marked.
    pub fn retires(&self) -> bool {
        matches!(self, Self::Snapshot(of) if of.absent == AbsentRow::Retire)
    }
}

impl super::Source {
    /// The key of a text in which `{period.…}` stands, if there is one: then every period has a source of its own.
    pub fn placeholder(&self) -> Option<&'static str> {
        if self.file.as_deref().is_some_and(Period::uses) {
            return Some("source.file");
        }
        let mut found = None;
        // Nothing is filled in, so nothing fails.
        let _ = self.feed.filled(&mut |key, text| {
            if Period::uses(text) {
                found.get_or_insert(key);
            }
            Ok(text.to_owned())
        });
        found
    }
}

impl Pipeline {
    /// What a run speaks for beside its records.
    pub fn whole(&self) -> Option<&Whole> {
        self.write.whole.as_ref()
    }

    /// The periods that it is loaded by; `None` when a run needs none.
    pub fn calendar(&self) -> Option<&Calendar> {
        match &self.write.whole {
            Some(Whole::Period(of)) => Some(&of.calendar),
            Some(Whole::Snapshot(_)) | None => None,
        }
    }

    /// The pipeline of one period's run: the period is given, never taken from a clock (H4), and stands in every
    /// `{period.…}` of the source.
    ///
    /// # Errors
    /// When it isn't loaded by periods, or the text is no period of its calendar.
    pub fn in_period(&self, text: &str) -> Result<Self, PipelineError> {
        let Some(calendar) = self.calendar() else {
            return fault(
                "write.period",
                format!(
                    "the pipeline isn't loaded by periods, so `{}` means nothing to it; leave the period out, or declare `write: \
                     {{mode: overwrite_period, period: {{field, every, tz}}}}`",
                    shorten(text)
                ),
            );
        };
        let period = calendar.parse(text).map_err(|error| told(&error))?;
        self.of(&period)
    }

    /// [`Pipeline::in_period`] of a period that is known already.
    ///
    /// # Errors
    /// When the source has a placeholder that the period can't fill.
    pub fn of(&self, period: &Period) -> Result<Self, PipelineError> {
        if let Some(other) = &self.period {
            return fault(
                "period",
                format!("this is the pipeline of {other} already; take the declared one for another period"),
            );
        }
        let mut bound = self.clone();
        if let Some(file) = &self.source.file {
            bound.source.file = Some(filled(period, "source.file", file)?);
        }
        bound.source.feed = self.source.feed.filled(&mut |key, text| filled(period, key, text))?;
        bound.period = Some(period.clone());
        Ok(bound)
    }
}

fn told(error: &PeriodError) -> PipelineError {
    PipelineError { key: "period", message: error.to_string() }
}

fn filled(period: &Period, key: &'static str, text: &str) -> Checked<String> {
    period.fill(text).map_err(|error| PipelineError { key, message: error.to_string() })
}

/// The part of `write:` that these modes are declared by.
pub(super) fn of_period(spec: &WriteSpec) -> Checked<Whole> {
    let Some(PeriodSpec { field, every, tz }) = &spec.period else {
        return fault(
            "write.period",
            "`mode: overwrite_period` needs to know which rows are a period's: `period: {field: order_date, every: day, tz: Europe/Berlin}`",
        );
    };
    if spec.plausible != PlausibleSpec::default() {
        return fault("write.plausible", "goes with `mode: snapshot`");
    }
    if spec.history {
        return fault("write.history", "goes with `mode: snapshot`");
    }
    for (key, is_given, why) in [
        ("write.version", spec.version.is_some(), "the newest load of a period is its content, whole"),
        ("write.absent", spec.absent.is_some(), "a record is a whole row of its period"),
        ("write.delete_when", spec.delete_when.is_some(), "what the payload doesn't have is deleted already"),
    ] {
        if is_given {
            return fault(key, format!("doesn't go with `mode: overwrite_period`: {why}; leave it out"));
        }
    }
    let calendar = Calendar::new(*every, tz)
        .map_err(|error| PipelineError { key: "write.period.tz", message: error.to_string() })?;
    let OwnerSpec(owner) = &spec.owner;
    if let Some((name, _)) = owner.iter().find(|(name, _)| name == field) {
        return fault("write.owner", format!("`{name}` is the period's field"));
    }
    Ok(Whole::Period(PeriodOf {
        field: field.clone(),
        calendar,
        owner: owner.clone(),
        allows_empty: spec.allow_empty,
    }))
}

/// These keys belong to the modes above.
pub(super) fn refuse_without(spec: &WriteSpec) -> Checked<()> {
    for (key, is_given) in [
        ("write.period", spec.period.is_some()),
        ("write.owner", !spec.owner.0.is_empty()),
        ("write.allow_empty", spec.allow_empty),
    ] {
        if is_given {
            return fault(key, "goes with `mode: overwrite_period`");
        }
    }
    if spec.plausible != PlausibleSpec::default() {
        return fault("write.plausible", "goes with `mode: snapshot`");
    }
    if spec.history {
        return fault("write.history", "goes with `mode: snapshot`");
    }
    Ok(())
}

/// Rules that need the whole pipeline.
pub(super) fn across(pipeline: &Pipeline) -> Checked<()> {
    owners_fit(pipeline)?;
    pipeline.source.feed.across(pipeline)?;
    let Some(Whole::Period(of)) = &pipeline.write.whole else {
        if let Some(Whole::Snapshot(of)) = &pipeline.write.whole {
            snapshot::across(pipeline, of)?;
        } else if pipeline.identity.keeps_repeats {
            return fault(
                "identity.repeats",
                "`keep` goes with `mode: overwrite_period` or `snapshot`: elsewhere a line that is delivered again can't be told from one more \
                 line",
            );
        }
        if let Some(key) = pipeline.source.placeholder() {
            return fault(
                key,
                "has a placeholder of a period, and the pipeline isn't loaded by periods: declare `write: {mode: overwrite_period, \
                 period: {field, every, tz}}`",
            );
        }
        return Ok(());
    };
    // Any period tells whether the placeholders are known.
    let any = of.calendar.containing(jiff::Timestamp::UNIX_EPOCH).map_err(|error| told(&error))?;
    filled(&any, "source.file", pipeline.source.file.as_deref().unwrap_or_default())?;
    pipeline.source.feed.filled(&mut |key, text| filled(&any, key, text))?;
    let column = |field: &str| pipeline.target.columns.iter().find(|column| column.field == field);
    let due = if of.calendar.every() == Every::Hour {
        "timestamptz (an hour needs an instant)"
    } else {
        "date, timestamptz or timestamp"
    };
    if let Some(column) = column(&of.field)
        && !fits(&column.ty, of.calendar.every())
    {
        let told = format!("`{}` is a {} column; {due} is due", of.field, column.ty);
        return fault("write.period.field", told);
    }
    if pipeline.volatile.contains(&of.field) {
        return fault(
            "volatile",
            format!("`{}` says whose row it is: it can't change per attempt", of.field),
        );
    }
    debug_assert!(pipeline.write.mode == WriteMode::Upsert, "a period's rows are replaced");
    debug_assert!(
        !pipeline.identity.keeps_repeats || matches!(pipeline.identity.from, IdentityFrom::Content(None))
    );
    Ok(())
}

/// A value of `owner:` has one spelling.
fn owners_fit(pipeline: &Pipeline) -> Checked<()> {
    let owner = pipeline.write.whole.as_ref().map(Whole::owner).unwrap_or_default();
    for (field, _) in owner {
        let column = pipeline.target.columns.iter().find(|column| &column.field == field);
        if let Some(column) = column
            && !matches!(
                column.ty,
                Type::Text { .. }
                    | Type::Scalar
                    | Type::Enum { .. }
                    | Type::Integer { .. }
                    | Type::Boolean
                    | Type::Uuid
            )
        {
            return fault(
                "write.owner",
                format!("`{field}` is a {} column; text, integer, boolean or uuid is due", column.ty),
            );
        }
        if pipeline.volatile.contains(field) {
            return fault("volatile", format!("`{field}` says whose row it is: it can't change per attempt"));
        }
    }
    Ok(())
}

/// Whether a column's type tells which period a row is in.
pub fn fits(ty: &Type, every: Every) -> bool {
    match ty {
        Type::Timestamptz => true,
        Type::Date | Type::Timestamp => every.holds_whole_days(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    const BASE: &str = "pipeline: p\nidentity: [id]\nsource: {file: 'in/{period.date}.csv'}\n\
                        target: {table: t, columns: {day: date, shop: text}}\n";

    fn made(write: &str) -> Result<Pipeline, PipelineError> {
        Pipeline::new(Spec::parse(&format!("{BASE}write: {write}\n")).unwrap())
    }

    #[test]
    fn a_run_has_the_period_that_it_is_given_in_every_placeholder() {
        let pipeline = made(
            "{mode: overwrite_period, period: {field: day, every: day, tz: Europe/Berlin}, owner: {shop: 7}}",
        )
        .unwrap();
        assert_eq!(pipeline.write().mode_name(), "overwrite_period");
        assert_eq!(pipeline.whole().unwrap().owner(), [("shop".to_owned(), "7".to_owned())]);
        let march = pipeline.in_period("2026-03-29").unwrap();
        assert_eq!(march.source().file.as_deref(), Some("in/2026-03-29.csv"));
        assert_eq!(march.period().unwrap().label(), "2026-03-29");
        assert!(
            march
                .in_period("2026-03-30")
                .unwrap_err()
                .to_string()
                .contains("the pipeline of 2026-03-29 already")
        );
        assert!(pipeline.in_period("2026-03-32").unwrap_err().to_string().starts_with("period: "));
    }

    #[test]
    fn what_a_period_can_not_mean_is_refused_with_its_key() {
        for (write, want) in [
            ("{mode: overwrite_period}", "write.period: `mode: overwrite_period` needs"),
            (
                "{mode: overwrite_period, period: {field: day, every: day, tz: Berlin/Europe}}",
                "write.period.tz: ",
            ),
            (
                "{mode: overwrite_period, period: {field: shop, every: day, tz: UTC}}",
                "write.period.field: `shop` is a text column",
            ),
            (
                "{mode: overwrite_period, period: {field: day, every: hour, tz: UTC}}",
                "write.period.field: `day` is a date column",
            ),
            (
                "{mode: overwrite_period, version: v, period: {field: day, every: day, tz: UTC}}",
                "write.version: doesn't go with",
            ),
            (
                "{mode: overwrite_period, absent: keep, period: {field: day, every: day, tz: UTC}}",
                "write.absent: doesn't",
            ),
            (
                "{mode: overwrite_period, period: {field: day, every: day, tz: UTC}, owner: {day: x}}",
                "write.owner: `day` is",
            ),
            ("{mode: upsert, allow_empty: true}", "write.allow_empty: goes with"),
            ("{mode: upsert}", "source.file: has a placeholder of a period"),
        ] {
            let told = made(write).unwrap_err().to_string();
            assert!(told.starts_with(want), "{write}: {told}");
        }
        let spec = "pipeline: p\nidentity: [id]\ntarget: {table: t}\n";
        let plain = Pipeline::new(Spec::parse(spec).unwrap()).unwrap();
        assert!(plain.in_period("2026-03-01").unwrap_err().to_string().contains("isn't loaded by periods"));
    }
}
