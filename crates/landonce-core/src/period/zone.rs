//! Zones by name, from the built-in copy of the IANA database.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::PeriodError;
use crate::bad_record::shorten;

/// How many near names an error shows.
const SHOWN: usize = 3;
/// Shorter words are near to too many names.
const SHORTEST_GUESS: usize = 5;

pub(super) fn find(name: &str) -> Result<TimeZone, PeriodError> {
    let zones = TimeZoneDatabase::bundled();
    match zones.get(name) {
        Ok(tz) if !tz.is_unknown() => Ok(tz),
        _ => Err(PeriodError::UnknownZone { name: shorten(name), hint: hint(name, &zones) }),
    }
}

/// The nearest names, by their whole or by their city.
fn hint(name: &str, zones: &TimeZoneDatabase) -> String {
    let wanted = name.trim().replace(' ', "_").to_ascii_lowercase();
    let mut near: Vec<(usize, String)> = zones
        .available()
        .filter_map(|known| {
            let whole = known.as_str().to_ascii_lowercase();
            let city = whole.rsplit('/').next().unwrap_or_default();
            let distance = [whole.as_str(), city]
                .into_iter()
                .map(|part| (strsim::damerau_levenshtein(&wanted, part), part.len()))
                .filter(|(distance, length)| {
                    *distance == 0 || (wanted.len() >= SHORTEST_GUESS && *distance <= length / 4)
                })
                .map(|(distance, _)| distance)
                .min()?;
            Some((distance, format!("`{}`", known.as_str())))
        })
        .collect();
    near.sort();
    let nearest = near.first().map(|(distance, _)| *distance);
    near.retain(|(distance, _)| Some(*distance) == nearest);
    near.truncate(SHOWN);
    let names: Vec<String> = near.into_iter().map(|(_, name)| name).collect();
    match names.as_slice() {
        [] => "give a name such as `Europe/Berlin`, or `UTC`".to_owned(),
        [name] => format!("did you mean {name}?"),
        [first @ .., last] => format!("did you mean {} or {last}?", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::calendar;
    use super::super::{Calendar, Every};

    #[test]
    fn a_zone_that_is_not_known_is_told_with_its_near_names() {
        for (name, want) in [
            ("Europe/Berln", "did you mean `Europe/Berlin`?"),
            ("berlin", "did you mean `Europe/Berlin`?"),
            ("America/New York", "did you mean `America/New_York`?"),
            ("Australia/LordHowe", "did you mean `Australia/Lord_Howe`?"),
            ("+02:00", "give a name such as `Europe/Berlin`, or `UTC`"),
            ("CEST", "give a name such as `Europe/Berlin`, or `UTC`"),
            ("Etc/Unknown", "give a name such as `Europe/Berlin`, or `UTC`"),
            ("", "give a name such as `Europe/Berlin`, or `UTC`"),
        ] {
            let error = Calendar::new(Every::Day, name).unwrap_err().to_string();
            assert_eq!(error, format!("`{name}` isn't a time zone of the IANA database; {want}"));
        }
        assert_eq!(calendar(Every::Day, "europe/berlin").zone(), "Europe/Berlin");
        assert_eq!(calendar(Every::Day, "utc").zone(), "UTC");
    }
}
