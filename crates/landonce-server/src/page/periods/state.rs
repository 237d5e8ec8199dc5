//! How a period stands: from what the ledger says of it and whether it is over.

use std::collections::HashMap;

use jiff::Timestamp;
use landonce::ledger::Entry;
use landonce_core::period::{Calendar, Every, Period};
use maud::{Markup, html};

use crate::page::show::{Tone, count, state};

/// More periods than this aren't laid out: eleven years of hours.
const MOST: usize = 100_000;

/// How a period stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Loaded, by a run that began after its end.
    Complete,
    /// Loaded, by a run that began before its end.
    Partial,
    /// The last attempt failed, and nothing is loaded. Where something is, that stands: see [`Known::has_failed`].
    Failed,
    /// It is over, and was never loaded.
    Missing,
    /// It isn't over, and nothing is loaded yet.
    Later,
}

impl Standing {
    /// Those that are told of.
    pub(super) const TOLD: [Self; 4] = [Self::Complete, Self::Partial, Self::Failed, Self::Missing];

    /// The word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Missing => "missing",
            Self::Later => "not over",
        }
    }

    /// The word as a heading.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Complete => "Complete",
            Self::Partial => "Partial",
            Self::Failed => "Failed",
            Self::Missing => "Missing",
            Self::Later => "Not over",
        }
    }

    /// How good that is.
    pub(super) const fn tone(self) -> Tone {
        match self {
            Self::Complete => Tone::Good,
            Self::Partial => Tone::Warn,
            Self::Failed => Tone::Bad,
            Self::Missing | Self::Later => Tone::None,
        }
    }

    /// Its shape and its word.
    pub(super) fn shown(self) -> Markup {
        state(self.tone(), self.word())
    }
}

/// A period and what the ledger knows of it.
#[derive(Debug, Clone)]
pub(super) struct Known {
    /// The period.
    pub(super) period: Period,
    /// The ledger's row.
    pub(super) entry: Option<Entry>,
    is_over: bool,
}

impl Known {
    /// Every period from the first that the ledger has to the one that is now, or to the last that the ledger has.
    pub(super) fn since_the_first(calendar: &Calendar, entries: Vec<Entry>, now: Timestamp) -> Vec<Self> {
        let at = |start: Option<i64>| calendar.containing(Timestamp::from_microsecond(start?).ok()?).ok();
        let first = at(entries.iter().map(|entry| entry.start).min());
        let last = at(entries.iter().map(|entry| entry.start).max())
            .into_iter()
            .chain(calendar.containing(now).ok());
        let (Some(first), Some(last)) = (first, last.max_by_key(Period::start)) else { return Vec::new() };
        let Ok(periods) = calendar.between(&first, &last) else { return Vec::new() };
        let mut by_label: HashMap<(String, i64), Entry> =
            entries.into_iter().map(|entry| ((entry.label.clone(), entry.start), entry)).collect();
        periods
            .take(MOST)
            .map(|period| Self {
                entry: by_label.remove(&(period.label().to_owned(), period.start().as_microsecond())),
                is_over: period.is_over_at(now),
                period,
            })
            .collect()
    }

    /// How it stands.
    pub(super) fn standing(&self) -> Standing {
        match &self.entry {
            Some(Entry { loaded: Some(loaded), .. }) if loaded.is_complete => Standing::Complete,
            Some(Entry { loaded: Some(_), .. }) => Standing::Partial,
            Some(Entry { failed: Some(_), .. }) => Standing::Failed,
            _ if self.is_over => Standing::Missing,
            _ => Standing::Later,
        }
    }

    /// Whether the last attempt failed. That stands beside what is loaded, not in its place.
    pub(super) fn has_failed(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.failed.is_some())
    }

    /// Whether it counts as that: a period whose last attempt failed counts as failed beside what it counts as by what is loaded.
    fn counts_as(&self, standing: Standing) -> bool {
        self.standing() == standing || (standing == Standing::Failed && self.has_failed())
    }

    /// How many rows it holds.
    pub(super) fn rows(&self) -> Option<u64> {
        self.entry.as_ref()?.loaded.as_ref().map(|loaded| loaded.rows)
    }
}

/// How many periods stand how. One that is loaded, and whose last attempt failed, is among both.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts([u64; 4]);

impl Counts {
    /// Of these.
    pub(super) fn of(known: &[Known]) -> Self {
        let mut counts = [0; 4];
        for (count, standing) in counts.iter_mut().zip(Standing::TOLD) {
            *count = known.iter().map(|one| u64::from(one.counts_as(standing))).sum();
        }
        Self(counts)
    }

    /// How many stand so.
    pub(super) fn of_standing(&self, standing: Standing) -> u64 {
        Standing::TOLD.iter().position(|one| *one == standing).map_or(0, |at| self.0[at])
    }

    /// As figures.
    pub(super) fn figures(&self, every: Every) -> Markup {
        html! {
            dl class="figures" {
                @for standing in Standing::TOLD {
                    div { dt { (standing.title()) } dd { (count(self.of_standing(standing))) } dd class="note" {
                        @match standing {
                            Standing::Complete => { "loaded after the " (every.as_str()) " was over" }
                            Standing::Partial => { "loaded before it was over" }
                            Standing::Failed => "the last attempt failed; what was loaded before stays",
                            Standing::Missing | Standing::Later => "over, and never loaded",
                        }
                    } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use landonce::ledger::Loaded;
    use uuid::Uuid;

    use super::*;

    fn entry(calendar: &Calendar, label: &str, is_complete: bool) -> Entry {
        let period = calendar.parse(label).unwrap();
        Entry {
            pipeline: "p".to_owned(),
            label: label.to_owned(),
            start: period.start().as_microsecond(),
            end: period.end().as_microsecond(),
            loads: 1,
            loaded: Some(Loaded {
                digest: [0; 32],
                is_complete,
                batch_id: label.to_owned(),
                run_id: Uuid::nil(),
                rows: 3,
                loaded_at: "2026-03-05T00:00:00Z".to_owned(),
            }),
            failed: None,
        }
    }

    #[test]
    fn a_gap_is_missing_and_what_is_not_over_is_not() {
        let calendar = Calendar::new(Every::Day, "Europe/Berlin").unwrap();
        let entries = vec![entry(&calendar, "2026-03-01", true), entry(&calendar, "2026-03-03", false)];
        let now = "2026-03-05T12:00:00Z".parse().unwrap();
        let known = Known::since_the_first(&calendar, entries, now);
        let told: Vec<(&str, &str)> =
            known.iter().map(|one| (one.period.label(), one.standing().word())).collect();
        assert_eq!(
            told,
            [
                ("2026-03-01", "complete"),
                ("2026-03-02", "missing"),
                ("2026-03-03", "partial"),
                ("2026-03-04", "missing"),
                ("2026-03-05", "not over")
            ]
        );
        assert_eq!(Counts::of(&known).of_standing(Standing::Missing), 2);
    }

    #[test]
    fn a_failed_attempt_stands_beside_what_is_loaded() {
        let calendar = Calendar::new(Every::Day, "UTC").unwrap();
        let failed = |label: &str, is_complete| Entry {
            failed: Some(landonce::ledger::Failed {
                run_id: Uuid::nil(),
                code: "L0302".to_owned(),
                message: "cut".to_owned(),
                failed_at: "2026-03-04T00:00:00Z".to_owned(),
            }),
            ..entry(&calendar, label, is_complete)
        };
        let never = Entry { loaded: None, ..failed("2026-03-03", true) };
        let entries = vec![failed("2026-03-01", true), failed("2026-03-02", false), never];
        let known = Known::since_the_first(&calendar, entries, "2026-03-03T12:00:00Z".parse().unwrap());
        let told: Vec<(&str, bool)> =
            known.iter().map(|one| (one.standing().word(), one.has_failed())).collect();
        assert_eq!(told, [("complete", true), ("partial", true), ("failed", true)]);
        let counts = Counts::of(&known);
        assert_eq!(Standing::TOLD.map(|standing| counts.of_standing(standing)), [1, 1, 3, 0]);
    }

    #[test]
    fn a_ledger_without_entries_has_no_calendar() {
        let calendar = Calendar::new(Every::Hour, "UTC").unwrap();
        assert!(Known::since_the_first(&calendar, Vec::new(), Timestamp::UNIX_EPOCH).is_empty());
    }
}
