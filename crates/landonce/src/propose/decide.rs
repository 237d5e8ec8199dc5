//! From what was measured to what is proposed.

use super::deliveries::{self, Compared, How};
use super::identity::{self, Combination, Nearest};
use super::stats::Guess;
use super::survey::Survey;

/// What is proposed, and what it rests on.
#[derive(Debug)]
pub(super) struct Decision {
    pub(super) choice: Choice,
    /// Other combinations that are unique.
    pub(super) alternatives: Vec<Combination>,
    /// Fields of the identity that are there for other days' sake.
    pub(super) periods: Vec<usize>,
    /// Made-up ids, and what two deliveries say about them.
    pub(super) ids: Vec<(usize, Standing)>,
    /// What comes nearest, when nothing is unique.
    pub(super) nearest: Option<Nearest>,
    /// Two deliveries, if there are two of the same events.
    pub(super) compared: Option<Compared>,
    /// Fields that change per attempt, as measured.
    pub(super) volatile: Vec<usize>,
    /// Fields that may change per attempt, going by their names; nothing was measured.
    pub(super) suspected: Vec<usize>,
    /// Fields that could order two contents of one identity.
    pub(super) versions: Vec<usize>,
}

/// The identity that is proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// These fields.
    Fields(Vec<usize>),
    /// The sender's id.
    SenderId(usize),
    /// The content, less these fields.
    Content(Vec<usize>),
}

/// What is known of a made-up id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// There was one delivery, or nothing to compare.
    Unmeasured,
    /// The same in so many pairs.
    Stable(usize),
    /// Another one in so many of so many pairs.
    Unstable(usize, usize),
}

impl Choice {
    /// The fields of the identity.
    pub(super) fn fields(&self) -> &[usize] {
        match self {
            Self::Fields(fields) => fields,
            Self::SenderId(field) => std::slice::from_ref(field),
            Self::Content(_) => &[],
        }
    }
}

/// Decides what to propose.
pub(super) fn decide(survey: &Survey<'_>) -> Decision {
    let has_two = survey.samples.len() == 2;
    let ids: Vec<usize> = survey.top().filter(|&at| survey.is_generated_id(at)).collect();
    let is_out = |at: usize| {
        ids.contains(&at)
            || survey.fields[at].path.is_empty()
            || (has_two && deliveries::shared_tenths(survey, at) == 0)
    };
    let mut natural = identity::unique(survey, &identity::eligible(survey, is_out));
    let near =
        |natural: &[Combination]| if natural.is_empty() { identity::nearest(survey, is_out) } else { None };
    let mut nearest = near(&natural);
    let compared = if has_two { deliveries::compare(survey, &natural, nearest.as_ref(), &ids) } else { None };
    if has_two && compared.is_none() {
        // They have no events in common, so that a field has no value in common says nothing against it.
        let is_out = |at: usize| ids.contains(&at) || survey.fields[at].path.is_empty();
        natural = identity::unique(survey, &identity::eligible(survey, is_out));
        nearest = near(&natural);
    }
    let chosen = match &compared {
        Some(compared) => {
            let is_paired_by = |one: &Combination| compared.how == How::Fields(one.fields.clone());
            let is_equal =
                |one: &Combination| one.fields.iter().all(|&at| compared.differences[at].differs == 0);
            natural.iter().position(is_paired_by).or_else(|| natural.iter().position(is_equal))
        }
        None => (!natural.is_empty()).then_some(0),
    };
    let chosen = chosen.map(|at| natural.remove(at));
    let ids: Vec<(usize, Standing)> =
        ids.into_iter().map(|id| (id, standing(id, compared.as_ref()))).collect();

    let mut volatile = compared.as_ref().map(|compared| compared.per_attempt(survey)).unwrap_or_default();
    for (id, standing) in &ids {
        if matches!(standing, Standing::Unstable(..)) && !volatile.contains(id) {
            volatile.push(*id);
        }
    }
    let suspected = if compared.is_some() { Vec::new() } else { suspected(survey) };
    let periods = chosen.as_ref().map(|chosen| identity::periods(survey, &chosen.fields)).unwrap_or_default();
    let stable = ids.iter().find(|(_, standing)| matches!(standing, Standing::Stable(_)));
    let choice = match (chosen, stable) {
        (Some(chosen), _) => Choice::Fields([chosen.fields.as_slice(), &periods].concat()),
        (None, Some((id, _))) => Choice::SenderId(*id),
        (None, None) => Choice::Content(except(survey, &volatile, &suspected, &ids)),
    };
    volatile.retain(|at| !choice.fields().contains(at));
    volatile.sort_unstable();
    let suspected: Vec<usize> = suspected.into_iter().filter(|at| !choice.fields().contains(at)).collect();
    let is_content = matches!(choice, Choice::Content(_));
    let versions = survey
        .top()
        .filter(|at| {
            !is_content && !choice.fields().contains(at) && !volatile.contains(at) && !suspected.contains(at)
        })
        .filter(|&at| is_version(survey, at))
        .collect();
    Decision {
        nearest: if choice.fields().is_empty() { nearest } else { None },
        choice,
        alternatives: natural,
        periods,
        ids,
        compared,
        volatile,
        suspected,
        versions,
    }
}

fn standing(id: usize, compared: Option<&Compared>) -> Standing {
    let Some(compared) = compared else { return Standing::Unmeasured };
    match compared.differences[id].differs {
        0 => Standing::Stable(compared.pairs),
        differs => Standing::Unstable(differs, compared.pairs),
    }
}

/// Fields that are named as what changes per attempt; members of objects too.
fn suspected(survey: &Survey<'_>) -> Vec<usize> {
    (0..survey.fields.len())
        .filter(|&at| survey.fields[at].words.is_attempt())
        .filter(|&at| {
            !survey.fields[at].parent.is_some_and(|parent| survey.fields[parent].words.is_attempt())
        })
        .collect()
}

/// What a hash of the content leaves out: what changes per attempt, ids that aren't known to be stable, and their copies.
fn except(
    survey: &Survey<'_>,
    volatile: &[usize],
    suspected: &[usize],
    ids: &[(usize, Standing)],
) -> Vec<usize> {
    let mut all = [volatile, suspected].concat();
    for (id, _) in ids {
        all.extend((0..survey.fields.len()).filter(|&at| at == *id || survey.are_copies(*id, at)));
    }
    all.sort_unstable();
    all.dedup();
    // A member of a field that is out as a whole needs no word of its own.
    let whole = all.clone();
    all.retain(|&at| !survey.fields[at].parent.is_some_and(|parent| whole.contains(&parent)));
    all
}

fn is_version(survey: &Survey<'_>, at: usize) -> bool {
    let field = &survey.fields[at];
    let is_ordered = matches!(&field.guess, Guess::Type(ty) if ty.is_ordered());
    field.words.is_version() && is_ordered && survey.is_filled(at)
}
