//! Two deliveries of the same events: which record of one is which of the other, and which fields differ between them.

use std::collections::HashMap;

use super::identity::{Combination, Nearest};
use super::sample::{ABSENT, NULL};
use super::stats::Guess;
use super::survey::Survey;

/// How records were paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    /// By fields that are unique in both.
    Fields(Vec<usize>),
    /// By everything but the ids and what is new in each delivery.
    Content,
    /// By their place in the delivery.
    Position,
}

/// What two deliveries show.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) how: How,
    /// Pairs of records.
    pub(super) pairs: usize,
    /// Per field of the survey.
    pub(super) differences: Vec<Difference>,
    /// Per field of the survey: its name says that it belongs to the attempt.
    named: Vec<bool>,
}

/// How often a field differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Difference {
    /// Pairs in which it differs.
    pub(super) differs: usize,
    /// Pairs in which either record has it.
    pub(super) present: usize,
    /// Pairs in which both have a value.
    both: usize,
    /// Pairs in which both have a value, and another one.
    replaced: usize,
}

impl Difference {
    /// Another value in each delivery: what changes per attempt. A correction changes a few, and a field that only one delivery
    /// has is something else again, unless its name says that it belongs to the attempt.
    fn is_per_attempt(self, pairs: usize, is_named_so: bool) -> bool {
        let is_most = |part: usize, whole: usize| part > 0 && part * 10 >= whole * 9 && whole * 2 >= pairs;
        is_most(self.replaced, self.both) || (is_named_so && is_most(self.differs, self.present))
    }

    /// Pairs in which one record has a value and the other none.
    pub(super) fn one_sided(self) -> usize {
        self.differs - self.replaced
    }
}

type Pairs = Vec<(u32, u32)>;

/// The share of a field's values, in tenths, that both deliveries have; a field that is new in each has none.
pub(super) fn shared_tenths(survey: &Survey<'_>, field: usize) -> usize {
    let (one, two) = (survey.values(field, 0), survey.values(field, 1));
    let least = one.len().min(two.len()).max(1);
    one.intersection(&two).count() * 10 / least
}

/// Pairs the records of two deliveries, and compares them. `None` when they have no events in common, as far as can be seen.
pub(super) fn compare(
    survey: &Survey<'_>,
    natural: &[Combination],
    nearest: Option<&Nearest>,
    ids: &[usize],
) -> Option<Compared> {
    let (how, pairs) = pair(survey, natural, nearest, ids)?;
    let differences = (0..survey.fields.len()).map(|at| difference(survey, at, &pairs)).collect();
    let named = survey.fields.iter().map(|field| field.words.is_attempt()).collect();
    let compared = Compared { how, pairs: pairs.len(), differences, named };
    if is_of_other_events(survey, &compared, ids) { None } else { Some(compared) }
}

fn pair(
    survey: &Survey<'_>,
    natural: &[Combination],
    nearest: Option<&Nearest>,
    ids: &[usize],
) -> Option<(How, Pairs)> {
    let least = survey.rows.iter().map(Vec::len).min().unwrap_or(0);
    // The first of the best: combinations come in the order in which they look like an identity.
    let mut best: Option<(How, Pairs)> = None;
    for combination in natural {
        let pairs = by_fields(survey, &combination.fields);
        if best.as_ref().is_none_or(|(_, most)| pairs.len() * 100 > most.len() * 101) {
            best = Some((How::Fields(combination.fields.clone()), pairs));
        }
    }
    if let Some((how, pairs)) = best.filter(|(_, pairs)| !pairs.is_empty() && pairs.len() * 10 >= least) {
        return Some((how, pairs));
    }
    let is_half = |pairs: &Pairs| !pairs.is_empty() && pairs.len() * 2 >= least;
    for &id in ids {
        let pairs = by_fields(survey, &[id]);
        if is_half(&pairs) && is_mostly_equal(survey, &pairs, ids) {
            return Some((How::Fields(vec![id]), pairs));
        }
    }
    // What repeats a little still tells most records apart.
    if let Some(nearest) = nearest {
        let pairs = by_fields(survey, &nearest.fields);
        if is_half(&pairs) && is_mostly_equal(survey, &pairs, ids) {
            return Some((How::Fields(nearest.fields.clone()), pairs));
        }
    }
    let content: Vec<usize> = leaves(survey)
        .into_iter()
        .filter(|&at| {
            !ids.iter().any(|&id| id == at || survey.are_copies(id, at)) && shared_tenths(survey, at) > 0
        })
        .collect();
    let pairs = by_fields(survey, &content);
    if !content.is_empty() && is_half(&pairs) {
        return Some((How::Content, pairs));
    }
    let by_position: Pairs = (0..survey.samples[0].records as u32).map(|at| (at, at)).collect();
    let is_as_long = survey.samples[0].records == survey.samples[1].records;
    (is_as_long && is_mostly_equal(survey, &by_position, ids)).then_some((How::Position, by_position))
}

/// The fields without members, and the members of the others.
fn leaves(survey: &Survey<'_>) -> Vec<usize> {
    (0..survey.fields.len()).filter(|&at| survey.members(at).next().is_none()).collect()
}

/// Pairs of records whose values in the fields are equal, and found once in each delivery.
fn by_fields(survey: &Survey<'_>, fields: &[usize]) -> Pairs {
    let places = |sample: usize| {
        let mut places: HashMap<u64, Option<u32>> = HashMap::with_capacity(survey.rows[sample].len());
        for &record in &survey.rows[sample] {
            let key = survey.key(fields, sample, record);
            places.entry(key).and_modify(|place| *place = None).or_insert(Some(record));
        }
        places
    };
    let second = places(1);
    let mut pairs: Pairs =
        places(0).into_iter().filter_map(|(key, place)| Some((place?, (*second.get(&key)?)?))).collect();
    pairs.sort_unstable();
    pairs
}

fn difference(survey: &Survey<'_>, field: usize, pairs: &Pairs) -> Difference {
    let mut difference = Difference { differs: 0, present: 0, both: 0, replaced: 0 };
    for &(one, two) in pairs {
        let (one, two) = (survey.value(field, 0, one), survey.value(field, 1, two));
        let are_both = ![ABSENT, NULL].contains(&one) && ![ABSENT, NULL].contains(&two);
        difference.present += usize::from(one != ABSENT || two != ABSENT);
        difference.differs += usize::from(one != two);
        difference.both += usize::from(are_both);
        difference.replaced += usize::from(are_both && one != two);
    }
    difference
}

/// Whether a field has more than one value, both deliveries taken together.
fn varies(survey: &Survey<'_>, field: usize) -> bool {
    let mut values = survey.values(field, 0);
    values.extend(survey.values(field, 1));
    values.len() > 1
}

/// The values by which two deliveries' contents are held against each other: those that vary, without ids, without what is
/// named as changing per attempt, and without geometries, which another export prints with other digits.
fn content<'v>(survey: &'v Survey<'_>, left_out: &'v [usize]) -> impl Iterator<Item = usize> + 'v {
    let is_left_out =
        |at: usize| left_out.contains(&at) || survey.fields[at].words.is_attempt() || survey.is_geometry(at);
    leaves(survey).into_iter().filter(move |&at| {
        !is_left_out(at) && !survey.fields[at].parent.is_some_and(is_left_out) && varies(survey, at)
    })
}

/// At least half of all values that could differ are equal.
fn is_mostly_equal(survey: &Survey<'_>, pairs: &Pairs, ids: &[usize]) -> bool {
    let (mut replaced, mut both) = (0, 0);
    for at in content(survey, ids) {
        let difference = difference(survey, at, pairs);
        replaced += difference.replaced;
        both += difference.both;
    }
    both > 0 && replaced * 2 <= both
}

/// One key, and nearly everything else differs: the key lacks something, and these are two events each.
fn is_of_other_events(survey: &Survey<'_>, compared: &Compared, ids: &[usize]) -> bool {
    let How::Fields(key) = &compared.how else { return false };
    let left_out = [key.as_slice(), ids].concat();
    let others: Vec<usize> = content(survey, &left_out).collect();
    let changed = others.iter().filter(|&&at| compared.is_per_attempt(at)).count();
    others.len() >= 3 && changed * 2 > others.len()
}

impl Compared {
    /// Whether a field has another value in each delivery.
    pub(super) fn is_per_attempt(&self, field: usize) -> bool {
        self.differences[field].is_per_attempt(self.pairs, self.named[field])
    }

    /// The fields that change per attempt: of an object the members that do, unless all of it does.
    pub(super) fn per_attempt(&self, survey: &Survey<'_>) -> Vec<usize> {
        let mut all = Vec::new();
        for at in survey.top().filter(|&at| !survey.is_geometry(at)) {
            let (changing, constant): (Vec<usize>, Vec<usize>) =
                survey.members(at).partition(|&member| self.is_per_attempt(member));
            let is_object = survey.fields[at].guess == Guess::Nested;
            if self.is_per_attempt(at) && !(is_object && !changing.is_empty() && !constant.is_empty()) {
                all.push(at);
            } else {
                all.extend(changing);
            }
        }
        all
    }

    /// The top-level fields that differ in some pairs: corrections.
    pub(super) fn corrected(&self, survey: &Survey<'_>) -> Vec<usize> {
        let per_attempt = self.per_attempt(survey);
        survey
            .top()
            .filter(|&at| {
                self.differences[at].differs > 0 && !self.is_per_attempt(at) && !survey.is_geometry(at)
            })
            .filter(|at| !survey.members(*at).any(|member| per_attempt.contains(&member)))
            .collect()
    }
}
