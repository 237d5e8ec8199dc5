//! Sums and products of exact decimals, for stores whose own are floats.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::Decimal;

impl Decimal<'_> {
    /// The sum; `None` beyond the largest exponents.
    pub fn plus(&self, other: &Decimal<'_>) -> Option<Decimal<'static>> {
        let exponent = self.exponent.min(other.exponent);
        let (a, b) = (self.places(exponent), other.places(exponent));
        if self.negative == other.negative {
            return made(self.negative, added(&a, &b), exponent.into());
        }
        match magnitude(&a, &b) {
            Ordering::Less => made(other.negative, taken(&b, &a), exponent.into()),
            Ordering::Equal | Ordering::Greater => made(self.negative, taken(&a, &b), exponent.into()),
        }
    }

    /// The difference.
    pub fn minus(&self, other: &Decimal<'_>) -> Option<Decimal<'static>> {
        let negated = Decimal {
            negative: !other.negative,
            digits: Cow::Borrowed(&*other.digits),
            exponent: other.exponent,
        };
        self.plus(&negated)
    }

    /// The product.
    pub fn times(&self, other: &Decimal<'_>) -> Option<Decimal<'static>> {
        let (a, b) = (self.places(self.exponent), other.places(other.exponent));
        let mut product = vec![0_u32; a.len() + b.len()];
        for (i, x) in a.iter().enumerate() {
            let mut carry = 0;
            for (j, y) in b.iter().enumerate() {
                let at = product[i + j] + u32::from(*x) * u32::from(*y) + carry;
                product[i + j] = at % 10;
                carry = at / 10;
            }
            product[i + b.len()] += carry;
        }
        let digits = product.into_iter().map(|digit| digit as u8).collect();
        made(self.negative != other.negative, digits, i64::from(self.exponent) + i64::from(other.exponent))
    }

    /// The digits as numbers, lowest first, of the number counted in this power of ten, which is not above its own.
    fn places(&self, exponent: i32) -> Vec<u8> {
        if self.digits.is_empty() {
            return Vec::new();
        }
        let below = (self.exponent - exponent).max(0) as usize;
        let mut places = vec![0; below];
        places.extend(self.digits.bytes().rev().map(|digit| digit - b'0'));
        places
    }
}

fn magnitude(a: &[u8], b: &[u8]) -> Ordering {
    // The highest place is never zero.
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn added(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut sum = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0;
    for at in 0..a.len().max(b.len()) {
        let digit = a.get(at).unwrap_or(&0) + b.get(at).unwrap_or(&0) + carry;
        sum.push(digit % 10);
        carry = digit / 10;
    }
    sum.push(carry);
    sum
}

/// `a - b`, where a isn't the smaller.
fn taken(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut difference = Vec::with_capacity(a.len());
    let mut borrow = 0;
    for (at, digit) in a.iter().enumerate() {
        let less = b.get(at).unwrap_or(&0) + borrow;
        borrow = u8::from(*digit < less);
        difference.push(digit + 10 * borrow - less);
    }
    difference
}

/// A number of places, lowest first.
fn made(negative: bool, places: Vec<u8>, exponent: i64) -> Option<Decimal<'static>> {
    let text: String = places.into_iter().rev().map(|digit| char::from(digit + b'0')).collect();
    Decimal::from_parts(negative, &text, "", exponent).map(Decimal::into_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(number: Option<Decimal<'_>>) -> String {
        number.unwrap().to_plain()
    }

    #[test]
    fn tenths_add_up_to_a_whole() {
        let mut sum = Decimal::parse("0").unwrap();
        for _ in 0..10 {
            sum = sum.plus(&Decimal::parse("0.1").unwrap()).unwrap();
        }
        assert_eq!(sum.to_plain(), "1");
        let (big, small) = (Decimal::parse("1e30").unwrap(), Decimal::parse("1e-30").unwrap());
        assert_eq!(told(big.plus(&small)), format!("1{}.{}1", "0".repeat(30), "0".repeat(29)));
        assert_eq!(told(big.minus(&big)), "0");
        assert_eq!(Decimal::parse("1e16000").unwrap().times(&Decimal::parse("1e16000").unwrap()), None);
    }

    proptest! {
        #[test]
        fn sums_and_products_are_those_of_whole_numbers(a in -10_i128.pow(17)..10_i128.pow(17), b in -10_i128.pow(17)..10_i128.pow(17), e in -5_i32..5, f in -5_i32..5) {
            let (x, y) = (format!("{a}e{e}"), format!("{b}e{f}"));
            let (x, y) = (Decimal::parse(&x).unwrap(), Decimal::parse(&y).unwrap());
            let scaled = |value: i128, exponent: i32| value * 10_i128.pow((exponent + 5) as u32);
            let whole = |value: i128, exponent: i32| Decimal::parse(&format!("{value}e{exponent}")).unwrap().to_plain();
            prop_assert_eq!(told(x.plus(&y)), whole(scaled(a, e) + scaled(b, f), -5));
            prop_assert_eq!(told(x.minus(&y)), whole(scaled(a, e) - scaled(b, f), -5));
            prop_assert_eq!(told(x.times(&y)), whole(a * b, e + f));
        }
    }
}
