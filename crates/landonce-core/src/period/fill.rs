//! Placeholders: a period put into paths, URLs, queries and commands.

use super::{Every, Period, PeriodError};
use crate::bad_record::shorten;

const OPENING: &str = "{period.";

/// What may stand behind `{period.`. `hour` is for hours only: of a day it would always say 00.
const NAMES: [&str; 8] = ["start", "end", "date", "label", "year", "month", "day", "hour"];

impl Period {
    /// Whether a template has a placeholder of the period, so that it can't be read without one.
    pub fn uses(template: &str) -> bool {
        template.contains(OPENING)
    }

    /// A template with its placeholders filled. Other braces stay as they are.
    ///
    /// | placeholder | |
    /// |---|---|
    /// | `{period.start}`, `{period.end}` | instants in UTC: `2026-03-01T00:00:00Z` |
    /// | `{period.label}` | the label |
    /// | `{period.date}` | the civil date that it begins with: `2026-03-01` |
    /// | `{period.year}`, `{period.month}`, `{period.day}` | the parts of that date, of four and two digits |
    /// | `{period.hour}` | of an hour, the clock hour: `05`. It comes twice where clocks go back; label and start don't |
    ///
    /// # Errors
    /// [`PeriodError::UnknownPlaceholder`].
    pub fn fill(&self, template: &str) -> Result<String, PeriodError> {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, opened)) = rest.split_once(OPENING) {
            let (name, behind) = opened.split_once('}').unwrap_or((opened, ""));
            let value = self.value(name).filter(|_| opened.len() > name.len());
            filled.push_str(before);
            filled.push_str(&value.ok_or_else(|| self.unknown(opened, name))?);
            rest = behind;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str) -> Option<String> {
        Some(match name {
            "start" => self.start.to_string(),
            "end" => self.end.to_string(),
            "date" => self.date().to_string(),
            "label" => self.label.clone(),
            "year" => format!("{:04}", self.named.year()),
            "month" => format!("{:02}", self.named.month()),
            "day" => format!("{:02}", self.named.day()),
            "hour" if self.every == Every::Hour => format!("{:02}", self.named.hour()),
            _ => return None,
        })
    }

    fn unknown(&self, opened: &str, name: &str) -> PeriodError {
        let closing = if opened.len() > name.len() { "}" } else { "" };
        let known: Vec<String> = NAMES
            .iter()
            .filter(|name| self.value(name).is_some())
            .map(|name| format!("{OPENING}{name}}}"))
            .collect();
        PeriodError::UnknownPlaceholder {
            placeholder: shorten(&format!("{OPENING}{name}{closing}")),
            every: self.every,
            known: known.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::period;
    use super::*;

    #[test]
    fn every_placeholder_is_filled_and_other_braces_stay() {
        let hour = period(Every::Hour, "America/New_York", "2026-11-01T01-05:00");
        for (template, want) in [
            (
                "{period.start}/{period.end}|{period.date}|{period.label}",
                "2026-11-01T06:00:00Z/2026-11-01T07:00:00Z|2026-11-01|2026-11-01T01-05:00",
            ),
            ("{period.year}/{period.month}/{period.day}/{period.hour}", "2026/11/01/01"),
            (
                "{}{period}{ period.start }{Period.start}${HOME}{x",
                "{}{period}{ period.start }{Period.start}${HOME}{x",
            ),
            ("${period.date}}", "$2026-11-01}"),
            ("ä{period.date}ä", "ä2026-11-01ä"),
            ("", ""),
        ] {
            assert_eq!(hour.fill(template).as_deref(), Ok(want), "{template}");
        }
        let week = period(Every::Week, "UTC", "2026-W01");
        assert_eq!(
            week.fill("{period.label} {period.date} {period.year}").unwrap(),
            "2026-W01 2025-12-29 2025"
        );
    }

    #[test]
    fn an_unknown_placeholder_is_an_error_that_names_the_known_ones() {
        let day = period(Every::Day, "UTC", "2026-03-01");
        for (template, shown) in [
            ("{period.begin}", "{period.begin}"),
            ("a{period.}b", "{period.}"),
            ("{period.{period.date}", "{period.{period.date}"),
            ("{period.start", "{period.start"),
            ("{period.date}{period.Start}", "{period.Start}"),
            // A day has no hour; 00 would be the wrong file, silently.
            ("{period.hour}", "{period.hour}"),
        ] {
            assert_eq!(
                day.fill(template).unwrap_err().to_string(),
                format!(
                    "`{shown}` isn't known here; a template of a day may have {{period.start}}, {{period.end}}, \
                     {{period.date}}, {{period.label}}, {{period.year}}, {{period.month}}, {{period.day}}"
                )
            );
        }
    }

    #[test]
    fn a_template_uses_a_period_exactly_when_it_has_a_placeholder() {
        assert!(Period::uses("in/{period.date}.csv"));
        assert!(Period::uses("in/{period.typo}.csv"), "so that the fault is found");
        assert!(!Period::uses("in/{date}.csv"));
        assert!(!Period::uses("{period}"));
    }
}
