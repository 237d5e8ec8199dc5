//! Measures as people write them: `30s`, `5/s`.

use std::time::Duration;

use crate::bad_record::shorten;
use crate::pipeline::check::{Checked, fault};

/// A length of time: a number and one of `ms`, `s`, `m`, `h`, `d`.
pub(super) fn time(key: &'static str, text: &str) -> Checked<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[digits..].trim() {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000_u64),
        _ => None,
    };
    let milliseconds = unit.and_then(|unit| text[..digits].parse::<u64>().ok()?.checked_mul(unit));
    // A hundred years are enough for everybody, and far from every overflow.
    match milliseconds.filter(|all| *all <= 100 * 366 * 86_400_000) {
        Some(all) => Ok(Duration::from_millis(all)),
        None => fault(
            key,
            format!("`{}` is no length of time; write `500ms`, `30s`, `10m`, `1h` or `2d`", shorten(text)),
        ),
    }
}

/// A length of time above zero.
pub(super) fn some_time(key: &'static str, text: &str) -> Checked<Duration> {
    match time(key, text)? {
        Duration::ZERO => fault(key, "must be longer than nothing"),
        some => Ok(some),
    }
}

/// The time between two requests at such a rate: `5/s`, `100/min`, `1000/h`.
pub(super) fn pace(key: &'static str, text: &str) -> Checked<Duration> {
    let parsed = text.split_once('/').and_then(|(number, unit)| {
        let number: u32 = number.trim().parse().ok().filter(|number| *number > 0)?;
        let unit = match unit.trim() {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3_600,
            _ => return None,
        };
        Some(Duration::from_secs(unit) / number)
    });
    match parsed {
        Some(pace) => Ok(pace),
        None => fault(key, format!("`{}` is no rate; write `5/s`, `100/min` or `1000/h`", shorten(text))),
    }
}
