//! The broker's side: who is to have which part.

/// Assigns the parts to the workers that are there. Eager: by number, whoever had them. Cooperative: a part stays where it is as long
/// as its owner has no more than its share. `None` for a part where no worker is there.
pub(crate) fn assign(is_eager: bool, present: &[usize], owners: &[Option<usize>]) -> Vec<Option<usize>> {
    if present.is_empty() {
        return vec![None; owners.len()];
    }
    if is_eager {
        return (0..owners.len()).map(|part| Some(present[part % present.len()])).collect();
    }
    let share = owners.len().div_ceil(present.len());
    let mut counts = vec![0; present.len()];
    let place = |worker: usize| present.binary_search(&worker).ok();
    let mut assigned: Vec<Option<usize>> = vec![None; owners.len()];
    for (part, owner) in owners.iter().enumerate() {
        if let Some(at) = owner.and_then(place).filter(|at| counts[*at] < share) {
            counts[at] += 1;
            assigned[part] = Some(present[at]);
        }
    }
    let mut at = 0;
    for part in assigned.iter_mut().filter(|part| part.is_none()) {
        while counts[at] >= share {
            at += 1;
        }
        counts[at] += 1;
        *part = Some(present[at]);
    }
    assigned
}
