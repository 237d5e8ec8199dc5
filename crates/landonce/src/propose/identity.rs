//! The search for an identity: the smallest combination of fields that tells all records apart, those first whose names look
//! like one.

use std::collections::{HashMap, HashSet};

use landonce_core::column::Type;

use super::stats::Guess;
use super::survey::Survey;

/// The most fields of a combination.
const MOST_FIELDS: usize = 4;
/// The most fields that are combined: 2,516 combinations.
const MOST_ELIGIBLE: usize = 16;
/// The most unique combinations that are looked at further.
const MOST_FOUND: usize = 12;
/// The longest text that is looked at as part of an identity, in bytes.
const LONGEST: usize = 128;
/// A text that is named as prose and no longer than this is none: `credit_note`.
const LONGEST_NAME: usize = 32;
/// What each further field costs, beside how little its name looks like an identity.
const FIELD: u32 = 6;
/// What it costs when nothing but times tells records apart: that is an accident.
const ONLY_TIMES: u32 = 30;
/// How much worse than the best a combination may be to be looked at.
const WITHIN: u32 = 15;

/// A combination of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Combination {
    /// The fields, those first whose names look most like an identity, times last.
    pub(super) fields: Vec<usize>,
    cost: u32,
}

/// A combination that repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nearest {
    pub(super) fields: Vec<usize>,
    /// Values that stand in more than one record.
    pub(super) repeated: usize,
    /// The records in which they stand.
    pub(super) records: usize,
    /// Records in which one of the fields is null or absent.
    pub(super) missing: usize,
}

/// A field that may be part of an identity, and how little it looks like one.
type Eligible = (usize, u32);

/// The fields that may be part of an identity: scalars that are never missing, and what is neither made up, nor measured, nor
/// prose, nor of one value.
pub(super) fn eligible(survey: &Survey<'_>, is_out: impl Fn(usize) -> bool) -> Vec<Eligible> {
    ranked(survey, |at| survey.is_filled(at) && !is_out(at))
}

/// The fields with an identity's names that are missing in a few records at most.
fn nearly_eligible(survey: &Survey<'_>, is_out: impl Fn(usize) -> bool) -> Vec<Eligible> {
    let mut all = ranked(survey, |at| survey.filled(at) * 20 >= survey.records() * 19 && !is_out(at));
    all.retain(|&(_, distance)| distance < 10);
    all
}

fn ranked(survey: &Survey<'_>, is_wanted: impl Fn(usize) -> bool) -> Vec<Eligible> {
    let mut all: Vec<Eligible> = survey
        .top()
        .filter(|&at| !survey.is_constant(at) && is_wanted(at))
        .filter_map(|at| Some((at, distance(survey, at)?)))
        .collect();
    all.sort_by_key(|&(at, distance)| (distance, at));
    all.truncate(MOST_ELIGIBLE);
    all
}

fn distance(survey: &Survey<'_>, at: usize) -> Option<u32> {
    let field = &survey.fields[at];
    let words = &field.words;
    let is_prose = words.is_prose() && field.stats.longest > LONGEST_NAME;
    if words.is_attempt() || is_prose || field.stats.longest > LONGEST {
        return None;
    }
    let by_name = words.distance();
    match &field.guess {
        Guess::Type(Type::Decimal { .. } | Type::Geometry { .. }) | Guess::Nested | Guess::Nothing => None,
        Guess::Type(Type::INTEGER) if words.is_measure() => None,
        Guess::Type(Type::INTEGER) if by_name >= 4 => Some(by_name.max(10) + 2),
        Guess::Type(Type::Boolean) => Some(by_name + 20),
        Guess::Type(Type::Date) => Some(by_name.min(3).max(if words.is_version() { by_name } else { 0 })),
        Guess::Type(Type::Timestamptz | Type::Timestamp) if !words.is_version() => Some(by_name.min(4)),
        Guess::Mixed => Some(by_name + 5),
        Guess::Type(_) => Some(by_name),
    }
}

/// The unique combinations, the best first. None holds another.
pub(super) fn unique(survey: &Survey<'_>, eligible: &[Eligible]) -> Vec<Combination> {
    let mut found: Vec<Combination> = Vec::new();
    for combination in combinations(survey, eligible, MOST_FIELDS) {
        if found.len() == MOST_FOUND
            || found.first().is_some_and(|best| combination.cost > best.cost + WITHIN)
        {
            break;
        }
        let holds_another =
            found.iter().any(|other| other.fields.iter().all(|field| combination.fields.contains(field)));
        if !holds_another && survey.is_unique(&combination.fields) {
            found.push(combination);
        }
    }
    found
}

/// The combination of fields with an identity's names that comes nearest to telling records apart, if one comes near.
pub(super) fn nearest(survey: &Survey<'_>, is_out: impl Fn(usize) -> bool) -> Option<Nearest> {
    let all: Vec<Nearest> = combinations(survey, &nearly_eligible(survey, is_out), 3)
        .into_iter()
        .map(|combination| repeats(survey, &combination.fields))
        .collect();
    let faults = |nearest: &Nearest| nearest.records - nearest.repeated + nearest.missing;
    let least = all.iter().map(faults).min()?;
    // One field more that hardly helps is no help: the cheapest of those that are about as good.
    let found = all.into_iter().find(|nearest| faults(nearest) * 10 <= least * 11)?;
    (faults(&found) * 5 <= survey.records()).then_some(found)
}

fn repeats(survey: &Survey<'_>, fields: &[usize]) -> Nearest {
    let (mut repeated, mut records) = (0, 0);
    for (sample, rows) in survey.rows.iter().enumerate() {
        let mut counts: HashMap<u64, usize> = HashMap::with_capacity(rows.len());
        for &record in rows {
            *counts.entry(survey.key(fields, sample, record)).or_default() += 1;
        }
        repeated += counts.values().filter(|&&count| count > 1).count();
        records += counts.values().filter(|&&count| count > 1).sum::<usize>();
    }
    let missing = fields.iter().map(|&at| survey.records() - survey.filled(at)).max().unwrap_or(0);
    Nearest { fields: fields.to_vec(), repeated, records, missing }
}

/// Every combination of up to so many fields, the cheapest first.
fn combinations(survey: &Survey<'_>, eligible: &[Eligible], most: usize) -> Vec<Combination> {
    let mut all: Vec<Combination> = Vec::new();
    for set in 1_u32..1 << eligible.len() {
        if set.count_ones() as usize > most {
            continue;
        }
        let chosen =
            eligible.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0).map(|(_, field)| *field);
        let (mut fields, distances): (Vec<usize>, Vec<u32>) = chosen.unzip();
        // What it is reads before when it was.
        fields.sort_by_key(|&at| survey.is_time(at));
        // A kind is no identity, however few records there are of each.
        if fields.iter().all(|&at| survey.fields[at].words.is_kind()) {
            continue;
        }
        let are_times = fields.iter().all(|&at| survey.is_time(at) || survey.fields[at].words.is_day());
        let cost = FIELD * fields.len() as u32
            + distances.iter().sum::<u32>()
            + if are_times { ONLY_TIMES } else { 0 };
        all.push(Combination { fields, cost });
    }
    all.sort_by(|one, two| (one.cost, &one.fields).cmp(&(two.cost, &two.fields)));
    all
}

/// Fields of one value a delivery that say which day or period it is of, and that nothing in the identity says.
///
/// Unique within one day isn't unique: without them, another day's record would take this day's place.
pub(super) fn periods(survey: &Survey<'_>, identity: &[usize]) -> Vec<usize> {
    if identity.iter().any(|&at| survey.is_time(at)) {
        return Vec::new();
    }
    let texts: HashSet<&str> =
        identity.iter().filter_map(|&at| survey.fields[at].stats.first.as_deref()).collect();
    let says = |value: &str| value.len() >= 4 && texts.iter().any(|text| text.contains(value));
    survey
        .top()
        .filter(|&at| survey.is_constant(at) && survey.is_filled(at) && !identity.contains(&at))
        .filter(|&at| {
            let field = &survey.fields[at];
            let is_day = matches!(field.guess, Guess::Type(Type::Date)) || field.words.is_day();
            is_day && !field.words.is_copy_day() && !field.words.is_attempt() && !field.words.is_version()
        })
        .filter(|&at| !survey.fields[at].stats.first.as_deref().is_some_and(says))
        .collect()
}
