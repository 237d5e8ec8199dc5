//! Instants, civil times and dates as text: strict RFC 3339 to exact numbers, and back at a fixed width.
//!
//! The text is scanned by hand, because a calendar library takes more spellings than one (24:00, leap seconds, zone
//! names, week dates), and a spelling that is bent into shape is a value that is altered. The calendar itself (which
//! days exist, how far apart they are) is jiff's. Zones and periods are left to others: nothing here knows a zone.

mod scan;

use jiff::SignedDuration;
use jiff::civil::Date;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
const MICROS_PER_DAY: i64 = SECONDS_PER_DAY * MICROS_PER_SECOND;

const EPOCH: Date = Date::constant(1970, 1, 1);
/// 0001-01-01, in days since 1970-01-01.
const FIRST_DAY: i32 = -719_162;
/// 9999-12-31, in days since 1970-01-01.
const LAST_DAY: i32 = 2_932_896;
/// 0001-01-01T00:00:00, in microseconds since 1970-01-01T00:00:00.
const FIRST_MICRO: i64 = FIRST_DAY as i64 * MICROS_PER_DAY;
/// 9999-12-31T23:59:59.999999, in microseconds since 1970-01-01T00:00:00.
const LAST_MICRO: i64 = (LAST_DAY as i64 + 1) * MICROS_PER_DAY - 1;

/// An instant in microseconds since 1970-01-01T00:00:00Z, from RFC 3339 text with its offset.
///
/// Taken are a date, `T`, `t` or one space, `hh:mm[:ss[.fraction]]`, and `Z`, `z`, `±hh:mm`, `±hhmm` or `±hh`. One
/// instant under two offsets is one number.
///
/// # Errors
/// One sentence that says what was found and what would fit. Nothing is altered to fit: 24:00, second 60, digits
/// behind the microsecond, days that don't exist and years outside 0001–9999 are errors.
pub fn timestamptz(text: &str) -> Result<i64, String> {
    scan::instant(text).map_err(|fault| fault.describe(text, "an instant", "2026-06-01T12:30:00Z"))
}

/// A civil date and time in microseconds since 1970-01-01T00:00:00, from RFC 3339 text without an offset.
///
/// # Errors
/// As for [`timestamptz`]; an offset is one, since leaving it out would name another time.
pub fn timestamp(text: &str) -> Result<i64, String> {
    scan::civil_time(text)
        .map_err(|fault| fault.describe(text, "a date and time without a zone", "2026-06-01T12:30:00"))
}

/// A civil date in days since 1970-01-01, from `YYYY-MM-DD`.
///
/// # Errors
/// One sentence that says what was found and what would fit; a time of day behind the date is an error.
pub fn date(text: &str) -> Result<i32, String> {
    scan::date(text).map_err(|fault| fault.describe(text, "a date", "2026-06-01"))
}

/// Appends an instant (microseconds since 1970-01-01T00:00:00Z) as `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always 27 bytes.
pub fn write_timestamptz(micros: i64, out: &mut String) {
    write_timestamp(micros, out);
    out.push('Z');
}

/// Appends a civil time (microseconds since 1970-01-01T00:00:00) as `YYYY-MM-DDTHH:MM:SS.ffffff`, always 26 bytes.
pub fn write_timestamp(micros: i64, out: &mut String) {
    // Every value was checked when it was read. A broken one ends at the nearest that has this spelling: a message
    // must never panic for a number it wants to show.
    let micros = micros.clamp(FIRST_MICRO, LAST_MICRO);
    write_date(micros.div_euclid(MICROS_PER_DAY) as i32, out);
    let rest = micros.rem_euclid(MICROS_PER_DAY);
    let seconds = rest / MICROS_PER_SECOND;
    for (mark, value, width) in [
        ('T', seconds / 3600, 2),
        (':', seconds / 60 % 60, 2),
        (':', seconds % 60, 2),
        ('.', rest % MICROS_PER_SECOND, 6),
    ] {
        out.push(mark);
        write_digits(value, width, out);
    }
}

/// Appends a date (days since 1970-01-01) as `YYYY-MM-DD`, always 10 bytes.
pub fn write_date(days: i32, out: &mut String) {
    // Clamped for the reason given in `write_timestamp`; inside these ends the addition can't overflow.
    let days = i64::from(days.clamp(FIRST_DAY, LAST_DAY));
    let day = EPOCH.saturating_add(SignedDuration::from_secs(days * SECONDS_PER_DAY));
    write_digits(day.year().into(), 4, out);
    out.push('-');
    write_digits(day.month().into(), 2, out);
    out.push('-');
    write_digits(day.day().into(), 2, out);
}

/// Appends a number below a million, padded with zeros. On the hot path: a key holds one of these texts, a digest more.
fn write_digits(value: i64, width: usize, out: &mut String) {
    let mut rest = value as u32;
    let mut digits = [b'0'; 6];
    for digit in digits[..width].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.push_str(std::str::from_utf8(&digits[..width]).unwrap_or_default()); // digits are UTF-8
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn written(write: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn one_instant_under_every_spelling_is_one_number() {
        let want = timestamptz("2026-06-01T12:30:00Z").unwrap();
        assert_eq!(want, 1_780_317_000_000_000);
        for spelled in [
            "2026-06-01T06:30:00-06:00",
            "2026-06-01T12:30:00+00:00",
            "2026-06-01T12:30:00-00:00",
            "2026-06-01t12:30:00z",
            "2026-06-01 12:30:00.000000000Z",
            "2026-06-01T12:30Z",
            "2026-06-01T18:15:00+0545",
            "2026-06-02T11:30:00.0+23",
            "2026-05-31T12:31:00-23:59",
        ] {
            assert_eq!(timestamptz(spelled), Ok(want), "{spelled}");
        }
    }

    #[test]
    fn the_ends_of_the_range_are_exact_and_nothing_lies_behind_them() {
        assert_eq!(timestamptz("0001-01-01T00:00:00Z"), Ok(FIRST_MICRO));
        assert_eq!(timestamptz("9999-12-31T23:59:59.999999Z"), Ok(LAST_MICRO));
        assert_eq!(timestamptz("0001-01-01T01:00:00+01:00"), Ok(FIRST_MICRO));
        assert_eq!(date("0001-01-01"), Ok(FIRST_DAY));
        assert_eq!(date("9999-12-31"), Ok(LAST_DAY));
        for text in ["0001-01-01T00:59:59.999999+01:00", "9999-12-31T23:59:59.999999-00:01"] {
            assert!(timestamptz(text).unwrap_err().ends_with("once its offset is applied"), "{text}");
        }
    }

    #[test]
    fn only_zeros_may_stand_behind_the_microsecond() {
        assert_eq!(timestamp("1970-01-01T00:00:00.1234560000"), Ok(123_456));
        assert_eq!(timestamp("1970-01-01T00:00:00.5"), Ok(500_000));
        assert_eq!(timestamp("1969-12-31T23:59:59.999999"), Ok(-1));
        for text in ["1970-01-01T00:00:00.1234567Z", "1970-01-01T00:00:00.0000000000001Z"] {
            let error = timestamptz(text).unwrap_err();
            assert!(error.contains("has more than microseconds and would be altered"), "{error}");
        }
    }

    #[test]
    fn leap_days_exist_only_in_leap_years() {
        assert_eq!(date("2024-02-29").unwrap() + 1, date("2024-03-01").unwrap());
        assert_eq!(date("2000-02-29").unwrap() + 1, date("2000-03-01").unwrap());
        for text in ["2023-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "2026-06-00"] {
            assert!(date(text).unwrap_err().contains("isn't in the calendar"), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_the_error_says_what_would() {
        for (text, want) in [
            ("0000-00-00", "has a year outside 0001–9999"),
            ("0000-12-31T00:00:00Z", "has a year outside 0001–9999"),
            ("15000-12-31", "has a year outside 0001–9999"),
            ("-0044-03-15T00:00:00Z", "has a year outside 0001–9999"),
            ("infinity", "isn't an instant; RFC 3339 text is due, such as 2026-06-01T12:30:00Z"),
            ("now", "isn't an instant"),
            ("", "isn't an instant"),
            ("2026-06-01T24:00:00Z", "has hour 24; give 00:00:00 of the day after"),
            ("2026-06-30T23:59:60Z", "has second 60"),
            ("2026-06-01T23:60:00Z", "has a time of day outside"),
            ("2026-06-01T25:00:00Z", "has a time of day outside"),
            ("2026-06-01T23:59:61Z", "has a time of day outside"),
            ("2026-06-01", "has no time of day"),
            ("2026-06-01T12:30:00", "has no offset; declare the column as timestamp or give the zone"),
            ("2026-06-01T12:30:00 Europe/Berlin", "ends in ` Europe/Berlin`, which isn't an offset"),
            ("2026-06-01T12:30:00+02:00[Europe/Berlin]", "isn't an offset"),
            ("2026-06-01T12:30:00UTC", "ends in `UTC`, which isn't an offset"),
            ("2026-06-01T12:30:00+24:00", "ends in `+24:00`, which isn't an offset"),
            ("2026-06-01T12:30:00+02:60", "isn't an offset"),
            ("2026-06-01T12:30:00+2", "isn't an offset"),
            ("2026-06-01T12:30:00\u{2212}02:00", "isn't an offset"),
            ("2026-06-01T12:30:00,5Z", "isn't an offset"),
            ("2026-06-01T12:30:00.Z", "isn't an instant"),
            ("2026-06-01T12:30:5Z", "isn't an instant"),
            ("2026-06-01T12Z", "isn't an instant"),
            ("2026-06-01  12:30:00Z", "isn't an instant"),
            ("2026-6-1T12:30:00Z", "isn't an instant"),
            ("20260601T123000Z", "isn't an instant"),
            ("２026-06-01T12:30:00Z", "isn't an instant"),
            (" 2026-06-01T12:30:00Z", "has white space around it"),
            ("2026-06-01T12:30:00Z\n", "has white space around it"),
        ] {
            let error = timestamptz(text).unwrap_err();
            assert!(error.contains(want), "{text:?}: {error}");
            assert!(!error.ends_with('.'), "{error}");
        }
    }

    #[test]
    fn civil_times_and_dates_take_nothing_behind_them() {
        for text in ["2026-06-01T12:30:00Z", "2026-06-01T12:30+02"] {
            let error = timestamp(text).unwrap_err();
            assert!(error.contains("has an offset; declare the column as timestamptz"), "{error}");
        }
        assert!(timestamp("2026-06-01T12:30:00BC").unwrap_err().contains("has `BC` behind it"));
        assert!(timestamp("2026-06-01").unwrap_err().contains("has no time of day"));
        assert!(date("2026-06-01T00:00:00").unwrap_err().contains("has more than a date"));
        assert!(date("2026-06-01Z").unwrap_err().contains("has `Z` behind it"));
        assert!(date("2026-06-01 ").unwrap_err().contains("has white space around it"));
    }

    #[test]
    fn a_long_value_is_shortened_in_its_error() {
        assert!(date(&"9".repeat(10_000)).unwrap_err().chars().count() < 200);
    }

    #[test]
    fn a_number_outside_the_range_is_written_as_its_nearest_end() {
        assert_eq!(written(|out| write_timestamptz(i64::MIN, out)), "0001-01-01T00:00:00.000000Z");
        assert_eq!(written(|out| write_timestamp(i64::MAX, out)), "9999-12-31T23:59:59.999999");
        assert_eq!(written(|out| write_date(i32::MIN, out)), "0001-01-01");
        assert_eq!(written(|out| write_date(i32::MAX, out)), "9999-12-31");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(micros in FIRST_MICRO..=LAST_MICRO, days in FIRST_DAY..=LAST_DAY) {
            let text = written(|out| write_timestamptz(micros, out));
            prop_assert_eq!(text.len(), 27);
            prop_assert_eq!(timestamptz(&text), Ok(micros));
            prop_assert_eq!(timestamp(&written(|out| write_timestamp(micros, out))), Ok(micros));
            prop_assert_eq!(date(&written(|out| write_date(days, out))), Ok(days));
        }

        // jiff's instants begin after and end before ours by some hours, so the years 0001 and 9999 are left to the test above.
        #[test]
        fn jiff_reads_the_same_instant(
            text in "(000[2-9]|[1-8][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,6})?)?([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)",
        ) {
            prop_assert_eq!(timestamptz(&text).ok(), text.parse::<Timestamp>().ok().map(Timestamp::as_microsecond));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,12}", tail in "[-0-9T:.Z+ é]{0,30}") {
            for text in [text.clone(), tail.clone(), format!("2026-06-01{tail}"), format!("2026-06-01T12:30:00{text}")] {
                let _ = (timestamptz(&text), timestamp(&text), date(&text));
            }
        }
    }
}
