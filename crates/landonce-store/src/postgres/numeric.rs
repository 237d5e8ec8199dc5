//! Exact decimals in PostgreSQL's binary form: base-10000 digits, a weight, a sign, a display scale.
//!
//! Knows nothing of columns: whether a number fits was checked where it was read.

use landonce_core::number::Decimal;

const NEGATIVE: u16 = 0x4000;

/// Appends the body of a numeric field (without its length).
pub(super) fn encode(out: &mut Vec<u8>, number: &Decimal<'_>) {
    let digits = number.digits.as_bytes();
    let exponent = number.exponent;
    let count_at = out.len();
    out.extend_from_slice(&[0; 8]);
    if digits.is_empty() {
        return;
    }
    // The power of ten of the first group's lowest digit is a multiple of four, so the first group may be short.
    let highest = exponent + digits.len() as i32 - 1;
    let weight = highest.div_euclid(4);
    let first = (highest.rem_euclid(4) + 1) as usize;
    let mut groups: u16 = 0;
    let mut at = 0;
    while at < digits.len() {
        let width = if at == 0 { first } else { 4 };
        let taken = &digits[at..digits.len().min(at + width)];
        let mut group = taken.iter().fold(0, |group: u16, digit| group * 10 + u16::from(digit - b'0'));
        for _ in taken.len()..width {
            group *= 10;
        }
        out.extend_from_slice(&group.to_be_bytes());
        groups += 1;
        at += width;
    }
    let scale = (-exponent).max(0) as u16;
    let sign = if number.negative { NEGATIVE } else { 0 };
    out[count_at..count_at + 2].copy_from_slice(&groups.to_be_bytes());
    out[count_at + 2..count_at + 4].copy_from_slice(&(weight as i16).to_be_bytes());
    out[count_at + 4..count_at + 6].copy_from_slice(&sign.to_be_bytes());
    out[count_at + 6..count_at + 8].copy_from_slice(&scale.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (groups, weight, sign, scale) as the server would read them.
    fn encoded(text: &str) -> (Vec<u16>, i16, u16, u16) {
        let mut out = Vec::new();
        encode(&mut out, &Decimal::parse(text).unwrap());
        let mut words = out.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        let (count, weight) = (words.next().unwrap(), words.next().unwrap() as i16);
        let (sign, scale) = (words.next().unwrap(), words.next().unwrap());
        let groups: Vec<u16> = words.collect();
        assert_eq!(groups.len(), usize::from(count), "{text}");
        (groups, weight, sign, scale)
    }

    #[test]
    fn decimals_become_base_10000_groups() {
        assert_eq!(encoded("0"), (vec![], 0, 0, 0));
        assert_eq!(encoded("1"), (vec![1], 0, 0, 0));
        assert_eq!(encoded("-1"), (vec![1], 0, NEGATIVE, 0));
        assert_eq!(encoded("10000"), (vec![1], 1, 0, 0));
        assert_eq!(encoded("12345678"), (vec![1234, 5678], 1, 0, 0));
        assert_eq!(encoded("123456789"), (vec![1, 2345, 6789], 2, 0, 0));
        assert_eq!(encoded("0.5"), (vec![5000], -1, 0, 1));
        assert_eq!(encoded("0.00001234"), (vec![1234], -2, 0, 8));
        assert_eq!(encoded("0.000012345"), (vec![1234, 5000], -2, 0, 9));
        assert_eq!(encoded("12.5"), (vec![12, 5000], 0, 0, 1));
        assert_eq!(encoded("1e3"), (vec![1000], 0, 0, 0));
        assert_eq!(encoded("1e5"), (vec![10], 1, 0, 0));
        assert_eq!(encoded("9007199254740993"), (vec![9007, 1992, 5474, 993], 3, 0, 0));
    }

    #[test]
    fn the_ends_of_the_range_keep_weight_and_scale() {
        assert_eq!(encoded("1e16382"), (vec![100], 4095, 0, 0));
        assert_eq!(encoded("1e-16383"), (vec![10], -4096, 0, 16383));
    }
}
