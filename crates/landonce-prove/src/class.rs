//! The closed list of what a proof can find: one class, one name that is stable, one page of docs.
//! What each tells people stands in `class/text.rs`.

mod text;

use crate::database::Kind;

/// What is wrong. The page of each is `docs/reference/prove/<name>.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The repeat adds rows: append, or an identity that the database makes.
    Appended,
    /// The repeat changes values: a counter is bumped again, a sum grows.
    Accumulated,
    /// The repeat deletes rows.
    Removed,
    /// Equal rows get a new stamp: run id, updated_at.
    Restamped,
    /// Equal rows are written anew: a remark.
    Rewritten,
    /// Equal rows get new generated ids: a remark.
    Renumbered,
    /// A write whose answer was lost is done again.
    BlindReplay,
    /// The command says it succeeded, and rows are missing or wrong.
    FalseSuccess,
    /// What a killed or failed run left is not healed by the next run.
    PartialLoad,
    /// Half of a load could be seen until the next run: a remark.
    HalfVisible,
    /// The record of what is done is kept apart from the data: rows are lost, or done again.
    BookkeepingApart,
    /// A table (or other object) for staging is left behind.
    StagingLeft,
    /// A prepared transaction is left behind.
    PreparedLeft,
    /// After a fault, every later run fails.
    Stuck,
    /// After a fault, the command never ends.
    Hangs,
    /// Two runs at once both find nothing and both insert.
    CheckThenInsert,
    /// Two runs at once get into each other's staging, or lose each other's rows.
    SharedStaging,
    /// A passing failure (serialization, deadlock, lost race) ends the run, and the next heals it: a remark.
    NotRetried,
    /// One statement is tried again where the whole transaction must be.
    StatementRetry,
    /// A failure that can't pass by itself is tried again and again.
    FutileRetry,
    /// What is absent from a cut input is deleted.
    DeleteByAbsence,
    /// A record that was cut in two is loaded.
    TornRecord,
    /// The same run at another time or in another zone loads something else.
    PeriodFromClock,
    /// An effect outside the database is repeated.
    EffectRepeated,
    /// An effect outside the database is lost.
    EffectLost,
}

/// Whether a finding decides the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// It changes data, loses it, repeats an effect, or re-stamps provenance: exit code 1.
    Violation,
    /// It costs something, and harms nothing.
    Remark,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 25] = [
        Self::Appended,
        Self::Accumulated,
        Self::Removed,
        Self::Restamped,
        Self::Rewritten,
        Self::Renumbered,
        Self::BlindReplay,
        Self::FalseSuccess,
        Self::PartialLoad,
        Self::HalfVisible,
        Self::BookkeepingApart,
        Self::StagingLeft,
        Self::PreparedLeft,
        Self::Stuck,
        Self::Hangs,
        Self::CheckThenInsert,
        Self::SharedStaging,
        Self::NotRetried,
        Self::StatementRetry,
        Self::FutileRetry,
        Self::DeleteByAbsence,
        Self::TornRecord,
        Self::PeriodFromClock,
        Self::EffectRepeated,
        Self::EffectLost,
    ];

    /// Its name, stable: `check-then-insert`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Appended => "appended",
            Self::Accumulated => "accumulated",
            Self::Removed => "removed",
            Self::Restamped => "restamped",
            Self::Rewritten => "rewritten",
            Self::Renumbered => "renumbered",
            Self::BlindReplay => "blind-replay",
            Self::FalseSuccess => "false-success",
            Self::PartialLoad => "partial-load",
            Self::HalfVisible => "half-visible",
            Self::BookkeepingApart => "bookkeeping-apart",
            Self::StagingLeft => "staging-left",
            Self::PreparedLeft => "prepared-left",
            Self::Stuck => "stuck",
            Self::Hangs => "hangs",
            Self::CheckThenInsert => "check-then-insert",
            Self::SharedStaging => "shared-staging",
            Self::NotRetried => "not-retried",
            Self::StatementRetry => "statement-retry",
            Self::FutileRetry => "futile-retry",
            Self::DeleteByAbsence => "delete-by-absence",
            Self::TornRecord => "torn-record",
            Self::PeriodFromClock => "period-from-clock",
            Self::EffectRepeated => "effect-repeated",
            Self::EffectLost => "effect-lost",
        }
    }

    /// Whether it decides the verdict.
    pub fn weight(self) -> Weight {
        match self {
            Self::Rewritten | Self::Renumbered | Self::HalfVisible | Self::NotRetried => Weight::Remark,
            _ => Weight::Violation,
        }
    }

    /// What is seen, short: `rows are added again`.
    pub fn title(self) -> &'static str {
        text::of(self).title
    }

    /// What it means for the user's data, in two sentences.
    pub fn why(self) -> &'static str {
        text::of(self).why
    }

    /// What to do, in two sentences, on this kind of database.
    pub fn fix(self, kind: Kind) -> &'static str {
        text::remedy(self, kind).fix
    }

    /// The fix as SQL of this kind of database, on tables that stand for the user's own; not every class is mended by SQL.
    pub fn sql(self, kind: Kind) -> Option<&'static str> {
        text::remedy(self, kind).sql
    }

    /// Its page's text, as it stands in `docs/reference/prove/`.
    pub fn page(self) -> &'static str {
        macro_rules! page {
            ($name:literal) => {
                include_str!(concat!("../../../docs/reference/prove/", $name, ".md"))
            };
        }
        match self {
            Self::Appended => page!("appended"),
            Self::Accumulated => page!("accumulated"),
            Self::Removed => page!("removed"),
            Self::Restamped => page!("restamped"),
            Self::Rewritten => page!("rewritten"),
            Self::Renumbered => page!("renumbered"),
            Self::BlindReplay => page!("blind-replay"),
            Self::FalseSuccess => page!("false-success"),
            Self::PartialLoad => page!("partial-load"),
            Self::HalfVisible => page!("half-visible"),
            Self::BookkeepingApart => page!("bookkeeping-apart"),
            Self::StagingLeft => page!("staging-left"),
            Self::PreparedLeft => page!("prepared-left"),
            Self::Stuck => page!("stuck"),
            Self::Hangs => page!("hangs"),
            Self::CheckThenInsert => page!("check-then-insert"),
            Self::SharedStaging => page!("shared-staging"),
            Self::NotRetried => page!("not-retried"),
            Self::StatementRetry => page!("statement-retry"),
            Self::FutileRetry => page!("futile-retry"),
            Self::DeleteByAbsence => page!("delete-by-absence"),
            Self::TornRecord => page!("torn-record"),
            Self::PeriodFromClock => page!("period-from-clock"),
            Self::EffectRepeated => page!("effect-repeated"),
            Self::EffectLost => page!("effect-lost"),
        }
    }

    /// Its page, from the root of the repository: `docs/reference/prove/check-then-insert.md`.
    pub fn docs(self) -> String {
        format!("docs/reference/prove/{}.md", self.name())
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl serde::Serialize for Class {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str) -> String {
        let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[test]
    fn every_class_has_a_page_that_opens_with_its_words() {
        for class in Class::ALL {
            let page = page(&class.docs());
            let opening = format!("# {class}: {}\n\n{}\n\nWeight: **", class.title(), class.why());
            assert!(page.starts_with(&opening), "the page of {class} opens otherwise than\n{opening}");
            let sql = |kind| class.sql(kind).map_or(String::new(), |sql| format!("\n```sql\n{sql}\n```\n"));
            let (here, there) = (Kind::Postgres, Kind::Mysql);
            let mut fix = format!("\n## The fix\n\n{}\n{}", class.fix(here), sql(here));
            if class.fix(there) != class.fix(here) {
                fix.push_str(&format!("\n### On MySQL and MariaDB\n\n{}\n{}", class.fix(there), sql(there)));
            } else if sql(there) != sql(here) {
                fix.push_str(&format!("\n### On MySQL and MariaDB\n{}", sql(there)));
            }
            assert!(page.contains(&fix), "the page of {class} lacks\n{fix}");
            for heading in
                ["How prove shows it", "Broken", "Mended", "What it costs if left", "Found by reading"]
            {
                assert!(page.contains(&format!("\n## {heading}\n")), "the page of {class} lacks {heading}");
            }
        }
    }

    #[test]
    fn the_index_lists_every_class_with_its_weight() {
        let index = page("docs/reference/prove/README.md");
        for class in Class::ALL {
            let weight = match class.weight() {
                Weight::Violation => "violation",
                Weight::Remark => "remark",
            };
            let row = format!("| [{class}]({class}.md) | {} | {weight} |", class.title());
            assert!(index.contains(&row), "the index lacks {row}");
        }
        let rows = index.lines().filter(|line| line.starts_with("| [")).count();
        assert_eq!(rows, Class::ALL.len(), "the index lists a class that isn't there");
    }

    #[test]
    fn why_and_fix_are_two_sentences_each() {
        for class in Class::ALL {
            for words in [class.why(), class.fix(Kind::Postgres), class.fix(Kind::Mysql)] {
                let ends = words.matches(". ").count() + usize::from(words.ends_with('.'));
                assert_eq!(ends, 2, "{class}: {words}");
            }
        }
    }

    #[test]
    fn no_remedy_for_mysql_is_in_words_that_it_does_not_know() {
        for class in Class::ALL {
            let sql = class.sql(Kind::Mysql).unwrap_or_default();
            for unknown in ["ON CONFLICT", "$1", "IS DISTINCT FROM", "pg_", "CREATE TEMP "] {
                assert!(!sql.contains(unknown), "{class} says {unknown}");
            }
            let knows = class.sql(Kind::Postgres).is_none_or(|sql| !sql.contains('$'));
            assert!(knows || class.sql(Kind::Mysql) != class.sql(Kind::Postgres), "{class} has no dialect");
        }
    }

    #[test]
    fn names_are_distinct_and_fit_for_a_file() {
        let mut names: Vec<_> = Class::ALL.iter().map(|class| class.name()).collect();
        assert!(names.iter().all(|name| name.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase())));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Class::ALL.len());
    }
}
