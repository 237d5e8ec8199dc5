//! Measures as people write them: `10s`, `64kB`, `100/s`.

use std::time::Duration;

/// A length of time: a number and one of `ms`, `s`, `m` (or `min`), `h`, `d`, `w`.
///
/// # Errors
/// What is wrong with the text, and what would be right.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || {
        format!(
            "`{text}` is no length of time; write a number and a unit: `500ms`, `10s`, `5m`, `1h`, `3d`, `2w`"
        )
    };
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let milliseconds: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return Err(wrong()),
    };
    // Hundred years are enough for everybody, and far from every overflow.
    number
        .checked_mul(milliseconds)
        .filter(|all| *all <= 100 * 366 * 86_400_000)
        .map(Duration::from_millis)
        .ok_or_else(wrong)
}

/// A size in bytes: a number, perhaps with `B`, `kB`, `MB` or `GB` (of 1,000), `KiB`, `MiB` or `GiB` (of 1,024).
///
/// # Errors
/// What is wrong with the text, and what would be right.
pub fn size(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is no size; write `64kB`, `1MB`, or a number of bytes");
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let bytes: u64 = match unit {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "KiB" => 1_024,
        "MiB" => 1_048_576,
        "GB" => 1_000_000_000,
        "GiB" => 1_073_741_824,
        _ => return Err(wrong()),
    };
    number.checked_mul(bytes).and_then(|all| usize::try_from(all).ok()).ok_or_else(wrong)
}

/// A rate, in messages per second: `100/s`, `600/min`, `1000/h`.
///
/// # Errors
/// What is wrong with the text, and what would be right.
pub fn rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no rate; write `100/s`, `600/min` or `1000/h`, above zero");
    let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
    let number: u32 = number.trim().parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
    let seconds = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    Ok(f64::from(number) / seconds)
}

fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..at].parse().ok()?, text[at..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_read_as_written() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("3d"), Ok(Duration::from_hours(72)));
        assert_eq!(size("64kB"), Ok(64_000));
        assert_eq!(size("1024"), Ok(1_024));
        assert_eq!(size("2GiB"), Ok(2_147_483_648));
        assert!((rate("600/min").unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_measure_is_refused_with_an_example() {
        for text in ["10", "s", "1.5s", "-1s", "10 years", "99999999999999999999s", "9999999w"] {
            assert!(duration(text).unwrap_err().contains("`10s`"), "{text}");
        }
        for text in ["0/s", "100", "1/day", "1.5/s"] {
            assert!(rate(text).unwrap_err().contains("`100/s`"), "{text}");
        }
        assert!(size("64 kilo").is_err());
    }
}
