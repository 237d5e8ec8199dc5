//! Exact decimals from their lexemes. Never a float: 9007199254740993 and …992 are two numbers, 1, 1.0 and 1e0 one.

mod sum;

use std::borrow::Cow;

/// An exact decimal: `digits × 10^exponent`. Two spellings of one number give equal values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Decimal<'a> {
    /// Below zero. Zero is never negative: -0 is 0.
    pub negative: bool,
    /// ASCII digits without leading or trailing zeros; empty for zero.
    pub digits: Cow<'a, str>,
    /// The power of ten that the digits count; 0 for zero.
    pub exponent: i32,
}

/// The largest power of ten, either way, that a number may reach. PostgreSQL's numeric ends at 131,072 digits before
/// the point and 16,383 after it; both ends are kept well inside.
const MOST_EXPONENT: i64 = 16_383;

impl<'a> Decimal<'a> {
    /// Parses a decimal lexeme: an optional sign, digits, an optional fraction, an optional exponent. JSON's numbers
    /// are a subset. Returns `None` for anything else (`NaN`, `Infinity`, white space, `1_000`) and for exponents
    /// beyond ±16,383.
    pub fn parse(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (negative, start) = match bytes.first()? {
            b'-' => (true, 1),
            b'+' => (false, 1),
            _ => (false, 0),
        };
        let mantissa_end =
            bytes[start..].iter().position(|b| matches!(b, b'e' | b'E')).map_or(bytes.len(), |at| start + at);
        let exponent =
            if mantissa_end < bytes.len() { parse_exponent(&text[mantissa_end + 1..])? } else { 0 };
        let mantissa = &text[start..mantissa_end];
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (mantissa, ""),
        };
        if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        Self::from_parts(negative, whole, fraction, exponent)
    }

    fn from_parts(negative: bool, whole: &'a str, fraction: &'a str, exponent: i64) -> Option<Self> {
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        let (digits, exponent) = if fraction.is_empty() {
            let kept = whole.trim_end_matches('0');
            (Cow::Borrowed(kept), exponent + (whole.len() - kept.len()) as i64)
        } else if whole.is_empty() {
            (Cow::Borrowed(fraction.trim_start_matches('0')), exponent - fraction.len() as i64)
        } else {
            (Cow::Owned([whole, fraction].concat()), exponent - fraction.len() as i64)
        };
        if digits.is_empty() {
            return Some(Self { negative: false, digits, exponent: 0 });
        }
        let highest = exponent + digits.len() as i64;
        if exponent < -MOST_EXPONENT || highest > MOST_EXPONENT {
            return None;
        }
        Some(Self { negative, digits, exponent: exponent as i32 })
    }

    /// The number as a 64-bit integer, when it is one.
    pub fn to_i64(&self) -> Option<i64> {
        if self.exponent < 0 || self.exponent > 18 || self.digits.len() > 19 {
            return None;
        }
        let mut value: i128 = 0;
        for digit in self.digits.bytes() {
            value = value * 10 + i128::from(digit - b'0');
        }
        value *= 10_i128.pow(self.exponent as u32);
        i64::try_from(if self.negative { -value } else { value }).ok()
    }

    /// How many digits stand before the decimal point (0 for 0.5), and how many behind it.
    pub fn extent(&self) -> (u32, u32) {
        let before = i64::from(self.exponent) + self.digits.len() as i64;
        (before.max(0) as u32, (-self.exponent).max(0) as u32)
    }

    /// Appends the canonical spelling used in keys and digests: `-` if negative, the digits (or `0`), `e`, the
    /// exponent. 120 is `12e1`, 0.5 is `5e-1`, 0 is `0e0`.
    pub fn write_canonical(&self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        if self.digits.is_empty() {
            out.extend_from_slice(b"0e0");
            return;
        }
        out.extend_from_slice(self.digits.as_bytes());
        out.push(b'e');
        if self.exponent == 0 {
            out.push(b'0');
        } else {
            out.extend_from_slice(self.exponent.to_string().as_bytes());
        }
    }

    /// The plain spelling without an exponent: `-120`, `0.5`.
    pub fn to_plain(&self) -> String {
        let mut out = String::with_capacity(self.digits.len() + 8);
        if self.negative {
            out.push('-');
        }
        let (before, behind) = self.extent();
        if before == 0 {
            out.push('0');
        } else {
            let shown = (before as usize).min(self.digits.len());
            out.push_str(&self.digits[..shown]);
            out.extend(std::iter::repeat_n('0', before as usize - shown));
        }
        if behind > 0 {
            out.push('.');
            let start = (before as usize).min(self.digits.len());
            let kept = self.digits.len() - start;
            out.extend(std::iter::repeat_n('0', behind as usize - kept));
            out.push_str(&self.digits[start..]);
        }
        out
    }

    /// The same number, owning its digits.
    pub fn into_owned(self) -> Decimal<'static> {
        Decimal {
            negative: self.negative,
            digits: Cow::Owned(self.digits.into_owned()),
            exponent: self.exponent,
        }
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // A longer exponent than this is out of range whatever the mantissa; zero mantissas don't need it either.
    if digits.trim_start_matches('0').len() > 9 {
        return None;
    }
    text.strip_prefix('+').unwrap_or(text).parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        let mut out = Vec::new();
        Decimal::parse(text).unwrap().write_canonical(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_number_has_one_spelling() {
        for (given, want) in [
            ("1", "1e0"),
            ("1.0", "1e0"),
            ("1e0", "1e0"),
            ("0.1e1", "1e0"),
            ("10e-1", "1e0"),
            ("0", "0e0"),
            ("-0", "0e0"),
            ("-0.00", "0e0"),
            ("120", "12e1"),
            ("0.5", "5e-1"),
            ("-12.50", "-125e-1"),
            ("9007199254740993", "9007199254740993e0"),
            ("0.000012", "12e-6"),
            ("1E+2", "1e2"),
        ] {
            assert_eq!(canonical(given), want, "{given}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for text in
            ["", "-", "+", ".", "1.", ".5", "1e", "e5", "NaN", "Infinity", "0x10", "1_000", " 1", "1 ", "１"]
        {
            assert_eq!(Decimal::parse(text), None, "{text:?}");
        }
        assert_eq!(Decimal::parse("1e20000"), None);
        assert_eq!(Decimal::parse("1e-20000"), None);
        assert_eq!(Decimal::parse("1e99999999999"), None);
    }

    #[test]
    fn plain_spelling_has_no_exponent() {
        for (given, want) in [
            ("1e3", "1000"),
            ("5e-1", "0.5"),
            ("-12.5", "-12.5"),
            ("0", "0"),
            ("1.5e1", "15"),
            ("12e-4", "0.0012"),
        ] {
            assert_eq!(Decimal::parse(given).unwrap().to_plain(), want);
        }
    }

    #[test]
    fn integers_are_exact_to_the_last() {
        assert_eq!(Decimal::parse("9223372036854775807").unwrap().to_i64(), Some(i64::MAX));
        assert_eq!(Decimal::parse("-9223372036854775808").unwrap().to_i64(), Some(i64::MIN));
        assert_eq!(Decimal::parse("9223372036854775808").unwrap().to_i64(), None);
        assert_eq!(Decimal::parse("1.5").unwrap().to_i64(), None);
        assert_eq!(Decimal::parse("1e3").unwrap().to_i64(), Some(1000));
    }

    proptest! {
        #[test]
        fn plain_spelling_reads_back_as_the_same_number(whole in "[0-9]{1,20}", fraction in "[0-9]{1,20}", e in -30_i32..30) {
            let text = format!("{whole}.{fraction}e{e}");
            let number = Decimal::parse(&text).unwrap();
            let plain = number.to_plain();
            prop_assert_eq!(Decimal::parse(&plain).unwrap(), number.clone().into_owned());
        }
    }
}
