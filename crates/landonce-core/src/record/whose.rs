//! Whose a row is: of the run's period and of the pipeline's owner, or a bad record that names both.
//!
//! A row of another period would be put where this run doesn't look, and the run of that period would delete it.

use std::borrow::Cow;

use super::convert;
use crate::bad_record::{BadKind, BadRecord, shorten};
use crate::column::Type;
use crate::json::Tape;
use crate::period::{Calendar, Period};
use crate::pipeline::Pipeline;
use crate::plan::{Bound, From, Scope, Span, TablePlan};
use crate::value::Value;

/// The rows that a run speaks for, as a test of values.
#[derive(Debug)]
pub(super) struct Whose {
    period: Option<In>,
    owned: Vec<Owned>,
}

#[derive(Debug)]
struct In {
    span: Span,
    field: String,
    period: Period,
    calendar: Calendar,
}

#[derive(Debug)]
struct Owned {
    column: usize,
    field: String,
    text: String,
    /// `None` when the text isn't of the column's type: then no record can be the owner's.
    value: Option<Value<'static>>,
}

impl Whose {
    pub(super) fn new(pipeline: &Pipeline, plan: &TablePlan, scope: &Scope) -> Self {
        let field = |column: usize| match &plan.columns[column].from {
            From::Field(field) => field.clone(),
            From::Rest => plan.columns[column].name.clone(),
        };
        let period = match (&scope.period, pipeline.period(), pipeline.calendar()) {
            (Some(span), Some(period), Some(calendar)) => Some(In {
                field: field(span.column),
                span: span.clone(),
                period: period.clone(),
                calendar: calendar.clone(),
            }),
            _ => None,
        };
        let owned = scope.owner.iter().map(|owned| Owned {
            column: owned.column,
            field: field(owned.column),
            value: typed(&owned.value, &plan.columns[owned.column].ty),
            text: owned.value.clone(),
        });
        Self { period, owned: owned.collect() }
    }

    /// Gives a record that doesn't name its owner the pipeline's.
    pub(super) fn fill(&self, values: &mut [Value<'_>], present: &mut i64) -> Result<(), BadRecord> {
        for owned in &self.owned {
            if values[owned.column] != Value::Null {
                continue;
            }
            let Some(value) = &owned.value else {
                let told = format!(
                    "the owner's value `{}` (`write.owner`) isn't of the column's type",
                    shorten(&owned.text)
                );
                return Err(BadRecord::new(BadKind::WrongType, owned.field.as_str(), told));
            };
            values[owned.column] = value.clone();
            if owned.column < 63 {
                *present |= 1 << owned.column;
            }
        }
        Ok(())
    }

    /// Whether the row is one that the run speaks for.
    pub(super) fn check(&self, values: &[Value<'_>]) -> Result<(), BadRecord> {
        for owned in &self.owned {
            if owned.value.as_ref() != Some(&values[owned.column]) {
                let told = format!(
                    "the row is of `{}`, and the pipeline owns those of `{}`",
                    shown(&values[owned.column]),
                    shorten(&owned.text)
                );
                return Err(BadRecord::new(BadKind::OtherOwner, owned.field.as_str(), told));
            }
        }
        let Some(of) = &self.period else { return Ok(()) };
        let value = &values[of.span.column];
        if of.span.holds(value) {
            return Ok(());
        }
        let told = match of.other(value) {
            Some(other) => format!("the row is in {other}, and the run's period is {}", of.period),
            None if *value == Value::Null => {
                format!("null or absent, so the row is in no period, and the run's is {}", of.period)
            }
            None => format!("the row is in no period of the calendar, and the run's is {}", of.period),
        };
        Err(BadRecord::new(BadKind::OutsidePeriod, of.field.as_str(), told))
    }
}

impl In {
    /// The label of the period that a value is in.
    fn other(&self, value: &Value<'_>) -> Option<String> {
        Bound::of(value)?.period(&self.calendar).map(|period| period.label().to_owned())
    }
}

/// A declared text as the column's type spells it, so that the stores compare with what they hold: a UUID in small letters, a
/// number without leading zeros. `None` when it isn't of the type.
pub(crate) fn owner_text(text: &str, ty: &Type) -> Option<String> {
    Some(match typed(text, ty)? {
        Value::Text(text) => text.into_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(is) => is.to_string(),
        Value::Uuid(bytes) => uuid::Uuid::from_bytes(bytes).to_string(),
        _ => return None,
    })
}

/// A declared text as a value of a column's type, read as a CSV field would be.
fn typed(text: &str, ty: &Type) -> Option<Value<'static>> {
    let json = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let mut tape = Tape::default();
    let json = tape.scan(json.as_bytes()).ok()?;
    Some(match convert::convert(json, ty, true).ok()? {
        Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        Value::Integer(number) => Value::Integer(number),
        Value::Boolean(is) => Value::Boolean(is),
        Value::Uuid(bytes) => Value::Uuid(bytes),
        _ => return None,
    })
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => shorten(text),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(is) => is.to_string(),
        Value::Uuid(bytes) => uuid::Uuid::from_bytes(*bytes).to_string(),
        _ => "null".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, Match};
    use crate::record::{RecordReader, Wanted};
    use crate::spec::Spec;

    fn read(columns: &str, period: &str, label: &str, record: &str) -> Result<(), String> {
        let yaml = format!(
            "pipeline: p\nidentity: [id]\ntarget: {{table: t, columns: {{{columns}}}}}\n\
             write: {{mode: overwrite_period, period: {{field: at, {period}}}, owner: {{shop: 7}}}}\n"
        );
        let pipeline = Pipeline::new(Spec::parse(&yaml).unwrap()).unwrap().in_period(label).unwrap();
        let plan = plan::resolve(&pipeline, None).unwrap();
        assert!(matches!(plan.matching, Match::Key { .. }));
        let mut reader = RecordReader::new(&pipeline, &plan, false);
        let row = reader.read(record.as_bytes(), Wanted::Row).map_err(|bad| bad.to_string())?;
        assert!(!row.values.contains(&Value::Null), "the owner is filled in: {row:?}");
        Ok(())
    }

    #[test]
    fn a_row_outside_names_both_periods() {
        let days = "every: day, tz: Europe/Berlin";
        let instants = "at: timestamptz, shop: text";
        let at = |record: &str| read(instants, days, "2026-03-29", record);
        // The day has 23 hours: from 23:00Z the day before to 22:00Z.
        assert_eq!(at(r#"{"id":1,"at":"2026-03-28T23:00:00Z","shop":"7"}"#), Ok(()));
        assert_eq!(at(r#"{"id":1,"at":"2026-03-29T21:59:59.999999Z"}"#), Ok(()));
        assert_eq!(
            at(r#"{"id":1,"at":"2026-03-29T22:00:00Z"}"#).unwrap_err(),
            "outside the period: `at`: the row is in 2026-03-30, and the run's period is 2026-03-29"
        );
        assert_eq!(
            at(r#"{"id":1,"at":null}"#).unwrap_err(),
            "outside the period: `at`: null or absent, so the row is in no period, and the run's is 2026-03-29"
        );
        let dates = |record: &str| read("at: date, shop: text", "every: month, tz: UTC", "2024-02", record);
        assert_eq!(dates(r#"{"id":1,"at":"2024-02-29"}"#), Ok(()));
        assert!(dates(r#"{"id":1,"at":"2024-03-01"}"#).unwrap_err().contains("is in 2024-03, and"));
        let local =
            |record: &str| read("at: timestamp, shop: text", "every: week, tz: UTC", "2026-W01", record);
        assert_eq!(local(r#"{"id":1,"at":"2025-12-29T00:00:00"}"#), Ok(()));
        assert!(local(r#"{"id":1,"at":"2025-12-28T23:59:59"}"#).unwrap_err().contains("is in 2025-W52, and"));
    }

    #[test]
    fn a_row_of_another_owner_names_both() {
        let days = "every: day, tz: UTC";
        let record = r#"{"id":1,"at":"2026-03-29T00:00:00Z","shop":"8"}"#;
        assert_eq!(
            read("at: timestamptz, shop: text", days, "2026-03-29", record).unwrap_err(),
            "another owner's: `shop`: the row is of `8`, and the pipeline owns those of `7`"
        );
        let record = r#"{"id":1,"at":"2026-03-29T00:00:00Z"}"#;
        assert_eq!(read("at: timestamptz, shop: integer", days, "2026-03-29", record), Ok(()));
        let told = read("at: timestamptz, shop: uuid", days, "2026-03-29", record).unwrap_err();
        assert!(told.contains("the owner's value `7`"), "{told}");
    }
}
