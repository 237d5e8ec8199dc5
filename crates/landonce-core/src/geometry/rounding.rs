//! The canonical text: minimal JSON with rounded coordinates. The rounding is on decimal digits, never on floats.
//!
//! A ring is the same ring wherever it starts, whichever way round it goes, and however many of its points fall on one after
//! the rounding; real exports change all three while nobody has moved a fence. So a polygon's rings are written from their
//! smallest point, in the smaller of their two directions, without repeats.

use std::borrow::Cow;

use super::{Kind, Ordinate, Sink};
use crate::bad_record::{BadKind, BadRecord, shorten};
use crate::number::Decimal;

/// Writes while the walk goes on.
pub(super) struct Writer {
    out: String,
    digits: u8,
    /// The positions of the ring at hand, where the geometry is made of rings.
    ring: Option<Vec<String>>,
}

impl Writer {
    pub(super) fn new(digits: u8, capacity: usize) -> Self {
        Self { out: String::with_capacity(capacity), digits, ring: None }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Inside a list, whatever comes behind a finished item is parted from it.
    fn separate(&mut self) {
        if self.out.ends_with([']', '}']) {
            self.out.push(',');
        }
    }
}

impl Sink for Writer {
    fn begin(&mut self, kind: Kind) {
        self.separate();
        self.out.push_str("{\"type\":\"");
        self.out.push_str(kind.name());
        self.out.push_str("\",\"");
        self.out.push_str(kind.member());
        self.out.push_str("\":");
        self.ring = matches!(kind, Kind::Polygon | Kind::MultiPolygon).then(Vec::new);
    }

    fn part(&mut self, _: Kind) {}

    fn open(&mut self) {
        self.separate();
        self.out.push('[');
    }

    fn close(&mut self, _: usize) {
        if let Some(ring) = self.ring.as_mut().filter(|ring| !ring.is_empty()) {
            self.out.push_str(&normalised(std::mem::take(ring)).join(","));
        }
        self.out.push(']');
    }

    fn position(&mut self, ordinates: &[Ordinate<'_>]) -> Result<(), BadRecord> {
        let mut position = String::from("[");
        for (at, ordinate) in ordinates.iter().enumerate() {
            let number = Decimal::parse(ordinate.text).ok_or_else(|| {
                let detail = format!(
                    "found {}, which has more digits than can be rounded exactly",
                    shorten(ordinate.text)
                );
                BadRecord::new(BadKind::OutOfRange, format!("[{at}]"), detail)
            })?;
            if at > 0 {
                position.push(',');
            }
            position.push_str(&rounded(number, self.digits).to_plain());
        }
        position.push(']');
        if let Some(ring) = &mut self.ring {
            ring.push(position);
        } else {
            self.separate();
            self.out.push_str(&position);
        }
        Ok(())
    }

    fn empty_point(&mut self) {
        self.open();
        self.close(0);
    }

    fn end(&mut self) {
        self.out.push('}');
    }
}

/// A ring from its smallest point, in the smaller direction, without repeats, closed. Points are compared by their text.
fn normalised(mut ring: Vec<String>) -> Vec<String> {
    ring.dedup();
    if ring.len() > 1 && ring.first() == ring.last() {
        ring.pop();
    }
    let Some(smallest) = ring.iter().min().cloned() else { return ring };
    let len = ring.len();
    let starts: Vec<usize> = (0..len).filter(|&at| ring[at] == smallest).collect();
    let walks = starts.into_iter().flat_map(|start| [(start, 1), (start, len.saturating_sub(1))]);
    let walk = |(start, step): (usize, usize)| (0..len).map(move |nth| (start + nth * step) % len);
    let smaller = walks.min_by(|a, b| walk(*a).map(|at| &ring[at]).cmp(walk(*b).map(|at| &ring[at])));
    let Some(smaller) = smaller else { return ring };
    let mut written: Vec<String> = walk(smaller).map(|at| ring[at].clone()).collect();
    written.push(smallest);
    written
}

/// The number with at most `places` digits behind the point; a half goes to the even neighbour.
fn rounded(number: Decimal<'_>, places: u8) -> Decimal<'_> {
    let places = i32::from(places);
    let surplus = -number.exponent - places;
    if surplus <= 0 {
        return number;
    }
    // Nothing is kept of 0.0004 at two places, and it is below the half by a zero that isn't among the digits.
    let kept_len = number.digits.len().checked_sub(surplus as usize);
    let (kept, cut) = kept_len.map_or(("", "0"), |len| number.digits.split_at(len));
    // Digits have no trailing zeros: a cut of "5" alone is the half itself, anything behind the 5 is more.
    let is_odd = kept.bytes().last().is_some_and(|digit| digit % 2 == 1);
    let goes_up = cut > "5" || (cut == "5" && is_odd);

    let mut digits = kept.to_owned();
    let mut exponent = -places;
    let dropped = if goes_up { '9' } else { '0' };
    while digits.ends_with(dropped) {
        digits.pop();
        exponent += 1;
    }
    if goes_up {
        let last = digits.pop().map_or(b'0', |digit| digit as u8);
        digits.push(char::from(last + 1));
    }
    if digits.is_empty() {
        return Decimal { negative: false, digits: Cow::Borrowed(""), exponent: 0 };
    }
    Decimal { negative: number.negative, digits: Cow::Owned(digits), exponent }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn to_places(text: &str, places: u8) -> String {
        rounded(Decimal::parse(text).unwrap(), places).to_plain()
    }

    #[test]
    fn a_ring_is_the_same_from_wherever_and_whichever_way() {
        let ring = |points: &[&str]| normalised(points.iter().map(|point| (*point).to_owned()).collect());
        let want = ["a", "b", "c", "d", "a"];
        assert_eq!(ring(&["a", "b", "c", "d", "a"]), want);
        assert_eq!(ring(&["c", "d", "a", "b", "c"]), want);
        assert_eq!(ring(&["c", "b", "a", "d", "c"]), want, "the other way round");
        assert_eq!(ring(&["d", "d", "a", "b", "b", "c", "d"]), want, "points that fall on one");
        // It touches itself: the smallest point comes twice, and the smaller walk decides.
        assert_eq!(ring(&["a", "c", "a", "b", "a"]), ["a", "b", "a", "c", "a"]);
        assert_eq!(ring(&["a", "a"]), ["a", "a"]);
    }

    #[test]
    fn a_half_goes_to_the_even_neighbour_and_exactly() {
        for (text, places, want) in [
            ("0.0000005", 6, "0"),
            ("0.0000015", 6, "0.000002"),
            ("0.0000025", 6, "0.000002"),
            ("0.00000250000000000000000000000000001", 6, "0.000003"),
            ("0.00000249999999999999999999999999999", 6, "0.000002"),
            ("-71.1234565", 6, "-71.123456"),
            ("-71.1234575", 6, "-71.123458"),
            ("0.99999950", 6, "1"),
            ("999999.9999995", 6, "1000000"),
            ("-0.0000004", 6, "0"),
            ("-0.00", 6, "0"),
            ("0.0004", 2, "0"),
            ("0.9", 0, "1"),
            ("0.5", 0, "0"),
            ("1.5", 0, "2"),
            ("1250", 0, "1250"),
            ("1.25e2", 6, "125"),
            ("7e-1", 6, "0.7"),
            ("10.0400", 1, "10"),
            ("109.96", 1, "110"),
        ] {
            assert_eq!(to_places(text, places), want, "{text} to {places}");
        }
    }

    proptest! {
        // Whole units of the last place fit 128 bits here, so the right answer can be computed without decimals.
        #[test]
        fn integers_round_the_same_way(units in -10_i64.pow(17)..10_i64.pow(17), places in 0_u8..9, more in 1_u32..9) {
            let written = |units: i64, places: u32| format!("{units}e-{places}");
            let step = 10_i64.pow(more);
            let (below, rest) = (units.div_euclid(step), units.rem_euclid(step));
            let want = match (rest * 2).cmp(&step) {
                std::cmp::Ordering::Less => below,
                std::cmp::Ordering::Equal => below + below.rem_euclid(2),
                std::cmp::Ordering::Greater => below + 1,
            };
            let want = Decimal::parse(&written(want, places.into())).unwrap().to_plain();
            let given = to_places(&written(units, u32::from(places) + more), places);
            prop_assert_eq!(&given, &want);
            prop_assert_eq!(to_places(&given, places), want);
        }
    }
}
