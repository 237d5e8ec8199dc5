//! Which of many moments a scenario tries.

use rand::RngExt;
use rand::rngs::StdRng;

/// At most so many of the numbers 1..=last: the first and the last, and others spread evenly, each moved a little by chance.
/// In rising order.
pub(crate) fn spread(last: u64, most: usize, chance: &mut StdRng) -> Vec<u64> {
    let most = most as u64;
    if last <= most {
        return (1..=last).collect();
    }
    let mut chosen = vec![last];
    if most > 1 {
        chosen.push(1);
    }
    let inner = most.saturating_sub(2);
    for nth in 0..inner {
        // One out of each of `inner` equal stretches of 2..last.
        let from = 2 + (last - 2) * nth / inner;
        let to = 2 + (last - 2) * (nth + 1) / inner;
        chosen.push(chance.random_range(from..to.max(from + 1)).min(last - 1));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_ends_are_always_tried_and_the_number_is_kept() {
        for last in 1..200 {
            for most in 2..12 {
                let chosen = spread(last, most, &mut StdRng::seed_from_u64(last));
                assert!(chosen.len() <= most, "{chosen:?}");
                assert_eq!((chosen[0], chosen[chosen.len() - 1]), (1, last));
                assert!(chosen.is_sorted_by(|one, other| one < other), "{chosen:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_chooses_the_same() {
        let of = |seed| spread(1000, 8, &mut StdRng::seed_from_u64(seed));
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn nothing_has_no_moments() {
        assert!(spread(0, 8, &mut StdRng::seed_from_u64(1)).is_empty());
    }
}
