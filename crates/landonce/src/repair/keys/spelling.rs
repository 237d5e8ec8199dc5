//! The texts of one moment that programs commonly write, of which a plain hash of joined texts was made.

use landonce_core::time;

/// How a moment is written, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spelling {
    separator: char,
    zone: &'static str,
    fraction: Fraction,
}

/// The digits of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fraction {
    /// As few as there are, none for a whole second.
    Shortest,
    /// Six, none for a whole second (Python's `isoformat`).
    SixOrNone,
    /// Always three (JavaScript's `toISOString`).
    Three,
    /// Always six.
    Six,
}

macro_rules! spellings {
    ($(($separator:literal, $zone:literal)),*) => {
        &[$(
            Self { separator: $separator, zone: $zone, fraction: Fraction::Shortest },
            Self { separator: $separator, zone: $zone, fraction: Fraction::SixOrNone },
            Self { separator: $separator, zone: $zone, fraction: Fraction::Three },
            Self { separator: $separator, zone: $zone, fraction: Fraction::Six },
        )*]
    };
}

impl Spelling {
    /// All that are tried.
    pub(super) const ALL: &[Self] =
        spellings![('T', "Z"), ('T', "+00:00"), (' ', "+00:00"), (' ', "+00"), ('T', "+0000"), (' ', "Z")];

    /// Writes a moment (microseconds since 1970) as a JSON string; without a zone when it has none.
    pub(super) fn put(self, out: &mut String, micros: i64, has_zone: bool) {
        let mut whole = String::new();
        time::write_timestamp(micros.div_euclid(1_000_000) * 1_000_000, &mut whole);
        let rest = micros.rem_euclid(1_000_000);
        out.push('"');
        // `2013-03-03T04:55:00`, whatever comes behind.
        for character in whole.chars().take(19) {
            out.push(if character == 'T' || character == ' ' { self.separator } else { character });
        }
        let six = format!(".{rest:06}");
        match self.fraction {
            Fraction::Shortest => out.push_str(six.trim_end_matches('0').trim_end_matches('.')),
            Fraction::SixOrNone if rest == 0 => {}
            // Digits that three can't hold are kept: another moment would be worse than another spelling.
            Fraction::Three if rest % 1000 == 0 => out.push_str(&six[..4]),
            _ => out.push_str(&six),
        }
        if has_zone {
            out.push_str(self.zone);
        }
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_moment_in_the_ways_that_programs_write_it() {
        let texts = |micros| {
            let all = Spelling::ALL.iter().map(|spelling| {
                let mut text = String::new();
                spelling.put(&mut text, micros, true);
                text
            });
            all.collect::<Vec<_>>()
        };
        let whole = texts(1_362_286_500_000_000);
        for text in [
            "2013-03-03T04:55:00Z",
            "2013-03-03T04:55:00.000Z",
            "2013-03-03 04:55:00+00:00",
            "2013-03-03T04:55:00.000000+00:00",
        ] {
            assert!(whole.contains(&format!("\"{text}\"")), "{text}: {whole:?}");
        }
        let part = texts(1_362_286_500_120_000);
        for text in
            ["2013-03-03T04:55:00.12Z", "2013-03-03T04:55:00.120000+00:00", "2013-03-03T04:55:00.120Z"]
        {
            assert!(part.contains(&format!("\"{text}\"")), "{text}: {part:?}");
        }
    }
}
